//! Hooks, which the thread pool and the fork-join pool call around each task.
//!
//! | file | role |
//! |---|---|
//! | `around` | the trait, and what the hooks are told |
//! | `run` | the run of a task between its hooks |

mod around;
mod run;

pub use around::{Hooks, Outcome, TaskInfo};

pub(crate) use run::{Panicked, RunEnd, run_hooked};
