//! The named schedules of one queue in the memory engine.

use super::super::{Due, Fire, Overlap, ScheduleRecord};
use super::queue::Queue;
use crate::id::TaskId;
use std::collections::HashMap;

/// The schedules, and the last task that each has submitted.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    by_name: HashMap<String, (ScheduleRecord, Option<TaskId>)>,
}

impl Schedules {
    pub(super) fn put(&mut self, schedule: ScheduleRecord) {
        let last = self
            .by_name
            .remove(&schedule.name)
            .and_then(|(_, last)| last);
        self.by_name.insert(schedule.name.clone(), (schedule, last));
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    pub(super) fn all(&self) -> Vec<ScheduleRecord> {
        self.by_name
            .values()
            .map(|(schedule, _)| schedule.clone())
            .collect()
    }

    /// Sets the next time of a schedule that waited for an outcome; returns whether there is such a schedule.
    pub(super) fn rearm(&mut self, name: &str, at: u64) -> bool {
        match self.by_name.get_mut(name) {
            Some((schedule, _)) => {
                schedule.next = Some(at);
                true
            }
            None => false,
        }
    }

    pub(super) fn due(&self, now: u64) -> Vec<Due> {
        let due = |schedule: &ScheduleRecord| schedule.next.filter(|at| *at <= now);
        (self.by_name.values())
            .filter_map(|(schedule, _)| Some((schedule, due(schedule)?)))
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
            .filter_map(|(schedule, _)| schedule.next)
            .min()
    }
}

impl Queue {
    pub(super) fn fire(&mut self, fire: &Fire, now: u64) -> bool {
        let Some((schedule, last)) = self.schedules.by_name.get_mut(&fire.name) else {
            return false;
        };
        if schedule.next != Some(fire.at) {
            return false;
        }
        schedule.next = fire.next;
        let unfinished = last.as_ref().and_then(|id| self.entries.get(id));
        let overlaps = unfinished.is_some_and(|entry| !entry.state.is_final());
        if overlaps && schedule.overlap == Overlap::Skip {
            return true;
        }
        let mut tasks = Vec::new();
        for id in &fire.ids {
            let mut task = schedule.task.clone();
            task.id = id.clone();
            task.delay = std::time::Duration::ZERO;
            tasks.push(task);
            *last = Some(id.clone());
        }
        let rearm = schedule
            .after_finish
            .map(|delay| (fire.name.clone(), delay.as_millis() as u64));
        for task in tasks {
            let id = task.id.clone();
            if !self.entries.contains_key(&id) {
                self.stats.submitted += 1;
                self.add(task, now);
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.rearm.clone_from(&rearm);
                }
            }
        }
        true
    }
}
