//! The tasks of a pool that were slow or have failed since somebody last asked.
//!
//! Nothing is recorded until somebody asks. From then on the slowest runs are kept, among those that are
//! timed anyway: a worker compares the time of such a run with that of the fastest one that is kept, and takes
//! the lock only if it was slower.

use std::collections::VecDeque;

use super::record::TaskRecord;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};

/// How many slow tasks and how many failed ones are kept.
const KEPT: usize = 20;

/// Nobody has asked: nothing is recorded.
const NOT_KEPT: u64 = u64::MAX;

/// The tasks that are worth remembering.
#[derive(Debug)]
pub(crate) struct Records {
    /// Runs that take longer than this, in nanoseconds, are recorded. Written under the lock; a reader that
    /// has an older value takes the lock for nothing, or misses a run that was just slow enough.
    slower_than: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    slow: Vec<TaskRecord>,
    failed: VecDeque<TaskRecord>,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            slower_than: AtomicU64::new(NOT_KEPT),
            kept: Mutex::default(),
        }
    }
}

impl Records {
    /// Returns whether a run that took this long is recorded.
    #[inline]
    pub(crate) fn wants(&self, nanos: u64) -> bool {
        nanos > self.slower_than.load(Ordering::Relaxed)
    }

    /// Returns whether tasks that fail are recorded.
    pub(crate) fn is_kept(&self) -> bool {
        self.slower_than.load(Ordering::Relaxed) != NOT_KEPT
    }

    pub(crate) fn add_slow(&self, record: TaskRecord) {
        let mut kept = self.kept.lock();
        let slow = &mut kept.slow;
        let at = slow.partition_point(|other| other.run >= record.run);
        slow.insert(at, record);
        let dropped = (slow.len() > KEPT).then(|| slow.pop());
        if slow.len() == KEPT {
            let fastest = slow.last().and_then(|fastest| fastest.run);
            let nanos = fastest.map_or(0, |run| run.as_nanos());
            let nanos = u64::try_from(nanos).unwrap_or(NOT_KEPT);
            self.slower_than
                .store(nanos.min(NOT_KEPT - 1), Ordering::Relaxed);
        }
        drop(kept);
        drop(dropped);
    }

    pub(crate) fn add_failed(&self, record: TaskRecord) {
        let mut kept = self.kept.lock();
        let dropped = (kept.failed.len() == KEPT).then(|| kept.failed.pop_front());
        kept.failed.push_back(record);
        drop(kept);
        drop(dropped);
    }

    /// Records tasks from now on.
    pub(crate) fn keep(&self) {
        drop(self.take());
    }

    /// Returns what was recorded since the last call, and records from now on.
    pub(crate) fn take(&self) -> Vec<TaskRecord> {
        let mut kept = self.kept.lock();
        self.slower_than.store(0, Ordering::Relaxed);
        let Kept { slow, failed } = std::mem::take(&mut *kept);
        drop(kept);
        slow.into_iter().chain(failed).collect()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::Duration;

    use super::{KEPT, Records};
    use crate::sync::clock;
    use crate::task::TaskId;
    use crate::times::record::{Ending, TaskRecord};

    fn run_of(nanos: u64) -> TaskRecord {
        let mut record = TaskRecord::new(TaskId::next(), clock::now(), Ending::Ok);
        record.run = Some(Duration::from_nanos(nanos));
        record
    }

    fn record(records: &Records, nanos: u64) {
        if records.wants(nanos) {
            records.add_slow(run_of(nanos));
        }
    }

    /// WL-411
    #[test]
    fn nothing_is_recorded_before_somebody_asks_and_then_the_slowest_are() {
        let records = Records::default();
        assert!(!records.wants(u64::MAX) && !records.is_kept());
        records.keep();
        // In an order that has them come and go.
        for nanos in (1..=1_000).map(|n| n * 7 % 1_000 + 1) {
            record(&records, nanos);
        }
        let slowest: Vec<_> = records.take().iter().filter_map(|task| task.run).collect();
        let expected = (0..KEPT as u64).map(|n| Duration::from_nanos(1_000 - n));
        assert_eq!(slowest, expected.collect::<Vec<_>>());
        // What is taken is forgotten.
        record(&records, 1);
        assert_eq!(records.take().len(), 1);
    }

    /// WL-411
    #[test]
    fn the_last_failed_tasks_are_kept() {
        let records = Records::default();
        records.keep();
        let failed: Vec<_> = (0..2 * KEPT as u64).map(run_of).collect();
        for task in &failed {
            records.add_failed(task.clone());
        }
        assert_eq!(records.take(), failed[KEPT..]);
    }
}
