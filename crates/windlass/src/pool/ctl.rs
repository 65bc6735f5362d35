//! The pool's control word: its run state and its worker count, in one atomic.
//!
//! The two change together: a worker is added only while the pool accepts or still runs tasks, and
//! the pool becomes `Tidying` only when no worker is left. Packed, each such rule is a single
//! compare-exchange, and neither needs the roster's lock.
//!
//! ```text
//!   Running ──shutdown──▶ Shutdown ──queue and pool empty──▶ Tidying ──hook ran──▶ Terminated
//!      │                     │                                  ▲
//!      └────shutdown_now─────┴──────────▶ Stop ──pool empty─────┘
//! ```
//!
//! The state only moves to the right. The count includes workers whose thread is still being created.
//!
//! One bit more is set while a thread of the pool waits for a task inside a task. A submitter reads it with
//! the state after it has queued a task, and so need not read anything else to know that somebody may
//! wait for the task.
//!
//! Everything here is `SeqCst`. Admission writes the queue and then reads the state; shutdown writes
//! the state and then reads the queue. At least one of the two must see the other's write (store
//! buffering), which weaker orderings do not guarantee.

use crate::sync::atomic::{AtomicU64, Ordering};

/// The run state of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RunState {
    /// Accepts tasks and runs them.
    Running = 0,
    /// Accepts no tasks, runs what is queued.
    Shutdown = 1,
    /// Accepts no tasks, starts none, interrupts those that run.
    Stop = 2,
    /// No worker is left; the `terminated` hook runs.
    Tidying = 3,
    /// The hook has returned.
    Terminated = 4,
}

const STATES: [RunState; 5] = [
    RunState::Running,
    RunState::Shutdown,
    RunState::Stop,
    RunState::Tidying,
    RunState::Terminated,
];

/// Bits of the worker count.
const COUNT_BITS: u32 = 29;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// A thread of the pool waits for a task inside a task.
const WAITING: u64 = 1 << COUNT_BITS;
/// The state is in the bits from here on.
const STATE_SHIFT: u32 = COUNT_BITS + 1;

/// The maximum number of workers of any pool.
pub(crate) const MAX_WORKERS: usize = (1 << COUNT_BITS) - 1;

/// Whether threads of a pool wait for tasks inside tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    None,
    Some,
}

/// The control word.
#[derive(Debug)]
pub(crate) struct Ctl(AtomicU64);

/// A snapshot of the control word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CtlSnapshot(u64);

impl CtlSnapshot {
    pub(super) fn new(state: RunState, workers: usize) -> Self {
        Self(((state as u64) << STATE_SHIFT) | workers as u64)
    }

    pub(crate) fn state(self) -> RunState {
        STATES[usize::try_from(self.0 >> STATE_SHIFT).unwrap_or(0)]
    }

    #[inline]
    pub(crate) fn workers(self) -> usize {
        usize::try_from(self.0 & COUNT_MASK).unwrap_or(MAX_WORKERS)
    }

    #[inline]
    pub(crate) const fn is_running(self) -> bool {
        self.0 >> STATE_SHIFT == RunState::Running as u64
    }

    /// Returns whether the pool accepts tasks, and none of its threads waits for a task inside a task.
    #[inline]
    pub(crate) const fn is_running_without_waits(self) -> bool {
        self.0 & !COUNT_MASK == 0
    }

    /// Returns whether a thread of the pool waits for a task inside a task.
    pub(crate) const fn has_waits(self) -> bool {
        self.0 & WAITING != 0
    }

    /// Returns whether the pool no longer runs queued tasks.
    #[inline]
    pub(crate) const fn is_stopped(self) -> bool {
        self.0 >> STATE_SHIFT >= RunState::Stop as u64
    }
}

impl Ctl {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(CtlSnapshot::new(RunState::Running, 0).0))
    }

    #[inline]
    pub(crate) fn load(&self) -> CtlSnapshot {
        CtlSnapshot(self.0.load(Ordering::SeqCst))
    }

    /// Adds one worker, if the word is unchanged since `seen`.
    #[must_use]
    pub(crate) fn try_add_worker(&self, seen: CtlSnapshot) -> bool {
        self.exchange(seen, CtlSnapshot(seen.0 + 1))
    }

    /// Removes one worker, if the word is unchanged since `seen`.
    #[must_use]
    pub(crate) fn try_remove_worker(&self, seen: CtlSnapshot) -> bool {
        self.exchange(seen, CtlSnapshot(seen.0 - 1))
    }

    /// Removes one worker.
    pub(crate) fn remove_worker(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Sets whether a thread of the pool waits for a task inside a task.
    pub(crate) fn set_waits(&self, waits: Waits) {
        match waits {
            Waits::Some => self.0.fetch_or(WAITING, Ordering::SeqCst),
            Waits::None => self.0.fetch_and(!WAITING, Ordering::SeqCst),
        };
    }

    /// Advances to `state`, unless the pool is in that state or a later one.
    pub(crate) fn advance_to(&self, state: RunState) {
        let _ = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| {
                let now = CtlSnapshot(word);
                let advanced = CtlSnapshot::new(state, now.workers()).0;
                (now.state() < state).then_some(advanced | word & WAITING)
            });
    }

    /// Advances to `Tidying`, if the word is unchanged since `seen`. Succeeds for one caller only.
    #[must_use]
    pub(crate) fn try_tidy(&self, seen: CtlSnapshot) -> bool {
        self.exchange(seen, CtlSnapshot::new(RunState::Tidying, 0))
    }

    fn exchange(&self, seen: CtlSnapshot, new: CtlSnapshot) -> bool {
        self.0
            .compare_exchange(seen.0, new.0, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{Ctl, CtlSnapshot, MAX_WORKERS, RunState, STATES, Waits};

    #[test]
    fn state_and_count_do_not_touch_each_other() {
        for state in STATES {
            for workers in [0, 1, MAX_WORKERS - 1, MAX_WORKERS] {
                let snapshot = CtlSnapshot::new(state, workers);
                assert_eq!((snapshot.state(), snapshot.workers()), (state, workers));
            }
        }
    }

    #[test]
    fn the_state_only_moves_on() {
        let ctl = Ctl::new();
        ctl.advance_to(RunState::Stop);
        ctl.advance_to(RunState::Shutdown);
        assert_eq!(ctl.load().state(), RunState::Stop);
    }

    #[test]
    fn only_running_takes_tasks_and_from_stop_on_none_is_run() {
        let judged = STATES.map(|state| {
            let snapshot = CtlSnapshot::new(state, 3);
            (snapshot.is_running(), snapshot.is_stopped())
        });
        let (takes, runs, stopped) = ((true, false), (false, false), (false, true));
        assert_eq!(judged, [takes, runs, stopped, stopped, stopped]);
    }

    #[test]
    fn the_count_outlives_a_change_of_state() {
        let ctl = Ctl::new();
        assert!(ctl.try_add_worker(ctl.load()));
        assert!(ctl.try_add_worker(ctl.load()));
        ctl.advance_to(RunState::Shutdown);
        assert_eq!(ctl.load(), CtlSnapshot::new(RunState::Shutdown, 2));
        assert!(ctl.try_remove_worker(ctl.load()));
        assert_eq!(ctl.load(), CtlSnapshot::new(RunState::Shutdown, 1));
        ctl.remove_worker();
        assert_eq!(ctl.load(), CtlSnapshot::new(RunState::Shutdown, 0));
    }

    #[test]
    fn waits_touch_neither_state_nor_count() {
        let ctl = Ctl::new();
        assert!(ctl.load().is_running_without_waits());
        ctl.set_waits(Waits::Some);
        assert!(ctl.load().has_waits() && ctl.load().is_running());
        assert!(!ctl.load().is_running_without_waits());
        assert!(ctl.try_add_worker(ctl.load()));
        ctl.advance_to(RunState::Stop);
        assert!(ctl.load().has_waits() && ctl.load().is_stopped());
        ctl.set_waits(Waits::None);
        assert_eq!(ctl.load(), CtlSnapshot::new(RunState::Stop, 1));
    }

    #[test]
    fn a_word_that_has_changed_is_left_alone() {
        let ctl = Ctl::new();
        let old = ctl.load();
        assert!(ctl.try_add_worker(old));
        let new = ctl.load();
        assert!(!ctl.try_add_worker(old));
        assert!(!ctl.try_remove_worker(CtlSnapshot::new(RunState::Running, 2)));
        assert!(!ctl.try_tidy(old));
        assert_eq!(ctl.load(), new);
    }

    #[test]
    fn a_pool_tidies_once() {
        let ctl = Ctl::new();
        ctl.advance_to(RunState::Stop);
        let seen = ctl.load();
        assert!(ctl.try_tidy(seen));
        assert!(!ctl.try_tidy(seen));
        assert_eq!(ctl.load(), CtlSnapshot::new(RunState::Tidying, 0));
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{Ctl, RunState};
    use crate::sync::{model, thread};

    #[test]
    fn a_worker_is_counted_or_the_pool_tidies_never_both() {
        model(|| {
            let ctl = Arc::new(Ctl::new());
            let theirs = Arc::clone(&ctl);
            let adder = thread::Builder::new()
                .spawn(move || {
                    let seen = theirs.load();
                    seen.is_running() && theirs.try_add_worker(seen)
                })
                .unwrap();
            ctl.advance_to(RunState::Shutdown);
            let seen = ctl.load();
            let tidied = seen.workers() == 0 && ctl.try_tidy(seen);
            assert!(adder.join().unwrap() ^ tidied);
        });
    }
}
