//! The transitions of a task in the memory engine, each under the lock of its queue.

use super::super::{
    CancelMode, Cancelled, Control, DeadAction, Delivery, FetchRequest, Lease, NewTask, Outcome,
    Refusal, Renewed, Report, Reported, Submitted, TaskRecord, TaskState, Verdict,
};
use super::clock::millis;
use super::entry::Entry;
use super::limits::Admission;
use super::queue::Queue;
use crate::failure::{Failure, FailureKind};
use crate::id::TaskId;
use std::sync::Arc;
use std::time::Duration;

impl Queue {
    pub(super) fn submit(&mut self, task: &NewTask, now: u64) -> Submitted {
        if self.entries.contains_key(&task.id) {
            return Submitted::Duplicate;
        }
        let waiting = self.stats.ready + self.stats.scheduled;
        let refusal = match self.status.capacity {
            _ if self.status.closed => Some(Refusal::Closed),
            Some(capacity) if waiting >= capacity => Some(Refusal::Full { capacity }),
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.stats.refused += 1;
            return Submitted::Refused(refusal);
        }
        self.stats.submitted += 1;
        self.add(task.clone(), now);
        Submitted::Accepted
    }

    /// Adds a task that is not there yet.
    pub(super) fn add(&mut self, task: NewTask, now: u64) {
        let (id, at) = (task.id.clone(), now + millis(task.delay));
        self.entries.insert(id.clone(), Entry::new(task, now));
        self.stats.scheduled += 1;
        self.enqueue(&id, at, now);
    }

    /// Starts tasks for a worker.
    pub(super) fn take(
        &mut self,
        worker: &Arc<str>,
        request: &FetchRequest,
        now: u64,
    ) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        for priority in request.first.first_of_all() {
            let level = priority.level();
            while deliveries.len() < request.count {
                let Some(id) = self.ready[level].pop_front() else {
                    break;
                };
                deliveries.extend(self.start(&id, worker, request.lease, now));
            }
        }
        deliveries
    }

    fn start(
        &mut self,
        id: &TaskId,
        worker: &Arc<str>,
        lease: Duration,
        now: u64,
    ) -> Option<Delivery> {
        let entry = self
            .entries
            .get_mut(id)
            .filter(|entry| entry.state == TaskState::Ready)?;
        if entry.waited_too_long(now) {
            let failure = Failure::new(FailureKind::QueueTimeout, "");
            self.fail(id, TaskState::Failed, failure, now);
            return None;
        }
        if let Some(state) = self.types.get_mut(&entry.task.name) {
            match state.admit(now, entry.rate_paid) {
                Admission::Start => {}
                Admission::Park => {
                    entry.rate_paid = true;
                    state.parked.push_back(id.clone());
                    return None;
                }
                Admission::At(at) => {
                    entry.rate_paid = true;
                    self.enqueue(id, at, now);
                    return None;
                }
            }
        }
        self.set_state(id, TaskState::Running, now);
        let entry = self.entries.get_mut(id)?;
        entry.rate_paid = false;
        entry.fence += 1;
        entry.worker = Some(Arc::clone(worker));
        entry.lease_until = now + millis(lease);
        let unknown_for = entry
            .unknown_since
            .map_or(0, |since| now.saturating_sub(since));
        Some(Delivery {
            lease: Lease {
                id: id.clone(),
                fence: entry.fence,
                entry: String::new(),
            },
            name: entry.task.name.to_string(),
            version: entry.task.version,
            payload: entry.task.payload.clone(),
            options: entry.task.options,
            failures: entry.failures,
            worker_deaths: entry.worker_deaths,
            unknown_for: Duration::from_millis(unknown_for),
        })
    }

    fn fail(&mut self, id: &TaskId, state: TaskState, failure: Failure, now: u64) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.failure = Some(failure.clone());
        }
        if state == TaskState::Dead {
            self.stats.dead += 1;
        } else {
            self.stats.failed += 1;
        }
        self.finish(id, state, Outcome::Failed(failure), now);
    }

    pub(super) fn report(&mut self, report: &Report, now: u64) -> Reported {
        let id = &report.lease.id;
        let Some(entry) = self.entries.get_mut(id) else {
            return self.stale();
        };
        let current = entry.state == TaskState::Running && entry.fence == report.lease.fence;
        let succeeded = matches!(report.verdict, Verdict::Done(_)) && !entry.state.is_final();
        if !current && !succeeded {
            return self.stale();
        }
        match &report.verdict {
            Verdict::Done(result) => {
                self.stats.done += 1;
                self.finish(id, TaskState::Done, Outcome::Done(result.clone()), now);
            }
            Verdict::Failed(failure) => {
                entry.failures += 1;
                self.fail(id, TaskState::Failed, failure.clone(), now);
            }
            Verdict::Dead(failure) => self.fail(id, TaskState::Dead, failure.clone(), now),
            Verdict::Retry(failure, delay) => {
                entry.failures += 1;
                entry.failure = Some(failure.clone());
                // It ran, so its type is known.
                entry.unknown_since = None;
                entry.worker = None;
                self.stats.retried += 1;
                self.enqueue(id, now + millis(*delay), now);
            }
            Verdict::PutBack { delay, unknown } => {
                entry.worker = None;
                if *unknown {
                    entry.unknown_since.get_or_insert(now);
                }
                self.enqueue(id, now + millis(*delay), now);
            }
        }
        Reported::Accepted
    }

    fn stale(&mut self) -> Reported {
        self.stats.stale += 1;
        Reported::Stale
    }

    pub(super) fn cancel(&mut self, id: &TaskId, mode: CancelMode, now: u64) -> Cancelled {
        let state = self.entries.get(id).map(|entry| entry.state);
        let answer = match state {
            Some(TaskState::Scheduled | TaskState::Ready) => Cancelled::BeforeStart,
            Some(TaskState::Running) if mode == CancelMode::Now => Cancelled::WhileRunning,
            Some(TaskState::Running) => return Cancelled::Running,
            _ => return Cancelled::Finished,
        };
        self.stats.cancelled += 1;
        self.finish(id, TaskState::Cancelled, Outcome::Cancelled, now);
        if answer == Cancelled::WhileRunning {
            self.tell(Control::Cancel(id.clone()));
        }
        answer
    }

    pub(super) fn look_up(
        &mut self,
        id: &TaskId,
        watcher: Option<&Arc<str>>,
    ) -> Option<TaskRecord> {
        let entry = self.entries.get_mut(id)?;
        if let Some(watcher) = watcher
            && !entry.state.is_final()
            && !entry.watchers.contains(watcher)
        {
            entry.watchers.push(Arc::clone(watcher));
        }
        let mut record = entry.to_record();
        if watcher.is_some() {
            record.payload = None;
        }
        Some(record)
    }

    pub(super) fn renew(&mut self, lease: &Lease, until: u64) -> Renewed {
        match self.entries.get_mut(&lease.id) {
            Some(entry) if entry.state == TaskState::Running && entry.fence == lease.fence => {
                entry.lease_until = until;
                Renewed::Held
            }
            _ => Renewed::Lost,
        }
    }

    pub(super) fn save_checkpoint(&mut self, lease: &Lease, bytes: &[u8]) -> Renewed {
        match self.entries.get_mut(&lease.id) {
            Some(entry) if entry.state == TaskState::Running && entry.fence == lease.fence => {
                entry.checkpoint = Some(bytes.into());
                Renewed::Held
            }
            _ => Renewed::Lost,
        }
    }

    /// Gives the deliveries of a worker back, as if it had not started them; those that may run once fail.
    pub(super) fn release(&mut self, worker: &str, now: u64) {
        let held = self.held(|entry| entry.worker.as_deref() == Some(worker));
        for id in held {
            let Some(entry) = self.entries.get_mut(&id) else {
                continue;
            };
            entry.worker = None;
            if entry.task.options.at_most_once {
                let failure = Failure::new(FailureKind::WorkerLost, "");
                self.fail(&id, TaskState::Failed, failure, now);
            } else {
                self.enqueue(&id, now, now);
            }
        }
    }

    /// Takes deliveries from workers that vanished. After a time without ticks nobody could be heard, so each worker has as long as usual to
    /// give a sign of life: the first that is back would take the tasks of all others.
    pub(super) fn reclaim(&mut self, silence: Duration, now: u64) {
        let longest = millis(silence).max(1_000);
        let last = self.ticked.replace(now);
        if last.is_some_and(|last| now.saturating_sub(last) > longest) {
            self.spared_until = now.saturating_add(millis(silence));
        }
        if now < self.spared_until {
            return;
        }
        let silent = now.saturating_sub(millis(silence));
        let vanished: Vec<Arc<str>> = (self.workers.iter())
            .filter(|(_, (_, last))| *last < silent)
            .map(|(worker, _)| worker.as_str().into())
            .collect();
        let lost = self.held(|entry| {
            entry.lease_until < now || entry.worker.as_ref().is_some_and(|w| vanished.contains(w))
        });
        for id in lost {
            self.lose(&id, now);
        }
        for worker in vanished {
            self.workers.remove(&*worker);
        }
    }

    fn lose(&mut self, id: &TaskId, now: u64) {
        let Some(entry) = self.entries.get_mut(id) else {
            return;
        };
        entry.worker_deaths += 1;
        entry.worker = None;
        let deaths = entry.worker_deaths;
        if entry.task.options.at_most_once {
            let failure = Failure::new(FailureKind::WorkerLost, "");
            self.fail(id, TaskState::Failed, failure, now);
        } else if deaths >= entry.task.options.max_worker_deaths {
            let failure = Failure::new(FailureKind::Poison, format!("{deaths} workers"));
            self.fail(id, TaskState::Dead, failure, now);
        } else {
            self.stats.redelivered += 1;
            self.enqueue(id, now, now);
        }
    }

    fn held(&self, belongs: impl Fn(&Entry) -> bool) -> Vec<TaskId> {
        let running = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.state == TaskState::Running);
        running
            .filter(|(_, entry)| belongs(entry))
            .map(|(id, _)| id.clone())
            .collect()
    }

    pub(super) fn settle_dead(&mut self, id: &TaskId, action: DeadAction, now: u64) -> bool {
        let Some(entry) = self.entries.get_mut(id) else {
            return false;
        };
        if entry.state != TaskState::Dead {
            return false;
        }
        self.dead.retain(|_, dead| dead != id);
        match action {
            DeadAction::Drop => {
                self.entries.remove(id);
            }
            DeadAction::Retry => {
                entry.failures = 0;
                entry.worker_deaths = 0;
                entry.unknown_since = None;
                entry.outcome = None;
                self.enqueue(id, now, now);
            }
        }
        true
    }

    /// Makes due tasks ready and forgets old records.
    pub(super) fn promote(&mut self, now: u64) {
        while self.due.first().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, _, id)) = self.due.pop_first() else {
                break;
            };
            if self
                .entries
                .get(&id)
                .is_some_and(|entry| entry.state == TaskState::Scheduled)
            {
                self.enqueue(&id, now, now);
            }
        }
        while self.expiry.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, id)) = self.expiry.pop_first() else {
                break;
            };
            if self
                .entries
                .get(&id)
                .is_some_and(|entry| entry.state.is_final())
            {
                self.entries.remove(&id);
            }
        }
    }
}
