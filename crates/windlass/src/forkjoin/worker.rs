//! The run loop of a worker.

use std::sync::Arc;

use super::core::{Core, Rest};
use super::deque::Deque;
use super::local::Local;
use super::member::Member;
use crate::interrupt::ThreadContext;
use crate::sync::{AdaptiveSpin, spin_until};

/// Runs what the worker has, what others have, what was submitted; rests; ends.
pub(super) fn run(core: &Arc<Core>, member: &Arc<Member>, deque: Deque) {
    core.clock().adopt();
    let me = ThreadContext::current();
    member.set_context(Arc::clone(&me));
    let local = Local::new(core, member, deque);
    let mut lookout = Lookout::default();
    let run_and_count = |work| {
        local.run(work);
        member.count_steal();
    };
    local.enter(|| {
        loop {
            local.run_own();
            let submitted = core.submitted();
            if let Some(fork) = local.steal_fork() {
                lookout.submissions = 0;
                run_and_count(fork);
            } else if let Some(submission) = local.take_submission() {
                lookout.submissions += 1;
                run_and_count(submission);
            } else if !lookout.sees(|| core.submitted() != submitted) {
                local.forget_others();
                match core.rest(member, &me) {
                    Rest::Submission(submission) => {
                        lookout.submissions += 1;
                        run_and_count(submission);
                    }
                    Rest::Look => {}
                    Rest::Leave => break,
                }
            }
        }
    });
}

/// A worker that has run a submission looks out for the next one, for some microseconds, while that
/// pays: it is less than it takes to fall asleep and be woken. After a fork it does not: it could not
/// be told of more of them, and whoever forks asks first who is hungry.
#[derive(Debug, Default)]
struct Lookout {
    /// How many submissions were run since the last look-out, without a fork in between.
    submissions: usize,
    spin: AdaptiveSpin,
}

impl Lookout {
    /// Whether something has come.
    fn sees(&mut self, something_came: impl Fn() -> bool) -> bool {
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
