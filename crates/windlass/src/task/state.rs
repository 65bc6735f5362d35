//! Who owns a task right now, in one word.
//!
//! ```text
//!            start                 finish
//!   queued ─────────▶ running ─────────────▶ done (value or failure)
//!     │                 │
//!     │ cancel          │ cancel: done at once, while the code runs on;
//!     ▼                 ▼         with INTERRUPTING until its thread has been told
//!   done, cancelled   done, cancelled
//! ```
//!
//! One compare-exchange decides each race, and its winner owns what it won: the winner of `start`
//! owns the body and the place of the result; the winner of `cancel` over a queued task owns the
//! body, to drop it; after `finish` the result belongs to the readers. The acquire of each
//! transition and of [`State::load`] pairs with the release of the one before it.
//!
//! Whoever completes a task from outside takes one step more, `claim`, and then writes to a place
//! of its own: so the runner need not ask for leave to write.
//!
//! The word also counts the references to the task, so that the end of a run and the end of the
//! runner's interest in the task are one step where nobody waits.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::mutant;

/// A thread runs the body.
const RUNNING: u64 = 1;
/// The outcome is there and final.
const DONE: u64 = 1 << 1;
/// With `DONE`: there is no result and will be none.
const CANCELLED: u64 = 1 << 2;
/// With `DONE`: the result is a failure.
const FAILED: u64 = 1 << 3;
/// A canceller is about to interrupt the runner, which must not leave before.
const INTERRUPTING: u64 = 1 << 4;
/// Somebody waits for the end, or wants to be called at it.
const AWAITED: u64 = 1 << 5;
/// Somebody has claimed the right to complete the task from outside; with `DONE`: and has done so.
const CLAIMED: u64 = 1 << 6;
/// The handle is to cancel the task when it is dropped.
const HELD: u64 = 1 << 7;
/// With `CANCELLED`: why, as a number of four bits from here on.
const WHY_SHIFT: u32 = 8;
/// Why it will have been cancelled if it is dropped unrun, as a number of four bits from here on.
const DROP_REASON_SHIFT: u32 = 12;
const NUMBER: u64 = 0b1111;
/// One reference; they are counted in the bits from here on.
const REF: u64 = 1 << 16;

#[derive(Debug)]
pub(super) struct State(AtomicU64);

/// The state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

/// What became of an attempt to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// It was done before.
    TooLate,
    /// It had not begun; the caller owns the body.
    Unstarted { awaited: bool },
    /// It runs, and goes on doing so.
    Running { awaited: bool },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finished {
    /// The result stands.
    Won { awaited: bool },
    /// The result stands, and the runner's reference is gone; with it the task, if it was the last.
    Released { last: bool },
    /// The task was cancelled or completed meanwhile: the result is the runner's to drop.
    Lost,
}

impl Snapshot {
    pub(crate) const fn is_running(self) -> bool {
        self.0 & RUNNING != 0
    }
    pub(crate) const fn is_done(self) -> bool {
        self.0 & DONE != 0
    }
    pub(crate) const fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }
    pub(crate) const fn is_failed(self) -> bool {
        self.0 & FAILED != 0
    }
    pub(crate) const fn is_interrupting(self) -> bool {
        self.0 & INTERRUPTING != 0
    }
    /// Whether the result is not the runner's.
    pub(super) const fn is_claimed(self) -> bool {
        self.0 & CLAIMED != 0
    }
    /// The reason given to [`State::cancel`].
    pub(super) const fn why(self) -> u8 {
        ((self.0 >> WHY_SHIFT) & NUMBER) as u8
    }
    /// The reason given to [`State::set_drop_reason`].
    pub(super) const fn drop_reason(self) -> u8 {
        ((self.0 >> DROP_REASON_SHIFT) & NUMBER) as u8
    }
    const fn refs(self) -> u64 {
        self.0 / REF
    }
    pub(super) const fn is_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }
    /// Whether the task is to end with its handle.
    pub(super) const fn is_held(self) -> bool {
        self.0 & HELD != 0
    }
}

impl State {
    /// A task that has not begun, with this many references to it.
    #[inline]
    pub(super) fn new(refs: u64, drop_reason: u8) -> Self {
        Self(AtomicU64::new(
            refs * REF + (u64::from(drop_reason) << DROP_REASON_SHIFT),
        ))
    }

    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        let seen = if mutant!("task_look_relaxed") {
            Ordering::Relaxed // Mutant: the end is seen, but not the result.
        } else {
            Ordering::Acquire
        };
        Snapshot(self.0.load(seen))
    }

    /// Takes the body, if nobody has and the task is not done.
    #[inline]
    pub(super) fn start(&self) -> bool {
        // Setting the bit on a task that is done or running already changes nothing for anybody.
        let before = if mutant!("task_start_twice") {
            // Mutant: two look before either writes.
            let before = self.0.load(Ordering::Acquire);
            self.0.store(before | RUNNING, Ordering::Release);
            before
        } else {
            self.0.fetch_or(RUNNING, Ordering::AcqRel)
        };
        before & (RUNNING | DONE | CLAIMED) == 0
    }

    /// Publishes the result that the runner has written. A runner that `leaves` gives its reference
    /// up in the same step, unless somebody waits who has to be told.
    #[inline]
    pub(super) fn finish(&self, failed: bool, leaves: bool) -> Finished {
        let outcome = if failed { DONE | FAILED } else { DONE };
        let published = if mutant!("task_publish_relaxed") {
            Ordering::Acquire // Mutant: a reader sees the end, but not what was written before.
        } else {
            Ordering::AcqRel
        };
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            if now & (DONE | CLAIMED) != 0 {
                return Finished::Lost;
            }
            let awaited = Snapshot(now).is_awaited();
            let released = leaves && !awaited;
            let next = (now | outcome) - if released { REF } else { 0 };
            match self
                .0
                .compare_exchange_weak(now, next, published, Ordering::Relaxed)
            {
                Err(seen) => now = seen,
                Ok(_) if released => {
                    // Mutant: a task whose handle is gone stays for ever.
                    let leaks = mutant!("task_leak_detached");
                    return Finished::Released {
                        last: Snapshot(next).refs() == 0 && !leaks,
                    };
                }
                Ok(_) => return Finished::Won { awaited },
            }
        }
    }

    /// Claims the right to complete the task from outside; gives the state before.
    ///
    /// Where the task was not running, the claimer owns the body.
    pub(super) fn claim(&self) -> Option<Snapshot> {
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now & (DONE | CLAIMED) == 0).then_some(now | CLAIMED)
            });
        update.ok().map(Snapshot)
    }

    /// Publishes the result that the claimer has written; true if somebody waits for it.
    pub(super) fn publish(&self, failed: bool) -> bool {
        let outcome = if failed { DONE | FAILED } else { DONE };
        Snapshot(self.0.fetch_or(outcome, Ordering::AcqRel)).is_awaited()
    }

    /// Ends a run that leaves no result; false if the task was cancelled or completed meanwhile.
    pub(super) fn reset(&self) -> bool {
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now & (DONE | CLAIMED) == 0).then_some(now & !RUNNING)
            });
        update.is_ok()
    }

    /// Makes the task cancelled, unless it is done. With `interrupt`, a running task is marked so
    /// that its runner stays until [`interrupt_delivered`](Self::interrupt_delivered).
    pub(super) fn cancel(&self, interrupt: bool, why: u8) -> Cancelled {
        let cancelled = DONE | CANCELLED | (u64::from(why) << WHY_SHIFT);
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                let told = if interrupt && now & RUNNING != 0 {
                    INTERRUPTING
                } else {
                    0
                };
                // Mutant: a task whose result is being written is cancelled.
                let claimed = if mutant!("task_cancel_claimed") {
                    0
                } else {
                    CLAIMED
                };
                (now & (DONE | claimed) == 0).then_some(now | cancelled | told)
            });
        match update.map(Snapshot) {
            Err(_) => Cancelled::TooLate,
            Ok(before) if before.is_running() => Cancelled::Running {
                awaited: before.is_awaited(),
            },
            Ok(before) => Cancelled::Unstarted {
                awaited: before.is_awaited(),
            },
        }
    }

    pub(super) fn interrupt_delivered(&self) {
        self.0.fetch_and(!INTERRUPTING, Ordering::Release);
    }

    /// Says why the task will have been cancelled if it is dropped unrun.
    pub(super) fn set_drop_reason(&self, drop_reason: u8) {
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                Some(
                    (now & !(NUMBER << DROP_REASON_SHIFT))
                        | (u64::from(drop_reason) << DROP_REASON_SHIFT),
                )
            });
    }

    /// Says whether the task is to end with its handle.
    pub(super) fn set_held(&self, held: bool) {
        if held {
            self.0.fetch_or(HELD, Ordering::Relaxed);
        } else {
            self.0.fetch_and(!HELD, Ordering::Relaxed);
        }
    }

    /// Counts one reference more.
    pub(super) fn retain(&self) {
        self.0.fetch_add(REF, Ordering::Relaxed);
    }

    /// Counts one reference less; true if it was the last, and the task is the caller's alone.
    #[inline]
    pub(super) fn release(&self) -> bool {
        // Who holds the only reference need not write: nobody else can make another of it.
        // Mutant: what others did to the task before they let go of it need not be seen.
        let seen = mutant!(
            "task_last_look_relaxed",
            Ordering::Relaxed,
            Ordering::Acquire
        );
        if Snapshot(self.0.load(seen)).refs() == 1 {
            return true;
        }
        // Mutant: likewise.
        let order = mutant!("task_release_relaxed", Ordering::Relaxed, Ordering::AcqRel);
        Snapshot(self.0.fetch_sub(REF, order)).refs() == 1
    }

    /// Says that somebody waits for the end; false if it is there already.
    pub(super) fn announce_wait(&self) -> bool {
        self.0.fetch_or(AWAITED, Ordering::AcqRel) & DONE == 0
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{Cancelled, Finished, State};
    use crate::sync::{model, thread};

    #[test]
    fn a_task_is_started_or_cancelled_before_its_start_never_both() {
        model(|| {
            let state = Arc::new(State::new(1, 0));
            let theirs = Arc::clone(&state);
            let canceller = thread::Builder::new()
                .spawn(move || theirs.cancel(false, 0))
                .unwrap();
            let started = state.start();
            let cancelled = canceller.join().unwrap();
            assert_eq!(started, matches!(cancelled, Cancelled::Running { .. }));
        });
    }

    #[test]
    fn two_starters_do_not_both_win() {
        model(|| {
            let state = Arc::new(State::new(1, 0));
            let theirs = Arc::clone(&state);
            let other = thread::Builder::new()
                .spawn(move || theirs.start())
                .unwrap();
            assert!(state.start() ^ other.join().unwrap());
        });
    }

    #[test]
    fn a_run_finishes_or_is_cancelled_never_both() {
        model(|| {
            let state = Arc::new(State::new(1, 0));
            assert!(state.start());
            let theirs = Arc::clone(&state);
            let canceller = thread::Builder::new()
                .spawn(move || theirs.cancel(false, 0))
                .unwrap();
            let finished = state.finish(false, false) != Finished::Lost;
            assert_eq!(finished, canceller.join().unwrap() == Cancelled::TooLate);
        });
    }
}
