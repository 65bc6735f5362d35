//! Which tasks are timed: all of them, or, when they come so fast that reading the clock would show, one
//! in two, four, eight and so on.
//!
//! Whether a task is among them depends on its id alone, so no counter is written for those that are not.
//! The id is hashed by a multiplication: every N-th task would never be one of those of a thread that
//! submits to several pools in turn. The tasks that are timed at a lower rate are also among those that
//! are timed at a higher one.
//!
//! The rate follows the time between two timed tasks. It falls as soon as eight in a row were closer
//! together than [`TARGET`], and it rises at once to every task after a gap: a burst of short tasks must
//! not leave the long ones that follow untimed.

// From `std` and not from `sync`: these figures order nothing, and a model would only spend time on them.
use std::sync::atomic::{AtomicU64, Ordering};

use crate::task::TaskId;

/// The time between two timed tasks that the sampler aims at, in nanoseconds. A timed task costs about 200:
/// three readings of the clock and some stores, see `docs/design/0022`.
const TARGET: u64 = 16_000;

/// A gap after which every task is timed again.
const GAP: u64 = 8 * TARGET;

/// The number of timed tasks after which the rate is adapted.
const WINDOW: u64 = 8;

/// The lowest rate is one in 2^this.
const MAX_SHIFT: u32 = 10;

/// Decides which tasks are timed.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// A task is timed if the hash of its id is not above this; zero if none is.
    limit: AtomicU64,
    /// Whether the rate follows the time between timed tasks.
    adapts: bool,
    /// The time of the last timed task, as a timestamp.
    last: AtomicU64,
    /// The number of timed tasks since the rate was last adapted.
    samples: AtomicU64,
    /// The time when that was, as a timestamp.
    since: AtomicU64,
}

/// Which tasks are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rate {
    Never,
    Always,
    /// Every task, unless they come too fast.
    Adaptive,
}

impl Sampler {
    pub(crate) const fn new(rate: Rate) -> Self {
        let limit = match rate {
            Rate::Never => 0,
            Rate::Always | Rate::Adaptive => u64::MAX,
        };
        Self {
            limit: AtomicU64::new(limit),
            adapts: matches!(rate, Rate::Adaptive),
            last: AtomicU64::new(0),
            samples: AtomicU64::new(0),
            since: AtomicU64::new(0),
        }
    }

    /// Returns whether the task is timed.
    #[inline]
    pub(crate) fn picks(&self, task: TaskId) -> bool {
        hash(task) <= self.limit.load(Ordering::Relaxed)
    }

    /// Returns of how many tasks this one is the one that is timed; `None` if it is not.
    ///
    /// Both are of one rate, also while another thread adapts it.
    #[inline]
    pub(crate) fn weight(&self, task: TaskId) -> Option<u64> {
        let limit = self.limit.load(Ordering::Relaxed);
        (hash(task) <= limit).then(|| 1 << limit.leading_zeros().min(MAX_SHIFT))
    }

    /// Returns whether no task is timed.
    pub(crate) fn is_off(&self) -> bool {
        self.limit.load(Ordering::Relaxed) == 0
    }

    /// Returns of how many tasks one is timed: a power of two.
    pub(crate) fn every(&self) -> u64 {
        1 << self.shift()
    }

    fn shift(&self) -> u32 {
        self.limit.load(Ordering::Relaxed).leading_zeros()
    }

    fn set_shift(&self, shift: u32, now: u64) {
        let limit = u64::MAX >> shift.min(MAX_SHIFT);
        self.limit.store(limit, Ordering::Relaxed);
        self.samples.store(0, Ordering::Relaxed);
        self.since.store(now, Ordering::Relaxed);
    }

    /// Times every task from now on, until the rate is adapted again.
    pub(crate) fn time_all(&self, now: u64) {
        if self.adapts {
            self.set_shift(0, now);
        }
    }

    /// Times every task from now on if none was timed for long. Called by a worker that has waited for a
    /// task.
    pub(crate) fn record_wait(&self, now: u64) {
        if now.saturating_sub(self.last.load(Ordering::Relaxed)) > GAP {
            self.time_all(now);
        }
    }

    /// Adapts the rate, if it is time to. Called with the current time for each timed task; several
    /// threads may do so at once, and then one of them may be counted twice or not at all.
    pub(crate) fn record(&self, now: u64) {
        if !self.adapts {
            return;
        }
        let gap = now.saturating_sub(self.last.load(Ordering::Relaxed));
        self.last.store(now, Ordering::Relaxed);
        let shift = self.shift();
        if gap > GAP {
            return self.set_shift(0, now);
        }
        let samples = self.samples.load(Ordering::Relaxed) + 1;
        self.samples.store(samples, Ordering::Relaxed);
        if samples < WINDOW {
            return;
        }
        let elapsed = now.saturating_sub(self.since.load(Ordering::Relaxed));
        self.set_shift(adapted(shift, elapsed / WINDOW), now);
    }
}

/// Returns the shift for tasks that, at `shift`, are timed this often.
///
/// Between once and four times the target it stays: twice as many would be as far off on the other side.
fn adapted(shift: u32, between: u64) -> u32 {
    if between < TARGET {
        shift + (TARGET / between.max(1)).ilog2() + 1
    } else {
        shift.saturating_sub((between / (2 * TARGET)).max(1).ilog2())
    }
}

/// Distributes ids evenly, also those of a sequence: it takes the fractional part of their multiples of
/// the golden ratio.
#[inline]
const fn hash(task: TaskId) -> u64 {
    task.as_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{GAP, MAX_SHIFT, Rate, Sampler, TARGET, adapted};
    use crate::task::TaskId;

    fn ids(count: usize) -> Vec<TaskId> {
        std::iter::repeat_with(TaskId::next).take(count).collect()
    }

    /// Passes the tasks through the sampler, this far apart; returns how many were timed.
    fn pass(sampler: &Sampler, now: &mut u64, tasks: &[TaskId], apart: u64) -> usize {
        let mut timed = 0;
        for &task in tasks {
            *now += apart;
            if sampler.picks(task) {
                sampler.record(*now);
                timed += 1;
            }
        }
        timed
    }

    #[test]
    fn slow_tasks_are_all_timed() {
        let sampler = Sampler::new(Rate::Adaptive);
        let tasks = ids(1_000);
        assert_eq!(pass(&sampler, &mut 1, &tasks, 2 * TARGET), tasks.len());
        assert_eq!(sampler.every(), 1);
    }

    #[test]
    fn of_fast_tasks_about_one_in_each_target_is_timed() {
        for apart in [30, 100, 1_000, 5_000] {
            let (sampler, mut now) = (Sampler::new(Rate::Adaptive), 1);
            pass(&sampler, &mut now, &ids(2_000), apart);
            let tasks = ids(40_000);
            let timed = pass(&sampler, &mut now, &tasks, apart) as u64;
            let between = apart * tasks.len() as u64 / timed;
            assert!(between >= TARGET * 9 / 10, "{apart}: {between}");
            assert!(between <= 5 * TARGET, "{apart}: {between}");
            assert!(sampler.every() > 1);
        }
    }

    #[test]
    fn a_gap_times_every_task_again() {
        let (sampler, mut now) = (Sampler::new(Rate::Adaptive), 1);
        pass(&sampler, &mut now, &ids(10_000), 30);
        assert!(sampler.every() > 8);
        let every = sampler.every();
        now += GAP + 1;
        // The first that is picked notices.
        pass(&sampler, &mut now, &ids(4 * every as usize), 50 * TARGET);
        assert_eq!(sampler.every(), 1);
    }

    #[test]
    fn a_thread_that_submits_to_pools_in_turn_has_timed_tasks_in_each() {
        let sampler = Sampler::new(Rate::Adaptive);
        sampler.set_shift(5, 1);
        let tasks = ids(32 * 400);
        for turn in [2, 3, 4, 8, 32] {
            let own: Vec<_> = tasks.iter().step_by(turn).collect();
            let timed = own.iter().filter(|&&&task| sampler.picks(task)).count();
            let expected = own.len() / 32;
            assert!(
                timed.abs_diff(expected) <= expected / 4 + 4,
                "{turn}: {timed}"
            );
        }
    }

    #[test]
    fn always_and_never_do_not_adapt() {
        let (always, never) = (Sampler::new(Rate::Always), Sampler::new(Rate::Never));
        let tasks = ids(10_000);
        assert_eq!(pass(&always, &mut 1, &tasks, 1), tasks.len());
        assert_eq!(pass(&never, &mut 1, &tasks, 1), 0);
        never.time_all(1);
        assert!(never.is_off() && !always.is_off());
    }

    #[test]
    fn the_rate_changes_towards_the_target_and_rests_there() {
        for shift in 0..=MAX_SHIFT {
            for between in [
                1,
                100,
                TARGET - 1,
                TARGET,
                2 * TARGET,
                4 * TARGET - 1,
                40 * TARGET,
            ] {
                let next = adapted(shift, between);
                let expected = between as f64 * 2_f64.powi(next as i32 - shift as i32);
                if between < TARGET {
                    assert!(next > shift && expected >= TARGET as f64);
                    assert!(expected <= 2.0 * TARGET as f64);
                } else {
                    assert!(next <= shift && expected >= TARGET as f64);
                }
            }
        }
    }
}
