//! Counts of what happens beside the runs of tasks: rejections, dropped tasks, starts and ends of threads.
//!
//! None of them is written for a task that is accepted, runs and returns.

use crossbeam_utils::CachePadded;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Tasks that a pool could not accept, by what its rejection policy does with them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectionCounts {
    /// Returned to the submitter, by `AbortPolicy`.
    pub abort: u64,
    /// Run by the submitter, by `CallerRunsPolicy`.
    pub caller_runs: u64,
    /// Dropped, by `DiscardPolicy`.
    pub discard: u64,
    /// Exchanged for the oldest task of the queue, by `DiscardOldestPolicy`.
    pub discard_oldest: u64,
    /// Submitted by a caller that waits for room, by `BlockPolicy`.
    pub block: u64,
    /// Passed to a handler of the user.
    pub custom: u64,
}

impl RejectionCounts {
    /// Returns the sum over all policies: how often the rejection handler was called.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.abort
            + self.caller_runs
            + self.discard
            + self.discard_oldest
            + self.block
            + self.custom
    }

    /// Returns each count with the name of its policy.
    #[must_use]
    pub const fn by_policy(&self) -> [(&'static str, u64); 6] {
        [
            ("abort", self.abort),
            ("caller_runs", self.caller_runs),
            ("discard", self.discard),
            ("discard_oldest", self.discard_oldest),
            ("block", self.block),
            ("custom", self.custom),
        ]
    }
}

/// The names of the policies, in the order of [`RejectionCounts::by_policy`].
const POLICIES: [&str; 5] = ["abort", "caller_runs", "discard", "discard_oldest", "block"];

/// Threads of a pool that have ended, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadExits {
    /// They were idle for the keep-alive time, or asked to retire.
    pub idle: u64,
    /// There were more than the maximum.
    pub resized: u64,
    /// A task without a handle, or a hook, has panicked.
    pub panic: u64,
    /// The pool was shut down.
    pub shutdown: u64,
}

impl ThreadExits {
    /// Returns the sum over all reasons.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.idle + self.resized + self.panic + self.shutdown
    }

    /// Returns each count with the name of its reason.
    #[must_use]
    pub const fn by_reason(&self) -> [(&'static str, u64); 4] {
        [
            ("idle", self.idle),
            ("resized", self.resized),
            ("panic", self.panic),
            ("shutdown", self.shutdown),
        ]
    }
}

/// Why a thread has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Exit {
    Idle,
    Resized,
    Panic,
    Shutdown,
}

/// Why tasks have left the queue without a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Dropped {
    ShutdownNow,
    Purged,
    Expired,
}

/// How a task has ended that has not returned a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unsuccessful {
    Panicked,
    Cancelled,
}

/// The counts of a pool. They order nothing.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// On a cache line of its own: it is written for each rejected task, and what is next to it may be
    /// read for each task that runs.
    rejected: CachePadded<[AtomicU64; 6]>,
    started: AtomicU64,
    exits: [AtomicU64; 4],
    dropped: [AtomicU64; 3],
    unsuccessful: [AtomicU64; 2],
}

/// Returns the index of the counter of a policy of this name.
pub(super) fn policy_index(name: &str) -> usize {
    let known = POLICIES.iter().position(|policy| *policy == name);
    known.unwrap_or(POLICIES.len())
}

impl Tally {
    /// Counts a call of the rejection handler, by the [index](policy_index) of its policy.
    pub(crate) fn count_rejection(&self, policy: usize) {
        if let Some(counter) = self.rejected.get(policy) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn rejections(&self) -> RejectionCounts {
        let at = |index: usize| self.rejected[index].load(Ordering::Relaxed);
        RejectionCounts {
            abort: at(0),
            caller_runs: at(1),
            discard: at(2),
            discard_oldest: at(3),
            block: at(4),
            custom: at(5),
        }
    }

    pub(crate) fn count_start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    pub(crate) fn count_exit(&self, why: Exit) {
        self.exits[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn exits(&self) -> ThreadExits {
        let of = |why: Exit| self.exits[why as usize].load(Ordering::Relaxed);
        ThreadExits {
            idle: of(Exit::Idle),
            resized: of(Exit::Resized),
            panic: of(Exit::Panic),
            shutdown: of(Exit::Shutdown),
        }
    }

    pub(crate) fn count_dropped(&self, why: Dropped, tasks: usize) {
        self.dropped[why as usize].fetch_add(tasks as u64, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, why: Dropped) -> u64 {
        self.dropped[why as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn count_unsuccessful(&self, how: Unsuccessful) {
        self.unsuccessful[how as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unsuccessful(&self, how: Unsuccessful) -> u64 {
        self.unsuccessful[how as usize].load(Ordering::Relaxed)
    }
}
