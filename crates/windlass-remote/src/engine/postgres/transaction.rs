//! Tasks that are submitted by a transaction of the program.

use super::super::{EngineError, NewTask, Submitted};
use super::calls::{submit_parameters, submitted};
use super::columns::TaskColumns;
use super::errors::classify;
use super::pool::Pool;
use super::session::call_text;
use crate::executor::RemoteExecutor;
use crate::id::TaskId;
use crate::options::TaskOptions;
use crate::rejected::{Rejected, RejectedReason};
use crate::task::RemoteTask;
use std::fmt;
use std::time::Duration;
use tokio_postgres::GenericClient;

/// Submits tasks inside a transaction of the program; see [`PostgresEngine::in_transaction`].
///
/// A rejection because of the queue or the task leaves the transaction as it is. After an error of the server the transaction
/// can only be rolled back, as always in Postgres. In a queue with a bound, transactions that run at the same time may exceed it
/// together, since none sees the others' tasks.
///
/// [`PostgresEngine::in_transaction`]: super::PostgresEngine::in_transaction
pub struct InTransaction<'a, C> {
    pool: &'a Pool,
    transaction: &'a C,
    executor: &'a RemoteExecutor,
}

impl<C> fmt::Debug for InTransaction<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InTransaction")
            .field("executor", self.executor)
            .finish_non_exhaustive()
    }
}

impl<'a, C: GenericClient + Sync> InTransaction<'a, C> {
    pub(super) const fn new(
        pool: &'a Pool,
        transaction: &'a C,
        executor: &'a RemoteExecutor,
    ) -> Self {
        Self {
            pool,
            transaction,
            executor,
        }
    }

    /// Submits a task with a new id and the rules of its type.
    ///
    /// # Errors
    ///
    /// See [`RejectedReason`].
    pub async fn submit<T: RemoteTask>(&self, task: T) -> Result<TaskId, Rejected<T>> {
        let (id, options) = (TaskId::random(), T::options());
        self.submit_with(id, task, options, Duration::ZERO).await
    }

    /// Submits a task with an id and rules of its own, to be ready after a delay, which counts from now and not from the commit.
    ///
    /// An id that the queue knows already is not submitted again. If another transaction has submitted it and not ended yet, this
    /// one waits for its end.
    ///
    /// # Errors
    ///
    /// See [`RejectedReason`].
    pub async fn submit_with<T: RemoteTask>(
        &self,
        id: TaskId,
        task: T,
        options: TaskOptions,
        delay: Duration,
    ) -> Result<TaskId, Rejected<T>> {
        let new = match self.executor.new_task(&id, &task, options, delay) {
            Ok(new) => NewTask {
                // Nobody waits yet, and if the transaction is rolled back nobody ever will.
                reply_to: None,
                ..new
            },
            Err(reason) => return Err(Rejected::new(task, reason)),
        };
        match self.send(&new).await {
            Ok(Submitted::Refused(refusal)) => Err(Rejected::new(task, refusal.into())),
            Ok(Submitted::Accepted | Submitted::Duplicate) => Ok(id),
            Err(error) => Err(Rejected::new(task, RejectedReason::Engine(error))),
        }
    }

    async fn send(&self, task: &NewTask) -> Result<Submitted, EngineError> {
        self.pool.ensure_queue(self.executor.queue()).await?;
        let tasks = std::slice::from_ref(task);
        let columns = TaskColumns::new(tasks);
        let (queue, enlisted) = (self.executor.queue().as_str(), true);
        let channel = self.pool.poll.is_none().then(|| self.pool.channel());
        let parameters = submit_parameters(&queue, &enlisted, &channel, &columns);
        let text = call_text(&self.pool.schema, "submit", parameters.len());
        let row = self.transaction.query_one(&text, &parameters).await;
        let row = row.map_err(|error| classify(&error))?;
        let answers = submitted(&row, tasks)?;
        let answer = answers.into_iter().next();
        answer.ok_or_else(|| EngineError::Protocol("submit returned nothing".into()))
    }
}
