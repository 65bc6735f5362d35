//! Why a change or a command is refused.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::settings::{Field, FieldChange};
use crate::forkjoin::ParallelismError;
use crate::pool::{ConfigError, ReconfigureError};
use crate::queue::CapacityError;

/// Why a change or a command was refused: nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// No executor of this name is registered.
    UnknownPool,
    /// The settings have another version by now.
    Conflict {
        /// The present version.
        version: u64,
    },
    /// Another change or command for this executor is being carried out.
    Busy,
    /// The executor does not have this setting, or it cannot be changed.
    NotTunable(Field),
    /// The executor cannot do this.
    Unsupported(&'static str),
    /// The capacity of the queue is refused.
    Capacity(CapacityError),
    /// The settings contradict each other.
    Config(ConfigError),
    /// The parallelism is refused.
    Parallelism(ParallelismError),
    /// There is no rejection policy of this name.
    UnknownPolicy(Arc<str>),
    /// The value is outside the [limits](super::TuneLimits) that were set in code.
    OutsideLimits {
        /// Which setting.
        field: Field,
        /// The refused value.
        value: usize,
        /// The least and the largest allowed value.
        bounds: (usize, usize),
    },
    /// The value is more than four times as large, or small, as before: needs `force`.
    TooLarge(FieldChange),
    /// There is nothing to undo or to confirm.
    NothingPending,
    /// A pause needs a time that is neither zero nor longer than a day.
    InvalidPause,
    /// The executor panicked.
    Panicked,
}

impl ChangeError {
    /// Returns the setting that is at fault, if it is one.
    #[must_use]
    pub const fn field(&self) -> Option<Field> {
        match self {
            Self::NotTunable(field) | Self::OutsideLimits { field, .. } => Some(*field),
            Self::Capacity(_) => Some(Field::Capacity),
            Self::Config(ConfigError::ZeroMaximum) => Some(Field::Max),
            Self::Config(ConfigError::ZeroKeepAlive) => Some(Field::KeepAlive),
            Self::Config(_) => Some(Field::Core),
            Self::Parallelism(_) => Some(Field::Parallelism),
            Self::UnknownPolicy(_) => Some(Field::Policy),
            Self::TooLarge(change) => Some(change.field),
            _ => None,
        }
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPool => f.write_str("no executor of this name is registered"),
            Self::Conflict { version } => {
                write!(f, "the settings have version {version} by now")
            }
            Self::Busy => f.write_str("another change of this executor is being carried out"),
            Self::NotTunable(field) => write!(f, "{field} of this executor cannot be changed"),
            Self::Unsupported(command) => write!(f, "this executor has no {command}"),
            Self::Capacity(error) => error.fmt(f),
            Self::Config(error) => error.fmt(f),
            Self::Parallelism(error) => error.fmt(f),
            Self::UnknownPolicy(name) => write!(f, "there is no rejection policy {name:?}"),
            Self::OutsideLimits {
                field,
                value,
                bounds: (least, most),
            } => write!(f, "{field} of {value} is not between {least} and {most}"),
            Self::TooLarge(change) => {
                write!(
                    f,
                    "{change} is a change of more than four times: needs force"
                )
            }
            Self::NothingPending => f.write_str("there is no change to undo or to confirm"),
            Self::InvalidPause => {
                f.write_str("a pause needs a time that is neither zero nor longer than a day")
            }
            Self::Panicked => f.write_str("the executor panicked"),
        }
    }
}

impl Error for ChangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Capacity(error) => Some(error),
            Self::Config(error) => Some(error),
            Self::Parallelism(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ReconfigureError> for ChangeError {
    fn from(error: ReconfigureError) -> Self {
        match error {
            ReconfigureError::Config(error) => Self::Config(error),
            ReconfigureError::Capacity(error) => Self::Capacity(error),
        }
    }
}

impl From<ParallelismError> for ChangeError {
    fn from(error: ParallelismError) -> Self {
        Self::Parallelism(error)
    }
}
