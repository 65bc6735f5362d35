//! An executor that limits how many tasks another executor gets in a time.
//!
//! The tokens are counted by one time: `full_at`, when the bucket is full again if nobody takes a
//! token. Each token moves it by the interval. A token is there once `full_at` is no more than a
//! burst less one interval ahead. So there is no timer that adds tokens, and no rounding.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::executor::{
    Executor, ExecutorService, RejectedExecution, RejectionReason, RunningTask, ShutdownCancels,
    limit_of,
};
use crate::interrupt::Interrupted;
use crate::scheduled::ScheduledExecutorService;
use crate::sync::clock::{Clock, MAX_TIMEOUT};
use crate::sync::{Deadline, Mutex};
use crate::task::{Cancellation, LimitOwner, Task, TaskBuilder};
use crate::unwind::ignore_panic;
use crate::waiting::{WaitOutcome, WaitQueue, wait};

/// A rate of tasks, as a bucket of tokens: each task takes one, a new one comes every interval, and
/// the bucket holds a burst of them.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use windlass::executors::Rate;
///
/// let rate = Rate::every(Duration::from_millis(10)).burst(NonZeroU32::new(20).unwrap());
/// assert_eq!(rate.interval(), Duration::from_millis(10));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    interval: Duration,
    burst: NonZeroU32,
}

impl Rate {
    /// Creates the rate of one task in each interval, without bursts. An interval of zero is no
    /// limit.
    #[must_use]
    pub const fn every(interval: Duration) -> Self {
        Self {
            interval,
            burst: NonZeroU32::MIN,
        }
    }

    /// Creates the rate of so many tasks in a second, without bursts; the interval is rounded to
    /// nanoseconds.
    #[must_use]
    pub const fn per_second(tasks: NonZeroU32) -> Self {
        Self::every(Duration::from_nanos(1_000_000_000 / tasks.get() as u64))
    }

    /// Sets how many tasks may come at once after a pause.
    #[must_use]
    pub const fn burst(self, burst: NonZeroU32) -> Self {
        Self { burst, ..self }
    }

    /// Returns the time in which one token comes.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns how far ahead of the time `full_at` may be for a token to be there.
    fn slack(&self) -> Duration {
        self.interval.saturating_mul(self.burst.get() - 1)
    }
}

/// An executor that passes tasks to another one no faster than at a [`Rate`].
///
/// A task for which there is no token [waits](Self::waiting) with its submitter, is
/// [rejected](Self::rejecting) and returned, or is [delayed](Self::delaying): queued in order, and
/// passed on by a timer. The limit is on the start of submissions; what the other executor then
/// does with a task is its own affair.
///
/// A shutdown of it passes on what is delayed and then shuts the other executor down. Tasks that are
/// submitted to the other executor directly are not limited. The clock is that of the thread that
/// creates it.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use windlass::executors::{Rate, RateLimited};
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let rate = Rate::every(Duration::from_secs(60)).burst(NonZeroU32::new(2).unwrap());
/// let limited = RateLimited::rejecting(pool, rate);
/// assert!(limited.execute(|| ()).is_ok());
/// assert!(limited.execute(|| ()).is_ok());
/// let rejected = limited.execute(|| ()).unwrap_err();
/// assert!(rejected.is_rate_limited());
/// limited.close();
/// ```
pub struct RateLimited<E: Executor + 'static>(Arc<Inner<E>>);

/// Its own state is behind a lock that no user code runs under.
impl<E: Executor + RefUnwindSafe> UnwindSafe for RateLimited<E> {}
impl<E: Executor + RefUnwindSafe> RefUnwindSafe for RateLimited<E> {}

struct Inner<E> {
    executor: E,
    rate: Rate,
    excess: Excess,
    clock: Clock,
    state: Mutex<State<E>>,
}

/// What becomes of a task for which there is no token.
enum Excess {
    Wait,
    Reject,
    Delay(RunAfter),
}

/// Runs a task after a delay; returns it if that is not possible.
type RunAfter = Arc<dyn Fn(Duration, Task) -> Result<(), (Task, RejectionReason)> + Send + Sync>;

struct State<E> {
    /// When all tokens are there, if nobody takes one; may be in the past.
    full_at: Instant,
    /// How to shut down the other executor, once this one is shut down.
    shutdown: Option<fn(&E)>,
    /// Submitters that wait for their tokens. They are signalled at a shutdown only.
    submitters: WaitQueue,
    /// Tasks that wait for tokens, in order.
    delayed: VecDeque<Task>,
    /// The release that is scheduled or runs. While there is one, new tasks are delayed too, so that
    /// they do not overtake. Numbered, so that one that comes late, or is dropped late, is not
    /// mistaken for a later one.
    release: Option<u64>,
    last_release: u64,
}

/// What a release does next.
enum Release<E> {
    Pass(Task),
    /// Drops a task that was cancelled, or has expired.
    Drop(Task),
    /// Leaves the rest to another release, of this number.
    WaitFor(Duration, u64),
    End(Option<fn(&E)>),
}

/// What a release leaves behind that will not come.
struct GivenUp<E> {
    delayed: VecDeque<Task>,
    shutdown: Option<fn(&E)>,
}

impl<E: Executor + 'static> RateLimited<E> {
    /// Creates an executor whose submitters wait for their tokens, in order of arrival.
    ///
    /// A shutdown ends the wait, and an interrupt; both return the task as rejected. So is one that would expire
    /// before its token is there, at once.
    pub fn waiting(executor: E, rate: Rate) -> Self {
        Self::new(executor, rate, Excess::Wait)
    }

    /// Creates an executor that rejects a task for which there is no token, with
    /// [`RejectionReason::RateLimited`].
    pub fn rejecting(executor: E, rate: Rate) -> Self {
        Self::new(executor, rate, Excess::Reject)
    }

    /// Creates an executor that queues a task for which there is no token, and passes it on by
    /// `timer` when there is one.
    ///
    /// Delayed tasks stay in order, and new ones do not overtake them. One that is cancelled or expires
    /// meanwhile takes no token. If the other executor rejects
    /// one, or the timer is shut down, the handles of the tasks are cancelled. A drop of this
    /// executor changes nothing: what is delayed is passed on.
    pub fn delaying(
        executor: E,
        rate: Rate,
        timer: impl ScheduledExecutorService + 'static,
    ) -> Self {
        let run_after = move |delay, task: Task| {
            let pool = timer.scheduled_pool();
            let scheduled = pool.submit_awaited(delay, move || task.run());
            scheduled.map(drop).map_err(|rejected| {
                let reason = rejected.reason();
                (rejected.into_task(), reason)
            })
        };
        Self::new(executor, rate, Excess::Delay(Arc::new(run_after)))
    }

    fn new(executor: E, mut rate: Rate, excess: Excess) -> Self {
        // So that no sum overflows.
        rate.interval = rate.interval.min(MAX_TIMEOUT);
        let clock = Clock::current();
        Self(Arc::new(Inner {
            executor,
            rate,
            excess,
            state: Mutex::new(State {
                full_at: clock.now(),
                shutdown: None,
                submitters: WaitQueue::default(),
                delayed: VecDeque::new(),
                release: None,
                last_release: 0,
            }),
            clock,
        }))
    }

    /// Returns the executor that gets the tasks.
    #[must_use]
    pub fn executor(&self) -> &E {
        &self.0.executor
    }

    /// Returns how many tasks are delayed.
    #[must_use]
    pub fn delayed_count(&self) -> usize {
        self.0.state.lock().delayed.len()
    }

    /// Returns how many submitters wait for a token.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.0.state.lock().submitters.len()
    }
}

impl<E: Executor + 'static> Executor for RateLimited<E> {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        match &self.0.excess {
            Excess::Wait => self.0.execute_after_wait(task),
            Excess::Reject => self.0.execute_or_reject(task),
            Excess::Delay(run_after) => self.0.execute_or_delay(task, run_after),
        }
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        self.0.executor.prepare(task)
    }

    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        self.0.executor.limit_owner()
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        self.0.executor.shutdown_cancels()
    }
}

impl<E> State<E> {
    fn new_release(&mut self) -> u64 {
        self.last_release += 1;
        self.release = Some(self.last_release);
        self.last_release
    }

    /// Takes a token that is there now, or the next one. Returns when it is there.
    fn take_token(&mut self, now: Instant, rate: Rate) -> Instant {
        let full_at = self.full_at.max(now);
        self.full_at = full_at + rate.interval;
        full_at.checked_sub(rate.slack()).unwrap_or(now).max(now)
    }

    /// Returns the time until a token is there.
    fn until_token(&self, now: Instant, rate: Rate) -> Duration {
        let ahead = self.full_at.saturating_duration_since(now);
        ahead.saturating_sub(rate.slack())
    }

    /// Puts back a token that was not used, if no later one is taken yet.
    fn put_back(&mut self, full_at: Instant, rate: Rate) {
        if self.full_at == full_at {
            self.full_at = full_at - rate.interval;
        }
    }
}

impl<E: Executor + 'static> Inner<E> {
    fn execute_or_reject(&self, task: Task) -> Result<(), RejectedExecution> {
        let now = self.clock.now();
        let refused = {
            let mut state = self.state.lock();
            if state.shutdown.is_some() {
                Some(RejectionReason::Shutdown)
            } else if state.until_token(now, self.rate).is_zero() {
                state.take_token(now, self.rate);
                None
            } else {
                Some(RejectionReason::RateLimited)
            }
        };
        match refused {
            Some(reason) => Err(refuse(task, reason)),
            None => self.executor.execute_task(task),
        }
    }

    fn execute_after_wait(&self, task: Task) -> Result<(), RejectedExecution> {
        let limit = limit_of(&task);
        let limit = task.expires_at().map_or(limit, |at| limit.min(at));
        match self.clock.enter(|| self.await_token(limit)) {
            Ok(()) => self.executor.execute_task(task),
            Err(reason) => Err(refuse(task, reason)),
        }
    }

    /// Takes the next token and waits until it is there.
    fn await_token(&self, limit: Deadline) -> Result<(), RejectionReason> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        if state.shutdown.is_some() {
            return Err(RejectionReason::Shutdown);
        }
        if limit.is_at_or_before(now + state.until_token(now, self.rate)) {
            return Err(RejectionReason::TimedOut);
        }
        let at = state.take_token(now, self.rate);
        let full_at = state.full_at;
        if at <= now {
            return Ok(());
        }
        let deadline = Deadline::At(at);
        let waited = wait(
            &self.state,
            state,
            |state| &mut state.submitters,
            (),
            deadline,
        );
        let mut state = waited.guard;
        match waited.outcome {
            WaitOutcome::TimedOut => Ok(()),
            WaitOutcome::Signalled => Err(RejectionReason::Shutdown),
            WaitOutcome::Interrupted => {
                state.put_back(full_at, self.rate);
                Err(RejectionReason::Interrupted)
            }
        }
    }

    fn execute_or_delay(
        self: &Arc<Self>,
        task: Task,
        run_after: &RunAfter,
    ) -> Result<(), RejectedExecution> {
        let now = self.clock.now();
        let id = task.id();
        let (delay, number) = {
            let mut state = self.state.lock();
            if state.shutdown.is_some() {
                drop(state);
                return Err(refuse(task, RejectionReason::Shutdown));
            }
            let delay = state.until_token(now, self.rate);
            if state.release.is_none() && delay.is_zero() {
                state.take_token(now, self.rate);
                drop(state);
                return self.executor.execute_task(task);
            }
            state.delayed.push_back(task);
            if state.release.is_some() {
                return Ok(());
            }
            (delay, state.new_release())
        };
        let Err((release, reason)) = self.schedule_release(delay, number, run_after) else {
            return Ok(());
        };
        // No release will come for what is delayed: this task is returned, the others are cancelled.
        let mut mine = None;
        for task in self.take_delayed(number).delayed {
            if task.id() == id {
                mine = Some(task);
            } else {
                task.abandon(Cancellation::Rejected);
            }
        }
        drop(release);
        mine.map_or(Ok(()), |task| Err(refuse(task, reason)))
    }

    fn schedule_release(
        self: &Arc<Self>,
        delay: Duration,
        number: u64,
        run_after: &RunAfter,
    ) -> Result<(), (Task, RejectionReason)> {
        let pending = PendingRelease {
            inner: Some(Arc::clone(self)),
            number,
        };
        run_after(delay, Task::new(move || pending.run()))
    }

    /// Passes on the tasks for which there are tokens, and schedules the next release.
    fn run_release(self: &Arc<Self>, number: u64) {
        loop {
            match self.next_release(number) {
                Release::Pass(task) => ignore_panic(|| self.pass(task)),
                Release::Drop(task) => ignore_panic(|| drop(task)),
                Release::WaitFor(delay, next) => {
                    if let Excess::Delay(run_after) = &self.excess {
                        // If it is rejected, its drop cancels the tasks.
                        drop(self.schedule_release(delay, next, run_after));
                    }
                    return;
                }
                Release::End(shutdown) => {
                    if let Some(shutdown) = shutdown {
                        shutdown(&self.executor);
                    }
                    return;
                }
            }
        }
    }

    /// Passes on a task whose submission has returned; its handle is cancelled if it is rejected.
    fn pass(&self, task: Task) {
        let Err(rejected) = self.executor.execute_task(task) else {
            return;
        };
        if rejected.is_shutdown() {
            self.count_cancelled([rejected.task()]);
        }
    }

    /// Has the other executor count tasks that are about to be cancelled by a shutdown.
    fn count_cancelled<'a>(&self, tasks: impl IntoIterator<Item = &'a Task>) {
        if let Some(cancels) = self.executor.shutdown_cancels() {
            cancels.add_tasks(tasks.into_iter());
        }
    }

    fn next_release(&self, number: u64) -> Release<E> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        if state.release != Some(number) {
            return Release::End(None);
        }
        // What will not run takes no token.
        if state.delayed.front().is_some_and(Task::is_cancelled) {
            if let Some(ended) = state.delayed.pop_front() {
                return Release::Drop(ended);
            }
        }
        let delay = state.until_token(now, self.rate);
        if !delay.is_zero() && !state.delayed.is_empty() {
            return Release::WaitFor(delay, state.new_release());
        }
        match state.delayed.pop_front() {
            Some(task) => {
                state.take_token(now, self.rate);
                Release::Pass(task)
            }
            None => {
                state.release = None;
                Release::End(state.shutdown)
            }
        }
    }

    /// Takes what is delayed, if it waits for this release, which will not come; and how to shut down
    /// the other executor, if that is due then.
    fn take_delayed(&self, number: u64) -> GivenUp<E> {
        let mut state = self.state.lock();
        if state.release != Some(number) {
            return GivenUp {
                delayed: VecDeque::new(),
                shutdown: None,
            };
        }
        state.release = None;
        GivenUp {
            delayed: std::mem::take(&mut state.delayed),
            shutdown: state.shutdown,
        }
    }
}

fn refuse(task: Task, reason: RejectionReason) -> RejectedExecution {
    RejectedExecution::new(task, reason)
}

/// A release that is scheduled. If the timer drops it unrun, what is delayed is cancelled.
struct PendingRelease<E: Executor + 'static> {
    inner: Option<Arc<Inner<E>>>,
    number: u64,
}

impl<E: Executor + 'static> PendingRelease<E> {
    fn run(mut self) {
        if let Some(inner) = self.inner.take() {
            inner.run_release(self.number);
        }
    }
}

impl<E: Executor + 'static> Drop for PendingRelease<E> {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take() else {
            return;
        };
        let GivenUp { delayed, shutdown } = inner.take_delayed(self.number);
        inner.count_cancelled(&delayed);
        for task in delayed {
            ignore_panic(|| task.abandon(Cancellation::Shutdown));
        }
        if let Some(shutdown) = shutdown {
            ignore_panic(|| shutdown(&inner.executor));
        }
    }
}

impl<E: ExecutorService + 'static> ExecutorService for RateLimited<E> {
    /// Stops accepting tasks. Those that are delayed are passed on in their time, and then the other
    /// executor is shut down.
    fn shutdown(&self) {
        let (is_idle, submitters) = {
            let mut state = self.0.state.lock();
            state.shutdown = Some(E::shutdown);
            (state.release.is_none(), state.submitters.signal(usize::MAX))
        };
        drop(submitters);
        if is_idle {
            self.0.executor.shutdown();
        }
    }

    /// Stops the other executor, and returns what it returns, then what is delayed.
    fn shutdown_now(&self) -> Vec<Task> {
        let (delayed, submitters) = {
            let mut state = self.0.state.lock();
            state.shutdown = Some(E::shutdown);
            state.release = None;
            let delayed = std::mem::take(&mut state.delayed);
            (delayed, state.submitters.signal(usize::MAX))
        };
        drop(submitters);
        for task in &delayed {
            task.set_drop_reason(Cancellation::Drained);
        }
        let mut tasks = self.0.executor.shutdown_now();
        tasks.extend(delayed);
        tasks
    }

    fn is_shutdown(&self) -> bool {
        self.0.state.lock().shutdown.is_some() || self.0.executor.is_shutdown()
    }

    fn is_terminated(&self) -> bool {
        self.0.executor.is_terminated()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.0.executor.await_termination(timeout)
    }

    fn running_tasks(&self) -> Vec<RunningTask> {
        self.0.executor.running_tasks()
    }

    fn completed_count(&self) -> Option<u64> {
        self.0.executor.completed_count()
    }

    fn cancelled_by_shutdown(&self) -> Option<u64> {
        self.0.executor.cancelled_by_shutdown()
    }
}

impl<E: Executor + fmt::Debug + 'static> fmt::Debug for RateLimited<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimited")
            .field("executor", &self.0.executor)
            .field("rate", &self.0.rate)
            .field("delayed", &self.delayed_count())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod models {
    use std::num::NonZeroU32;
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Excess, Rate, RateLimited};
    use crate::executor::{DirectExecutor, ExecutorService};
    use crate::submit::Submit;
    use crate::sync::{Mutex, model, thread};
    use crate::task::Task;

    /// An executor with one token for a long time, whose releases run on the threads that take them.
    fn limited() -> (Arc<RateLimited<DirectExecutor>>, Arc<Mutex<Vec<Task>>>) {
        let releases = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&releases);
        let run_after = move |_, task| {
            theirs.lock().push(task);
            Ok(())
        };
        let rate = Rate::every(Duration::ZERO).burst(NonZeroU32::MIN);
        let excess = Excess::Delay(Arc::new(run_after));
        let limited = RateLimited::new(DirectExecutor::new(), rate, excess);
        // As if a task were delayed already.
        let number = limited.0.state.lock().new_release();
        if let Excess::Delay(run_after) = &limited.0.excess {
            assert!(
                limited
                    .0
                    .schedule_release(Duration::ZERO, number, run_after)
                    .is_ok()
            );
        }
        (Arc::new(limited), releases)
    }

    /// Runs or drops a release while others submit and shut down: every handle completes, and the
    /// other executor is shut down.
    fn race(end: fn(Task)) {
        let (limited, releases) = limited();
        let release = releases.lock().pop().unwrap();
        let timer = thread::Builder::new().spawn(move || end(release)).unwrap();
        let theirs = Arc::clone(&limited);
        let submitter = thread::Builder::new().spawn(move || theirs.submit(|| 1).ok());
        limited.shutdown();
        timer.join().unwrap();
        let accepted = submitter.unwrap().join().unwrap();
        assert!(accepted.is_none_or(|handle| handle.is_done()));
        assert!(limited.executor().is_shutdown());
        assert_eq!(limited.delayed_count(), 0);
    }

    #[test]
    fn a_release_beside_a_submission_and_a_shutdown_leaves_nothing_behind() {
        model(|| race(Task::run));
    }

    #[test]
    fn a_release_that_is_dropped_beside_a_submission_and_a_shutdown_leaves_nothing_behind() {
        model(|| race(drop));
    }
}
