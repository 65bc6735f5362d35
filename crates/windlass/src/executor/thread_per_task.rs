//! A new thread for every task.

use std::sync::Arc;
use std::time::Duration;

use super::{Executor, ExecutorService, RejectedExecution, RejectionReason};
use crate::interrupt::{Interrupted, ThreadContext};
use crate::sync::Mutex;
use crate::sync::clock::Clock;
use crate::task::Task;
use crate::termination::Termination;
use crate::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use crate::unwind::{catch, discard_payload};

/// Starts a thread for every task, without any bound.
///
/// For few and long tasks. A task whose thread cannot be made is refused. The threads read the clock
/// of the thread that made the executor.
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
    clock: Clock,
}

#[derive(Debug, Default)]
struct State {
    shutdown: bool,
    stopping: bool,
    live: Vec<Entry>,
    next_ticket: u64,
}

/// A task that runs or is about to, and its thread once that is known. Not by the task's id: a
/// `FutureTask` can be here more than once.
#[derive(Debug)]
struct Entry {
    ticket: u64,
    thread: Option<Arc<ThreadContext>>,
}

/// A task on its way to its thread.
struct Launch {
    shared: Arc<Shared>,
    ticket: u64,
    task: Arc<Mutex<Stage>>,
}

#[derive(Debug)]
enum Stage {
    /// The factory has not answered yet.
    Asked(Task),
    /// The factory has promised a thread.
    Promised(Task),
    /// The factory dropped what the thread was to run, before it answered.
    Void(Task),
    /// The thread has it, or nobody will.
    Taken,
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
            shared: Arc::new(Shared {
                clock: Clock::current(),
                ..Shared::default()
            }),
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
    /// Enters a task, unless none is taken any more.
    fn enter(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.shutdown {
            return None;
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.live.push(Entry {
            ticket,
            thread: None,
        });
        Some(ticket)
    }

    /// Runs on the new thread.
    fn run(&self, ticket: u64, task: Task) {
        self.clock.adopt();
        let me = ThreadContext::current();
        let stopping = {
            let mut state = self.state.lock();
            if let Some(entry) = state.live.iter_mut().find(|entry| entry.ticket == ticket) {
                entry.thread = Some(Arc::clone(&me));
            }
            state.stopping
        };
        if stopping {
            me.set_interrupted();
        }
        let ended = catch(|| task.run());
        self.leave(ticket);
        if let Err(payload) = ended {
            discard_payload(payload);
        }
    }

    fn leave(&self, ticket: u64) {
        let last = {
            let mut state = self.state.lock();
            state.live.retain(|entry| entry.ticket != ticket);
            state.shutdown && state.live.is_empty()
        };
        if last {
            self.termination.signal();
        }
    }
}

impl Launch {
    fn run(self) {
        let stage = std::mem::replace(&mut *self.task.lock(), Stage::Taken);
        if let Stage::Asked(task) | Stage::Promised(task) = stage {
            self.shared.run(self.ticket, task);
        }
    }
}

/// The factory dropped the body. Before its answer, the submitter sees to the rest; after it
/// promised a thread, the task is dropped here.
impl Drop for Launch {
    fn drop(&mut self) {
        let promised = {
            let mut stage = self.task.lock();
            match std::mem::replace(&mut *stage, Stage::Taken) {
                Stage::Asked(task) => {
                    *stage = Stage::Void(task);
                    None
                }
                Stage::Promised(task) => Some(task),
                Stage::Void(_) | Stage::Taken => None,
            }
        };
        if let Some(task) = promised {
            drop(task);
            self.shared.leave(self.ticket);
        }
    }
}

impl Executor for ThreadPerTaskExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let Some(ticket) = self.shared.enter() else {
            return Err(RejectedExecution::new(task, RejectionReason::Shutdown));
        };
        let stage = Arc::new(Mutex::new(Stage::Asked(task)));
        let launch = Launch {
            shared: Arc::clone(&self.shared),
            ticket,
            task: Arc::clone(&stage),
        };
        let made = catch(|| {
            let body = ThreadBody::new(move || launch.run());
            self.factory.new_thread(body)
        });
        let promised = matches!(made, Ok(Ok(())));
        let regained = {
            let mut stage = stage.lock();
            match std::mem::replace(&mut *stage, Stage::Taken) {
                Stage::Asked(task) if promised => {
                    *stage = Stage::Promised(task);
                    None
                }
                Stage::Asked(task) | Stage::Promised(task) | Stage::Void(task) => Some(task),
                Stage::Taken => None,
            }
        };
        if regained.is_some() {
            self.shared.leave(ticket);
        }
        match (made, regained) {
            (Err(payload), _) => std::panic::resume_unwind(payload),
            (Ok(_), None) => Ok(()),
            (Ok(made), Some(task)) => {
                let refused = RejectedExecution::new(task, RejectionReason::Saturated);
                Err(match made {
                    Ok(()) => refused,
                    Err(error) => refused.with_source(error),
                })
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
                .filter_map(|entry| entry.thread.clone())
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
