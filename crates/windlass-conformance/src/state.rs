//! What a pool reads like from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::format::TaskId;
use crate::outcome::list;

/// A snapshot of a pool; printed, it is the text after `= `, where zeros and empty lists are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// How far the pool's phase has come.
    pub phase: Phase,
    /// Threads in the pool.
    pub pool: usize,
    /// Threads that run a task.
    pub active: usize,
    /// The most threads there ever were.
    pub largest: usize,
    /// Tasks that workers have completed, well or not.
    pub completed: u64,
    /// Tasks completed, running and queued.
    pub total: u64,
    /// The queue, in the order in which tasks would be taken.
    pub queue: Vec<TaskId>,
    /// Tasks that a worker is running.
    pub running: BTreeSet<TaskId>,
    /// Runs that ended well.
    pub finished: Runs,
    /// Runs that ended by a failure.
    pub failed: Runs,
    /// Runs that ended because their wait was interrupted.
    pub interrupted: Runs,
    /// Runs on the submitting thread, however they ended; they are in no other list.
    pub caller: Runs,
    /// How often the hooks were called.
    pub hooks: HookCalls,
}

/// How far a pool's phase has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// There is no pool: none was built yet, or its settings were refused.
    #[default]
    Unbuilt,
    /// It takes tasks.
    Running,
    /// It takes no more tasks, and has not ended yet.
    Shutdown,
    /// It has ended.
    Terminated,
}

/// How often each task ran; printed in the order of names, with `*n` after a task that ran n times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(BTreeMap<TaskId, u64>);

/// How often the pool called each hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookCalls {
    /// Before a task.
    pub before: u64,
    /// After a task.
    pub after: u64,
    /// After a task, with an error: only a task that was given to `execute` has one.
    pub after_failed: u64,
    /// Once the pool has ended.
    pub terminated: u64,
}

impl Runs {
    /// Counts one more run.
    pub fn count(&mut self, id: &TaskId) {
        *self.0.entry(id.clone()).or_default() += 1;
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Unbuilt => "none",
            Phase::Running => "running",
            Phase::Shutdown => "shutdown",
            Phase::Terminated => "terminated",
        })
    }
}

impl fmt::Display for HookCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HookCalls {
            before,
            after,
            after_failed,
            terminated,
        } = self;
        write!(f, "{before}/{after}/{after_failed}/{terminated}")
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(
            f,
            self.0
                .iter()
                .map(|(id, times)| Repeated { id, times: *times }),
        )
    }
}

struct Repeated<'a> {
    id: &'a TaskId,
    times: u64,
}

impl fmt::Display for Repeated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.times {
            1 => self.id.fmt(f),
            times => write!(f, "{}*{times}", self.id),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.phase.fmt(f)?;
        if self.phase == Phase::Unbuilt {
            return Ok(());
        }
        let threads = [
            ("pool", self.pool),
            ("active", self.active),
            ("largest", self.largest),
        ];
        for (name, n) in threads.into_iter().filter(|(_, n)| *n != 0) {
            write!(f, " {name}={n}")?;
        }
        let tasks = [("completed", self.completed), ("total", self.total)];
        for (name, n) in tasks.into_iter().filter(|(_, n)| *n != 0) {
            write!(f, " {name}={n}")?;
        }
        if !self.queue.is_empty() {
            f.write_str(" queue=")?;
            list(f, &self.queue)?;
        }
        if !self.running.is_empty() {
            f.write_str(" running=")?;
            list(f, &self.running)?;
        }
        let ended = [
            ("finished", &self.finished),
            ("failed", &self.failed),
            ("interrupted", &self.interrupted),
            ("caller", &self.caller),
        ];
        for (name, runs) in ended.into_iter().filter(|(_, runs)| !runs.0.is_empty()) {
            write!(f, " {name}={runs}")?;
        }
        write!(f, " hooks={}", self.hooks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ids: &[&str]) -> Runs {
        let mut runs = Runs::default();
        for id in ids {
            runs.count(&TaskId::new(*id));
        }
        runs
    }

    #[test]
    fn zeros_and_empty_lists_are_left_out() {
        let state = State {
            phase: Phase::Running,
            ..State::default()
        };
        assert_eq!(state.to_string(), "running hooks=0/0/0/0");
    }

    #[test]
    fn no_pool_has_no_figures() {
        assert_eq!(State::default().to_string(), "none");
    }

    #[test]
    fn figures_come_in_the_order_of_the_format() {
        let state = State {
            phase: Phase::Shutdown,
            pool: 3,
            active: 2,
            largest: 4,
            completed: 5,
            total: 9,
            queue: ["t9", "t8"].map(TaskId::new).to_vec(),
            running: ["t2", "t10"].map(TaskId::new).into(),
            finished: runs(&["t1", "t3", "t1", "t1"]),
            failed: runs(&["t4"]),
            interrupted: runs(&["t5"]),
            caller: runs(&["t6"]),
            hooks: HookCalls {
                before: 7,
                after: 5,
                after_failed: 1,
                terminated: 0,
            },
        };
        let text = "shutdown pool=3 active=2 largest=4 completed=5 total=9 queue=[t9 t8] \
                    running=[t10 t2] finished=[t1*3 t3] failed=[t4] interrupted=[t5] caller=[t6] \
                    hooks=7/5/1/0";
        assert_eq!(state.to_string(), text);
    }
}
