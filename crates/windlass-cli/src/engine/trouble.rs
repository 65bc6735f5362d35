//! What an engine says, and what to do next.

use windlass_remote::engine::EngineError;

use crate::exit::Failure;

/// Returns the error of an engine at a place that is printed without secrets.
pub(crate) fn trouble(error: &EngineError, place: &str) -> Failure {
    let hint = match error {
        EngineError::Unavailable(_) => "is the server running, and is the address right?",
        EngineError::Full(_) => {
            "the server has no memory left: drop dead letters, wait for tasks to end, or raise maxmemory"
        }
        EngineError::ReadOnly(_) => {
            "a replica, or a server that cannot write to its disk: name the primary, or look at its log"
        }
        EngineError::Denied(_) => {
            "is the password right, and has the user the rights that the guide lists?"
        }
        _ => "is it Redis 6.2 or later, or Valkey, and the same release of windlass on all sides?",
    };
    Failure::new(format!("{place}: {error}")).hint(hint)
}
