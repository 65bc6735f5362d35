//! The verbs that one machine and many have in common.

use crate::engine::ScheduleRecord;
use crate::executor::{AttachError, RemoteExecutor};
use crate::future::{RemoteError, RemoteFuture};
use crate::id::{TaskId, check_name};
use crate::options::TaskOptions;
use crate::rejected::{Rejected, RejectedReason};
use crate::schedule::{Schedule, ScheduleHandle};
use crate::slot::wait_for_any;
use crate::task::RemoteTask;
use std::fmt;
use std::time::{Duration, Instant};

/// The longest name of a schedule: the ids of its tasks carry it and a time.
const MAX_SCHEDULE_NAME: usize = 80;

/// Why [`TaskExecutorService::invoke_any`] has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum InvokeAnyError {
    /// There was no task.
    Empty,
    /// The tasks were not submitted.
    Rejected(RejectedReason),
    /// Every task failed; this is the last error.
    Failed(RemoteError),
    /// No task had succeeded when the time was over. All were cancelled.
    TimedOut,
    /// The thread was interrupted. All tasks were cancelled.
    Interrupted,
}

impl fmt::Display for InvokeAnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there was no task"),
            Self::Rejected(reason) => write!(f, "tasks rejected: {reason}"),
            Self::Failed(error) => write!(f, "every task failed, the last one: {error}"),
            Self::TimedOut => f.write_str("no task has succeeded in time"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for InvokeAnyError {}

/// What a program needs of an executor of [`RemoteTask`]s, on one machine ([`LocalExecutor`](crate::LocalExecutor)) or on many
/// ([`RemoteExecutor`]): it moves from one to the other by changing the constructor.
///
/// ```
/// use windlass_remote::{LocalExecutor, RemoteTask, TaskCx, TaskError, TaskExecutorService};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Square(u64);
///
/// impl RemoteTask for Square {
///     const NAME: &'static str = "square";
///     type Output = u64;
///     fn run(self, _: &TaskCx) -> Result<u64, TaskError> { Ok(self.0 * self.0) }
/// }
///
/// fn sum_of_squares(executor: &impl TaskExecutorService) -> Result<u64, Box<dyn std::error::Error>> {
///     let futures = executor.invoke_all((1..=3).map(Square).collect())?;
///     futures.iter().map(|future| Ok(future.get()?)).sum()
/// }
///
/// assert_eq!(sum_of_squares(&LocalExecutor::fixed(2)?)?, 14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TaskExecutorService {
    /// Returns the executor that the provided methods work on, after making the task type known to it.
    #[doc(hidden)]
    fn remote<T: RemoteTask>(&self) -> &RemoteExecutor;

    /// Rejects new tasks from now on; those submitted run on.
    fn shutdown(&self);

    /// Rejects new tasks, and cancels those of this executor that have no outcome. Returns the ids of those that
    /// had not started. Tasks that the engine could not be asked to cancel run on.
    fn shutdown_now(&self) -> Vec<TaskId>;

    /// Returns whether new tasks are rejected.
    fn is_shutdown(&self) -> bool;

    /// Returns whether new tasks are rejected and every task submitted through this executor has an outcome.
    fn is_terminated(&self) -> bool;

    /// Waits until [`is_terminated`](Self::is_terminated), no longer than `limit`; returns whether it is.
    fn await_termination(&self, limit: Duration) -> bool;

    /// Submits a task.
    ///
    /// # Errors
    ///
    /// See [`RejectedReason`]; the task comes back.
    fn submit_task<T: RemoteTask>(&self, task: T) -> Result<RemoteFuture<T::Output>, Rejected<T>> {
        self.schedule(Duration::ZERO, task)
    }

    /// Submits a task under an id. If there is such a task already, the future is that of the first one.
    ///
    /// # Errors
    ///
    /// See [`RejectedReason`]; the task comes back.
    fn submit_task_id<T: RemoteTask>(
        &self,
        id: TaskId,
        task: T,
    ) -> Result<RemoteFuture<T::Output>, Rejected<T>> {
        self.remote::<T>()
            .submit_with(id, task, T::options(), Duration::ZERO)
    }

    /// Submits a task with an id and rules of its own, to be ready after a delay.
    ///
    /// # Errors
    ///
    /// See [`RejectedReason`]; the task comes back.
    fn submit_with<T: RemoteTask>(
        &self,
        id: TaskId,
        task: T,
        options: TaskOptions,
        delay: Duration,
    ) -> Result<RemoteFuture<T::Output>, Rejected<T>> {
        self.remote::<T>().submit_with(id, task, options, delay)
    }

    /// Submits many tasks in few round trips, each with a new id.
    ///
    /// # Errors
    ///
    /// If the queue refuses one: with it come all that were not taken. Those that were taken stay submitted; use
    /// [`invoke_all`](Self::invoke_all) to have them cancelled.
    fn submit_all<T: RemoteTask>(
        &self,
        tasks: Vec<T>,
    ) -> Result<Vec<RemoteFuture<T::Output>>, Rejected<Vec<T>>> {
        self.remote::<T>().submit_all(tasks)
    }

    /// Picks a task up by its id, whoever submitted it, while its record is there.
    ///
    /// # Errors
    ///
    /// See [`AttachError`].
    fn attach<T: RemoteTask>(&self, id: &TaskId) -> Result<RemoteFuture<T::Output>, AttachError> {
        self.remote::<T>().attach::<T>(id)
    }

    /// Submits a task that is ready after a delay.
    ///
    /// # Errors
    ///
    /// See [`RejectedReason`]; the task comes back.
    fn schedule<T: RemoteTask>(
        &self,
        delay: Duration,
        task: T,
    ) -> Result<RemoteFuture<T::Output>, Rejected<T>> {
        self.remote::<T>()
            .submit_with(TaskId::random(), task, T::options(), delay)
    }

    /// Submits tasks and waits until all have an outcome.
    ///
    /// # Errors
    ///
    /// If a task is rejected: it comes back with all that were not taken, and those that were are cancelled.
    fn invoke_all<T: RemoteTask>(
        &self,
        tasks: Vec<T>,
    ) -> Result<Vec<RemoteFuture<T::Output>>, Rejected<Vec<T>>> {
        invoke_all(self.remote::<T>(), tasks, None)
    }

    /// As [`invoke_all`](Self::invoke_all), but cancels what has no outcome after `limit`.
    ///
    /// # Errors
    ///
    /// As for [`invoke_all`](Self::invoke_all).
    fn invoke_all_timeout<T: RemoteTask>(
        &self,
        tasks: Vec<T>,
        limit: Duration,
    ) -> Result<Vec<RemoteFuture<T::Output>>, Rejected<Vec<T>>> {
        invoke_all(self.remote::<T>(), tasks, Instant::now().checked_add(limit))
    }

    /// Submits tasks, returns the first result, and cancels the other tasks.
    ///
    /// # Errors
    ///
    /// If none succeeds.
    fn invoke_any<T: RemoteTask>(&self, tasks: Vec<T>) -> Result<T::Output, InvokeAnyError> {
        invoke_any(self.remote::<T>(), tasks, None)
    }

    /// As [`invoke_any`](Self::invoke_any), but waits no longer than `limit`.
    ///
    /// # Errors
    ///
    /// If none succeeds in time.
    fn invoke_any_timeout<T: RemoteTask>(
        &self,
        tasks: Vec<T>,
        limit: Duration,
    ) -> Result<T::Output, InvokeAnyError> {
        invoke_any(self.remote::<T>(), tasks, Instant::now().checked_add(limit))
    }

    /// Submits a task after `first` and then every `period`, under a name that outlives this executor.
    ///
    /// # Errors
    ///
    /// See [`schedule_named`](Self::schedule_named).
    fn schedule_at_fixed_rate<T: RemoteTask>(
        &self,
        name: &str,
        first: Duration,
        period: Duration,
        task: T,
    ) -> Result<ScheduleHandle, Rejected<T>> {
        self.schedule_named(name, &Schedule::at_fixed_rate(first, period), task)
    }

    /// Submits a task after `first` and then `pause` after each outcome, under a name that outlives this executor.
    ///
    /// # Errors
    ///
    /// See [`schedule_named`](Self::schedule_named).
    fn schedule_with_fixed_delay<T: RemoteTask>(
        &self,
        name: &str,
        first: Duration,
        pause: Duration,
        task: T,
    ) -> Result<ScheduleHandle, Rejected<T>> {
        self.schedule_named(name, &Schedule::with_fixed_delay(first, pause), task)
    }

    /// Submits a task at the times of a cron expression in a time zone, under a name that outlives this executor.
    ///
    /// # Errors
    ///
    /// If the expression or the zone is invalid; see [`schedule_named`](Self::schedule_named).
    #[cfg(feature = "cron")]
    fn schedule_cron<T: RemoteTask>(
        &self,
        name: &str,
        expression: &str,
        zone: &str,
        task: T,
    ) -> Result<ScheduleHandle, Rejected<T>> {
        match Schedule::cron(expression, zone) {
            Ok(schedule) => self.schedule_named(name, &schedule, task),
            Err(error) => Err(Rejected::new(
                task,
                RejectedReason::Schedule(error.to_string()),
            )),
        }
    }

    /// Adds a schedule, or replaces the one of this name. The engine keeps it, and the workers of the queue carry it out, until
    /// it is [cancelled](ScheduleHandle::cancel).
    ///
    /// # Errors
    ///
    /// If the name is not one or has more than 80 characters, the schedule makes no sense, or the engine does not answer.
    fn schedule_named<T: RemoteTask>(
        &self,
        name: &str,
        schedule: &Schedule,
        task: T,
    ) -> Result<ScheduleHandle, Rejected<T>> {
        add_schedule(self.remote::<T>(), name, schedule, &task)
            .map_err(|reason| Rejected::new(task, reason))
    }
}

fn add_schedule<T: RemoteTask>(
    remote: &RemoteExecutor,
    name: &str,
    schedule: &Schedule,
    task: &T,
) -> Result<ScheduleHandle, RejectedReason> {
    check_name(name).map_err(RejectedReason::Name)?;
    let invalid = |error: String| RejectedReason::Schedule(error);
    if name.len() > MAX_SCHEDULE_NAME {
        return Err(invalid(format!(
            "a name of more than {MAX_SCHEDULE_NAME} characters"
        )));
    }
    let template = format!("cron:{name}:0")
        .parse()
        .map_err(RejectedReason::Name)?;
    let mut task = remote.new_task(&template, task, T::options(), Duration::ZERO)?;
    task.reply_to = None;
    let engine = remote.client.engine();
    let add = |now: u64| -> Result<ScheduleRecord, RejectedReason> {
        let (rule, next) = schedule.plan(now).map_err(|e| invalid(e.to_string()))?;
        let (overlap, after_finish) = (schedule.overlap_policy(), schedule.after_finish());
        Ok(ScheduleRecord {
            name: name.into(),
            rule,
            task,
            overlap,
            after_finish,
            next: Some(next),
        })
    };
    let record = add(engine.now().map_err(RejectedReason::Engine)?)?;
    engine
        .put_schedule(remote.queue(), &record)
        .map_err(RejectedReason::Engine)?;
    let (engine, queue) = (engine.clone(), remote.queue().clone());
    Ok(ScheduleHandle {
        engine,
        queue,
        name: name.into(),
    })
}

/// Cancels what has no outcome, in few round trips. A task that the engine could not be asked about runs on, for nobody.
fn cancel_rest<O>(remote: &RemoteExecutor, futures: &[RemoteFuture<O>]) {
    let open = futures.iter().filter(|future| !future.is_done());
    let open: Vec<TaskId> = open.map(|future| future.id().clone()).collect();
    remote.cancel_ids(&open);
}

fn invoke_all<T: RemoteTask>(
    remote: &RemoteExecutor,
    tasks: Vec<T>,
    until: Option<Instant>,
) -> Result<Vec<RemoteFuture<T::Output>>, Rejected<Vec<T>>> {
    let futures = remote.submit_many(tasks).map_err(|(rejected, taken)| {
        cancel_rest(remote, &taken);
        rejected
    })?;
    // One after the other: all of them are wanted, and whichever comes last ends the wait.
    let mut interrupted = false;
    for future in &futures {
        match future.wait(until) {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(_) => {
                interrupted = true;
                break;
            }
        }
    }
    // After the limit, or an interrupt.
    cancel_rest(remote, &futures);
    if interrupted {
        windlass::interrupt::current().interrupt();
    }
    Ok(futures)
}

fn invoke_any<T: RemoteTask>(
    remote: &RemoteExecutor,
    tasks: Vec<T>,
    until: Option<Instant>,
) -> Result<T::Output, InvokeAnyError> {
    if tasks.is_empty() {
        return Err(InvokeAnyError::Empty);
    }
    let futures = remote.submit_many(tasks).map_err(|(rejected, taken)| {
        cancel_rest(remote, &taken);
        InvokeAnyError::Rejected(rejected.reason().clone())
    })?;
    let slots: Vec<_> = futures.iter().map(RemoteFuture::slot).collect();
    let mut last = None;
    let first = wait_for_any(&slots, until, |at, _| match futures[at].try_get() {
        Some(Ok(output)) => Some(output),
        Some(Err(error)) => {
            last = Some(error);
            None
        }
        None => None,
    });
    let all_failed = futures.iter().all(RemoteFuture::is_done);
    cancel_rest(remote, &futures);
    match (first, last) {
        (Err(_), _) => Err(InvokeAnyError::Interrupted),
        (Ok(Some(output)), _) => Ok(output),
        (Ok(None), Some(error)) if all_failed => Err(InvokeAnyError::Failed(error)),
        (Ok(None), _) => Err(InvokeAnyError::TimedOut),
    }
}

impl TaskExecutorService for RemoteExecutor {
    fn remote<T: RemoteTask>(&self) -> &RemoteExecutor {
        self
    }

    fn shutdown(&self) {
        self.shut_down();
    }

    fn shutdown_now(&self) -> Vec<TaskId> {
        self.shut_down();
        self.cancel_all()
    }

    fn is_shutdown(&self) -> bool {
        self.is_shut_down()
    }

    fn is_terminated(&self) -> bool {
        self.is_shut_down() && self.client.is_drained()
    }

    fn await_termination(&self, limit: Duration) -> bool {
        // Without a shutdown there is no end to wait for, as in Java; the whole time is waited.
        if self.is_shut_down() {
            return self.client.wait_drained(limit);
        }
        // Without an end, if the limit is longer than time can be told.
        let until = Instant::now().checked_add(limit);
        while !self.is_terminated() {
            let left = until.map_or(limit, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero()
                || windlass::interrupt::park_timeout(left.min(Duration::from_millis(20))).is_err()
            {
                break;
            }
        }
        self.is_terminated()
    }
}
