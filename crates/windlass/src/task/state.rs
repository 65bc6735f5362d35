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
//! A task that can be completed from outside (`SETTABLE`) has one step more, `claim`: whoever is to
//! write the result claims the right first, since the runner is not the only writer there.

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::mutant;

/// A thread runs the body.
const RUNNING: u32 = 1;
/// The outcome is there and final.
const DONE: u32 = 1 << 1;
/// With `DONE`: there is no result and will be none.
const CANCELLED: u32 = 1 << 2;
/// With `DONE`: the result is a failure.
const FAILED: u32 = 1 << 3;
/// A canceller is about to interrupt the runner, which must not leave before.
const INTERRUPTING: u32 = 1 << 4;
/// Somebody waits for the end, or wants to be called at it.
const AWAITED: u32 = 1 << 5;
/// May be completed by others than its runner.
const SETTABLE: u32 = 1 << 6;
/// Somebody has claimed the right to write the result.
const CLAIMED: u32 = 1 << 7;
/// With `CANCELLED`: why, as a number in the bits from here on.
const WHY_SHIFT: u32 = 8;

#[derive(Debug)]
pub(super) struct State(AtomicU32);

/// The state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u32);

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
    /// The reason given to [`State::cancel`].
    pub(super) const fn why(self) -> u8 {
        (self.0 >> WHY_SHIFT) as u8
    }
    const fn is_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }
}

impl State {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    pub(super) fn settable() -> Self {
        Self(AtomicU32::new(SETTABLE))
    }

    pub(super) fn load(&self) -> Snapshot {
        let seen = if mutant!("task_look_relaxed") {
            Ordering::Relaxed // Mutant: the end is seen, but not the result.
        } else {
            Ordering::Acquire
        };
        Snapshot(self.0.load(seen))
    }

    /// Takes the body, if nobody has and the task is not done.
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

    /// Publishes the result that the runner has written.
    pub(super) fn finish(&self, failed: bool) -> Finished {
        let outcome = if failed { DONE | FAILED } else { DONE };
        let before = self.0.load(Ordering::Relaxed);
        if before & DONE != 0 {
            return Finished::Lost;
        }
        let published = if mutant!("task_publish_relaxed") {
            Ordering::Acquire // Mutant: a reader sees the end, but not what was written before.
        } else {
            Ordering::AcqRel
        };
        let update = self.0.fetch_update(published, Ordering::Acquire, |now| {
            (now & DONE == 0).then_some(now | outcome)
        });
        match update {
            Ok(before) => Finished::Won {
                awaited: Snapshot(before).is_awaited(),
            },
            Err(_) => Finished::Lost,
        }
    }

    /// Claims the right to write the result of a settable task; gives the state before.
    ///
    /// Where the task was not running, the claimer owns the body too.
    pub(super) fn claim(&self) -> Option<Snapshot> {
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now & (DONE | CLAIMED) == 0).then_some(now | CLAIMED)
            });
        update.ok().map(Snapshot)
    }

    pub(super) fn is_settable(&self) -> bool {
        self.0.load(Ordering::Relaxed) & SETTABLE != 0
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
        let cancelled = DONE | CANCELLED | (u32::from(why) << WHY_SHIFT);
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
            let state = Arc::new(State::new());
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
            let state = Arc::new(State::new());
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
            let state = Arc::new(State::new());
            assert!(state.start());
            let theirs = Arc::clone(&state);
            let canceller = thread::Builder::new()
                .spawn(move || theirs.cancel(false, 0))
                .unwrap();
            let finished = state.finish(false) != Finished::Lost;
            assert_eq!(finished, canceller.join().unwrap() == Cancelled::TooLate);
        });
    }
}
