//! Runs many scenarios side by side, each on a thread of its own, watched by a watcher.
//!
//! The thread of its own is the scenario's submitting thread: whatever a pool leaves behind there
//! ends with it. Its watcher gives up on a step that never returns, so one deadlock in
//! the pool under test is one failure and not the end of the replay; the stuck thread is left
//! behind, as nothing can end it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::quiescence::LIMIT;

use super::difference::{Difference, Finding};
use super::report::Failure;
use super::run::run;
use super::{Case, MakeSubject};

/// How long a step may take beside the wait for quiescence. The longest wait in any scenario
/// is far shorter.
const STEP_LIMIT: Duration = Duration::from_secs(10);

/// What a scenario's thread reports to its watcher.
enum Event {
    Begins(usize),
    Ends(Result<(), Difference>),
}

/// Tells the watcher which step is about to begin.
pub(super) struct Progress {
    watcher: Sender<Event>,
}

impl Progress {
    pub(super) fn begin(&self, step: usize) {
        // A watcher that gave up no longer listens; the scenario then ends on its own.
        let _ = self.watcher.send(Event::Begins(step));
    }
}

/// Runs all cases, `jobs` at a time, and returns those that failed, in their order.
pub(super) fn run_all(
    cases: &[Arc<Case>],
    jobs: usize,
    patience: u32,
    make: &Arc<MakeSubject>,
) -> Vec<Failure> {
    let next = AtomicUsize::new(0);
    let (failed, failures) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cases.len().max(1)) {
            let (failed, next) = (failed.clone(), &next);
            scope.spawn(move || {
                while let Some((index, case)) = claim(cases, next) {
                    if let Err(difference) = watch(case, patience, make) {
                        let _ = failed.send((
                            index,
                            Failure {
                                case: case.clone(),
                                difference,
                            },
                        ));
                    }
                }
            });
        }
    });
    drop(failed);
    let mut failures: Vec<(usize, Failure)> = failures.into_iter().collect();
    failures.sort_by_key(|(index, _)| *index);
    failures.into_iter().map(|(_, failure)| failure).collect()
}

fn claim<'a>(cases: &'a [Arc<Case>], next: &AtomicUsize) -> Option<(usize, &'a Arc<Case>)> {
    let index = next.fetch_add(1, Ordering::SeqCst);
    cases.get(index).map(|case| (index, case))
}

/// Runs one case on a thread of its own and waits for it as long as its steps go on.
fn watch(case: &Arc<Case>, patience: u32, make: &Arc<MakeSubject>) -> Result<(), Difference> {
    let (watcher, events) = mpsc::channel();
    let (own_case, own_make) = (case.clone(), make.clone());
    thread::spawn(move || {
        let progress = Progress {
            watcher: watcher.clone(),
        };
        let attempt =
            panic::catch_unwind(AssertUnwindSafe(|| match own_make(&own_case.scenario) {
                Ok(mut subject) => run(&own_case, subject.as_mut(), patience, &progress),
                Err(why) => own_case.scenario.steps().next().map_or(Ok(()), |first| {
                    Err(Difference::at(first, Finding::NoSubject(why)))
                }),
            }));
        if let Ok(end) = attempt {
            let _ = watcher.send(Event::Ends(end));
        }
    });
    follow(case, &events, STEP_LIMIT + LIMIT * patience)
}

/// Hears a scenario out. A channel that closes without an end means that the scenario panicked.
fn follow(case: &Case, events: &Receiver<Event>, limit: Duration) -> Result<(), Difference> {
    let mut step = 0;
    let finding = loop {
        match events.recv_timeout(limit) {
            Ok(Event::Begins(index)) => step = index,
            Ok(Event::Ends(end)) => return end,
            Err(RecvTimeoutError::Timeout) => break Finding::Stuck,
            Err(RecvTimeoutError::Disconnected) => break Finding::Panicked,
        }
    };
    match case.scenario.steps().nth(step) {
        Some(line) => Err(Difference::at(line, finding)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parse;

    #[test]
    fn a_step_that_never_returns_is_given_up() {
        let scenario = parse("purge\nshutdown\n").unwrap().remove(0);
        let case = Case {
            file: "made.txt".into(),
            scenario,
        };
        let (watcher, events) = mpsc::channel();
        Progress {
            watcher: watcher.clone(),
        }
        .begin(1);
        let difference = follow(&case, &events, Duration::from_millis(1)).unwrap_err();
        assert_eq!((difference.line, difference.finding), (2, Finding::Stuck));
        drop(watcher);
    }
}
