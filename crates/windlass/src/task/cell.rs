//! The closure, then the result: one piece of memory for all of a submitted task.
//!
//! The [`State`](super::state::State) alone decides which thread may access what. The *content* is
//! first the body. It belongs to the winner of `start`, or, while no thread has started, to the
//! winner of `cancel`, `withdraw` or `claim`. The runner takes the body out and writes the outcome
//! in its place before it publishes `DONE` without `CANCELLED` and `CLAIMED`; afterwards the
//! outcome is read in place, or taken by the one owner of the value. The winner of `claim` writes to
//! a separate place, the [`Completion`](super::completion::Completion), before it publishes `DONE`
//! with `CLAIMED`: so runner and claimer never write to the same place.

#![expect(
    unsafe_code,
    reason = "a lock around body and outcome would cost more than the rest of a submission"
)]

use std::any::Any;
use std::ptr::NonNull;

use super::body::Body;
use super::cell_memory;
use super::cell_ref::{Counted, Ref, Table, TypedHead};
use super::error::{Cancellation, ExecutionError, Failure};
use super::head::Head;
use super::header::Header;
use super::limit_timer;
use super::limits::LimitOwner;
#[cfg(any(feature = "async", test))]
use super::runnable::PartOutcome;
use super::runnable::{Awaitable, RunOutcome, Runnable, Untyped};
use super::running;
use super::state::Snapshot;
use super::timer::{MaybeTimer, Place, TimerView};
use super::transition::{
    CancelMode, Cancelled, Claimed, Finished, Published, Reset, ResultKind, RunnerRef, Started,
    Withdrawn,
};
use super::waiters::Callbacks;
use crate::interrupt::ThreadContext;
use crate::sync::UnsafeCell;
use crate::unwind::{DiscardOnDrop, catch, discard, ignore_panic};

/// A task with a result.
#[repr(C)] // The typed head comes first, and in it the head: see `Counted`.
pub(super) struct Cell<T, B, W = ()> {
    typed: TypedHead<T>,
    content: UnsafeCell<DiscardOnDrop<Content<T, B>>>,
    /// A [`Timer`](super::timer::Timer), or nothing.
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

// SAFETY: it is a cell, and `repr(C)` puts its first field at its address.
unsafe impl<T, B, W> Counted for Cell<T, B, W> {
    unsafe fn free(cell: NonNull<Self>) {
        // SAFETY: by the contract of this function.
        unsafe { cell_memory::drop_and_free(cell) };
    }
}

impl<T, B, W> Cell<T, B, W> {
    fn head(&self) -> &Head {
        &self.typed.head
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Ref<Cell<T, B, W>> {
    /// Converts the reference into one without the type of the body, in one word.
    #[inline]
    pub(super) fn thin(self) -> Ref<TypedHead<T>> {
        let cell: NonNull<TypedHead<T>> = self.into_raw().cast();
        // SAFETY: it is the same cell, by its first field, and the same counted reference.
        unsafe { Ref::from_raw(cell) }
    }

    /// Converts the reference into one without the type of the body.
    pub(super) fn awaitable(self) -> Ref<dyn Awaitable<T>> {
        self.thin().awaitable()
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Ref<Cell<T, B, W>> {
    /// Runs the task and releases the reference.
    pub(super) fn run_and_release(self) -> RunOutcome {
        ThreadContext::with_current(|me| {
            if self.head().state.start(me.number()) == Started::Lost {
                return self.run_if_limited();
            }
            let Some((outcome, ran)) = self.run_body() else {
                return RunOutcome::Skipped;
            };
            match self.finish(me, outcome, RunnerRef::Release) {
                Finished::Lost => return RunOutcome::Skipped,
                Finished::Won { .. } => {}
                Finished::Released { last } => self.drop_released(last),
            }
            ran
        })
    }
}

impl<T: Send + 'static, B: Body<T> + 'static> Cell<T, B> {
    /// Creates a cell with one reference to it.
    pub(super) fn new(header: Header, body: B) -> Ref<Self> {
        let cell = Self::with_refs(1, header, body, || ());
        // SAFETY: it was created with one reference.
        unsafe { Ref::from_raw(cell) }
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Cell<T, B, W> {
    /// Creates a cell with two references to it, and its timer in place.
    #[inline]
    pub(super) fn pair(
        header: Header,
        body: B,
        timer: impl FnOnce() -> W,
    ) -> (Ref<Self>, Ref<Self>) {
        let cell = Self::with_refs(2, header, body, timer);
        // SAFETY: it was created with two references; this is the first.
        let first = unsafe { Ref::from_raw(cell) };
        // SAFETY: this is the second.
        let second = unsafe { Ref::from_raw(cell) };
        (first, second)
    }

    const TABLE: &'static Table<T> = &Table {
        awaitable: |cell| cell.cast::<Self>(),
        take_value: Self::take_value_at,
        take_outcome: Self::take_outcome_at,
        free: Self::free_at,
    };

    /// # Safety
    ///
    /// There is a cell of this type at the address, whose runner has published a value, and the caller is the
    /// only reader.
    unsafe fn take_value_at(cell: NonNull<()>) -> Option<T> {
        // SAFETY: by the contract of this function.
        match unsafe { cell.cast::<Self>().as_ref() }.take_content() {
            Some(Content::Outcome(Ok(value))) => Some(value),
            _ => None,
        }
    }

    /// # Safety
    ///
    /// There is a cell of this type at the address.
    unsafe fn take_outcome_at(cell: NonNull<()>) -> Option<Result<T, ExecutionError>> {
        // SAFETY: by the contract of this function.
        unsafe { cell.cast::<Self>().as_ref() }.take_outcome()
    }

    /// # Safety
    ///
    /// There is a cell of this type at the address, and no reference to it any more.
    unsafe fn free_at(cell: NonNull<()>) {
        // SAFETY: by the contract of this function.
        unsafe { Self::free(cell.cast()) };
    }

    #[inline]
    fn with_refs(refs: u64, header: Header, body: B, timer: impl FnOnce() -> W) -> NonNull<Self> {
        // Field by field into its memory: built on the stack first, the cell would be written word by word
        // and copied in pairs of words, which stalls.
        let cell = cell_memory::allocate::<Self>();
        let at = cell.as_ptr();
        // `Ref::of` makes references from the address.
        let _ = at.expose_provenance();
        // SAFETY: there is room for each field, and nobody else has the memory.
        let typed = unsafe { &raw mut (*at).typed };
        // SAFETY: as above.
        let content = unsafe { &raw mut (*at).content };
        // SAFETY: as above.
        let due = unsafe { &raw mut (*at).timer };
        // SAFETY: the table is that of this type of cell, whose first field this is.
        let head = unsafe { TypedHead::new(Head::new(refs, header), Self::TABLE) };
        // SAFETY: as above.
        unsafe { typed.write(head) };
        // SAFETY: as above.
        unsafe { content.write(UnsafeCell::new(DiscardOnDrop::new(Content::Body(body)))) };
        // SAFETY: as above.
        unsafe { due.write(timer()) };
        cell
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Cell<T, B, W> {
    /// Runs `run` as the one runner, unless there is one or the task is done.
    fn as_runner<R>(&self, run: impl FnOnce(&ThreadContext) -> R) -> Option<R> {
        ThreadContext::with_current(|me| {
            let started = match self.head().state.start(me.number()) {
                Started::Won => true,
                Started::Lost => self.start_limited(me),
            };
            started.then(|| run(me))
        })
    }

    /// Runs a task that could not be started, if that is so because it has limits.
    #[cold]
    #[inline(never)]
    fn run_if_limited(&self) -> RunOutcome {
        if self.head().state().is_limited() {
            self.run()
        } else {
            RunOutcome::Skipped
        }
    }

    /// Becomes the runner of a task with limits, if it is not too late; sets the timer of the run.
    #[cold]
    fn start_limited(&self, me: &ThreadContext) -> bool {
        let head = self.head();
        if !head.state().is_limited() {
            return false;
        }
        if let Some((_, times)) = limit_timer::limits_of(head) {
            if B::SUSPENDS && times.has_started() {
                // The limits are those of the first part, and its timer is set.
                return head.state.start_limited(me.number()) == Started::Won;
            }
            if times.is_too_late() || (B::SUSPENDS && !times.decide_start()) {
                self.expire();
                return false;
            }
        }
        let started = head.state.start_limited(me.number()) == Started::Won;
        if started {
            limit_timer::begin_run(self.to_untyped());
        }
        started
    }

    /// Makes a new task one with limits, if its attributes have any.
    #[cold]
    #[inline(never)]
    pub(super) fn limit(&self) {
        self.head().state.set_limited();
        let due = self.timer.view().map(TimerView::due);
        limit_timer::arm_new(self.to_untyped(), due, B::REPEATS);
    }

    /// Removes the timer of a task whose run or wait has ended, if it has limits.
    fn disarm(&self) {
        if self.head().state().is_limited() {
            limit_timer::disarm(self.head());
        }
    }

    /// Sets the timer of a task with limits.
    fn arm_again(&self) {
        if self.head().state().is_limited() {
            limit_timer::arm_start(self.to_untyped());
        }
    }

    fn with_limit_owner(&self, notify: impl FnOnce(&dyn LimitOwner)) {
        let limits = limit_timer::limits_of(self.head());
        if let Some(owner) = limits.and_then(|(limits, _)| limits.owner.as_deref()) {
            ignore_panic(|| notify(owner));
        }
    }

    /// Returns another reference to the cell.
    fn to_untyped(&self) -> Ref<dyn Untyped> {
        self.head().state.retain();
        // SAFETY: the reference was just counted.
        unsafe { Ref::from_raw(NonNull::from(self)) }
    }

    /// Cancels the task, unless it is done; calls `won` before anybody is woken.
    fn cancel_then(&self, mode: CancelMode, reason: Cancellation, won: impl FnOnce()) -> bool {
        let callbacks = match self.head().state.cancel(mode, reason) {
            Cancelled::TooLate => {
                self.head().await_claimer();
                return false;
            }
            Cancelled::Unstarted { awaited } => {
                won();
                self.wake_and_drop_body(awaited)
            }
            Cancelled::Running { awaited, runner } => {
                won();
                if mode == CancelMode::Interrupt {
                    let id = self.head().header().id().as_u64();
                    self.head()
                        .interrupt_runner(runner, |runner| runner.interrupt_task(id));
                }
                self.head().wake_if(awaited)
            }
        };
        self.notify_cancelled(callbacks);
        true
    }

    fn take_content(&self) -> Option<Content<T, B>> {
        self.content.with_mut(|content| {
            // SAFETY: the caller owns the content: as the winner of `start`, or of `cancel`, `withdraw`
            // or `claim` over a task that was not running, or as the only reader of its outcome.
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

    /// Runs the body for the last or only time; returns its outcome, and the outcome of the run.
    #[inline]
    fn run_body(&self) -> Option<(Result<T, Failure>, RunOutcome)> {
        let body = self.take_body()?;
        let outcome = running::enter(self, || catch(|| body.run_once()));
        let outcome = outcome.unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
        let ran = match &outcome {
            Ok(_) => RunOutcome::Completed,
            Err(failure) => RunOutcome::Failed(failure.clone()),
        };
        Some((outcome, ran))
    }

    /// Ends a run with this outcome; see [`State::finish`](super::state::State::finish).
    #[inline]
    fn finish(
        &self,
        me: &ThreadContext,
        outcome: Result<T, Failure>,
        reference: RunnerRef,
    ) -> Finished {
        let kind = ResultKind::of(&outcome);
        self.put_content(Content::Outcome(outcome));
        let finished = self.head().state.finish(kind, reference);
        match finished {
            Finished::Won { awaited: true } => self.head().call(self.head().wake()),
            Finished::Won { awaited: false } | Finished::Released { .. } => {}
            Finished::Lost => {
                discard(self.take_content());
                self.head().await_claimer();
                self.head().await_delivery(me);
            }
        }
        finished
    }

    /// Wakes the waiters of a task that has not run and never will, and drops its body.
    fn wake_and_drop_body(&self, awaited: bool) -> Callbacks {
        let callbacks = self.head().wake_if(awaited);
        discard(self.take_content());
        callbacks
    }

    /// Notifies the pool and calls the callbacks of a task that was cancelled, after the runner was
    /// interrupted and the waiters woken: both may take their time.
    fn notify_cancelled(&self, callbacks: Callbacks) {
        self.disarm();
        if let Some(timer) = self.timer.view() {
            ignore_panic(|| timer.notify_cancelled());
        }
        self.head().call(callbacks);
    }

    /// Returns the place of its timer, if it has one.
    #[inline]
    pub(super) fn place(&self) -> Option<&Place> {
        self.timer.place()
    }

    /// Cancels the task and moves the input of its body into `place`, an `Option<I>`. Returns false, and
    /// changes nothing, if the body has no input of type `I`, or has started, or is gone.
    pub(super) fn take_input(&self, place: &mut dyn Any) -> bool {
        if !B::has_input(place) {
            return false;
        }
        let reason = self.head().state().drop_reason();
        let Withdrawn::Won { awaited } = self.head().state.withdraw(reason) else {
            return false;
        };
        let callbacks = self.head().wake_if(awaited);
        let taken = self.take_body().map(|body| body.take_input(place));
        debug_assert!(matches!(taken, Some(Ok(()))), "the withdrawn body has it");
        ignore_panic(|| self.notify_cancelled(callbacks));
        true
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Cell<T, B, W> {
    /// Returns the outcome of a task that is done and was not cancelled, in place.
    fn outcome_in_place(&self, state: Snapshot) -> Option<&Result<T, Failure>> {
        if state.is_claimed() {
            let completion = self.head().header().completion();
            // SAFETY: `DONE` with `CLAIMED` was seen; a reader in place does not take at the same
            // time, and if there are several readers, `T` is `Sync`.
            return unsafe { completion.get() }?.downcast_ref();
        }
        // SAFETY: `DONE` alone was seen, so the runner is done; and a reader in place does not
        // take at the same time.
        let content = self.content.with(|content| unsafe { &*content });
        match content.get() {
            Some(Content::Outcome(outcome)) => Some(outcome),
            _ => None,
        }
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Runnable for Cell<T, B, W> {
    fn run(&self) -> RunOutcome {
        let ran = self.as_runner(|me| {
            let (outcome, ran) = self.run_body()?;
            self.disarm();
            (self.finish(me, outcome, RunnerRef::Keep) != Finished::Lost).then_some(ran)
        });
        ran.flatten().unwrap_or(RunOutcome::Skipped)
    }

    fn run_and_reset(&self) -> RunOutcome {
        let round = |me: &ThreadContext| {
            let mut body = self.take_body()?;
            let outcome = running::enter(self, || catch(|| body.run_again()));
            let outcome = outcome.unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
            // Before the end of the run is published: the next run has a timer of its own.
            self.disarm();
            let last = match outcome {
                Ok(None) => None,
                Ok(Some(value)) => Some((Ok(value), RunOutcome::Completed)),
                Err(failure) => Some((Err(failure.clone()), RunOutcome::Failed(failure))),
            };
            if let Some((outcome, ran)) = last {
                discard(body);
                let stands = self.finish(me, outcome, RunnerRef::Keep) != Finished::Lost;
                return stands.then_some(ran);
            }
            self.put_content(Content::Body(body));
            if self.head().state.reset() == Reset::Queued {
                self.arm_again();
                return Some(RunOutcome::Completed);
            }
            discard(self.take_content());
            self.head().await_delivery(me);
            None
        };
        let ran = B::REPEATS.then(|| self.as_runner(round));
        ran.flatten().flatten().unwrap_or(RunOutcome::Skipped)
    }

    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.cancel_then(mode, reason, || ())
    }

    fn abandon(&self) {
        let reason = self.head().state().drop_reason();
        // One step decides against a start: a task that another thread has started runs to its end.
        if let Withdrawn::Won { awaited } = self.head().state.withdraw(reason) {
            let callbacks = self.wake_and_drop_body(awaited);
            self.notify_cancelled(callbacks);
        }
    }

    fn fail(&self, failure: Failure) -> bool {
        let finished = self.as_runner(|me| {
            discard(self.take_content());
            self.disarm();
            self.finish(me, Err(failure), RunnerRef::Keep)
        });
        finished.is_some_and(|finished| finished != Finished::Lost)
    }

    fn set_drop_reason(&self, reason: Cancellation) {
        self.head().state.set_drop_reason(reason);
        // Now a caller owns the task, for any time, and its scope would wait for that caller.
        if B::BORROWS && matches!(reason, Cancellation::Drained | Cancellation::Removed) {
            ignore_panic(|| self.abandon());
        }
    }

    fn state(&self) -> Snapshot {
        self.head().state()
    }

    fn header(&self) -> &Header {
        self.head().header()
    }

    fn timer(&self) -> Option<TimerView<'_>> {
        self.timer.view()
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Untyped for Cell<T, B, W> {
    #[cfg(any(feature = "async", test))]
    fn run_part(&self, part: &mut dyn FnMut()) -> PartOutcome {
        debug_assert!(B::SUSPENDS, "others run to their end");
        let outcome = self.as_runner(|me| {
            running::enter(self, part);
            if self.head().state.reset() == Reset::Queued {
                return PartOutcome::Suspended;
            }
            // Who cancels a task that runs leaves its body to the runner.
            discard(self.take_content());
            self.head().await_delivery(me);
            PartOutcome::Cancelled
        });
        outcome.unwrap_or(PartOutcome::NotRun)
    }

    fn expire(&self) {
        let times = limit_timer::limits_of(self.head()).map(|(_, times)| times);
        if B::SUSPENDS && times.is_some_and(|times| !times.decide_expiry()) {
            return;
        }
        self.with_limit_owner(|owner| owner.expiry_begins());
        let withdrawn = self.head().state.withdraw(Cancellation::Expired);
        let expired = matches!(withdrawn, Withdrawn::Won { .. });
        self.with_limit_owner(|owner| owner.expiry_ends(expired));
        let Withdrawn::Won { awaited } = withdrawn else {
            return;
        };
        let callbacks = self.wake_and_drop_body(awaited);
        self.notify_cancelled(callbacks);
    }

    fn time_out(&self) {
        self.cancel_then(CancelMode::Interrupt, Cancellation::TimedOut, || {
            self.with_limit_owner(|owner| owner.task_timed_out());
        });
    }

    fn pointer_from(&self) -> fn(NonNull<()>) -> NonNull<dyn Untyped> {
        |cell| cell.cast::<Self>()
    }
}

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Awaitable<T> for Cell<T, B, W> {
    fn take_outcome(&self) -> Option<Result<T, ExecutionError>> {
        let state = self.head().state.load();
        if !state.is_done() {
            return None;
        }
        if let Some(reason) = state.cancellation() {
            return Some(Err(ExecutionError::Cancelled(reason)));
        }
        if state.is_failed() {
            // Every call returns the same failure, so it stays.
            return self.outcome_in_place(state).map(failure_of);
        }
        let taken = if state.is_claimed() {
            let completion = self.head().header().completion();
            // SAFETY: `DONE` with `CLAIMED` was seen, and the caller is the only reader.
            let taken = unsafe { completion.take() };
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
        let state = self.head().state.load();
        if !state.is_done() {
            return None;
        }
        if let Some(reason) = state.cancellation() {
            return Some(Err(ExecutionError::Cancelled(reason)));
        }
        self.outcome_in_place(state).map(|outcome| match outcome {
            Ok(value) => Ok(value),
            failed => failure_of(failed),
        })
    }

    fn complete(&self, outcome: Result<T, Failure>) -> bool {
        let claimed = self.head().state.claim();
        if claimed == Claimed::Lost {
            self.head().await_claimer();
            discard(outcome);
            return false;
        }
        let kind = ResultKind::of(&outcome);
        // SAFETY: the claim was won, and the result is published next.
        unsafe { self.head().header().completion().put(Box::new(outcome)) };
        let Published { awaited } = self.head().state.publish(kind);
        self.disarm();
        self.head().call(if claimed == Claimed::Running {
            self.head().wake_if(awaited)
        } else {
            self.wake_and_drop_body(awaited)
        });
        true
    }
}

/// Returns the failure in an outcome, as an error.
fn failure_of<T, U>(outcome: &Result<T, Failure>) -> Result<U, ExecutionError> {
    Err(match outcome {
        Ok(_) => ExecutionError::Taken,
        Err(failure) => ExecutionError::Failed(failure.clone()),
    })
}

#[cfg(all(test, target_os = "linux", not(loom), not(shuttle)))]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::super::body::{Call, Once};
    use super::super::id::TaskId;
    use super::{
        CancelMode, Cancellation, Cancelled, Cell, Claimed, Header, ResultKind, Runnable,
        ThreadContext,
    };
    use crate::sync::Deadline;

    fn this_thread() -> PathBuf {
        let link = std::fs::read_link("/proc/thread-self").expect("procfs has it");
        std::path::Path::new("/proc").join(link).join("stat")
    }

    /// Waits until the system says that the thread sleeps.
    fn await_asleep(thread: &PathBuf) {
        let deadline = Deadline::after(Duration::from_secs(30));
        loop {
            let stat = std::fs::read_to_string(thread).expect("the thread lives");
            // `pid (name) state …`; the name may have spaces.
            let state = stat.rsplit(')').next().unwrap_or_default();
            if state.trim().starts_with('S') {
                return;
            }
            assert!(!deadline.has_passed(), "the thread spins");
            thread::yield_now();
        }
    }

    /// With the word before each cell, three fourths of a cache line.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_cell_of_a_number_is_five_words() {
        fn size_of_cell<B: super::Body<u64>>(_: B) -> usize {
            size_of::<Cell<u64, B>>()
        }
        let number = std::hint::black_box(7);
        assert_eq!(size_of_cell(Call(move || number)), 40);
    }

    /// WL-052
    #[test]
    fn a_runner_sleeps_while_a_canceller_is_about_to_interrupt_it() {
        let (started, starts) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let body = move || {
            started.send(this_thread()).unwrap();
            // Busy, so that it sleeps for the canceller only.
            while gate.try_recv().is_err() {
                thread::yield_now();
            }
            Ok(())
        };
        let cell = Cell::new(Header::new(TaskId::next(), None), Once(body));
        let theirs = cell.clone();
        let runner = thread::spawn(move || theirs.run());
        let stat = starts.recv().unwrap();
        let state = &cell.head().state;
        let Cancelled::Running { runner: number, .. } =
            state.cancel(CancelMode::Interrupt, Cancellation::Requested)
        else {
            panic!("it runs");
        };
        open.send(()).unwrap();
        await_asleep(&stat);
        cell.head()
            .interrupt_runner(number, ThreadContext::set_interrupted);
        runner.join().unwrap();
    }

    /// WL-052
    #[test]
    fn a_canceller_that_comes_too_late_sleeps_until_the_task_is_done() {
        let cell = Cell::new(Header::new(TaskId::next(), None), Once(|| Ok(())));
        assert_eq!(cell.head().state.claim(), Claimed::Unstarted);
        let theirs = cell.clone();
        let (started, starts) = mpsc::channel();
        let canceller = thread::spawn(move || {
            started.send(this_thread()).unwrap();
            theirs.cancel(CancelMode::LetRun, Cancellation::Requested)
        });
        await_asleep(&starts.recv().unwrap());
        assert!(!cell.state().is_done());
        let awaited = cell.head().state.publish(ResultKind::Value).awaited;
        cell.head().call(cell.head().wake_if(awaited));
        assert!(!canceller.join().unwrap());
    }
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
                    .head()
                    .poll_done(WakerKey::OWNER, &Waker::from(Arc::clone(&woken)))
            );
            let theirs = cell.clone();
            let runner = thread::Builder::new().spawn(move || theirs.run()).unwrap();
            let refuse = |_: &ThreadContext| std::panic::resume_unwind(Box::new("refused"));
            let _ = match cell
                .head()
                .state
                .cancel(CancelMode::Interrupt, Cancellation::Requested)
            {
                Cancelled::Running { awaited, runner } => {
                    cell.head().interrupt_runner(runner, refuse);
                    cell.head().wake_if(awaited)
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
