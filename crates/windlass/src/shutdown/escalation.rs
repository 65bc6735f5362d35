//! What repeated requests to end do: the first starts the plan, the second makes it hurry, the third
//! ends the process.

use std::sync::Arc;

use super::report::ShutdownReport;
use crate::interrupt::{self, InterruptHandle};
use crate::sync::{Deadline, Mutex};
use crate::termination::Termination;

/// The requests so far, and the thread that runs the plan.
#[derive(Debug, Default)]
pub(super) struct Escalation {
    state: Mutex<State>,
    ended: Termination,
}

#[derive(Debug, Default)]
struct State {
    requests: u32,
    runner: Option<InterruptHandle>,
    is_ended: bool,
    report: Option<ShutdownReport>,
}

/// What the caller of [`Escalation::request`] has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Request {
    /// Run the plan.
    Start,
    /// Nothing: the plan was interrupted, or will be when it starts.
    Hurried,
    /// End the process.
    Exit,
}

impl Escalation {
    /// Counts a request.
    pub(super) fn request(&self) -> Request {
        let (requests, runner) = {
            let mut state = self.state.lock();
            state.requests += 1;
            if state.is_ended {
                return Request::Exit;
            }
            (state.requests, state.runner.clone())
        };
        match (requests, runner) {
            (1, _) => return Request::Start,
            // A runner that is not there yet sees the number of requests when it comes.
            (2, Some(runner)) => runner.interrupt(),
            (2, None) => {}
            _ => return Request::Exit,
        }
        Request::Hurried
    }

    /// Runs the plan on this thread, and keeps its report.
    pub(super) fn run(&self, plan: impl FnOnce() -> ShutdownReport) {
        let hurries = {
            let mut state = self.state.lock();
            state.runner = Some(interrupt::current());
            state.requests > 1
        };
        if hurries {
            interrupt::current().interrupt();
        }
        let report = plan();
        let mut state = self.state.lock();
        state.runner = None;
        state.is_ended = true;
        state.report = Some(report);
        drop(state);
        self.ended.signal();
    }

    /// Returns whether there was a request.
    pub(super) fn is_requested(&self) -> bool {
        self.state.lock().requests > 0
    }

    /// Waits until the plan has ended; interrupts stay pending. Returns the report, to the first caller.
    pub(super) fn wait(self: &Arc<Self>) -> Option<ShutdownReport> {
        self.ended.wait_uninterruptibly(Deadline::Never);
        self.state.lock().report.take()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Escalation, Request};
    use crate::shutdown::plan::ShutdownPlan;
    use crate::shutdown::report::ShutdownReport;
    use crate::sync::{model, thread};
    use crate::termination::Termination;

    fn report() -> ShutdownReport {
        ShutdownPlan::new().run()
    }

    #[test]
    fn a_second_request_interrupts_the_plan_whenever_it_comes() {
        model(|| {
            let escalation = Arc::new(Escalation::default());
            assert!(!escalation.is_requested());
            assert_eq!(escalation.request(), Request::Start);
            assert!(escalation.is_requested());
            let theirs = Arc::clone(&escalation);
            let runner = thread::Builder::new().spawn(move || {
                theirs.run(|| {
                    // Only an interrupt ends this.
                    let never = Termination::default();
                    assert!(never.wait(Duration::MAX).is_err());
                    report()
                });
            });
            assert_eq!(escalation.request(), Request::Hurried);
            assert!(escalation.wait().is_some());
            runner.unwrap().join().unwrap();
            assert_eq!(escalation.request(), Request::Exit);
        });
    }

    #[test]
    fn of_requests_at_the_same_time_one_starts_the_plan() {
        model(|| {
            let escalation = Arc::new(Escalation::default());
            let others = [(); 2].map(|()| {
                let theirs = Arc::clone(&escalation);
                thread::Builder::new().spawn(move || theirs.request())
            });
            let mut answers = vec![escalation.request()];
            for other in others {
                answers.push(other.unwrap().join().unwrap());
            }
            for answer in [Request::Start, Request::Hurried, Request::Exit] {
                assert_eq!(answers.iter().filter(|given| **given == answer).count(), 1);
            }
        });
    }

    #[test]
    fn who_waits_sees_the_end() {
        model(|| {
            let escalation = Arc::new(Escalation::default());
            let theirs = Arc::clone(&escalation);
            let runner = thread::Builder::new().spawn(move || theirs.run(report));
            assert!(escalation.wait().is_some());
            runner.unwrap().join().unwrap();
        });
    }
}
