//! What a monitor reads and asks of a fork-join pool, without keeping it alive.

use std::sync::{Arc, Weak};

use super::executor::ForkJoinPool;
use super::parallelism::{ParallelismError, check};
use super::shared::Shared;
use super::state::RunState;
use super::stats::ForkJoinStats;

/// A reference to a pool that does not keep it from ending.
#[derive(Debug, Clone)]
pub(crate) struct WeakForkJoin {
    shared: Weak<Shared>,
    is_common: bool,
}

/// A pool that is being looked at. It does not keep the pool from being shut down by its owners.
pub(crate) struct ObservedForkJoin {
    shared: Arc<Shared>,
    is_common: bool,
}

impl ForkJoinPool {
    /// Returns a reference that does not keep the pool from ending.
    pub(crate) fn downgrade(&self) -> WeakForkJoin {
        WeakForkJoin {
            shared: Arc::downgrade(self.shared()),
            is_common: self.is_common(),
        }
    }
}

impl WeakForkJoin {
    pub(crate) fn upgrade(&self) -> Option<ObservedForkJoin> {
        let shared = self.shared.upgrade()?;
        let is_common = self.is_common;
        Some(ObservedForkJoin { shared, is_common })
    }
}

impl ObservedForkJoin {
    pub(crate) fn stats(&self) -> ForkJoinStats {
        self.shared.stats()
    }

    pub(crate) fn is_shutdown(&self) -> bool {
        self.shared.run_state() > RunState::Running
    }

    pub(crate) fn is_terminated(&self) -> bool {
        self.shared.run_state() == RunState::Terminated
    }

    pub(crate) fn check_parallelism(parallelism: usize) -> Result<usize, ParallelismError> {
        check(parallelism)
    }

    pub(crate) fn set_parallelism(&self, parallelism: usize) -> Result<usize, ParallelismError> {
        Ok(self.shared.set_parallelism(check(parallelism)?))
    }

    /// Returns whether this is the common pool, which never ends.
    pub(crate) const fn is_common(&self) -> bool {
        self.is_common
    }

    pub(crate) fn shutdown(&self) {
        self.shared.shutdown();
    }
}
