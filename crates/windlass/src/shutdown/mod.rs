//! The graceful end of a program: one call stops its executors, in order, and reports what became of
//! their tasks.
//!
//! | file | role |
//! |---|---|
//! | `plan` | [`ShutdownPlan`]: which executors, in which order, with which limits |
//! | `report` | [`ShutdownReport`]: what became of the tasks |
//! | `escalation` | what a first, second and third request do |
//! | `signals` | requests by ctrl-c and SIGTERM (feature `signals`, on Unix) |

#[cfg_attr(
    not(any(test, all(feature = "signals", unix))),
    expect(dead_code, reason = "only signals are requests that come from outside")
)]
mod escalation;
mod plan;
mod report;
#[cfg(all(feature = "signals", unix))]
mod signals;

pub use plan::ShutdownPlan;
pub use report::{PoolEnd, PoolReport, ShutdownReport};
#[cfg(all(feature = "signals", unix))]
pub use signals::SignalledShutdown;
