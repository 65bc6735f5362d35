//! What the errors of a server mean for tasks.

use super::super::EngineError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Translates an error of the client. What the server says is part of the message; the address is not.
pub(super) fn classify(error: &Error) -> EngineError {
    let Some(said) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        return EngineError::Unavailable(format!("{error}{}", cause.unwrap_or_default()));
    };
    let (code, message) = (
        said.code().code(),
        format!("{} ({})", said.message(), said.code().code()),
    );
    match code {
        "25006" => EngineError::ReadOnly(message),
        "53100" | "53400" | "54000" => EngineError::Full(message),
        "42501" => EngineError::Denied(message),
        _ if code.starts_with("28") => EngineError::Denied(message),
        _ if is_missing(said.code()) => EngineError::Protocol(format!(
            "{message}; PostgresEngine::migrate makes the schema"
        )),
        // Connection lost, out of resources, shutting down or starting up, deadlock, timeout: all of them pass.
        _ if ["08", "53", "57", "40"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            EngineError::Unavailable(message)
        }
        "55P03" | "58030" => EngineError::Unavailable(message),
        _ => EngineError::Protocol(message),
    }
}

/// Returns whether an error says that there is no such schema, table or function.
pub(super) fn is_missing(code: &SqlState) -> bool {
    [
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::UNDEFINED_TABLE,
    ]
    .contains(code)
}

pub(super) fn too_late() -> EngineError {
    EngineError::Unavailable("no answer in time".into())
}
