//! Random scenarios from a seed, without end.
//!
//! A scenario is made so that it can be run anywhere and that its outcome does not hang on timing:
//! a handle is asked for only where one was given out, a wait on the submitting thread is always
//! bounded, priorities never tie, delays are next to nothing or hours, and a periodic task that
//! comes back at once is held or fails, so it never spins. What still hangs on timing, the oracle
//! finds and leaves out.

mod known_tasks;
mod rng;
mod scheduled;
mod thread_pool;

use crate::format::Scenario;

use rng::Rng;

/// Which pools the scenarios are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Thread pools.
    ThreadPool,
    /// Scheduled pools.
    Scheduled,
    /// Either, one in five scheduled.
    Any,
}

/// The fewest steps of a scenario.
pub const SHORTEST: usize = 8;
/// The most steps of a scenario.
pub const LONGEST: usize = 40;

/// Generates the scenario of one seed; the same seed always generates the same one.
#[must_use]
pub fn scenario(kind: Kind, seed: u64) -> Scenario {
    let mut rng = Rng::new(seed);
    let scheduled = match kind {
        Kind::ThreadPool => false,
        Kind::Scheduled => true,
        Kind::Any => rng.one_in(5),
    };
    let made = if scheduled {
        scheduled::make(rng)
    } else {
        thread_pool::make(rng)
    };
    let mut scenario = Scenario::default();
    scenario.comment(&format!("scenario {seed}"));
    for step in made {
        scenario.push(step);
    }
    scenario
}

/// Makes the scenarios of `count` seeds in a row.
pub fn scenarios(kind: Kind, seed: u64, count: u64) -> impl Iterator<Item = Scenario> {
    (0..count).map(move |i| scenario(kind, seed.wrapping_add(i)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Ending, Step, TaskId, parse};
    use std::collections::HashSet;
    use std::time::Duration;

    fn text(kind: Kind, seed: u64, count: u64) -> String {
        scenarios(kind, seed, count)
            .map(|scenario| scenario.to_string())
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_scenarios() {
        assert_eq!(text(Kind::Any, 5, 50), text(Kind::Any, 5, 50));
        assert_ne!(
            text(Kind::Any, 5, 1),
            text(Kind::Any, 6, 1).replace("scenario 6", "scenario 5")
        );
    }

    #[test]
    fn what_is_made_can_be_read_back() {
        let text = text(Kind::Any, 1, 500);
        let read = parse(&text).unwrap();
        assert_eq!(read.len(), 500);
        assert_eq!(
            read.iter().map(Scenario::to_string).collect::<String>(),
            text
        );
    }

    #[test]
    fn a_scenario_has_8_to_40_steps() {
        for scenario in scenarios(Kind::Any, 1, 500) {
            let steps = scenario.steps().count();
            assert!(
                (SHORTEST..=LONGEST).contains(&steps),
                "{steps} in {scenario}"
            );
        }
    }

    #[test]
    fn every_kind_of_step_is_made() {
        let text = text(Kind::Any, 1, 500);
        let verbs = "pool execute submit schedule fixed_rate fixed_delay finish fail cancel get \
                     future set prestart remove purge shutdown shutdown_now await";
        for verb in verbs.split_whitespace() {
            assert!(
                text.lines()
                    .any(|line| line.split(' ').next() == Some(verb)),
                "{verb}"
            );
        }
        let options = "queue=linked queue=linked:2 queue=array:1 queue=sync queue=priority \
                       policy=abort policy=caller-runs policy=discard policy=discard-oldest \
                       keep_alive=never keep_alive=20 keep_alive=0 core_timeout=true \
                       factory_limit=1 remove_on_cancel=true periodic_after_shutdown=true \
                       delayed_after_shutdown=false instant failing interrupt period=0";
        let words: HashSet<&str> = text.split_whitespace().collect();
        for option in options.split_whitespace() {
            assert!(words.contains(option), "{option}");
        }
    }

    /// The tasks whose handle a step asks for.
    fn handle_asked_for(step: &Step) -> Option<&TaskId> {
        match step {
            Step::Cancel { id, .. } | Step::Get { id, .. } | Step::Future(id) => Some(id),
            _ => None,
        }
    }

    #[test]
    fn a_handle_is_asked_for_only_where_there_is_one() {
        for scenario in scenarios(Kind::Any, 1, 500) {
            let mut handles = HashSet::new();
            for line in scenario.steps() {
                match &line.step {
                    Step::Submit(task)
                    | Step::Schedule { task, .. }
                    | Step::FixedRate { task, .. }
                    | Step::FixedDelay { task, .. } => {
                        handles.insert(task.id.clone());
                    }
                    step => assert!(
                        handle_asked_for(step).is_none_or(|id| handles.contains(id)),
                        "{step} in {scenario}"
                    ),
                }
            }
        }
    }

    #[test]
    fn a_periodic_task_never_spins() {
        let soon = Duration::from_secs(1);
        for scenario in scenarios(Kind::Scheduled, 1, 500) {
            for line in scenario.steps() {
                if let Step::FixedRate {
                    task,
                    period: pause,
                    ..
                }
                | Step::FixedDelay {
                    task, delay: pause, ..
                } = &line.step
                {
                    assert!(
                        task.ending != Ending::Instant || *pause > soon,
                        "{}",
                        line.step
                    );
                }
            }
        }
    }
}
