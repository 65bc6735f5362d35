//! The engine that is asked, and the queue or task that is meant.

use std::sync::Arc;
use std::time::Duration;

use windlass_remote::engine::{EngineError, TaskRecord};
use windlass_remote::{QueueAdmin, QueueName, TaskId};

use super::options::QueueOptions;
use crate::engine::{EngineAddress, OpenEngine, trouble};
use crate::exit::Failure;

/// How long a call to the engine may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// An engine, and the queue that the options name.
#[derive(Debug)]
pub(super) struct Session {
    open: OpenEngine,
    queue: Option<QueueName>,
}

impl Session {
    pub(super) fn new(options: &QueueOptions) -> Result<Self, Failure> {
        let queue = options.queue.as_deref().map(str::parse).transpose();
        Ok(Self {
            queue: queue.map_err(|error| Failure::usage(format!("--queue: {error}")))?,
            open: EngineAddress::given_or_env(options.engine.as_ref())?.open(PATIENCE)?,
        })
    }

    /// Turns the error of the engine into one that says what to do next.
    pub(super) fn asked<T>(&self, answer: Result<T, EngineError>) -> Result<T, Failure> {
        answer.map_err(|error| trouble(&error, &self.open.place))
    }

    pub(super) fn admin(&self, queue: &QueueName) -> QueueAdmin {
        QueueAdmin::new(Arc::clone(&self.open.engine), queue.clone())
    }

    /// Returns the queue that is named, or all of them.
    pub(super) fn queues(&self) -> Result<Vec<QueueName>, Failure> {
        match &self.queue {
            Some(_) => Ok(vec![self.queue()?]),
            None => self.asked(self.open.engine.queues()),
        }
    }

    /// Returns the queue that is named, or `default`. To ask for one that is not there does not make it.
    pub(super) fn queue(&self) -> Result<QueueName, Failure> {
        let wanted = self.queue.clone().unwrap_or_default();
        let queues = self.asked(self.open.engine.queues())?;
        if queues.contains(&wanted) {
            return Ok(wanted);
        }
        let hint = if queues.is_empty() {
            "the engine has no queue yet: the first task or worker makes one".to_owned()
        } else {
            let names: Vec<&str> = queues.iter().map(QueueName::as_str).collect();
            format!("--queue names another one; there are: {}", names.join(", "))
        };
        let message = format!("there is no queue {wanted} at {}", self.open.place);
        Err(Failure::new(message).hint(hint))
    }

    /// Finds a task, in the queue that is named or in all.
    pub(super) fn find(&self, id: &str) -> Result<(QueueName, TaskRecord), Failure> {
        let id: TaskId = id
            .parse()
            .map_err(|error: windlass_remote::InvalidName| Failure::usage(error.to_string()))?;
        for queue in self.queues()? {
            if let Some(record) = self.asked(self.admin(&queue).task(&id))? {
                return Ok((queue, record));
            }
        }
        let message = format!("there is no record of a task {id} at {}", self.open.place);
        Err(Failure::new(message)
            .hint("records are kept for a while after the end of a task: is the id right?"))
    }
}
