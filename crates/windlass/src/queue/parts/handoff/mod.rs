//! Hand-off: each element goes from a putter to a taker, and none is stored.
//!
//! - [`exchange`]: the wait of one thread for the other.
//! - [`DirectHandoff`]: an element goes to a particular taker, the oldest or the newest.
//! - [`BufferedHandoff`]: an element goes to any of the takers that wait.

mod buffered;
mod credits;
mod direct;
pub(crate) mod exchange;
mod lending;
mod patience;
mod watch;

pub(crate) use buffered::{BufferedHandoff, Received};
pub(crate) use direct::DirectHandoff;
pub(crate) use lending::Inspected;
pub(crate) use watch::Watch;
