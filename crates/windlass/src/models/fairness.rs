//! Pools whose queue limits the running tasks of each key.

use std::sync::Arc;

use super::{Ledger, producers, spawn};
use crate::executor::ExecutorService;
use crate::pool::ThreadPoolExecutor;
use crate::queue::KeyLimitQueue;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::model;
use crate::task::Task;

/// Two workers, and a limit of one for the one key that all tasks have.
fn pool() -> ThreadPoolExecutor {
    let queue = KeyLimitQueue::new(1, |_: &Task| ()).unwrap();
    let builder = ThreadPoolExecutor::builder().core_pool_size(2);
    builder.work_queue(queue).build().unwrap()
}

/// A body that fails if another one runs at the same time.
fn alone(running: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
    let running = Arc::clone(running);
    move || {
        assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
        crate::sync::yield_now();
        running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn tasks_of_one_key_run_one_after_the_other_and_all_of_them() {
    model(|| {
        let (pool, ledger) = (pool(), Ledger::default());
        let running = Arc::new(AtomicUsize::new(0));
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            theirs.1.submit(&theirs.0, alone(&running));
            theirs.1.execute(&theirs.0, alone(&running));
        });
        let account = ledger.close_pool(&pool);
        assert_eq!((account.ran, account.refused), (4, 0));
    });
}

#[test]
fn a_stop_while_tasks_of_one_key_are_queued() {
    model(|| {
        let (pool, ledger) = (pool(), Ledger::default());
        let running = Arc::new(AtomicUsize::new(0));
        let theirs = (pool.clone(), ledger.clone());
        let stopper = spawn(move || theirs.1.take_back(theirs.0.shutdown_now()));
        for _ in 0..3 {
            ledger.submit(&pool, alone(&running));
        }
        stopper.join().unwrap();
        ledger.close_pool(&pool);
    });
}
