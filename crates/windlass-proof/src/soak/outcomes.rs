//! Counts the outcome of every task that was created.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskOutcome {
    Finished,
    Failed,
    /// It never ran: cancelled, or dropped by a policy.
    Cancelled,
    Rejected,
    HandedBack,
}

const OUTCOMES: usize = 5;

/// Counts the tasks of one pool by outcome.
#[derive(Debug, Default)]
pub(crate) struct OutcomeCounters {
    submitted: AtomicU64,
    ended: [AtomicU64; OUTCOMES],
}

impl OutcomeCounters {
    /// Counts a new task, and returns the guard that counts its outcome.
    pub(crate) fn track(self: &Arc<Self>) -> OutcomeGuard {
        self.submitted.fetch_add(1, Ordering::SeqCst);
        OutcomeGuard {
            outcomes: Arc::clone(self),
            outcome: None,
        }
    }

    pub(crate) fn counts(&self) -> OutcomeCounts {
        let ended = std::array::from_fn(|at| self.ended[at].load(Ordering::SeqCst));
        let submitted = self.submitted.load(Ordering::SeqCst);
        OutcomeCounts { submitted, ended }
    }
}

/// A snapshot of [`OutcomeCounters`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutcomeCounts {
    submitted: u64,
    ended: [u64; OUTCOMES],
}

impl OutcomeCounts {
    pub(crate) fn of(&self, outcome: TaskOutcome) -> u64 {
        self.ended[outcome as usize]
    }

    /// Returns whether every task has had exactly one outcome.
    pub(crate) fn is_complete(&self) -> bool {
        self.submitted == self.ended.iter().sum::<u64>()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.submitted += other.submitted;
        for (sum, more) in self.ended.iter_mut().zip(other.ended) {
            *sum += more;
        }
    }
}

impl fmt::Display for OutcomeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} submitted = {} finished + {} failed + {} cancelled + {} rejected + {} handed back",
            self.submitted,
            self.of(TaskOutcome::Finished),
            self.of(TaskOutcome::Failed),
            self.of(TaskOutcome::Cancelled),
            self.of(TaskOutcome::Rejected),
            self.of(TaskOutcome::HandedBack)
        )
    }
}

/// Captured by a task's closure; counts the outcome when it is dropped.
#[derive(Debug)]
pub(crate) struct OutcomeGuard {
    outcomes: Arc<OutcomeCounters>,
    outcome: Option<TaskOutcome>,
}

impl OutcomeGuard {
    /// Records that the task has started, and how it will end.
    pub(crate) fn runs(&mut self, outcome: TaskOutcome) {
        self.outcome = Some(outcome);
    }
}

thread_local! {
    /// The outcome of tasks that are dropped on this thread now without having run.
    static DROPPED_AS: Cell<TaskOutcome> = const { Cell::new(TaskOutcome::Cancelled) };
}

/// Drops tasks that did not run, with this outcome.
pub(crate) fn drop_as<T>(outcome: TaskOutcome, tasks: T) {
    let former = DROPPED_AS.replace(outcome);
    drop(tasks);
    DROPPED_AS.set(former);
}

impl Drop for OutcomeGuard {
    fn drop(&mut self) {
        let outcome = self.outcome.unwrap_or_else(|| DROPPED_AS.get());
        self.outcomes.ended[outcome as usize].fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{OutcomeCounters, TaskOutcome, drop_as};

    #[test]
    fn each_task_is_counted_once_and_a_lost_one_is_missed() {
        let counters = Arc::new(OutcomeCounters::default());
        let mut ran = counters.track();
        ran.runs(TaskOutcome::Failed);
        drop_as(TaskOutcome::Rejected, counters.track());
        drop((ran, counters.track()));
        let counts = counters.counts();
        let outcomes = [
            TaskOutcome::Failed,
            TaskOutcome::Rejected,
            TaskOutcome::Cancelled,
        ];
        assert_eq!(outcomes.map(|outcome| counts.of(outcome)), [1, 1, 1]);
        assert!(counts.is_complete());
        std::mem::forget(counters.track());
        assert!(!counters.counts().is_complete());
    }
}
