//! Task types and waits that the tests share.
#![expect(unreachable_pub, reason = "shared by test binaries as a module")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail by panicking"
)]

#[cfg(feature = "redis")]
pub mod server;
pub mod tasks;
mod wait;

pub use wait::{LONG, eventually};
