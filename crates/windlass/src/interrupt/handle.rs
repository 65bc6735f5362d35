//! The public interface to the interrupt of a thread: the handle, the checks, and interruptible
//! sleeping and parking.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::{ThreadContext, WakeReason};
use crate::sync::Deadline;

/// The error of a blocking call that ended because its thread was interrupted; the flag is clear
/// again.
#[doc(alias = "InterruptedException")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the waiting thread was interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// A handle that interrupts one thread, from any other.
///
/// Returned by [`current`] on the thread that is to be interrupted. It may outlive its thread;
/// interrupting a thread that has ended does nothing.
///
/// ```
/// use windlass::interrupt;
///
/// let me = interrupt::current();
/// me.interrupt();
/// assert!(interrupt::interrupted());
/// ```
#[derive(Debug, Clone)]
pub struct InterruptHandle(pub(super) Arc<ThreadContext>);

impl InterruptHandle {
    /// Sets the thread's interrupt flag and ends the Windlass wait that it is in, if any.
    ///
    /// Interrupts are not counted: several before the thread checks are one.
    pub fn interrupt(&self) {
        // An interrupt of its own is for what the thread runs now, and not for work around that.
        if ThreadContext::with_current(|me| Arc::ptr_eq(me, &self.0)) {
            self.0.set_interrupted();
            self.0.unpark();
        } else {
            self.0.interrupt();
        }
    }

    /// Returns whether the thread's flag is set.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }

    /// Ends the [`park`] that the thread is in, or its next one.
    pub fn unpark(&self) {
        self.0.unpark();
    }
}

/// Returns the handle that interrupts the current thread.
#[must_use]
pub fn current() -> InterruptHandle {
    InterruptHandle(ThreadContext::current())
}

/// Returns whether the current thread is interrupted; does not change the flag.
#[must_use]
#[doc(alias = "isInterrupted")]
pub fn is_interrupted() -> bool {
    ThreadContext::with_current(|me| me.is_interrupted())
}

/// Returns whether the current thread was interrupted, and clears the flag.
#[must_use = "the flag is cleared: the interrupt is lost if the result is not used"]
pub fn interrupted() -> bool {
    ThreadContext::with_current(|me| me.take_interrupt())
}

/// Returns an error if the current thread was interrupted: `interrupt::check()?` in a loop ends it.
///
/// # Errors
///
/// [`Interrupted`] if the current thread's flag was set; it is clear afterwards.
pub fn check() -> Result<(), Interrupted> {
    if interrupted() {
        Err(Interrupted)
    } else {
        Ok(())
    }
}

/// Sleeps for this time, unless interrupted.
///
/// # Errors
///
/// [`Interrupted`] if the flag is set on entry or is set meanwhile; it is clear afterwards.
///
/// ```
/// use std::time::Duration;
/// use windlass::interrupt;
///
/// interrupt::current().interrupt();
/// assert!(interrupt::sleep(Duration::from_secs(3600)).is_err());
/// ```
pub fn sleep(time: Duration) -> Result<(), Interrupted> {
    let me = ThreadContext::current();
    let deadline = Deadline::after(time);
    loop {
        match me.park(deadline) {
            WakeReason::Interrupted => {
                me.take_interrupt();
                return Err(Interrupted);
            }
            WakeReason::TimedOut => return Ok(()),
            WakeReason::Unparked => {}
        }
    }
}

/// Waits until somebody calls [`InterruptHandle::unpark`] on this thread's handle.
///
/// May also return spuriously, as all parking does: check what you wait for again.
///
/// # Errors
///
/// [`Interrupted`] if the flag is set on entry or is set meanwhile; it is clear afterwards.
///
/// # Deadlocks
///
/// Waits forever if nobody unparks or interrupts the thread.
pub fn park() -> Result<(), Interrupted> {
    park_until(Deadline::Never)
}

/// Parks like [`park`], but no longer than `timeout`.
///
/// # Errors
///
/// [`Interrupted`] if the flag is set on entry or is set meanwhile; it is clear afterwards.
pub fn park_timeout(timeout: Duration) -> Result<(), Interrupted> {
    park_until(Deadline::after(timeout))
}

fn park_until(deadline: Deadline) -> Result<(), Interrupted> {
    let me = ThreadContext::current();
    match me.park(deadline) {
        WakeReason::Interrupted => {
            me.take_interrupt();
            Err(Interrupted)
        }
        WakeReason::Unparked | WakeReason::TimedOut => Ok(()),
    }
}

#[cfg(test)]
mod models {
    use super::{ThreadContext, current, park};
    use crate::sync::{model, thread};

    #[test]
    fn an_interrupt_ends_a_park_whenever_it_comes() {
        model(|| {
            let me = current();
            let other = thread::Builder::new()
                .spawn(move || me.interrupt())
                .unwrap();
            // A stray token may end one park early; the flag ends the next.
            while park().is_ok() {}
            assert!(!ThreadContext::current().is_interrupted());
            other.join().unwrap();
        });
    }
}
