//! What a console promises, tried over the network.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kit;

mod access;
mod contract;
#[cfg(feature = "remote")]
mod engine_source;
mod events;
mod limits;
mod page;
mod random_requests;
mod remote;
mod scrape;
mod start;
mod tuning;
#[cfg(feature = "webhook")]
mod webhook;
