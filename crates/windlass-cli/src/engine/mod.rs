//! What the commands for queues on other machines share: `windlass run --engine`, `worker` and `queue`.
//!
//! | file | in one sentence |
//! |---|---|
//! | `address` | where the engine is, and the one place that opens it |
//! | `trouble` | what an engine says, and what to do next |
//! | `key` | the key that signs payloads and results |
//! | `bytes` | bytes that travel as text where they are text |
//! | `command` | the task `windlass.command` and its report |

mod address;
mod bytes;
mod command;
mod key;
mod trouble;

pub use address::{EngineAddress, OpenEngine};
pub use bytes::Bytes;
pub use command::{CommandReport, CommandRunner, CommandTask, RunCommand};
pub(crate) use key::read_key;
pub(crate) use trouble::trouble;
