//! The closure, then the result, and who waits for it: one allocation for all of a submitted task.
//!
//! Who may touch what is decided by [`State`] alone. The *body* belongs to the winner of `start`,
//! or, while nobody has started, to the winner of `cancel` or `claim`. The *outcome* is written by
//! the one runner (or the one claimer, for tasks that can be completed from outside) before `DONE`
//! is published without `CANCELLED`, and only read afterwards. The *runner* pointer is followed
//! only by a canceller that has set `INTERRUPTING`, and the runner does not leave `run` while that
//! bit is set, so the record it points to is alive.
//!
//! A version with locks in the place of the two cells is the comparison in the benchmarks.

#![expect(
    unsafe_code,
    reason = "a lock around body and outcome would cost more than the rest of a submission"
)]

mod awaiting;

use std::ptr;
use std::sync::Arc;

use super::body::Body;
use super::error::{Cancellation, ExecutionError, Failure};
use super::header::Header;
use super::runnable::{Awaitable, Ran, Runnable};
use super::state::{Cancelled, Finished, Snapshot, State};
use super::waiters::{Callbacks, Waiters};
use crate::containment::{Contained, catch, contain, discard};
use crate::interrupt::Record;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{UnsafeCell, mutant, thread};

/// The part of a cell that does not depend on the type of its body.
pub(super) struct Core<T> {
    state: State,
    header: Header,
    /// The record of the running thread; null before it is known and after the run.
    runner: AtomicPtr<Record>,
    outcome: UnsafeCell<Contained<Result<T, Failure>>>,
    waiters: Waiters,
}

/// A task with a result.
pub(super) struct Cell<T, B> {
    core: Core<T>,
    body: UnsafeCell<Contained<B>>,
}

// SAFETY: body and outcome are reached by one thread at a time, or read only, as the header of
// this file says; sending them to that thread is what `Send` allows. Shared reading of the outcome
// is offered for `T: Sync` only (`SharedHandle`, `FutureTask`).
unsafe impl<T: Send, B: Send> Sync for Cell<T, B> {}
// SAFETY: as above; the runner pointer is not an owner.
unsafe impl<T: Send, B: Send> Send for Cell<T, B> {}

impl<T: Send, B: Body<T>> Cell<T, B> {
    pub(super) fn new(header: Header, state: State, body: B) -> Arc<Self> {
        Arc::new(Self::unshared(header, state, body))
    }

    /// A cell that is to be a part of something larger.
    pub(super) fn unshared(header: Header, state: State, body: B) -> Self {
        let core = Core {
            state,
            header,
            runner: AtomicPtr::new(ptr::null_mut()),
            outcome: UnsafeCell::new(Contained::empty()),
            waiters: Waiters::default(),
        };
        Self {
            core,
            body: UnsafeCell::new(Contained::new(body)),
        }
    }

    /// Runs `run` as the one runner, unless there is one or the task is done. Passes on what `run`
    /// says: whether it has reset the task, which then is no longer this thread's.
    fn as_runner(&self, run: impl FnOnce(&Arc<Record>) -> bool) -> bool {
        if !self.core.state.start() {
            return false;
        }
        Record::with_current(|me| {
            self.core.set_runner(me);
            match catch(|| run(me)) {
                Ok(true) => true,
                ended => {
                    self.core.await_delivery();
                    ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
                }
            }
        })
    }

    fn take_body(&self) -> Option<B> {
        self.body.with_mut(|body| {
            // SAFETY: the caller has won `start`, or `cancel` or `claim` over a task that was not
            // running, so nobody else touches the body.
            unsafe { (*body).take() }
        })
    }

    /// Releases those who wait for a task that has not run and never will, and drops its body.
    fn settle_unstarted(&self, awaited: bool) -> Callbacks {
        let callbacks = self.core.release(awaited);
        // Mutant: what the body captured lives as long as the handle.
        if !mutant!("task_keep_cancelled_body") {
            discard(self.take_body());
        }
        callbacks
    }

    /// Cancels the task; calls `then` if it was not done, before its done-callbacks are called.
    pub(super) fn cancel_and(
        &self,
        interrupt: bool,
        why: Cancellation,
        then: impl FnOnce(),
    ) -> bool {
        let callbacks = match self.core.state.cancel(interrupt, why as u8) {
            Cancelled::TooLate => {
                self.core.await_claimer();
                return false;
            }
            Cancelled::Unstarted { awaited } => self.settle_unstarted(awaited),
            Cancelled::Running { awaited } => {
                let tell = interrupt.then_some(Record::interrupt);
                self.core.settle_running(awaited, tell)
            }
        };
        // After the runner was told and the waiters released: this may take its time.
        then();
        self.core.call(callbacks);
        true
    }
}

impl<T> Core<T> {
    fn write(&self, outcome: Result<T, Failure>) {
        self.outcome.with_mut(|place| {
            // SAFETY: the caller is the one writer (the runner, or the holder of the claim), and
            // nobody reads before `DONE` is published without `CANCELLED`.
            unsafe { (*place).put(outcome) }
        });
    }

    /// Takes back an outcome that was written and could not be published.
    fn take_back(&self) -> Option<Result<T, Failure>> {
        self.outcome.with_mut(|place| {
            // SAFETY: the caller is the one writer, and the task was cancelled, so nobody reads.
            unsafe { (*place).take() }
        })
    }

    /// Ends a run with this outcome; false if the task was cancelled or completed meanwhile.
    fn finish(&self, outcome: Result<T, Failure>) -> bool {
        if self.state.is_settable() && self.state.claim().is_none() {
            discard(outcome);
            return false;
        }
        let failed = outcome.is_err();
        self.write(outcome);
        let finished = self.state.finish(failed);
        match finished {
            Finished::Won { awaited } => self.call(self.release(awaited)),
            Finished::Lost => discard(self.take_back()),
        }
        finished != Finished::Lost
    }

    /// Whoever has claimed the result publishes it next: waits for that, so that an attempt that
    /// came too late leaves a task that is done.
    fn await_claimer(&self) {
        // Mutant: a cancel says that it came too late for a task that is not done.
        let leaves_early = mutant!("task_lose_before_done");
        while !leaves_early && !self.state.load().is_done() {
            thread::yield_now();
        }
    }

    fn set_runner(&self, me: &Arc<Record>) {
        self.runner
            .store(Arc::as_ptr(me).cast_mut(), Ordering::Release);
    }

    /// Makes the task one that has not run, for its next run; false if it is done or claimed, and
    /// the body is still this thread's.
    fn reset(&self, me: &Arc<Record>) -> bool {
        // Null before the next runner can come. A canceller that comes before the reset finds null
        // and waits; then the reset fails, and it is given this thread after all.
        // Mutant: a canceller interrupts the runner of an earlier round.
        if !mutant!("task_reset_keeps_runner") {
            self.runner.store(ptr::null_mut(), Ordering::Relaxed);
        }
        let reset = self.state.reset();
        if !reset {
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
    fn settle_running(&self, awaited: bool, tell: Option<impl FnOnce(&Record)>) -> Callbacks {
        if let Some(tell) = tell {
            contain(|| self.tell_runner(tell));
        }
        self.release(awaited)
    }

    /// Shows `tell` the thread that runs the task, after `cancel` has marked it `INTERRUPTING`.
    fn tell_runner(&self, tell: impl FnOnce(&Record)) {
        struct Delivered<'a>(&'a State);
        impl Drop for Delivered<'_> {
            fn drop(&mut self) {
                self.0.interrupt_delivered();
            }
        }
        let _delivered = Delivered(&self.state);
        let mut runner = self.runner.load(Ordering::Acquire);
        while runner.is_null() {
            // The runner has won `start` and stores its record next.
            thread::yield_now();
            runner = self.runner.load(Ordering::Acquire);
        }
        // SAFETY: the runner stays in `run` until `INTERRUPTING` is cleared, and its record lives
        // at least as long.
        let runner = unsafe { &*runner };
        tell(runner);
    }

    /// Wakes all who wait; gives those who want to be called.
    fn release(&self, awaited: bool) -> Callbacks {
        // Mutant: those who wait are never told.
        if awaited && !mutant!("task_release_nobody") {
            self.waiters.release()
        } else {
            Callbacks::default()
        }
    }

    fn call(&self, callbacks: Callbacks) {
        callbacks.call(self.state.load());
    }

    /// How the task ended, if it has, with the value moved out.
    ///
    /// For the one handle of a task whose value nobody else reads: the caller has it exclusively.
    pub(super) fn take_outcome(&self) -> Option<Result<T, ExecutionError>> {
        let state = self.state.load();
        if !state.is_done() {
            return None;
        }
        if state.is_cancelled() {
            return Some(Err(cancelled(state)));
        }
        let taken = self.outcome.with_mut(|outcome| {
            // SAFETY: `DONE` without `CANCELLED` was seen, so the writer is through, and the
            // caller is the only reader.
            let outcome = unsafe { &mut *outcome };
            match outcome.get() {
                Some(Err(failure)) => Some(Err(failure.clone())),
                _ => outcome.take(),
            }
        });
        Some(match taken {
            Some(Ok(value)) => Ok(value),
            Some(Err(failure)) => Err(ExecutionError::Failed(failure)),
            None => Err(ExecutionError::Taken),
        })
    }

    /// How the task ended, if it has.
    ///
    /// For tasks whose value is only ever read in place; `T: Sync` since many may do so.
    pub(super) fn outcome(&self) -> Option<Result<&T, ExecutionError>>
    where
        T: Sync,
    {
        let state = self.state.load();
        if !state.is_done() {
            return None;
        }
        if state.is_cancelled() {
            return Some(Err(cancelled(state)));
        }
        let outcome = self.outcome.with(|outcome| {
            // SAFETY: `DONE` without `CANCELLED` was seen, so the writer is through, and nobody
            // writes or moves the value while there are shared handles.
            unsafe { &*outcome }
        });
        outcome.get().map(|outcome| match outcome {
            Ok(value) => Ok(value),
            Err(failure) => Err(ExecutionError::Failed(failure.clone())),
        })
    }

    pub(super) fn state(&self) -> Snapshot {
        self.state.load()
    }
}

fn cancelled(state: Snapshot) -> ExecutionError {
    ExecutionError::Cancelled(Cancellation::from_number(state.why()))
}

impl<T: Send, B: Body<T>> Runnable for Cell<T, B> {
    fn run(&self) -> Ran {
        let mut ran = Ran::Void;
        self.as_runner(|_| {
            if let Some(body) = self.take_body() {
                let outcome = catch(|| body.run_once());
                let outcome = outcome.unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
                let seen = match &outcome {
                    Ok(_) => Ran::Well,
                    Err(failure) => Ran::Failed(failure.clone()),
                };
                if self.core.finish(outcome) {
                    ran = seen;
                }
            }
            false
        });
        ran
    }

    fn run_and_reset(&self) -> Ran {
        let mut ran = Ran::Void;
        let round = |me: &Arc<Record>| {
            let Some(mut body) = self.take_body() else {
                return false;
            };
            let outcome = catch(|| body.run_again());
            let outcome = outcome.unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
            if let Err(failure) = outcome {
                discard(body);
                if self.core.finish(Err(failure.clone())) {
                    ran = Ran::Failed(failure);
                }
                return false;
            }
            self.body.with_mut(|place| {
                // SAFETY: this thread has won `start` and gives the body up with the reset.
                unsafe { (*place).put(body) };
            });
            let reset = self.core.reset(me);
            if reset {
                ran = Ran::Well;
            } else {
                discard(self.take_body());
            }
            reset
        };
        if B::REPEATS {
            self.as_runner(round);
        }
        ran
    }

    fn cancel(&self, interrupt: bool, why: Cancellation) -> bool {
        self.cancel_and(interrupt, why, || ())
    }

    fn fail(&self, failure: Failure) -> bool {
        let mut failed = false;
        self.as_runner(|_| {
            discard(self.take_body());
            failed = self.core.finish(Err(failure));
            false
        });
        failed
    }

    fn state(&self) -> Snapshot {
        self.core.state()
    }

    fn header(&self) -> &Header {
        &self.core.header
    }
}

impl<T: Send + 'static, B: Body<T> + 'static> Awaitable<T> for Cell<T, B> {
    fn core(&self) -> &Core<T> {
        &self.core
    }

    fn complete(&self, outcome: Result<T, Failure>) -> bool {
        let Some(before) = self.core.state.claim() else {
            self.core.await_claimer();
            discard(outcome);
            return false;
        };
        let failed = outcome.is_err();
        self.core.write(outcome);
        let awaited = self.core.state.finish(failed) == Finished::Won { awaited: true };
        self.core.call(if before.is_running() {
            self.core.release(awaited)
        } else {
            self.settle_unstarted(awaited)
        });
        true
    }

    fn as_runnable(self: Arc<Self>) -> Arc<dyn Runnable> {
        self
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::task::{Wake, Waker};

    use super::super::{body::Once, id::TaskId};
    use super::{Callbacks, Cancelled, Cell, Failure, Header, Record, Runnable, State};
    use crate::sync::atomic::{AtomicBool, Ordering};
    use crate::sync::{model, thread};

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    /// NA-06
    #[test]
    fn a_task_settles_and_its_runner_leaves_even_if_the_interrupt_unwinds() {
        model(|| {
            let header = Header::new(TaskId::next(), None);
            let cell = Cell::new(header, State::new(), Once(|| Ok::<_, Failure>(())));
            let woken = Arc::new(Woken(AtomicBool::new(false)));
            assert!(!cell.core.poll_done(0, &Waker::from(Arc::clone(&woken))));
            let theirs = Arc::clone(&cell);
            let runner = thread::Builder::new().spawn(move || theirs.run()).unwrap();
            let refuse = |_: &Record| std::panic::resume_unwind(Box::new("refused"));
            let _ = match cell.core.state.cancel(true, 0) {
                Cancelled::Running { awaited } => cell.core.settle_running(awaited, Some(refuse)),
                Cancelled::Unstarted { awaited } => cell.settle_unstarted(awaited),
                Cancelled::TooLate => Callbacks::default(),
            };
            runner.join().unwrap();
            assert!(cell.state().is_done() && !cell.state().is_interrupting());
            assert!(woken.0.load(Ordering::Acquire));
        });
    }
}
