//! A gate and a latch, at which test threads wait.

use std::sync::Arc;

use super::patience::{PATIENCE, until};
use crate::interrupt::Interrupted;
use crate::sync::clock::Clock;
use crate::sync::{Deadline, Mutex};
use crate::waiting::{WaitOutcome, WaitQueue, wait};

/// A gate that threads pass once it is open; shared by cloning.
///
/// ```
/// use windlass::testing::Gate;
///
/// let gate = Gate::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| gate.pass().unwrap());
///     gate.await_waiting(1);
///     gate.open();
/// });
/// ```
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    open: bool,
    waiters: WaitQueue,
}

impl Gate {
    /// Creates a closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate; it cannot be closed again.
    pub fn open(&self) {
        let wakeups = {
            let mut state = self.0.lock();
            state.open = true;
            state.waiters.signal(usize::MAX)
        };
        drop(wakeups);
    }

    /// Waits until the gate is open.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], also if the gate is open and the flag was set on entry.
    ///
    /// # Panics
    ///
    /// If it is not opened within [`PATIENCE`], in real time.
    pub fn pass(&self) -> Result<(), Interrupted> {
        crate::interrupt::check()?;
        match self.wait() {
            WaitOutcome::Interrupted => Err(Interrupted),
            _ => Ok(()),
        }
    }

    /// Waits until the gate is open, without ending at an interrupt, which stays pending.
    ///
    /// # Panics
    ///
    /// If it is not opened within [`PATIENCE`], in real time.
    pub fn pass_uninterruptibly(&self) {
        let mut interrupted = false;
        while self.wait() == WaitOutcome::Interrupted {
            interrupted = true;
        }
        if interrupted {
            crate::interrupt::current().interrupt();
        }
    }

    /// Returns how many threads wait at the gate.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.lock().waiters.len()
    }

    /// Waits until at least `count` threads wait at the gate.
    ///
    /// # Panics
    ///
    /// If they do not within [`PATIENCE`].
    pub fn await_waiting(&self, count: usize) {
        until("threads at the gate", || self.waiting() >= count);
    }

    fn wait(&self) -> WaitOutcome {
        Clock::System.enter(|| {
            let limit = Deadline::after(PATIENCE);
            let mut state = self.0.lock();
            while !state.open {
                let waited = wait(&self.0, state, |state| &mut state.waiters, (), limit);
                match waited.outcome {
                    WaitOutcome::Signalled => state = waited.guard,
                    WaitOutcome::TimedOut => panic!("a gate was not opened"),
                    WaitOutcome::Interrupted => return WaitOutcome::Interrupted,
                }
            }
            WaitOutcome::Signalled
        })
    }
}

/// A count that threads wait for to reach zero; shared by cloning.
///
/// ```
/// use windlass::testing::Latch;
///
/// let latch = Latch::new(2);
/// std::thread::scope(|scope| {
///     scope.spawn(|| latch.count_down());
///     scope.spawn(|| latch.count_down());
///     latch.wait();
/// });
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "CountDownLatch")]
pub struct Latch {
    left: Arc<Mutex<usize>>,
    zero: Gate,
}

impl Latch {
    /// Creates a latch that opens after `count` count-downs.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let zero = Gate::new();
        if count == 0 {
            zero.open();
        }
        Self {
            left: Arc::new(Mutex::new(count)),
            zero,
        }
    }

    /// Counts down by one; at zero it does nothing.
    pub fn count_down(&self) {
        let reached_zero = {
            let mut left = self.left.lock();
            let was = *left;
            *left = was.saturating_sub(1);
            was == 1
        };
        if reached_zero {
            self.zero.open();
        }
    }

    /// Returns how many count-downs are left.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.left.lock()
    }

    /// Waits for zero, without ending at an interrupt, which stays pending.
    ///
    /// # Panics
    ///
    /// If it is not reached within [`PATIENCE`], in real time.
    pub fn wait(&self) {
        self.zero.pass_uninterruptibly();
    }
}
