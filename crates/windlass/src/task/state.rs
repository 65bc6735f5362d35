//! The state word of a task: who owns its body and its result, and how many references there are.
//!
//! ```text
//!            start                 finish
//!   queued ─────────▶ running ─────────────▶ done (value or failure)
//!     │                 │
//!     │ cancel          │ cancel: done at once, while the body keeps running;
//!     ▼                 ▼         with INTERRUPTING until its thread has been interrupted
//!   done, cancelled   done, cancelled
//! ```
//!
//! One read-modify-write decides each race, and its winner owns what it won: the winner of
//! [`start`](State::start) owns the body and the place of the result; the winner of
//! [`cancel`](State::cancel) over a queued task owns the body, to drop it; after
//! [`finish`](State::finish) the result belongs to the readers. The acquire of each transition and of
//! [`State::load`] pairs with the release of the one before it.
//!
//! A thread that completes a task from outside takes one step more, [`claim`](State::claim), and then
//! writes to a place of its own. So the runner need not ask for permission to write.
//!
//! The word also counts the references to the task. So a run that nobody waits for publishes its result
//! and releases the runner's reference in one step. And it names the running thread, by number: a
//! canceller that finds the task running knows at once whom to interrupt.

use super::error::Cancellation;
use super::transition::{
    Announced, CancelMode, Cancelled, Claimed, Finished, Published, Reset, ResultKind, RunnerRef,
    Started, Withdrawn,
};
use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicU64, Ordering};

/// A thread runs the body.
const RUNNING: u64 = 1;
/// The outcome is there and final.
const DONE: u64 = 1 << 1;
/// With `DONE`: there is no result and will be none.
const CANCELLED: u64 = 1 << 2;
/// With `DONE`: the result is a failure.
const FAILED: u64 = 1 << 3;
/// A canceller is about to interrupt the runner, which must not return before. The runner parks
/// meanwhile, and the canceller unparks it after it has cleared the bit.
const INTERRUPTING: u64 = 1 << 4;
/// A thread, a waker or a callback waits for the end.
const AWAITED: u64 = 1 << 5;
/// A thread has claimed the right to complete the task from outside; with `DONE`: and has done so.
const CLAIMED: u64 = 1 << 6;
/// The handle cancels the task when it is dropped.
const CANCEL_ON_DROP: u64 = 1 << 7;
/// The task has time limits, which [`State::start_limited`] is called for. With this bit in the word a
/// task without limits pays nothing for them.
const LIMITED: u64 = 1 << 8;
/// With `CANCELLED`: the code of the reason, in the bits from here on.
const REASON_SHIFT: u32 = 9;
/// The code of the reason with which the task is cancelled if it is dropped unrun, in the bits from
/// here on.
const DROP_REASON_SHIFT: u32 = REASON_SHIFT + Cancellation::CODE_BITS;
const CODE_MASK: u64 = (1 << Cancellation::CODE_BITS) - 1;
/// One reference; they are counted in the bits from here to the runner's.
const REF: u64 = 1 << (DROP_REASON_SHIFT + Cancellation::CODE_BITS);
/// With `RUNNING`: the number of the runner's context, in the bits from here on.
const RUNNER_SHIFT: u32 = u64::BITS - ThreadContext::NUMBER_BITS;
const RUNNER_MASK: u64 = u64::MAX << RUNNER_SHIFT;
const MAX_REFS: u64 = (!RUNNER_MASK / REF) / 2;
/// A task that nobody has touched since it was submitted with a handle.
const SUBMITTED: u64 = bits_of_new(2, Cancellation::Dropped);

const fn bits_of_new(refs: u64, drop_reason: Cancellation) -> u64 {
    refs * REF + (drop_reason.code() << DROP_REASON_SHIFT)
}

/// The state word.
#[derive(Debug)]
pub(super) struct State(AtomicU64);

/// A copy of the state word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

/// Returns the bits of a task that ended with such a result.
const fn done(kind: ResultKind) -> u64 {
    match kind {
        ResultKind::Value => DONE,
        ResultKind::Failure => DONE | FAILED,
    }
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
    /// Returns whether the runner has left a value.
    #[inline]
    pub(super) const fn has_value_of_runner(self) -> bool {
        self.0 & (DONE | CANCELLED | FAILED | CLAIMED) == DONE
    }
    pub(super) const fn is_interrupting(self) -> bool {
        self.0 & INTERRUPTING != 0
    }
    /// Returns whether the result was written from outside and not by the runner.
    pub(super) const fn is_claimed(self) -> bool {
        self.0 & CLAIMED != 0
    }
    pub(super) const fn is_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }
    pub(super) const fn is_limited(self) -> bool {
        self.0 & LIMITED != 0
    }
    pub(super) const fn is_cancelled_on_drop(self) -> bool {
        self.0 & CANCEL_ON_DROP != 0
    }
    /// Returns the reason that was passed to [`State::cancel`], if the task was cancelled.
    pub(crate) const fn cancellation(self) -> Option<Cancellation> {
        if self.is_cancelled() {
            Some(Cancellation::from_code(
                (self.0 >> REASON_SHIFT) & CODE_MASK,
            ))
        } else {
            None
        }
    }
    /// Returns the reason that was passed to [`State::set_drop_reason`].
    pub(super) const fn drop_reason(self) -> Cancellation {
        Cancellation::from_code((self.0 >> DROP_REASON_SHIFT) & CODE_MASK)
    }
    /// Returns the number of the context of the running thread.
    pub(super) const fn runner(self) -> u32 {
        (self.0 >> RUNNER_SHIFT) as u32
    }
    #[inline]
    const fn refs(self) -> u64 {
        (self.0 & !RUNNER_MASK) / REF
    }
}

impl State {
    /// Creates the state of a task that has not started, with this many references to it.
    #[inline]
    pub(super) fn new(refs: u64, drop_reason: Cancellation) -> Self {
        Self(AtomicU64::new(bits_of_new(refs, drop_reason)))
    }

    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// Returns a copy that no later one precedes: whoever changes the word afterwards sees what the caller has
    /// written before.
    pub(super) fn load_last(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(0, Ordering::AcqRel))
    }

    /// Becomes the runner, if there is none and the task is not done and has no limits; `runner` is the
    /// number of the thread's context.
    #[inline]
    pub(super) fn start(&self, runner: u32) -> Started {
        // A guess, mostly right, instead of a load: the load would fetch the cache line once more.
        self.start_unless(RUNNING | DONE | CLAIMED | LIMITED, SUBMITTED, runner)
    }

    /// Becomes the runner of a task with limits, as [`start`](Self::start) of one without. The caller has
    /// checked that it is not too late.
    pub(super) fn start_limited(&self, runner: u32) -> Started {
        self.start_unless(RUNNING | DONE | CLAIMED, SUBMITTED | LIMITED, runner)
    }

    #[inline]
    fn start_unless(&self, prevented_by: u64, guess: u64, runner: u32) -> Started {
        let running = RUNNING | (u64::from(runner) << RUNNER_SHIFT);
        let mut now = guess;
        while now & prevented_by == 0 {
            match self.0.compare_exchange_weak(
                now,
                now | running,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Started::Won,
                Err(seen) => now = seen,
            }
        }
        Started::Lost
    }

    /// Publishes the result that the runner has written.
    #[inline]
    pub(super) fn finish(&self, kind: ResultKind, reference: RunnerRef) -> Finished {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            if now & (DONE | CLAIMED) != 0 {
                return Finished::Lost;
            }
            let awaited = Snapshot(now).is_awaited();
            let releases = reference == RunnerRef::Release && !awaited;
            let next = (now | done(kind)) - if releases { REF } else { 0 };
            match self
                .0
                .compare_exchange_weak(now, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Err(seen) => now = seen,
                Ok(_) if releases => {
                    return Finished::Released {
                        last: Snapshot(next).refs() == 0,
                    };
                }
                Ok(_) => return Finished::Won { awaited },
            }
        }
    }

    /// Claims the right to complete the task from outside.
    pub(super) fn claim(&self) -> Claimed {
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now & (DONE | CLAIMED) == 0).then_some(now | CLAIMED)
            });
        match update.map(Snapshot) {
            Err(_) => Claimed::Lost,
            Ok(before) if before.is_running() => Claimed::Running,
            Ok(_) => Claimed::Unstarted,
        }
    }

    /// Publishes the result that the winner of [`claim`](Self::claim) has written.
    pub(super) fn publish(&self, kind: ResultKind) -> Published {
        let before = Snapshot(self.0.fetch_or(done(kind), Ordering::AcqRel));
        Published {
            awaited: before.is_awaited(),
        }
    }

    /// Ends a run that leaves no result, so that the task can be run again.
    pub(super) fn reset(&self) -> Reset {
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now & (DONE | CLAIMED) == 0).then_some(now & !(RUNNING | RUNNER_MASK))
            });
        match update {
            Ok(_) => Reset::Queued,
            Err(_) => Reset::Lost,
        }
    }

    /// Cancels the task, unless it is done. With [`CancelMode::Interrupt`] the runner of a running task
    /// does not return until [`interrupt_delivered`](Self::interrupt_delivered).
    pub(super) fn cancel(&self, mode: CancelMode, reason: Cancellation) -> Cancelled {
        let cancelled = DONE | CANCELLED | (reason.code() << REASON_SHIFT);
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                let interrupting = if mode == CancelMode::Interrupt && now & RUNNING != 0 {
                    INTERRUPTING
                } else {
                    0
                };
                (now & (DONE | CLAIMED) == 0).then_some(now | cancelled | interrupting)
            });
        match update.map(Snapshot) {
            Err(_) => Cancelled::TooLate,
            Ok(before) if before.is_running() => Cancelled::Running {
                awaited: before.is_awaited(),
                runner: before.runner(),
            },
            Ok(before) => Cancelled::Unstarted {
                awaited: before.is_awaited(),
            },
        }
    }

    /// Cancels the task, unless it has started or is done.
    pub(super) fn withdraw(&self, reason: Cancellation) -> Withdrawn {
        let cancelled = DONE | CANCELLED | (reason.code() << REASON_SHIFT);
        let update = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
                (now & (RUNNING | DONE | CLAIMED) == 0).then_some(now | cancelled)
            });
        match update.map(Snapshot) {
            Err(_) => Withdrawn::Lost,
            Ok(before) => Withdrawn::Won {
                awaited: before.is_awaited(),
            },
        }
    }

    /// Lets the runner of a cancelled task return.
    pub(super) fn interrupt_delivered(&self) {
        self.0.fetch_and(!INTERRUPTING, Ordering::Release);
    }

    /// Sets the reason with which the task is cancelled if it is dropped unrun.
    pub(super) fn set_drop_reason(&self, reason: Cancellation) {
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                let others = now & !(CODE_MASK << DROP_REASON_SHIFT);
                Some(others | (reason.code() << DROP_REASON_SHIFT))
            });
    }

    /// Records that the task has limits.
    pub(super) fn set_limited(&self) {
        self.0.fetch_or(LIMITED, Ordering::Relaxed);
    }

    /// Sets whether the handle cancels the task when it is dropped.
    pub(super) fn set_cancel_on_drop(&self, cancels: bool) {
        if cancels {
            self.0.fetch_or(CANCEL_ON_DROP, Ordering::Relaxed);
        } else {
            self.0.fetch_and(!CANCEL_ON_DROP, Ordering::Relaxed);
        }
    }

    /// Adds a reference.
    pub(super) fn retain(&self) {
        let before = self.0.fetch_add(REF, Ordering::Relaxed);
        if Snapshot(before).refs() > MAX_REFS {
            // More than a hundred million, most of them forgotten: as for an `Arc`, nothing can be done.
            std::process::abort();
        }
    }

    /// Removes a reference; returns whether it was the last, so that the caller owns the task.
    #[inline]
    #[must_use]
    pub(super) fn release(&self) -> bool {
        // The owner of the only reference need not write: nobody else can create another from it.
        if Snapshot(self.0.load(Ordering::Acquire)).refs() == 1 {
            return true;
        }
        Snapshot(self.0.fetch_sub(REF, Ordering::AcqRel)).refs() == 1
    }

    /// Announces a waiter, which has been enlisted before.
    pub(super) fn announce_wait(&self) -> Announced {
        if self.0.fetch_or(AWAITED, Ordering::AcqRel) & DONE == 0 {
            Announced::Pending
        } else {
            Announced::Done
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{
        CancelMode, Cancellation, Cancelled, Finished, ResultKind, RunnerRef, Started, State,
    };
    use crate::sync::{model, thread};

    fn queued() -> Arc<State> {
        Arc::new(State::new(1, Cancellation::Dropped))
    }

    fn spawn_canceller(state: &Arc<State>) -> thread::JoinHandle<Cancelled> {
        let state = Arc::clone(state);
        thread::Builder::new()
            .spawn(move || state.cancel(CancelMode::LetRun, Cancellation::Requested))
            .unwrap()
    }

    #[test]
    fn a_task_is_started_or_cancelled_before_its_start_never_both() {
        model(|| {
            let state = queued();
            let canceller = spawn_canceller(&state);
            let started = state.start(1) == Started::Won;
            let cancelled = canceller.join().unwrap();
            assert_eq!(started, matches!(cancelled, Cancelled::Running { .. }));
        });
    }

    #[test]
    fn two_starters_do_not_both_win() {
        model(|| {
            let state = queued();
            let theirs = Arc::clone(&state);
            let other = thread::Builder::new()
                .spawn(move || theirs.start(1))
                .unwrap();
            assert_ne!(state.start(2), other.join().unwrap());
        });
    }

    #[test]
    fn a_run_finishes_or_is_cancelled_never_both() {
        model(|| {
            let state = queued();
            assert_eq!(state.start(1), Started::Won);
            let canceller = spawn_canceller(&state);
            let finished = state.finish(ResultKind::Value, RunnerRef::Keep) != Finished::Lost;
            assert_eq!(finished, canceller.join().unwrap() == Cancelled::TooLate);
        });
    }
}
