//! Ends the runs that take too long, on time.
//!
//! That is a thread of its own: when a limit is reached, the keeper may be waiting for an answer of the engine.

use super::registry::failed;
use super::shared::Shared;
use crate::engine::Report;
use crate::failure::{Failure, FailureKind};
use crate::task::RetryHint;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// When the next run has to end.
#[derive(Debug, Default)]
pub(crate) struct RunLimits {
    next: Mutex<Next>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Next {
    at: Option<Instant>,
    ended: bool,
}

impl RunLimits {
    fn lock(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the runs looked at when this time comes, or earlier.
    pub(crate) fn add(&self, at: Instant) {
        let mut next = self.lock();
        if next.at.is_none_or(|first| at < first) {
            next.at = Some(at);
            drop(next);
            self.changed.notify_all();
        }
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Waits until a time has come; false at the end.
    fn wait(&self) -> bool {
        let mut next = self.lock();
        loop {
            if next.ended {
                return false;
            }
            let waited = match next.at {
                None => self.changed.wait(next),
                Some(at) => {
                    let left = at.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        next.at = None;
                        return true;
                    }
                    let waited = self.changed.wait_timeout(next, left);
                    Ok(waited.unwrap_or_else(PoisonError::into_inner).0)
                }
            };
            next = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The thread that ends runs.
pub(super) fn run(shared: &Shared) {
    while shared.limits.wait() {
        stop_overdue(shared);
        let first =
            shared.with_running(|running| running.values().filter_map(|r| r.deadline).min());
        if let Some(at) = first {
            shared.limits.add(at);
        }
    }
}

/// Ends the runs whose time is over: the report goes out now, and what the run returns later is stale.
fn stop_overdue(shared: &Shared) {
    let now = Instant::now();
    let overdue: Vec<_> = shared.with_running(|running| {
        let overdue = running
            .values_mut()
            .filter(|r| r.deadline.is_some_and(|at| at <= now));
        overdue
            .map(|r| {
                r.deadline = None;
                (r.lease.clone(), r.options, r.failures, r.stop.clone())
            })
            .collect()
    });
    for (lease, options, failures, stop) in overdue {
        let limit = options.run_timeout.unwrap_or_default();
        let failure = Failure::new(FailureKind::RunTimeout, format!("{limit:?}"));
        let verdict = failed(&options, failures, failure, RetryHint::ByOptions);
        shared.outbox.push(Report { lease, verdict });
        stop.raise();
    }
}
