//! The face of the Postgres engine.

use super::super::{
    Beat, CancelMode, Cancelled, ControlFeed, DeadAction, Due, Engine, EngineError, Fire, Lease,
    MAX_PAGE, NewTask, Overlap, QueuePatch, QueueStats, QueueStatus, Renewed, ReplyFeed, Report,
    Reported, ScheduleRecord, Submitted, TaskFeed, TaskPage, TaskRecord, TaskState, Tick,
    TypeLimit, WorkerRecord,
};
use super::builder::PostgresEngineBuilder;
use super::calls::{self, tell};
use super::columns::millis;
use super::feeds::{Line, Messages, Replies, Tasks};
use super::pool::Pool;
use super::records::{self, read, task_id, time};
use super::schema;
use super::transaction::InTransaction;
use crate::executor::RemoteExecutor;
use crate::id::{QueueName, TaskId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::GenericClient;

/// Queues on PostgreSQL 13 or later. A clone is the same engine and shares its connections.
///
/// Every change is on disk before its call returns: the engine sets `synchronous_commit` in its own sessions where it is off. Its
/// tables are in a schema of their own, which [`migrate`](Self::migrate) makes. Calls block, on any thread; the engine has a
/// small runtime inside.
///
/// ```no_run
/// use windlass_remote::{RemoteExecutor, engine::PostgresEngine};
///
/// let engine = PostgresEngine::builder("postgres://user:password@127.0.0.1/app").build()?;
/// engine.migrate()?; // once, or at each start
/// let executor = RemoteExecutor::new(engine);
/// # Ok::<(), windlass_remote::engine::EngineError>(())
/// ```
#[derive(Clone)]
pub struct PostgresEngine(Arc<Pool>);

impl fmt::Debug for PostgresEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresEngine")
            .field(&self.0.address.place())
            .field(&self.0.channel())
            .finish()
    }
}

/// What a server says about itself that matters for tasks; see [`PostgresEngine::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresReport {
    /// The version of the server.
    pub version: String,
    /// What should be set otherwise: commits that may be lost, files that are not flushed.
    pub warnings: Vec<String>,
}

impl PostgresEngine {
    pub(super) fn new(pool: Pool) -> Self {
        Self(Arc::new(pool))
    }

    /// Connects to a server and checks it: `postgres://user:password@host/database`, or `key=value` pairs as libpq reads them.
    ///
    /// # Errors
    ///
    /// See [`PostgresEngineBuilder::connect`].
    pub fn connect(address: &str) -> Result<Self, EngineError> {
        Self::builder(address).connect()
    }

    /// Creates the settings of an engine.
    pub fn builder(address: &str) -> PostgresEngineBuilder {
        PostgresEngineBuilder::new(address)
    }

    /// Creates the schema, or brings it up to date. Does nothing if it is; of several callers at once one does it and the others
    /// wait. Tasks stay; the functions of the schema are made anew, so workers of an older release may get errors from then on, which
    /// they survive: replace them. The user needs the right to create a schema in the database, or the schema must be there and belong to the user.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, does not allow it, or has a schema of a later release ([`EngineError::Version`]).
    pub fn migrate(&self) -> Result<(), EngineError> {
        schema::migrate(&self.0)
    }

    /// Asks the server for its version and its settings, and sees whether the schema is there.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, is older than PostgreSQL 13, or has no schema of this release.
    pub fn check(&self) -> Result<PostgresReport, EngineError> {
        schema::check(&self.0)
    }

    /// Submits tasks inside a transaction of the program: they are there when it commits, and never were if it does not.
    ///
    /// The executor says which queue and in which form; it should be one on this engine. The transaction must be on the same
    /// database. After the commit, [`RemoteExecutor::attach`] returns the future for the id.
    ///
    /// ```no_run
    /// # use windlass_remote::{RemoteExecutor, RemoteTask, TaskCx, TaskError};
    /// # use windlass_remote::engine::{PostgresEngine, tokio_postgres};
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct SendReceipt { order: i64 }
    /// # impl RemoteTask for SendReceipt {
    /// #     const NAME: &'static str = "shop.receipt";
    /// #     type Output = ();
    /// #     fn run(self, _: &TaskCx) -> Result<(), TaskError> { Ok(()) }
    /// # }
    /// # async fn order(
    /// #     engine: &PostgresEngine, executor: &RemoteExecutor, client: &mut tokio_postgres::Client,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let transaction = client.transaction().await?;
    /// let row = transaction.query_one("INSERT INTO orders DEFAULT VALUES RETURNING id", &[]).await?;
    /// let tasks = engine.in_transaction(&transaction, executor);
    /// let id = tasks.submit(SendReceipt { order: row.get(0) }).await?;
    /// transaction.commit().await?; // the order and its task, or neither
    /// let future = executor.attach::<SendReceipt>(&id)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_transaction<'a, C: GenericClient + Sync>(
        &'a self,
        transaction: &'a C,
        executor: &'a RemoteExecutor,
    ) -> InTransaction<'a, C> {
        InTransaction::new(&self.0, transaction, executor)
    }
}

impl Engine for PostgresEngine {
    fn submit(&self, queue: &QueueName, tasks: &[NewTask]) -> Result<Vec<Submitted>, EngineError> {
        calls::submit(&self.0, queue, tasks)
    }

    fn report(&self, queue: &QueueName, reports: &[Report]) -> Result<Vec<Reported>, EngineError> {
        calls::report(&self.0, queue, reports)
    }

    fn cancel(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        mode: CancelMode,
    ) -> Result<Vec<Cancelled>, EngineError> {
        calls::cancel(&self.0, queue, ids, mode)
    }

    fn look_up(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        watcher: Option<&str>,
    ) -> Result<Vec<Option<TaskRecord>>, EngineError> {
        calls::look_up(&self.0, queue, ids, watcher)
    }

    fn beat(&self, queue: &QueueName, beat: Beat<'_>) -> Result<Vec<Renewed>, EngineError> {
        calls::beat(&self.0, queue, beat)
    }

    fn save_checkpoint(
        &self,
        queue: &QueueName,
        lease: &Lease,
        bytes: &[u8],
    ) -> Result<Renewed, EngineError> {
        let (id, fence) = (lease.id.as_str(), lease.fence as i64);
        let row = self
            .0
            .call_one("save_checkpoint", &[&queue.as_str(), &id, &fence, &bytes])?;
        let is_held: bool = read(&row, "save_checkpoint")?;
        Ok(if is_held {
            Renewed::Held
        } else {
            Renewed::Lost
        })
    }

    fn last_checkpoint(
        &self,
        queue: &QueueName,
        id: &TaskId,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let row = self
            .0
            .call_one("last_checkpoint", &[&queue.as_str(), &id.as_str()])?;
        read(&row, "last_checkpoint")
    }

    fn leave(&self, queue: &QueueName, worker: &str) -> Result<(), EngineError> {
        let row = self.0.call_one("leave", &[&queue.as_str(), &worker])?;
        tell(&self.0, &row)
    }

    fn tick(
        &self,
        queue: &QueueName,
        lease: Duration,
        silence: Duration,
    ) -> Result<Tick, EngineError> {
        let row = self
            .0
            .call_one("tick", &[&queue.as_str(), &millis(lease), &millis(silence)])?;
        tell(&self.0, &row)?;
        let now: i64 = read(&row, "now")?;
        let next: Option<i64> = read(&row, "next_due")?;
        let names: Option<Vec<String>> = read(&row, "names")?;
        let rules: Option<Vec<String>> = read(&row, "rules")?;
        let times: Option<Vec<i64>> = read(&row, "times")?;
        let names = names.unwrap_or_default().into_iter();
        let due = names.zip(rules.unwrap_or_default());
        let due = due.zip(times.unwrap_or_default());
        Ok(Tick {
            now: now as u64,
            next_due: next.map(|at| time(at - now)),
            due: due
                .map(|((name, rule), at)| Due {
                    name,
                    rule,
                    at: at as u64,
                })
                .collect(),
        })
    }

    fn tasks(&self, queue: &QueueName, worker: &str) -> Result<Box<dyn TaskFeed>, EngineError> {
        let line = Line::new(&self.0, 't', queue.as_str());
        Ok(Box::new(Tasks::new(line, queue.as_str(), worker)))
    }

    fn replies(&self, _: &QueueName, client: &str) -> Result<Box<dyn ReplyFeed>, EngineError> {
        Ok(Box::new(Replies {
            line: Line::new(&self.0, 'r', client),
            client: client.into(),
        }))
    }

    fn control(&self, queue: &QueueName) -> Result<Box<dyn ControlFeed>, EngineError> {
        let line = Line::new(&self.0, 'm', queue.as_str());
        Ok(Box::new(Messages(line)))
    }

    fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: &ScheduleRecord,
    ) -> Result<(), EngineError> {
        let task = &schedule.task;
        let overlap = match schedule.overlap {
            Overlap::Skip => 0_i16,
            Overlap::Allow => 1,
            Overlap::Queue => 2,
        };
        let row = self.0.call_one(
            "put_schedule",
            &[
                &queue.as_str(),
                &schedule.name,
                &schedule.rule,
                &&*task.name,
                &i32::from(task.version),
                &(task.options.priority.level() as i16),
                &task.options.to_wire(),
                &task.payload,
                &overlap,
                &schedule.after_finish.map(millis),
                &schedule.next.and_then(|next| i64::try_from(next).ok()),
            ],
        )?;
        tell(&self.0, &row)
    }

    fn remove_schedule(&self, queue: &QueueName, name: &str) -> Result<bool, EngineError> {
        let row = self
            .0
            .call_one("remove_schedule", &[&queue.as_str(), &name])?;
        read(&row, "remove_schedule")
    }

    fn schedules(&self, queue: &QueueName) -> Result<Vec<ScheduleRecord>, EngineError> {
        let rows = self.0.call("schedules", &[&queue.as_str()])?;
        rows.iter().map(records::schedule).collect()
    }

    fn fire(&self, queue: &QueueName, fire: &Fire) -> Result<bool, EngineError> {
        let ids: Vec<&str> = fire.ids.iter().map(TaskId::as_str).collect();
        let row = self.0.call_one(
            "fire",
            &[
                &queue.as_str(),
                &fire.name,
                &(fire.at as i64),
                &fire.next.and_then(|next| i64::try_from(next).ok()),
                &ids,
            ],
        )?;
        tell(&self.0, &row)?;
        read(&row, "fired")
    }

    fn now(&self) -> Result<u64, EngineError> {
        let row = self.0.call_one("now_ms", &[])?;
        let now: i64 = read(&row, "now_ms")?;
        Ok(now as u64)
    }

    fn queues(&self) -> Result<Vec<QueueName>, EngineError> {
        let rows = self.0.call("queues", &[])?;
        let name = |row| read::<&str>(row, "name").map(str::parse);
        let names: Result<Vec<_>, EngineError> = rows.iter().map(name).collect();
        Ok(names?.into_iter().flatten().collect())
    }

    fn stats(&self, queue: &QueueName) -> Result<QueueStats, EngineError> {
        let row = self.0.call_one("stats", &[&queue.as_str()])?;
        let counts: Vec<Option<i64>> = read(&row, "counts")?;
        Ok(records::stats(&counts))
    }

    fn workers(&self, queue: &QueueName) -> Result<Vec<WorkerRecord>, EngineError> {
        let rows = self.0.call("workers", &[&queue.as_str()])?;
        rows.iter().map(records::worker).collect()
    }

    fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueStatus, EngineError> {
        let bounded = patch.capacity.map(|capacity| capacity.is_some());
        let capacity = patch.capacity.flatten();
        let capacity = capacity.map(|most| i64::try_from(most).unwrap_or(i64::MAX));
        let row = self.0.call_one(
            "configure",
            &[
                &queue.as_str(),
                &patch.paused,
                &patch.closed,
                &bounded,
                &capacity,
            ],
        )?;
        tell(&self.0, &row)?;
        let capacity: Option<i64> = read(&row, "o_capacity")?;
        Ok(QueueStatus {
            paused: read(&row, "o_paused")?,
            closed: read(&row, "o_closed")?,
            capacity: capacity.and_then(|most| u64::try_from(most).ok()),
        })
    }

    fn limit(&self, queue: &QueueName, name: &str, limit: TypeLimit) -> Result<(), EngineError> {
        let interval = limit.interval.map(|time| {
            let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
            micros.min(1_000_000_000_000_000)
        });
        let row = self.0.call_one(
            "limit_type",
            &[
                &queue.as_str(),
                &name,
                &limit.concurrency.map(i64::from),
                &interval,
                &i64::from(limit.burst.max(1)),
            ],
        )?;
        tell(&self.0, &row)
    }

    fn list(
        &self,
        queue: &QueueName,
        states: &[TaskState],
        after: Option<&str>,
        count: usize,
    ) -> Result<TaskPage, EngineError> {
        calls::list(&self.0, queue, states, (after, count.clamp(1, MAX_PAGE)))
    }

    fn dead_letters(
        &self,
        queue: &QueueName,
        skip: usize,
        count: usize,
    ) -> Result<Vec<TaskRecord>, EngineError> {
        let rows = self.0.call(
            "dead_letters",
            &[&queue.as_str(), &(skip as i64), &(count as i64)],
        )?;
        let id = |row| task_id(read(row, "id")?);
        let ids: Result<Vec<TaskId>, EngineError> = rows.iter().map(id).collect();
        let records = calls::look_up(&self.0, queue, &ids?, None)?;
        Ok(records.into_iter().flatten().collect())
    }

    fn settle_dead(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        action: DeadAction,
    ) -> Result<usize, EngineError> {
        let texts: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        let row = self.0.call_one(
            "settle_dead",
            &[&queue.as_str(), &texts, &(action == DeadAction::Drop)],
        )?;
        tell(&self.0, &row)?;
        let settled: i32 = read(&row, "settled")?;
        Ok(usize::try_from(settled).unwrap_or(0))
    }
}
