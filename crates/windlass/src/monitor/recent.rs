//! The slowest tasks of the last minutes and the last failed ones.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use super::view::{Recent, RecentTask};
use crate::times::Ending;

/// How many tasks of each kind are kept.
const KEPT: usize = 20;
/// How long a slow task is remembered.
const REMEMBERED: Duration = Duration::from_secs(300);

/// The tasks of one executor that are worth remembering.
#[derive(Debug, Default)]
pub(super) struct RecentTasks {
    /// Slowest first.
    slowest: Vec<RecentTask>,
    /// Newest last.
    failed: VecDeque<RecentTask>,
}

impl RecentTasks {
    pub(super) fn add(&mut self, task: RecentTask) {
        if task.ending == Ending::Ok {
            self.slowest.push(task);
            return;
        }
        // A task that was slow and has failed comes twice, and is known as slow already.
        let is_same = |slow: &&mut RecentTask| slow.id == task.id && slow.run == task.run;
        if let Some(slow) = self.slowest.iter_mut().rev().find(is_same) {
            slow.ending = task.ending;
            slow.message.clone_from(&task.message);
        }
        if self.failed.len() == KEPT {
            self.failed.pop_front();
        }
        self.failed.push_back(task);
    }

    /// Forgets tasks that are too old or no longer among the slowest.
    pub(super) fn trim(&mut self, now: SystemTime) {
        self.slowest.retain(|task| {
            let age = now.duration_since(task.ended).unwrap_or_default();
            age < REMEMBERED
        });
        self.slowest.sort_by_key(|task| std::cmp::Reverse(task.run));
        self.slowest.truncate(KEPT);
    }

    pub(super) fn read(&self) -> Recent {
        Recent {
            slowest: self.slowest.clone(),
            failed: self.failed.iter().rev().cloned().collect(),
        }
    }
}
