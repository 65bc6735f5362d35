//! Delays, periods and time limits on the fork-join pool.
//!
//! A fork-join pool to which a task is scheduled has one more thread, the only worker of a scheduled pool
//! inside it. When a task is due, that thread submits it, and a worker of the fork-join pool runs it. So
//! periods, calendars, cancellation and handles are those of [`ScheduledThreadPoolExecutor`].
//!
//! The pool inside and the fork-join pool refer to each other until the pool inside has terminated. That
//! happens after the shutdown of the fork-join pool, at the latest when its last handle is dropped.

use std::any::Any;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::builder::Builder;
use super::executor::ScheduledThreadPoolExecutor;
use super::service::{ScheduledExecutorService, ScheduledPool};
use super::shared::{OnTimerThread, is_internal};
use crate::executor::{Executor, ExecutorService, RejectedExecution, RejectionReason};
use crate::forkjoin::{DueTasks, ForkJoinPool, PoolTimers};
use crate::pool::Hooks;
use crate::sync::Mutex;
use crate::task::{Cancellation, Failure, Task, TaskBuilder, TaskHandle};
use crate::unwind::{catch, ignore_panic};

/// The entrance of the fork-join pool; none when the timers have terminated.
struct Entrance(Mutex<Option<DueTasks>>);

impl Entrance {
    fn forward(&self, task: Task) {
        let pool = self.0.lock().clone();
        match pool {
            Some(pool) if !is_internal(&task) => pool.submit(task),
            _ => task.run(),
        }
    }
}

impl Hooks for Entrance {
    fn terminated(&self) {
        let pool = self.0.lock().take();
        if let Some(pool) = pool {
            pool.close();
        }
    }
}

struct ForkJoinTimers(ScheduledThreadPoolExecutor);

impl ForkJoinTimers {
    fn create(name: &str, pool: DueTasks) -> Self {
        let clock = pool.clock().clone();
        let entrance = Arc::new(Entrance(Mutex::new(Some(pool))));
        let forward = Arc::clone(&entrance);
        let timers = clock.enter(|| {
            Builder::new()
                .core_pool_size(1)
                .name(format!("{name}-timer"))
                .hooks(entrance)
                .forward(move |task| forward.forward(task))
                .build()
        });
        timers.set_remove_on_cancel(true);
        Self(timers)
    }
}

impl PoolTimers for ForkJoinTimers {
    fn pool_shut_down(&self) {
        self.0.shutdown();
    }

    fn pool_stopped(&self) {
        for task in self.0.shutdown_now() {
            ignore_panic(move || {
                let is_accepted = !is_internal(&task);
                let cancelled = task.cancel(Cancellation::Shutdown);
                if let Some(cancels) = self.0.shutdown_cancels() {
                    cancels.add_if(cancelled && is_accepted);
                }
                // Here: a body may panic when it is dropped, and others are still to be cancelled.
                drop(task);
            });
        }
    }

    fn delayed(&self) -> usize {
        self.0.queue().len()
    }

    fn cancelled_by_shutdown(&self) -> u64 {
        self.0.cancelled_by_shutdown().unwrap_or_default()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ScheduledPool for ForkJoinPool {
    fn scheduled_pool(&self) -> &ScheduledThreadPoolExecutor {
        let timers = self.timers(|pool| Box::new(ForkJoinTimers::create(self.name(), pool)) as _);
        let timers: Option<&ForkJoinTimers> = timers.as_any().downcast_ref();
        &timers.expect("nobody else creates timers").0
    }
}

/// Delayed and periodic tasks run on the workers of the pool; one more thread submits them when they are due.
///
/// After a shutdown delayed tasks still run, and the pool terminates after the last of them, unless
/// [`cancel_delayed_tasks_on_shutdown`](ForkJoinPool::cancel_delayed_tasks_on_shutdown) was called; periodic
/// tasks end. `shutdown_now` cancels both. A cancelled task leaves the queue at once.
///
/// ```
/// use std::time::Duration;
/// use windlass::forkjoin::{ForkJoinPool, join};
/// use windlass::prelude::*;
///
/// let pool = ForkJoinPool::new(2).unwrap();
/// let sum = pool.schedule(Duration::from_millis(5), || {
///     let (a, b) = join(|| 1, || 2);
///     a + b
/// });
/// assert_eq!(sum.unwrap().join().unwrap(), 3);
/// pool.close();
/// ```
impl ScheduledExecutorService for ForkJoinPool {}

impl ForkJoinPool {
    /// Lets a shutdown cancel the tasks that are not yet due; also after the shutdown.
    #[doc(alias = "cancelDelayedTasksOnShutdown")]
    pub fn cancel_delayed_tasks_on_shutdown(&self) {
        self.scheduled_pool().set_run_delayed_after_shutdown(false);
    }

    /// Submits the closure, and cancels it, with an interrupt if it runs, when `limit` has passed since.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::forkjoin::ForkJoinPool;
    /// use windlass::interrupt;
    ///
    /// let pool = ForkJoinPool::new(1).unwrap();
    /// let endless = || while interrupt::sleep(Duration::from_secs(1)).is_ok() {};
    /// let handle = pool.submit_with_timeout(Duration::from_millis(5), endless).unwrap();
    /// assert!(handle.join().unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "submitWithTimeout")]
    pub fn submit_with_timeout<T: Send + 'static>(
        &self,
        limit: Duration,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>> {
        self.submit_limited(limit, body, |handle| {
            let control = handle.control();
            move || {
                control.cancel_now();
            }
        })
    }

    /// Submits the closure; if it has not ended when `limit` has passed, its task completes with what
    /// `on_timeout` returns, a value or an error.
    ///
    /// `on_timeout` runs on the thread of the pool's timers, and should be short. The closure is not
    /// interrupted; what it returns is dropped.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle.
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass::forkjoin::ForkJoinPool;
    /// use windlass::interrupt;
    ///
    /// let pool = ForkJoinPool::new(1).unwrap();
    /// let slow = || {
    ///     let _ = interrupt::sleep(Duration::from_millis(50));
    ///     "exact"
    /// };
    /// let limit = Duration::from_millis(5);
    /// let handle = pool.submit_with_timeout_or(limit, slow, || Ok::<_, String>("approximate"));
    /// assert_eq!(handle.unwrap().join().unwrap(), "approximate");
    /// ```
    #[doc(alias = "submitWithTimeout")]
    pub fn submit_with_timeout_or<T, E>(
        &self,
        limit: Duration,
        body: impl FnOnce() -> T + Send + 'static,
        on_timeout: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
    where
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.submit_limited(limit, body, |handle| {
            let complete = handle.completer();
            move || {
                let outcome = match catch(on_timeout) {
                    Ok(outcome) => outcome.map_err(Failure::from_error),
                    Err(payload) => Err(Failure::from_panic(payload)),
                };
                complete(outcome);
            }
        })
    }

    /// Submits the closure, and runs what `at_limit` returns when `limit` has passed, unless the task is done
    /// by then.
    fn submit_limited<T, A>(
        &self,
        limit: Duration,
        body: impl FnOnce() -> T + Send + 'static,
        at_limit: impl FnOnce(&TaskHandle<T>) -> A,
    ) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
    where
        T: Send + 'static,
        A: FnOnce() + Send + 'static,
    {
        let (task, handle) = self.prepare(Task::builder()).build_with_handle(body);
        let end = at_limit(&handle);
        let builder = TaskBuilder::new().attach(OnTimerThread);
        let end = move || {
            end();
            Ok(())
        };
        let Ok(timer) = self.scheduled_pool().submit_one_shot(builder, limit, end) else {
            let rejected = RejectedExecution::new(task, RejectionReason::Shutdown);
            return Err(rejected
                .with_executor(format!("{self:?}"))
                .with_handle(handle));
        };
        // Also if it is rejected, and so never runs.
        let timer = timer.control();
        handle.on_done(move |_| {
            timer.cancel();
        });
        match self.execute_task(task) {
            Ok(()) => Ok(handle),
            Err(rejected) => Err(rejected.with_handle(handle)),
        }
    }
}
