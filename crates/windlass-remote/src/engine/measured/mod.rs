//! An engine with a stopwatch: what its calls cost, and what goes over the wire.

mod engine;
mod feeds;
mod histogram;
mod meter;
mod round_trips;

pub use engine::MeasuredEngine;
