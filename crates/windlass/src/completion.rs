//! Results in the order in which they come.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use crate::executor::{Executor, RejectedExecution};
use crate::interrupt::Interrupted;
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::task::{TaskBuilder, TaskControl, TaskHandle};

/// Submits tasks to an executor and gives their handles back as the tasks are done.
///
/// `submit` gives a [`TaskControl`], with which the task can be watched, cancelled and removed; the
/// handle, and with it the value, goes to whoever takes it from here.
///
/// ```
/// use windlass::CompletionService;
/// use windlass::prelude::*;
///
/// let service = CompletionService::new(executors::fixed_thread_pool(2).unwrap());
/// for n in 1..=3 {
///     service.submit(move || n * 10).unwrap();
/// }
/// let mut sum = 0;
/// for _ in 0..3 {
///     sum += service.take().unwrap().get().unwrap();
/// }
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

struct Shared<T: Send + 'static> {
    done: Arc<dyn BlockingQueue<TaskHandle<T>>>,
    overflowed: AtomicU64,
}

impl<T: Send + 'static, E: Executor> CompletionService<T, E> {
    /// Makes a service on top of an executor; any number of results can wait.
    pub fn new(executor: E) -> Self {
        Self::with_queue(executor, Arc::new(LinkedBlockingQueue::new()))
    }

    /// Makes a service whose results wait in this queue.
    ///
    /// A result that the queue does not take is dropped, and counted in
    /// [`overflowed`](Self::overflowed); the worker goes on.
    pub fn with_queue(executor: E, queue: Arc<dyn BlockingQueue<TaskHandle<T>>>) -> Self {
        Self {
            executor,
            shared: Arc::new(Shared {
                done: queue,
                overflowed: AtomicU64::new(0),
            }),
        }
    }

    /// Submits the closure; its handle will be in [`take`](Self::take) when it is done.
    ///
    /// # Errors
    ///
    /// [`RejectedExecution`], with the task; nothing will come of it here.
    pub fn submit(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskControl, RejectedExecution> {
        let (task, handle) = self
            .executor
            .prepare(TaskBuilder::new())
            .build_with_handle(body);
        let control = handle.control();
        let place = Arc::new(Mutex::new(None));
        self.announce(&place, &handle);
        *place.lock() = Some(handle);
        match self.executor.execute_task(task) {
            Ok(()) => Ok(control),
            Err(refused) => {
                // Taken out, so that it is not announced when the task is dropped or run elsewhere.
                drop(place.lock().take());
                Err(refused)
            }
        }
    }

    /// Has the handle moved from its place into the queue when the task is done.
    fn announce(&self, place: &Arc<Mutex<Option<TaskHandle<T>>>>, handle: &TaskHandle<T>) {
        let (place, shared) = (Arc::clone(place), Arc::clone(&self.shared));
        handle.on_done(move |_| {
            let handle = place.lock().take();
            if let Some(handle) = handle {
                if shared.done.offer(handle).is_err() {
                    shared.overflowed.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Waits for the next task that is done.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], also if one is there.
    pub fn take(&self) -> Result<TaskHandle<T>, Interrupted> {
        self.shared.done.take()
    }

    /// The next task that is done, if there is one right now.
    #[must_use]
    pub fn poll(&self) -> Option<TaskHandle<T>> {
        self.shared.done.poll()
    }

    /// Waits for the next task that is done, for as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`Interrupted`], also if one is there.
    #[doc(alias = "poll")]
    pub fn poll_timeout(&self, timeout: Duration) -> Result<Option<TaskHandle<T>>, Interrupted> {
        self.shared.done.poll_timeout(timeout)
    }

    /// How many results were dropped because a bounded queue of yours was full.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.shared.overflowed.load(Ordering::Relaxed)
    }

    /// The executor that runs the tasks.
    pub const fn executor(&self) -> &E {
        &self.executor
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
