//! Every queue under a pool.

use std::time::Duration;

use super::{Ledger, producers, spawn, submit_tasks_that_meet};
use crate::executor::ExecutorService;
use crate::pool::ThreadPoolExecutor;
use crate::queue::{
    ArrayBlockingQueue, BlockingQueue, Fairness, LinkedBlockingDeque, LinkedBlockingQueue,
    LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue, SynchronousQueue,
};
use crate::sync::model;
use crate::task::Task;

fn pool(
    core: usize,
    maximum: usize,
    queue: impl BlockingQueue<Task> + 'static,
) -> ThreadPoolExecutor {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
        .keep_alive(Duration::from_secs(1))
        .work_queue(queue)
        .build()
        .unwrap()
}

/// Two producers, a worker that stays and one that may leave.
fn tasks_of_several_producers(queue: impl BlockingQueue<Task> + 'static) {
    let (pool, ledger) = (pool(1, 2, queue), Ledger::default());
    let theirs = (pool.clone(), ledger.clone());
    producers(2, move || {
        theirs.1.execute_some(&theirs.0, 2);
    });
    ledger.close_pool(&pool);
}

/// Two workers that have slept receive two tasks that need both of them.
fn tasks_that_meet(queue: impl BlockingQueue<Task> + 'static) {
    // The maximum leaves room for a worker per task: a worker that has not yet returned to the queue
    // cannot receive a hand-off.
    let (pool, ledger) = (pool(2, 6, queue), Ledger::default());
    pool.prestart_all_core_threads();
    submit_tasks_that_meet(&pool, &ledger);
    assert_eq!(ledger.close_pool(&pool).ran, 4);
}

/// Two producers, and a stop at the same time.
fn tasks_that_meet_a_stop(queue: impl BlockingQueue<Task> + 'static) {
    let (pool, ledger) = (pool(1, 2, queue), Ledger::default());
    let theirs = (pool.clone(), ledger.clone());
    let stopper = spawn(move || theirs.1.take_back(theirs.0.shutdown_now()));
    let theirs = (pool.clone(), ledger.clone());
    let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
    ledger.execute_some(&pool, 2);
    stopper.join().unwrap();
    producer.join().unwrap();
    ledger.close_pool(&pool);
}

macro_rules! under_each {
    ($($name:ident: $queue:expr;)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn tasks_of_several_producers_are_run_or_refused() {
                model(|| tasks_of_several_producers($queue));
            }

            #[test]
            fn no_task_waits_while_a_worker_sleeps() {
                model(|| tasks_that_meet($queue));
            }

            #[test]
            fn a_stop_hands_back_what_it_does_not_run() {
                model(|| tasks_that_meet_a_stop($queue));
            }
        }
    )* };
}

under_each! {
    linked: LinkedBlockingQueue::new();
    linked_of_one: LinkedBlockingQueue::with_capacity(1).unwrap();
    array: ArrayBlockingQueue::new(1).unwrap();
    array_fair: ArrayBlockingQueue::with_fairness(2, Fairness::Fair).unwrap();
    resizable: ResizableBlockingQueue::with_capacity(1).unwrap();
    deque: LinkedBlockingDeque::new();
    priority: PriorityBlockingQueue::by_key(Task::priority);
    synchronous: SynchronousQueue::new();
    synchronous_fair: SynchronousQueue::with_fairness(Fairness::Fair);
    synchronous_interchangeable: SynchronousQueue::with_interchangeable_takers();
    transfer: LinkedTransferQueue::new();
}
