//! `windlass worker`: runs the commands of a queue that its allow-list names.
//!
//! | file | in one sentence |
//! |---|---|
//! | `options` | the options of the command line |
//! | `allow`, `allow_entry` | which commands may run, and what they become |
//! | `kept` | the first bytes of what a command writes |
//! | `runner` | one command, from its task to its report |
//! | `execute` | a worker from its options to its end |

mod allow;
mod allow_entry;
mod execute;
mod kept;
mod options;
mod runner;

/// What `windlass worker --help` says after the options.
pub(crate) const HELP: &str = include_str!("help.txt");

pub use allow::{AllowError, AllowList};
pub use allow_entry::{Allowed, Denied};
pub use execute::execute;
pub use options::WorkerOptions;
