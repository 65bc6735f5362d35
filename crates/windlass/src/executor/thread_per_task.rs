//! A new thread for every task.

use std::sync::Arc;
use std::time::Duration;

use super::{Executor, ExecutorService, RejectedExecution, RejectionReason};
use crate::containment::{catch, discard_payload};
use crate::interrupt::{Interrupted, Record};
use crate::sync::Mutex;
use crate::task::{Task, TaskId};
use crate::termination::Termination;
use crate::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};

/// Starts a thread for every task, without any bound.
///
/// For few and long tasks. A task whose thread cannot be made is refused.
///
/// ```
/// use windlass::Submit;
/// use windlass::executor::{ExecutorService, ThreadPerTaskExecutor};
///
/// let threads = ThreadPerTaskExecutor::new();
/// let mut handle = threads.submit(|| 1).unwrap();
/// assert_eq!(handle.get().unwrap(), 1);
/// threads.close();
/// ```
#[derive(Debug)]
pub struct ThreadPerTaskExecutor {
    factory: Arc<dyn ThreadFactory>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    termination: Termination,
}

#[derive(Debug, Default)]
struct State {
    shutdown: bool,
    stopping: bool,
    live: Vec<(TaskId, Option<Arc<Record>>)>,
}

impl ThreadPerTaskExecutor {
    /// Makes an executor with the default threads.
    #[must_use]
    pub fn new() -> Self {
        Self::with_factory(Arc::new(DefaultThreadFactory::new()))
    }

    /// Makes an executor whose threads come from this factory.
    #[must_use]
    pub fn with_factory(factory: Arc<dyn ThreadFactory>) -> Self {
        Self {
            factory,
            shared: Arc::default(),
        }
    }

    /// How many tasks run right now.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.shared.state.lock().live.len()
    }
}

impl Default for ThreadPerTaskExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    /// Runs on the new thread.
    fn run(&self, task: Task) {
        let id = task.id();
        let me = Record::current();
        let stopping = {
            let mut state = self.state.lock();
            if let Some(entry) = state.live.iter_mut().find(|entry| entry.0 == id) {
                entry.1 = Some(Arc::clone(&me));
            }
            state.stopping
        };
        if stopping {
            me.set_flag();
        }
        let ended = catch(|| task.run());
        self.leave(id);
        if let Err(payload) = ended {
            discard_payload(payload);
        }
    }

    fn leave(&self, id: TaskId) {
        let last = {
            let mut state = self.state.lock();
            state.live.retain(|entry| entry.0 != id);
            state.shutdown && state.live.is_empty()
        };
        if last {
            self.termination.signal();
        }
    }
}

impl Executor for ThreadPerTaskExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let id = task.id();
        {
            let mut state = self.shared.state.lock();
            if state.shutdown {
                drop(state);
                return Err(RejectedExecution::new(task, RejectionReason::Shutdown));
            }
            state.live.push((id, None));
        }
        // The task stays within reach until the thread has begun, to be given back if it does not.
        let slot = Arc::new(Mutex::new(Some(task)));
        let body = {
            let (shared, slot) = (Arc::clone(&self.shared), Arc::clone(&slot));
            ThreadBody::new(move || {
                let task = slot.lock().take();
                if let Some(task) = task {
                    shared.run(task);
                }
            })
        };
        let started = catch(|| self.factory.new_thread(body));
        let error = match started {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => Ok(error),
            Err(payload) => Err(payload),
        };
        self.shared.leave(id);
        let task = slot.lock().take();
        match (error, task) {
            (Err(payload), _) => std::panic::resume_unwind(payload),
            (Ok(_), None) => Ok(()),
            (Ok(error), Some(task)) => {
                Err(RejectedExecution::new(task, RejectionReason::Saturated).with_source(error))
            }
        }
    }
}

impl ExecutorService for ThreadPerTaskExecutor {
    fn shutdown(&self) {
        let idle = {
            let mut state = self.shared.state.lock();
            state.shutdown = true;
            state.live.is_empty()
        };
        if idle {
            self.shared.termination.signal();
        }
    }

    /// Interrupts every task; none ever waits, so the list is empty.
    fn shutdown_now(&self) -> Vec<Task> {
        let threads: Vec<_> = {
            let mut state = self.shared.state.lock();
            state.shutdown = true;
            state.stopping = true;
            state
                .live
                .iter()
                .filter_map(|entry| entry.1.clone())
                .collect()
        };
        for thread in threads {
            thread.interrupt();
        }
        self.shutdown();
        Vec::new()
    }

    fn is_shutdown(&self) -> bool {
        self.shared.state.lock().shutdown
    }

    fn is_terminated(&self) -> bool {
        self.shared.termination.is_signalled()
    }

    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.shared.termination.wait(timeout)
    }
}

/// As for every executor of Windlass: the last handle shuts down, and does not wait.
impl Drop for ThreadPerTaskExecutor {
    fn drop(&mut self) {
        self.shutdown();
    }
}
