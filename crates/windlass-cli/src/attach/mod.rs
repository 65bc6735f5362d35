//! Commands that attach to the console of a running program: `windlass pools` and `windlass set`.
//!
//! | file | in one sentence |
//! |---|---|
//! | `address` | where the console is, and the token that writes need |
//! | `client` | requests and answers |
//! | `view` | what the console says about pools |
//! | `pools` | the pools as a table |
//! | `assignment`, `set` | `name=value`, and the change that it asks for |

mod address;
mod assignment;
mod client;
mod pools;
mod set;
mod view;

pub use address::ConsoleOptions;
pub use assignment::{Assignment, AssignmentError};
pub(crate) use client::{Client, encode};
pub use pools::{PoolsOptions, pools};
pub use set::{SetOptions, set};
pub(crate) use view::{Changed, Overview, Pool, Quantiles, Worker, Workers};
