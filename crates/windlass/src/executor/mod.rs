//! Executors: the traits, the rejection, and small executors.
//!
//! | file | role |
//! |---|---|
//! | `service` | the traits [`Executor`] and [`ExecutorService`] |
//! | `rejected` | a task that an executor did not accept, and why |
//! | `pool_state` | whether a pool accepts tasks, or has ended |
//! | `running` | a task that runs, and since when |
//! | `refusal` | threads that could not be created |
//! | `shutdown_cancels` | the tasks that a shutdown cancels, suspended futures among them |
//! | `close_on_drop` | a guard that closes an executor |
//! | `propagating` | adds the submitter's context to tasks |
//! | `direct` | runs each task on the submitter's thread |
//! | `serial` | one task at a time, on the threads of another executor |
//! | `key_limit` | queues that count the running tasks of each key |
//! | `time_limit` | the time limit of a submission |
//! | `thread_per_task` | a new thread for every task |
//! | `tokio` | the blocking threads of a tokio runtime |

mod close_on_drop;
mod direct;
mod key_limit;
mod pool_state;
mod propagating;
mod refusal;
mod rejected;
mod running;
mod serial;
mod service;
#[cfg_attr(
    not(any(test, feature = "async")),
    expect(dead_code, reason = "only futures can be suspended")
)]
mod shutdown_cancels;
mod thread_per_task;
mod time_limit;
#[cfg(feature = "tokio")]
mod tokio;

pub use close_on_drop::CloseOnDrop;
pub use direct::DirectExecutor;
pub use pool_state::PoolState;
pub use propagating::Propagating;
pub use rejected::{RejectedExecution, RejectionReason};
pub use running::RunningTask;
pub use serial::SerialExecutor;
pub use service::{Executor, ExecutorService};
pub use thread_per_task::ThreadPerTaskExecutor;
#[cfg(feature = "tokio")]
pub use tokio::TokioExecutor;

pub(crate) use refusal::{Refusals, to_io_error};
pub(crate) use service::close;
pub(crate) use shutdown_cancels::ShutdownCancels;
#[cfg(feature = "async")]
pub(crate) use shutdown_cancels::{Registration, Suspend};
pub(crate) use time_limit::{execute_by, limit_of, run_by};
