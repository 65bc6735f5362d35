//! The run loop of a worker.

use std::sync::Arc;

use super::core::{Core, Rest};
use super::deque::Deque;
use super::local::Local;
use super::member::Member;
use crate::interrupt::Record;

/// Runs what the worker has, what others have, what was submitted; rests; ends.
pub(super) fn run(core: &Arc<Core>, member: &Arc<Member>, deque: Deque) {
    core.clock().adopt();
    let me = Record::current();
    member.set_record(Arc::clone(&me));
    let local = Local::new(core, member, deque);
    local.enter(|| {
        loop {
            local.run_own();
            if let Some(stolen) = local.steal() {
                local.run(stolen);
                member.count_steal();
            } else {
                match core.rest(member, &me) {
                    Rest::Work(work) => {
                        local.run(work);
                        member.count_steal();
                    }
                    Rest::Look => {}
                    Rest::Leave => break,
                }
            }
        }
    });
}
