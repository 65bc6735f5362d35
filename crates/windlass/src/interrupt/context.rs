//! The state that the library keeps for each thread.

use std::fmt;
use std::sync::Arc;

use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::sync::{self, Deadline, ParkResult, Parker, thread_local};

thread_local! {
    static CURRENT: Arc<ThreadContext> = Arc::new(ThreadContext::new());
}

/// The flag of a thread that was interrupted.
const INTERRUPT: u8 = 1;
/// The flag of a thread that has to check the state of its pool again.
const NUDGE: u8 = 1 << 1;

/// The state that the library keeps for one thread: its parker, and its pending interrupt.
///
/// `flags` are set by anyone and cleared by the thread itself. They are written before the parker's
/// token and read after it (or on entry to a wait), so an interrupt is seen by the wait
/// that it should end, whenever it arrives.
///
/// A *nudge* is an interrupt for idle workers only: a pool sends it to make a waiting worker check
/// the pool's state again. It ends the waits of a thread that
/// [accepts nudges](ThreadContext::accept_nudges), as a worker does while it waits for its next
/// task; for every other wait it is a spurious wake-up. So a pool can nudge without knowing whether
/// the worker is busy, and no task ever sees it.
///
/// `signalled` belongs to `waiting`: it is written under the lock of the structure that the thread
/// waits in.
pub(crate) struct ThreadContext {
    parker: Arc<Parker>,
    flags: AtomicU8,
    /// The flags that end a wait of this thread; written by the thread itself.
    wait_mask: AtomicU8,
    /// The flags that ended its last wait; for the thread itself.
    ended_by: AtomicU8,
    signalled: AtomicBool,
    /// Whether the thread is parked. Cleared before it takes anything, so that a thread that sees
    /// an element gone from a queue sees this cleared too.
    parked: AtomicBool,
}

impl fmt::Debug for ThreadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadContext")
            .field("interrupted", &self.is_interrupted())
            .finish_non_exhaustive()
    }
}

impl ThreadContext {
    fn new() -> Self {
        Self {
            parker: Arc::new(Parker::new()),
            flags: AtomicU8::new(0),
            wait_mask: AtomicU8::new(INTERRUPT),
            ended_by: AtomicU8::new(0),
            signalled: AtomicBool::new(false),
            parked: AtomicBool::new(false),
        }
    }

    /// Returns the context of the current thread.
    pub(crate) fn current() -> Arc<Self> {
        // While a thread's locals are being dropped it gets a context that nobody else has: it
        // can still wait, but no longer be interrupted.
        CURRENT
            .try_with(Arc::clone)
            .unwrap_or_else(|_| Arc::new(Self::new()))
    }

    /// Runs `f` with the context of the current thread, without counting a reference to it.
    pub(crate) fn with_current<R>(f: impl FnOnce(&Arc<Self>) -> R) -> R {
        let mut f = Some(f);
        let mut run = |context: &Arc<Self>| (f.take().expect("called once"))(context);
        match CURRENT.try_with(&mut run) {
            Ok(result) => result,
            Err(_) => run(&Arc::new(Self::new())),
        }
    }

    pub(crate) fn set_interrupted(&self) {
        self.flags.fetch_or(INTERRUPT, Ordering::Release);
    }

    /// Sets the flag and ends the wait that the thread is in, if any.
    pub(crate) fn interrupt(&self) {
        self.set_interrupted();
        self.parker.unpark();
    }

    /// Makes the thread check its pool again, if it waits for a task or when it next does.
    pub(crate) fn nudge(&self) {
        self.flags.fetch_or(NUDGE, Ordering::Release);
        self.parker.unpark();
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.flags.load(Ordering::Acquire) & INTERRUPT != 0
    }

    /// Clears the interrupt. Returns whether there was one; does not write if there was none.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.is_interrupted() && self.flags.fetch_and(!INTERRUPT, Ordering::AcqRel) & INTERRUPT != 0
    }

    /// Returns whether the current thread, whose context this is, must stop waiting.
    fn has_wait_interrupt(&self) -> bool {
        self.flags.load(Ordering::Acquire) & self.wait_mask.load(Ordering::Relaxed) != 0
    }

    /// Clears the flags that end a wait of the current thread. Returns whether one was set.
    pub(crate) fn take_wait_interrupt(&self) -> bool {
        let wait_mask = self.wait_mask.load(Ordering::Relaxed);
        if !self.has_wait_interrupt() {
            return false;
        }
        let ended_by = self.flags.fetch_and(!wait_mask, Ordering::AcqRel) & wait_mask;
        self.ended_by.store(ended_by, Ordering::Relaxed);
        ended_by != 0
    }

    /// Returns whether an interrupt ended this thread's last wait, alone or with a nudge.
    pub(crate) fn wait_ended_by_interrupt(&self) -> bool {
        self.ended_by.load(Ordering::Relaxed) & INTERRUPT != 0
    }

    /// Runs `wait` so that a nudge ends it too.
    pub(crate) fn accept_nudges<R>(&self, wait: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a AtomicU8);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.store(INTERRUPT, Ordering::Relaxed);
            }
        }
        self.wait_mask.store(INTERRUPT | NUDGE, Ordering::Relaxed);
        let _restore = Restore(&self.wait_mask);
        wait()
    }

    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    /// Parks the current thread, whose context this is, until a token, the deadline or an
    /// interrupt, which is not cleared.
    pub(crate) fn park(&self, deadline: Deadline) -> WakeReason {
        if self.has_wait_interrupt() {
            return WakeReason::Interrupted;
        }
        self.parked.store(true, Ordering::Release);
        let woken = sync::park(&self.parker, deadline);
        self.parked.store(false, Ordering::Release);
        match woken {
            _ if self.has_wait_interrupt() => WakeReason::Interrupted,
            ParkResult::Unparked => WakeReason::Unparked,
            ParkResult::TimedOut => WakeReason::TimedOut,
        }
    }

    /// Returns whether the thread is parked in a wait.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Acquire)
    }

    /// Parks the current thread, whose context this is, until a token or the deadline; interrupts
    /// do not end it.
    pub(crate) fn park_uninterruptibly(&self, deadline: Deadline) -> ParkResult {
        sync::park(&self.parker, deadline)
    }

    pub(crate) fn clear_signal(&self) {
        self.signalled.store(false, Ordering::Relaxed);
    }

    pub(crate) fn set_signalled(&self) {
        self.signalled.store(true, Ordering::Release);
    }

    pub(crate) fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Acquire)
    }
}

/// The reason why [`ThreadContext::park`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum WakeReason {
    /// There was a token.
    Unparked,
    /// The deadline passed.
    TimedOut,
    /// An interrupt is pending, or a nudge that the thread accepts.
    Interrupted,
}

/// Returns whether a wait that is about to begin is interrupted; clears what interrupts it.
pub(crate) fn wait_interrupted() -> bool {
    ThreadContext::with_current(|me| me.take_wait_interrupt())
}
