//! The interrupt of a thread: a request to stop waiting, to which its own code responds.
//!
//! Rust has no thread interruption. In Windlass every thread, pool worker or not, has a flag that
//! any holder of its [`InterruptHandle`] can set. Every blocking call of the library whose error
//! can be [`Interrupted`] ends with it when the flag is set while it waits. Calls that cannot
//! return it, such as the `join` of a task's handle, wait on and leave the flag set. Code that
//! computes checks the flag itself, with [`check`]. Blocking calls of other libraries do not
//! observe it.
//!
//! What clears the flag:
//! - a blocking call that reports `Interrupted` has cleared the flag;
//! - [`interrupted`] and [`check`] clear it, [`is_interrupted`] does not;
//! - calls that never wait (`offer`, `poll`, `execute`, a get on a finished task) leave it alone.
//!
//! ```
//! use windlass::interrupt;
//!
//! let worker = interrupt::spawn(|| {
//!     let mut rounds = 0_u64;
//!     while interrupt::check().is_ok() {
//!         rounds += 1;
//!     }
//!     rounds
//! });
//! worker.interrupt();
//! assert!(worker.join().unwrap().is_ok());
//! ```

mod context;
mod handle;
mod join;

pub(crate) use context::{ThreadContext, WakeReason, wait_interrupted};
pub use handle::{
    InterruptHandle, Interrupted, check, current, interrupted, is_interrupted, park, park_timeout,
    sleep,
};
pub use join::{JoinHandle, JoinInterrupted, spawn};
