//! The engine inside the process: no server, same semantics, nothing survives its end.

mod clock;
mod engine;
mod entry;
mod feeds;
mod limits;
mod listing;
mod queue;
mod schedules;
mod transitions;

pub use engine::MemoryEngine;
