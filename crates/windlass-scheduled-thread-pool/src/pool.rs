//! The pool, and what its jobs need of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass::clock;
use windlass::prelude::{ExecutorService as _, Submit as _};
use windlass::scheduled::ScheduledThreadPoolExecutor;
use windlass::task::CancelToken;

use crate::builder::NumThreadsStage;
use crate::job::JobHandle;
use crate::repeat::{Pace, Repeating};
use crate::threads::Threads;

/// What happens to pending jobs when a pool is dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OnPoolDropBehavior {
    /// They run when they are due, and are not repeated after that. The default.
    CompletePendingScheduled,
    /// They do not run.
    DiscardPendingScheduled,
}

/// A pool of threads that run jobs now, later and repeatedly.
///
/// When it is dropped, pending jobs still run when they are due, and are not repeated after that; see
/// [`OnPoolDropBehavior`] for the alternative. The drop does not wait for them.
///
/// ```
/// # use windlass_scheduled_thread_pool as scheduled_thread_pool;
/// use scheduled_thread_pool::ScheduledThreadPool;
/// use std::sync::mpsc::channel;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(2);
/// let (log, order) = channel();
/// let late = log.clone();
/// pool.execute_after(Duration::from_millis(20), move || late.send("later").unwrap());
/// pool.execute(move || log.send("now").unwrap());
/// assert_eq!(order.iter().collect::<Vec<_>>(), ["now", "later"]);
/// ```
pub struct ScheduledThreadPool {
    timers: Timers,
    on_drop: OnPoolDropBehavior,
}

impl ScheduledThreadPool {
    /// Creates a pool of this many threads.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    #[must_use]
    pub fn new(num_threads: usize) -> Self {
        Self::builder().num_threads(num_threads).build()
    }

    /// Returns the first stage of a builder.
    #[must_use]
    pub fn builder() -> NumThreadsStage {
        NumThreadsStage(())
    }

    /// Creates a pool of this many threads with names: `{}` in `thread_name` is replaced by the number of
    /// the thread.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    #[deprecated(note = "use ScheduledThreadPool::builder", since = "0.1.0")]
    #[must_use]
    pub fn with_name(thread_name: &str, num_threads: usize) -> Self {
        Self::builder()
            .num_threads(num_threads)
            .thread_name_pattern(thread_name)
            .build()
    }

    pub(crate) fn with_threads(size: usize, threads: Threads, on_drop: OnPoolDropBehavior) -> Self {
        let executor = ScheduledThreadPoolExecutor::builder()
            .core_pool_size(size)
            .thread_factory(threads)
            .build();
        executor.set_remove_on_cancel(true);
        let started = executor.prestart_all_core_threads();
        assert!(started > 0, "no thread could be started");
        let timers = Timers {
            executor,
            closed: Arc::default(),
        };
        Self { timers, on_drop }
    }

    /// Runs a job as soon as a thread is free.
    pub fn execute<F>(&self, job: F) -> JobHandle
    where
        F: FnOnce() + Send + 'static,
    {
        self.execute_after(Duration::ZERO, job)
    }

    /// Runs a job after a delay.
    pub fn execute_after<F>(&self, delay: Duration, job: F) -> JobHandle
    where
        F: FnOnce() + Send + 'static,
    {
        let token = CancelToken::new();
        self.timers.run_after(delay, &token, job);
        JobHandle(token)
    }

    /// Runs a job after a delay and then at a fixed rate, however long its runs take: with a rate of 5 seconds
    /// and runs of 2 seconds, the next run starts 3 seconds after the end of the last. Missed runs follow
    /// without a pause.
    ///
    /// # Panics
    ///
    /// If the job panics, it is not run again.
    ///
    /// ```
    /// # use windlass_scheduled_thread_pool as scheduled_thread_pool;
    /// use scheduled_thread_pool::ScheduledThreadPool;
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let (log, ticks) = channel();
    /// let mut tick = 0;
    /// pool.execute_at_fixed_rate(Duration::ZERO, Duration::from_millis(2), move || {
    ///     tick += 1;
    ///     let _ = log.send(tick);
    /// });
    /// assert!(ticks.iter().take(3).eq(1..=3));
    /// ```
    pub fn execute_at_fixed_rate<F>(
        &self,
        initial_delay: Duration,
        rate: Duration,
        mut f: F,
    ) -> JobHandle
    where
        F: FnMut() + Send + 'static,
    {
        self.execute_at_dynamic_rate(initial_delay, move || {
            f();
            Some(rate)
        })
    }

    /// Runs a job after a delay, and then at the rate that it returns: the next run is due that long after this
    /// one was due. `None` ends it.
    ///
    /// # Panics
    ///
    /// If the job panics, it is not run again.
    ///
    /// ```
    /// # use windlass_scheduled_thread_pool as scheduled_thread_pool;
    /// use scheduled_thread_pool::ScheduledThreadPool;
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    ///
    /// let pool = ScheduledThreadPool::new(1);
    /// let (log, waits) = channel();
    /// let mut wait = Duration::from_millis(1);
    /// pool.execute_at_dynamic_rate(Duration::ZERO, move || {
    ///     log.send(wait.as_millis()).ok()?;
    ///     wait *= 2;
    ///     (wait < Duration::from_millis(8)).then_some(wait)
    /// });
    /// assert_eq!(waits.iter().collect::<Vec<_>>(), [1, 2, 4]);
    /// ```
    pub fn execute_at_dynamic_rate<F>(&self, initial_delay: Duration, f: F) -> JobHandle
    where
        F: FnMut() -> Option<Duration> + Send + 'static,
    {
        self.repeat(initial_delay, Pace::Rate, Box::new(f))
    }

    /// Runs a job after a delay, and then this long after the end of each run: with a delay of 5 seconds and runs
    /// of 2 seconds, the next run starts 5 seconds after the end of the last.
    ///
    /// # Panics
    ///
    /// If the job panics, it is not run again.
    pub fn execute_with_fixed_delay<F>(
        &self,
        initial_delay: Duration,
        delay: Duration,
        mut f: F,
    ) -> JobHandle
    where
        F: FnMut() + Send + 'static,
    {
        self.execute_with_dynamic_delay(initial_delay, move || {
            f();
            Some(delay)
        })
    }

    /// Runs a job after a delay, and then as long after the end of each run as that run returns. `None`
    /// ends it.
    ///
    /// # Panics
    ///
    /// If the job panics, it is not run again.
    pub fn execute_with_dynamic_delay<F>(&self, initial_delay: Duration, f: F) -> JobHandle
    where
        F: FnMut() -> Option<Duration> + Send + 'static,
    {
        self.repeat(initial_delay, Pace::Delay, Box::new(f))
    }

    fn repeat(
        &self,
        initial_delay: Duration,
        pace: Pace,
        body: Box<dyn FnMut() -> Option<Duration> + Send>,
    ) -> JobHandle {
        let token = CancelToken::new();
        if let Some(due) = clock::now().checked_add(initial_delay) {
            let job = Repeating {
                body,
                pace,
                due,
                token: token.clone(),
                timers: self.timers.clone(),
            };
            job.schedule();
        }
        JobHandle(token)
    }

    /// Returns the Windlass pool that runs the jobs: for results, cron, retries, statistics.
    ///
    /// It is shut down when this pool is dropped.
    ///
    /// ```
    /// # use windlass_scheduled_thread_pool as scheduled_thread_pool;
    /// use std::time::Duration;
    /// use windlass::prelude::*;
    ///
    /// let pool = scheduled_thread_pool::ScheduledThreadPool::new(1);
    /// let answer = pool.executor().schedule(Duration::from_millis(1), || 6 * 7).unwrap();
    /// assert_eq!(answer.join().unwrap(), 42);
    /// ```
    #[must_use]
    pub const fn executor(&self) -> &ScheduledThreadPoolExecutor {
        &self.timers.executor
    }
}

impl fmt::Debug for ScheduledThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduledThreadPool")
            .field("num_threads", &self.timers.executor.core_pool_size())
            .field("on_drop_behavior", &self.on_drop)
            .finish_non_exhaustive()
    }
}

impl Drop for ScheduledThreadPool {
    fn drop(&mut self) {
        self.timers.closed.repeats.store(true, Ordering::SeqCst);
        if self.on_drop == OnPoolDropBehavior::DiscardPendingScheduled {
            // For jobs that are due and have not started. The pool drops those that are not due.
            self.timers.closed.pending.store(true, Ordering::SeqCst);
            self.timers.executor.set_run_delayed_after_shutdown(false);
        }
        self.timers.executor.shutdown();
    }
}

/// The pool as its jobs see it.
#[derive(Clone)]
pub(crate) struct Timers {
    executor: ScheduledThreadPoolExecutor,
    closed: Arc<Closed>,
}

/// What does not start any more.
#[derive(Debug, Default)]
struct Closed {
    repeats: AtomicBool,
    pending: AtomicBool,
}

impl Timers {
    /// Runs `job` after `delay`, unless the token is cancelled or the pool dropped before.
    pub(crate) fn run_after(
        &self,
        delay: Duration,
        token: &CancelToken,
        job: impl FnOnce() + Send + 'static,
    ) {
        let closed = Arc::clone(&self.closed);
        let run = move || {
            if !closed.pending.load(Ordering::SeqCst) {
                job();
            }
        };
        // Rejected only after the shutdown: then nobody is left to ask for it.
        let scheduled = self
            .executor
            .task()
            .cancelled_by(token)
            .schedule(delay, run);
        drop(scheduled);
    }

    /// Returns whether the pool was dropped.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.repeats.load(Ordering::SeqCst)
    }
}
