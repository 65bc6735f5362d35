//! A snapshot of the figures of a fork-join pool.

use std::fmt;

use super::shared::Shared;

/// The figures of a fork-join pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkJoinStats {
    /// How many workers are to run at a time.
    pub parallelism: usize,
    /// Workers whose threads are there.
    pub pool_size: usize,
    /// Workers that are not asleep for want of work.
    pub active_thread_count: usize,
    /// Of those, the ones that do not wait for others.
    pub running_thread_count: usize,
    /// Work that was done by another thread than the one that forked or submitted it.
    pub steal_count: u64,
    /// What workers have forked and nobody has started.
    pub queued_task_count: usize,
    /// What was submitted from outside and nobody has started.
    pub queued_submission_count: usize,
}

impl Shared {
    pub(super) fn stats(&self) -> ForkJoinStats {
        let state = self.lock();
        let workers = self.workers();
        let steals: u64 = workers.iter().map(|info| info.steals()).sum();
        ForkJoinStats {
            parallelism: state.parallelism,
            pool_size: state.live,
            active_thread_count: state.live - state.sleeping.len(),
            running_thread_count: state
                .live
                .saturating_sub(state.sleeping.len() + state.blocked),
            steal_count: state.steals_of_retired + steals,
            queued_task_count: workers.iter().map(|info| info.stealer.len()).sum(),
            queued_submission_count: state.injector.len(),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
