//! Random scenarios on a scheduled pool.

use std::time::Duration;

use crate::format::{Ending, Policy, PoolSpec, ScheduledSpec, Setting, Step, TaskId, TaskSpec};

use super::cast::Cast;
use super::rng::Rng;
use super::{LONGEST, SHORTEST};

/// What a scenario can do next.
#[derive(Clone, Copy)]
enum Move {
    Task,
    End,
    Cancel,
    Get,
    Look,
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

const MOVES: [(usize, Move); 14] = [
    (36, Move::Task),
    (24, Move::End),
    (12, Move::Cancel),
    (4, Move::Get),
    (6, Move::Look),
    (4, Move::Remove),
    (3, Move::Purge),
    (4, Move::Flag),
    (3, Move::Core),
    (2, Move::Policy),
    (1, Move::IdleTime),
    (2, Move::Prestart),
    (1, Move::Await),
    (5, Move::Shutdown),
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
        cast: Cast::default(),
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
    cast: Cast,
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
            let choice = self.rng.weighted(&MOVES).unwrap_or(Move::Task);
            let step = self.step(choice);
            // A move that nobody can make yet becomes a new task.
            let step = step.unwrap_or_else(|| self.task());
            self.steps.push(step);
        }
        self.look_back();
    }

    fn step(&mut self, choice: Move) -> Option<Step> {
        let rng = &mut self.rng;
        Some(match choice {
            Move::Task => self.task(),
            Move::End => return self.end(),
            Move::Cancel => Step::Cancel {
                id: self.cast.any_handle(rng)?,
                interrupt: rng.one_in(2),
            },
            Move::Get => Step::Get {
                id: self.cast.any_handle(rng)?,
                timeout: Duration::from_millis(rng.pick([0, 5, 5])),
            },
            Move::Look => Step::Future(self.cast.any_handle(rng)?),
            Move::Remove => Step::Remove(self.cast.any(rng)?),
            Move::Purge => Step::Purge,
            Move::Flag => {
                let on = rng.one_in(2);
                Step::Set(rng.pick([
                    Setting::RemoveOnCancel(on),
                    Setting::PeriodicAfterShutdown(on),
                    Setting::DelayedAfterShutdown(on),
                ]))
            }
            Move::Core => Step::Set(Setting::Core(rng.below(4))),
            Move::Policy => {
                self.policy = rng.pick(Policy::ALL);
                Step::Set(Setting::Policy(self.policy))
            }
            Move::IdleTime => {
                let on = rng.one_in(2);
                let time = Duration::from_millis(rng.pick([10, 20]));
                Step::Set(rng.pick([Setting::CoreTimeout(on), Setting::KeepAlive(time)]))
            }
            Move::Prestart if rng.one_in(2) => Step::PrestartAll,
            Move::Prestart => Step::Prestart,
            Move::Await => Step::Await {
                timeout: Duration::ZERO,
            },
            Move::Shutdown => return self.shutdown(),
        })
    }

    fn task(&mut self) -> Step {
        let id = self.cast.enter();
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
                // No pause is an invalid argument, and gives no handle.
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
            self.cast.give_handle(id);
        }
        if ending == Ending::Held {
            self.cast.hold(id);
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
        let hours = 1 + self.cast.len() * 7 % 43;
        Duration::from_secs(3600) * u32::try_from(hours).unwrap_or(1)
    }

    /// Ends a run; a periodic task may need many of these, so it stays held.
    fn end(&mut self) -> Option<Step> {
        let held = self.cast.any_held(&mut self.rng);
        let id = match held {
            Some(id) if !self.rng.one_in(12) => id,
            _ => self.cast.any(&mut self.rng)?,
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

    /// Ends with a look at some handles and at the pool.
    fn look_back(&mut self) {
        if self.down_at.is_none() && self.rng.one_in(2) {
            self.steps.push(Step::Shutdown);
        }
        let room = (LONGEST - 1).saturating_sub(self.steps.len());
        for _ in 0..self.rng.below(7).min(room) {
            if let Some(id) = self.cast.any_handle(&mut self.rng) {
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
