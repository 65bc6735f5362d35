//! The figures so far, each behind a lock that is held for a few instructions.

use super::super::{EngineError, EngineFigures, OperationFigures, QueueFigures};
use super::histogram::Histogram;
use super::round_trips::RoundTrips;
use crate::id::{QueueName, TaskId};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MICROSECONDS: f64 = 1e6;
const BYTES: f64 = 1.0;

#[derive(Debug, Default)]
pub(super) struct Meter {
    operations: Mutex<BTreeMap<&'static str, Calls>>,
    queues: Mutex<BTreeMap<QueueName, Traffic>>,
}

#[derive(Debug, Default)]
struct Calls {
    times: Histogram,
    errors: u64,
}

/// What went between this process and a queue.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    waiting: RoundTrips,
    round_trips: Histogram,
    sent: Histogram,
    received: Histogram,
}

impl Traffic {
    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent.add(bytes as u64);
    }

    pub(super) fn received(&mut self, bytes: usize) {
        self.received.add(bytes as u64);
    }

    pub(super) fn submitted(&mut self, id: &TaskId, at: Instant) {
        self.waiting.begin(id, at);
    }

    pub(super) fn ended(&mut self, id: &TaskId, now: Instant) {
        if let Some(time) = self.waiting.end(id, now) {
            self.round_trips.add(micros(time));
        }
    }

    /// Forgets a task that was not taken.
    pub(super) fn refused(&mut self, id: &TaskId) {
        self.waiting.end(id, Instant::now());
    }
}

impl Meter {
    /// Makes a call and measures it.
    pub(super) fn timed<R>(
        &self,
        operation: &'static str,
        call: impl FnOnce() -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        let begun = Instant::now();
        let answer = call();
        let took = begun.elapsed();
        let mut operations = lock(&self.operations);
        let calls = operations.entry(operation).or_default();
        calls.times.add(micros(took));
        calls.errors += u64::from(answer.is_err());
        answer
    }

    /// Counts the answer of a call that waits for something to happen.
    pub(super) fn counted<R>(&self, operation: &'static str, answer: &Result<R, EngineError>) {
        if answer.is_err() {
            lock(&self.operations).entry(operation).or_default().errors += 1;
        }
    }

    /// Lets the traffic of a queue be noted.
    pub(super) fn note(&self, queue: &QueueName, note: impl FnOnce(&mut Traffic)) {
        let mut queues = lock(&self.queues);
        if let Some(traffic) = queues.get_mut(queue) {
            return note(traffic);
        }
        note(queues.entry(queue.clone()).or_default());
    }

    pub(super) fn read(&self) -> EngineFigures {
        let operations = lock(&self.operations);
        let operations = operations
            .iter()
            .map(|(operation, calls)| OperationFigures {
                operation,
                seconds: calls.times.read(MICROSECONDS),
                errors: calls.errors,
            });
        let operations = operations.collect();
        let queues = lock(&self.queues);
        let queues = queues.iter().map(|(queue, traffic)| QueueFigures {
            queue: queue.clone(),
            round_trips: traffic.round_trips.read(MICROSECONDS),
            sent: traffic.sent.read(BYTES),
            received: traffic.received.read(BYTES),
        });
        EngineFigures {
            operations,
            queues: queues.collect(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
