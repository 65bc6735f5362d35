//! Waiting for a state, with a limit after which a test fails.

use std::time::Duration;

use crate::interrupt;
use crate::sync::{Parker, clock};

/// How long a test waits for a state before it fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `condition` returns true.
///
/// For states that nothing signals, such as a counter that a worker increments after its task.
///
/// # Panics
///
/// If it does not within [`PATIENCE`]; the message names `what`.
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

pub(super) fn until_within(patience: Duration, what: &str, condition: impl FnMut() -> bool) {
    let is_true = becomes_true_within(patience, condition);
    assert!(is_true, "waited in vain for: {what}");
}

/// Waits until `condition` returns true; returns false if it does not in time.
pub(super) fn becomes_true_within(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let limit = clock::system_now() + patience;
    let parker = Parker::new();
    while !condition() {
        if clock::system_now() >= limit {
            return false;
        }
        let _ = parker.park_until(clock::system_now() + Duration::from_micros(50));
    }
    true
}

/// Runs `body` on a thread of its own. Returns its value.
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

/// Waits for a thread to end. Returns its value; leaves the thread behind if it does not end in
/// time.
pub(super) fn join_within<T>(
    patience: Duration,
    what: &str,
    thread: interrupt::JoinHandle<T>,
) -> T {
    until_within(patience, what, || thread.is_finished());
    match thread.join() {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(interrupted) => panic!("{interrupted} while joining: {what}"),
    }
}
