//! The run loop of a worker.

use std::sync::Arc;

use super::deque::Deque;
use super::local::Local;
use super::roster::WorkerInfo;
use super::shared::{Idle, Shared};
use crate::interrupt::ThreadContext;
use crate::sync::{AdaptiveSpin, spin_until};

/// Runs what the worker has, what others have, what was submitted; rests; ends.
pub(super) fn run(shared: &Arc<Shared>, info: &Arc<WorkerInfo>, deque: Deque) {
    shared.clock().adopt();
    let me = ThreadContext::current();
    info.set_context(Arc::clone(&me));
    let local = Local::new(shared, info, deque);
    let mut spin = SubmissionSpin::default();
    let run_and_count = |work| {
        local.run(work);
        info.count_steal();
    };
    local.enter(|| {
        loop {
            local.run_own();
            let submitted = shared.submission_count();
            if let Some(fork) = local.steal_fork() {
                spin.submissions = 0;
                run_and_count(fork);
            } else if let Some(submission) = local.take_submission() {
                spin.submissions += 1;
                run_and_count(submission);
            } else if !spin.finds(|| shared.submission_count() != submitted) {
                local.forget_others();
                match shared.sleep_or_retire(info, &me) {
                    Idle::Run(submission) => {
                        spin.submissions += 1;
                        run_and_count(submission);
                    }
                    Idle::Search => {}
                    Idle::Retire => break,
                }
            }
        }
    });
}

/// A worker that has run a submission looks out for the next one, for some microseconds, while that
/// pays: it is less than it takes to fall asleep and be woken. After a fork it does not: it could not
/// be told of more of them, and whoever forks asks first who is wakeable.
#[derive(Debug, Default)]
struct SubmissionSpin {
    /// How many submissions were run since the last look-out, without a fork in between.
    submissions: usize,
    spin: AdaptiveSpin,
}

impl SubmissionSpin {
    /// Whether something has come.
    fn finds(&mut self, something_came: impl Fn() -> bool) -> bool {
        let looks = match std::mem::take(&mut self.submissions) {
            0 => return false,
            1 => OFTEN,
            _ => SELDOM,
        };
        if !self.spin.should_spin() {
            return false;
        }
        spin_until(looks, &something_came);
        let has_come = something_came();
        self.spin.record(has_come);
        has_come
    }
}

/// How often a worker looks while it looks out: often after one that came alone, whose submitter may
/// wait for it before it brings the next; seldom in a stream, of which there is more by each look.
const OFTEN: u32 = 24;
const SELDOM: u32 = 4;
