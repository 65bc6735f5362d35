//! Random scenarios on a thread pool.
//!
//! Each scenario has a weights, which says what it does most: an even mix seldom fills a queue, tunes
//! a pool that is full or purges a queue of cancelled tasks, and these are where pools go wrong.

use std::time::Duration;

use crate::format::{
    Ending, KeepAlive, Policy, PoolSpec, QueueKind, Setting, Step, TaskSpec, ThreadPoolSpec,
};

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
    Core,
    Max,
    KeepAlive,
    CoreTimeout,
    Policy,
    Prestart,
    Await,
    Shutdown,
}

/// The relative frequency of each action.
type Weights = [(usize, Action); 15];

const MIXED: Weights = weights([34, 24, 6, 4, 3, 4, 2, 6, 4, 2, 2, 3, 3, 2, 2]);
const MOSTLY_SUBMIT: Weights = weights([62, 14, 4, 3, 2, 4, 1, 2, 2, 1, 1, 4, 1, 1, 1]);
const MOSTLY_SET: Weights = weights([26, 20, 2, 2, 1, 2, 1, 18, 12, 5, 5, 3, 6, 1, 1]);
const MOSTLY_CANCEL: Weights = weights([34, 14, 18, 5, 5, 8, 6, 2, 2, 1, 1, 2, 1, 1, 3]);
const MOSTLY_SHUT_DOWN: Weights = weights([36, 20, 5, 5, 4, 3, 2, 4, 2, 2, 2, 3, 2, 4, 10]);

const fn weights(weights: [usize; 15]) -> Weights {
    [
        (weights[0], Action::Task),
        (weights[1], Action::End),
        (weights[2], Action::Cancel),
        (weights[3], Action::Get),
        (weights[4], Action::Query),
        (weights[5], Action::Remove),
        (weights[6], Action::Purge),
        (weights[7], Action::Core),
        (weights[8], Action::Max),
        (weights[9], Action::KeepAlive),
        (weights[10], Action::CoreTimeout),
        (weights[11], Action::Policy),
        (weights[12], Action::Prestart),
        (weights[13], Action::Await),
        (weights[14], Action::Shutdown),
    ]
}

/// Makes the steps of one scenario.
pub(super) fn make(mut rng: Rng) -> Vec<Step> {
    let weights = rng.pick([
        MIXED,
        MIXED,
        MOSTLY_SUBMIT,
        MOSTLY_SET,
        MOSTLY_CANCEL,
        MOSTLY_SHUT_DOWN,
    ]);
    let pool = pool(&mut rng);
    let mut author = Author {
        priority: pool.queue == QueueKind::Priority,
        tasks: KnownTasks::default(),
        steps: Vec::new(),
        down_at: None,
        rng,
    };
    if author.rng.one_in(30) {
        author
            .steps
            .push(Step::Pool(PoolSpec::ThreadPool(refused(&pool))));
    }
    author.steps.push(Step::Pool(PoolSpec::ThreadPool(pool)));
    author.write(&weights);
    author.steps
}

fn pool(rng: &mut Rng) -> ThreadPoolSpec {
    let core = rng.below(4);
    let max = (core + rng.below(3)).max(1);
    let queue = match rng.below(11) {
        0 => QueueKind::Linked,
        1..=3 => QueueKind::LinkedBounded(rng.between(1, 4)),
        4..=6 => QueueKind::Array(rng.between(1, 4)),
        7 | 8 => QueueKind::Synchronous,
        _ => QueueKind::Priority,
    };
    let finite = rng.pick([15, 20, 20, 25]);
    let keep_alive = match rng.below(10) {
        0..=6 => KeepAlive::Never,
        7 | 8 => KeepAlive::After(Duration::from_millis(finite)),
        _ => KeepAlive::After(Duration::ZERO),
    };
    // Core workers cannot time out at once: the pool would refuse its own settings half-way.
    let may_time_out = keep_alive != KeepAlive::After(Duration::ZERO);
    ThreadPoolSpec {
        core,
        max,
        keep_alive,
        queue,
        policy: rng.pick(Policy::ALL),
        core_timeout: (may_time_out && rng.one_in(6)).then_some(true),
        factory_limit: if rng.one_in(12) {
            Some(rng.below(4))
        } else {
            None
        },
    }
}

/// Settings that no pool takes.
fn refused(pool: &ThreadPoolSpec) -> ThreadPoolSpec {
    let max = if pool.core == 0 { 0 } else { pool.core - 1 };
    ThreadPoolSpec {
        max,
        core_timeout: None,
        factory_limit: None,
        ..pool.clone()
    }
}

/// A scenario under way.
struct Author {
    rng: Rng,
    tasks: KnownTasks,
    steps: Vec<Step>,
    /// Tasks have priorities, and no handles: what a handle wraps cannot be compared.
    priority: bool,
    /// How many steps there were when the pool was first shut down.
    down_at: Option<usize>,
}

impl Author {
    fn write(&mut self, weights: &Weights) {
        // A task may need two steps more, itself and its end, so the last may overshoot by one.
        let length = self.rng.between(SHORTEST, LONGEST - 1);
        let winds_down = !self.rng.one_in(3);
        // What comes long after shutdown is all the same.
        let after_shutdown = self.rng.between(2, 9);
        loop {
            let ending = if winds_down {
                self.wind_down_length()
            } else {
                0
            };
            if self.steps.len() + ending >= length {
                break;
            }
            let stale = self
                .down_at
                .is_some_and(|at| self.steps.len() > at + after_shutdown);
            if stale && self.steps.len() + ending >= SHORTEST {
                break;
            }
            let choice = self.rng.weighted(weights).unwrap_or(Action::Task);
            let step = self.step(choice);
            // A move that nobody can make yet becomes a new task.
            let step = step.unwrap_or_else(|| self.task());
            self.steps.push(step);
        }
        if winds_down {
            self.wind_down();
        }
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
                timeout: Duration::from_millis(rng.pick([0, 1, 5, 5, 10])),
            },
            Action::Query => Step::Future(self.tasks.any_handle(rng)?),
            Action::Remove => Step::Remove(self.tasks.any(rng)?),
            Action::Purge => Step::Purge,
            Action::Core => Step::Set(Setting::Core(rng.below(5))),
            Action::Max => Step::Set(Setting::Max(rng.below(6))),
            Action::KeepAlive => Step::Set(Setting::KeepAlive(Duration::from_millis(
                rng.pick([0, 0, 15, 20]),
            ))),
            Action::CoreTimeout => Step::Set(Setting::CoreTimeout(rng.one_in(2))),
            Action::Policy => Step::Set(Setting::Policy(rng.pick(Policy::ALL))),
            Action::Prestart if rng.one_in(2) => Step::PrestartAll,
            Action::Prestart => Step::Prestart,
            Action::Await => Step::Await {
                timeout: Duration::from_millis(rng.pick([0, 0, 5])),
            },
            Action::Shutdown => return self.shutdown(),
        })
    }

    fn task(&mut self) -> Step {
        let id = self.tasks.add();
        let ending = match self.rng.below(10) {
            0 => Ending::Instant,
            1 => Ending::Failing,
            _ => Ending::Held,
        };
        if ending == Ending::Held {
            self.tasks.hold(&id);
        }
        if self.priority {
            let priority = Some(distinct_priority(self.tasks.len()));
            return Step::Execute(TaskSpec {
                id,
                priority,
                ending,
            });
        }
        if self.rng.one_in(2) {
            return Step::Execute(TaskSpec {
                id,
                priority: None,
                ending,
            });
        }
        self.tasks.mark_with_handle(&id);
        Step::Submit(TaskSpec {
            id,
            priority: None,
            ending,
        })
    }

    /// Ends a run; now and then one that is over, never was or is still to come.
    fn end(&mut self) -> Option<Step> {
        let held = self.tasks.any_held(&mut self.rng);
        let id = match held {
            Some(id) if !self.rng.one_in(12) => id,
            _ => self.tasks.any(&mut self.rng)?,
        };
        self.tasks.release(&id);
        Some(if self.rng.one_in(5) {
            Step::Fail(id)
        } else {
            Step::Finish(id)
        })
    }

    /// Shuts down, first in the second half of a scenario.
    fn shutdown(&mut self) -> Option<Step> {
        if self.steps.len() < SHORTEST / 2 {
            return None;
        }
        self.down_at = self.down_at.or(Some(self.steps.len()));
        Some(if self.rng.one_in(2) {
            Step::Shutdown
        } else {
            Step::ShutdownNow
        })
    }

    fn wind_down_length(&self) -> usize {
        self.tasks.held().len() + 1 + usize::from(self.down_at.is_none())
    }

    /// Ends the pool in good order: every task may finish, and then it must have terminated.
    fn wind_down(&mut self) {
        if self.down_at.is_none() {
            self.steps.push(Step::Shutdown);
        }
        let held = self.tasks.held().iter().cloned().map(Step::Finish);
        self.steps.extend(held);
        self.steps.push(Step::Await {
            timeout: Duration::from_millis(500),
        });
    }
}

/// A priority that no other of the first hundred tasks has.
fn distinct_priority(nth: usize) -> i32 {
    i32::try_from(nth * 37 % 101).unwrap_or(0) - 50
}
