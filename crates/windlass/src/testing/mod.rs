//! Aids for tests of concurrent code (feature `testing`): wait for a state, never for a guess.
//!
//! Windlass's own tests use these, and so can yours. Every wait here has a limit, [`PATIENCE`],
//! after which it panics with what it waited for: a test that would hang fails instead. The limit
//! is real time even on a thread with a [`TestClock`](crate::clock::TestClock).
//!
//! [`ManualExecutor`] and [`SeededExecutor`] replace a pool in tests: all runs on the thread of the
//! test, step by step or in an order that a seed decides.

mod choice;
mod drop_counter;
mod gate;
mod manual;
mod patience;
pub mod queue_contract;
mod seeded;
mod stepper;
mod waiters;

pub use drop_counter::{DropCounter, DropToken};
pub use gate::{Gate, Latch};
pub use manual::ManualExecutor;
pub use patience::{PATIENCE, until, within_patience};
pub use seeded::{FailingSeed, SeededExecutor};
pub use waiters::{await_putters, await_takers, join};
