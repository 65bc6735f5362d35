//! The run loop of a worker.

use std::sync::Arc;

use super::assist::Assist;
use super::deque::Deque;
use super::job::Work;
use super::local::{Local, TaskPolicy};
use super::roster::WorkerInfo;
use super::shared::Shared;
use super::sleep::Awake;
use crate::interrupt::ThreadContext;
use crate::sync::{AdaptiveSpin, Deadline, spin_until};
use crate::task::with_wait_helper;

/// Runs the loop of a worker: its own work, then stolen work, then submissions. If there is none, the
/// worker sleeps, and retires after its keep-alive time.
pub(super) fn run(shared: &Arc<Shared>, worker: &Arc<WorkerInfo>, deque: Deque<Work>) {
    shared.clock.adopt();
    worker.set_context(ThreadContext::current());
    let local = Local::new(shared, worker, deque);
    let mut spin = SubmissionSpin::default();
    let run_and_count = |work, policy| {
        local.run_in_loop(work, policy);
        worker.count_steal();
    };
    let run_loop = || {
        loop {
            local.run_own();
            let submitted = shared.submission_count();
            let policy = local.task_policy();
            if let Some(stolen) = local.steal() {
                spin.submissions = 0;
                run_and_count(stolen, policy);
            } else if let Some(submission) = local.take_submission() {
                spin.submissions += 1;
                run_and_count(submission, TaskPolicy::Run);
            } else if !spin.finds(|| shared.submission_count() != submitted) {
                local.forget_victims();
                match sleep_or_retire(shared, worker) {
                    Idle::Run(submission) => {
                        spin.submissions += 1;
                        run_and_count(submission, TaskPolicy::Run);
                    }
                    Idle::Search => {}
                    Idle::Retire => break,
                }
            }
        }
    };
    with_wait_helper(&Assist, || local.enter(run_loop));
}

/// The next action of a worker that has found no work.
enum Idle {
    Run(Work),
    Search,
    Retire,
}

/// Puts a worker that has found no work to sleep, until it is woken or its keep-alive time is over.
fn sleep_or_retire(shared: &Shared, worker: &Arc<WorkerInfo>) -> Idle {
    let mut state = shared.lock();
    if let Some(work) = state.injector.pop_front() {
        return Idle::Run(work);
    }
    if state.must_retire_idle() {
        return Idle::Retire;
    }
    shared.sleep.enlist(&mut state.census, worker);
    shared.try_terminate(state);
    let deadline = Deadline::after(shared.config.keep_alive);
    let has_queued = || shared.roster.has_queued();
    let awake = shared
        .sleep
        .wait(&shared.state, worker, deadline, has_queued);
    match awake {
        Awake::Search => Idle::Search,
        Awake::Retire => Idle::Retire,
    }
}

/// The spin of a worker that has run a submission and waits briefly for the next one.
///
/// A short spin costs less than falling asleep and being woken; it stops when it rarely succeeds. After
/// stolen work the worker does not spin: forks are not counted, and a thread that forks wakes a worker.
#[derive(Debug, Default)]
struct SubmissionSpin {
    /// Submissions run since the last spin, without stolen work in between.
    submissions: usize,
    spin: AdaptiveSpin,
}

impl SubmissionSpin {
    /// Spins until `has_come` returns true, for a bounded number of rounds; returns whether it did.
    fn finds(&mut self, has_come: impl Fn() -> bool) -> bool {
        let rounds = match std::mem::take(&mut self.submissions) {
            0 => return false,
            1 => ROUNDS_AFTER_ONE,
            _ => ROUNDS_IN_STREAM,
        };
        if !self.spin.should_spin() {
            return false;
        }
        spin_until(rounds, &has_come);
        let found = has_come();
        self.spin.record(found);
        found
    }
}

/// How often a spinning worker checks: often after a single submission, whose submitter may wait for it
/// before it submits the next; rarely in a stream, where each check finds more.
const ROUNDS_AFTER_ONE: u32 = 24;
const ROUNDS_IN_STREAM: u32 = 4;
