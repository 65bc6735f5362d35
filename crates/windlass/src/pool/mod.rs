//! The thread pool.
//!
//! | file | role |
//! |---|---|
//! | `executor` | the public type, [`ThreadPoolExecutor`] |
//! | `builder` | its configuration, checked once |
//! | `admission` | decides about a submitted task: new worker, queue, or rejection |
//! | `submit_async` | a submission that awaits room |
//! | `spawn` | starts, retires and replaces workers |
//! | `assist` | waits inside tasks: runs the awaited task in place |
//! | `worker` | the run loop of a worker |
//! | `watch` | the duty of a worker that watches tasks which were accepted without an idle worker |
//! | `shutdown` | shutdown and termination |
//! | `stats` | a snapshot of the figures |
//! | `times` | when tasks are timed, and what each worker does right now |
//! | `observed` | what a monitor reads and asks for |
//! | `shared` | the state that submitters and workers share; owns the parts below |
//! | `ctl` | run state and worker count, in one word |
//! | `config_error`, `no_effect`, `configuration` | invalid settings, and settings that can have no effect |
//! | `advice`, `controller` | the size that the tasks ask for, and what follows it |
//! | `reconfigure` | one change of several settings |
//! | `pause` | workers take no tasks for some time |
//! | `room` | the submissions that await room |
//! | `settings` | sizes and keep-alive time, which can change while the pool runs |
//! | `roster` | the workers, and how many tasks they have completed |
//! | `tally` | counts of what is beside the runs: rejections, dropped tasks, starts and ends of threads |
//! | `task_count` | the last task count reported |
//! | `waits` | how many threads wait inside tasks |
//! | `work_queue` | the queue, with a fast path to the default one |
//! | `blocked` | the submitters that wait for room |
//! | `limits` | counts the tasks whose time was up, and those that were shed |
//! | `codel`, `shed_queue` | when a queue that stays slow sheds tasks, and the queue that does so |
//! | `rejection` | the rejection handlers that users supply |

mod admission;
mod advice;
mod assist;
mod blocked;
mod builder;
mod codel;
mod config_error;
mod configuration;
mod controller;
mod ctl;
mod executor;
mod in_place_times;
mod limits;
#[cfg(test)]
mod models;
mod no_effect;
mod observed;
mod pause;
mod reconfigure;
mod rejection;
mod room;
mod roster;
mod settings;
mod shared;
mod shed_queue;
mod shutdown;
mod spawn;
mod stats;
mod submit_async;
mod tally;
mod task_count;
mod times;
mod turn;
mod waits;
mod watch;
mod work_queue;
mod worker;

pub use crate::executor::PoolState;
pub use crate::hooks::{Hooks, Outcome, TaskInfo};
pub use crate::times::{Histogram, TaskTimes, Times};
pub use advice::SizeAdvice;
pub use builder::Builder;
pub use codel::Codel;
pub use config_error::ConfigError;
pub use controller::{SizeChange, SizeController};
pub use executor::ThreadPoolExecutor;
pub use no_effect::ConfigWarning;
pub use reconfigure::{Patch, ReconfigureError, Reconfigured};
pub use rejection::{
    AbortPolicy, BlockPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy,
    RejectedExecutionHandler, Saturated,
};
pub use shared::NestedWaits;
pub use stats::PoolStats;
pub use submit_async::SubmitAsync;
pub use tally::{RejectionCounts, ThreadExits};

pub(crate) use admission::NotAdmitted;
pub(crate) use advice::optimal_size;
pub(crate) use ctl::RunState;
pub(crate) use shared::Shared;
pub(crate) use tally::{Dropped, Unsuccessful};
pub(crate) use task_count::TaskCount;
