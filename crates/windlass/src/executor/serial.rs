//! An executor that runs one task at a time, in order, on the threads of another executor.
//!
//! At most one *runner* is submitted to the other executor at a time: a task that runs the first
//! queued task and then submits the next runner.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::rejected::{RejectedExecution, RejectionReason};
use super::service::Executor;
use super::shutdown_cancels::ShutdownCancels;
use crate::interrupt::ThreadContext;
use crate::sync::Mutex;
use crate::task::{
    Cancellation, Helped, LimitOwner, Relay, Task, TaskBuilder, WaitHelper, Wanted, run_in_place,
    wake_waiters, with_wait_helper,
};
use crate::unwind::{catch, discard_payload};

/// An executor that runs its tasks one after the other, in the order of submission, on the threads of
/// another executor.
///
/// The effects of each task are visible to the next. Each task is a separate submission to the other
/// executor, so many serial executors can share a small pool. If the other executor is shut down, the
/// queued tasks are cancelled. If it rejects the next task for another reason, that task runs on the
/// thread of the last one.
///
/// A task that waits for a later task of the same executor runs that one in place, inside itself and before
/// those that are queued between the two: the wait could not end otherwise. A worker of the other executor
/// that waits for a task, inside a task of its own, runs those ahead of it too, in order.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use windlass::executors::SerialExecutor;
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(4).unwrap();
/// let serial = SerialExecutor::new(pool.clone());
/// let log = Arc::new(Mutex::new(Vec::new()));
/// for n in 0..100 {
///     let log = Arc::clone(&log);
///     serial.execute(move || log.lock().unwrap().push(n)).unwrap();
/// }
/// serial.submit(|| ()).unwrap().join().unwrap();
/// assert!(log.lock().unwrap().iter().copied().eq(0..100));
/// ```
#[derive(Debug)]
pub struct SerialExecutor<E: Executor + 'static>(Arc<Inner<E>>);

/// Its own state is behind a lock that no user code runs under.
impl<E: Executor + RefUnwindSafe> UnwindSafe for SerialExecutor<E> {}
impl<E: Executor + RefUnwindSafe> RefUnwindSafe for SerialExecutor<E> {}

#[derive(Debug)]
struct Inner<E> {
    executor: E,
    state: Mutex<State>,
}

/// Runners are numbered, so that the drop of one is not mistaken for the drop of a later one.
#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Task>,
    /// The runner that was submitted, or is being submitted, to the other executor.
    runner: Option<u64>,
    last_runner: u64,
    /// The runner that another runner is just submitting.
    submitting: Option<u64>,
    /// A runner that the other executor ran during its submission, on the same thread.
    ran_inline: Option<u64>,
    /// Why the runner will perhaps never run: a caller has taken it out of the other executor.
    taken: Option<Cancellation>,
    /// The panic of a task that was run in place, for the runner inside whose task that was.
    panic: Option<Box<dyn Any + Send>>,
}

impl State {
    fn new_runner(&mut self) -> u64 {
        self.last_runner += 1;
        self.taken = None;
        self.runner = Some(self.last_runner);
        self.last_runner
    }
}

impl<E: Executor + 'static> SerialExecutor<E> {
    /// Creates a serial executor on top of another one.
    pub fn new(executor: E) -> Self {
        Self(Arc::new(Inner {
            executor,
            state: Mutex::new(State::default()),
        }))
    }

    /// Returns the executor on whose threads the tasks run.
    #[must_use]
    pub fn executor(&self) -> &E {
        &self.0.executor
    }

    /// Returns how many tasks are queued.
    #[must_use]
    pub fn queue_len(&self) -> usize {
        self.0.state.lock().queue.len()
    }
}

impl<E: Executor + 'static> Executor for SerialExecutor<E> {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let id = task.id();
        let number = {
            let mut state = self.0.state.lock();
            if let Some(reason) = state.taken {
                drop(state);
                task.set_drop_reason(reason);
                state = self.0.state.lock();
            }
            state.queue.push_back(task);
            if state.runner.is_none() {
                Some(state.new_runner())
            } else {
                None
            }
        };
        let Some(number) = number else {
            // A runner that is queued leads to this task from now on, and somebody may wait for it.
            wake_waiters();
            return Ok(());
        };
        let Err(rejected) = self.0.submit_runner(number, None) else {
            return Ok(());
        };
        // No runner will run the queued tasks: this one is returned, the others are cancelled.
        let mut mine = None;
        for task in self.0.take_queued(number) {
            if task.id() == id {
                mine = Some(task);
            } else {
                task.abandon(Cancellation::Rejected);
            }
        }
        match mine {
            Some(task) => Err(rejected.replace_task(task)),
            None => Ok(()),
        }
    }

    fn prepare(&self, task: TaskBuilder) -> TaskBuilder {
        self.0.executor.prepare(task)
    }

    fn limit_owner(&self) -> Option<Arc<dyn LimitOwner>> {
        self.0.executor.limit_owner()
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        self.0.executor.shutdown_cancels()
    }
}

impl<E: Executor + 'static> Inner<E> {
    /// Submits a runner to the other executor.
    fn submit_runner(
        self: &Arc<Self>,
        number: u64,
        submitter: Option<Arc<ThreadContext>>,
    ) -> Result<(), RejectedExecution> {
        let runner = Runner {
            inner: Some(Arc::clone(self)),
            number,
            submitter,
        };
        self.executor.execute_task(Task::relay(runner))
    }

    /// Takes all queued tasks, if they wait for this runner, which will not run.
    fn take_queued(&self, number: u64) -> VecDeque<Task> {
        let mut state = self.state.lock();
        if state.runner != Some(number) {
            return VecDeque::new();
        }
        state.runner = None;
        std::mem::take(&mut state.queue)
    }

    /// Ends the queued tasks that borrow from scopes, if they wait for this runner, which a caller has taken.
    ///
    /// The drop of a closure is code of the user, so no lock is held, and the tasks are out of the queue
    /// meanwhile. Nobody misses them: only this runner takes them out, and its owner is the caller of this.
    fn runner_was_taken(&self, number: u64, reason: Cancellation) {
        let mut queued = {
            let mut state = self.state.lock();
            if state.runner != Some(number) {
                return;
            }
            state.taken = Some(reason);
            std::mem::take(&mut state.queue)
        };
        for task in &queued {
            task.set_drop_reason(reason);
        }
        let queue = &mut self.state.lock().queue;
        queued.append(queue);
        *queue = queued;
    }

    /// Runs the first queued task, and then those for which the other executor has no thread.
    fn run_tasks(self: &Arc<Self>) {
        let mut panic = None;
        loop {
            let next = {
                let mut state = self.state.lock();
                state.taken = None;
                state.queue.pop_front()
            };
            let ended = next.map(|task| catch(|| task.run()));
            let in_place = self.state.lock().panic.take();
            for payload in in_place.into_iter().chain(ended.and_then(Result::err)) {
                match panic {
                    None => panic = Some(payload),
                    Some(_) => discard_payload(payload),
                }
            }
            if !self.continue_elsewhere() {
                break;
            }
        }
        if let Some(payload) = panic {
            std::panic::resume_unwind(payload);
        }
    }

    /// Submits a runner for the rest of the queue. Returns true if this thread has to run the next task
    /// itself: the other executor is full, or runs tasks on the submitter's thread. In the latter case
    /// the runner does not run the task inside its submission, since the stack would then grow with
    /// each queued task.
    #[must_use]
    fn continue_elsewhere(self: &Arc<Self>) -> bool {
        let number = {
            let mut state = self.state.lock();
            if state.queue.is_empty() {
                state.runner = None;
                return false;
            }
            let number = state.new_runner();
            state.submitting = Some(number);
            number
        };
        let submitted = self.submit_runner(number, Some(ThreadContext::current()));
        let ran_inline = {
            let mut state = self.state.lock();
            state.submitting.take_if(|submitting| *submitting == number);
            state
                .ran_inline
                .take_if(|inline| *inline == number)
                .is_some()
        };
        let Err(rejected) = submitted else {
            return ran_inline;
        };
        if rejected.reason() == RejectionReason::Shutdown {
            self.cancel_for_shutdown(self.take_queued(number));
            return false;
        }
        // Under a new number, so that the drop of the rejected runner has no effect.
        let mut state = self.state.lock();
        let is_mine = state.runner == Some(number);
        if is_mine {
            state.new_runner();
        }
        is_mine
    }

    /// Cancels tasks that the other executor no longer runs, and has it count them.
    fn cancel_for_shutdown(&self, tasks: VecDeque<Task>) {
        if let Some(cancels) = self.executor.shutdown_cancels() {
            cancels.add_tasks(tasks.iter());
        }
        for task in tasks {
            task.abandon(Cancellation::Shutdown);
        }
    }
}

/// A task that waits for another one of the same executor runs that one in place, before those that are
/// queued ahead of it: none of them could run before the task that waits has ended.
impl<E: Executor + 'static> WaitHelper for Inner<E> {
    fn help(&self, wanted: Wanted) -> Helped {
        let taken = {
            let queue = &mut self.state.lock().queue;
            let at = queue.iter().position(|task| task.is_wanted(wanted));
            at.and_then(|at| queue.remove(at))
        };
        let Some(task) = taken else {
            return Helped::Nothing;
        };
        let name = task.to_name();
        let id = name.id.as_u64();
        let ended = run_in_place(Some(name), || {
            ThreadContext::with_current(|me| {
                let outer = me.begin_nested();
                let ended = catch(|| task.run());
                me.end_nested(outer, id);
                ended
            })
        });
        if let Err(payload) = ended {
            let former = self.state.lock().panic.replace(payload);
            former.into_iter().for_each(discard_payload);
        }
        Helped::Ran
    }

    fn while_blocked(&self, wait: &mut dyn FnMut()) {
        wait();
    }

    fn executor(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// The body of a task of the other executor: runs one queued task, and submits the next runner.
struct Runner<E: Executor + 'static> {
    inner: Option<Arc<Inner<E>>>,
    number: u64,
    /// The thread of the runner that submits this one.
    submitter: Option<Arc<ThreadContext>>,
}

impl<E: Executor + 'static> Relay for Runner<E> {
    fn run(mut self) {
        let Some(inner) = self.inner.take() else {
            return;
        };
        if !self.runs_inline(&inner) {
            with_wait_helper(Arc::clone(&inner) as _, || inner.run_tasks());
        }
    }

    fn leads_to(&self, wanted: Wanted) -> bool {
        let is_queued = |inner: &Arc<Inner<E>>| {
            let state = inner.state.lock();
            state.queue.iter().any(|task| task.is_wanted(wanted))
        };
        self.inner.as_ref().is_some_and(is_queued)
    }

    fn was_taken(&self, reason: Cancellation) {
        if let Some(inner) = &self.inner {
            inner.runner_was_taken(self.number, reason);
        }
    }
}

impl<E: Executor + 'static> Runner<E> {
    /// Returns whether the other executor runs this during its submission, on the same thread. Then
    /// the submitter runs the next task.
    fn runs_inline(&self, inner: &Inner<E>) -> bool {
        let Some(submitter) = &self.submitter else {
            return false;
        };
        let mut state = inner.state.lock();
        let inside = state.submitting == Some(self.number)
            && ThreadContext::with_current(|me| Arc::ptr_eq(me, submitter));
        if inside {
            state.ran_inline = Some(self.number);
        }
        inside
    }
}

/// Cancels the queued tasks if the other executor drops the runner without running it.
impl<E: Executor + 'static> Drop for Runner<E> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            for task in inner.take_queued(self.number) {
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

    /// An executor whose tasks run on the threads that call `run_all`.
    #[derive(Default)]
    struct TaskStack(Mutex<Vec<Task>>);

    impl Executor for TaskStack {
        fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
            self.0.lock().push(task);
            Ok(())
        }
    }

    impl TaskStack {
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
            let stack = Arc::new(TaskStack::default());
            let serial = SerialExecutor::new(Arc::clone(&stack));
            let worker = {
                let stack = Arc::clone(&stack);
                thread::Builder::new()
                    .spawn(move || stack.run_all())
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
            stack.run_all();
            worker.join().unwrap();
            // What the worker has submitted after this thread found the stack empty.
            stack.run_all();
            assert_eq!(ended.load(Ordering::SeqCst), 2);
        });
    }
}
