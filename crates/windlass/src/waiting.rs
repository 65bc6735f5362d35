//! Wait queues: threads that wait in a structure, in order of arrival.
//!
//! A [`WaitQueue`] lives inside the data that a mutex guards. A thread enqueues itself under the
//! lock, parks without it, and proceeds when it is *signalled*, which is a fact written under the
//! same lock. This guarantees what condition variables do not:
//! - a signal goes to one thread, chosen by the signaller (oldest or newest);
//! - a thread that was signalled always returns [`WaitOutcome::Signalled`], even if its time ran
//!   out or it was interrupted meanwhile, and tries its operation again: so a signal is
//!   never lost with a thread that gives up, and need not be passed on;
//! - how many threads wait is known exactly.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::interrupt::{ThreadContext, WakeReason, wait_interrupted};
use crate::sync::{Deadline, Mutex, MutexGuard};

/// The outcome of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a wait that was signalled has to be followed by another try"]
pub(crate) enum WaitOutcome {
    /// The thread was signalled: try again.
    Signalled,
    /// The deadline passed; the thread has left the queue.
    TimedOut,
    /// The thread was interrupted and has left the queue; its interrupt is cleared.
    Interrupted,
}

impl WaitOutcome {
    /// Returns the outcome of a wait whose deadline has passed before it begins. A pending
    /// interrupt takes precedence over the deadline, and is cleared.
    pub(crate) fn expired() -> Self {
        if wait_interrupted() {
            Self::Interrupted
        } else {
            Self::TimedOut
        }
    }

    /// Returns [`expired`](Self::expired) if the deadline has passed.
    pub(crate) fn if_expired(deadline: Deadline) -> Option<Self> {
        deadline.has_passed().then(Self::expired)
    }
}

/// Threads that wait, in order of arrival, each with a payload.
#[derive(Debug)]
pub(crate) struct WaitQueue<P = ()> {
    waiters: VecDeque<Waiter<P>>,
}

#[derive(Debug)]
struct Waiter<P> {
    thread: Arc<ThreadContext>,
    payload: P,
}

/// The pending wake-up of a signalled thread. Dropping it wakes the thread; it is dropped after the
/// lock is released.
#[derive(Debug)]
#[must_use = "the thread is woken when this is dropped: drop it after the lock"]
pub(crate) struct Wakeup(Arc<ThreadContext>);

impl Wakeup {
    /// Signals a thread that waits outside of a [`WaitQueue`].
    pub(crate) fn signal(thread: Arc<ThreadContext>) -> Self {
        thread.set_signalled();
        Self(thread)
    }
}

impl Drop for Wakeup {
    fn drop(&mut self) {
        self.0.unpark();
    }
}

impl<P> Default for WaitQueue<P> {
    fn default() -> Self {
        Self {
            waiters: VecDeque::new(),
        }
    }
}

impl<P> WaitQueue<P> {
    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Signals the thread that has waited longest.
    pub(crate) fn signal_oldest(&mut self) -> Option<(Wakeup, P)> {
        self.waiters.pop_front().map(Waiter::signal)
    }

    /// Signals the thread that arrived last.
    pub(crate) fn signal_newest(&mut self) -> Option<(Wakeup, P)> {
        self.waiters.pop_back().map(Waiter::signal)
    }

    /// Returns whether a thread with such a payload waits.
    pub(crate) fn has(&self, wanted: impl Fn(&P) -> bool) -> bool {
        self.waiters.iter().any(|waiter| wanted(&waiter.payload))
    }

    /// Signals the thread that has waited longest of those with such a payload.
    pub(crate) fn signal_oldest_of(&mut self, wanted: impl Fn(&P) -> bool) -> Option<Wakeup> {
        let index = self
            .waiters
            .iter()
            .position(|waiter| wanted(&waiter.payload))?;
        self.waiters.remove(index).map(|waiter| waiter.signal().0)
    }

    fn push_current(&mut self, payload: P) -> Arc<ThreadContext> {
        let thread = prepare_current();
        self.waiters.push_back(Waiter {
            thread: Arc::clone(&thread),
            payload,
        });
        thread
    }

    /// Removes a thread that gives up.
    fn remove(&mut self, thread: &Arc<ThreadContext>) -> Option<P> {
        let index = self
            .waiters
            .iter()
            .rposition(|waiter| Arc::ptr_eq(&waiter.thread, thread))?;
        self.waiters.remove(index).map(|waiter| waiter.payload)
    }
}

impl WaitQueue {
    /// Signals up to `count` threads, oldest first.
    pub(crate) fn signal(&mut self, count: usize) -> Vec<Wakeup> {
        let count = count.min(self.waiters.len());
        if count == 0 {
            return Vec::new();
        }
        self.waiters
            .drain(..count)
            .map(|waiter| waiter.signal().0)
            .collect()
    }

    /// Signals the oldest thread, if one waits.
    pub(crate) fn signal_one(&mut self) -> Option<Wakeup> {
        self.signal_oldest().map(|(wakeup, ())| wakeup)
    }
}

impl<P> Waiter<P> {
    fn signal(self) -> (Wakeup, P) {
        (Wakeup::signal(self.thread), self.payload)
    }
}

/// The result of a wait: the reacquired lock, the outcome, and the payload unless the thread was
/// signalled.
pub(crate) struct Waited<'a, S, P> {
    pub(crate) guard: MutexGuard<'a, S>,
    pub(crate) outcome: WaitOutcome,
    pub(crate) payload: Option<P>,
}

/// Waits in the wait queue that `queue` selects from the locked data, with the lock released
/// meanwhile.
pub(crate) fn wait<'a, S, P>(
    lock: &'a Mutex<S>,
    guard: MutexGuard<'a, S>,
    queue: impl Fn(&mut S) -> &mut WaitQueue<P>,
    payload: P,
    deadline: Deadline,
) -> Waited<'a, S, P> {
    wait_with_spin((lock, guard), queue, payload, deadline, |_| {})
}

/// Waits like [`wait`], and calls `spin` before it parks, when it can be signalled already.
pub(crate) fn wait_with_spin<'a, S, P>(
    (lock, mut guard): (&'a Mutex<S>, MutexGuard<'a, S>),
    queue: impl Fn(&mut S) -> &mut WaitQueue<P>,
    payload: P,
    deadline: Deadline,
    spin: impl FnOnce(&ThreadContext),
) -> Waited<'a, S, P> {
    let me = queue(&mut guard).push_current(payload);
    drop(guard);
    spin(&me);
    let reason = park_until_signalled(&me, deadline);
    let mut guard = lock.lock();
    if me.is_signalled() {
        return Waited {
            guard,
            outcome: WaitOutcome::Signalled,
            payload: None,
        };
    }
    let payload = queue(&mut guard).remove(&me);
    Waited {
        guard,
        outcome: unsignalled_outcome(&me, reason),
        payload,
    }
}

/// Returns the context of the current thread, ready to be signalled. To be called under the lock
/// under which it will be signalled.
pub(crate) fn prepare_current() -> Arc<ThreadContext> {
    let thread = ThreadContext::current();
    thread.clear_signal();
    thread
}

/// Parks the current thread, whose context this is, until it is signalled, interrupted or the
/// deadline has passed.
pub(crate) fn park_until_signalled(me: &ThreadContext, deadline: Deadline) -> WakeReason {
    loop {
        if me.is_signalled() {
            return WakeReason::Unparked;
        }
        match me.park(deadline) {
            WakeReason::Unparked => {}
            reason => return reason,
        }
    }
}

/// Returns the outcome of a wait of a thread that was not signalled; an interrupt is cleared.
pub(crate) fn unsignalled_outcome(me: &ThreadContext, reason: WakeReason) -> WaitOutcome {
    match reason {
        WakeReason::TimedOut => WaitOutcome::TimedOut,
        WakeReason::Interrupted | WakeReason::Unparked => {
            me.take_wait_interrupt();
            WaitOutcome::Interrupted
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{WaitOutcome, WaitQueue, wait};
    use crate::interrupt;
    use crate::sync::{Deadline, Mutex, model, thread};

    #[derive(Default)]
    struct Gate {
        open: bool,
        waiters: WaitQueue,
    }

    fn pass(gate: &Mutex<Gate>) -> WaitOutcome {
        let mut guard = gate.lock();
        while !guard.open {
            let waited = wait(gate, guard, |gate| &mut gate.waiters, (), Deadline::Never);
            guard = waited.guard;
            if waited.outcome == WaitOutcome::Interrupted {
                return WaitOutcome::Interrupted;
            }
        }
        WaitOutcome::Signalled
    }

    #[test]
    fn a_signal_reaches_the_waiter_whenever_it_comes() {
        model(|| {
            let gate = Arc::new(Mutex::new(Gate::default()));
            let theirs = Arc::clone(&gate);
            let opener = thread::Builder::new()
                .spawn(move || {
                    let wakeups = {
                        let mut gate = theirs.lock();
                        gate.open = true;
                        gate.waiters.signal(usize::MAX)
                    };
                    drop(wakeups);
                })
                .unwrap();
            assert_eq!(pass(&gate), WaitOutcome::Signalled);
            opener.join().unwrap();
        });
    }

    #[test]
    fn a_signal_and_an_interrupt_together_lose_neither() {
        model(|| {
            let gate = Arc::new(Mutex::new(Gate::default()));
            let me = interrupt::current();
            let theirs = Arc::clone(&gate);
            let other = thread::Builder::new()
                .spawn(move || {
                    me.interrupt();
                    let mut gate = theirs.lock();
                    gate.open = true;
                    let wakeup = gate.waiters.signal_one();
                    drop(gate);
                    drop(wakeup);
                })
                .unwrap();
            let outcome = pass(&gate);
            other.join().unwrap();
            assert_eq!(interrupt::interrupted(), outcome == WaitOutcome::Signalled);
            assert!(gate.lock().waiters.is_empty());
        });
    }
}
