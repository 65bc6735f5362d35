//! Sends reports to the engine, in batches, until the engine has taken them.

use super::shared::{Counts, Shared, Stage};
use crate::engine::{Lease, MAX_BATCH, Report, Reported, Verdict};
use crate::pace::Backoff;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A batch has no more bytes of results than this, beyond its first report.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Reports on their way. There are never more than tasks were started, and none is started while the engine is away.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    added: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    reports: Vec<Report>,
    /// The batch that somebody has taken and not heard of yet.
    sending: Option<Arc<Vec<Report>>>,
    /// The last batch did not arrive. The reporter tries again, with pauses, and nobody else does.
    troubled: bool,
}

impl Outbox {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, report: Report) {
        let mut waiting = self.lock();
        waiting.reports.push(report);
        let first = waiting.reports.len() == 1 && waiting.sending.is_none();
        drop(waiting);
        if first {
            self.added.notify_one();
        }
    }

    /// Adds a report. If nothing else is on its way the caller gets it back, to [send](Shared::send_reports) it itself: that saves
    /// waking the reporter.
    pub(crate) fn push_or_send(&self, report: Report) -> Option<Arc<Vec<Report>>> {
        let mut waiting = self.lock();
        if waiting.sending.is_some() || waiting.troubled || !waiting.reports.is_empty() {
            drop(waiting);
            self.push(report);
            return None;
        }
        let batch = Arc::new(vec![report]);
        waiting.sending = Some(Arc::clone(&batch));
        Some(batch)
    }

    /// Returns the leases of what the engine has not taken yet: until then they have to be renewed, or the tasks would run again
    /// although they have ended here.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        let waiting = self.lock();
        let sending = waiting.sending.iter().flat_map(|batch| batch.iter());
        let all = sending.chain(&waiting.reports);
        all.map(|report| report.lease.clone()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        let waiting = self.lock();
        waiting.reports.is_empty() && waiting.sending.is_none()
    }

    /// Waits for reports, no longer than `limit`, and takes a batch.
    fn take(&self, limit: Duration) -> Option<Arc<Vec<Report>>> {
        let waited = self.added.wait_timeout_while(self.lock(), limit, |w| {
            w.sending.is_some() || w.reports.is_empty()
        });
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        if waiting.sending.is_some() || waiting.reports.is_empty() {
            return None;
        }
        let (mut count, mut bytes) = (0, 0);
        for report in &waiting.reports {
            bytes += size_of(report);
            if count == MAX_BATCH || (count > 0 && bytes > MAX_BATCH_BYTES) {
                break;
            }
            count += 1;
        }
        let batch: Arc<Vec<Report>> = Arc::new(waiting.reports.drain(..count).collect());
        waiting.sending = Some(Arc::clone(&batch));
        Some(batch)
    }

    /// Ends what [`take`](Self::take) or [`push_or_send`](Self::push_or_send) began. What was not sent comes first next time.
    fn sent(&self, unsent: &[Report]) {
        let mut waiting = self.lock();
        waiting.sending = None;
        waiting.troubled = !unsent.is_empty();
        waiting.reports.splice(..0, unsent.iter().cloned());
        let more = !waiting.reports.is_empty();
        drop(waiting);
        if more {
            self.added.notify_one();
        }
    }
}

fn size_of(report: &Report) -> usize {
    match &report.verdict {
        Verdict::Done(result) => result.len(),
        _ => 0,
    }
}

impl Shared {
    /// Sends a batch of reports; returns whether the engine has taken it. If not, the reporter tries again.
    pub(super) fn send_reports(&self, batch: &[Report]) -> bool {
        let answer = self.engine.report(&self.queue, batch);
        let taken = answer.is_ok();
        match answer {
            Ok(answers) => {
                let stale = answers.iter().filter(|a| **a == Reported::Stale).count() as u64;
                Counts::add(&self.counts.stale, stale);
                Counts::add(&self.counts.reported, answers.len() as u64 - stale);
                self.outbox.sent(&[]);
            }
            Err(error) => {
                self.counts.engine_failed(error);
                self.outbox.sent(batch);
            }
        }
        self.life.nudge();
        taken
    }
}

/// The reporter's thread.
pub(super) fn run(shared: &Shared) {
    let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
    while shared.life.stage() != Stage::Ended {
        let batch = shared.outbox.take(Duration::from_millis(200));
        let Some(batch) = batch else {
            continue;
        };
        if shared.send_reports(&batch) {
            backoff.reset();
        } else {
            shared.life.wait_change(backoff.next_pause());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Outbox;
    use crate::engine::{Lease, Report, Verdict};
    use std::time::Duration;

    fn report(fence: u64) -> Report {
        Report {
            lease: Lease {
                id: crate::id::TaskId::random(),
                fence,
                entry: String::new(),
            },
            verdict: Verdict::Done(Vec::new()),
        }
    }

    #[test]
    fn a_lease_is_renewed_until_the_engine_has_taken_the_report() {
        let outbox = Outbox::default();
        let fences = || {
            let mut fences: Vec<u64> = outbox.leases().iter().map(|lease| lease.fence).collect();
            fences.sort_unstable();
            fences
        };
        outbox.push(report(1));
        assert_eq!(fences(), [1], "waiting");
        let batch = outbox.take(Duration::ZERO).unwrap();
        outbox.push(report(2));
        assert_eq!(fences(), [1, 2], "on its way");
        outbox.sent(&batch);
        assert_eq!(fences(), [1, 2], "it did not arrive");
        assert_eq!(outbox.take(Duration::ZERO).unwrap().len(), 2);
        outbox.sent(&[]);
        assert!(fences().is_empty() && outbox.is_empty());
        let alone = outbox.push_or_send(report(3));
        assert_eq!(
            (alone.map(|batch| batch.len()), fences()),
            (Some(1), vec![3])
        );
    }
}
