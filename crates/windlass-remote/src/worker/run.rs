//! Runs one delivery on a thread of the pool.

use super::shared::{Counts, Running, Shared};
use crate::checkpoint::Checkpoints;
use crate::context::{StopFlag, TaskCx};
use crate::engine::{Delivery, Report, Verdict};
use crate::failure::{Failure, FailureKind};
use std::sync::Arc;
use std::time::Instant;
use windlass::Submit;

/// Hands a delivery to the pool. A pool that rejects it (it was shut down by somebody else) gives it back to the queue.
pub(super) fn hand_over(shared: &Arc<Shared>, delivery: Delivery) {
    let key = (delivery.lease.id.clone(), delivery.lease.fence);
    let stop = Arc::new(StopFlag::default());
    let deadline = delivery
        .options
        .run_timeout
        .and_then(|limit| Instant::now().checked_add(limit));
    let running = Running {
        lease: delivery.lease.clone(),
        options: delivery.options,
        failures: delivery.failures,
        stop: Arc::clone(&stop),
        deadline,
    };
    shared.with_running(|all| all.insert(key, running));
    if let Some(at) = deadline {
        shared.limits.add(at);
    }
    shared.room.take();
    let place = Place {
        shared: Arc::clone(shared),
        delivery,
        stop,
        deadline,
        ran: false,
    };
    // A task that the pool drops without running it gives its place and its delivery back, by `Drop`.
    let _ = shared.pool.execute(move || place.run());
}

/// Gives a delivery back that came when the worker was already draining.
pub(super) fn give_back(shared: &Shared, delivery: Delivery) {
    Counts::add(&shared.counts.put_back, 1);
    shared.outbox.push(Report {
        lease: delivery.lease,
        verdict: put_back(),
    });
}

/// A delivery and the place that it takes. Both are given back exactly once, however the pool ends it.
struct Place {
    shared: Arc<Shared>,
    delivery: Delivery,
    stop: Arc<StopFlag>,
    deadline: Option<Instant>,
    ran: bool,
}

impl Place {
    fn run(mut self) {
        self.ran = true;
        Counts::add(&self.shared.counts.started, 1);
        let verdict = if self.stop.is_raised() {
            put_back()
        } else {
            self.verdict()
        };
        self.end(verdict);
    }

    fn verdict(&self) -> Verdict {
        let (shared, delivery) = (&self.shared, &self.delivery);
        let cx = TaskCx {
            id: delivery.lease.id.clone(),
            queue: shared.queue.clone(),
            attempt: 1 + delivery.failures + delivery.worker_deaths,
            deadline: self.deadline,
            stop: Arc::clone(&self.stop),
            states: Arc::clone(&shared.states),
            checkpoints: Checkpoints {
                engine: Arc::clone(&shared.engine),
                lease: delivery.lease.clone(),
                name: delivery.name.clone(),
                wire: shared.wire.clone(),
            },
        };
        let handler = shared.registry.find(&delivery.name);
        self.stop.enter();
        let verdict = handler.and_then(|handler| handler.run(delivery, &cx, &shared.wire));
        self.stop.leave();
        verdict.unwrap_or_else(|| self.unknown())
    }

    /// No attempt: another worker may know the type or the version already.
    fn unknown(&self) -> Verdict {
        let (times, delivery) = (&self.shared.times, &self.delivery);
        if delivery.unknown_for >= times.unknown_dead {
            let what = format!("{}@{}", delivery.name, delivery.version);
            return Verdict::Dead(Failure::new(FailureKind::Unknown, what));
        }
        Verdict::PutBack {
            delay: times.unknown_put_back,
            unknown: true,
        }
    }

    /// Ends the delivery. If it was the only one here, its thread sends the report itself: nothing is left to send it with, and
    /// somebody may wait for it.
    fn end(&self, verdict: Verdict) {
        let lease = self.delivery.lease.clone();
        if matches!(verdict, Verdict::PutBack { .. }) {
            Counts::add(&self.shared.counts.put_back, 1);
        }
        let key = (lease.id.clone(), lease.fence);
        let report = Report { lease, verdict };
        // The report is in the outbox before the delivery leaves the list, so that a worker which has neither is done.
        let alone = self.ran && self.shared.with_running(|all| all.len() == 1);
        let mine = if alone {
            self.shared.outbox.push_or_send(report)
        } else {
            self.shared.outbox.push(report);
            None
        };
        self.shared.with_running(|all| all.remove(&key));
        if let Some(report) = mine {
            self.shared.send_reports(&report);
        }
    }
}

fn put_back() -> Verdict {
    Verdict::PutBack {
        delay: std::time::Duration::ZERO,
        unknown: false,
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.ran {
            self.end(put_back());
        }
        self.shared.room.give_back();
    }
}
