//! Windlass.
#![allow(dead_code)]

mod completion;
mod containment;
pub mod executor;
pub mod executors;
pub mod interrupt;
pub mod pool;
pub mod queue;
mod submit;
mod sync;
pub mod task;
mod termination;
#[cfg(feature = "testing")]
pub mod testing;
pub mod thread_factory;
mod waiting;

pub use completion::CompletionService;
pub use executor::{Executor, ExecutorService};
pub use pool::ThreadPoolExecutor;
pub use submit::{InvokeError, Submit};
/// A clock that tests can drive.
pub mod clock {
    pub use crate::sync::clock::TestClock;
}
