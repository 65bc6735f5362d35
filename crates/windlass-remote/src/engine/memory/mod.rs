//! The engine inside the process: no server, same semantics, nothing survives its end.

mod engine;
mod entry;
mod feeds;
mod limits;
mod queue;
mod schedules;
mod transitions;

pub use engine::MemoryEngine;
