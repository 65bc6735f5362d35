//! The closure, then the result: one allocation for all of a submitted task.
//!
//! Who may touch what is decided by [`State`] alone. The *content* is first the body. It belongs to
//! the winner of `start`, or, while nobody has started, to the winner of `cancel` or `claim`. The
//! one runner takes the body out and writes the outcome in its place before `DONE` is published
//! without `CANCELLED` and `CLAIMED`; afterwards it is only read. Whoever has won `claim` writes to
//! a place apart, the *completion*, before `DONE` is published with `CLAIMED`: so the content is never in
//! dispute between the two. The *runner* pointer is followed only by a canceller that has set
//! `INTERRUPTING`, and the runner does not leave `run` while that bit is set, so the context it
//! points to is alive.
//!
//! The cell is freed by whoever gives up the last [`Ref`] to it. The references are counted in the
//! state's word: a run that nobody waits for ends and lets go of the cell in one step, which an
//! `Arc` cannot.

#![expect(
    unsafe_code,
    reason = "a lock around body and outcome would cost more than the rest of a submission"
)]

mod awaiting;

use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::body::Body;
use super::error::{Cancellation, ExecutionError, Failure};
use super::header::Header;
use super::runnable::{Awaitable, RunOutcome, Runnable, Untyped};
use super::state::{
    CancelMode, Cancelled, Claimed, Finished, Published, Reset, ResultKind, RunnerRef, Snapshot,
    Started, State,
};
use super::timer::{MaybeTimer, Timer};
use super::waiters::Callbacks;
use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{UnsafeCell, mutant, thread};
use crate::unwind::{DiscardOnDrop, catch, discard, ignore_panic};

/// The part of a cell that depends on no type.
#[repr(C)] // What a run touches comes last, beside the content: mostly one cache line for both.
pub(crate) struct Head {
    header: Header,
    state: State,
    /// The context of the running thread; null before it is known.
    runner: AtomicPtr<ThreadContext>,
}

/// A task with a result.
#[repr(C)] // The head comes first: see `Counted`.
pub(super) struct Cell<T, B, W = ()> {
    head: Head,
    content: UnsafeCell<DiscardOnDrop<Content<T, B>>>,
    /// When it is due: a [`Timer`], or nothing.
    timer: W,
}

enum Content<T, B> {
    Body(B),
    Outcome(Result<T, Failure>),
}

// SAFETY: body and outcome are reached by one thread at a time, or read only, as the header of
// this file says; sending them to that thread is what `Send` allows. Shared reading of the outcome
// is offered for `T: Sync` only (`SharedHandle`, `FutureTask`).
unsafe impl<T: Send, B: Send, W: Send + Sync> Sync for Cell<T, B, W> {}
// SAFETY: as above; the runner pointer is not an owner.
unsafe impl<T: Send, B: Send, W: Send> Send for Cell<T, B, W> {}

/// The outcome of a task that was completed from outside; of whatever type, so that it can lie among
/// what most tasks never have.
#[derive(Debug)]
pub(super) struct Completion(UnsafeCell<DiscardOnDrop<Box<dyn Any + Send>>>);

impl Default for Completion {
    fn default() -> Self {
        Self(UnsafeCell::new(DiscardOnDrop::empty()))
    }
}

// SAFETY: it is reached by one thread at a time, or read only and then `Sync`, as the header of this
// file says.
unsafe impl Sync for Completion {}

/// What a [`Ref`] can refer to.
///
/// # Safety
///
/// Every value of the type is a [`Cell`], and so has its [`Head`] at its address.
pub(crate) unsafe trait Counted {}

// SAFETY: it is a cell, and `repr(C)` puts its first field at its address.
unsafe impl<T, B, W> Counted for Cell<T, B, W> {}
// SAFETY: nothing but cells is `Awaitable`.
unsafe impl<T> Counted for dyn Awaitable<T> {}
// SAFETY: nothing but cells is `Untyped`.
unsafe impl Counted for dyn Untyped {}

/// A counted reference to a cell.
pub(crate) struct Ref<D: Counted + ?Sized>(NonNull<D>);

// SAFETY: a reference gives shared access, and the last one gives the cell away to be dropped.
unsafe impl<D: Counted + Send + Sync + ?Sized> Send for Ref<D> {}
// SAFETY: as above.
unsafe impl<D: Counted + Send + Sync + ?Sized> Sync for Ref<D> {}

impl<D: Counted + ?Sized> Ref<D> {
    pub(super) fn head(&self) -> &Head {
        // SAFETY: by the contract of `Counted`; the cell lives as long as there are references.
        unsafe { self.0.cast::<Head>().as_ref() }
    }

    /// Lets go of a reference that is counted no longer.
    fn leave(self, last: bool) {
        let cell = ManuallyDrop::new(self).0;
        if last {
            // SAFETY: cells are made as boxes, and no reference is left to this one.
            drop(unsafe { Box::from_raw(cell.as_ptr()) });
        }
    }
}

impl<D: Counted + ?Sized> Drop for Ref<D> {
    fn drop(&mut self) {
        if self.head().state.release() {
            // SAFETY: cells are made as boxes, and this was the last reference.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<D: Counted + ?Sized> Clone for Ref<D> {
    fn clone(&self) -> Self {
        self.head().state.retain();
        Self(self.0)
    }
}

impl<D: Counted + ?Sized> Deref for Ref<D> {
    type Target = D;

    fn deref(&self) -> &D {
        // SAFETY: the cell lives as long as there are references.
        unsafe { self.0.as_ref() }
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Ref<Cell<T, B, W>> {
    /// The same reference, without the type of the body.
    #[inline]
    pub(super) fn awaitable(self) -> Ref<dyn Awaitable<T>> {
        Ref(ManuallyDrop::new(self).0)
    }
}

impl<T> Ref<dyn Awaitable<T>> {
    /// The same reference, without the type of the result.
    pub(super) fn untyped(self) -> Ref<dyn Untyped> {
        let untyped = (*self).untyped();
        Ref(untyped(ManuallyDrop::new(self).0.cast()))
    }
}

impl<T: Send, B: Body<T>, W: MaybeTimer> Ref<Cell<T, B, W>> {
    /// Runs the task and lets go of it.
    pub(super) fn run_and_leave(self) -> RunOutcome {
        if self.head.state.start() == Started::Lost {
            return RunOutcome::Skipped;
        }
        ThreadContext::with_current(|me| {
            self.head.set_runner(me);
            let Some((outcome, ran)) = self.run_body() else {
                return RunOutcome::Skipped;
            };
            match self.finish(outcome, RunnerRef::Release) {
                Finished::Lost => return RunOutcome::Skipped,
                Finished::Won { .. } => {}
                Finished::Released { last } => self.leave(last),
            }
            ran
        })
    }
}

impl<T: Send, B: Body<T>> Cell<T, B> {
    /// A cell with one reference to it.
    pub(super) fn new(header: Header, body: B) -> Ref<Self> {
        Ref(Self::with_refs(1, header, body, ()))
    }
}

impl<T: Send, B: Body<T>, W: MaybeTimer> Cell<T, B, W> {
    /// A cell with two references to it.
    #[inline]
    pub(super) fn pair(header: Header, body: B, timer: W) -> (Ref<Self>, Ref<Self>) {
        let cell = Self::with_refs(2, header, body, timer);
        (Ref(cell), Ref(cell))
    }

    #[inline]
    fn with_refs(refs: u64, header: Header, body: B, timer: W) -> NonNull<Self> {
        let head = Head {
            state: State::new(refs, Cancellation::Dropped),
            runner: AtomicPtr::new(ptr::null_mut()),
            header,
        };
        let cell = Box::new(Self {
            head,
            content: UnsafeCell::new(DiscardOnDrop::new(Content::Body(body))),
            timer,
        });
        NonNull::from(Box::leak(cell))
    }

    /// Runs `run` as the one runner, unless there is one or the task is done.
    fn as_runner<R>(&self, run: impl FnOnce(&Arc<ThreadContext>) -> R) -> Option<R> {
        let started = self.head.state.start() == Started::Won;
        started.then(|| {
            ThreadContext::with_current(|me| {
                self.head.set_runner(me);
                run(me)
            })
        })
    }

    fn take_content(&self) -> Option<Content<T, B>> {
        self.content.with_mut(|content| {
            // SAFETY: the caller owns the content: as the winner of `start`, or of `cancel` or
            // `claim` over a task that was not running, or as the only reader of its outcome.
            unsafe { (*content).take() }
        })
    }

    fn put_content(&self, value: Content<T, B>) {
        self.content.with_mut(|content| {
            // SAFETY: the caller is the runner, and nobody else reads or writes the content before
            // it publishes the end or resets the task.
            unsafe { (*content).put(value) }
        });
    }

    fn take_body(&self) -> Option<B> {
        match self.take_content() {
            Some(Content::Body(body)) => Some(body),
            _ => None,
        }
    }

    /// Runs the body for the last or only time; gives its outcome, and what to say of the run.
    #[inline]
    fn run_body(&self) -> Option<(Result<T, Failure>, RunOutcome)> {
        let body = self.take_body()?;
        let outcome =
            catch(|| body.run_once()).unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
        let ran = match &outcome {
            Ok(_) => RunOutcome::Completed,
            Err(failure) => RunOutcome::Failed(failure.clone()),
        };
        Some((outcome, ran))
    }

    /// Ends a run with this outcome; see [`State::finish`].
    #[inline]
    fn finish(&self, outcome: Result<T, Failure>, reference: RunnerRef) -> Finished {
        let kind = ResultKind::of(&outcome);
        self.put_content(Content::Outcome(outcome));
        let finished = self.head.state.finish(kind, reference);
        match finished {
            Finished::Won { awaited: true } => self.head.call(self.head.release()),
            Finished::Won { awaited: false } | Finished::Released { .. } => {}
            Finished::Lost => {
                discard(self.take_content());
                self.head.await_claimer();
                self.head.await_delivery();
            }
        }
        finished
    }

    /// Releases those who wait for a task that has not run and never will, and drops its body.
    fn wake_and_drop_body(&self, awaited: bool) -> Callbacks {
        let callbacks = self.head.release_if(awaited);
        // Mutant: what the body captured lives as long as the handle.
        if !mutant!("task_keep_cancelled_body") {
            discard(self.take_content());
        }
        callbacks
    }
}

impl<T: Send + 'static, B: Body<T>, W: MaybeTimer> Cell<T, B, W> {
    /// The outcome of a task that is done and was not cancelled, in its place.
    fn look(&self, state: Snapshot) -> Option<&Result<T, Failure>> {
        if state.is_claimed() {
            let completion = self.head.header.completion();
            // SAFETY: `DONE` with `CLAIMED` was seen, so the writer is through; and who reads in
            // place does not take at the same time.
            let place = completion.0.with(|place| unsafe { &*place });
            return place.get()?.downcast_ref();
        }
        // SAFETY: `DONE` alone was seen, so the runner is through; and who reads in place does not
        // take at the same time.
        let content = self.content.with(|content| unsafe { &*content });
        match content.get() {
            Some(Content::Outcome(outcome)) => Some(outcome),
            _ => None,
        }
    }
}

impl Head {
    /// Whoever has claimed the result publishes it next: waits for that, so that an attempt that
    /// came too late leaves a task that is done.
    fn await_claimer(&self) {
        // Mutant: a cancel says that it came too late for a task that is not done.
        let leaves_early = mutant!("task_lose_before_done");
        while !leaves_early && !self.state.load().is_done() {
            thread::yield_now();
        }
    }

    fn set_runner(&self, me: &Arc<ThreadContext>) {
        self.runner
            .store(Arc::as_ptr(me).cast_mut(), Ordering::Release);
    }

    /// Makes the task one that has not run, for its next run; false if it is done or claimed, and
    /// the body is still this thread's.
    fn reset(&self, me: &Arc<ThreadContext>) -> Reset {
        // Null before the next runner can come. A canceller that comes before the reset finds null
        // and waits; then the reset fails, and it is given this thread after all.
        // Mutant: a canceller interrupts the runner of an earlier round.
        if !mutant!("task_reset_keeps_runner") {
            self.runner.store(ptr::null_mut(), Ordering::Relaxed);
        }
        let reset = self.state.reset();
        if reset == Reset::Lost {
            self.set_runner(me);
        }
        reset
    }

    /// A canceller that is about to interrupt this thread does so before the run is left.
    fn await_delivery(&self) {
        // Mutant: the interrupt strikes whatever the thread does next.
        let leaves_early = mutant!("task_leave_before_delivery");
        while !leaves_early && self.state.load().is_interrupting() {
            thread::yield_now();
        }
    }

    /// Interrupts the runner of a cancelled task with `tell`, and releases those who wait, even if
    /// `tell` unwinds.
    fn interrupt_and_wake(
        &self,
        awaited: bool,
        tell: Option<impl FnOnce(&ThreadContext)>,
    ) -> Callbacks {
        if let Some(tell) = tell {
            ignore_panic(|| self.tell_runner(tell));
        }
        self.release_if(awaited)
    }

    /// Shows `tell` the thread that runs the task, after `cancel` has marked it `INTERRUPTING`.
    fn tell_runner(&self, tell: impl FnOnce(&ThreadContext)) {
        struct Delivered<'a>(&'a State);
        impl Drop for Delivered<'_> {
            fn drop(&mut self) {
                self.0.interrupt_delivered();
            }
        }
        let _delivered = Delivered(&self.state);
        let mut runner = self.runner.load(Ordering::Acquire);
        while runner.is_null() {
            // The runner has won `start` and stores its context next.
            thread::yield_now();
            runner = self.runner.load(Ordering::Acquire);
        }
        // SAFETY: the runner stays in `run` until `INTERRUPTING` is cleared, and its context lives
        // at least as long.
        let runner = unsafe { &*runner };
        tell(runner);
    }

    fn release_if(&self, awaited: bool) -> Callbacks {
        if awaited {
            self.release()
        } else {
            Callbacks::default()
        }
    }

    /// Wakes all who wait; gives those who want to be called.
    fn release(&self) -> Callbacks {
        // Mutant: those who wait are never told.
        if mutant!("task_release_nobody") {
            return Callbacks::default();
        }
        self.header.waiters().release()
    }

    fn call(&self, callbacks: Callbacks) {
        callbacks.call(self.state.load());
    }

    pub(crate) fn state(&self) -> Snapshot {
        self.state.load()
    }

    /// Says whether the task is to be cancelled when its handle is dropped.
    pub(crate) fn set_cancel_on_drop(&self, cancels: bool) {
        self.state.set_cancel_on_drop(cancels);
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }
}

impl<T: Send, B: Body<T>, W: MaybeTimer> Runnable for Cell<T, B, W> {
    fn run(&self) -> RunOutcome {
        let ran = self.as_runner(|_| {
            let (outcome, ran) = self.run_body()?;
            (self.finish(outcome, RunnerRef::Keep) != Finished::Lost).then_some(ran)
        });
        ran.flatten().unwrap_or(RunOutcome::Skipped)
    }

    fn run_and_reset(&self) -> RunOutcome {
        let round = |me: &Arc<ThreadContext>| {
            let mut body = self.take_body()?;
            let outcome = catch(|| body.run_again());
            let outcome = outcome.unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
            if let Err(failure) = outcome {
                discard(body);
                let stands = self.finish(Err(failure.clone()), RunnerRef::Keep) != Finished::Lost;
                return stands.then_some(RunOutcome::Failed(failure));
            }
            self.put_content(Content::Body(body));
            if self.head.reset(me) == Reset::Queued {
                return Some(RunOutcome::Completed);
            }
            discard(self.take_content());
            self.head.await_delivery();
            None
        };
        let ran = B::REPEATS.then(|| self.as_runner(round));
        ran.flatten().flatten().unwrap_or(RunOutcome::Skipped)
    }

    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool {
        let callbacks = match self.head.state.cancel(mode, reason) {
            Cancelled::TooLate => {
                self.head.await_claimer();
                return false;
            }
            Cancelled::Unstarted { awaited } => self.wake_and_drop_body(awaited),
            Cancelled::Running { awaited } => {
                let interrupts = mode == CancelMode::Interrupt;
                let tell = interrupts.then_some(ThreadContext::interrupt);
                self.head.interrupt_and_wake(awaited, tell)
            }
        };
        // After the runner was told and the waiters released: its pool may take its time.
        if let Some(timer) = self.timer.timer() {
            ignore_panic(|| timer.notify_cancelled(self.head.header.id()));
        }
        self.head.call(callbacks);
        true
    }

    fn fail(&self, failure: Failure) -> bool {
        let finished = self.as_runner(|_| {
            discard(self.take_content());
            self.finish(Err(failure), RunnerRef::Keep)
        });
        finished.is_some_and(|finished| finished != Finished::Lost)
    }

    fn set_drop_reason(&self, reason: Cancellation) {
        self.head.state.set_drop_reason(reason);
    }

    fn state(&self) -> Snapshot {
        self.head.state()
    }

    fn header(&self) -> &Header {
        &self.head.header
    }

    fn timer(&self) -> Option<&Timer> {
        self.timer.timer()
    }
}

impl<T: Send, B: Body<T>, W: MaybeTimer> Untyped for Cell<T, B, W> {}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Awaitable<T> for Cell<T, B, W> {
    fn untyped(&self) -> fn(NonNull<()>) -> NonNull<dyn Untyped> {
        |cell| cell.cast::<Self>()
    }

    fn take_outcome(&self) -> Option<Result<T, ExecutionError>> {
        let state = self.head.state.load();
        if !state.is_done() {
            return None;
        }
        if state.is_cancelled() {
            return Some(Err(cancelled(state)));
        }
        if state.is_failed() {
            // The same for ever, so it stays.
            return self.look(state).map(failure_of);
        }
        let taken = if state.is_claimed() {
            let completion = self.head.header.completion();
            // SAFETY: `DONE` with `CLAIMED` was seen, so the writer is through, and the caller is
            // the only reader.
            let taken = completion.0.with_mut(|place| unsafe { (*place).take() });
            taken.and_then(|outcome| outcome.downcast().ok().map(|outcome| *outcome))
        } else {
            match self.take_content() {
                Some(Content::Outcome(outcome)) => Some(outcome),
                _ => None,
            }
        };
        match taken {
            Some(Ok(value)) => Some(Ok(value)),
            _ => Some(Err(ExecutionError::Taken)),
        }
    }

    fn outcome(&self) -> Option<Result<&T, ExecutionError>>
    where
        T: Sync,
    {
        let state = self.head.state.load();
        if !state.is_done() {
            return None;
        }
        if state.is_cancelled() {
            return Some(Err(cancelled(state)));
        }
        self.look(state).map(|outcome| match outcome {
            Ok(value) => Ok(value),
            failed => failure_of(failed),
        })
    }

    fn complete(&self, outcome: Result<T, Failure>) -> bool {
        let claimed = self.head.state.claim();
        if claimed == Claimed::Lost {
            self.head.await_claimer();
            discard(outcome);
            return false;
        }
        let kind = ResultKind::of(&outcome);
        self.head.header.completion().0.with_mut(|place| {
            // SAFETY: the caller has won the claim, which is won once, and nobody reads before
            // `DONE` is published with `CLAIMED`.
            unsafe { (*place).put(Box::new(outcome)) }
        });
        let Published { awaited } = self.head.state.publish(kind);
        self.head.call(if claimed == Claimed::Running {
            self.head.release_if(awaited)
        } else {
            self.wake_and_drop_body(awaited)
        });
        true
    }
}

/// The failure in an outcome, as an error.
fn failure_of<T, U>(outcome: &Result<T, Failure>) -> Result<U, ExecutionError> {
    Err(match outcome {
        Ok(_) => ExecutionError::Taken,
        Err(failure) => ExecutionError::Failed(failure.clone()),
    })
}

fn cancelled(state: Snapshot) -> ExecutionError {
    ExecutionError::Cancelled(state.reason())
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::task::{Wake, Waker};

    use super::super::{body::Once, id::TaskId, waiters::WakerKey};
    use super::{
        Callbacks, CancelMode, Cancellation, Cancelled, Cell, Failure, Header, Runnable,
        ThreadContext,
    };
    use crate::sync::atomic::{AtomicBool, Ordering};
    use crate::sync::{model, thread};

    struct ParkResult(AtomicBool);

    impl Wake for ParkResult {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    /// NA-06
    #[test]
    fn a_task_completes_and_its_runner_returns_even_if_the_interrupt_unwinds() {
        model(|| {
            let header = Header::new(TaskId::next(), None);
            let cell = Cell::new(header, Once(|| Ok::<_, Failure>(())));
            let woken = Arc::new(ParkResult(AtomicBool::new(false)));
            assert!(
                !cell
                    .head
                    .poll_done(WakerKey::OWNER, &Waker::from(Arc::clone(&woken)))
            );
            let theirs = cell.clone();
            let runner = thread::Builder::new().spawn(move || theirs.run()).unwrap();
            let refuse = |_: &ThreadContext| std::panic::resume_unwind(Box::new("refused"));
            let _ = match cell
                .head
                .state
                .cancel(CancelMode::Interrupt, Cancellation::Requested)
            {
                Cancelled::Running { awaited } => {
                    cell.head.interrupt_and_wake(awaited, Some(refuse))
                }
                Cancelled::Unstarted { awaited } => cell.wake_and_drop_body(awaited),
                Cancelled::TooLate => Callbacks::default(),
            };
            runner.join().unwrap();
            assert!(cell.state().is_done() && !cell.state().is_interrupting());
            assert!(woken.0.load(Ordering::Acquire));
        });
    }
}
