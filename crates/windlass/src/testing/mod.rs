//! What tests of concurrent code need (feature `testing`): wait for a state, never for a guess.
//!
//! Windlass's own tests use these, and so can yours. Every wait here has a limit, [`PATIENCE`],
//! after which it panics with what it waited for: a test that would hang fails instead. The limit
//! is real time even on a thread with a [`TestClock`](crate::clock::TestClock).

mod gate;
pub mod queue_contract;
mod waiters;

pub use gate::{Gate, Latch};
pub use waiters::{await_putters, await_takers, join};

use std::sync::Arc;
use std::time::Duration;

use crate::interrupt;
use crate::sync::{Parker, clock};

/// How long a test waits for a state before it fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `condition` holds.
///
/// For states that come about by themselves and announce themselves to nobody, such as a counter
/// that a worker raises after its task.
///
/// # Panics
///
/// If it does not hold within [`PATIENCE`]; the message names `what`.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use windlass::testing::until;
///
/// let ready = AtomicBool::new(false);
/// std::thread::scope(|scope| {
///     scope.spawn(|| ready.store(true, Ordering::Release));
///     until("ready", || ready.load(Ordering::Acquire));
/// });
/// ```
pub fn until(what: &str, condition: impl FnMut() -> bool) {
    until_within(PATIENCE, what, condition);
}

fn until_within(patience: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let limit = clock::system_now() + patience;
    let parker = Parker::new();
    while !condition() {
        assert!(clock::system_now() < limit, "waited in vain for: {what}");
        let _ = parker.park_until(clock::system_now() + Duration::from_micros(50));
    }
}

/// Runs `body` on a thread of its own and gives its value.
///
/// # Panics
///
/// If it does not end within [`PATIENCE`] (the thread is left behind), or panics itself.
///
/// ```
/// assert_eq!(windlass::testing::within_patience("addition", || 1 + 1), 2);
/// ```
pub fn within_patience<T: Send + 'static>(
    what: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> T {
    join_within(PATIENCE, what, interrupt::spawn(body))
}

/// Waits for a thread; it is left behind if it does not end in time.
fn join_within<T>(patience: Duration, what: &str, thread: interrupt::JoinHandle<T>) -> T {
    until_within(patience, what, || thread.is_finished());
    match thread.join() {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(interrupted) => panic!("{interrupted} while joining: {what}"),
    }
}

/// Counts how often its clones' owner is dropped: to show that a value is dropped exactly once.
///
/// ```
/// use windlass::testing::DropCounter;
///
/// let drops = DropCounter::new();
/// drop((drops.token(), drops.token()));
/// assert_eq!(drops.count(), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct DropCounter(Arc<crate::sync::Mutex<usize>>);

impl DropCounter {
    /// A counter at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A value whose drop is counted.
    #[must_use]
    pub fn token(&self) -> DropToken {
        DropToken(self.clone())
    }

    /// How many tokens have been dropped.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.lock()
    }
}

/// A value whose drop a [`DropCounter`] counts.
#[derive(Debug)]
pub struct DropToken(DropCounter);

impl Drop for DropToken {
    fn drop(&mut self) {
        *self.0.0.lock() += 1;
    }
}
