//! One task at a time, in order, on the threads of another executor.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Executor, RejectedExecution, RejectionReason};
use crate::interrupt::ThreadContext;
use crate::sync::Mutex;
use crate::task::{Cancellation, Task, TaskBuilder};
use crate::unwind::{catch, discard_payload};

/// Runs its tasks one after the other, in the order of submission, on another executor's threads.
///
/// Each task sees what the one before it did. The threads belong to the other executor: it is
/// borrowed for one task at a time, so many serial executors can share a small pool. Where it has
/// no room for the next task, that task runs where the last one did. Where it is shut down, the
/// tasks that wait here are cancelled.
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

/// Runners have numbers, so that the end of one is not taken for the end of a later one.
#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Task>,
    /// The runner that is with the other executor, or on its way there.
    runner: Option<u64>,
    last_runner: u64,
    /// The runner that another runner is just handing over.
    handed_over: Option<u64>,
    /// A runner that the other executor ran while it was being handed over, on the same thread.
    came_back: Option<u64>,
}

impl State {
    fn new_runner(&mut self) -> u64 {
        self.last_runner += 1;
        self.runner = Some(self.last_runner);
        self.last_runner
    }
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
        let number = {
            let mut state = self.0.state.lock();
            state.waiting.push_back(task);
            if state.runner.is_some() {
                return Ok(());
            }
            state.new_runner()
        };
        let Err(refused) = self.0.send_runner(number, None) else {
            return Ok(());
        };
        // Nobody will run what waits: this task goes back, the others have no runner either.
        let mut mine = None;
        for task in self.0.take_waiting(number) {
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
    fn send_runner(
        self: &Arc<Self>,
        number: u64,
        sender: Option<Arc<ThreadContext>>,
    ) -> Result<(), RejectedExecution> {
        let runner = Runner {
            line: Some(Arc::clone(self)),
            number,
            sender,
        };
        self.executor.execute_task(Task::new(move || runner.run()))
    }

    /// Takes all that waits, if it waits for this runner, which will not come.
    fn take_waiting(&self, number: u64) -> VecDeque<Task> {
        let mut state = self.state.lock();
        if state.runner != Some(number) {
            return VecDeque::new();
        }
        state.runner = None;
        std::mem::take(&mut state.waiting)
    }

    /// Runs the first of the line, and then those for which no other thread is to be had.
    fn run_first(self: &Arc<Self>) {
        let mut panic = None;
        loop {
            let next = self.state.lock().waiting.pop_front();
            if let Some(Err(payload)) = next.map(|task| catch(|| task.run())) {
                match panic {
                    None => panic = Some(payload),
                    Some(_) => discard_payload(payload),
                }
            }
            if !self.hand_over() {
                break;
            }
        }
        if let Some(payload) = panic {
            std::panic::resume_unwind(payload);
        }
    }

    /// Sends a runner for what still waits; true if this thread has to be it.
    ///
    /// So it is where the other executor runs tasks in place: calling the line from within itself
    /// would take stack for each task in it.
    fn hand_over(self: &Arc<Self>) -> bool {
        let number = {
            let mut state = self.state.lock();
            if state.waiting.is_empty() {
                state.runner = None;
                return false;
            }
            let number = state.new_runner();
            state.handed_over = Some(number);
            number
        };
        let sent = self.send_runner(number, Some(ThreadContext::current()));
        let came_back = {
            let mut state = self.state.lock();
            state.handed_over.take_if(|handed| *handed == number);
            state.came_back.take_if(|back| *back == number).is_some()
        };
        let Err(refused) = sent else { return came_back };
        if refused.reason() == RejectionReason::Shutdown {
            for task in self.take_waiting(number) {
                task.abandon(Cancellation::Rejected);
            }
            return false;
        }
        // Under a new number, so that the refused runner can be dropped.
        let mut state = self.state.lock();
        let is_mine = state.runner == Some(number);
        if is_mine {
            state.new_runner();
        }
        is_mine
    }
}

/// Runs one task of the line, and sends the next runner.
struct Runner<E: Executor + 'static> {
    line: Option<Arc<Line<E>>>,
    number: u64,
    /// The thread of the runner that sends this one.
    sender: Option<Arc<ThreadContext>>,
}

impl<E: Executor + 'static> Runner<E> {
    fn run(mut self) {
        let Some(line) = self.line.take() else { return };
        if !self.is_inside_its_sender(&line) {
            line.run_first();
        }
    }

    /// Whether the other executor runs this in place; then the sender is told to go on itself.
    fn is_inside_its_sender(&self, line: &Line<E>) -> bool {
        let Some(sender) = &self.sender else {
            return false;
        };
        let mut state = line.state.lock();
        let inside = state.handed_over == Some(self.number)
            && ThreadContext::with_current(|me| Arc::ptr_eq(me, sender));
        if inside {
            state.came_back = Some(self.number);
        }
        inside
    }
}

/// The other executor threw the runner away: what waits for it will not run either.
impl<E: Executor + 'static> Drop for Runner<E> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            for task in line.take_waiting(self.number) {
                task.abandon(Cancellation::Discarded);
            }
        }
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::SerialExecutor;
    use crate::executor::{Executor, RejectedExecution};
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use crate::sync::{Mutex, model, thread};
    use crate::task::Task;

    /// Keeps its tasks for whoever runs them.
    #[derive(Default)]
    struct Shelf(Mutex<Vec<Task>>);

    impl Executor for Shelf {
        fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
            self.0.lock().push(task);
            Ok(())
        }
    }

    impl Shelf {
        fn run_all(&self) {
            loop {
                let next = self.0.lock().pop();
                match next {
                    Some(task) => task.run(),
                    None => return,
                }
            }
        }
    }

    #[test]
    fn two_tasks_both_run_and_never_at_once() {
        model(|| {
            let shelf = Arc::new(Shelf::default());
            let serial = SerialExecutor::new(Arc::clone(&shelf));
            let worker = {
                let shelf = Arc::clone(&shelf);
                thread::Builder::new()
                    .spawn(move || shelf.run_all())
                    .unwrap()
            };
            let (running, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            for _ in 0..2 {
                let (running, ended) = (Arc::clone(&running), Arc::clone(&ended));
                let body = move || {
                    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
                    running.fetch_sub(1, Ordering::SeqCst);
                    ended.fetch_add(1, Ordering::SeqCst);
                };
                serial.execute_task(Task::new(body)).unwrap();
            }
            shelf.run_all();
            worker.join().unwrap();
            // What the worker handed over after this thread had found the shelf empty.
            shelf.run_all();
            assert_eq!(ended.load(Ordering::SeqCst), 2);
        });
    }
}
