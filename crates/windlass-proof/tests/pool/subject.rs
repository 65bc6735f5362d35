//! A real pool, each of whose tasks waits at a gate of its own.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use windlass::error::ExecutionError;
use windlass::pool::{
    AbortPolicy, BlockPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, PoolStats,
    RejectedExecutionHandler,
};
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, LinkedBlockingDeque, LinkedBlockingQueue,
    LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue, SynchronousQueue,
};
use windlass::task::{TaskControl, TaskId, TaskState};
use windlass::testing::{Gate, PATIENCE, until};
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{Executor, ExecutorService, Task, TaskHandle, ThreadPoolExecutor};

use super::model::{Answer, Model, Plan, Policy, QueueKind, Setup, Step, TaskOutcome};

const WAITS: u8 = 0;
const AT_GATE: u8 = 1;
const OVER: u8 = 2;

/// A task, and the gate that it waits at.
struct GatedTask {
    id: TaskId,
    gate: Gate,
    progress: Arc<AtomicU8>,
    handle: Option<TaskHandle<()>>,
}

/// Counts the threads that it makes.
#[derive(Debug)]
struct Counting {
    made: Arc<AtomicUsize>,
    factory: DefaultThreadFactory,
}

impl ThreadFactory for Counting {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.made.fetch_add(1, Ordering::SeqCst);
        self.factory.new_thread(body)
    }
}

pub(crate) struct Subject {
    pool: ThreadPoolExecutor,
    made: Arc<AtomicUsize>,
    tasks: Vec<GatedTask>,
}

fn queue(kind: QueueKind) -> Arc<dyn BlockingQueue<Task>> {
    match kind {
        QueueKind::Linked(None) => Arc::new(LinkedBlockingQueue::new()),
        QueueKind::Linked(Some(n)) => Arc::new(LinkedBlockingQueue::with_capacity(n).unwrap()),
        QueueKind::Resizable(n) => Arc::new(ResizableBlockingQueue::with_capacity(n).unwrap()),
        QueueKind::Array(n) => Arc::new(ArrayBlockingQueue::new(n).unwrap()),
        QueueKind::Deque(n) => Arc::new(LinkedBlockingDeque::with_capacity(n).unwrap()),
        QueueKind::Priority => Arc::new(PriorityBlockingQueue::by_key(Task::priority)),
        QueueKind::Synchronous => Arc::new(SynchronousQueue::new()),
        QueueKind::Transfer => Arc::new(LinkedTransferQueue::new()),
    }
}

fn handler(policy: Policy) -> Arc<dyn RejectedExecutionHandler> {
    match policy {
        Policy::Abort => Arc::new(AbortPolicy),
        Policy::CallerRuns => Arc::new(CallerRunsPolicy),
        Policy::Discard => Arc::new(DiscardPolicy),
        Policy::DiscardOldest => Arc::new(DiscardOldestPolicy),
        Policy::Block => Arc::new(BlockPolicy::with_timeout(Duration::ZERO)),
    }
}

impl Subject {
    pub(crate) fn new(setup: Setup) -> Self {
        let made = Arc::default();
        let factory = Counting {
            made: Arc::clone(&made),
            factory: DefaultThreadFactory::new(),
        };
        let pool = ThreadPoolExecutor::builder()
            .thread_factory(factory)
            .core_pool_size(setup.core)
            .maximum_pool_size(setup.maximum)
            .keep_alive(Duration::from_secs(3600))
            .work_queue(queue(setup.queue))
            .rejection_handler(handler(setup.policy))
            .grow_eagerly(setup.eager)
            .uncaught_handler(|_| ())
            .build()
            .unwrap();
        Self {
            pool,
            made,
            tasks: Vec::new(),
        }
    }

    fn make(&mut self, plan: Plan) -> Task {
        let (gate, progress) = (Gate::new(), Arc::new(AtomicU8::new(WAITS)));
        let (theirs, submitter) = (
            (gate.clone(), Arc::clone(&progress)),
            thread::current().id(),
        );
        let body = move || {
            let (gate, progress) = theirs;
            let passed = if thread::current().id() == submitter {
                Ok(())
            } else {
                progress.store(AT_GATE, Ordering::SeqCst);
                gate.pass()
            };
            progress.store(OVER, Ordering::SeqCst);
            if plan.panics && passed.is_ok() {
                // Prints no message.
                resume_unwind(Box::new("as planned"));
            }
        };
        let builder = Task::builder().priority(plan.priority);
        let (task, handle) = if plan.has_handle {
            let (task, handle) = builder.build_with_handle(body);
            (task, Some(handle))
        } else {
            (builder.build(body), None)
        };
        self.tasks.push(GatedTask {
            id: task.id(),
            gate,
            progress,
            handle,
        });
        task
    }

    fn control(&self, task: usize) -> TaskControl {
        self.tasks[task].handle.as_ref().unwrap().control()
    }

    /// Which task that is.
    fn number(&self, task: &Task) -> usize {
        self.tasks
            .iter()
            .position(|other| other.id == task.id())
            .unwrap()
    }

    /// `after`: the model as it is after the step.
    pub(crate) fn apply(&mut self, after: &Model, step: Step) {
        let answer = self.call(after, step);
        assert_eq!(answer, after.answer, "{step:?}");
        self.await_quiescence(after);
    }

    fn call(&mut self, after: &Model, step: Step) -> Answer {
        match step {
            Step::Execute(plan) => {
                let task = self.make(plan);
                match catch_unwind(AssertUnwindSafe(|| self.pool.execute_task(task))) {
                    Ok(Ok(())) => Answer::Taken,
                    Ok(Err(_)) => Answer::HandedBack,
                    Err(_) => Answer::PanickedInCaller,
                }
            }
            Step::Finish(_) => {
                // The one that was at its gate, and is not to be any more.
                let at_gate = |task: &&GatedTask| task.progress.load(Ordering::SeqCst) == AT_GATE;
                let running = |at: usize| after.running.contains(&at);
                let over = (0..self.tasks.len())
                    .find(|&at| at_gate(&&self.tasks[at]) && !running(at))
                    .unwrap();
                self.tasks[over].gate.open();
                Answer::Nothing
            }
            Step::Cancel(task) => Answer::Yes(self.control(task).cancel()),
            Step::CancelNow(task) => Answer::Yes(self.control(task).cancel_now()),
            Step::Remove(task) => Answer::Yes(self.pool.remove(self.tasks[task].id).is_some()),
            Step::Purge => Answer::Count(self.pool.purge()),
            Step::SetCore(size) => Answer::Yes(self.pool.set_core_pool_size(size).is_ok()),
            Step::SetMaximum(size) => Answer::Yes(self.pool.set_maximum_pool_size(size).is_ok()),
            Step::SetCapacity(size) => Answer::Capacity(self.pool.set_queue_capacity(size)),
            Step::Prestart => Answer::Yes(self.pool.prestart_core_thread()),
            Step::RetireIdle => {
                self.pool.retire_idle();
                Answer::Nothing
            }
            Step::Shutdown => {
                self.pool.shutdown();
                Answer::Nothing
            }
            Step::ShutdownNow => {
                let drained = self.pool.shutdown_now();
                let drained = drained.iter().map(|task| self.number(task));
                Answer::Tasks(drained.collect())
            }
        }
    }

    /// Waits until the pool matches the model; fails with the difference if it does not.
    fn await_quiescence(&self, model: &Model) {
        let expected = expected(model);
        let mut seen = None;
        let quiescent = catch_unwind(AssertUnwindSafe(|| {
            until("the pool as predicted", || {
                let stats = self.pool.stats();
                let same = observed(&stats) == expected && self.tasks_are_as(model);
                seen = Some(stats);
                same && self.replacements_are_there(model) && self.idle_workers_wait(model)
            });
        }));
        assert!(
            quiescent.is_ok(),
            "expected {expected:?}, seen {seen:?}, {model:?}"
        );
    }

    fn tasks_are_as(&self, model: &Model) -> bool {
        self.tasks
            .iter()
            .zip(&model.tasks)
            .enumerate()
            .all(|(at, (task, expected))| {
                let at_gate = task.progress.load(Ordering::SeqCst) == AT_GATE;
                let state = task.handle.as_ref().map(TaskHandle::state);
                at_gate == model.running.contains(&at)
                    && state.is_none_or(|state| state == state_of(expected.outcome))
            })
    }

    /// From outside, a worker that failed cannot be told from its replacement.
    fn replacements_are_there(&self, model: &Model) -> bool {
        self.made.load(Ordering::SeqCst) == model.made
    }

    /// A hand-off needs somebody who waits already.
    fn idle_workers_wait(&self, model: &Model) -> bool {
        let waiting = self.pool.queue().waiting().unwrap();
        model.setup.queue != QueueKind::Synchronous || waiting.takers == model.idle()
    }

    /// Shuts the pool down, and checks the outcome of each handle.
    pub(crate) fn finish(mut self, model: &Model) {
        for task in &self.tasks {
            task.gate.open();
        }
        self.pool.shutdown();
        assert!(self.pool.await_termination(PATIENCE).unwrap());
        for (task, expected) in self.tasks.iter_mut().zip(&model.tasks) {
            let Some(handle) = &mut task.handle else {
                continue;
            };
            let got = handle.get_timeout(PATIENCE);
            match expected.outcome {
                TaskOutcome::Queued | TaskOutcome::Running if expected.plan.panics => {
                    assert!(got.unwrap_err().is_failed());
                }
                TaskOutcome::Queued | TaskOutcome::Running | TaskOutcome::Completed => got.unwrap(),
                TaskOutcome::Failed => assert!(got.unwrap_err().is_failed()),
                TaskOutcome::Cancelled(why) => match got {
                    Err(ExecutionError::Cancelled(said)) => assert_eq!(said, why),
                    got => panic!("{got:?} instead of {why:?}"),
                },
            }
        }
    }
}

/// Opens all gates: tasks that no step has finished still wait.
impl Drop for Subject {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.gate.open();
        }
    }
}

fn observed(
    stats: &PoolStats,
) -> (
    [usize; 4],
    [u64; 3],
    Option<usize>,
    windlass::pool::PoolState,
) {
    (
        [
            stats.pool_size,
            stats.active_count,
            stats.queue_len,
            stats.largest_pool_size,
        ],
        [
            stats.completed_task_count,
            stats.task_count,
            stats.rejected_count,
        ],
        stats.queue_remaining_capacity,
        stats.state,
    )
}

fn expected(
    model: &Model,
) -> (
    [usize; 4],
    [u64; 3],
    Option<usize>,
    windlass::pool::PoolState,
) {
    let (active, queued) = (model.running.len(), model.queued.len());
    let taken = model.completed + (active + queued) as u64;
    (
        [model.workers, active, queued, model.largest],
        [model.completed, taken, model.rejected],
        model.remaining(),
        model.state,
    )
}

fn state_of(outcome: TaskOutcome) -> TaskState {
    match outcome {
        TaskOutcome::Queued => TaskState::Queued,
        TaskOutcome::Running => TaskState::Running,
        TaskOutcome::Completed => TaskState::Completed,
        TaskOutcome::Failed => TaskState::Failed,
        TaskOutcome::Cancelled(_) => TaskState::Cancelled,
    }
}
