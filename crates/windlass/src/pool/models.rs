//! Models of whole pools.
//!
//! Three properties, in every schedule: a task that was accepted ran exactly once or was returned; no
//! task waits while a worker sleeps that could run it (a model that depends on it would deadlock);
//! the counters are exact at the end.
//!
//! Whole pools are too large for every interleaving. loom runs the smallest of them, with a bound on
//! preemptions; shuttle runs them all, under random schedules.

use std::sync::Arc;
use std::time::Duration;

#[cfg(not(loom))]
use super::DiscardOldestPolicy;
use super::ThreadPoolExecutor;
use crate::executor::{Executor, ExecutorService};
use crate::queue::{
    AgingQueue, ArrayBlockingQueue, BlockingQueue, FairShareQueue, Fairness, LinkedBlockingDeque,
    LinkedBlockingQueue, LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue,
};
use crate::submit::Submit;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{model, thread};
use crate::task::Task;

fn pool(
    core: usize,
    maximum: usize,
    queue: impl BlockingQueue<Task> + 'static,
) -> ThreadPoolExecutor {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
        .keep_alive(Duration::ZERO)
        .work_queue(queue)
        .build()
        .unwrap()
}

/// Counts runs.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicUsize>);

impl Runs {
    fn one(&self) -> impl FnOnce() + Send + 'static {
        let runs = Arc::clone(&self.0);
        move || {
            runs.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Closes the pool, and checks its counters.
fn close_and_check(pool: &ThreadPoolExecutor, runs: &Runs, expected: usize) {
    pool.close();
    assert!(pool.is_terminated());
    let stats = pool.stats();
    assert_eq!(runs.count(), expected);
    assert_eq!(stats.completed_task_count, expected as u64);
    assert_eq!(
        (stats.pool_size, stats.active_count, stats.queue_len),
        (0, 0, 0)
    );
}

#[test]
fn a_task_that_meets_a_shutdown_is_run_or_refused() {
    model(|| {
        let pool = pool(1, 1, LinkedBlockingQueue::new());
        let runs = Runs::default();
        let closer = {
            let pool = pool.clone();
            thread::Builder::new()
                .spawn(move || pool.shutdown())
                .unwrap()
        };
        let taken = pool.execute(runs.one()).is_ok();
        closer.join().unwrap();
        close_and_check(&pool, &runs, usize::from(taken));
    });
}

/// No core, no keep-alive: the worker exits as soon as the queue is empty.
fn a_worker_leaves_while_a_task_comes(queue: impl BlockingQueue<Task> + 'static) {
    a_worker_of_this_pool_leaves_while_a_task_comes(&pool(0, 1, queue));
}

fn a_worker_of_this_pool_leaves_while_a_task_comes(pool: &ThreadPoolExecutor) {
    let runs = Runs::default();
    pool.execute(runs.one()).unwrap();
    let mut second = pool.submit(runs.one()).unwrap();
    second.get().unwrap();
    close_and_check(pool, &runs, 2);
}

macro_rules! a_worker_that_leaves_does_not_leave_a_task_behind {
    ($($queue:ident: $new:expr;)*) => {
        mod a_worker_that_leaves_does_not_leave_a_task_behind {
            use super::*;

            $(#[test]
            fn $queue() {
                model(|| a_worker_leaves_while_a_task_comes($new));
            })*
        }
    };
}

a_worker_that_leaves_does_not_leave_a_task_behind! {
    linked: LinkedBlockingQueue::new();
    array: ArrayBlockingQueue::new(2).unwrap();
    array_fair: ArrayBlockingQueue::with_fairness(2, Fairness::Fair).unwrap();
    resizable: ResizableBlockingQueue::with_capacity(2).unwrap();
    deque: LinkedBlockingDeque::new();
    priority: PriorityBlockingQueue::by_key(Task::priority);
    transfer: LinkedTransferQueue::new();
    aging: AgingQueue::new(Duration::from_secs(1), Task::priority);
    fair_share: FairShareQueue::new(|task: &Task| task.id().as_u64() % 2);
}

#[test]
fn the_only_worker_runs_what_it_waits_for_whenever_that_is_queued() {
    model(|| {
        let pool = pool(1, 1, LinkedBlockingQueue::new());
        let runs = Runs::default();
        let (inner, handle) = Task::with_handle(runs.one());
        let outer = runs.one();
        let waits = move || {
            handle.join().unwrap();
            outer();
        };
        pool.execute(waits).unwrap();
        pool.execute_task(inner).unwrap();
        close_and_check(&pool, &runs, 2);
    });
}

#[test]
fn the_last_worker_ends_the_pool() {
    model(|| {
        let pool = pool(1, 1, LinkedBlockingQueue::new());
        let runs = Runs::default();
        pool.execute(runs.one()).unwrap();
        close_and_check(&pool, &runs, 1);
    });
}

#[cfg(not(loom))]
mod large {
    use super::*;
    use crate::interrupt;
    use crate::pool::Codel;
    use crate::queue::SynchronousQueue;

    #[test]
    fn a_worker_that_leaves_does_not_leave_a_task_behind_in_a_queue_that_sheds() {
        model(|| {
            let builder = ThreadPoolExecutor::builder()
                .core_pool_size(0)
                .maximum_pool_size(1);
            let builder = builder.keep_alive(Duration::ZERO);
            // Longer than a run of the model: nothing is shed.
            let hours = Codel::new(Duration::from_secs(3600), Duration::from_secs(36_000));
            let pool = builder.shed(hours).build().unwrap();
            a_worker_of_this_pool_leaves_while_a_task_comes(&pool);
        });
    }

    /// A queue without places: the pool may refuse the second task while its only worker runs the first.
    #[test]
    fn a_worker_that_leaves_does_not_leave_a_hand_off_behind() {
        model(|| {
            let pool = pool(0, 1, SynchronousQueue::with_interchangeable_takers());
            let runs = Runs::default();
            pool.execute(runs.one()).unwrap();
            let second = pool.submit(runs.one());
            let taken = 1 + usize::from(second.is_ok());
            if let Ok(second) = second {
                second.join().unwrap();
            }
            close_and_check(&pool, &runs, taken);
        });
    }

    #[test]
    fn no_task_waits_while_a_worker_sleeps() {
        model(|| {
            let pool = pool(2, 2, LinkedBlockingQueue::new());
            assert_eq!(pool.prestart_all_core_threads(), 2);
            let gate: Arc<LinkedBlockingQueue<()>> = Arc::new(LinkedBlockingQueue::new());
            let waits = Arc::clone(&gate);
            let runs = Runs::default();
            let (first, second) = (runs.one(), runs.one());
            // The first can only end if the other worker takes the second.
            pool.execute(move || {
                waits.take().unwrap();
                first();
            })
            .unwrap();
            pool.execute(move || {
                second();
                gate.offer(()).unwrap();
            })
            .unwrap();
            close_and_check(&pool, &runs, 2);
        });
    }

    #[test]
    fn tasks_from_two_submitters_through_a_small_queue_are_run_or_handed_back() {
        model(|| {
            let pool = pool(1, 2, LinkedBlockingQueue::with_capacity(1).unwrap());
            let runs = Runs::default();
            let submitters: Vec<_> = (0..2)
                .map(|_| {
                    let (pool, runs) = (pool.clone(), runs.clone());
                    thread::Builder::new()
                        .spawn(move || (0..2).filter(|_| pool.execute(runs.one()).is_ok()).count())
                        .unwrap()
                })
                .collect();
            let taken = submitters.into_iter().map(|s| s.join().unwrap()).sum();
            close_and_check(&pool, &runs, taken);
        });
    }

    #[test]
    fn a_stop_hands_back_what_never_started() {
        model(|| {
            let pool = pool(1, 1, LinkedBlockingQueue::new());
            let runs = Runs::default();
            let submitter = {
                let (pool, runs) = (pool.clone(), runs.clone());
                thread::Builder::new()
                    .spawn(move || (0..2).filter(|_| pool.execute(runs.one()).is_ok()).count())
                    .unwrap()
            };
            let drained = pool.shutdown_now().len();
            let taken = submitter.join().unwrap();
            close_and_check(&pool, &runs, taken - drained);
        });
    }

    #[test]
    fn a_hand_off_reaches_an_idle_worker_or_a_new_one() {
        model(|| {
            let pool = pool(0, 2, SynchronousQueue::with_interchangeable_takers());
            let runs = Runs::default();
            let mut taken = 0;
            for _ in 0..3 {
                taken += usize::from(pool.execute(runs.one()).is_ok());
            }
            close_and_check(&pool, &runs, taken);
        });
    }

    /// A pool with two idle workers, which lends tasks.
    fn lending_pool() -> ThreadPoolExecutor {
        let builder = ThreadPoolExecutor::builder()
            .core_pool_size(2)
            .maximum_pool_size(16)
            .many_workers(2)
            .work_queue(SynchronousQueue::lending(4));
        let pool = builder.build().unwrap();
        assert_eq!(pool.prestart_all_core_threads(), 2);
        while pool.queue().waiting().unwrap_or_default().takers < 2 {
            thread::yield_now();
        }
        pool
    }

    /// Submits while another thread does something to the pool; returns how many tasks were accepted.
    ///
    /// The submitter is interrupted: in a model a timed wait for a worker that returns may last forever.
    fn submit_while(
        pool: &ThreadPoolExecutor,
        runs: &Runs,
        disturb: impl FnOnce(&ThreadPoolExecutor),
    ) -> usize {
        let (theirs, runs) = (pool.clone(), runs.clone());
        let submitter = thread::Builder::new().spawn(move || {
            interrupt::current().interrupt();
            (0..4)
                .filter(|_| theirs.execute(runs.one()).is_ok())
                .count()
        });
        disturb(pool);
        submitter.unwrap().join().unwrap()
    }

    /// The first two block both workers, and the last releases them: it needs a thread of its own, though it
    /// may have been accepted while nobody waited.
    #[test]
    fn a_task_that_was_lent_runs_though_no_worker_returns() {
        model(|| {
            let pool = lending_pool();
            let gate: Arc<LinkedBlockingQueue<()>> = Arc::new(LinkedBlockingQueue::new());
            let runs = Runs::default();
            interrupt::current().interrupt();
            for _ in 0..3 {
                let (waits, run) = (Arc::clone(&gate), runs.one());
                pool.execute(move || {
                    waits.take().unwrap();
                    run();
                })
                .unwrap();
            }
            let run = runs.one();
            pool.execute(move || {
                run();
                (0..3).for_each(|_| gate.offer(()).unwrap());
            })
            .unwrap();
            assert!(interrupt::interrupted());
            close_and_check(&pool, &runs, 4);
        });
    }

    #[test]
    fn tasks_that_were_lent_before_a_shutdown_run() {
        model(|| {
            let (pool, runs) = (lending_pool(), Runs::default());
            let taken = submit_while(&pool, &runs, ThreadPoolExecutor::shutdown);
            close_and_check(&pool, &runs, taken);
        });
    }

    #[test]
    fn a_stop_hands_back_what_was_lent() {
        model(|| {
            let (pool, runs) = (lending_pool(), Runs::default());
            let mut drained = 0;
            let taken = submit_while(&pool, &runs, |pool| drained = pool.shutdown_now().len());
            close_and_check(&pool, &runs, taken - drained);
        });
    }

    #[test]
    fn lowering_the_maximum_and_submitting_at_once_loses_nothing() {
        model(|| {
            let pool = pool(1, 2, LinkedBlockingQueue::with_capacity(1).unwrap());
            let runs = Runs::default();
            let tuner = {
                let pool = pool.clone();
                thread::Builder::new()
                    .spawn(move || pool.set_maximum_pool_size(1).unwrap())
                    .unwrap()
            };
            let taken = (0..3).filter(|_| pool.execute(runs.one()).is_ok()).count();
            tuner.join().unwrap();
            close_and_check(&pool, &runs, taken);
        });
    }

    #[test]
    fn a_panicking_task_is_replaced_by_a_worker_that_runs_the_rest() {
        model(|| {
            let pool = pool(1, 1, LinkedBlockingQueue::new());
            let runs = Runs::default();
            let failing = runs.one();
            pool.execute(move || {
                failing();
                std::panic::resume_unwind(Box::new("planned"));
            })
            .unwrap();
            pool.execute(runs.one()).unwrap();
            close_and_check(&pool, &runs, 2);
        });
    }

    #[test]
    fn evicting_the_oldest_ends_in_every_schedule() {
        model(|| {
            let pool = ThreadPoolExecutor::builder()
                .core_pool_size(1)
                .work_queue(LinkedBlockingQueue::with_capacity(1).unwrap())
                .rejection_handler(DiscardOldestPolicy)
                .build()
                .unwrap();
            let handles: Vec<_> = (0..3).map(|n| pool.submit(move || n).unwrap()).collect();
            pool.close();
            let ran = handles
                .into_iter()
                .filter_map(|mut handle| handle.get().ok())
                .count();
            assert_eq!(pool.completed_task_count(), ran as u64);
        });
    }

    #[test]
    fn a_pool_that_is_dropped_runs_what_it_took() {
        model(|| {
            let pool = pool(1, 1, LinkedBlockingQueue::new());
            let mut last = pool.submit(|| 7).unwrap();
            drop(pool);
            assert_eq!(last.get().unwrap(), 7);
        });
    }
}
