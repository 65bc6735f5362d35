//! The thread-local part of a worker, and the access to it from code that runs on the worker.

#![expect(
    unsafe_code,
    reason = "the worker's own data is found through a pointer in a thread-local"
)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr;
use std::sync::Arc;

use super::deque::{Deque, LocalOrder};
use super::job::{JobRef, StackJobRef, WaiterId, Work};
use super::private_jobs::PrivateJobs;
use super::roster::{WorkerInfo, Workers};
use super::shared::{PoolHooks, Shared};
use crate::hooks::{Panicked, RunEnd, run_hooked};
use crate::interrupt::ThreadContext;
use crate::sync::{Deadline, const_thread_local};
use crate::task::{Cancellation, Failure, RunOutcome, Task, TaskId, suspended};
use crate::times::{BegunRun, Ending, Stopwatch, TaskRecord};
use crate::unwind::{catch, discard, ignore_panic};

const_thread_local! {
    static LOCAL: Cell<*const Local> = Cell::new(ptr::null());
}

const_thread_local! {
    static OUTER: Cell<*const Outer> = Cell::new(ptr::null());
}

/// The local part that another one hides: that of a worker which is a guest of a second pool.
///
/// It is on the stack of [`Local::enter`]. A list of its own, so that the access to the current local
/// part takes one step.
struct Outer {
    local: *const Local,
    next: *const Outer,
}

/// The thread-local part of a worker. It is on the stack of the worker's thread while that runs
/// tasks.
pub(super) struct Local {
    pub(super) shared: Arc<Shared>,
    pub(super) worker: Arc<WorkerInfo>,
    pub(super) deque: Deque<Work>,
    pub(super) context: Arc<ThreadContext>,
    /// Jobs of the joins that this worker is in and has not shared. All are newer than the shared ones.
    private_jobs: PrivateJobs,
    /// The state of the random choice of victims.
    victim: Cell<usize>,
    /// The last snapshot of the roster, and its epoch.
    victims: RefCell<Option<(usize, Arc<Workers>)>>,
    kind: Kind,
    /// Times the tasks.
    pub(super) stopwatch: Stopwatch,
    /// Whether the pool has sources of context.
    pub(super) propagates: bool,
    /// The nesting depth of the work that this thread runs.
    depth: Cell<usize>,
    /// The nesting depth of this thread's waits; it counts as blocked once.
    waits: Cell<usize>,
}

/// How long a deque may be to be searched by a worker that is about to wait: a longer one is left to the
/// worker that replaces it.
const NEAR: usize = 64;

/// What a worker does with the tasks that it takes in its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskPolicy {
    Run,
    /// Cancels them: they were forked after `shutdown_now`.
    Cancel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Worker,
    /// A thread from outside, which does not count as a worker.
    Helper,
}

impl Local {
    pub(super) fn new(shared: &Arc<Shared>, worker: &Arc<WorkerInfo>, deque: Deque<Work>) -> Self {
        Self {
            shared: Arc::clone(shared),
            worker: Arc::clone(worker),
            deque,
            context: ThreadContext::current(),
            private_jobs: PrivateJobs::new(),
            victim: Cell::new(worker.index.wrapping_mul(0x9E37_79B9)),
            victims: RefCell::new(None),
            kind: Kind::Worker,
            stopwatch: Stopwatch::new(&shared.tracker, &worker.activity, &shared.clock),
            propagates: !shared.config.sources.is_empty(),
            depth: Cell::new(0),
            waits: Cell::new(0),
        }
    }

    /// Creates the local part of a thread that is no worker and runs work of the pool.
    pub(super) fn helper(
        shared: &Arc<Shared>,
        worker: &Arc<WorkerInfo>,
        deque: Deque<Work>,
    ) -> Self {
        Self {
            kind: Kind::Helper,
            // The thread is inside its own code.
            depth: Cell::new(1),
            ..Self::new(shared, worker, deque)
        }
    }

    /// Makes this the local part of the current thread while `f` runs. The former one stays known to
    /// [`of`](Self::of).
    pub(super) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a Outer);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                LOCAL.with(|local| local.set(self.0.local));
                OUTER.with(|outer| outer.set(self.0.next));
            }
        }
        let hidden = Outer {
            local: LOCAL.with(|local| local.replace(ptr::from_ref(self))),
            next: OUTER.with(Cell::get),
        };
        let _leave = Leave(&hidden);
        OUTER.with(|outer| outer.set(&raw const hidden));
        f()
    }

    /// Runs `f` with the local part of the current thread, if it is a worker.
    #[inline]
    pub(super) fn with<R>(f: impl FnOnce(Option<&Self>) -> R) -> R {
        let local = LOCAL.try_with(Cell::get).unwrap_or(ptr::null());
        // SAFETY: set by `enter` on this thread, and reset before the `Local` is dropped.
        f(unsafe { local.as_ref() })
    }

    /// Runs `f` with the local part that the current thread has in this pool, if any, as the current one.
    ///
    /// A worker that is a guest of another pool is found here, and by [`with`](Self::with) as the guest.
    pub(super) fn of<R>(shared: &Arc<Shared>, f: impl FnOnce(Option<&Self>) -> R) -> R {
        Self::search_outwards(
            |local| local.is_of(shared),
            |found| match found {
                None => f(None),
                Some(local) => local.as_current(|| f(Some(local))),
            },
        )
    }

    /// Runs `f` with this local part, which is one of the current thread's, as the current one.
    pub(super) fn as_current<R>(&self, f: impl FnOnce() -> R) -> R {
        if LOCAL.with(|local| ptr::eq(local.get(), self)) {
            f()
        } else {
            self.enter(f)
        }
    }

    /// Returns whether the current thread takes part in this pool.
    pub(super) fn is_in(shared: &Arc<Shared>) -> bool {
        Self::search_outwards(|local| local.is_of(shared), |found| found.is_some())
    }

    /// Returns whether this is the local part of a worker, and not of a guest.
    pub(super) fn is_worker(&self) -> bool {
        self.kind == Kind::Worker
    }

    /// Runs `f` with the first of the local parts of the current thread, from the current one outwards,
    /// for which `is_wanted` returns true.
    fn search_outwards<R>(
        mut is_wanted: impl FnMut(&Self) -> bool,
        f: impl FnOnce(Option<&Self>) -> R,
    ) -> R {
        let mut local = LOCAL.try_with(Cell::get).unwrap_or(ptr::null());
        let mut outer = OUTER.try_with(Cell::get).unwrap_or(ptr::null());
        // SAFETY: set by `enter` on this thread, and reset before the `Local` is dropped.
        while let Some(found) = unsafe { local.as_ref() } {
            if is_wanted(found) {
                return f(Some(found));
            }
            // SAFETY: it is on the stack of an `enter` that has not returned.
            let Some(hidden) = (unsafe { outer.as_ref() }) else {
                break;
            };
            (local, outer) = (hidden.local, hidden.next);
        }
        f(None)
    }

    /// Returns whether this is a worker of this pool.
    #[inline]
    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// Returns the newest of the private jobs.
    #[inline]
    pub(super) fn newest_private(&self) -> Option<StackJobRef> {
        self.private_jobs.newest()
    }

    /// Adds the job of a join: private if joins are short, an older job is shared, and nobody asks for
    /// more; otherwise where others can steal it.
    #[inline]
    pub(super) fn offer_join_job(&self, job: StackJobRef) {
        let jobs = &self.private_jobs;
        // A list that has jobs has them because joins are short and an older one is shared.
        if jobs.is_empty() || self.worker.is_asked() {
            return self.offer_first_join_job(job);
        }
        jobs.push(job);
    }

    #[cold]
    #[inline(never)]
    fn offer_first_join_job(&self, job: StackJobRef) {
        let jobs = &self.private_jobs;
        let is_asked = self.worker.is_asked();
        if !is_asked && jobs.are_joins_short() && self.deque.newest_is_join_job() {
            return jobs.push(job);
        }
        if is_asked {
            self.share_private();
        }
        self.push(Work::Job(job.share()));
    }

    /// Adds a private job, whatever the pace of joins.
    #[cfg(all(test, not(shuttle)))]
    pub(super) fn keep_private(&self, job: StackJobRef) {
        self.private_jobs.push(job);
    }

    /// Ends the innermost join: takes its job back if it is private; returns whether it was.
    #[inline]
    #[must_use]
    pub(super) fn take_private(&self, job: StackJobRef) -> bool {
        let is_private = self.private_jobs.pop(job);
        if is_private && self.worker.is_asked() {
            self.share_private();
        }
        is_private
    }

    /// Moves all private jobs to the deque, where others can steal them.
    #[cold]
    fn share_private(&self) {
        self.shared.sleep.answer(&self.worker);
        self.private_jobs
            .drain(|job| self.push(Work::Job(job.share())));
    }

    /// Takes the shared job of the innermost join from the worker's own deque.
    pub(super) fn take_shared(&self, waiter: WaiterId) -> Option<Work> {
        // There are no private jobs: all would be newer, and belong to joins that have ended.
        self.private_jobs.count_shared();
        if self.shared.config.order == LocalOrder::Lifo {
            return self.take_for(waiter);
        }
        // It is the newest, unless newer work was forked and is still there.
        let newest = self.deque.pop_newest()?;
        if newest.is_for(waiter) {
            return Some(newest);
        }
        self.deque.push(newest);
        self.take_for(waiter)
    }

    /// Prepares for work that is unrelated to what this worker has run.
    #[inline]
    pub(super) fn begin_unrelated(&self) {
        self.private_jobs.forget_pace();
    }

    /// Pushes work to the deque, and wakes a worker for it if one would take it.
    #[inline]
    pub(super) fn push(&self, work: Work) {
        self.deque.push(work);
        self.shared.notify_work();
    }

    /// Takes work of this waiter from the worker's own deque; other work stays there.
    pub(super) fn take_for(&self, waiter: WaiterId) -> Option<Work> {
        self.take_if(|work| work.is_for(waiter))
    }

    /// Takes work for which `wanted` returns true from the worker's own deque: the first that the owner
    /// would pop.
    ///
    /// Work that has to be popped before it is pushed back; thieves cannot steal it meanwhile. In a FIFO
    /// deque, other work for which `wanted` returns true is first afterwards.
    pub(super) fn take_if(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
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

    /// Takes the newest work from the worker's own deque if `wanted` returns true for it; in FIFO order,
    /// any such work.
    pub(super) fn take_newest_if(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        if self.shared.config.order == LocalOrder::Fifo {
            return self.take_if(wanted);
        }
        let newest = self.deque.pop()?;
        if wanted(&newest) {
            return Some(newest);
        }
        self.push(newest);
        None
    }

    /// Takes this task from the worker's own deque, if it can be found there in few steps.
    pub(super) fn take_near(&self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        if self.worker.stealer.len() <= NEAR {
            self.take_if(wanted)
        } else if self.shared.config.order == LocalOrder::Lifo {
            self.take_newest_if(wanted)
        } else {
            None
        }
    }

    /// Runs `wait`, which may block; meanwhile another worker may replace the current one, in the pool
    /// whose worker it is, wherever it is a guest.
    pub(super) fn while_blocked<R>(wait: impl FnOnce() -> R) -> R {
        struct End<'a>(&'a Local);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.waits.set(self.0.waits.get() - 1);
                if self.0.waits.get() == 0 {
                    self.0.shared.end_blocking();
                }
            }
        }
        Self::search_outwards(Self::is_worker, |found| {
            let Some(worker) = found else { return wait() };
            if worker.waits.get() == 0 {
                worker.shared.begin_blocking();
            }
            worker.waits.set(worker.waits.get() + 1);
            let _end = End(worker);
            wait()
        })
    }

    /// Runs `f` inside [`while_blocked`](Self::while_blocked) as if outside: the worker is not blocked
    /// while it runs what it waits for.
    pub(super) fn while_running<R>(f: impl FnOnce() -> R) -> R {
        struct Block<'a>(&'a Local, usize);
        impl Drop for Block<'_> {
            fn drop(&mut self) {
                self.0.shared.begin_blocking();
                self.0.waits.set(self.1);
            }
        }
        let is_blocked = |local: &Self| local.waits.get() > 0;
        Self::search_outwards(is_blocked, |found| {
            let _block = found.map(|worker| {
                worker.shared.end_blocking();
                Block(worker, worker.waits.replace(0))
            });
            f()
        })
    }

    /// Runs `f` with each of the local parts of the current thread, from the current one outwards, until
    /// it returns true.
    pub(super) fn visit_until(f: impl FnMut(&Self) -> bool) -> bool {
        Self::search_outwards(f, |found| found.is_some())
    }

    /// Parks until `is_over` returns true; it is called again after every wake-up. Interrupts stay pending.
    pub(super) fn park_until(&self, is_over: impl Fn() -> bool) {
        while !is_over() {
            let _ = self.context.park_uninterruptibly(Deadline::Never);
        }
    }

    /// Steals from other workers, or takes a submission.
    pub(super) fn find_work(&self) -> Option<Work> {
        self.steal().or_else(|| self.shared.take_submission())
    }

    /// Steals from other workers.
    pub(super) fn steal(&self) -> Option<Work> {
        let victim = self.victim.get();
        self.victim.set(
            victim
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
        self.steal_from_snapshot(victim >> 16)
    }

    /// Steals from the workers of the last snapshot of the roster, if it is still current.
    ///
    /// It may miss the deque of a worker that is being added. That is harmless: before it sleeps, a
    /// worker reads the newest list.
    fn steal_from_snapshot(&self, first: usize) -> Option<Work> {
        let epoch = self.shared.roster.epoch();
        let mut victims = self.victims.borrow_mut();
        let (_, workers) = match &mut *victims {
            Some(known) if known.0 == epoch => known,
            outdated => outdated.insert((epoch, self.shared.roster.snapshot())),
        };
        workers.steal(first)
    }

    /// Asks the workers of the last snapshot of the roster for their private jobs.
    pub(super) fn ask_victims(&self) {
        if let Some((_, workers)) = &*self.victims.borrow() {
            workers.ask_all();
        }
    }

    /// Returns whether a worker of the last snapshot of the roster has work that can be stolen.
    pub(super) fn has_victim(&self) -> bool {
        let victims = self.victims.borrow();
        let workers = victims.as_ref().map(|(_, workers)| workers);
        workers.is_some_and(|workers| workers.queued() > 0)
    }

    /// Drops the snapshot of the roster, which would keep retired workers in memory.
    pub(super) fn forget_victims(&self) {
        *self.victims.borrow_mut() = None;
    }

    /// Returns whether this worker runs or cancels the tasks that it takes from now on.
    ///
    /// Read before the task is taken: a task that was queued before the pool stopped is run by the
    /// worker that has taken it, or returned by `shutdown_now`, but never cancelled.
    #[inline]
    pub(super) fn task_policy(&self) -> TaskPolicy {
        if self.shared.is_stopping() {
            TaskPolicy::Cancel
        } else {
            TaskPolicy::Run
        }
    }

    /// Runs all work in the worker's own deque, at the top of its loop.
    ///
    /// One `catch_unwind` covers all tasks until one panics.
    pub(super) fn run_own(&self) {
        let run_all = || {
            loop {
                let policy = self.task_policy();
                let Some(work) = self.deque.pop() else { break };
                self.run_at_top(work, policy);
            }
        };
        while let Err(payload) = catch(run_all) {
            self.panicked(self.stopwatch.last_task(), payload);
        }
    }

    /// Runs a piece of work at the top of the worker's loop; a task's panic unwinds.
    #[inline]
    fn run_at_top(&self, work: Work, policy: TaskPolicy) {
        match work {
            Work::Job(job) => self.run_job(job),
            Work::Task(task, _) if policy == TaskPolicy::Cancel => {
                ignore_panic(|| task.abandon(Cancellation::Shutdown));
            }
            Work::Task(task, _) => {
                if self.private_jobs.are_joins_short() {
                    self.begin_unrelated();
                }
                // Clears an interrupt of the preceding task; one of `shutdown_now` stays pending.
                if self.context.take_interrupt() {
                    self.interrupt_if_stopping();
                }
                let (id, run) = (task.id(), self.stopwatch.begin(&task));
                let _shown = self.show(id, run);
                match &self.shared.config.hooks {
                    None => self.count(id, run, task.run_at_top()),
                    Some(hooks) => self.run_hooked(run, task, hooks),
                }
            }
        }
    }

    /// Runs a piece of work in the worker's loop; its panic does not leave this function.
    pub(super) fn run_in_loop(&self, work: Work, policy: TaskPolicy) {
        if let Work::Job(job) = work {
            // A job keeps its panic for the thread that waits for it.
            return self.run_job(job);
        }
        if let Err(payload) = catch(|| self.run_at_top(work, policy)) {
            self.panicked(self.stopwatch.last_task(), payload);
        }
    }

    /// Counts and reports a panic of a task that no handle receives.
    #[cold]
    fn panicked(&self, id: TaskId, payload: Box<dyn Any + Send>) {
        self.worker.tasks.count_panic();
        let failure = Failure::from_panic(payload);
        let records = &self.shared.tracker.records;
        if records.is_kept() {
            let record = TaskRecord::new(id, self.shared.clock.now(), Ending::Panicked);
            records.add_failed(record.with_message(&failure));
        }
        self.shared.report(failure);
    }

    /// Counts a task that has ended here.
    #[inline]
    pub(super) fn count(&self, id: TaskId, run: BegunRun, outcome: RunOutcome) {
        match &outcome {
            RunOutcome::Completed => {}
            RunOutcome::Skipped => self.stopwatch.skip(run),
            RunOutcome::Failed(failure) => self.record_failure(id, run, failure),
        }
        self.worker.tasks.count(outcome);
    }

    /// Records a task that has failed, if somebody wants to know.
    #[cold]
    fn record_failure(&self, id: TaskId, run: BegunRun, failure: &Failure) {
        let records = &self.shared.tracker.records;
        if records.is_kept() {
            let record = self.stopwatch.describe(run, id, Ending::of(failure));
            records.add_failed(record.with_message(failure));
        }
    }

    /// Runs a task between the hooks of the pool; no panic leaves this function.
    #[cold]
    fn run_hooked(&self, run: BegunRun, task: Task, hooks: &PoolHooks) {
        let id = task.id();
        let ended = run_hooked(&mut Some(task), &*hooks.hooks, hooks.takes_times);
        if matches!(ended, RunEnd::Skipped) {
            self.stopwatch.skip(run);
        }
        self.worker.tasks.count_hooked(&ended);
        match ended {
            RunEnd::Ended | RunEnd::Skipped => {}
            RunEnd::Failed(failure) => {
                self.record_failure(id, run, &failure);
                // This may be the last reference, and the drop of its payload may panic.
                discard(failure);
            }
            RunEnd::Panicked { failure, by } => {
                if by == Panicked::Task {
                    self.record_failure(id, run, &failure);
                }
                self.shared.report(failure);
            }
        }
    }

    /// Runs a piece of work inside other work; its panic does not leave this function.
    pub(super) fn run(&self, work: Work) {
        match work {
            Work::Job(job) => self.run_job(job),
            Work::Task(task, _) => {
                let (id, run) = (task.id(), self.stopwatch.begin(&task));
                self.run_nested(id, run, || match &self.shared.config.hooks {
                    None => self.count(id, run, task.run_inside()),
                    Some(hooks) => suspended(|| self.run_hooked(run, task, hooks)),
                });
            }
        }
    }

    fn is_at_top(&self) -> bool {
        self.depth.get() == 0
    }

    fn run_job(&self, job: JobRef) {
        if self.is_at_top() {
            self.context.take_interrupt();
            self.interrupt_if_stopping();
        }
        let thief = (!self.has_older_work()).then_some(self.worker.index);
        self.depth.set(self.depth.get() + 1);
        // SAFETY: a thread that takes a reference from a deque or list runs it, once.
        unsafe { job.run(thief) };
        self.depth.set(self.depth.get() - 1);
    }

    /// Returns a join job that the current thread has stolen to its owner.
    pub(super) fn return_job(job: JobRef) {
        // SAFETY: a thread that takes a reference from a deque or list runs or returns it, once.
        unsafe { job.return_to_owner() };
    }

    /// Returns whether others can steal from this worker, or could if they asked.
    #[inline]
    pub(super) fn has_work_for_others(&self) -> bool {
        self.has_older_work()
    }

    /// Returns whether a leapfrogging thief could find work here that is unrelated to what this worker
    /// is about to run: in its deque, or among the private jobs.
    #[inline]
    fn has_older_work(&self) -> bool {
        let has_private = !self.private_jobs.is_empty();
        has_private || !self.deque.is_empty()
    }

    /// Publishes which task this worker runs, until the guard is dropped, which ends the run.
    #[inline]
    fn show(&self, id: TaskId, run: BegunRun) -> Shown<'_> {
        let shown = if self.has_older_work() {
            0
        } else {
            id.as_u64()
        };
        self.depth.set(self.depth.get() + 1);
        Shown {
            local: self,
            run,
            outer: self.worker.set_current_task(shown),
        }
    }

    /// Runs `f` inside other work as the task with this id; its panic is reported.
    ///
    /// An interrupt for the outer work stays pending, or becomes so if it comes meanwhile; one for the
    /// task ends with the task.
    pub(super) fn run_nested(&self, id: TaskId, run: BegunRun, f: impl FnOnce()) {
        let outer = self.context.begin_nested();
        self.interrupt_if_stopping();
        let shown = self.show(id, run);
        let ended = catch(f);
        drop(shown);
        self.context.end_nested(outer, id.as_u64());
        if let Err(payload) = ended {
            self.panicked(id, payload);
        }
    }

    /// Sets an interrupt if the pool stops.
    ///
    /// Called after the interrupt of other work was taken, and `shutdown_now` stops the pool before it
    /// interrupts. So if its interrupt was taken, the pool is seen to stop.
    fn interrupt_if_stopping(&self) {
        if self.shared.is_stopping() {
            self.context.set_interrupted();
        }
    }
}

/// Undoes [`Local::show`], also when the task panics.
struct Shown<'a> {
    local: &'a Local,
    run: BegunRun,
    outer: u64,
}

impl Drop for Shown<'_> {
    #[inline]
    fn drop(&mut self) {
        self.local.depth.set(self.local.depth.get() - 1);
        self.local.worker.set_current_task(self.outer);
        self.local.stopwatch.end(self.run);
    }
}

/// Returns the index of the worker that this is called on, which no other worker of its pool has or
/// had; `None` outside.
#[must_use]
#[doc(alias = "inForkJoinPool")]
#[doc(alias = "getPoolIndex")]
pub fn worker_index() -> Option<usize> {
    Local::with(|local| local.map(|local| local.worker.index))
}
