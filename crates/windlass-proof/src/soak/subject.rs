//! A pool under test, from creation to termination.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use windlass::error::{Cancellation, ExecutionError};
use windlass::pool::{
    AbortPolicy, BlockPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, Hooks, Outcome,
    RejectedExecutionHandler, TaskInfo,
};
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, Fairness, LinkedBlockingDeque, LinkedBlockingQueue,
    LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue, SynchronousQueue,
};
use windlass::{
    ExecutorService, ForkJoinPool, ScheduledThreadPoolExecutor, Task, TaskHandle,
    ThreadPoolExecutor,
};

use super::outcomes::{OutcomeCounters, OutcomeCounts, TaskOutcome, drop_as};
use crate::seeded::{Bug, SeededQueue};

/// How long a pool may take to end, or a task to answer, before that counts as a hang.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) enum Pool {
    Threads(ThreadPoolExecutor),
    Scheduled(ScheduledThreadPoolExecutor),
    Forks(ForkJoinPool),
}

impl Pool {
    fn service(&self) -> &dyn ExecutorService {
        match self {
            Self::Threads(pool) => pool,
            Self::Scheduled(pool) => pool,
            Self::Forks(pool) => pool,
        }
    }
}

/// Counts the calls of the hooks.
#[derive(Debug, Default)]
struct Counts {
    before: AtomicU64,
    after: AtomicU64,
    terminated: AtomicU64,
}

impl Hooks for Counts {
    fn before_execute(&self, _task: &TaskInfo) {
        self.before.fetch_add(1, Ordering::SeqCst);
    }

    fn after_execute(&self, _task: &TaskInfo, _outcome: &Outcome) {
        self.after.fetch_add(1, Ordering::SeqCst);
    }

    fn terminated(&self) {
        self.terminated.fetch_add(1, Ordering::SeqCst);
    }
}

/// A pool, the outcomes of its tasks, and the handles that are checked at the end.
pub(crate) struct Subject {
    name: String,
    pub(crate) pool: Pool,
    pub(crate) outcomes: Arc<OutcomeCounters>,
    handles: Mutex<Vec<TaskHandle<u64>>>,
    hooks: Option<Arc<Counts>>,
}

const ROOM: usize = 32;

fn queue(random: &mut Rng) -> (&'static str, Arc<dyn BlockingQueue<Task>>) {
    let positive = "the room is above zero";
    match random.u8(..9) {
        0 => ("linked", Arc::new(LinkedBlockingQueue::new())),
        1 => {
            let queue = LinkedBlockingQueue::with_capacity(ROOM).expect(positive);
            ("bounded linked", Arc::new(queue))
        }
        2 => {
            let queue = ResizableBlockingQueue::with_capacity(ROOM).expect(positive);
            ("resizable", Arc::new(queue))
        }
        3 => {
            let queue = ArrayBlockingQueue::new(ROOM).expect(positive);
            ("array", Arc::new(queue))
        }
        4 => {
            let queue = ArrayBlockingQueue::with_fairness(ROOM, Fairness::Fair);
            ("fair array", Arc::new(queue.expect(positive)))
        }
        5 => {
            let queue = LinkedBlockingDeque::with_capacity(ROOM).expect(positive);
            ("deque", Arc::new(queue))
        }
        6 => {
            let queue = PriorityBlockingQueue::by_key(Task::priority);
            ("priority", Arc::new(queue))
        }
        7 => ("synchronous", Arc::new(SynchronousQueue::new())),
        _ => ("transfer", Arc::new(LinkedTransferQueue::new())),
    }
}

fn policy(random: &mut Rng) -> (&'static str, Arc<dyn RejectedExecutionHandler>) {
    match random.u8(..5) {
        0 => ("abort", Arc::new(AbortPolicy)),
        1 => ("caller runs", Arc::new(CallerRunsPolicy)),
        2 => ("discard", Arc::new(DiscardPolicy)),
        3 => ("discard oldest", Arc::new(DiscardOldestPolicy)),
        _ => {
            let policy = BlockPolicy::with_timeout(Duration::from_micros(500));
            ("block", Arc::new(policy))
        }
    }
}

impl Subject {
    fn of(name: String, pool: Pool, hooks: Option<Arc<Counts>>) -> Arc<Self> {
        Arc::new(Self {
            name,
            pool,
            outcomes: Arc::default(),
            handles: Mutex::default(),
            hooks,
        })
    }

    /// Creates a pool of a random kind.
    pub(crate) fn any(random: &mut Rng, losing: bool) -> Arc<Self> {
        match random.u8(..4) {
            0 => Self::scheduled(random),
            1 => Self::forks(random),
            _ => Self::threads(random, losing),
        }
    }

    fn threads(random: &mut Rng, losing: bool) -> Arc<Self> {
        let ((queue_name, mut queue), (policy_name, policy)) = (queue(random), policy(random));
        if losing {
            queue = Arc::new(SeededQueue::new(Bug::LosesOneOf(3)));
        }
        let mut builder = ThreadPoolExecutor::builder()
            .core_pool_size(random.usize(1..3))
            .maximum_pool_size(random.usize(3..6))
            .keep_alive(Duration::from_micros(random.u64(100..5_000)))
            .work_queue(queue)
            .rejection_handler(policy)
            .grow_eagerly(random.bool())
            .reuse_worker_after_panic(random.bool())
            .uncaught_handler(|_| ());
        let hooks = random.bool().then(Arc::<Counts>::default);
        if let Some(hooks) = &hooks {
            builder = builder.hooks(Arc::clone(hooks) as Arc<dyn Hooks>);
        }
        let pool = builder.build().expect("core is below the maximum");
        let name = format!("pool ({queue_name}, {policy_name})");
        Self::of(name, Pool::Threads(pool), hooks)
    }

    fn scheduled(random: &mut Rng) -> Arc<Self> {
        let builder = ScheduledThreadPoolExecutor::builder()
            .core_pool_size(random.usize(1..4))
            .uncaught_handler(|_| ());
        let pool = builder.build();
        pool.set_remove_on_cancel(random.bool());
        pool.set_run_delayed_after_shutdown(random.bool());
        Self::of("scheduled pool".into(), Pool::Scheduled(pool), None)
    }

    fn forks(random: &mut Rng) -> Arc<Self> {
        let builder = ForkJoinPool::builder()
            .parallelism(random.usize(1..4))
            .async_mode(random.bool())
            .keep_alive(Duration::from_millis(random.u64(1..20)))
            .uncaught_handler(|_| ());
        let pool = builder.build().expect("the parallelism is above zero");
        Self::of("fork-join pool".into(), Pool::Forks(pool), None)
    }

    /// Keeps a handle, to be checked at the end.
    pub(crate) fn keep_handle(&self, handle: TaskHandle<u64>) {
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.push(handle);
    }

    /// Shuts the pool down while producers may still use it, and checks it once they do not.
    pub(crate) fn end_while_used(
        self: Arc<Self>,
        random: &mut Rng,
    ) -> Result<OutcomeCounts, String> {
        if random.bool() {
            self.shut_down(random);
        }
        let limit = Instant::now() + PATIENCE;
        while Arc::strong_count(&self) > 1 {
            if Instant::now() > limit {
                return Err(format!("{}: a producer hangs", self.name));
            }
            thread::sleep(Duration::from_micros(200));
        }
        self.terminate(random)
    }

    fn shut_down(&self, random: &mut Rng) {
        let service = self.pool.service();
        if random.bool() {
            service.shutdown();
        } else {
            drop_as(TaskOutcome::HandedBack, service.shutdown_now());
        }
    }

    /// Shuts the pool down, waits for termination and checks it. No producer uses it any more.
    pub(crate) fn terminate(&self, random: &mut Rng) -> Result<OutcomeCounts, String> {
        self.shut_down(random);
        let service = self.pool.service();
        let ended = service.await_termination(PATIENCE);
        if ended != Ok(true) {
            return Err(format!("{}: does not terminate: {ended:?}", self.name));
        }
        let counts = self.outcomes.counts();
        if !counts.is_complete() {
            return Err(format!("{}: lost or doubled: {counts}", self.name));
        }
        self.check_handles()?;
        self.check_counters()?;
        Ok(counts)
    }

    /// Checks that every handle is done, and that no task was dropped without a reason.
    fn check_handles(&self) -> Result<(), String> {
        let handles = {
            let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *handles)
        };
        for mut handle in handles {
            let wrong = match handle.get_timeout(PATIENCE) {
                Ok(value) => value != VALUE,
                Err(ExecutionError::Failed(_)) => false,
                Err(ExecutionError::Cancelled(why)) => why == Cancellation::Dropped,
                Err(_) => true,
            };
            if wrong {
                return Err(format!("{}: the handle of {:?}", self.name, handle.id()));
            }
        }
        Ok(())
    }

    /// Checks that the statistics of the pool match the calls of its hooks.
    fn check_counters(&self) -> Result<(), String> {
        let stats = match &self.pool {
            Pool::Threads(pool) => pool.stats(),
            Pool::Scheduled(pool) => pool.stats(),
            Pool::Forks(_) => return Ok(()),
        };
        let idle = (stats.pool_size, stats.active_count, stats.queue_len) == (0, 0, 0);
        let called = self.hooks.as_ref().is_none_or(|hooks| {
            let count = |of: &AtomicU64| of.load(Ordering::SeqCst);
            let calls = (count(&hooks.before), count(&hooks.after));
            calls == (stats.completed_task_count, stats.completed_task_count)
                && count(&hooks.terminated) == 1
        });
        if idle && called && stats.task_count == stats.completed_task_count {
            Ok(())
        } else {
            Err(format!("{}: {stats:?}, {:?}", self.name, self.hooks))
        }
    }
}

/// The value of every task that finishes.
pub(crate) const VALUE: u64 = 42;
