//! What a worker can be given: a task, or a job that somebody waits for with it on his stack.

#![expect(
    unsafe_code,
    reason = "a job on a stack is reached through a pointer by its thief"
)]

use std::any::Any;
use std::fmt;

use super::latch::Latch;
use crate::containment::catch;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::task::Task;

/// One piece of work.
#[derive(Debug)]
pub(super) enum Work {
    Task(Task),
    Job(JobRef),
}

/// A job that lies elsewhere and is alive until it has been run.
///
/// Whoever makes one sees to it that it is run once, and that the job lives until then.
#[derive(Clone, Copy)]
pub(super) struct JobRef {
    job: *const (),
    run: unsafe fn(*const (), usize),
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

    /// Runs a job that was taken out of a deque or a list of submissions, where each is once.
    pub(super) fn run_elsewhere(self, worker: usize) {
        // SAFETY: whoever takes a job out is the only one who has it.
        unsafe { self.run(worker) }
    }

    pub(super) fn is(self, job: *const ()) -> bool {
        std::ptr::eq(self.job, job)
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobRef(..)")
    }
}

/// The number that stands for no worker.
pub(super) const NOBODY: usize = usize::MAX;

type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// A closure on the stack of the thread that will wait for it.
///
/// `body` is taken and `outcome` written by whoever runs the job, once; the owner reads the outcome
/// after the latch is set, or after it has run the job itself.
pub(super) struct StackJob<F, R> {
    pub(super) latch: Latch,
    /// The worker that runs it, for the owner to help.
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

    pub(super) fn address(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// A reference for others to run it by.
    ///
    /// The caller keeps the job alive until the latch is set, or the reference is taken back.
    pub(super) fn as_ref(&self) -> JobRef {
        JobRef {
            job: self.address(),
            run: Self::run_for_owner,
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
        // SAFETY: the owner keeps the job until this is seen; nothing is touched afterwards.
        unsafe { Latch::set(&raw const this.latch) };
    }

    /// Takes the closure back, to run it in place: the reference has not been given to anybody, or
    /// was taken back.
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
    /// A reference that runs the closure, which must not unwind, and frees the box.
    ///
    /// # Safety
    ///
    /// What the closure borrows lives until the job has been run.
    pub(super) unsafe fn boxed(body: F) -> JobRef {
        JobRef {
            job: Box::into_raw(Box::new(Self(body))).cast(),
            run: Self::run,
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
