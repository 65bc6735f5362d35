//! The memory engine's face: one lock for each queue, one condition variable for all who wait on it.

use super::super::{
    Backlog, Beat, CancelMode, Cancelled, Control, ControlFeed, DeadAction, Engine, EngineError,
    Fire, Lease, MAX_PAGE, NewTask, QueuePatch, QueueStats, QueueStatus, Renewed, ReplyFeed,
    Report, Reported, ScheduleRecord, Submitted, TaskFeed, TaskPage, TaskRecord, TaskState, Tick,
    TypeLimit, WorkerRecord,
};
use super::clock::millis;
use super::feeds::{Messages, Replies, Tasks};
use super::queue::Queue;
use crate::id::{QueueName, TaskId, unix_millis};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An engine inside the process: the default for tests and for programs that have not outgrown one machine.
///
/// It has the semantics of the others, but its tasks end with the process. A clone is the same engine.
///
/// ```
/// use windlass_remote::engine::MemoryEngine;
///
/// let engine = MemoryEngine::new();
/// let executor = windlass_remote::RemoteExecutor::new(engine);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryEngine(Arc<Shared>);

impl MemoryEngine {
    /// Creates an engine without queues.
    pub fn new() -> Self {
        Self::default()
    }

    fn each<T, R>(
        &self,
        queue: &QueueName,
        items: &[T],
        mut step: impl FnMut(&mut Queue, &T, u64) -> R,
    ) -> Vec<R> {
        self.0.with(queue, |queue, now| {
            items.iter().map(|item| step(queue, item, now)).collect()
        })
    }
}

/// One queue with its lock.
#[derive(Debug, Default)]
struct Place {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// What all clones share. The outer lock is held only to find a queue.
#[derive(Debug)]
pub(super) struct Shared {
    places: Mutex<HashMap<QueueName, Arc<Place>>>,
    started: Instant,
    started_at: u64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            places: Mutex::default(),
            started: Instant::now(),
            started_at: unix_millis(),
        }
    }
}

impl Shared {
    /// The time of this engine; unlike the machine's, it never goes back.
    fn now(&self) -> u64 {
        self.started_at + self.started.elapsed().as_millis() as u64
    }

    fn place(&self, name: &QueueName) -> Arc<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(places.entry(name.clone()).or_default())
    }

    /// Makes one transition and wakes everybody who waits on the queue.
    pub(super) fn with<R>(
        &self,
        name: &QueueName,
        transition: impl FnOnce(&mut Queue, u64) -> R,
    ) -> R {
        let place = self.place(name);
        let mut queue = place.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = transition(&mut queue, self.now());
        drop(queue);
        place.changed.notify_all();
        answer
    }

    /// Repeats a transition after each change of the queue until it has an answer or the time is over.
    pub(super) fn wait<R: Default>(
        &self,
        name: &QueueName,
        until: Instant,
        mut attempt: impl FnMut(&mut Queue, u64) -> Option<R>,
    ) -> Result<R, EngineError> {
        let place = self.place(name);
        let mut queue = place.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let before = queue.messages_gone + queue.messages.len() as u64;
            if let Some(answer) = attempt(&mut queue, self.now()) {
                drop(queue);
                // A start may have parked, failed or delayed other tasks, which others wait for.
                place.changed.notify_all();
                return Ok(answer);
            }
            if before != queue.messages_gone + queue.messages.len() as u64 {
                place.changed.notify_all();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(R::default());
            }
            let waited = place.changed.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Engine for MemoryEngine {
    fn submit(&self, queue: &QueueName, tasks: &[NewTask]) -> Result<Vec<Submitted>, EngineError> {
        Ok(self.each(queue, tasks, |queue, task, now| queue.submit(task, now)))
    }

    fn report(&self, queue: &QueueName, reports: &[Report]) -> Result<Vec<Reported>, EngineError> {
        Ok(self.each(queue, reports, |queue, report, now| {
            queue.report(report, now)
        }))
    }

    fn cancel(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        mode: CancelMode,
    ) -> Result<Vec<Cancelled>, EngineError> {
        Ok(self.each(queue, ids, |queue, id, now| queue.cancel(id, mode, now)))
    }

    fn look_up(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        watcher: Option<&str>,
    ) -> Result<Vec<Option<TaskRecord>>, EngineError> {
        let watcher: Option<Arc<str>> = watcher.map(Into::into);
        Ok(self.each(queue, ids, |queue, id, now| {
            queue.promote(now);
            queue.look_up(id, watcher.as_ref())
        }))
    }

    fn beat(&self, queue: &QueueName, beat: Beat<'_>) -> Result<Vec<Renewed>, EngineError> {
        Ok(self.0.with(queue, |queue, now| {
            queue
                .workers
                .insert(beat.worker.id.clone(), (beat.worker.clone(), now));
            let until = now + millis(beat.lease);
            beat.leases
                .iter()
                .map(|lease| queue.renew(lease, until))
                .collect()
        }))
    }

    fn save_checkpoint(
        &self,
        queue: &QueueName,
        lease: &Lease,
        bytes: &[u8],
    ) -> Result<Renewed, EngineError> {
        Ok(self
            .0
            .with(queue, |queue, _| queue.save_checkpoint(lease, bytes)))
    }

    fn last_checkpoint(
        &self,
        queue: &QueueName,
        id: &TaskId,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.0.with(queue, |queue, _| {
            queue.entries.get(id).and_then(|e| e.checkpoint.clone())
        }))
    }

    fn leave(&self, queue: &QueueName, worker: &str) -> Result<(), EngineError> {
        self.0.with(queue, |queue, now| {
            queue.release(worker, now);
            queue.workers.remove(worker);
        });
        Ok(())
    }

    fn tick(
        &self,
        queue: &QueueName,
        _lease: Duration,
        silence: Duration,
    ) -> Result<Tick, EngineError> {
        Ok(self.0.with(queue, |queue, now| {
            queue.promote(now);
            queue.reclaim(silence, now);
            queue.unpark_all(now);
            queue.forget_replies(now);
            let next_task = queue.due.first().map(|(at, ..)| *at);
            let next = next_task.into_iter().chain(queue.schedules.next()).min();
            let next_due = next.map(|at| Duration::from_millis(at.saturating_sub(now)));
            Tick {
                now,
                next_due,
                due: queue.schedules.due(now),
            }
        }))
    }

    fn tasks(&self, queue: &QueueName, worker: &str) -> Result<Box<dyn TaskFeed>, EngineError> {
        let shared = Arc::clone(&self.0);
        Ok(Box::new(Tasks {
            shared,
            queue: queue.clone(),
            worker: worker.into(),
        }))
    }

    fn replies(&self, queue: &QueueName, client: &str) -> Result<Box<dyn ReplyFeed>, EngineError> {
        let shared = Arc::clone(&self.0);
        Ok(Box::new(Replies {
            shared,
            queue: queue.clone(),
            client: client.into(),
        }))
    }

    fn control(&self, queue: &QueueName) -> Result<Box<dyn ControlFeed>, EngineError> {
        let seen = self.0.with(queue, |queue, _| {
            queue.messages_gone + queue.messages.len() as u64
        });
        let shared = Arc::clone(&self.0);
        Ok(Box::new(Messages {
            shared,
            queue: queue.clone(),
            seen,
        }))
    }

    fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: &ScheduleRecord,
    ) -> Result<(), EngineError> {
        self.0.with(queue, |queue, _| {
            queue.schedules.put(schedule.clone());
            queue.tell(Control::Changed);
        });
        Ok(())
    }

    fn remove_schedule(&self, queue: &QueueName, name: &str) -> Result<bool, EngineError> {
        Ok(self.0.with(queue, |queue, _| queue.schedules.remove(name)))
    }

    fn schedules(&self, queue: &QueueName) -> Result<Vec<ScheduleRecord>, EngineError> {
        Ok(self.0.with(queue, |queue, _| queue.schedules.all()))
    }

    fn fire(&self, queue: &QueueName, fire: &Fire) -> Result<bool, EngineError> {
        Ok(self.0.with(queue, |queue, now| queue.fire(fire, now)))
    }

    fn now(&self) -> Result<u64, EngineError> {
        Ok(self.0.now())
    }

    fn queues(&self) -> Result<Vec<QueueName>, EngineError> {
        let places = self.0.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<QueueName> = places.keys().cloned().collect();
        names.sort();
        Ok(names)
    }

    fn stats(&self, queue: &QueueName) -> Result<QueueStats, EngineError> {
        Ok(self.0.with(queue, |queue, now| {
            queue.promote(now);
            QueueStats {
                dead_letters: queue.dead.len() as u64,
                ..queue.stats
            }
        }))
    }

    fn backlog(&self, queue: &QueueName) -> Result<Vec<Backlog>, EngineError> {
        Ok(self.0.with(queue, |queue, now| {
            queue.promote(now);
            queue.backlog(now)
        }))
    }

    fn workers(&self, queue: &QueueName) -> Result<Vec<WorkerRecord>, EngineError> {
        Ok(self.0.with(queue, |queue, now| {
            let silent = |last: u64| Duration::from_millis(now.saturating_sub(last));
            let workers = queue.workers.values();
            workers
                .map(|(w, last)| WorkerRecord {
                    silent_for: silent(*last),
                    ..w.clone()
                })
                .collect()
        }))
    }

    fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueStatus, EngineError> {
        Ok(self.0.with(queue, |queue, _| {
            let status = &mut queue.status;
            status.paused = patch.paused.unwrap_or(status.paused);
            status.closed = patch.closed.unwrap_or(status.closed);
            status.capacity = patch.capacity.unwrap_or(status.capacity);
            let status = *status;
            queue.tell(Control::Changed);
            status
        }))
    }

    fn limit(&self, queue: &QueueName, name: &str, limit: TypeLimit) -> Result<(), EngineError> {
        self.0.with(queue, |queue, _| {
            let state = queue.types.entry(name.into()).or_default();
            state.limit = limit;
            // All of them try again; those beyond the limit are parked again, in order.
            for id in std::mem::take(&mut state.parked) {
                queue.push_ready(id);
            }
        });
        Ok(())
    }

    fn list(
        &self,
        queue: &QueueName,
        states: &[TaskState],
        after: Option<&str>,
        count: usize,
    ) -> Result<TaskPage, EngineError> {
        let place: Option<TaskId> = after.map(str::parse).transpose().map_err(|_| {
            EngineError::Protocol(format!("{after:?} is not where a page in memory begins"))
        })?;
        Ok(self.0.with(queue, |queue, now| {
            queue.promote(now);
            queue.list(states, place.as_ref(), count.clamp(1, MAX_PAGE))
        }))
    }

    fn dead_letters(
        &self,
        queue: &QueueName,
        skip: usize,
        count: usize,
    ) -> Result<Vec<TaskRecord>, EngineError> {
        Ok(self.0.with(queue, |queue, _| {
            let ids = queue.dead.values().rev().skip(skip).take(count);
            ids.filter_map(|id| queue.entries.get(id))
                .map(|entry| entry.to_record())
                .collect()
        }))
    }

    fn settle_dead(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        action: DeadAction,
    ) -> Result<usize, EngineError> {
        let settled = self.each(queue, ids, |queue, id, now| {
            queue.settle_dead(id, action, now)
        });
        Ok(settled.into_iter().filter(|done| *done).count())
    }
}
