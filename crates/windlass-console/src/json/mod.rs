//! What the monitor knows, in the shapes that clients read.

mod alert;
mod audit;
mod change;
mod history;
mod pool;
mod quantiles;
mod recent;
mod threads;
mod units;

pub(crate) use alert::{Alert, Alerts, Thresholds};
pub(crate) use audit::{Audit, Entry};
pub(crate) use change::{Changed, Reverted};
pub(crate) use history::History;
pub(crate) use pool::Pool;
pub(crate) use recent::Recent;
pub(crate) use threads::Threads;
pub(crate) use units::milliseconds;
