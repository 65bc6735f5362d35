//! Windlass.
#![allow(dead_code)]
mod containment;
pub mod interrupt;
pub mod queue;
mod sync;
pub mod task;
#[cfg(feature = "testing")]
pub mod testing;
mod waiting;
/// A clock that tests can drive.
pub mod clock {
    pub use crate::sync::clock::TestClock;
}
