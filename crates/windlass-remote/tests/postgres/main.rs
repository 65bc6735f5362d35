//! What only the Postgres engine does, and what goes wrong with servers, networks and workers, on a real server.
#![cfg(all(unix, feature = "postgres"))]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "../proxy/mod.rs"]
mod proxy;

mod faults;
mod schema;
mod server;
mod support;
#[cfg(feature = "postgres-tls")]
mod tls;
mod transactions;
mod world;
