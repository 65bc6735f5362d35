//! The named schedules of one queue in the memory engine.

use super::super::{Control, Due, Fire, Overlap, ScheduleRecord};
use super::clock::millis;
use super::entry::AfterOutcome;
use super::queue::Queue;
use crate::id::TaskId;
use std::collections::{HashMap, VecDeque};

/// The tasks that wait for the last one of their schedule; the oldest gives way to another.
const MAX_WAITING: usize = 1_000;

/// One schedule and what it has submitted.
#[derive(Debug)]
struct Named {
    record: ScheduleRecord,
    last: Option<TaskId>,
    waiting: VecDeque<TaskId>,
}

#[derive(Debug, Default)]
pub(super) struct Schedules {
    by_name: HashMap<String, Named>,
}

impl Schedules {
    pub(super) fn put(&mut self, schedule: ScheduleRecord) {
        match self.by_name.get_mut(&schedule.name) {
            Some(named) => named.record = schedule,
            None => {
                let named = Named {
                    last: None,
                    waiting: VecDeque::new(),
                    record: schedule,
                };
                self.by_name.insert(named.record.name.clone(), named);
            }
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    pub(super) fn all(&self) -> Vec<ScheduleRecord> {
        self.by_name
            .values()
            .map(|named| named.record.clone())
            .collect()
    }

    /// Sets the next time of a schedule that waited for an outcome; returns whether there is such a schedule.
    pub(super) fn rearm(&mut self, name: &str, at: u64) -> bool {
        match self.by_name.get_mut(name) {
            Some(named) => {
                named.record.next = Some(at);
                true
            }
            None => false,
        }
    }

    pub(super) fn due(&self, now: u64) -> Vec<Due> {
        let due = |schedule: &ScheduleRecord| schedule.next.filter(|at| *at <= now);
        (self.by_name.values())
            .filter_map(|named| Some((&named.record, due(&named.record)?)))
            .map(|(schedule, at)| Due {
                name: schedule.name.clone(),
                rule: schedule.rule.clone(),
                at,
            })
            .collect()
    }

    pub(super) fn next(&self) -> Option<u64> {
        self.by_name
            .values()
            .filter_map(|named| named.record.next)
            .min()
    }
}

impl Queue {
    pub(super) fn fire(&mut self, fire: &Fire, now: u64) -> bool {
        let Some(named) = self.schedules.by_name.get_mut(&fire.name) else {
            return false;
        };
        if named.record.next != Some(fire.at) {
            return false;
        }
        named.record.next = fire.next;
        let (overlap, after_finish) = (named.record.overlap, named.record.after_finish);
        let unfinished = named.last.as_ref().and_then(|id| self.entries.get(id));
        let mut busy = unfinished.is_some_and(|entry| !entry.state.is_final());
        let (was_busy, mut submitted) = (busy, false);
        for id in &fire.ids {
            match overlap {
                Overlap::Skip if was_busy => break,
                Overlap::Queue if busy && after_finish.is_some() => break,
                Overlap::Queue if busy => self.wait_for_last(&fire.name, id.clone()),
                _ => {
                    submitted |= self.submit_scheduled(&fire.name, id, now);
                    busy = true;
                }
            }
        }
        if let (Some(pause), false) = (after_finish, submitted) {
            // No outcome will set the next time of this fixed delay: the task that runs is of the schedule that it replaced.
            self.schedules.rearm(&fire.name, now + millis(pause));
            self.tell(Control::Changed);
        }
        true
    }

    fn wait_for_last(&mut self, schedule: &str, id: TaskId) {
        if let Some(named) = self.schedules.by_name.get_mut(schedule) {
            named.waiting.push_back(id);
            if named.waiting.len() > MAX_WAITING {
                named.waiting.pop_front();
            }
        }
    }

    /// Submits the next task of those that wait for the last one of a schedule.
    pub(super) fn submit_waiting(&mut self, schedule: &str, now: u64) {
        let named = self.schedules.by_name.get_mut(schedule);
        if let Some(id) = named.and_then(|named| named.waiting.pop_front()) {
            self.submit_scheduled(schedule, &id, now);
        }
    }

    /// Submits a task of a schedule; returns whether it is a new one.
    fn submit_scheduled(&mut self, schedule: &str, id: &TaskId, now: u64) -> bool {
        let Some(named) = self.schedules.by_name.get_mut(schedule) else {
            return false;
        };
        named.last = Some(id.clone());
        let mut task = named.record.task.clone();
        task.id = id.clone();
        task.delay = std::time::Duration::ZERO;
        let after = match named.record.after_finish {
            Some(delay) => Some(AfterOutcome::Rearm(millis(delay))),
            None if named.record.overlap == Overlap::Queue => Some(AfterOutcome::SubmitWaiting),
            None => None,
        };
        if self.entries.contains_key(id) {
            return false;
        }
        self.stats.submitted += 1;
        self.add(task, now);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.after_outcome = after.map(|after| (schedule.to_owned(), after));
        }
        true
    }
}
