//! What a worker has for itself, and how code that runs on it finds it.

#![expect(
    unsafe_code,
    reason = "the worker's own data is found through a pointer in a thread-local"
)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;

use super::core::{Core, Member};
use super::deque::Deque;
use super::job::{JobRef, Work};
use crate::containment::catch;
use crate::interrupt::Record;
use crate::sync::const_thread_local;
use crate::task::{Failure, Task};

const_thread_local! {
    static LOCAL: Cell<*const Local> = Cell::new(ptr::null());
}

/// The private side of a worker. It lives on the stack of the worker's thread while that runs tasks.
pub(super) struct Local {
    pub(super) core: Arc<Core>,
    pub(super) member: Arc<Member>,
    pub(super) deque: Deque,
    pub(super) record: Arc<Record>,
    /// Jobs of the joins that this worker is in, the oldest first. Nobody else sees them: sharing one
    /// means moving it to the deque, and is done only if somebody is hungry.
    jobs: RefCell<VecDeque<JobRef>>,
    victim: Cell<usize>,
}

impl Local {
    pub(super) fn new(core: &Arc<Core>, member: &Arc<Member>, deque: Deque) -> Self {
        Self {
            core: Arc::clone(core),
            member: Arc::clone(member),
            deque,
            record: Record::current(),
            jobs: RefCell::new(VecDeque::new()),
            victim: Cell::new(member.number.wrapping_mul(0x9E37_79B9)),
        }
    }

    /// Makes this the private side of the current thread while `f` runs.
    pub(super) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                LOCAL.with(|local| local.set(ptr::null()));
            }
        }
        LOCAL.with(|local| local.set(ptr::from_ref(self)));
        let _leave = Leave;
        f()
    }

    /// Runs `f` with the private side of the current thread, if it is a worker.
    #[inline]
    pub(super) fn with<R>(f: impl FnOnce(Option<&Self>) -> R) -> R {
        let local = LOCAL.try_with(Cell::get).unwrap_or(ptr::null());
        // SAFETY: set by `enter` on this thread, and taken back before the `Local` is gone.
        f(unsafe { local.as_ref() })
    }

    /// Whether the current thread is a worker of this pool.
    pub(super) fn is_of(&self, core: &Arc<Core>) -> bool {
        Arc::ptr_eq(&self.core, core)
    }

    pub(super) fn exposed(&self) -> usize {
        self.jobs.borrow().len()
    }

    #[inline]
    pub(super) fn push_job(&self, job: JobRef) {
        self.jobs.borrow_mut().push_back(job);
    }

    /// Takes the newest job back, if it is this one.
    #[inline]
    pub(super) fn take_back(&self, job: *const ()) -> bool {
        let mut jobs = self.jobs.borrow_mut();
        let is_mine = jobs.back().is_some_and(|newest| newest.is(job));
        if is_mine {
            jobs.pop_back();
        }
        is_mine
    }

    /// Gives the oldest job to whoever is hungry.
    #[cold]
    pub(super) fn share_job(&self) {
        let oldest = self.jobs.borrow_mut().pop_front();
        if let Some(job) = oldest {
            self.push(Work::Job(job));
        }
    }

    /// Puts work where others can take it.
    pub(super) fn push(&self, work: Work) {
        self.deque.push(work);
        self.core.announce_work();
    }

    /// Work of others, and whether there may be more of it.
    pub(super) fn steal(&self) -> Option<Work> {
        let victim = self.victim.get();
        self.victim.set(
            victim
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
        let stolen = self
            .core
            .steal(victim >> 16)
            .or_else(|| self.core.take_submission());
        if stolen.is_some() {
            // What one finds, others may find too: a chain of wake-ups instead of a herd.
            self.core.announce_work();
        }
        stolen
    }

    /// Runs a piece of work; its panics end here.
    pub(super) fn run(&self, work: Work) {
        match work {
            // SAFETY: a reference in a deque is run once, by whoever takes it out.
            Work::Job(job) => unsafe { job.run(self.member.number) },
            Work::Task(task) => self.run_task(task),
        }
    }

    pub(super) fn run_task(&self, task: Task) {
        self.settle_interrupt();
        let outer = self.member.set_current(task.id().as_u64());
        let ended = catch(|| task.run());
        self.member.set_current(outer);
        if let Err(payload) = ended {
            self.core.report(&Failure::from_panic(payload));
        }
    }

    /// A task starts without the interrupt of its predecessor, and with one if the pool is stopping.
    fn settle_interrupt(&self) {
        self.record.take_flag();
        if self.core.is_stopping() {
            self.record.set_flag();
        }
    }
}
