//! Task types and waits that the tests share.
#![expect(unreachable_pub, reason = "shared by test binaries as a module")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail by panicking"
)]

#[cfg(feature = "redis")]
pub mod server;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod skipped;
pub mod tasks;
mod wait;

#[cfg(any(feature = "redis", feature = "postgres"))]
pub use skipped::say_skipped;
pub use wait::{LONG, eventually};
