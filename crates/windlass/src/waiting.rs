//! Threads that wait in a structure, in the order in which they came.
//!
//! A [`WaitQueue`] lives inside the data that a mutex guards. A thread enlists under the lock,
//! sleeps without it, and takes part again when it is *signalled*, which is a fact written under
//! the same lock. From that follows what condition variables leave open:
//! - a signal goes to one thread, chosen by the signaller (oldest or newest);
//! - a thread that was signalled always comes back as [`Wait::Signalled`], even if its time ran
//!   out or it was interrupted in the same moment, and tries its operation again: so a signal is
//!   never lost with a thread that gives up, and need not be passed on;
//! - how many threads wait is known exactly.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::interrupt::{ThreadContext, WakeReason};
use crate::sync::{Deadline, Mutex, MutexGuard, mutant};

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Somebody signalled this thread: look again.
    Signalled,
    /// The deadline passed; the thread has left the queue.
    TimedOut,
    /// The thread was interrupted and has left the queue; its flag is clear.
    Interrupted,
}

/// The waiting threads, each with what it brought along.
#[derive(Debug)]
pub(crate) struct WaitQueue<P = ()> {
    waiters: VecDeque<Waiter<P>>,
}

#[derive(Debug)]
struct Waiter<P> {
    thread: Arc<ThreadContext>,
    payload: P,
}

/// A thread that was signalled and is still to be woken: by dropping this, without the lock.
#[derive(Debug)]
#[must_use = "the thread is woken when this is dropped: drop it after the lock"]
pub(crate) struct Wakeup(Arc<ThreadContext>);

impl Wakeup {
    /// Signals a thread that waits for something of its own, not in a [`WaitQueue`].
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

    /// Signals the thread that came last.
    pub(crate) fn signal_newest(&mut self) -> Option<(Wakeup, P)> {
        self.waiters.pop_back().map(Waiter::signal)
    }

    fn enlist(&mut self, payload: P) -> Arc<ThreadContext> {
        let thread = enlist();
        self.waiters.push_back(Waiter {
            thread: Arc::clone(&thread),
            payload,
        });
        thread
    }

    /// Takes a thread out of the queue that gives up.
    fn withdraw(&mut self, thread: &Arc<ThreadContext>) -> Option<P> {
        let at = self
            .waiters
            .iter()
            .rposition(|waiter| Arc::ptr_eq(&waiter.thread, thread))?;
        self.waiters.remove(at).map(|waiter| waiter.payload)
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

/// What a wait brought: the lock again, how it ended, and the payload if it was not signalled.
pub(crate) struct Waited<'a, S, P> {
    pub(crate) guard: MutexGuard<'a, S>,
    pub(crate) how: Wait,
    pub(crate) withdrawn: Option<P>,
}

/// Waits in the queue that `queue` finds in the locked data, with the lock released meanwhile.
pub(crate) fn wait<'a, S, P>(
    lock: &'a Mutex<S>,
    guard: MutexGuard<'a, S>,
    queue: impl Fn(&mut S) -> &mut WaitQueue<P>,
    payload: P,
    deadline: Deadline,
) -> Waited<'a, S, P> {
    wait_with_spin((lock, guard), queue, payload, deadline, |_| {})
}

/// Waits like [`wait`]; already enlisted, it calls `look_out` before it sleeps.
pub(crate) fn wait_with_spin<'a, S, P>(
    (lock, mut guard): (&'a Mutex<S>, MutexGuard<'a, S>),
    queue: impl Fn(&mut S) -> &mut WaitQueue<P>,
    payload: P,
    deadline: Deadline,
    look_out: impl FnOnce(&ThreadContext),
) -> Waited<'a, S, P> {
    let me = queue(&mut guard).enlist(payload);
    drop(guard);
    look_out(&me);
    if mutant!("wait_prepares_unlocked") {
        me.prepare_signal(); // A signal that came since the lock was released is wiped out.
    }
    let parked = sleep(&me, deadline);
    let mut guard = lock.lock();
    // Mutant: a thread that gives up takes the signal along.
    let ignores_it = mutant!("wait_loses_a_late_signal") && parked != WakeReason::Unparked;
    if me.is_signalled() && !ignores_it {
        return Waited {
            guard,
            how: Wait::Signalled,
            withdrawn: None,
        };
    }
    let withdrawn = queue(&mut guard).withdraw(&me);
    Waited {
        guard,
        how: gave_up(&me, parked),
        withdrawn,
    }
}

/// The current thread, ready to be signalled. To be called under the lock under which it will be.
pub(crate) fn enlist() -> Arc<ThreadContext> {
    let thread = ThreadContext::current();
    thread.prepare_signal();
    thread
}

/// Sleeps until signalled, late or interrupted.
pub(crate) fn sleep(me: &ThreadContext, deadline: Deadline) -> WakeReason {
    loop {
        if me.is_signalled() {
            return WakeReason::Unparked;
        }
        match me.park(deadline) {
            WakeReason::Unparked => {}
            ended => return ended,
        }
    }
}

/// The way in which an unsignalled thread leaves; an interrupt that it reports is taken.
pub(crate) fn gave_up(me: &ThreadContext, parked: WakeReason) -> Wait {
    match parked {
        WakeReason::TimedOut => Wait::TimedOut,
        WakeReason::Interrupted | WakeReason::Unparked => {
            me.take_wait_interrupt();
            Wait::Interrupted
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{Wait, WaitQueue, wait};
    use crate::interrupt;
    use crate::sync::{Deadline, Mutex, model, thread};

    #[derive(Default)]
    struct Gate {
        open: bool,
        waiters: WaitQueue,
    }

    fn pass(gate: &Mutex<Gate>) -> Wait {
        let mut guard = gate.lock();
        while !guard.open {
            let waited = wait(gate, guard, |gate| &mut gate.waiters, (), Deadline::Never);
            guard = waited.guard;
            if waited.how == Wait::Interrupted {
                return Wait::Interrupted;
            }
        }
        Wait::Signalled
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
            assert_eq!(pass(&gate), Wait::Signalled);
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
            let how = pass(&gate);
            other.join().unwrap();
            assert_eq!(interrupt::interrupted(), how == Wait::Signalled);
            assert!(gate.lock().waiters.is_empty());
        });
    }
}
