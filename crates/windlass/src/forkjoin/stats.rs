//! A snapshot of the figures of a fork-join pool.

use super::shared::Shared;

/// A snapshot of the figures of a fork-join pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkJoinStats {
    /// How many workers run at a time.
    pub parallelism: usize,
    /// Workers that exist or are being started.
    pub pool_size: usize,
    /// Workers that are not asleep.
    pub active_thread_count: usize,
    /// Active workers that are not blocked inside a task.
    pub running_thread_count: usize,
    /// Work that was run by another thread than the one that forked or submitted it.
    pub steal_count: u64,
    /// Work that workers have forked and that has not started.
    pub queued_task_count: usize,
    /// Work that was submitted from outside and that has not started.
    pub queued_submission_count: usize,
}

impl Shared {
    pub(super) fn stats(&self) -> ForkJoinStats {
        let state = self.lock();
        let census = &state.census;
        let active = census.live - census.sleeping.len();
        ForkJoinStats {
            parallelism: census.parallelism,
            pool_size: census.live,
            active_thread_count: active,
            running_thread_count: active.saturating_sub(census.blocked),
            steal_count: self.roster.steal_count(),
            queued_task_count: self.roster.snapshot().queued(),
            queued_submission_count: state.injector.len(),
        }
    }
}
