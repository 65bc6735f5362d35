//! What a run keeps for the next run of the same task.

use crate::engine::{Engine, EngineError, Lease, Renewed};
use crate::envelope::{Subject, open, seal};
use crate::id::QueueName;
use crate::wire::Wire;
use std::fmt;
use std::sync::Arc;

/// Why a checkpoint was not kept, or not read.
///
/// ```
/// use windlass_remote::CheckpointError;
///
/// assert_eq!(CheckpointError::Lost.to_string(), "the delivery no longer counts");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The task was cancelled, has an outcome or another worker: nobody wants the result of this run.
    Lost,
    /// It is larger than a payload may be.
    TooLarge {
        /// Its size.
        size: usize,
        /// The largest size.
        limit: usize,
    },
    /// What was kept is not signed as required.
    Decode(String),
    /// The engine did not take it or did not answer.
    Engine(EngineError),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost => f.write_str("the delivery no longer counts"),
            Self::TooLarge { size, limit } => {
                write!(f, "{size} bytes, more than the {limit} allowed")
            }
            Self::Decode(error) => write!(f, "the checkpoint cannot be read: {error}"),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CheckpointError {}

/// The way of one run to its checkpoints.
pub(crate) struct Checkpoints {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) lease: Lease,
    pub(crate) name: String,
    pub(crate) wire: Wire,
}

impl Checkpoints {
    fn subject(&self) -> Subject<'_> {
        Subject {
            role: "checkpoint",
            id: self.lease.id.as_str(),
            name: &self.name,
            version: 0,
        }
    }

    pub(crate) fn save(&self, queue: &QueueName, bytes: &[u8]) -> Result<(), CheckpointError> {
        let (size, limit) = (bytes.len(), self.wire.max_payload);
        if size > limit {
            return Err(CheckpointError::TooLarge { size, limit });
        }
        let sealed = seal(
            self.wire.codec,
            bytes,
            self.subject(),
            self.wire.key.as_ref(),
        );
        match self.engine.save_checkpoint(queue, &self.lease, &sealed) {
            Ok(Renewed::Held) => Ok(()),
            Ok(Renewed::Lost) => Err(CheckpointError::Lost),
            Err(error) => Err(CheckpointError::Engine(error)),
        }
    }

    pub(crate) fn last(&self, queue: &QueueName) -> Result<Option<Vec<u8>>, CheckpointError> {
        let kept = self.engine.last_checkpoint(queue, &self.lease.id);
        let Some(sealed) = kept.map_err(CheckpointError::Engine)? else {
            return Ok(None);
        };
        let (_, bytes) = open(&sealed, self.subject(), self.wire.key.as_ref())
            .map_err(|error| CheckpointError::Decode(error.to_string()))?;
        Ok(Some(bytes.into()))
    }
}
