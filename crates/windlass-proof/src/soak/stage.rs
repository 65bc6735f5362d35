//! A pool in the soak, from its making to its end.

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

use super::account::{Account, Fate, Figures, drop_as};
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

/// A pool, its account, and the handles that somebody still wants to ask.
pub(crate) struct Stage {
    name: String,
    pub(crate) pool: Pool,
    pub(crate) account: Arc<Account>,
    kept: Mutex<Vec<TaskHandle<u64>>>,
    hooks: Option<Arc<Counts>>,
}

const ROOM: usize = 32;

fn queue(random: &mut Rng) -> (&'static str, Arc<dyn BlockingQueue<Task>>) {
    let unfounded = "the room is above zero";
    match random.u8(..9) {
        0 => ("linked", Arc::new(LinkedBlockingQueue::new())),
        1 => {
            let queue = LinkedBlockingQueue::with_capacity(ROOM).expect(unfounded);
            ("bounded linked", Arc::new(queue))
        }
        2 => {
            let queue = ResizableBlockingQueue::with_capacity(ROOM).expect(unfounded);
            ("resizable", Arc::new(queue))
        }
        3 => {
            let queue = ArrayBlockingQueue::new(ROOM).expect(unfounded);
            ("array", Arc::new(queue))
        }
        4 => {
            let queue = ArrayBlockingQueue::with_fairness(ROOM, Fairness::Fair);
            ("fair array", Arc::new(queue.expect(unfounded)))
        }
        5 => {
            let queue = LinkedBlockingDeque::with_capacity(ROOM).expect(unfounded);
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

impl Stage {
    fn of(name: String, pool: Pool, hooks: Option<Arc<Counts>>) -> Arc<Self> {
        Arc::new(Self {
            name,
            pool,
            account: Arc::default(),
            kept: Mutex::default(),
            hooks,
        })
    }

    /// A pool of any kind.
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

    /// Keeps a handle, to be asked at the end.
    pub(crate) fn keep(&self, handle: TaskHandle<u64>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(handle);
    }

    /// Ends the pool while others may still use it, and checks it when they do not any more.
    pub(crate) fn end_while_used(self: Arc<Self>, random: &mut Rng) -> Result<Figures, String> {
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
        self.retire(random)
    }

    fn shut_down(&self, random: &mut Rng) {
        let service = self.pool.service();
        if random.bool() {
            service.shutdown();
        } else {
            drop_as(Fate::HandedBack, service.shutdown_now());
        }
    }

    /// Ends the pool, and tells what is wrong with it, if anything. Nobody else uses it any more.
    pub(crate) fn retire(&self, random: &mut Rng) -> Result<Figures, String> {
        self.shut_down(random);
        let service = self.pool.service();
        let ended = service.await_termination(PATIENCE);
        if ended != Ok(true) {
            return Err(format!("{}: does not end: {ended:?}", self.name));
        }
        let figures = self.account.figures();
        if !figures.balances() {
            return Err(format!("{}: lost or doubled: {figures}", self.name));
        }
        self.ask_kept()?;
        self.check_counters()?;
        Ok(figures)
    }

    /// Every handle has an answer, and no task was just dropped somewhere.
    fn ask_kept(&self) -> Result<(), String> {
        let kept = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *kept)
        };
        for mut handle in kept {
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

    /// What the pool says of itself fits what is known of it.
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

/// What every task of the soak that ends well gives.
pub(crate) const VALUE: u64 = 42;
