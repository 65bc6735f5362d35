//! Random scenarios on a scheduled pool.

use std::time::Duration;

use crate::format::{Ending, Policy, PoolSpec, ScheduledSpec, Setting, Step, TaskId, TaskSpec};

use super::known_tasks::KnownTasks;
use super::rng::Rng;
use super::{LONGEST, SHORTEST};

/// What a scenario can do next.
#[derive(Clone, Copy)]
enum Action {
    Task,
    End,
    Cancel,
    Get,
    Query,
    Remove,
    Purge,
    Flag,
    Core,
    Policy,
    IdleTime,
    Prestart,
    Await,
    Shutdown,
}

const MOVES: [(usize, Action); 14] = [
    (36, Action::Task),
    (24, Action::End),
    (12, Action::Cancel),
    (4, Action::Get),
    (6, Action::Query),
    (4, Action::Remove),
    (3, Action::Purge),
    (4, Action::Flag),
    (3, Action::Core),
    (2, Action::Policy),
    (1, Action::IdleTime),
    (2, Action::Prestart),
    (1, Action::Await),
    (5, Action::Shutdown),
];

/// Makes the steps of one scenario.
pub(super) fn make(mut rng: Rng) -> Vec<Step> {
    let mut flag = || {
        if rng.one_in(4) {
            Some(rng.one_in(2))
        } else {
            None
        }
    };
    let (remove_on_cancel, periodic_after_shutdown, delayed_after_shutdown) =
        (flag(), flag(), flag());
    let policy = rng.pick(Policy::ALL);
    let pool = ScheduledSpec {
        core: rng.weighted(&[(1, 0), (4, 1), (4, 2), (3, 3)]).unwrap_or(1),
        policy,
        remove_on_cancel,
        periodic_after_shutdown,
        delayed_after_shutdown,
    };
    let steps = vec![Step::Pool(PoolSpec::Scheduled(pool))];
    let mut author = Author {
        rng,
        tasks: KnownTasks::default(),
        steps,
        policy,
        down_at: None,
    };
    author.write();
    author.steps
}

/// A scenario under way.
struct Author {
    rng: Rng,
    tasks: KnownTasks,
    steps: Vec<Step>,
    policy: Policy,
    /// How many steps there were when the pool was first shut down.
    down_at: Option<usize>,
}

impl Author {
    fn write(&mut self) {
        let length = self.rng.between(SHORTEST, LONGEST - 10);
        // What comes long after shutdown is all the same.
        let after_shutdown = self.rng.between(3, 12);
        while self.steps.len() < length - 1 {
            let stale = self
                .down_at
                .is_some_and(|at| self.steps.len() > at + after_shutdown);
            if stale && self.steps.len() >= SHORTEST {
                break;
            }
            let choice = self.rng.weighted(&MOVES).unwrap_or(Action::Task);
            let step = self.step(choice);
            // A move that nobody can make yet becomes a new task.
            let step = step.unwrap_or_else(|| self.task());
            self.steps.push(step);
        }
        self.query_at_the_end();
    }

    fn step(&mut self, choice: Action) -> Option<Step> {
        let rng = &mut self.rng;
        Some(match choice {
            Action::Task => self.task(),
            Action::End => return self.end(),
            Action::Cancel => Step::Cancel {
                id: self.tasks.any_handle(rng)?,
                interrupt: rng.one_in(2),
            },
            Action::Get => Step::Get {
                id: self.tasks.any_handle(rng)?,
                timeout: Duration::from_millis(rng.pick([0, 5, 5])),
            },
            Action::Query => Step::Future(self.tasks.any_handle(rng)?),
            Action::Remove => Step::Remove(self.tasks.any(rng)?),
            Action::Purge => Step::Purge,
            Action::Flag => {
                let on = rng.one_in(2);
                Step::Set(rng.pick([
                    Setting::RemoveOnCancel(on),
                    Setting::PeriodicAfterShutdown(on),
                    Setting::DelayedAfterShutdown(on),
                ]))
            }
            Action::Core => Step::Set(Setting::Core(rng.below(4))),
            Action::Policy => {
                self.policy = rng.pick(Policy::ALL);
                Step::Set(Setting::Policy(self.policy))
            }
            Action::IdleTime => {
                let on = rng.one_in(2);
                let time = Duration::from_millis(rng.pick([10, 20]));
                Step::Set(rng.pick([Setting::CoreTimeout(on), Setting::KeepAlive(time)]))
            }
            Action::Prestart if rng.one_in(2) => Step::PrestartAll,
            Action::Prestart => Step::Prestart,
            Action::Await => Step::Await {
                timeout: Duration::ZERO,
            },
            Action::Shutdown => return self.shutdown(),
        })
    }

    fn task(&mut self) -> Step {
        let id = self.tasks.add();
        let initial = if self.rng.below(5) < 3 {
            self.soon()
        } else {
            self.hours()
        };
        match self.rng.below(10) {
            0..=4 => {
                let ending = self.ending();
                self.admit(&id, ending);
                Step::Schedule {
                    task: task(id, ending),
                    delay: initial,
                }
            }
            kind => {
                let pause = match self.rng.below(12) {
                    0 => Duration::ZERO,
                    1..=4 => self.hours(),
                    _ => Duration::from_millis(1),
                };
                let mut ending = self.ending();
                if ending == Ending::Instant && pause < Duration::from_secs(1) {
                    ending = Ending::Held;
                }
                // No pause is an invalid argument, and there is no handle.
                if !pause.is_zero() {
                    self.admit(&id, ending);
                }
                let task = task(id, ending);
                if kind < 8 {
                    Step::FixedRate {
                        task,
                        initial,
                        period: pause,
                    }
                } else {
                    Step::FixedDelay {
                        task,
                        initial,
                        delay: pause,
                    }
                }
            }
        }
    }

    /// Notes what may be asked of a new task: a refused one has no handle.
    fn admit(&mut self, id: &TaskId, ending: Ending) {
        if self.down_at.is_none() || self.policy != Policy::Abort {
            self.tasks.mark_with_handle(id);
        }
        if ending == Ending::Held {
            self.tasks.hold(id);
        }
    }

    fn ending(&mut self) -> Ending {
        match self.rng.below(12) {
            0 | 1 => Ending::Instant,
            2 => Ending::Failing,
            _ => Ending::Held,
        }
    }

    fn soon(&mut self) -> Duration {
        Duration::from_millis(self.rng.pick([0, 0, 0, 1]))
    }

    /// So far away that it never comes, and at another hour for each task.
    fn hours(&self) -> Duration {
        let hours = 1 + self.tasks.len() * 7 % 43;
        Duration::from_secs(3600) * u32::try_from(hours).unwrap_or(1)
    }

    /// Ends a run; a periodic task may need many of these, so it stays held.
    fn end(&mut self) -> Option<Step> {
        let held = self.tasks.any_held(&mut self.rng);
        let id = match held {
            Some(id) if !self.rng.one_in(12) => id,
            _ => self.tasks.any(&mut self.rng)?,
        };
        Some(if self.rng.one_in(5) {
            Step::Fail(id)
        } else {
            Step::Finish(id)
        })
    }

    fn shutdown(&mut self) -> Option<Step> {
        if self.steps.len() < SHORTEST / 2 {
            return None;
        }
        self.down_at = self.down_at.or(Some(self.steps.len()));
        Some(if self.rng.one_in(3) {
            Step::ShutdownNow
        } else {
            Step::Shutdown
        })
    }

    /// Ends with queries of some handles and of the pool.
    fn query_at_the_end(&mut self) {
        if self.down_at.is_none() && self.rng.one_in(2) {
            self.steps.push(Step::Shutdown);
        }
        let room = (LONGEST - 1).saturating_sub(self.steps.len());
        for _ in 0..self.rng.below(7).min(room) {
            if let Some(id) = self.tasks.any_handle(&mut self.rng) {
                self.steps.push(Step::Future(id));
            }
        }
        self.steps.push(Step::Await {
            timeout: Duration::ZERO,
        });
    }
}

fn task(id: TaskId, ending: Ending) -> TaskSpec {
    TaskSpec {
        id,
        priority: None,
        ending,
    }
}
