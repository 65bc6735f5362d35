//! How a thread comes to take part in a pool, and how it leaves.

use std::sync::Arc;

use super::deque::Deque;
use super::job::Work;
use super::local::Local;
use super::roster::WorkerInfo;
use super::shared::{Accepted, Shared, State};
use super::worker;
use crate::interrupt::ThreadContext;
use crate::sync::{MutexGuard, mutant};
use crate::task::Failure;
use crate::thread_factory::ThreadBody;
use crate::unwind::{catch, ignore_panic};

impl Shared {
    /// Starts a worker; the state says that there may be one more.
    pub(super) fn spawn(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        state.live += 1;
        self.publish_wakeable(&state);
        let index = state.take_index();
        drop(state);
        let deque = Deque::new(self.config.order);
        let launch = WorkerStart {
            shared: Arc::clone(self),
            info: Some((WorkerInfo::new(index, deque.stealer()), deque)),
        };
        let factory = Arc::clone(&self.config.factory);
        // A factory that refuses, panics or drops the body: `WorkerStart` takes the promise back.
        ignore_panic(|| drop(factory.new_thread(ThreadBody::new(move || launch.run()))));
    }

    /// Takes a worker off the books; the last of a pool that is shut down ends it.
    fn leave(self: &Arc<Self>, info: &Arc<WorkerInfo>) {
        let mut state = self.lock();
        self.exit(&mut state, info);
        self.deregister(state);
        // Work that came while the one who has left was still counted on.
        // Mutant: it is left to nobody.
        if !mutant!("leave_forgets_the_queue") {
            self.wake_for_queued();
        }
    }

    fn deregister(&self, mut state: MutexGuard<'_, State>) {
        state.live -= 1;
        self.publish_wakeable(&state);
        let callers = if state.live == 0 {
            state.callers.clone()
        } else {
            Vec::new()
        };
        self.try_terminate(state);
        callers.iter().for_each(|caller| caller.unpark());
    }

    /// Has the current thread, which is no worker of the pool, take part while `f` runs, and until
    /// all that it has forked itself is done.
    pub(super) fn as_helper<R>(self: &Arc<Self>, f: impl FnOnce(&Local) -> R) -> R {
        let deque = Deque::new(self.config.order);
        let info = {
            let mut state = self.lock();
            state.helpers += 1;
            WorkerInfo::new(state.take_index(), deque.stealer())
        };
        self.enter(&info);
        let local = Local::helper(self, &info, deque);
        let ended = local.enter(|| {
            let ended = catch(|| f(&local));
            while let Some(own) = local.deque.pop() {
                local.run(own);
            }
            ended
        });
        let mut state = self.lock();
        self.exit(&mut state, &info);
        state.helpers -= 1;
        self.try_terminate(state);
        ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }

    /// Has the current thread run submissions until there are none.
    pub(super) fn run_submissions(self: &Arc<Self>) {
        self.as_helper(|local| {
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
    pub(super) fn stand_in(self: &Arc<Self>, waiter: usize) -> bool {
        if !self.has_no_workers() {
            return false;
        }
        match self.take_submission_if(|work| work.waiter() == Some(waiter)) {
            Some(own) => {
                self.as_helper(|local| local.run(own));
                true
            }
            None => false,
        }
    }
}

/// Undoes [`Shared::add_caller`].
pub(super) struct Caller<'a>(&'a Shared, Arc<ThreadContext>);

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
    fn take_index(&mut self) -> usize {
        self.next_index += 1;
        self.next_index - 1
    }
}

/// What a worker's thread runs; if it never does, the worker is taken off the books again.
struct WorkerStart {
    shared: Arc<Shared>,
    info: Option<(Arc<WorkerInfo>, Deque)>,
}

impl WorkerStart {
    fn run(mut self) {
        if let Some((info, deque)) = self.info.take() {
            let shared = Arc::clone(&self.shared);
            shared.enter(&info);
            let ended = catch(|| worker::run(&shared, &info, deque));
            shared.leave(&info);
            if let Err(payload) = ended {
                shared.report(Failure::from_panic(payload));
            }
        }
    }
}

impl Drop for WorkerStart {
    fn drop(&mut self) {
        if self.info.is_some() {
            self.shared.deregister(self.shared.lock());
        }
    }
}

/// Gives work to the pool; where there are to be no workers, the current thread does it.
pub(super) fn submit(shared: &Arc<Shared>, work: Work) -> Result<(), Work> {
    if shared.submit(work)? == Accepted::WithoutWorkers {
        shared.run_submissions();
    }
    Ok(())
}
