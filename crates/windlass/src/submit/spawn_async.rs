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

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use crate::executor::{Executor, RejectedExecution};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::task::{
    CancelMode, Cancellation, Captured, Failure, Header, Promise, Ref, RunOutcome, Runnable,
    Snapshot, Task, TaskBuilder, TaskHandle, Untyped,
};
use crate::unwind::{catch, discard, discard_payload};

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
    let polls = Arc::new(Polls {
        cell: promise.untyped(),
        runnable: Mutex::new(None),
        failure: Mutex::new(None),
        is_woken: AtomicBool::new(true),
    });
    let driven = Driven {
        future: Some(Box::pin(future)),
        promise,
        context,
        polls: Arc::clone(&polls),
        waker: Weak::new(),
    };
    let (theirs, scheduled) = (executor.clone(), Arc::clone(&polls));
    let schedule = move |runnable| scheduled.submit(&theirs, runnable);
    let (runnable, spawned) = async_task::spawn(driven, schedule);
    *canceller.lock() = Some(spawned);
    match executor.execute_task(polls.next(runnable)) {
        Ok(()) => Ok(handle),
        Err(rejected) => Err(rejected.with_handle(handle)),
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
    /// The poll that is queued.
    runnable: Mutex<Option<async_task::Runnable>>,
    /// The failure of the poll that just ran.
    failure: Mutex<Option<Failure>>,
    /// Whether the future was woken since its last poll.
    is_woken: AtomicBool,
}

impl Polls {
    /// Creates the task of the next poll.
    fn next(self: &Arc<Self>, runnable: async_task::Runnable) -> Task {
        *self.runnable.lock() = Some(runnable);
        Task::of_runnable(Arc::clone(self))
    }

    /// Submits the next poll. If it is rejected, the future is dropped, and its handle has the reason.
    fn submit(self: &Arc<Self>, executor: &impl Executor, runnable: async_task::Runnable) {
        self.cell.set_drop_reason(Cancellation::Dropped);
        let task = self.next(runnable);
        match catch(|| executor.execute_task(task)) {
            Ok(Ok(())) => {}
            Ok(Err(rejected)) => {
                let reason = if rejected.is_shutdown() {
                    Cancellation::Shutdown
                } else {
                    Cancellation::Rejected
                };
                rejected.into_task().abandon(reason);
            }
            // Code of the user, such as a thread factory. The task was dropped with it.
            Err(payload) => discard_payload(payload),
        }
    }
}

impl Runnable for Polls {
    fn run(&self) -> RunOutcome {
        let runnable = self.runnable.lock().take();
        let Some(runnable) = runnable else {
            return RunOutcome::Skipped;
        };
        let was_done = self.cell.state().is_done();
        runnable.run();
        let failure = self.failure.lock().take();
        match failure {
            Some(failure) => RunOutcome::Failed(failure),
            None if was_done => RunOutcome::Skipped,
            None => RunOutcome::Completed,
        }
    }

    fn run_and_reset(&self) -> RunOutcome {
        RunOutcome::Skipped
    }

    fn cancel(&self, mode: CancelMode, reason: Cancellation) -> bool {
        self.cell.cancel(mode, reason)
    }

    /// Drops the future, and with it the promise, which cancels the handle.
    fn abandon(&self) {
        let runnable = self.runnable.lock().take();
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

    fn poll_inside(&mut self, waker: &Waker) -> Poll<Result<T, Failure>> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(waker));
        let polled = catch(|| match &self.context {
            None => poll(),
            Some(context) => context.run(poll),
        });
        polled.unwrap_or_else(|payload| Poll::Ready(Err(Failure::from_panic(payload))))
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
        let Poll::Ready(outcome) = this.poll_inside(&Waker::from(waker)) else {
            return Poll::Pending;
        };
        discard(this.future.take());
        if let Err(failure) = &outcome {
            *this.polls.failure.lock() = Some(failure.clone());
        }
        this.promise.complete(outcome);
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
