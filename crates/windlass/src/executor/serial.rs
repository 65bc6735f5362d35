//! One task at a time, in order, on the threads of another executor.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Executor, RejectedExecution};
use crate::containment::catch;
use crate::sync::Mutex;
use crate::task::{Cancellation, Task, TaskBuilder};

/// Runs its tasks one after the other, in the order of submission, on another executor's threads.
///
/// Each task sees what the one before it did. The threads belong to the other executor: it is
/// borrowed for one task at a time, so many serial executors can share a small pool.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use windlass::executor::{ExecutorService, SerialExecutor};
/// use windlass::{Submit, executors};
///
/// let pool = executors::fixed_thread_pool(4).unwrap();
/// let serial = SerialExecutor::new(pool.clone());
/// let log = Arc::new(Mutex::new(Vec::new()));
/// for n in 0..100 {
///     let log = Arc::clone(&log);
///     serial.execute(move || log.lock().unwrap().push(n)).unwrap();
/// }
/// serial.submit(|| ()).unwrap().get().unwrap();
/// assert!(log.lock().unwrap().iter().copied().eq(0..100));
/// ```
#[derive(Debug)]
pub struct SerialExecutor<E: Executor + 'static>(Arc<Line<E>>);

#[derive(Debug)]
struct Line<E> {
    executor: E,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Task>,
    /// Whether a runner is with the other executor, or on its way there.
    has_runner: bool,
}

impl<E: Executor + 'static> SerialExecutor<E> {
    /// Makes a serial executor on top of another one.
    pub fn new(executor: E) -> Self {
        Self(Arc::new(Line {
            executor,
            state: Mutex::new(State::default()),
        }))
    }

    /// The executor on whose threads the tasks run.
    #[must_use]
    pub fn executor(&self) -> &E {
        &self.0.executor
    }

    /// How many tasks wait for their turn.
    #[must_use]
    pub fn queue_len(&self) -> usize {
        self.0.state.lock().waiting.len()
    }
}

impl<E: Executor + 'static> Executor for SerialExecutor<E> {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let id = task.id();
        {
            let mut state = self.0.state.lock();
            state.waiting.push_back(task);
            if std::mem::replace(&mut state.has_runner, true) {
                return Ok(());
            }
        }
        let Err(refused) = self.0.send_runner() else {
            return Ok(());
        };
        // Nobody will run what waits: this task goes back, the others have no runner either.
        let mut mine = None;
        for task in self.0.take_waiting() {
            if task.id() == id {
                mine = Some(task);
            } else {
                task.abandon(Cancellation::Rejected);
            }
        }
        match mine {
            Some(task) => Err(refused.replace_task(task)),
            None => Ok(()),
        }
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        self.0.executor.prepare(task)
    }
}

impl<E: Executor + 'static> Line<E> {
    /// Gives the other executor a task that runs the first of the line.
    fn send_runner(self: &Arc<Self>) -> Result<(), RejectedExecution> {
        let runner = Runner(Some(Arc::clone(self)));
        match self.executor.execute_task(Task::new(move || runner.run())) {
            Ok(()) => Ok(()),
            Err(refused) => Err(refused),
        }
    }

    /// Takes all that waits, since there is no runner for it.
    fn take_waiting(&self) -> VecDeque<Task> {
        let mut state = self.state.lock();
        state.has_runner = false;
        std::mem::take(&mut state.waiting)
    }
}

/// Runs one task of the line, and sends the next runner.
struct Runner<E: Executor + 'static>(Option<Arc<Line<E>>>);

impl<E: Executor + 'static> Runner<E> {
    fn run(mut self) {
        let Some(line) = self.0.take() else { return };
        let next = line.state.lock().waiting.pop_front();
        let ended = next.map(|task| catch(|| task.run()));
        let more = {
            let mut state = line.state.lock();
            state.has_runner = !state.waiting.is_empty();
            state.has_runner
        };
        if more && line.send_runner().is_err() {
            for task in line.take_waiting() {
                task.abandon(Cancellation::Rejected);
            }
        }
        if let Some(Err(payload)) = ended {
            std::panic::resume_unwind(payload);
        }
    }
}

/// The other executor threw the runner away: what waits for it will not run either.
impl<E: Executor + 'static> Drop for Runner<E> {
    fn drop(&mut self) {
        if let Some(line) = self.0.take() {
            for task in line.take_waiting() {
                task.abandon(Cancellation::Discarded);
            }
        }
    }
}
