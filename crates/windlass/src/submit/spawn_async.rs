//! Futures as tasks: each wake-up submits one poll.
//!
//! The executor sees tasks, one for each poll, all with the id, the name and the attachment of the handle.
//! The handle is that of an ordinary task, a cell that is completed from outside. `async-task` decides when
//! a poll is due: at most one is queued, however often the future is woken.
//!
//! ```text
//!   TaskHandle ──▶ cell ──body──▶ CancelOnDrop ──▶ async_task::Task ──▶ Driven { future, Promise } ──▶ cell
//! ```
//!
//! This circle is open again when the cell is done: a completion or a cancel drops the body. To drop the
//! `async_task::Task` schedules a last poll, which drops the future on a thread of the executor. A future
//! that nobody can wake any more is noticed by [`Tracked`], and its handle is cancelled.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use crate::executor::{Executor, Registration, RejectedExecution, ShutdownCancels, Suspend};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, const_thread_local};
use crate::task::{
    CancelMode, Cancellation, Captured, Failure, Header, PartOutcome, Promise, Ref, RunOutcome,
    Runnable, Snapshot, Task, TaskBuilder, TaskHandle, Untyped,
};
use crate::unwind::{catch, discard, discard_payload, ignore_panic};

/// Submits the first poll of a future, and returns the handle to its value.
pub(super) fn spawn<E, F, T>(
    executor: &E,
    mut task: TaskBuilder,
    future: F,
) -> Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>
where
    E: Executor + Clone + 'static,
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Send + 'static,
{
    let context = task.take_context();
    let canceller = Arc::new(Mutex::new(None));
    let (promise, handle) = task.build_promise(CancelOnDrop(Arc::clone(&canceller)));
    let cancels = executor.shutdown_cancels();
    let polls = Arc::new(Polls {
        cell: promise.untyped(),
        stage: Mutex::new(Stage {
            queued: None,
            users: 1,
        }),
        cancels: cancels.clone(),
        is_accepted: AtomicBool::new(true),
        outcome: Mutex::new(RunOutcome::Skipped),
        is_woken: AtomicBool::new(true),
    });
    let me = Arc::downgrade(&polls);
    let registration = cancels.map(|cancels| cancels.register(me));
    let driven = Driven {
        future: Some(Box::pin(future)),
        promise,
        context,
        polls: Arc::clone(&polls),
        waker: Weak::new(),
        _registration: registration,
    };
    let (theirs, scheduled) = (executor.clone(), Arc::clone(&polls));
    let schedule = move |runnable| scheduled.submit(&theirs, runnable);
    let (runnable, spawned) = async_task::spawn(driven, schedule);
    *canceller.lock() = Some(spawned);
    let first = polls.next(runnable);
    polls.stage.lock().users -= 1;
    match executor.execute_task(first) {
        Ok(()) => Ok(handle),
        Err(rejected) => {
            polls.is_accepted.store(false, Ordering::Relaxed);
            Err(rejected.with_handle(handle))
        }
    }
}

/// Cancels the future when it is dropped: with the cell's body, so when the handle is done.
struct CancelOnDrop(Arc<Mutex<Option<async_task::Task<()>>>>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let spawned = self.0.lock().take();
        // Schedules a last poll if none is queued, without a lock held.
        drop(spawned);
    }
}

/// The polls of a future, as tasks. There is at most one at a time, so this object serves for all.
struct Polls {
    cell: Ref<dyn Untyped>,
    stage: Mutex<Stage>,
    /// Who counts the future if a shutdown cancels it.
    cancels: Option<Arc<ShutdownCancels>>,
    /// Whether the executor has accepted the first poll.
    is_accepted: AtomicBool,
    /// The outcome of the poll that just ran; skipped, if the future was only dropped.
    outcome: Mutex<RunOutcome>,
    /// Whether the future was woken since its last poll.
    is_woken: AtomicBool,
}

/// What is under way for a future. If nothing is, it is suspended.
struct Stage {
    /// The poll that is queued.
    queued: Option<async_task::Runnable>,
    /// How many threads poll it, or spawn it. A poll can begin elsewhere before the last one has returned.
    users: u32,
}

impl Polls {
    /// Creates the task of the next poll.
    fn next(self: &Arc<Self>, runnable: async_task::Runnable) -> Task {
        self.stage.lock().queued = Some(runnable);
        Task::of_runnable(Arc::clone(self))
    }

    /// Submits the next poll. If it is rejected, the future is dropped, and its handle has the reason.
    fn submit(self: &Arc<Self>, executor: &impl Executor, runnable: async_task::Runnable) {
        self.cell.set_drop_reason(Cancellation::Dropped);
        let task = self.next(runnable);
        match catch(|| executor.execute_task(task)) {
            Ok(Ok(())) => {}
            Ok(Err(rejected)) => {
                if rejected.is_shutdown() {
                    ignore_panic(|| self.cancel_for_shutdown(Cancellation::Shutdown));
                }
                rejected.into_task().abandon(Cancellation::Rejected);
            }
            // Code of the user, such as a thread factory. The task was dropped with it.
            Err(payload) => discard_payload(payload),
        }
    }

    /// Takes the poll that is queued, and counts this thread as the one that polls.
    fn begin(&self) -> Option<async_task::Runnable> {
        let mut stage = self.stage.lock();
        let runnable = stage.queued.take()?;
        stage.users += 1;
        Some(runnable)
    }

    /// Counts that the poll has ended, and ends the future if it is suspended and its executor takes no more polls.
    fn end(&self) {
        self.stage.lock().users -= 1;
        let reason = self.cancels.as_ref().and_then(|cancels| cancels.reason());
        if let (Some(reason), Some(cancels)) = (reason, &self.cancels) {
            ignore_panic(|| cancels.add_if(self.cancel_if_suspended(reason)));
        }
    }

    /// Cancels the future because its executor has been shut down, and has it counted.
    fn cancel_for_shutdown(&self, reason: Cancellation) {
        let cancelled = self.cell.cancel(CancelMode::LetRun, reason);
        if let Some(cancels) = &self.cancels {
            cancels.add_if(cancelled && self.is_accepted.load(Ordering::Relaxed));
        }
    }
}

impl Suspend for Polls {
    fn cancel_if_suspended(&self, reason: Cancellation) -> bool {
        let is_suspended = {
            let stage = self.stage.lock();
            stage.queued.is_none() && stage.users == 0
        };
        let cancelled = is_suspended && self.cell.cancel(CancelMode::LetRun, reason);
        cancelled && self.is_accepted.load(Ordering::Relaxed)
    }
}

// The innermost future that this thread polls, by the address of its polls, and whether its next poll is
// due here.
const_thread_local! {
    static POLLED: Cell<(usize, bool)> = Cell::new((0, false));
}

/// Restores what the thread polled before.
struct Former((usize, bool));

impl Drop for Former {
    fn drop(&mut self) {
        let _ = POLLED.try_with(|polled| polled.set(self.0));
    }
}

impl Polls {
    /// Polls the future; returns whether its next poll is due on this thread, at once.
    fn poll_here(&self, runnable: async_task::Runnable) -> bool {
        let this = (std::ptr::from_ref(self).addr(), false);
        let former = POLLED.try_with(|polled| polled.replace(this));
        let _former = former.ok().map(Former);
        runnable.run();
        POLLED.try_with(|polled| polled.get().1).unwrap_or(false)
    }

    /// Returns whether this thread is in a poll of the same future, and leaves the next one to it.
    ///
    /// A poll that has woken its own future ends with a submission, and some executors run what is
    /// submitted before they return. Polled there, a future that yields often would exhaust the stack.
    fn leave_to_outer_poll(&self) -> bool {
        let this = std::ptr::from_ref(self).addr();
        let left = POLLED.try_with(|polled| {
            let is_polled = polled.get().0 == this;
            if is_polled {
                polled.set((this, true));
            }
            is_polled
        });
        left.unwrap_or(false)
    }
}

impl Runnable for Polls {
    fn run(&self) -> RunOutcome {
        if self.leave_to_outer_poll() {
            return RunOutcome::Skipped;
        }
        while let Some(runnable) = self.begin() {
            let is_due = self.poll_here(runnable);
            self.end();
            if !is_due {
                break;
            }
        }
        std::mem::replace(&mut *self.outcome.lock(), RunOutcome::Skipped)
    }

    fn run_and_reset(&self) -> RunOutcome {
        RunOutcome::Skipped
    }

    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.cell.cancel(mode, reason)
    }

    /// Drops the future, and with it the promise, which cancels the handle.
    fn abandon(&self) {
        let runnable = self.stage.lock().queued.take();
        drop(runnable);
    }

    fn fail(&self, failure: Failure) -> bool {
        self.cell.fail(failure)
    }

    fn set_drop_reason(&self, reason: Cancellation) {
        self.cell.set_drop_reason(reason);
    }

    fn state(&self) -> Snapshot {
        self.cell.state()
    }

    fn header(&self) -> &Header {
        self.cell.header()
    }
}

/// The future, and the promise that it keeps.
///
/// User code panics inside of it only: `async-task` aborts the process if the drop of a future panics.
struct Driven<F, T: Send + 'static> {
    future: Option<Pin<Box<F>>>,
    promise: Promise<T>,
    context: Option<Captured>,
    polls: Arc<Polls>,
    waker: Weak<Tracked>,
    /// Dropped with the future.
    _registration: Option<Registration>,
}

impl<F, T> Driven<F, T>
where
    F: Future<Output = Result<T, Failure>>,
    T: Send + 'static,
{
    /// Returns the waker for the next poll; `None` if the future was not woken, and no waker is left.
    fn next_waker(&mut self, context: &Context<'_>) -> Option<Arc<Tracked>> {
        let was_woken = self.polls.is_woken.swap(false, Ordering::AcqRel);
        if let Some(waker) = self.waker.upgrade() {
            waker.is_used.store(false, Ordering::Relaxed);
            return Some(waker);
        }
        was_woken.then(|| {
            let waker = Arc::new(Tracked {
                waker: context.waker().clone(),
                polls: Arc::clone(&self.polls),
                is_used: AtomicBool::new(false),
            });
            self.waker = Arc::downgrade(&waker);
            waker
        })
    }

    /// Polls the future as the code of its task; pending, if the task is done.
    fn poll_as_task(&mut self, waker: &Waker) -> (Poll<Result<T, Failure>>, PartOutcome) {
        let mut polled = Poll::Pending;
        let Self {
            future: Some(future),
            context,
            polls,
            ..
        } = self
        else {
            return (polled, PartOutcome::NotRun);
        };
        let mut poll = || {
            let mut poll = || future.as_mut().poll(&mut Context::from_waker(waker));
            let caught = catch(|| match &*context {
                None => poll(),
                Some(context) => context.run(&mut poll),
            });
            polled =
                caught.unwrap_or_else(|payload| Poll::Ready(Err(Failure::from_panic(payload))));
        };
        let part = polls.cell.run_part(&mut poll);
        (polled, part)
    }
}

impl<F, T> Future for Driven<F, T>
where
    F: Future<Output = Result<T, Failure>>,
    T: Send + 'static,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let alive = !this.polls.cell.state().is_done();
        let waker = alive.then(|| this.next_waker(context)).flatten();
        let Some(waker) = waker else {
            discard(this.future.take());
            this.promise.abandon();
            return Poll::Ready(());
        };
        let (polled, part) = this.poll_as_task(&Waker::from(waker));
        let ran = match (part, &polled) {
            (PartOutcome::Suspended, Poll::Ready(Err(failure))) => {
                RunOutcome::Failed(failure.clone())
            }
            (PartOutcome::Suspended, _) => RunOutcome::Completed,
            (PartOutcome::NotRun | PartOutcome::Cancelled, _) => RunOutcome::Skipped,
        };
        *this.polls.outcome.lock() = ran;
        if part == PartOutcome::Suspended && polled.is_pending() {
            return Poll::Pending;
        }
        discard(this.future.take());
        match polled {
            Poll::Ready(outcome) => drop(this.promise.complete(outcome)),
            Poll::Pending => this.promise.abandon(),
        }
        Poll::Ready(())
    }
}

impl<F, T: Send + 'static> Drop for Driven<F, T> {
    fn drop(&mut self) {
        discard((self.future.take(), self.context.take()));
    }
}

/// The waker of a future, which notices when the last clone of it is gone.
///
/// A future that is pending then is never polled again. It is polled once more, to be dropped.
struct Tracked {
    waker: Waker,
    polls: Arc<Polls>,
    /// Whether it has woken the future since its last poll.
    is_used: AtomicBool,
}

impl Wake for Tracked {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_used.store(true, Ordering::Relaxed);
        self.polls.is_woken.store(true, Ordering::Release);
        self.waker.wake_by_ref();
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.waker.wake_by_ref();
        }
    }
}
