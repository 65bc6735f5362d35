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

use std::ptr;
use std::sync::Arc;
use std::task::Waker;

use super::error::{Cancellation, ExecutionError, Failure};
use super::header::Header;
use super::state::{Cancelled, Finished, Snapshot, State};
use crate::containment::{catch, contain, discard, discard_payload};
use crate::interrupt::{Parked, Record};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Deadline, Mutex, UnsafeCell, thread};

/// What a task runs.
pub(super) trait Body<T>: Send {
    /// The last or only run.
    fn run_once(self) -> Result<T, Failure>;

    /// A run without a result; `None` if there can be only one run.
    fn run_again(&mut self) -> Option<Result<(), Failure>>;
}

/// A body that can run once.
pub(super) struct Once<F>(pub(super) F);

/// A body that can run any number of times.
pub(super) struct Repeating<F>(pub(super) F);

impl<T, F: FnOnce() -> Result<T, Failure> + Send> Body<T> for Once<F> {
    fn run_once(self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Option<Result<(), Failure>> {
        None
    }
}

impl<T, F: FnMut() -> Result<T, Failure> + Send> Body<T> for Repeating<F> {
    fn run_once(mut self) -> Result<T, Failure> {
        (self.0)()
    }

    fn run_again(&mut self) -> Option<Result<(), Failure>> {
        Some((self.0)().map(drop))
    }
}

/// Called when the task is done, with how it ended.
pub(super) type Callback = Box<dyn FnOnce(Snapshot) + Send>;

/// What is needed only where somebody waits.
#[derive(Default)]
struct Side {
    waiters: Vec<Waiter>,
    callbacks: Vec<Callback>,
    next_key: u64,
}

enum Waiter {
    Thread(Arc<Record>),
    Waker(u64, Waker),
}

/// The part of a cell that does not depend on the type of its body.
pub(super) struct Core<T> {
    state: State,
    header: Header,
    /// The record of the running thread; null before it is known and after the run.
    runner: AtomicPtr<Record>,
    outcome: UnsafeCell<Option<Result<T, Failure>>>,
    side: Mutex<Side>,
}

/// A task with a result.
pub(super) struct Cell<T, B> {
    core: Core<T>,
    body: UnsafeCell<Option<B>>,
}

// SAFETY: body and outcome are reached by one thread at a time, or read only, as the header of
// this file says; sending them to that thread is what `Send` allows. Shared reading of the outcome
// is offered for `T: Sync` only (`SharedHandle`, `FutureTask`).
unsafe impl<T: Send, B: Send> Sync for Cell<T, B> {}
// SAFETY: as above; the runner pointer is not an owner.
unsafe impl<T: Send, B: Send> Send for Cell<T, B> {}

/// What became of a run.
#[derive(Debug, Clone)]
pub(crate) enum Ran {
    /// It ended with a value.
    Well,
    /// It ended with this failure.
    Failed(Failure),
    /// It did not run, or its result was not wanted any more.
    Void,
}

/// A task seen without the type of its result.
pub(crate) trait Runnable: Send + Sync {
    fn run(&self) -> Ran;
    fn run_and_reset(&self) -> Ran;
    fn cancel(&self, interrupt: bool, why: Cancellation) -> bool;
    fn state(&self) -> Snapshot;
    fn header(&self) -> &Header;
}

/// A task seen by those who wait for its result.
pub(super) trait Awaitable<T>: Runnable {
    fn core(&self) -> &Core<T>;
    fn complete(&self, outcome: Result<T, Failure>) -> bool;
    fn as_runnable(self: Arc<Self>) -> Arc<dyn Runnable>;
}

impl<T: Send, B: Body<T>> Cell<T, B> {
    pub(super) fn new(header: Header, state: State, body: B) -> Arc<Self> {
        let core = Core {
            state,
            header,
            runner: AtomicPtr::new(ptr::null_mut()),
            outcome: UnsafeCell::new(None),
            side: Mutex::new(Side::default()),
        };
        Arc::new(Self {
            core,
            body: UnsafeCell::new(Some(body)),
        })
    }

    /// Runs `run` as the one runner, unless there is one or the task is done.
    fn as_runner(&self, run: impl FnOnce(&Arc<Record>)) {
        if !self.core.state.start() {
            return;
        }
        Record::with_current(|me| {
            self.core.set_runner(me);
            let ended = catch(|| run(me));
            self.core.await_delivery();
            if let Err(payload) = ended {
                std::panic::resume_unwind(payload);
            }
        });
    }

    fn take_body(&self) -> Option<B> {
        self.body.with_mut(|body| {
            // SAFETY: the caller has won `start`, or `cancel` or `claim` over a task that was not
            // running, so nobody else touches the body.
            unsafe { (*body).take() }
        })
    }
}

impl<T> Core<T> {
    fn write(&self, outcome: Option<Result<T, Failure>>) -> Option<Result<T, Failure>> {
        self.outcome.with_mut(|place| {
            // SAFETY: the caller is the one writer (the runner, or the holder of the claim), and
            // nobody reads before `DONE` is published without `CANCELLED`.
            unsafe { std::mem::replace(&mut *place, outcome) }
        })
    }

    /// Ends a run with this outcome; false if the task was cancelled or completed meanwhile.
    fn finish(&self, outcome: Result<T, Failure>) -> bool {
        if self.state.is_settable() && self.state.claim().is_none() {
            discard(outcome);
            return false;
        }
        let failed = outcome.is_err();
        self.write(Some(outcome));
        match self.state.finish(failed) {
            Finished::Won { awaited: true } => self.announce(),
            Finished::Won { awaited: false } => {}
            Finished::Lost => {
                discard(self.write(None));
                return false;
            }
        }
        true
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
        self.runner.store(ptr::null_mut(), Ordering::Relaxed);
        let reset = self.state.reset();
        if !reset {
            self.set_runner(me);
        }
        reset
    }

    /// A canceller that is about to interrupt this thread does so before the run is left.
    fn await_delivery(&self) {
        while self.state.load().is_interrupting() {
            thread::yield_now();
        }
    }

    /// Interrupts the thread that runs the task, after `cancel` has marked it `INTERRUPTING`.
    fn interrupt_runner(&self) {
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
        runner.interrupt();
    }

    /// Wakes all who wait, then calls all who wanted to be called.
    fn announce(&self) {
        let callbacks = self.wake_waiters();
        self.call(callbacks);
    }

    fn wake_waiters(&self) -> Vec<Callback> {
        let (waiters, callbacks) = {
            let mut side = self.side.lock();
            (
                std::mem::take(&mut side.waiters),
                std::mem::take(&mut side.callbacks),
            )
        };
        for waiter in waiters {
            match waiter {
                Waiter::Thread(thread) => thread.unpark(),
                Waiter::Waker(_, waker) => contain(|| waker.wake()),
            }
        }
        callbacks
    }

    /// Calls all, and then goes on with the panic of the first that panicked.
    fn call(&self, callbacks: Vec<Callback>) {
        let end = self.state.load();
        let mut first = None;
        for callback in callbacks {
            if let Err(payload) = catch(|| callback(end)) {
                match first {
                    None => first = Some(payload),
                    Some(_) => discard_payload(payload),
                }
            }
        }
        if let Some(payload) = first {
            std::panic::resume_unwind(payload);
        }
    }

    /// Waits until the task is done.
    pub(super) fn wait(&self, deadline: Deadline) -> Result<(), ExecutionError> {
        if self.state.load().is_done() {
            return Ok(());
        }
        let me = Record::current();
        if me.take_flag() {
            return Err(ExecutionError::Interrupted);
        }
        if deadline.has_passed() {
            return Err(ExecutionError::TimedOut);
        }
        self.side
            .lock()
            .waiters
            .push(Waiter::Thread(Arc::clone(&me)));
        if !self.state.announce_wait() {
            return Ok(());
        }
        loop {
            let parked = me.park(deadline);
            if self.state.load().is_done() {
                return Ok(());
            }
            if parked == Parked::Unparked {
                continue;
            }
            let same = |waiter: &Waiter| matches!(waiter, Waiter::Thread(t) if Arc::ptr_eq(t, &me));
            let mut side = self.side.lock();
            if let Some(at) = side.waiters.iter().position(same) {
                side.waiters.swap_remove(at);
            }
            drop(side);
            if parked == Parked::TimedOut {
                return Err(ExecutionError::TimedOut);
            }
            me.take_flag();
            return Err(ExecutionError::Interrupted);
        }
    }

    /// A number under which a waker of its own can be registered.
    pub(super) fn new_key(&self) -> u64 {
        let mut side = self.side.lock();
        side.next_key += 1;
        side.next_key
    }

    /// Registers the waker under the key, in the place of an older one; true if the task is done.
    pub(super) fn poll_done(&self, key: u64, waker: &Waker) -> bool {
        if self.state.load().is_done() {
            return true;
        }
        let waker = waker.clone();
        let former = {
            let mut side = self.side.lock();
            let mut former = None;
            let at = side
                .waiters
                .iter()
                .position(|w| matches!(w, Waiter::Waker(k, _) if *k == key));
            if let Some(at) = at {
                former = Some(side.waiters.swap_remove(at));
            }
            side.waiters.push(Waiter::Waker(key, waker));
            former
        };
        drop(former);
        !self.state.announce_wait()
    }

    /// Forgets the waker that was registered under the key.
    pub(super) fn forget_waker(&self, key: u64) {
        let former = {
            let mut side = self.side.lock();
            let at = side
                .waiters
                .iter()
                .position(|w| matches!(w, Waiter::Waker(k, _) if *k == key));
            at.map(|at| side.waiters.swap_remove(at))
        };
        drop(former);
    }

    /// Calls `callback` when the task is done: at once if it is.
    pub(super) fn on_done(&self, callback: Callback) {
        if !self.state.load().is_done() {
            self.side.lock().callbacks.push(callback);
            if self.state.announce_wait() {
                return;
            }
            // Done meanwhile, perhaps without anybody having seen the callback.
            let callbacks = std::mem::take(&mut self.side.lock().callbacks);
            return self.call(callbacks);
        }
        callback(self.state.load());
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
            match outcome {
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
        outcome.as_ref().map(|outcome| match outcome {
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
            let Some(body) = self.take_body() else { return };
            let outcome = catch(|| body.run_once());
            let outcome = outcome.unwrap_or_else(|payload| Err(Failure::from_panic(payload)));
            let seen = match &outcome {
                Ok(_) => Ran::Well,
                Err(failure) => Ran::Failed(failure.clone()),
            };
            if self.core.finish(outcome) {
                ran = seen;
            }
        });
        ran
    }

    fn run_and_reset(&self) -> Ran {
        let mut came_of_it = Ran::Void;
        self.as_runner(|me| {
            let Some(mut body) = self.take_body() else {
                return;
            };
            let ran = catch(|| body.run_again());
            let ran = ran.unwrap_or_else(|payload| Some(Err(Failure::from_panic(payload))));
            if let Some(Err(failure)) = ran {
                discard(body);
                if self.core.finish(Err(failure.clone())) {
                    came_of_it = Ran::Failed(failure);
                }
                return;
            }
            self.body.with_mut(|place| {
                // SAFETY: this thread has won `start` and gives the body up with the reset.
                unsafe { *place = Some(body) };
            });
            if !self.core.reset(me) {
                discard(self.take_body());
            } else if ran.is_some() {
                came_of_it = Ran::Well;
            }
        });
        came_of_it
    }

    fn cancel(&self, interrupt: bool, why: Cancellation) -> bool {
        let cancelled = self.core.state.cancel(interrupt, why as u8);
        if cancelled == Cancelled::TooLate {
            return false;
        }
        if let Some(schedule) = self.core.header.schedule() {
            schedule.cancelled(self.core.header.id());
        }
        match cancelled {
            Cancelled::TooLate => {}
            Cancelled::Unstarted { awaited } => {
                let callbacks = if awaited {
                    self.core.wake_waiters()
                } else {
                    Vec::new()
                };
                discard(self.take_body());
                self.core.call(callbacks);
            }
            Cancelled::Running { awaited } => {
                if interrupt {
                    self.core.interrupt_runner();
                }
                if awaited {
                    self.core.announce();
                }
            }
        }
        true
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
            discard(outcome);
            return false;
        };
        let failed = outcome.is_err();
        self.core.write(Some(outcome));
        let awaited = matches!(
            self.core.state.finish(failed),
            Finished::Won { awaited: true }
        );
        let callbacks = if awaited {
            self.core.wake_waiters()
        } else {
            Vec::new()
        };
        if !before.is_running() {
            discard(self.take_body());
        }
        self.core.call(callbacks);
        true
    }

    fn as_runnable(self: Arc<Self>) -> Arc<dyn Runnable> {
        self
    }
}
