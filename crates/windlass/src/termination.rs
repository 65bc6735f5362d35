//! The event that `await_termination` waits for: it happens once, and reaches everybody.

use std::time::Duration;

use crate::interrupt::Interrupted;
use crate::sync::{Deadline, Mutex};
use crate::waiting::{Wait, WaitQueue, wait};

#[derive(Debug, Default)]
pub(crate) struct Termination(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    signalled: bool,
    waiters: WaitQueue,
}

impl Termination {
    /// Lets everybody go who waits, and all who come later.
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

    /// Waits for the signal; says whether it came in time. An interrupt counts only where there is
    /// something to wait for: not with zero time, not after the signal.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<bool, Interrupted> {
        let mut state = self.0.lock();
        if state.signalled || timeout.is_zero() {
            return Ok(state.signalled);
        }
        let deadline = Deadline::after(timeout);
        while !state.signalled {
            let waited = wait(&self.0, state, |state| &mut state.waiters, (), deadline);
            state = waited.guard;
            match waited.how {
                Wait::Signalled => {}
                Wait::TimedOut => return Ok(state.signalled),
                Wait::Interrupted => return Err(Interrupted),
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
    fn the_signal_reaches_everybody_who_waits() {
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
