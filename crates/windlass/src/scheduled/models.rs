//! Models of scheduled pools.
//!
//! In every interleaving an accepted task runs, or its handle reports that it was cancelled, and the
//! pool terminates. Models have no clock, so all tasks are due at once.

use std::sync::Arc;
use std::time::Duration;

use super::{Schedule, ScheduledThreadPoolExecutor};
use crate::executor::ExecutorService;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{model, thread};

/// The shortest period: the next run is due at once.
#[cfg(not(loom))]
const SHORTEST: Duration = Duration::from_nanos(1);

/// Counts the runs of a task.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicUsize>);

impl Runs {
    fn body(&self) -> impl FnMut() + Send + 'static {
        let runs = Arc::clone(&self.0);
        move || {
            runs.fetch_add(1, Ordering::SeqCst);
            // A task that repeats forever has to yield, since the model's scheduler is not fair.
            thread::yield_now();
        }
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs `f` on another thread of the model.
fn spawn(f: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::Builder::new().spawn(f).unwrap()
}

/// Closes the pool, and checks that nothing is left.
fn close(pool: &ScheduledThreadPoolExecutor) {
    pool.close();
    let stats = pool.stats();
    assert_eq!(
        (stats.pool_size, stats.active_count, stats.queue_len),
        (0, 0, 0)
    );
}

#[test]
fn a_task_that_meets_a_shutdown_is_run_cancelled_or_refused() {
    model(|| {
        let pool = ScheduledThreadPoolExecutor::new(1);
        let runs = Runs::default();
        let other = pool.clone();
        let closer = spawn(move || other.shutdown());
        let scheduled = pool.schedule(Duration::ZERO, runs.body());
        let ran = scheduled.map(|mut handle| handle.get().is_ok());
        closer.join().unwrap();
        close(&pool);
        assert_eq!(runs.count(), usize::from(ran.unwrap_or(false)));
    });
}

#[test]
fn a_cancelled_task_leaves_the_queue_or_the_worker_has_it() {
    model(|| {
        let pool = ScheduledThreadPoolExecutor::new(1);
        pool.set_remove_on_cancel(true);
        let runs = Runs::default();
        let mut task = pool.schedule(Duration::ZERO, runs.body()).unwrap();
        let cancelled = task.cancel();
        assert_eq!(task.get().is_err(), cancelled);
        close(&pool);
        // A cancel during the run has taken effect, too.
        assert!(cancelled || runs.count() == 1);
    });
}

#[cfg(not(loom))]
mod large {
    use super::*;
    use crate::task::TaskState;

    /// No core, no keep-alive: the worker exits as soon as no task is left.
    #[test]
    fn a_worker_that_leaves_does_not_leave_a_task_behind() {
        model(|| {
            let builder = ScheduledThreadPoolExecutor::builder().core_pool_size(0);
            let pool = builder.keep_alive(Duration::ZERO).build();
            let runs = Runs::default();
            drop(pool.schedule(Duration::ZERO, runs.body()).unwrap());
            let mut second = pool.schedule(Duration::ZERO, runs.body()).unwrap();
            second.get().unwrap();
            close(&pool);
            assert_eq!(runs.count(), 2);
        });
    }

    #[test]
    fn a_periodic_task_ends_with_its_cancel_whenever_that_comes() {
        for removes in [false, true] {
            model(move || {
                let pool = ScheduledThreadPoolExecutor::new(1);
                pool.set_remove_on_cancel(removes);
                let runs = Runs::default();
                let mut task = pool
                    .schedule_at_fixed_rate(Duration::ZERO, SHORTEST, runs.body())
                    .unwrap();
                let control = task.control();
                let canceller = spawn(move || assert!(control.cancel()));
                assert!(task.get().unwrap_err().is_cancelled());
                canceller.join().unwrap();
                close(&pool);
                assert_eq!(runs.count() as u64, task.runs());
            });
        }
    }

    #[test]
    fn a_cancelled_periodic_task_is_not_left_in_the_queue() {
        model(|| {
            let pool = ScheduledThreadPoolExecutor::new(1);
            pool.set_remove_on_cancel(true);
            let far = Duration::from_secs(3600);
            let task = pool
                .schedule_at_fixed_rate(Duration::ZERO, far, || ())
                .unwrap();
            let control = task.control();
            let canceller = spawn(move || assert!(control.cancel()));
            canceller.join().unwrap();
            while pool.stats().completed_task_count == 0 && !pool.queue().is_empty() {
                thread::yield_now();
            }
            while pool.stats().active_count > 0 {
                thread::yield_now();
            }
            assert!(pool.queue().is_empty());
            close(&pool);
        });
    }

    #[test]
    fn a_periodic_task_that_meets_a_shutdown_is_cancelled() {
        model(|| {
            let pool = ScheduledThreadPoolExecutor::new(1);
            let runs = Runs::default();
            let mut task = pool
                .schedule_with_fixed_delay(Duration::ZERO, SHORTEST, runs.body())
                .unwrap();
            let other = pool.clone();
            let closer = spawn(move || other.shutdown());
            assert!(task.get().unwrap_err().is_cancelled());
            closer.join().unwrap();
            close(&pool);
            assert_eq!(task.state(), TaskState::Cancelled);
        });
    }

    #[test]
    fn a_periodic_task_goes_on_after_a_shutdown_until_it_is_cancelled() {
        model(|| {
            let pool = ScheduledThreadPoolExecutor::new(1);
            pool.set_continue_periodic_after_shutdown(true);
            let mut left = 2;
            let mut task = pool
                .schedule_at_fixed_rate(Duration::ZERO, SHORTEST, move || {
                    left -= 1;
                    if left == 0 {
                        std::panic::resume_unwind(Box::new("planned"));
                    }
                })
                .unwrap();
            pool.shutdown();
            assert!(task.get().unwrap_err().is_failed());
            assert_eq!(task.runs(), 2);
            close(&pool);
        });
    }

    #[test]
    fn a_cancel_of_the_last_task_around_a_shutdown_lets_the_pool_end() {
        model(|| {
            let pool = ScheduledThreadPoolExecutor::new(1);
            pool.set_remove_on_cancel(true);
            let far = Duration::from_secs(3600);
            let task = pool.schedule(far, || ()).unwrap();
            let control = task.control();
            let canceller = spawn(move || assert!(control.cancel()));
            close(&pool);
            canceller.join().unwrap();
        });
    }

    #[test]
    fn two_due_tasks_find_two_workers() {
        model(|| {
            let pool = ScheduledThreadPoolExecutor::new(2);
            pool.prestart_all_core_threads();
            // Each waits for the other, so that one worker alone could not end them.
            let met = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = (0..2)
                .map(|_| {
                    let met = Arc::clone(&met);
                    let meet = move || {
                        met.fetch_add(1, Ordering::SeqCst);
                        while met.load(Ordering::SeqCst) < 2 {
                            thread::yield_now();
                        }
                    };
                    pool.schedule(Duration::ZERO, meet).unwrap()
                })
                .collect();
            for mut task in tasks {
                task.get().unwrap();
            }
            close(&pool);
        });
    }

    #[test]
    fn a_pool_without_core_workers_runs_or_cancels_what_meets_a_shutdown() {
        model(|| {
            let pool = ScheduledThreadPoolExecutor::new(0);
            let runs = Runs::default();
            let other = pool.clone();
            let closer = spawn(move || other.shutdown());
            let scheduled = pool.schedule(Duration::ZERO, runs.body());
            let ran = scheduled.map(|mut handle| handle.get().is_ok());
            closer.join().unwrap();
            close(&pool);
            assert_eq!(runs.count(), usize::from(ran.unwrap_or(false)));
        });
    }
}
