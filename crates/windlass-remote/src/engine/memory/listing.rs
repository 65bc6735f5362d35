//! A page of the tasks of a queue in the memory engine.

use super::super::{TaskPage, TaskState};
use super::queue::Queue;
use crate::id::TaskId;
use std::collections::BTreeSet;

impl Queue {
    /// Returns those in the states of the first `count` ids after a place, which is an id. The ids are kept in no order, so all
    /// of them are looked at; no more than a page is kept.
    pub(super) fn list(
        &self,
        states: &[TaskState],
        after: Option<&TaskId>,
        count: usize,
    ) -> TaskPage {
        let mut first: BTreeSet<&TaskId> = BTreeSet::new();
        for id in self.entries.keys().filter(|id| Some(*id) > after) {
            if first.len() < count || first.last().is_some_and(|last| id < *last) {
                first.insert(id);
            }
            if first.len() > count {
                first.pop_last();
            }
        }
        let is_full = first.len() == count;
        let entries = first.iter().filter_map(|id| self.entries.get(*id));
        TaskPage {
            next: first
                .last()
                .filter(|_| is_full)
                .map(|last| last.to_string()),
            ids: entries
                .filter(|entry| states.is_empty() || states.contains(&entry.state))
                .map(|entry| entry.task.id.clone())
                .collect(),
        }
    }
}
