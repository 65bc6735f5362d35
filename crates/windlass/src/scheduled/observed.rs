//! What a monitor reads of a scheduled pool, without keeping it alive.

use std::sync::{Arc, Weak};

use super::executor::ScheduledThreadPoolExecutor;
use super::shared::Shared;
use super::stats::QueuedTask;

/// How many queued tasks are looked through; the queue is locked meanwhile.
const LOOKED_AT: usize = 1024;

/// A reference to the queue of a scheduled pool that does not keep it alive.
#[derive(Debug, Clone)]
pub(crate) struct WeakTimers(Weak<Shared>);

/// The figures of a scheduled pool that the thread pool below it does not have.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimerFigures {
    pub(crate) queued: usize,
    /// `None` if there are too many tasks to look through.
    pub(crate) periodic: Option<usize>,
    pub(crate) overruns: u64,
    /// The tasks that are due next; none if there are too many to look through.
    pub(crate) next: Vec<QueuedTask>,
}

impl ScheduledThreadPoolExecutor {
    /// Returns a reference to its queue that does not keep it alive.
    pub(crate) fn weak_timers(&self) -> WeakTimers {
        WeakTimers(Arc::downgrade(self.shared()))
    }
}

impl WeakTimers {
    /// Returns the figures, with at most `most` of the tasks that are due next.
    pub(crate) fn figures(&self, queued: usize, most: usize) -> TimerFigures {
        let Some(shared) = self.0.upgrade() else {
            return TimerFigures::default();
        };
        let mut figures = TimerFigures {
            queued,
            overruns: shared.overruns(),
            ..TimerFigures::default()
        };
        if queued <= LOOKED_AT {
            let mut tasks = shared.queued_tasks();
            figures.periodic = Some(tasks.iter().filter(|task| task.is_periodic).count());
            tasks.truncate(most);
            figures.next = tasks;
        }
        figures
    }
}
