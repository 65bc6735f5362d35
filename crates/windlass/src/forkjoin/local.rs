//! What a worker has for itself, and how code that runs on it finds it.

#![expect(
    unsafe_code,
    reason = "the worker's own data is found through a pointer in a thread-local"
)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;

use super::deque::{Deque, LocalOrder};
use super::job::{JobRef, NOBODY, Work};
use super::roster::WorkerInfo;
use super::shared::{Shared, Workers, steal_from};
use crate::interrupt::ThreadContext;
use crate::sync::{const_thread_local, mutant};
use crate::task::{Cancellation, Failure};
use crate::unwind::{catch, ignore_panic};

const_thread_local! {
    static LOCAL: Cell<*const Local> = Cell::new(ptr::null());
}

/// The private side of a worker. It lives on the stack of the worker's thread while that runs tasks.
pub(super) struct Local {
    pub(super) shared: Arc<Shared>,
    pub(super) info: Arc<WorkerInfo>,
    pub(super) deque: Deque,
    pub(super) context: Arc<ThreadContext>,
    /// Jobs of the joins that this worker is in, the oldest first. Nobody else sees them: sharing one
    /// means moving it to the deque, and is done only if somebody is wakeable.
    jobs: RefCell<VecDeque<JobRef>>,
    /// How many these are: a copy that every join can afford to read.
    private_len: Cell<usize>,
    victim: Cell<usize>,
    /// The list of workers as this one last took it, and its epoch.
    others: RefCell<Option<(usize, Arc<Workers>)>>,
    /// Whether this is a thread from outside that helps.
    is_helper: bool,
    /// How many pieces of work this thread is in, one inside the other.
    depth: Cell<usize>,
    /// How many waits this thread is in, one inside the other; it counts as blocked once.
    waits: Cell<usize>,
}

impl Local {
    pub(super) fn new(shared: &Arc<Shared>, info: &Arc<WorkerInfo>, deque: Deque) -> Self {
        Self {
            shared: Arc::clone(shared),
            info: Arc::clone(info),
            deque,
            context: ThreadContext::current(),
            jobs: RefCell::new(VecDeque::new()),
            private_len: Cell::new(0),
            victim: Cell::new(info.index.wrapping_mul(0x9E37_79B9)),
            others: RefCell::new(None),
            is_helper: false,
            depth: Cell::new(0),
            waits: Cell::new(0),
        }
    }

    /// The same for a thread from outside, which does not count as a worker.
    pub(super) fn helper(shared: &Arc<Shared>, info: &Arc<WorkerInfo>, deque: Deque) -> Self {
        Self {
            is_helper: true,
            // It is in the middle of something of its own.
            depth: Cell::new(1),
            ..Self::new(shared, info, deque)
        }
    }

    /// Makes this the private side of the current thread while `f` runs.
    pub(super) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave(*const Local);
        impl Drop for Leave {
            fn drop(&mut self) {
                LOCAL.with(|local| local.set(self.0));
            }
        }
        let _leave = Leave(LOCAL.with(|local| local.replace(ptr::from_ref(self))));
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
    #[inline]
    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// How many jobs wait to be shared.
    #[inline]
    pub(super) fn private_len(&self) -> usize {
        self.private_len.get()
    }

    pub(super) fn push_job(&self, job: JobRef) {
        self.change_jobs(|jobs| jobs.push_back(job));
    }

    /// Takes the newest job back, if it is this one.
    pub(super) fn take_back(&self, job: usize) -> bool {
        self.change_jobs(|jobs| {
            let is_mine = jobs.back().is_some_and(|newest| newest.is(job));
            if is_mine {
                jobs.pop_back();
            }
            is_mine
        })
    }

    /// Gives the oldest job to whoever is wakeable.
    #[cold]
    pub(super) fn share_job(&self) {
        if let Some(job) = self.change_jobs(VecDeque::pop_front) {
            self.push(Work::Job(job));
        }
    }

    #[inline]
    fn change_jobs<R>(&self, change: impl FnOnce(&mut VecDeque<JobRef>) -> R) -> R {
        let mut jobs = self.jobs.borrow_mut();
        let result = change(&mut jobs);
        self.private_len.set(jobs.len());
        result
    }

    /// Puts work where others can take it.
    #[inline]
    pub(super) fn push(&self, work: Work) {
        self.deque.push(work);
        self.shared.notify_work();
    }

    /// Takes work of this waiter out of the worker's own deque; all else stays there.
    pub(super) fn take_of(&self, waiter: usize) -> Option<Work> {
        self.take_where(|work| work.waiter() == Some(waiter))
    }

    /// Takes what is wanted out of the worker's own deque, the one that is easiest to reach.
    ///
    /// Thieves do not see for a moment what has to be lifted off it. An oldest-first deque has what
    /// else is wanted in front afterwards.
    pub(super) fn take_where(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        let first = self.deque.pop()?;
        if wanted(&first) {
            return Some(first);
        }
        let is_lifo = self.shared.config.order == LocalOrder::Lifo;
        let mut others = vec![first];
        let mut found = VecDeque::new();
        while let Some(work) = self.deque.pop() {
            if !wanted(&work) {
                others.push(work);
                continue;
            }
            found.push_back(work);
            if is_lifo {
                break;
            }
        }
        if is_lifo {
            others.reverse();
        }
        let taken = found.pop_front();
        for work in found.into_iter().chain(others) {
            self.deque.push(work);
        }
        self.shared.notify_work();
        taken
    }

    /// Takes the newest out of the worker's own deque if it is wanted.
    pub(super) fn take_newest_if(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        if self.shared.config.order == LocalOrder::Fifo {
            return self.take_where(wanted);
        }
        let newest = self.deque.pop()?;
        if wanted(&newest) {
            return Some(newest);
        }
        self.push(newest);
        None
    }

    /// Runs `wait`; meanwhile another worker may take this one's place.
    pub(super) fn while_blocked<R>(&self, wait: impl FnOnce() -> R) -> R {
        struct End<'a>(&'a Local);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.waits.set(self.0.waits.get() - 1);
                if self.0.waits.get() == 0 && !self.0.is_helper {
                    self.0.shared.end_block();
                }
            }
        }
        if self.waits.get() == 0 && !self.is_helper {
            self.shared.begin_block();
        }
        self.waits.set(self.waits.get() + 1);
        let _end = End(self);
        wait()
    }

    /// Work of others, or what was submitted.
    pub(super) fn steal(&self) -> Option<Work> {
        self.steal_fork().or_else(|| self.take_submission())
    }

    /// Work that others have forked.
    pub(super) fn steal_fork(&self) -> Option<Work> {
        let victim = self.victim.get();
        self.victim.set(
            victim
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
        self.notify_if_found(self.steal_from_known(victim >> 16))
    }

    /// A worker that has just come may be overlooked: who finds nothing looks at the newest list before
    /// it sleeps.
    fn steal_from_known(&self, first: usize) -> Option<Work> {
        let epoch = self.shared.epoch();
        let mut others = self.others.borrow_mut();
        let (_, workers) = match &mut *others {
            Some(known) if known.0 == epoch => known,
            outdated => outdated.insert((epoch, self.shared.workers())),
        };
        steal_from(workers, first)
    }

    /// Lets go of what would keep workers in memory that are gone.
    pub(super) fn forget_others(&self) {
        *self.others.borrow_mut() = None;
    }

    pub(super) fn take_submission(&self) -> Option<Work> {
        self.notify_if_found(self.shared.take_submission())
    }

    /// Who has found work has others look for more.
    fn notify_if_found(&self, found: Option<Work>) -> Option<Work> {
        if found.is_some() {
            self.shared.notify_more();
        }
        found
    }

    /// Runs all that this worker has forked itself, at the top of its loop.
    ///
    /// One guard against panics does for all tasks until one panics.
    pub(super) fn run_own(&self) {
        let run_all = || {
            while let Some(work) = self.deque.pop() {
                self.run_at_top(work);
            }
        };
        while let Err(payload) = catch(run_all) {
            self.shared.report(Failure::from_panic(payload));
        }
    }

    /// Runs a piece of work at the top of a worker's loop; a task's panic unwinds. Tasks of a pool that
    /// stops are dropped instead.
    #[inline]
    fn run_at_top(&self, work: Work) {
        match work {
            Work::Job(job) => self.run_job(job),
            Work::Task(task, _) if self.shared.is_stopping() => {
                ignore_panic(|| task.abandon(Cancellation::Drained));
            }
            Work::Task(task, _) => {
                self.context.take_interrupt();
                let _shown = self.show(task.id().as_u64());
                task.run();
            }
        }
    }

    /// Runs a piece of work; its panics end here.
    pub(super) fn run(&self, work: Work) {
        match work {
            Work::Job(job) => self.run_job(job),
            Work::Task(..) if self.is_at_top() => {
                if let Err(payload) = catch(|| self.run_at_top(work)) {
                    self.shared.report(Failure::from_panic(payload));
                }
            }
            Work::Task(task, _) => {
                let id = task.id().as_u64();
                self.as_task(id, || task.run());
            }
        }
    }

    fn is_at_top(&self) -> bool {
        self.depth.get() == 0
    }

    fn run_job(&self, job: JobRef) {
        if self.is_at_top() {
            self.reset_interrupt();
        }
        let thief = if self.has_older_work() {
            NOBODY
        } else {
            self.info.index
        };
        self.depth.set(self.depth.get() + 1);
        // SAFETY: a reference in a deque or a list is run once, by whoever takes it out.
        unsafe { job.run(thief) };
        self.depth.set(self.depth.get() - 1);
    }

    /// Leaves a job of a join, which this worker has taken from another, to its owner.
    pub(super) fn give_back(&self, part: JobRef) {
        // SAFETY: a reference in a deque or a list is run once, by whoever takes it out.
        unsafe { part.give_back() };
    }

    /// Whether a helper could meet work here that has nothing to do with what this worker is about to
    /// run: in its deque, or from the list of jobs, of which the oldest is shared first.
    #[inline]
    fn has_older_work(&self) -> bool {
        // Mutant: only what is shared already counts.
        let keeps_jobs = !mutant!("show_forgets_the_jobs") && self.private_len() > 0;
        keeps_jobs || !self.deque.is_empty()
    }

    /// Shows others which task this worker runs, until it has run.
    #[inline]
    fn show(&self, id: u64) -> Shown<'_> {
        let shown = if self.has_older_work() { 0 } else { id };
        self.depth.set(self.depth.get() + 1);
        Shown {
            local: self,
            outer: self.info.set_current(shown),
        }
    }

    /// Runs `f` inside other work as the task with this number; its panics are reported.
    ///
    /// An interrupt that is pending for the task around it stays pending.
    pub(super) fn as_task(&self, id: u64, f: impl FnOnce()) {
        let pending = self.reset_interrupt();
        let shown = self.show(id);
        let ended = catch(f);
        drop(shown);
        if self.is_helper {
            self.context.take_interrupt();
        }
        if pending {
            self.context.set_interrupted();
        }
        if let Err(payload) = ended {
            self.shared.report(Failure::from_panic(payload));
        }
    }

    /// A task starts without the interrupt of its predecessor, and with one if the pool is stopping.
    /// Says whether one was pending.
    fn reset_interrupt(&self) -> bool {
        let pending = self.context.take_interrupt();
        if self.shared.is_stopping() {
            self.context.set_interrupted();
        }
        pending
    }
}

/// Undoes [`Local::show`], also when the task panics.
struct Shown<'a> {
    local: &'a Local,
    outer: u64,
}

impl Drop for Shown<'_> {
    #[inline]
    fn drop(&mut self) {
        self.local.depth.set(self.local.depth.get() - 1);
        self.local.info.set_current(self.outer);
    }
}
