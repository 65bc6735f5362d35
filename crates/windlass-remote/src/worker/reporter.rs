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
    /// Somebody has taken a batch and not heard of it yet.
    sending: bool,
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
        let first = waiting.reports.len() == 1 && !waiting.sending;
        drop(waiting);
        if first {
            self.added.notify_one();
        }
    }

    /// Adds a report. If nothing else is on its way the caller gets it back, to [send](Shared::send_reports) it itself: that saves
    /// waking the reporter.
    pub(crate) fn push_or_send(&self, report: Report) -> Option<Vec<Report>> {
        let mut waiting = self.lock();
        if waiting.sending || waiting.troubled || !waiting.reports.is_empty() {
            drop(waiting);
            self.push(report);
            return None;
        }
        waiting.sending = true;
        Some(vec![report])
    }

    pub(crate) fn is_empty(&self) -> bool {
        let waiting = self.lock();
        waiting.reports.is_empty() && !waiting.sending
    }

    /// Waits for reports, no longer than `limit`, and takes a batch.
    fn take(&self, limit: Duration) -> Vec<Report> {
        let waited = self
            .added
            .wait_timeout_while(self.lock(), limit, |w| w.sending || w.reports.is_empty());
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        if waiting.sending {
            return Vec::new();
        }
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

    /// Ends what [`take`](Self::take) or [`push_or_send`](Self::push_or_send) began. What was not sent comes first next time.
    fn sent(&self, unsent: Vec<Report>) {
        let mut waiting = self.lock();
        waiting.sending = false;
        waiting.troubled = !unsent.is_empty();
        waiting.reports.splice(..0, unsent);
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
    pub(super) fn send_reports(&self, batch: Vec<Report>) -> bool {
        let answer = self.engine.report(&self.queue, &batch);
        let taken = answer.is_ok();
        match answer {
            Ok(answers) => {
                let stale = answers.iter().filter(|a| **a == Reported::Stale).count() as u64;
                Counts::add(&self.counts.stale, stale);
                Counts::add(&self.counts.reported, answers.len() as u64 - stale);
                self.outbox.sent(Vec::new());
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
        if batch.is_empty() {
            continue;
        }
        if shared.send_reports(batch) {
            backoff.reset();
        } else {
            shared.life.wait_change(backoff.next_pause());
        }
    }
}
