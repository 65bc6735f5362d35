//! Removal of tasks that have not started.

use std::sync::Arc;

use super::job::Work;
use super::shared::Shared;
use super::state::State;
use crate::task::Task;

impl Shared {
    /// Takes the oldest submitted task.
    pub(super) fn take_submitted_task(&self) -> Option<Task> {
        let taken = self.take_submission_if(|work| !work.is_job())?;
        self.try_terminate(self.lock());
        taken.into_task()
    }

    /// Takes all tasks that have not started.
    pub(super) fn drain(self: &Arc<Self>) -> Vec<Task> {
        let mut state = self.lock();
        let tasks = self.take_tasks(&mut state);
        self.try_terminate(state);
        // Jobs that were in a deque are in the injector now.
        self.wake_for_queued();
        tasks
    }

    /// Takes all tasks from the injector and the deques. Jobs are moved to the injector and still run,
    /// since a thread waits for each.
    pub(super) fn take_tasks(&self, state: &mut State) -> Vec<Task> {
        let workers = self.roster.snapshot();
        let deques = workers.iter().map(|worker| &worker.stealer);
        let forked = deques.flat_map(|stealer| std::iter::from_fn(|| stealer.steal()));
        let submitted = std::mem::take(&mut state.injector);
        let mut tasks = Vec::new();
        for work in submitted.chain(forked) {
            match work {
                Work::Job(_) => state.injector.push_moved(work),
                Work::Task(task, _) => tasks.push(task),
            }
        }
        tasks
    }
}
