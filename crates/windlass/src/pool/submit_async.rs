//! A submission that awaits room in the pool instead of blocking the thread.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::executor::ThreadPoolExecutor;
use super::room::{Progress, ServeRoom, Waiter};
use super::shared::Shared;
use super::spawn::Cause;
use crate::executor::{RejectedExecution, RejectionReason, to_io_error};
use crate::interrupt;
use crate::queue::PutError;
use crate::submit::{Submission, Submit};
use crate::task::{CancelMode, Cancellation, Failure, Handle, Task, TaskHandle};
use crate::unwind::{catch, discard_payload, ignore_panic};

/// A submission that awaits room; see [`ThreadPoolExecutor::submit_async`].
///
/// ```
/// use windlass::prelude::*;
/// use windlass::queue::ArrayBlockingQueue;
///
/// let pool = ThreadPoolExecutor::builder()
///     .core_pool_size(1)
///     .work_queue(ArrayBlockingQueue::new(1).unwrap())
///     .build()
///     .unwrap();
/// let sum: u32 = pollster::block_on(async {
///     let mut handles = Vec::new();
///     for n in 0..100 {
///         handles.push(pool.submit_async(move || n).await.unwrap());
///     }
///     handles.into_iter().map(|handle| handle.join().unwrap()).sum()
/// });
/// assert_eq!(sum, 4950);
/// ```
#[must_use = "a future submits nothing until it is awaited"]
pub struct SubmitAsync<'a, T> {
    pool: &'a ThreadPoolExecutor,
    handle: Option<TaskHandle<T>>,
    stage: Stage,
}

enum Stage {
    Unsent(Task),
    Waits(Arc<Waiter>),
    Ended,
}

/// Why a task that awaits room was not admitted.
enum Refusal {
    /// There is no room now.
    NotNow(Task),
    /// There never will be.
    Never(RejectedExecution),
}

impl ThreadPoolExecutor {
    /// Submits the closure when there is room for it, and returns the handle to its value.
    ///
    /// The future waits while the queue is full and the pool has its maximum number of workers; the
    /// rejection handler is not called. Those that wait enter in the order in which they were first
    /// polled, before tasks that are submitted by then, except such as find the room first. If the queue has
    /// [bounds for some tasks only](crate::queue::BlockingQueue::has_partial_bounds), one that it has no room
    /// for does not hold up the others.
    ///
    /// If the task is cancelled or expires meanwhile, the wait ends: the handle says why.
    ///
    /// Dropping the future gives the submission up: the closure is dropped unless a worker has started it.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`] with the task and its handle, when the pool is shut down, or has no worker
    /// and no thread can be created.
    pub fn submit_async<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> SubmitAsync<'_, T> {
        self.task().submit_async(body)
    }
}

impl<'a> Submission<'a, ThreadPoolExecutor> {
    /// Submits the closure when there is room for it; see [`ThreadPoolExecutor::submit_async`].
    pub fn submit_async<T: Send + 'static>(
        self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> SubmitAsync<'a, T> {
        let (pool, task) = self.into_parts();
        SubmitAsync::new(pool, task.build_with_handle(body))
    }

    /// Submits the closure when there is room for it; an error that it returns is the failure of the
    /// task. See [`ThreadPoolExecutor::submit_async`].
    pub fn submit_async_fallible<T, X>(
        self,
        body: impl FnOnce() -> Result<T, X> + Send + 'static,
    ) -> SubmitAsync<'a, T>
    where
        T: Send + 'static,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let (pool, task) = self.into_parts();
        let body = move || body().map_err(Failure::from_error);
        SubmitAsync::new(pool, task.build_fallible(body))
    }
}

impl<'a, T> SubmitAsync<'a, T> {
    fn new(pool: &'a ThreadPoolExecutor, (task, handle): (Task, TaskHandle<T>)) -> Self {
        Self {
            pool,
            handle: Some(handle),
            stage: Stage::Unsent(task),
        }
    }

    /// Submits the task, or enlists it.
    fn send(&mut self, task: Task, context: &Context<'_>) -> Progress {
        let shared = self.pool.shared();
        let mut task = shared.record_submission_time(task);
        if !shared.room.is_awaited() {
            match shared.admit_awaiting(task) {
                Ok(()) => return Progress::Admitted,
                Err(Refusal::Never(rejected)) => return Progress::Rejected(rejected),
                Err(Refusal::NotNow(refused)) => task = refused,
            }
        }
        let pool = Arc::clone(shared) as Arc<dyn ServeRoom>;
        let waiter = Waiter::new(pool, task, context.waker().clone());
        shared.room.enlist(&waiter);
        // Stored first: if serving panics, the drop gives the submission up.
        self.stage = Stage::Waits(Arc::clone(&waiter));
        if let Some(handle) = &self.handle {
            leave_at_the_end(handle, shared, &waiter);
        }
        Arc::clone(shared).serve_room();
        waiter.poll(context.waker())
    }
}

/// Ends the wait for room when the task is cancelled or expires.
fn leave_at_the_end<T>(handle: &TaskHandle<T>, pool: &Arc<Shared>, waiter: &Arc<Waiter>) {
    let (pool, waiter) = (Arc::downgrade(pool), Arc::downgrade(waiter));
    let leave = move |_| {
        let (Some(pool), Some(waiter)) = (pool.upgrade(), waiter.upgrade()) else {
            return;
        };
        if waiter.task_ended() {
            pool.room.leave(&waiter);
        }
    };
    handle.head().on_done(Box::new(leave));
}

impl<T> Future for SubmitAsync<'_, T> {
    type Output = Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>;

    /// # Panics
    ///
    /// If the future has ended.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let progress = match std::mem::replace(&mut this.stage, Stage::Ended) {
            Stage::Unsent(task) => this.send(task, context),
            Stage::Waits(waiter) => {
                let progress = waiter.poll(context.waker());
                this.stage = Stage::Waits(waiter);
                progress
            }
            Stage::Ended => panic!("a submission was polled after its end"),
        };
        let ended = match progress {
            Progress::Waits => return Poll::Pending,
            Progress::Admitted => None,
            Progress::Rejected(rejected) => Some(rejected),
        };
        this.stage = Stage::Ended;
        let handle = this.handle.take();
        let handle = handle.expect("the handle is there until the submission has ended");
        Poll::Ready(match ended {
            None => Ok(handle),
            Some(rejected) => Err(rejected.with_handle(handle)),
        })
    }
}

impl<T> Drop for SubmitAsync<'_, T> {
    fn drop(&mut self) {
        if let Stage::Waits(waiter) = &self.stage {
            self.pool.shared().room.give_up(waiter);
            // It may have been admitted and not been polled since.
            if let Some(handle) = &self.handle {
                ignore_panic(|| {
                    handle.cancel_for(CancelMode::LetRun, Cancellation::HandleDropped);
                });
            }
        }
    }
}

impl<T> fmt::Debug for SubmitAsync<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Unsent(_) => "not submitted",
            Stage::Waits(_) => "awaits room",
            Stage::Ended => "ended",
        };
        f.debug_struct("SubmitAsync")
            .field("stage", &stage)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Accepts the task if one of the three steps succeeds now; calls no rejection handler.
    fn admit_awaiting(self: &Arc<Self>, task: Task) -> Result<(), Refusal> {
        let task = match self.admit(task) {
            Ok(()) => return Ok(()),
            Err(not_admitted) => match not_admitted.cause {
                // Without a worker nobody makes room.
                Cause::NoThread(refusal) if self.ctl.load().workers() == 0 => {
                    let rejected = self.refuse(not_admitted.task, RejectionReason::NoThread);
                    return Err(Refusal::Never(rejected.with_source(to_io_error(&refusal))));
                }
                _ => not_admitted.task,
            },
        };
        if self.is_shutdown() {
            let rejected = self.refuse(task, RejectionReason::Shutdown);
            return Err(Refusal::Never(rejected));
        }
        let task = match self.drop_expired() {
            false => task,
            true => match self.admit(task) {
                Ok(()) => return Ok(()),
                Err(not_admitted) => not_admitted.task,
            },
        };
        let id = task.id();
        match self.offer_under_all_locks(task) {
            Ok(()) => match self.recheck(id) {
                Ok(()) => Ok(()),
                Err(not_admitted) if self.is_shutdown() => {
                    let rejected = self.refuse(not_admitted.task, RejectionReason::Shutdown);
                    Err(Refusal::Never(rejected))
                }
                Err(not_admitted) => Err(Refusal::NotNow(not_admitted.task)),
            },
            Err(task) => Err(Refusal::NotNow(task)),
        }
    }

    fn refuse(&self, task: Task, reason: RejectionReason) -> RejectedExecution {
        self.count_rejection();
        task.set_drop_reason(Cancellation::Rejected);
        RejectedExecution::new(task, reason).with_executor(self.name().to_string())
    }

    /// Offers the task as one who is about to wait for room does: under the locks under which places
    /// become free. So it is not refused because of a place that another thread is just making, without
    /// that thread seeing that room is awaited. An interrupt stays pending.
    fn offer_under_all_locks(&self, mut task: Task) -> Result<(), Task> {
        let mut interrupted = false;
        let offered = loop {
            match self.queue.offer_timeout(task, Duration::ZERO) {
                Ok(()) => break Ok(()),
                Err(PutError::Interrupted(again)) => {
                    interrupted = true;
                    task = again;
                }
                Err(refused) => break Err(refused.into_inner()),
            }
        };
        if interrupted {
            interrupt::current().interrupt();
        }
        offered
    }

    /// Returns whether the queue refuses although it has nothing: tasks go to workers that wait in it.
    fn hands_off(&self) -> bool {
        self.queue.remaining_capacity() == Some(0) && self.queue.is_empty()
    }

    /// Returns whether the queue may have room for another task than the one that it has refused.
    fn may_accept_another(&self) -> bool {
        self.options.has_partial_bounds && self.queue.remaining_capacity() != Some(0)
    }

    /// Admits the tasks of the first submissions, until one is not admitted; goes on with those behind it if the
    /// queue may have room for them.
    fn serve_in_order(self: &Arc<Self>) {
        let mut passed = 0;
        while let Some((number, next)) = self.room.next_after(passed) {
            let Some(task) = next.begin_trial() else {
                // Given up, or its task has ended, and about to leave the line.
                self.room.remove(&next);
                continue;
            };
            let ended = match catch(|| self.admit_awaiting(task)) {
                Ok(Ok(())) => None,
                Ok(Err(Refusal::Never(rejected))) => Some(rejected),
                Ok(Err(Refusal::NotNow(task))) => {
                    if !next.put_back(task) {
                        self.room.remove(&next);
                    } else if !self.may_accept_another() {
                        return;
                    }
                    passed = number;
                    continue;
                }
                // The task was dropped, and its handle has the reason.
                Err(payload) => {
                    discard_payload(payload);
                    None
                }
            };
            self.room.remove(&next);
            next.end(ended);
        }
    }
}

impl ServeRoom for Shared {
    fn serve_room(self: Arc<Self>) {
        if !self.room.begin_serving() {
            return;
        }
        loop {
            self.serve_in_order();
            if self.room.end_serving() {
                break;
            }
        }
        // A worker that has gone to wait in the queue meanwhile takes the first one itself.
        if self.room.is_awaited() && self.hands_off() {
            self.roster.nudge_all();
        }
    }
}
