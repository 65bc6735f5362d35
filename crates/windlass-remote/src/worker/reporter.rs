//! Sends reports to the engine, in batches, until the engine has taken them.

use super::shared::{Counts, Shared, Stage};
use crate::engine::{MAX_BATCH, Report, Reported, Verdict};
use crate::pace::Backoff;
use std::sync::{Condvar, Mutex, PoisonError};
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
    /// The reporter has taken a batch and not heard of it yet.
    sending: bool,
}

impl Outbox {
    pub(crate) fn push(&self, report: Report) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.reports.push(report);
        let first = waiting.reports.len() == 1;
        drop(waiting);
        if first {
            self.added.notify_one();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.reports.is_empty() && !waiting.sending
    }

    /// Waits for reports, no longer than `limit`, and takes a batch.
    fn take(&self, limit: Duration) -> Vec<Report> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .added
            .wait_timeout_while(waiting, limit, |w| w.reports.is_empty());
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        let (mut count, mut bytes) = (0, 0);
        for report in &waiting.reports {
            bytes += size_of(report);
            if count == MAX_BATCH || (count > 0 && bytes > MAX_BATCH_BYTES) {
                break;
            }
            count += 1;
        }
        waiting.sending = count > 0;
        waiting.reports.drain(..count).collect()
    }

    fn sent(&self) {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .sending = false;
    }
}

fn size_of(report: &Report) -> usize {
    match &report.verdict {
        Verdict::Done(result) => result.len(),
        _ => 0,
    }
}

/// The reporter's thread.
pub(super) fn run(shared: &Shared) {
    let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
    while shared.life.stage() != Stage::Ended {
        let batch = shared.outbox.take(Duration::from_millis(200));
        if batch.is_empty() {
            continue;
        }
        while shared.life.stage() != Stage::Ended {
            match shared.engine.report(&shared.queue, &batch) {
                Ok(answers) => {
                    let stale = answers.iter().filter(|a| **a == Reported::Stale).count() as u64;
                    Counts::add(&shared.counts.stale, stale);
                    Counts::add(&shared.counts.reported, answers.len() as u64 - stale);
                    backoff.reset();
                    break;
                }
                Err(error) => {
                    shared.counts.engine_failed(error);
                    shared.life.wait_change(backoff.next_pause());
                }
            }
        }
        shared.outbox.sent();
        shared.life.nudge();
    }
}
