//! The unit of work in deques and injector: a task, or a job of a join or a scope.

#![expect(
    unsafe_code,
    reason = "a job on a stack is reached through a pointer by its thief"
)]

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use super::deque::DequeItem;
use super::latch::{Latch, Registered};
use crate::interrupt::ThreadContext;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::task::{Task, TaskId, TaskName, Wanted};
use crate::unwind::catch;

/// One piece of work.
#[derive(Debug)]
pub(super) enum Work {
    /// A task; if it is a node of a completer tree, with the root as its waiter.
    Task(Task, Option<WaiterId>),
    Job(JobRef),
}

impl Work {
    #[inline]
    pub(super) const fn task(task: Task) -> Self {
        Self::Task(task, None)
    }

    /// Returns what waits for this work, if it is known.
    pub(super) const fn waiter(&self) -> Option<WaiterId> {
        match self {
            Self::Task(_, root) => *root,
            Self::Job(job) => Some(job.waiter),
        }
    }

    /// Returns whether `waiter` waits for this work.
    pub(super) fn is_for(&self, waiter: WaiterId) -> bool {
        self.waiter() == Some(waiter)
    }

    pub(super) const fn is_job(&self) -> bool {
        matches!(self, Self::Job(_))
    }

    /// Returns the id of a task.
    pub(super) fn task_id(&self) -> Option<TaskId> {
        match self {
            Self::Task(task, _) => Some(task.id()),
            Self::Job(_) => None,
        }
    }

    pub(super) fn is_task(&self, id: TaskId) -> bool {
        self.task_id() == Some(id)
    }

    /// Returns whether this is a task that is wanted, or leads to one.
    pub(super) fn is_wanted(&self, wanted: Wanted) -> bool {
        match self {
            Self::Task(task, _) => task.is_wanted(wanted),
            Self::Job(_) => false,
        }
    }

    /// Returns the id and the name of a task.
    pub(super) fn to_name(&self) -> Option<TaskName> {
        match self {
            Self::Task(task, _) => Some(task.to_name()),
            Self::Job(_) => None,
        }
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

impl DequeItem for Work {
    /// A join job ends before the join does, and so before whatever waits for the join. Tasks and
    /// what a scope spawned may outlive the work that started them.
    #[inline]
    fn is_join_job(&self) -> bool {
        matches!(self, Self::Job(job) if job.is_join_job())
    }
}

/// Identifies what waits for a piece of work (a join's job, a scope, the root of a completer tree) by
/// its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaiterId(std::num::NonZeroUsize);

impl WaiterId {
    /// Returns the identity of the waiter that lives at this address.
    pub(super) fn of<T>(waiter: &T) -> Self {
        Self(NonNull::from(waiter).addr())
    }
}

/// A reference to a job on a stack or in a box.
///
/// Its creator guarantees that it is run once and that the job is alive until then.
#[derive(Clone, Copy)]
pub(super) struct JobRef {
    job: *const (),
    dispatch: unsafe fn(*const (), Dispatch),
    /// The job itself for a join, or a scope.
    waiter: WaiterId,
}

/// What happens to a job that was taken out of a deque or list.
#[derive(Debug, Clone, Copy)]
enum Dispatch {
    /// It is run, by the worker with this index if its joiner may leapfrog there.
    Run(Option<usize>),
    /// Its owner, which waits for it, is to run it.
    Return,
}

// SAFETY: jobs are created from closures and results that are `Send` (`StackJob`, `HeapJob`).
unsafe impl Send for JobRef {}

impl JobRef {
    /// Runs the job. `thief` is the index of this worker, if the joiner may leapfrog from it.
    ///
    /// # Safety
    ///
    /// The job is alive and has not been run.
    pub(super) unsafe fn run(self, thief: Option<usize>) {
        // SAFETY: by the contract of this function.
        unsafe { (self.dispatch)(self.job, Dispatch::Run(thief)) }
    }

    /// Returns the job to its owner, which waits for it and then runs it.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run); and it is a [join job](Self::is_join_job).
    pub(super) unsafe fn return_to_owner(self) {
        // SAFETY: by the contract of this function.
        unsafe { (self.dispatch)(self.job, Dispatch::Return) }
    }

    /// Returns whether the job lies on the stack of the join that waits for it.
    #[inline]
    pub(super) fn is_join_job(self) -> bool {
        self.job.addr() == self.waiter.0.get()
    }
}

/// A reference to a job on the stack of the join that waits for it.
///
/// Its creator guarantees that the job is alive while the reference is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StackJobRef(NonNull<Head>);

impl StackJobRef {
    #[inline]
    fn head<'a>(self) -> &'a Head {
        // SAFETY: the job is alive, and only its owner uses this reference.
        unsafe { self.0.as_ref() }
    }

    /// Returns the next older job of the list that this one is in.
    #[inline]
    pub(super) fn older(self) -> Option<Self> {
        self.head().older.get()
    }

    #[inline]
    pub(super) fn set_older(self, older: Option<Self>) {
        self.head().older.set(older);
    }

    /// Prepares the job for other threads, once.
    pub(super) fn share(self) -> JobRef {
        let head = self.head();
        head.reach.with_mut(|reach| {
            // SAFETY: no other thread knows the job.
            unsafe { (*reach).write(Reach::new()) };
        });
        JobRef {
            job: self.0.as_ptr().cast_const().cast(),
            dispatch: head.dispatch,
            waiter: WaiterId(self.0.addr()),
        }
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobRef(..)")
    }
}

/// The value of [`StackJob::thief`] for no worker.
const NO_THIEF: usize = usize::MAX;

type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// What a job needs as soon as other threads can reach it.
struct Reach {
    latch: Latch,
    /// The worker that runs the job, from which the owner may steal; none if that worker's deque
    /// holds older work.
    thief: AtomicUsize,
    /// Whether the job was run, and not returned; valid when the latch is set.
    was_run: AtomicBool,
}

impl Reach {
    fn new() -> Self {
        Self {
            latch: Latch::new(),
            thief: AtomicUsize::new(NO_THIEF),
            was_run: AtomicBool::new(false),
        }
    }
}

/// The part of a job whose type does not depend on the closure.
struct Head {
    /// The next older private job of the same worker.
    older: Cell<Option<StackJobRef>>,
    dispatch: unsafe fn(*const (), Dispatch),
    /// Initialised by [`StackJobRef::share`]: most jobs are never shared, and the stores for it would be a
    /// good part of the cost of a join.
    reach: UnsafeCell<MaybeUninit<Reach>>,
}

/// A closure on the stack of the thread that will wait for it.
///
/// It is private until [shared](StackJobRef::share). The closure is moved out once: by the owner, if the job
/// was private, taken back or returned; else by the thread that runs it. That thread writes `outcome`
/// before it sets the latch. Afterwards both belong to the owner.
///
/// A job that is dropped drops neither: each of the `into_` methods takes what is there.
#[repr(C)]
pub(super) struct StackJob<F, R> {
    /// First, so that a pointer to it is one to the job.
    head: Head,
    body: UnsafeCell<MaybeUninit<F>>,
    outcome: UnsafeCell<MaybeUninit<Outcome<R>>>,
}

// SAFETY: `older` and the initialisation of `reach` belong to the owner, before the job is shared. Then the
// latch hands body and outcome from the runner to the owner.
unsafe impl<F: Send, R: Send> Sync for StackJob<F, R> {}

impl<F, R> StackJob<F, R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    #[inline]
    pub(super) fn new(body: F, older: Option<StackJobRef>) -> Self {
        Self {
            head: Head {
                older: Cell::new(older),
                dispatch: Self::dispatch,
                reach: UnsafeCell::new(MaybeUninit::uninit()),
            },
            body: UnsafeCell::new(MaybeUninit::new(body)),
            outcome: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Returns the identity of the join that owns this job.
    pub(super) fn waiter(&self) -> WaiterId {
        WaiterId::of(self)
    }

    /// Creates a reference to the job.
    ///
    /// The caller keeps the job alive until it has taken the reference back or, if others can run it, the
    /// latch is set.
    #[inline]
    pub(super) fn as_ref(&self) -> StackJobRef {
        StackJobRef(NonNull::from(self).cast())
    }

    /// Creates a reference for others to run the job by, once; as [`as_ref`](Self::as_ref).
    pub(super) fn share(&self) -> JobRef {
        self.as_ref().share()
    }

    /// The job is shared.
    fn reach(&self) -> &Reach {
        self.head.reach.with(|reach| {
            // SAFETY: initialised when the job was shared.
            unsafe { &*reach.cast::<Reach>() }
        })
    }

    /// Returns the latch of a job that is shared.
    pub(super) fn latch(&self) -> &Latch {
        &self.reach().latch
    }

    pub(super) fn thief(&self) -> Option<usize> {
        Some(self.reach().thief.load(Ordering::Acquire)).filter(|thief| *thief != NO_THIEF)
    }

    /// Publishes the worker that runs the job. An owner that waits already is woken, to see it.
    ///
    /// The owner registers at the latch, then reads the thief; this thread stores the thief, then reads
    /// the latch. With the fences in between, one of them sees what the other has written.
    fn show_thief(&self, thief: usize) {
        self.reach().thief.store(thief, Ordering::Release);
        fence(Ordering::SeqCst);
        self.latch().wake_early();
    }

    /// Registers the owner, which is about to park, at the latch.
    pub(super) fn register(&self, owner: &Arc<ThreadContext>) -> Registered {
        let registered = self.latch().register(owner);
        fence(Ordering::SeqCst);
        registered
    }

    /// # Safety
    ///
    /// `job` is a `StackJob<F, R>` that is alive and has not been run.
    unsafe fn dispatch(job: *const (), dispatch: Dispatch) {
        // SAFETY: by the contract of this function.
        let this = unsafe { &*job.cast::<Self>() };
        if let Dispatch::Run(thief) = dispatch {
            if let Some(thief) = thief {
                this.show_thief(thief);
            }
            // SAFETY: this is the one run of the job.
            let outcome = catch(unsafe { this.take_body() });
            this.outcome.with_mut(|place| {
                // SAFETY: the owner does not read before the latch is set.
                unsafe { (*place).write(outcome) };
            });
            this.reach().was_run.store(true, Ordering::Relaxed);
        }
        // SAFETY: the owner keeps the job until it sees this; nothing is touched afterwards.
        unsafe { Latch::set(&raw const this.reach().latch) };
    }

    /// Returns whether the job was returned instead of run. The latch is set.
    pub(super) fn was_returned(&self) -> bool {
        !self.reach().was_run.load(Ordering::Relaxed)
    }

    /// Returns the closure of a job that was shared, and was taken back or returned.
    pub(super) fn into_body(self) -> F {
        self.drop_reach();
        // SAFETY: no other thread knows the job.
        unsafe { self.take_body() }
    }

    /// Returns the outcome of a job that was run by another thread. The latch is set.
    pub(super) fn into_outcome(self) -> Outcome<R> {
        self.drop_reach();
        // SAFETY: the latch is set, so no other thread touches the job.
        unsafe { self.take_outcome() }
    }

    /// Moves the closure out of the job.
    ///
    /// # Safety
    ///
    /// It was not moved out before, and no other thread accesses it.
    #[inline]
    pub(super) unsafe fn take_body(&self) -> F {
        self.body.with(|body| {
            // SAFETY: by the contract of this function.
            unsafe { body.cast::<F>().read() }
        })
    }

    /// Moves the outcome out of the job.
    ///
    /// # Safety
    ///
    /// The latch is set, the job was not returned, and the outcome was not moved out before.
    pub(super) unsafe fn take_outcome(&self) -> Outcome<R> {
        self.outcome.with(|outcome| {
            // SAFETY: by the contract of this function.
            unsafe { outcome.cast::<Outcome<R>>().read() }
        })
    }

    /// Drops the latch of a job that was shared, once.
    pub(super) fn drop_reach(&self) {
        self.head.reach.with_mut(|reach| {
            // SAFETY: initialised when the job was shared, and no other thread knows the job any more.
            unsafe { reach.cast::<Reach>().drop_in_place() };
        });
    }
}

/// A closure in a box, for a job that outlives the frame that created it but not the scope around it.
pub(super) struct HeapJob<F>(F);

impl<F: FnOnce() + Send> HeapJob<F> {
    /// Creates a reference that runs the closure, which must not unwind, and frees the box.
    ///
    /// # Safety
    ///
    /// What the closure borrows lives until the job has been run. `waiter` is not the job itself.
    pub(super) unsafe fn boxed(body: F, waiter: WaiterId) -> JobRef {
        JobRef {
            job: Box::into_raw(Box::new(Self(body))).cast(),
            dispatch: Self::dispatch,
            waiter,
        }
    }

    /// # Safety
    ///
    /// `job` comes from `boxed` and has not been run. It is no join job, so it is never returned.
    unsafe fn dispatch(job: *const (), _: Dispatch) {
        // SAFETY: by the contract of this function.
        let this = unsafe { Box::from_raw(job.cast_mut().cast::<Self>()) };
        (this.0)();
    }
}
