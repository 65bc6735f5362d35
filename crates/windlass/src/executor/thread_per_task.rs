//! An executor that starts a thread for every task.

use std::any::Any;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::rejected::{RejectedExecution, RejectionReason};
use super::running::RunningTask;
use super::service::{Executor, ExecutorService};
use super::shutdown_cancels::ShutdownCancels;
use crate::interrupt::{Interrupted, ThreadContext};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::clock::Clock;
use crate::sync::{Mutex, thread};
use crate::task::{
    Cancellation, Helped, Task, WaitHelper, Wanted, run_in_place, wake_waiters, with_wait_helper,
};
use crate::termination::Termination;
use crate::thread_factory::{self, DefaultThreadFactory, ThreadBody, ThreadFactory};
use crate::unwind::{catch, discard_payload, ignore_panic};

/// An executor that starts a thread for every task, without any bound.
///
/// Meant for few, long tasks. A task whose thread cannot be created is rejected. The threads use the
/// clock of the thread that created the executor.
///
/// ```
/// use windlass::executors::ThreadPerTaskExecutor;
/// use windlass::prelude::*;
///
/// let threads = ThreadPerTaskExecutor::new();
/// let handle = threads.submit(|| 1).unwrap();
/// assert_eq!(handle.join().unwrap(), 1);
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
    cancels: Arc<ShutdownCancels>,
    /// Whether the tasks wait for threads that others have. Then a thread that waits for one of them runs it in
    /// place; otherwise the thread of the task is about to come.
    shares_threads: bool,
    /// How many threads wait inside their tasks.
    blocked: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    shutdown: bool,
    stopping: bool,
    live: Vec<Entry>,
    next_id: u64,
    /// How many tasks have run and ended.
    completed: u64,
}

/// A task that runs or is about to, and its thread once that runs. It has an id of its own, since a
/// `FutureTask` can be here more than once.
#[derive(Debug)]
struct Entry {
    id: u64,
    thread: Option<Arc<ThreadContext>>,
    running: Option<RunningTask>,
    task: Arc<Mutex<PendingTask>>,
}

/// What the thread of a task runs.
struct Launch {
    shared: Arc<Shared>,
    id: u64,
    task: Arc<Mutex<PendingTask>>,
}

#[derive(Debug)]
enum PendingTask {
    /// The factory has not returned.
    Requested(Task),
    /// The factory returned `Ok`.
    Accepted(Task),
    /// The factory dropped the body of the thread before it returned.
    Dropped(Task),
    /// The thread has taken it, or it was dropped or returned.
    Taken,
}

/// Its state is behind atomics and locks that no user code runs under.
impl UnwindSafe for ThreadPerTaskExecutor {}
impl RefUnwindSafe for ThreadPerTaskExecutor {}

impl ThreadPerTaskExecutor {
    /// Creates an executor with the default thread factory.
    #[must_use]
    pub fn new() -> Self {
        Self::with_factory(DefaultThreadFactory::new())
    }

    /// Creates an executor with this thread factory.
    #[must_use]
    pub fn with_factory(factory: impl ThreadFactory + 'static) -> Self {
        Self {
            factory: thread_factory::shared(factory),
            shared: Arc::new(Shared {
                clock: Clock::current(),
                ..Shared::default()
            }),
        }
    }

    /// Returns how many tasks run or are about to run.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.shared.state.lock().live.len()
    }
}

#[cfg(any(feature = "tokio", all(test, not(loom))))]
impl ThreadPerTaskExecutor {
    /// Creates an executor whose factory has few threads, which run one body after the other.
    pub(crate) fn on_shared_threads(factory: impl ThreadFactory + 'static) -> Self {
        Self {
            factory: thread_factory::shared(factory),
            shared: Arc::new(Shared {
                clock: Clock::current(),
                shares_threads: true,
                ..Shared::default()
            }),
        }
    }
}

#[cfg(feature = "tokio")]
impl ThreadPerTaskExecutor {
    /// Stops, and takes the tasks whose thread has not come, in the order of submission. The caller then
    /// shuts down.
    pub(super) fn stop_and_take_unstarted(&self) -> Vec<Task> {
        let mut state = self.shared.state.lock();
        self.shared.stop(&mut state);
        let mut unstarted = Vec::new();
        state.live.retain(|entry| {
            let mut pending = entry.task.lock();
            match std::mem::replace(&mut *pending, PendingTask::Taken) {
                PendingTask::Requested(task) | PendingTask::Accepted(task) => {
                    unstarted.push(task);
                    false
                }
                // Its submitter or its thread has it, and unregisters it.
                other => {
                    *pending = other;
                    true
                }
            }
        });
        drop(state);
        for task in &unstarted {
            task.set_drop_reason(Cancellation::Drained);
        }
        unstarted
    }
}

impl Default for ThreadPerTaskExecutor {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    /// Registers a task; returns it if the executor is shut down.
    fn register(&self, task: Task) -> Result<(u64, Arc<Mutex<PendingTask>>), Task> {
        let mut state = self.state.lock();
        if state.shutdown {
            return Err(task);
        }
        let id = state.next_id;
        state.next_id += 1;
        let task = Arc::new(Mutex::new(PendingTask::Requested(task)));
        state.live.push(Entry {
            id,
            thread: None,
            running: None,
            task: Arc::clone(&task),
        });
        Ok((id, task))
    }

    /// Runs the task. Called on its thread, which may have run others and may run more: it is left as it
    /// was found.
    fn run(self: &Arc<Self>, id: u64, task: Task) {
        let me = ThreadContext::current();
        me.take_interrupt();
        let ended = self.with_helper(|| self.run_on(&me, id, task));
        // From now on `shutdown_now` does not interrupt this thread.
        me.take_interrupt();
        if let Err(payload) = ended {
            discard_payload(payload);
        }
    }

    /// Runs `f`, which runs a task of this executor.
    fn with_helper<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        with_wait_helper(Arc::new(Helper(Arc::clone(self))), f)
    }

    /// Runs the task on a thread that waits for it.
    fn run_in_place(&self, id: u64, task: Task) {
        let (me, task_id) = (ThreadContext::current(), task.id().as_u64());
        let ended = run_in_place(Some(task.to_name()), || {
            let outer = me.begin_nested();
            let ended = self.run_on(&me, id, task);
            me.end_nested(outer, task_id);
            ended
        });
        if let Err(payload) = ended {
            discard_payload(payload);
        }
    }

    fn run_on(
        &self,
        me: &Arc<ThreadContext>,
        id: u64,
        task: Task,
    ) -> Result<(), Box<dyn Any + Send>> {
        let running = RunningTask::new(
            task.id(),
            task.shared_name().cloned(),
            self.clock.now(),
            thread::current().name(),
        );
        let stopping = {
            let mut state = self.state.lock();
            if let Some(entry) = state.live.iter_mut().find(|entry| entry.id == id) {
                entry.thread = Some(Arc::clone(me));
                entry.running = Some(running);
            }
            state.stopping
        };
        if stopping {
            me.set_interrupted();
        }
        let ended = catch(|| self.clock.enter(|| task.run()));
        self.state.lock().completed += 1;
        self.unregister(id);
        ended
    }

    /// Takes a task that is wanted and whose thread has not come.
    fn take_wanted(&self, wanted: Wanted) -> Option<(u64, Task)> {
        let state = self.state.lock();
        state.live.iter().find_map(|entry| {
            let mut pending = entry.task.lock();
            match std::mem::replace(&mut *pending, PendingTask::Taken) {
                PendingTask::Requested(task) | PendingTask::Accepted(task)
                    if task.is_wanted(wanted) =>
                {
                    Some((entry.id, task))
                }
                other => {
                    *pending = other;
                    None
                }
            }
        })
    }

    /// Returns whether a task waits for a thread, and all threads that run others wait for tasks.
    fn is_stalled(&self) -> bool {
        if !self.shares_threads {
            return false;
        }
        let state = self.state.lock();
        let threads = state.live.iter().filter_map(|entry| entry.thread.as_ref());
        let mut threads: Vec<_> = threads.map(Arc::as_ptr).collect();
        let running = threads.len();
        threads.sort_unstable();
        // One that runs another task in place has two.
        threads.dedup();
        running < state.live.len() && self.blocked.load(Ordering::SeqCst) >= threads.len()
    }

    /// Accepts no more tasks, and interrupts those that run. Under the lock, so that no thread is interrupted
    /// that has left the task.
    fn stop(&self, state: &mut State) {
        state.shutdown = true;
        state.stopping = true;
        for thread in state.live.iter().filter_map(|entry| entry.thread.as_ref()) {
            thread.interrupt();
        }
    }

    fn unregister(&self, id: u64) {
        let last = {
            let mut state = self.state.lock();
            state.live.retain(|entry| entry.id != id);
            state.shutdown && state.live.is_empty()
        };
        if last {
            self.termination.signal();
        }
    }
}

/// The helper of a thread that runs a task: it runs a task that it waits for in place, if that waits for a thread.
/// Where each task has a thread of its own there is nothing to run, but its waits can be in circles.
struct Helper(Arc<Shared>);

impl WaitHelper for Helper {
    fn help(&self, wanted: Wanted) -> Helped {
        let shared = &*self.0;
        let taken = shared.shares_threads.then(|| shared.take_wanted(wanted));
        let Some((id, task)) = taken.flatten() else {
            return Helped::Nothing;
        };
        shared.run_in_place(id, task);
        Helped::Ran
    }

    fn help_stranger(&self, wanted: Wanted) -> Helped {
        if self.0.is_stalled() {
            self.0.with_helper(|| self.help(wanted))
        } else {
            Helped::Nothing
        }
    }

    fn while_blocked(&self, wait: &mut dyn FnMut()) {
        struct Blocked<'a>(&'a Helper);
        impl Drop for Blocked<'_> {
            fn drop(&mut self) {
                self.0.unblock();
            }
        }
        self.block_again();
        let _blocked = Blocked(self);
        wait();
    }

    fn unblock(&self) {
        self.0.blocked.fetch_sub(1, Ordering::SeqCst);
    }

    fn block_again(&self) {
        self.0.blocked.fetch_add(1, Ordering::SeqCst);
    }

    fn executor(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn is_stalled(&self) -> bool {
        self.0.is_stalled()
    }
}

impl Launch {
    fn run(self) {
        let pending = std::mem::replace(&mut *self.task.lock(), PendingTask::Taken);
        if let PendingTask::Requested(task) | PendingTask::Accepted(task) = pending {
            self.shared.run(self.id, task);
        }
    }
}

/// Runs when the factory has dropped the body of the thread. If the factory has not returned, the
/// submitter takes the task back; if it had returned `Ok`, the task is abandoned here.
impl Drop for Launch {
    fn drop(&mut self) {
        let accepted = {
            let mut pending = self.task.lock();
            match std::mem::replace(&mut *pending, PendingTask::Taken) {
                PendingTask::Requested(task) => {
                    *pending = PendingTask::Dropped(task);
                    None
                }
                PendingTask::Accepted(task) => Some(task),
                PendingTask::Dropped(_) | PendingTask::Taken => None,
            }
        };
        if let Some(task) = accepted {
            ignore_panic(|| task.abandon(Cancellation::NoThread));
            self.shared.unregister(self.id);
        }
    }
}

impl Executor for ThreadPerTaskExecutor {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let (id, pending) = match self.shared.register(task) {
            Ok(registered) => registered,
            Err(task) => return Err(RejectedExecution::new(task, RejectionReason::Shutdown)),
        };
        if self.shared.shares_threads {
            // A thread may wait for this task already.
            wake_waiters();
        }
        let launch = Launch {
            shared: Arc::clone(&self.shared),
            id,
            task: Arc::clone(&pending),
        };
        let created = catch(|| {
            let body = ThreadBody::new(move || launch.run());
            self.factory.new_thread(body)
        });
        let accepted = matches!(created, Ok(Ok(())));
        let returned = {
            let mut pending = pending.lock();
            match std::mem::replace(&mut *pending, PendingTask::Taken) {
                PendingTask::Requested(task) if accepted => {
                    *pending = PendingTask::Accepted(task);
                    None
                }
                PendingTask::Requested(task)
                | PendingTask::Accepted(task)
                | PendingTask::Dropped(task) => Some(task),
                PendingTask::Taken => None,
            }
        };
        if returned.is_some() {
            self.shared.unregister(id);
        }
        match (created, returned) {
            (Err(payload), _) => std::panic::resume_unwind(payload),
            (Ok(_), None) => Ok(()),
            (Ok(created), Some(task)) => {
                let rejected = RejectedExecution::new(task, RejectionReason::NoThread);
                Err(match created {
                    Ok(()) => rejected,
                    Err(error) => rejected.with_source(error),
                })
            }
        }
    }

    fn shutdown_cancels(&self) -> Option<Arc<ShutdownCancels>> {
        Some(Arc::clone(&self.shared.cancels))
    }
}

impl ExecutorService for ThreadPerTaskExecutor {
    fn shutdown(&self) {
        let idle = {
            let mut state = self.shared.state.lock();
            state.shutdown = true;
            state.live.is_empty()
        };
        self.shared.cancels.shut_down(Cancellation::Shutdown);
        if idle {
            self.shared.termination.signal();
        }
    }

    /// Interrupts every task. None is ever queued, so none is returned.
    fn shutdown_now(&self) -> Vec<Task> {
        self.shared.stop(&mut self.shared.state.lock());
        self.shutdown();
        Vec::new()
    }

    fn running_tasks(&self) -> Vec<RunningTask> {
        let state = self.shared.state.lock();
        let running = state.live.iter().filter_map(|entry| entry.running.clone());
        running.collect()
    }

    fn completed_count(&self) -> Option<u64> {
        Some(self.shared.state.lock().completed)
    }

    fn cancelled_by_shutdown(&self) -> Option<u64> {
        Some(self.shared.cancels.count())
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

/// Shuts the executor down, without waiting.
impl Drop for ThreadPerTaskExecutor {
    fn drop(&mut self) {
        self.shutdown();
    }
}
