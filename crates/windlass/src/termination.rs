//! The event that `await_termination` waits for: it is signalled once, and stays signalled.

use std::time::Duration;

use crate::interrupt::{Interrupted, ThreadContext};
use crate::sync::{Deadline, Mutex};
use crate::waiting::{WaitOutcome, WaitQueue, wait};

/// An event that happens once.
#[derive(Debug, Default)]
pub(crate) struct Termination(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    signalled: bool,
    waiters: WaitQueue,
}

impl Termination {
    /// Ends all waits, present and future.
    pub(crate) fn signal(&self) {
        let wakeups = {
            let mut state = self.0.lock();
            state.signalled = true;
            state.waiters.signal(usize::MAX)
        };
        drop(wakeups);
    }

    pub(crate) fn is_signalled(&self) -> bool {
        self.0.lock().signalled
    }

    /// Waits for the signal, but not beyond the deadline; interrupts stay pending.
    pub(crate) fn wait_uninterruptibly(&self, deadline: Deadline) {
        let mut interrupted = false;
        let mut state = self.0.lock();
        while !state.signalled && !deadline.has_passed() {
            let waited = wait(&self.0, state, |state| &mut state.waiters, (), deadline);
            state = waited.guard;
            interrupted |= waited.outcome == WaitOutcome::Interrupted;
        }
        drop(state);
        if interrupted {
            ThreadContext::with_current(|me| me.set_interrupted());
        }
    }

    /// Waits for the signal no longer than `timeout`. Returns whether it came.
    ///
    /// An interrupt ends a wait only: it has no effect with a time-out of zero or after the signal.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<bool, Interrupted> {
        let mut state = self.0.lock();
        if state.signalled || timeout.is_zero() {
            return Ok(state.signalled);
        }
        let deadline = Deadline::after(timeout);
        while !state.signalled {
            let waited = wait(&self.0, state, |state| &mut state.waiters, (), deadline);
            state = waited.guard;
            match waited.outcome {
                WaitOutcome::Signalled => {}
                WaitOutcome::TimedOut => return Ok(state.signalled),
                WaitOutcome::Interrupted => return Err(Interrupted),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Termination;
    use crate::sync::{model, thread};

    #[test]
    fn the_signal_reaches_every_waiting_thread() {
        model(|| {
            let termination = Arc::new(Termination::default());
            let waiter = {
                let termination = Arc::clone(&termination);
                thread::Builder::new()
                    .spawn(move || termination.wait(Duration::MAX))
                    .unwrap()
            };
            termination.signal();
            assert_eq!(termination.wait(Duration::MAX), Ok(true));
            assert_eq!(waiter.join().unwrap(), Ok(true));
        });
    }
}
