//! A service that returns handles in the order of their completion.

use std::error::Error;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "stream")]
use super::wakers::Wakers;
use crate::executor::{Executor, RejectedExecution};
use crate::interrupt::{self, Interrupted};
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Deadline, Mutex};
use crate::task::{
    Batch, Failure, Handle, Helpers, Task, TaskBuilder, TaskControl, TaskHandle, WaitError,
    wake_waiters,
};

/// A service that submits tasks to an executor and returns their handles in the order in which the
/// tasks are done.
///
/// `submit` returns a [`TaskControl`], which can observe, cancel and remove the task. The handle, and
/// with it the value, is returned by `take`, `poll` or [`completions`](Self::completions).
///
/// ```
/// use windlass::CompletionService;
/// use windlass::prelude::*;
///
/// let service = CompletionService::new(executors::fixed_thread_pool(2).unwrap());
/// for n in 1..=3 {
///     service.submit(move || n * 10).unwrap();
/// }
/// let sum: i32 = service.completions().map(|done| done.join().unwrap()).sum();
/// assert_eq!(sum, 60);
/// ```
#[doc(alias = "ExecutorCompletionService")]
pub struct CompletionService<T: Send + 'static, E> {
    executor: E,
    shared: Arc<Shared<T>>,
}

/// Its own state is behind atomics and locks that no user code runs under.
impl<T: Send + 'static, E: UnwindSafe> UnwindSafe for CompletionService<T, E> {}
impl<T: Send + 'static, E: RefUnwindSafe> RefUnwindSafe for CompletionService<T, E> {}

pub(super) struct Shared<T: Send + 'static> {
    /// The batch of its tasks.
    batch: Batch,
    pub(super) done: Arc<dyn BlockingQueue<TaskHandle<T>>>,
    pub(super) outstanding: Outstanding,
    overflowed: AtomicU64,
    #[cfg(feature = "stream")]
    pub(super) wakers: Wakers,
}

impl<T: Send + 'static> Shared<T> {
    /// Waits for the next task that is done.
    fn take(&self) -> Result<TaskHandle<T>, Interrupted> {
        loop {
            // Without a deadline there is nothing but an interrupt to end it.
            if let Some(done) = self.poll_by(Deadline::Never)? {
                return Ok(done);
            }
        }
    }

    /// Waits for the next task that is done, no longer than until the deadline. A thread that could run
    /// one of the tasks does so instead.
    fn poll_by(&self, deadline: Deadline) -> Result<Option<TaskHandle<T>>, Interrupted> {
        let mut wait = |limit: Deadline| match limit.remaining() {
            None => self.done.take().map(Some),
            Some(left) => self.done.poll_timeout(left),
        };
        let polled = match Helpers::current(None) {
            None => wait(deadline)?,
            Some(helpers) => {
                // It has no error for a circle, so a task that it waits for is told.
                let helpers = helpers.tell_another();
                let is_ready = || !self.done.is_empty();
                let polled = helpers.wait_any(&self.batch, deadline, &is_ready, &mut wait);
                polled.map_err(|error| {
                    debug_assert!(matches!(error, WaitError::Interrupted), "others are told");
                    Interrupted
                })?
            }
        };
        Ok(self.taken(polled))
    }

    /// Returns the task that is done, if there is one now.
    pub(super) fn poll(&self) -> Option<TaskHandle<T>> {
        self.taken(self.done.poll())
    }

    /// Counts a handle that was taken out of the queue.
    fn taken(&self, handle: Option<TaskHandle<T>>) -> Option<TaskHandle<T>> {
        if handle.is_some() {
            self.uncount();
        }
        handle
    }

    /// Counts a task that will not end a wait any more.
    fn uncount(&self) {
        self.batch.take();
        wake_waiters();
    }
}

/// The number of accepted tasks whose handle no consumer has claimed.
///
/// A consumer claims a handle before it takes it from the queue, so that no other consumer waits for
/// the same one. A consumer may claim before the task is submitted, so the number can be negative, in
/// two's complement.
#[derive(Debug, Default)]
pub(super) struct Outstanding(AtomicU64);

/// The smallest value that stands for a negative number.
const NEGATIVE: u64 = 1 << 63;

impl Outstanding {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// Claims a handle, of a task that may not be submitted yet.
    fn claim(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Claims a handle of a task that was submitted, if there is one.
    #[must_use]
    pub(super) fn try_claim(&self) -> bool {
        let claim = |count| (1..NEGATIVE).contains(&count).then(|| count - 1);
        self.0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, claim)
            .is_ok()
    }
}

impl<T: Send + 'static, E: Executor> CompletionService<T, E> {
    /// Creates a service on top of an executor, with an unbounded queue of results.
    pub fn new(executor: E) -> Self {
        Self::over(executor, Arc::new(LinkedBlockingQueue::new()), Batch::new())
    }

    /// Creates a service with this queue of results.
    ///
    /// A result that the queue refuses is dropped, and counted in
    /// [`overflowed`](Self::overflowed).
    pub fn with_queue(executor: E, queue: Arc<dyn BlockingQueue<TaskHandle<T>>>) -> Self {
        // Other services may have the queue too.
        Self::over(executor, queue, Batch::shared())
    }

    fn over(executor: E, done: Arc<dyn BlockingQueue<TaskHandle<T>>>, batch: Batch) -> Self {
        Self {
            executor,
            shared: Arc::new(Shared {
                batch,
                done,
                outstanding: Outstanding::default(),
                overflowed: AtomicU64::new(0),
                #[cfg(feature = "stream")]
                wakers: Wakers::default(),
            }),
        }
    }

    /// Submits the closure; its handle is queued here when the task is done.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task and its handle, which is then not queued here.
    pub fn submit(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskControl, RejectedExecution<TaskHandle<T>>> {
        let task = self.executor.prepare(TaskBuilder::new());
        self.submit_task(task.build_with_handle(body))
    }

    /// Submits the closure; an error that it returns is the failure of the task, as a panic is.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    pub fn submit_fallible<X>(
        &self,
        body: impl FnOnce() -> Result<T, X> + Send + 'static,
    ) -> Result<TaskControl, RejectedExecution<TaskHandle<T>>>
    where
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        let task = self.executor.prepare(TaskBuilder::new());
        self.submit_task(task.build_fallible(move || body().map_err(Failure::from_error)))
    }

    fn submit_task(
        &self,
        (task, handle): (Task, TaskHandle<T>),
    ) -> Result<TaskControl, RejectedExecution<TaskHandle<T>>> {
        let control = handle.control();
        let slot = Arc::new(Mutex::new(None));
        self.forward_when_done(&slot, &handle);
        *slot.lock() = Some(handle);
        self.shared.batch.add();
        if let Err(rejected) = self.executor.execute_task(task) {
            // Emptied, so that the handle is not queued when the caller drops or runs the task. The
            // slot is empty only if the task was done although the executor rejected it: then the
            // handle is already queued.
            let handle = slot.lock().take();
            if let Some(handle) = handle {
                self.shared.uncount();
                return Err(rejected.with_handle(handle));
            }
        }
        self.shared.outstanding.add();
        Ok(control)
    }

    /// Moves the handle from its slot into the queue when the task is done.
    fn forward_when_done(&self, slot: &Arc<Mutex<Option<TaskHandle<T>>>>, handle: &TaskHandle<T>) {
        let (slot, shared) = (Arc::clone(slot), Arc::clone(&self.shared));
        handle.head().add_to_batch(shared.batch.id());
        handle.on_done(move |_| {
            let handle = slot.lock().take();
            if let Some(handle) = handle {
                if shared.done.offer(handle).is_err() {
                    shared.overflowed.fetch_add(1, Ordering::Relaxed);
                    shared.outstanding.claim();
                    shared.uncount();
                }
                #[cfg(feature = "stream")]
                shared.wakers.wake_all();
            }
        });
    }

    /// Waits for the next task that is done.
    ///
    /// Inside a task of the pool that this service submits to, it runs one of the service's queued tasks in
    /// place instead of waiting for it.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the thread is interrupted; with the default queue also if a task is done.
    ///
    /// # Deadlocks
    ///
    /// Waits forever if nothing is outstanding and nothing is submitted;
    /// [`completions`](Self::completions) ends then.
    ///
    /// If all tasks that it could return wait for the task that calls this, one of their waits returns
    /// [`Deadlock`](crate::task::ExecutionError::Deadlock), though a task that is submitted later could end this wait too. It is
    /// not reported if none of these waits can return an error, as another `take`, nor with a
    /// [queue](Self::with_queue) that others may use.
    pub fn take(&self) -> Result<TaskHandle<T>, Interrupted> {
        self.shared.outstanding.claim();
        let taken = self.shared.take();
        if taken.is_err() {
            self.shared.outstanding.add();
        }
        taken
    }

    /// Returns the next task that is done, if there is one now.
    #[must_use]
    pub fn poll(&self) -> Option<TaskHandle<T>> {
        self.shared.outstanding.claim();
        let polled = self.shared.poll();
        if polled.is_none() {
            self.shared.outstanding.add();
        }
        polled
    }

    /// Waits for the next task that is done, no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], if the thread is interrupted; with the default queue also if a task is done.
    #[doc(alias = "poll")]
    pub fn poll_timeout(&self, timeout: Duration) -> Result<Option<TaskHandle<T>>, Interrupted> {
        self.shared.outstanding.claim();
        let polled = self.shared.poll_by(Deadline::after(timeout));
        if !matches!(polled, Ok(Some(_))) {
            self.shared.outstanding.add();
        }
        polled
    }

    /// Returns an iterator over the tasks in the order in which they are done, which ends when
    /// nothing is outstanding: every submitted task has been taken, or is about to be by another
    /// thread.
    ///
    /// While another thread is inside `take` or `poll`, one task counts as taken by it; if that call
    /// then returns without one, an iterator that has ended meanwhile has missed it, and a new one
    /// returns it.
    ///
    /// It waits for each; an interrupt does not end the wait, and stays pending. If the queue is shared
    /// with another service, the iterator also returns results of that service.
    ///
    /// # Deadlocks
    ///
    /// Waits for a task that never ends, and for tasks that `shutdown_now` returned until they are
    /// run or dropped.
    pub const fn completions(&self) -> Completions<'_, T, E> {
        Completions { service: self }
    }

    /// Returns how many results were dropped because the queue refused them.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.shared.overflowed.load(Ordering::Relaxed)
    }

    /// Returns the executor that runs the tasks.
    pub const fn executor(&self) -> &E {
        &self.executor
    }
}

#[cfg(feature = "stream")]
impl<T: Send + 'static, E> CompletionService<T, E> {
    pub(super) fn shared(&self) -> &Shared<T> {
        &self.shared
    }
}

/// An iterator over tasks in the order of their completion; see
/// [`CompletionService::completions`].
#[must_use = "iterators are lazy"]
pub struct Completions<'a, T: Send + 'static, E> {
    service: &'a CompletionService<T, E>,
}

impl<T: Send + 'static, E> Iterator for Completions<'_, T, E> {
    type Item = TaskHandle<T>;

    fn next(&mut self) -> Option<TaskHandle<T>> {
        let shared = &self.service.shared;
        if !shared.outstanding.try_claim() {
            return None;
        }
        let mut interrupted = false;
        let handle = loop {
            match shared.take() {
                Ok(handle) => break handle,
                Err(Interrupted) => interrupted = true,
            }
        };
        if interrupted {
            interrupt::current().interrupt();
        }
        Some(handle)
    }
}

impl<'a, T: Send + 'static, E: Executor> IntoIterator for &'a CompletionService<T, E> {
    type Item = TaskHandle<T>;
    type IntoIter = Completions<'a, T, E>;

    fn into_iter(self) -> Completions<'a, T, E> {
        self.completions()
    }
}

impl<T: Send + 'static, E: fmt::Debug> fmt::Debug for Completions<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Completions").field(self.service).finish()
    }
}

impl<T: Send + 'static, E: fmt::Debug> fmt::Debug for CompletionService<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionService")
            .field("executor", &self.executor)
            .field("done", &self.shared.done.len())
            .finish_non_exhaustive()
    }
}
