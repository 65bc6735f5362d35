//! What a worker can be given: a task, or a job that somebody waits for with it on his stack.

#![expect(
    unsafe_code,
    reason = "a job on a stack is reached through a pointer by its thief"
)]

use std::any::Any;
use std::fmt;
use std::num::NonZeroUsize;

use super::deque::Choice;
use super::latch::Latch;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::task::{Task, TaskId};
use crate::unwind::catch;

/// One piece of work.
#[derive(Debug)]
pub(super) enum Work {
    /// A task; if it is a node of a tree of completers, with the address of the root.
    Task(Task, Option<NonZeroUsize>),
    Job(JobRef),
}

impl Work {
    #[inline]
    pub(super) const fn task(task: Task) -> Self {
        Self::Task(task, None)
    }

    /// A node of the tree of completers with its root at this address.
    pub(super) const fn branch(task: Task, root: usize) -> Self {
        Self::Task(task, NonZeroUsize::new(root))
    }

    /// The address of what waits for it, if something does.
    pub(super) fn waiter(&self) -> Option<usize> {
        match self {
            Self::Task(_, root) => root.map(NonZeroUsize::get),
            Self::Job(job) => Some(job.waiter),
        }
    }

    pub(super) const fn is_job(&self) -> bool {
        matches!(self, Self::Job(_))
    }

    pub(super) fn is_task(&self, id: TaskId) -> bool {
        matches!(self, Self::Task(task, None) if task.id() == id)
    }

    pub(super) fn into_job(self) -> Option<JobRef> {
        match self {
            Self::Task(..) => None,
            Self::Job(job) => Some(job),
        }
    }

    pub(super) fn into_task(self) -> Option<Task> {
        match self {
            Self::Task(task, _) => Some(task),
            Self::Job(_) => None,
        }
    }
}

impl Choice for Work {
    /// A job on the stack of a join: the join waits for it, and so does whoever waits for the join.
    /// Tasks and what a scope has spawned may outlive what has started them.
    #[inline]
    fn is_join_job(&self) -> bool {
        matches!(self, Self::Job(job) if job.is_of_join())
    }
}

/// A job that lies elsewhere and is alive until it has been run.
///
/// Whoever makes one sees to it that it is run once, and that the job lives until then.
#[derive(Clone, Copy)]
pub(super) struct JobRef {
    job: *const (),
    run: unsafe fn(*const (), usize),
    /// The address of what waits for it: the job itself, or a scope.
    waiter: usize,
}

// SAFETY: jobs are made of closures and results that are `Send` (`StackJob`, `HeapJob`).
unsafe impl Send for JobRef {}

impl JobRef {
    /// Runs the job as the worker with this number.
    ///
    /// # Safety
    ///
    /// The job has not been run, and is alive.
    pub(super) unsafe fn run(self, worker: usize) {
        // SAFETY: by the contract of this function.
        unsafe { (self.run)(self.job, worker) }
    }

    /// Has the owner of a job on a stack run it, who waits for it there.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run); and the job is one [of a join](Self::is_of_join).
    pub(super) unsafe fn give_back(self) {
        // SAFETY: by the contract of this function.
        unsafe { (self.run)(self.job, OWNER) }
    }

    pub(super) fn is(self, waiter: usize) -> bool {
        self.waiter == waiter
    }

    /// Whether it lies on the stack of what waits for it.
    #[inline]
    pub(super) fn is_of_join(self) -> bool {
        self.job.addr() == self.waiter
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobRef(..)")
    }
}

/// The number that stands for no worker.
pub(super) const NOBODY: usize = usize::MAX;

/// The number that stands for the owner of a job, who is told to run it himself.
const OWNER: usize = usize::MAX - 1;

type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// A closure on the stack of the thread that will wait for it.
///
/// `body` is taken and `outcome` written by whoever runs the job, once, before it sets the latch.
/// Afterwards both are the owner's. If the job was given back, the body is still there.
pub(super) struct StackJob<F, R> {
    pub(super) latch: Latch,
    /// The worker that runs it, for the owner to help; nobody if that has older work in its deque.
    thief: AtomicUsize,
    body: UnsafeCell<Option<F>>,
    outcome: UnsafeCell<Option<Outcome<R>>>,
}

// SAFETY: body and outcome change hands as said above.
unsafe impl<F: Send, R: Send> Sync for StackJob<F, R> {}

impl<F, R> StackJob<F, R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    pub(super) fn new(body: F) -> Self {
        Self {
            latch: Latch::new(),
            thief: AtomicUsize::new(NOBODY),
            body: UnsafeCell::new(Some(body)),
            outcome: UnsafeCell::new(None),
        }
    }

    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// A reference for others to run it by.
    ///
    /// The caller keeps the job alive until the latch is set, or the reference is taken back.
    pub(super) fn as_ref(&self) -> JobRef {
        JobRef {
            job: std::ptr::from_ref(self).cast(),
            run: Self::run_for_owner,
            waiter: self.address(),
        }
    }

    pub(super) fn thief(&self) -> Option<usize> {
        Some(self.thief.load(Ordering::Acquire)).filter(|thief| *thief != NOBODY)
    }

    /// # Safety
    ///
    /// `job` is a `StackJob<F, R>` that is alive and has not been run.
    unsafe fn run_for_owner(job: *const (), worker: usize) {
        // SAFETY: by the contract of this function.
        let this = unsafe { &*job.cast::<Self>() };
        if worker != OWNER {
            this.thief.store(worker, Ordering::Release);
            let body = this.body.with_mut(|body| {
                // SAFETY: this is the one run of the job.
                unsafe { (*body).take() }
            });
            let outcome = body.map(|body| catch(body));
            this.outcome.with_mut(|place| {
                // SAFETY: the owner does not look before the latch is set.
                unsafe { *place = outcome };
            });
        }
        // SAFETY: the owner keeps the job until this is seen; nothing is touched afterwards.
        unsafe { Latch::set(&raw const this.latch) };
    }

    /// Whether it was given back, after the latch was set.
    pub(super) fn was_given_back(&self) -> bool {
        self.body.with(|body| {
            // SAFETY: the latch was set, so nobody else has a reference.
            unsafe { (*body).is_some() }
        })
    }

    /// Takes the closure back, to run it in place: the reference has not been given to anybody, or
    /// was taken or given back.
    pub(super) fn into_body(self) -> F {
        let body = self.body.with_mut(|body| {
            // SAFETY: the job is owned, and nobody else has a reference.
            unsafe { (*body).take() }
        });
        body.expect("a job that was taken back has not been run")
    }

    /// What came of it, after the latch was set.
    pub(super) fn into_outcome(self) -> Outcome<R> {
        let outcome = self.outcome.with_mut(|outcome| {
            // SAFETY: the latch was set, so the runner is through.
            unsafe { (*outcome).take() }
        });
        outcome.expect("a job whose latch is set has an outcome")
    }
}

/// A closure in a box, for a job that outlives the frame that made it but not the scope around it.
pub(super) struct HeapJob<F>(F);

impl<F: FnOnce(usize) + Send> HeapJob<F> {
    /// A reference that runs the closure, which must not unwind, and frees the box; something at
    /// address `waiter` waits for it.
    ///
    /// # Safety
    ///
    /// What the closure borrows lives until the job has been run.
    pub(super) unsafe fn boxed(body: F, waiter: usize) -> JobRef {
        JobRef {
            job: Box::into_raw(Box::new(Self(body))).cast(),
            run: Self::run,
            waiter,
        }
    }

    /// # Safety
    ///
    /// `job` comes from `boxed` and has not been run.
    unsafe fn run(job: *const (), worker: usize) {
        // SAFETY: by the contract of this function.
        let this = unsafe { Box::from_raw(job.cast_mut().cast::<Self>()) };
        (this.0)(worker);
    }
}
