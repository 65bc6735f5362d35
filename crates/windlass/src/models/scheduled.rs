//! Scheduled pools. Models have no clock: a task due now runs, a task due in an hour does not.

use std::sync::Arc;
use std::time::Duration;

use super::{Ledger, Rendezvous, producers, spawn};
use crate::executor::ExecutorService;
use crate::scheduled::{Schedule, ScheduledHandle, ScheduledThreadPoolExecutor};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{model, thread};

const HOUR: Duration = Duration::from_secs(3600);
/// The shortest period: the next run is due at once.
const SHORTEST: Duration = Duration::from_nanos(1);

/// A scheduled task, whose outcome [`Timed::check`] checks.
struct Timed {
    runs: Arc<AtomicUsize>,
    handle: Option<ScheduledHandle<()>>,
}

impl Timed {
    fn after(pool: &ScheduledThreadPoolExecutor, delay: Duration) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&runs);
        let body = move || {
            theirs.fetch_add(1, Ordering::SeqCst);
        };
        let handle = pool.schedule(delay, body).ok();
        Self { runs, handle }
    }

    /// Returns whether it ran. After the pool has terminated, it ran once, was cancelled or was rejected.
    fn check(&self) -> bool {
        let runs = self.runs.load(Ordering::SeqCst);
        match &self.handle {
            None => assert_eq!(runs, 0),
            Some(handle) => {
                assert!(handle.is_done());
                assert!(runs == 1 || (runs == 0 && handle.is_cancelled()));
            }
        }
        runs == 1
    }

    fn cancel(&self) -> bool {
        self.handle.as_ref().is_some_and(ScheduledHandle::cancel)
    }
}

/// A body that counts its runs. It has to yield, since the model's scheduler is not fair.
fn tick(runs: &Arc<AtomicUsize>) -> impl FnMut() + Send + 'static {
    let runs = Arc::clone(runs);
    move || {
        runs.fetch_add(1, Ordering::SeqCst);
        thread::yield_now();
    }
}

#[test]
fn tasks_due_now_and_plain_ones_and_a_shutdown() {
    model(|| {
        let (pool, ledger) = (ScheduledThreadPoolExecutor::new(2), Ledger::default());
        let theirs = pool.clone();
        let closer = spawn(move || theirs.shutdown());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || {
            theirs.1.submit(&theirs.0, || ());
            Timed::after(&theirs.0, Duration::ZERO)
        });
        ledger.execute_some(&pool, 2);
        closer.join().unwrap();
        let timed = producer.join().unwrap();
        let account = ledger.audit(pool.pool());
        let ran = u64::from(timed.check());
        assert_eq!(pool.stats().completed_task_count, account.ran + ran);
    });
}

#[test]
fn a_stop_hands_back_what_is_not_due() {
    model(|| {
        let (pool, ledger) = (ScheduledThreadPoolExecutor::new(1), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let stopper = spawn(move || theirs.1.take_back(theirs.0.shutdown_now()));
        let timed = [Duration::ZERO, HOUR].map(|delay| Timed::after(&pool, delay));
        ledger.execute_some(&pool, 1);
        stopper.join().unwrap();
        // The tasks that were returned run now.
        ledger.audit(pool.pool());
        for task in timed {
            task.check();
        }
    });
}

#[test]
fn a_task_due_now_is_not_kept_by_one_that_is_due_later() {
    model(|| {
        let (pool, ledger) = (ScheduledThreadPoolExecutor::new(2), Ledger::default());
        pool.set_run_delayed_after_shutdown(false);
        pool.prestart_all_core_threads();
        let later = Timed::after(&pool, HOUR);
        let rendezvous = Rendezvous::of(2);
        let theirs = (pool.clone(), rendezvous.participant());
        let producer = spawn(move || theirs.0.schedule(Duration::ZERO, theirs.1).unwrap());
        ledger
            .submit(&pool, rendezvous.participant())
            .wait()
            .unwrap();
        producer.join().unwrap().get().unwrap();
        let account = ledger.audit(pool.pool());
        assert!(!later.check());
        assert_eq!(pool.stats().completed_task_count, account.ran + 1);
    });
}

#[test]
fn a_cancel_and_the_run_of_the_same_task() {
    for removes in [false, true] {
        model(move || {
            let (pool, ledger) = (ScheduledThreadPoolExecutor::new(1), Ledger::default());
            pool.set_remove_on_cancel(removes);
            let timed = Timed::after(&pool, Duration::ZERO);
            let later = Timed::after(&pool, HOUR);
            let theirs = (pool.clone(), ledger.clone());
            let producer = spawn(move || theirs.1.execute_some(&theirs.0, 1));
            let cancelled = timed.cancel();
            assert!(later.cancel());
            producer.join().unwrap();
            ledger.audit(pool.pool());
            assert!(timed.check() || cancelled);
            assert!(!later.check());
        });
    }
}

#[test]
fn a_removed_task_does_not_run() {
    model(|| {
        let (pool, ledger) = (ScheduledThreadPoolExecutor::new(1), Ledger::default());
        let timed = Timed::after(&pool, Duration::ZERO);
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 1));
        let removed = timed.handle.as_ref().and_then(|handle| pool.remove(handle));
        let was_removed = removed.is_some();
        drop(removed);
        producer.join().unwrap();
        let account = ledger.audit(pool.pool());
        assert_ne!(timed.check(), was_removed);
        let completed = account.ran + u64::from(!was_removed);
        assert_eq!(pool.stats().completed_task_count, completed);
    });
}

#[test]
fn policies_that_change_after_the_shutdown() {
    model(|| {
        let (pool, ledger) = (ScheduledThreadPoolExecutor::new(2), Ledger::default());
        pool.set_continue_periodic_after_shutdown(true);
        let runs = Arc::new(AtomicUsize::new(0));
        let mut periodic = pool
            .schedule_at_fixed_rate(Duration::ZERO, SHORTEST, tick(&runs))
            .unwrap();
        let later = Timed::after(&pool, HOUR);
        let theirs = pool.clone();
        let closer = spawn(move || theirs.shutdown());
        pool.set_run_delayed_after_shutdown(false);
        pool.set_continue_periodic_after_shutdown(false);
        closer.join().unwrap();
        assert!(periodic.get().unwrap_err().is_cancelled());
        ledger.audit(pool.pool());
        assert!(!later.check());
        assert_eq!(runs.load(Ordering::SeqCst) as u64, periodic.runs());
    });
}

#[test]
fn a_periodic_task_does_not_keep_others_from_their_turn() {
    model(|| {
        let (pool, ledger) = (ScheduledThreadPoolExecutor::new(1), Ledger::default());
        let runs = Arc::new(AtomicUsize::new(0));
        let periodic = pool
            .schedule_with_fixed_delay(Duration::ZERO, SHORTEST, tick(&runs))
            .unwrap();
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            theirs.1.submit(&theirs.0, || ()).wait().unwrap();
        });
        assert!(periodic.cancel());
        let account = ledger.audit(pool.pool());
        assert_eq!(account.ran, 2);
        assert_eq!(runs.load(Ordering::SeqCst) as u64, periodic.runs());
    });
}

#[test]
fn a_periodic_task_and_a_stop() {
    model(|| {
        let (pool, ledger) = (ScheduledThreadPoolExecutor::new(2), Ledger::default());
        let runs = Arc::new(AtomicUsize::new(0));
        let mut periodic = pool
            .schedule_at_fixed_rate(Duration::ZERO, SHORTEST, tick(&runs))
            .unwrap();
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
        let queued = pool.shutdown_now();
        let (turns, plain): (Vec<_>, Vec<_>) =
            queued.into_iter().partition(|task| task.is_periodic());
        ledger.take_back(plain);
        drop(turns);
        producer.join().unwrap();
        ledger.audit(pool.pool());
        assert!(periodic.get().unwrap_err().is_cancelled());
        assert_eq!(runs.load(Ordering::SeqCst) as u64, periodic.runs());
    });
}
