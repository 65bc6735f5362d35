#![doc = include_str!("../README.md")]

pub mod builder;
mod job;
mod pool;
mod repeat;
mod threads;

pub use job::JobHandle;
pub use pool::{OnPoolDropBehavior, ScheduledThreadPool};
