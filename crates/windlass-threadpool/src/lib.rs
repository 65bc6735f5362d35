#![doc = include_str!("../README.md")]

mod builder;
mod pool;
mod threads;
mod workload;

pub use builder::Builder;
pub use pool::ThreadPool;
