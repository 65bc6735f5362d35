//! What has become of the inputs of a run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::journal::Record;
use super::outcome::Outcome;

/// How many failures are kept with their inputs; all are counted.
const MAX_LISTED: usize = 20;

/// Counts of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Counts {
    /// Jobs that succeeded.
    pub(super) succeeded: u64,
    /// Jobs that failed after their last attempt, those that took too long included.
    pub(super) failed: u64,
    /// Jobs that took too long.
    pub(super) timed_out: u64,
    /// Attempts beyond the first.
    pub(super) retries: u64,
    /// Inputs whose jobs succeeded before, as the journal says.
    pub(super) resumed: u64,
    /// Inputs whose jobs failed before, as the journal says, and are not run again.
    pub(super) failed_before: u64,
    /// Inputs that were read and not run, because the run was ended.
    pub(super) not_run: u64,
    /// Inputs that the pool rejected, because its queue was full.
    pub(super) rejected: u64,
    /// The first failures.
    pub(super) failures: Vec<FailedJob>,
}

/// A job that failed.
#[derive(Debug, Clone, Serialize)]
pub(super) struct FailedJob {
    pub(super) seq: u64,
    pub(super) input: String,
    pub(super) outcome: String,
    pub(super) reason: String,
    pub(super) attempts: u32,
}

/// The counts of a run that goes on.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Counts>);

impl Tally {
    /// Counts a job that has ended, and returns how many have failed so far.
    pub(super) fn ended(&self, record: &Record) -> u64 {
        let mut counts = self.lock();
        counts.retries += u64::from(record.attempts.saturating_sub(1));
        if record.outcome.is_success() {
            counts.succeeded += 1;
            return counts.failed;
        }
        counts.failed += 1;
        counts.timed_out += u64::from(record.outcome == Outcome::TimedOut);
        if counts.failures.len() < MAX_LISTED {
            counts.failures.push(FailedJob {
                seq: record.seq,
                input: String::from_utf8_lossy(&record.input).into_owned(),
                outcome: record.outcome.to_string(),
                reason: record.outcome.describe(),
                attempts: record.attempts,
            });
        }
        counts.failed
    }

    pub(super) fn resumed(&self) {
        self.lock().resumed += 1;
    }

    pub(super) fn failed_before(&self) {
        self.lock().failed_before += 1;
    }

    pub(super) fn not_run(&self, count: u64) {
        self.lock().not_run += count;
    }

    pub(super) fn rejected(&self) {
        self.lock().rejected += 1;
    }

    pub(super) fn counts(&self) -> Counts {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
