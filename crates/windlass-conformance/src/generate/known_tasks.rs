//! The tasks that a scenario knows so far, and what may be asked of each.

use crate::format::TaskId;

use super::rng::Rng;

/// The tasks of one scenario.
#[derive(Default)]
pub(super) struct KnownTasks {
    made: usize,
    all: Vec<TaskId>,
    with_handle: Vec<TaskId>,
    held: Vec<TaskId>,
}

impl KnownTasks {
    /// Names a new task.
    pub(super) fn add(&mut self) -> TaskId {
        self.made += 1;
        let id = TaskId::new(format!("t{}", self.made));
        self.all.push(id.clone());
        id
    }

    /// How many tasks there are.
    pub(super) fn len(&self) -> usize {
        self.made
    }

    /// Records that the task has a handle.
    pub(super) fn mark_with_handle(&mut self, id: &TaskId) {
        self.with_handle.push(id.clone());
    }

    /// Records that a run of the task waits for a `finish`.
    pub(super) fn hold(&mut self, id: &TaskId) {
        self.held.push(id.clone());
    }

    /// Records that the task needs no more `finish`.
    pub(super) fn release(&mut self, id: &TaskId) {
        self.held.retain(|held| held != id);
    }

    /// The tasks that wait for a `finish`.
    pub(super) fn held(&self) -> &[TaskId] {
        &self.held
    }

    /// Any task.
    pub(super) fn any(&self, rng: &mut Rng) -> Option<TaskId> {
        one_of(&self.all, rng)
    }

    /// A task with a handle; the younger half comes up more often, as old ones are mostly done.
    pub(super) fn any_handle(&self, rng: &mut Rng) -> Option<TaskId> {
        let from = if rng.one_in(3) {
            0
        } else {
            self.with_handle.len() / 2
        };
        one_of(&self.with_handle[from..], rng)
    }

    /// A task that waits for a `finish`.
    pub(super) fn any_held(&self, rng: &mut Rng) -> Option<TaskId> {
        one_of(&self.held, rng)
    }
}

fn one_of(ids: &[TaskId], rng: &mut Rng) -> Option<TaskId> {
    if ids.is_empty() {
        None
    } else {
        Some(ids[rng.below(ids.len())].clone())
    }
}
