//! Why an engine did not do what it was asked.

use std::fmt;

/// An engine that cannot be reached, is full, or does not let us in.
///
/// Messages never contain passwords: they are made from the server's answer, not from the address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineError {
    /// It cannot be reached, or did not answer in time. The call may have been carried out.
    Unavailable(String),
    /// It has no room left for data.
    Full(String),
    /// It takes no writes: a replica, or a server that protects itself.
    ReadOnly(String),
    /// The user has not the right to do this.
    Denied(String),
    /// It answered something that this build does not understand, or refused a setting.
    Protocol(String),
    /// Its tables are of another release. Those of an older one are brought up to date by `PostgresEngine::migrate`, those of a later one are left
    /// alone.
    Version {
        /// The version of the tables.
        found: i32,
        /// The version that this build knows.
        known: i32,
    },
}

impl EngineError {
    /// Returns whether the same call may succeed a moment later. Workers try again after every error.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, message) = match self {
            Self::Unavailable(message) => ("the engine cannot be reached", message),
            Self::Full(message) => ("the engine is full", message),
            Self::ReadOnly(message) => ("the engine takes no writes", message),
            Self::Denied(message) => ("the engine denied access", message),
            Self::Protocol(message) => ("the engine gave an unexpected answer", message),
            Self::Version { found, known } if found < known => {
                return write!(
                    f,
                    "the tables have version {found}, this build needs {known}: migrate them"
                );
            }
            Self::Version { found, known } => {
                return write!(
                    f,
                    "the tables have version {found}, of a later release than this build, which knows {known}"
                );
            }
        };
        write!(f, "{what}: {message}")
    }
}

impl std::error::Error for EngineError {}
