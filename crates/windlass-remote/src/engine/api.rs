//! What every engine does: a few atomic transitions on batches.

use super::{
    Backlog, Beat, CancelMode, Cancelled, Control, DeadAction, Delivery, EngineError,
    EngineFigures, FetchRequest, Fetched, Fire, Lease, NewTask, QueuePatch, QueueStats,
    QueueStatus, Renewed, Reply, Report, Reported, ScheduleRecord, Submitted, TaskPage, TaskRecord,
    TaskState, Tick, TypeLimit, WorkerRecord,
};
use crate::id::{QueueName, TaskId};
use std::fmt;
use std::time::Duration;

/// A store of queues, tasks, workers and schedules, shared by clients and workers.
///
/// Every method is one atomic transition, is called from any thread, and may block until its answer is there; an
/// engine bounds that wait itself and returns [`EngineError::Unavailable`]. Calls that wait *for tasks* or *for replies*
/// are on feeds, each of which has one owner and so its own connection. Slices have at most
/// [`MAX_BATCH`](super::MAX_BATCH) elements, and answers have one element for each, in order.
/// All times are those of the engine's own clock.
///
/// The life of a task:
///
/// ```text
/// submit ─▶ scheduled ─▶ ready ─▶ running ─▶ done | failed | cancelled | dead
///                ▲         ▲         │
///                │         └─ lease ends (worker vanished), put back
///                └─────────── retry, put back with a delay
/// ```
pub trait Engine: fmt::Debug + Send + Sync + 'static {
    /// Adds tasks to a queue. A known id is a [`Submitted::Duplicate`], whatever its state.
    ///
    /// # Errors
    ///
    /// If the engine does not answer; the tasks may be in the queue then, and the same call again is safe.
    fn submit(&self, queue: &QueueName, tasks: &[NewTask]) -> Result<Vec<Submitted>, EngineError>;

    /// Records what became of deliveries.
    ///
    /// The first success counts, also one of an earlier delivery; any other verdict counts only from the latest delivery
    /// of a task that runs. All else is [`Reported::Stale`] and counted. Repeating a call is safe, but
    /// its second answer is `Stale`.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn report(&self, queue: &QueueName, reports: &[Report]) -> Result<Vec<Reported>, EngineError>;

    /// Cancels tasks. Their clients hear of it at once, and so do the workers of those that run.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn cancel(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        mode: CancelMode,
    ) -> Result<Vec<Cancelled>, EngineError>;

    /// Returns the records of tasks. Those without an outcome are watched by `watcher` from now on: it hears of their
    /// outcome. Record and watch are one transition, so no outcome falls between the two. A watcher gets no payloads.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn look_up(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        watcher: Option<&str>,
    ) -> Result<Vec<Option<TaskRecord>>, EngineError>;

    /// Notes that a worker lives, and renews its deliveries.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn beat(&self, queue: &QueueName, beat: Beat<'_>) -> Result<Vec<Renewed>, EngineError>;

    /// Keeps bytes with a task for its next delivery, in place of those kept before. [`Renewed::Lost`] if the delivery no longer
    /// counts; then nothing is changed. They are dropped with the outcome, except that of a dead letter.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn save_checkpoint(
        &self,
        queue: &QueueName,
        lease: &Lease,
        bytes: &[u8],
    ) -> Result<Renewed, EngineError>;

    /// Returns the bytes that an earlier delivery of a task has kept.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn last_checkpoint(
        &self,
        queue: &QueueName,
        id: &TaskId,
    ) -> Result<Option<Vec<u8>>, EngineError>;

    /// Forgets a worker that ends in good order. Its deliveries, if any are left, are ready for others at once,
    /// and that does not count as a vanished worker; those of [at-most-once](crate::TaskOptions::at_most_once) tasks fail.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn leave(&self, queue: &QueueName, worker: &str) -> Result<(), EngineError>;

    /// Does what is due: makes delayed tasks ready, takes tasks from workers that vanished, forgets old records.
    ///
    /// A delivery that was not renewed for `lease`, or whose worker gave no sign of life for `silence`, is ready again
    /// (one more vanished worker), or failed, or dead, as its options say.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn tick(
        &self,
        queue: &QueueName,
        lease: Duration,
        silence: Duration,
    ) -> Result<Tick, EngineError>;

    /// Opens the way to tasks for a worker.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn tasks(&self, queue: &QueueName, worker: &str) -> Result<Box<dyn TaskFeed>, EngineError>;

    /// Opens the way to outcomes for a client. Those from before the first call are on it too.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn replies(&self, queue: &QueueName, client: &str) -> Result<Box<dyn ReplyFeed>, EngineError>;

    /// Opens the way to messages for the workers of a queue.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn control(&self, queue: &QueueName) -> Result<Box<dyn ControlFeed>, EngineError>;

    /// Adds a schedule, or replaces the one of that name.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn put_schedule(&self, queue: &QueueName, schedule: &ScheduleRecord)
    -> Result<(), EngineError>;

    /// Removes a schedule; returns whether there was one. Tasks that it has submitted stay.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn remove_schedule(&self, queue: &QueueName, name: &str) -> Result<bool, EngineError>;

    /// Returns all schedules of a queue.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn schedules(&self, queue: &QueueName) -> Result<Vec<ScheduleRecord>, EngineError>;

    /// Submits the tasks of a schedule and sets its next time, unless somebody else did; returns whether it was done.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn fire(&self, queue: &QueueName, fire: &Fire) -> Result<bool, EngineError>;

    /// Returns the engine's time in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn now(&self) -> Result<u64, EngineError>;

    /// Returns the queues that were ever used.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn queues(&self) -> Result<Vec<QueueName>, EngineError>;

    /// Returns the counts of a queue.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn stats(&self, queue: &QueueName) -> Result<QueueStats, EngineError>;

    /// Returns what waits at each priority, the highest first. Empty if the engine does not know, which is what it says
    /// unless it has this method.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn backlog(&self, queue: &QueueName) -> Result<Vec<Backlog>, EngineError> {
        let _ = queue;
        Ok(Vec::new())
    }

    /// Returns what was measured of the calls in this process: a [`MeasuredEngine`](super::MeasuredEngine) does that, the
    /// others return `None`.
    fn figures(&self) -> Option<EngineFigures> {
        None
    }

    /// Returns the workers that gave a sign of life and did not leave, dead ones until they are forgotten.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn workers(&self, queue: &QueueName) -> Result<Vec<WorkerRecord>, EngineError>;

    /// Changes the settings of a queue and returns them; workers are told.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueStatus, EngineError>;

    /// Sets the limits of a task type for all workers of a queue together.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn limit(&self, queue: &QueueName, name: &str, limit: TypeLimit) -> Result<(), EngineError>;

    /// Returns the ids of tasks that there is a record of, a page at a time and in no particular order. Looks at about `count` records
    /// (1 to [`MAX_PAGE`](super::MAX_PAGE)) from where `after` says, the [`next`](TaskPage::next) of the page before, and
    /// returns those in one of `states`; in any, if none is named. So a page can be empty and not be the last.
    ///
    /// A task that is there from the first page to the last, in one of the states all the time, is on one of them. One that comes,
    /// changes or is forgotten meanwhile may be, and an id may be on two pages.
    ///
    /// # Errors
    ///
    /// If the engine does not answer, or `after` is not from a page of this engine.
    fn list(
        &self,
        queue: &QueueName,
        states: &[TaskState],
        after: Option<&str>,
        count: usize,
    ) -> Result<TaskPage, EngineError>;

    /// Returns dead letters, the latest first: `count` of them, at most [`MAX_BATCH`](super::MAX_BATCH), after the
    /// first `skip`.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn dead_letters(
        &self,
        queue: &QueueName,
        skip: usize,
        count: usize,
    ) -> Result<Vec<TaskRecord>, EngineError>;

    /// Retries or drops dead letters; returns for how many that was done.
    ///
    /// # Errors
    ///
    /// If the engine does not answer.
    fn settle_dead(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        action: DeadAction,
    ) -> Result<usize, EngineError>;
}

/// A worker's way to tasks.
pub trait TaskFeed: Send {
    /// Starts tasks for the worker: no more than it has room for, none that is cancelled or waited too long.
    ///
    /// If there is none, waits for one. A call that fails may have started tasks that the worker never hears of; their lease
    /// ends.
    ///
    /// # Errors
    ///
    /// If the engine does not answer. The next call connects again.
    fn fetch(&mut self, request: &FetchRequest) -> Result<Fetched, EngineError>;

    /// Ends the way: nothing is started for it any more. Returns what was started and not fetched yet, to be given back.
    ///
    /// # Errors
    ///
    /// If the engine does not answer. The leases of what was started end.
    fn close(&mut self) -> Result<Vec<Delivery>, EngineError> {
        Ok(Vec::new())
    }
}

/// A client's way to outcomes.
pub trait ReplyFeed: Send {
    /// Returns outcomes, each at least once; waits for one no longer than `wait`.
    ///
    /// # Errors
    ///
    /// If the engine does not answer. The next call connects again and goes on where the last one ended, but the client looks
    /// its tasks up, since outcomes may be lost.
    fn next(&mut self, wait: Duration) -> Result<Vec<Reply>, EngineError>;
}

/// A worker's way to messages.
pub trait ControlFeed: Send {
    /// Returns messages; waits for one no longer than `wait`.
    ///
    /// # Errors
    ///
    /// If the engine does not answer. The next call connects again; messages may be lost.
    fn next(&mut self, wait: Duration) -> Result<Vec<Control>, EngineError>;
}
