//! How a thread comes to take part in a pool, and how it leaves.

use std::sync::Arc;

use super::core::{Core, State, Taken};
use super::deque::Deque;
use super::job::Work;
use super::local::Local;
use super::member::Member;
use super::worker;
use crate::interrupt::ThreadContext;
use crate::sync::{MutexGuard, mutant};
use crate::task::Failure;
use crate::thread_factory::ThreadBody;
use crate::unwind::{catch, ignore_panic};

impl Core {
    /// Starts a worker; the state says that there may be one more.
    pub(super) fn spawn(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        state.live += 1;
        self.show_hunger(&state);
        let number = state.take_number();
        drop(state);
        let deque = Deque::new(self.config.order);
        let launch = Launch {
            core: Arc::clone(self),
            member: Some((Member::new(number, deque.stealer()), deque)),
        };
        let factory = Arc::clone(&self.config.factory);
        // A factory that refuses, panics or drops the body: `Launch` takes the promise back.
        ignore_panic(|| drop(factory.new_thread(ThreadBody::new(move || launch.run()))));
    }

    /// Takes a worker off the books; the last of a pool that is shut down ends it.
    fn leave(self: &Arc<Self>, member: &Arc<Member>) {
        let mut state = self.lock();
        self.exit(&mut state, member);
        self.count_out(state);
        // Work that came while the one who has left was still counted on.
        // Mutant: it is left to nobody.
        if !mutant!("leave_forgets_the_queue") {
            self.feed_queued();
        }
    }

    fn count_out(&self, mut state: MutexGuard<'_, State>) {
        state.live -= 1;
        self.show_hunger(&state);
        let callers = if state.live == 0 {
            state.callers.clone()
        } else {
            Vec::new()
        };
        self.settle(state);
        callers.iter().for_each(|caller| caller.unpark());
    }

    /// Has the current thread, which is no worker of the pool, take part while `f` runs, and until
    /// all that it has forked itself is done.
    pub(super) fn as_guest<R>(self: &Arc<Self>, f: impl FnOnce(&Local) -> R) -> R {
        let deque = Deque::new(self.config.order);
        let member = {
            let mut state = self.lock();
            state.guests += 1;
            Member::new(state.take_number(), deque.stealer())
        };
        self.enter(&member);
        let local = Local::guest(self, &member, deque);
        let ended = local.enter(|| {
            let ended = catch(|| f(&local));
            while let Some(own) = local.deque.pop() {
                local.run(own);
            }
            ended
        });
        let mut state = self.lock();
        self.exit(&mut state, &member);
        state.guests -= 1;
        self.settle(state);
        ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }

    /// Has the current thread run submissions until there are none.
    pub(super) fn run_submissions(self: &Arc<Self>) {
        self.as_guest(|local| {
            while let Some(work) = self.take_submission() {
                local.run(work);
            }
        });
    }

    /// Notes that this thread has to see to its job itself when no worker is left.
    pub(super) fn add_caller(&self, me: &Arc<ThreadContext>) -> Caller<'_> {
        self.lock().callers.push(Arc::clone(me));
        Caller(self, Arc::clone(me))
    }

    /// Does what was submitted for this thread's wait, if no worker is there to do it.
    pub(super) fn stand_in(self: &Arc<Self>, group: usize) -> bool {
        if !self.has_no_workers() {
            return false;
        }
        match self.take_submission_if(|work| work.group() == Some(group)) {
            Some(own) => {
                self.as_guest(|local| local.run(own));
                true
            }
            None => false,
        }
    }
}

/// Undoes [`Core::add_caller`].
pub(super) struct Caller<'a>(&'a Core, Arc<ThreadContext>);

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        let at = state.callers.iter().position(|me| Arc::ptr_eq(me, &self.1));
        if let Some(at) = at {
            state.callers.swap_remove(at);
        }
    }
}

impl State {
    fn take_number(&mut self) -> usize {
        self.next_number += 1;
        self.next_number - 1
    }
}

/// What a worker's thread runs; if it never does, the worker is taken off the books again.
struct Launch {
    core: Arc<Core>,
    member: Option<(Arc<Member>, Deque)>,
}

impl Launch {
    fn run(mut self) {
        if let Some((member, deque)) = self.member.take() {
            let core = Arc::clone(&self.core);
            core.enter(&member);
            let ended = catch(|| worker::run(&core, &member, deque));
            core.leave(&member);
            if let Err(payload) = ended {
                core.report(Failure::from_panic(payload));
            }
        }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        if self.member.is_some() {
            self.core.count_out(self.core.lock());
        }
    }
}

/// Gives work to the pool; where there are to be no workers, the current thread does it.
pub(super) fn submit(core: &Arc<Core>, work: Work) -> Result<(), Work> {
    if core.submit(work)? == Taken::ForNobody {
        core.run_submissions();
    }
    Ok(())
}
