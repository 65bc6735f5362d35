//! Test doubles for pools: a log, hooks made of closures, a thread factory that counts, a task that
//! blocks its worker.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use windlass::pool::{Builder, Hooks, Outcome, TaskInfo};
use windlass::queue::{BlockingQueue, BlockingQueueExt, LinkedBlockingQueue};
use windlass::testing::{Gate, PATIENCE, until};
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};

/// A log of what happened, in order; shared by cloning.
pub(crate) struct Log<T: Send>(Arc<LinkedBlockingQueue<T>>);

impl<T: Send + Clone> Log<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(LinkedBlockingQueue::new()))
    }

    pub(crate) fn record(&self, entry: T) {
        self.0.offer(entry).unwrap();
    }

    pub(crate) fn entries(&self) -> Vec<T> {
        self.0.snapshot()
    }
}

impl<T: Send> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

type Before = Box<dyn Fn(&TaskInfo) + Send + Sync>;
type After = Box<dyn Fn(&TaskInfo, &Outcome) + Send + Sync>;
type Terminated = Box<dyn Fn() + Send + Sync>;

/// Hooks made of closures.
#[derive(Default)]
pub(crate) struct HookFns {
    before: Option<Before>,
    after: Option<After>,
    terminated: Option<Terminated>,
}

impl HookFns {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn before(mut self, f: impl Fn(&TaskInfo) + Send + Sync + 'static) -> Self {
        self.before = Some(Box::new(f));
        self
    }

    pub(crate) fn after(mut self, f: impl Fn(&TaskInfo, &Outcome) + Send + Sync + 'static) -> Self {
        self.after = Some(Box::new(f));
        self
    }

    pub(crate) fn terminated(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.terminated = Some(Box::new(f));
        self
    }
}

impl Hooks for HookFns {
    fn wants_times(&self) -> bool {
        true
    }

    fn before_execute(&self, task: &TaskInfo) {
        if let Some(before) = &self.before {
            before(task);
        }
    }

    fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
        if let Some(after) = &self.after {
            after(task, outcome);
        }
    }

    fn terminated(&self) {
        if let Some(terminated) = &self.terminated {
            terminated();
        }
    }
}

/// A factory that counts the threads it has created and those that are live, and fails on demand.
/// Shared by cloning.
#[derive(Clone, Default)]
pub(crate) struct CountingFactory(Arc<Count>);

#[derive(Default)]
struct Count {
    created: AtomicUsize,
    live: AtomicUsize,
    fails: AtomicBool,
}

impl CountingFactory {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Creates one that starts no threads.
    pub(crate) fn failing() -> Self {
        let factory = Self::default();
        factory.0.fails.store(true, Ordering::SeqCst);
        factory
    }

    pub(crate) fn created(&self) -> usize {
        self.0.created.load(Ordering::SeqCst)
    }

    pub(crate) fn live(&self) -> usize {
        self.0.live.load(Ordering::SeqCst)
    }

    pub(crate) fn await_live(&self, count: usize) {
        until("the number of live threads", || self.live() == count);
    }
}

impl ThreadFactory for CountingFactory {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        if self.0.fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("no threads today"));
        }
        self.0.created.fetch_add(1, Ordering::SeqCst);
        self.0.live.fetch_add(1, Ordering::SeqCst);
        let count = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().spawn(move || {
            body.run();
            count.live.fetch_sub(1, Ordering::SeqCst);
        });
        thread.map(drop)
    }
}

impl fmt::Debug for CountingFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountingFactory({})", self.created())
    }
}

/// Tasks that block their workers until they are released.
#[derive(Clone, Default)]
pub(crate) struct Blocker {
    gate: Gate,
}

impl Blocker {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Blocks `count` workers of the pool; they run the task when this returns.
    pub(crate) fn occupy(pool: &ThreadPoolExecutor, count: usize) -> Self {
        let blocker = Self::new();
        for _ in 0..count {
            pool.execute(blocker.body()).unwrap();
        }
        blocker.gate.await_waiting(count);
        blocker
    }

    /// Returns a task that blocks its worker, whatever interrupts come.
    pub(crate) fn body(&self) -> impl FnOnce() + Send + use<> {
        let gate = self.gate.clone();
        move || gate.pass_uninterruptibly()
    }

    pub(crate) fn await_held(&self, count: usize) {
        self.gate.await_waiting(count);
    }

    pub(crate) fn release(&self) {
        self.gate.open();
    }
}

/// Returns a builder of a pool with that many workers.
pub(crate) fn fixed(workers: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(workers)
        .maximum_pool_size(workers)
}

/// Shuts down, waits for termination, and checks that nothing is left.
pub(crate) fn finish(pool: &ThreadPoolExecutor) {
    pool.shutdown();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    assert_terminated(pool);
}

/// Checks what holds for every pool that has terminated.
pub(crate) fn assert_terminated(pool: &ThreadPoolExecutor) {
    let stats = pool.stats();
    assert_eq!(
        (stats.queue_len, stats.active_count, stats.pool_size),
        (0, 0, 0),
        "{stats}"
    );
    assert_eq!(stats.task_count, stats.completed_task_count);
    assert!(pool.is_shutdown() && pool.is_terminated() && !pool.is_terminating());
    assert_eq!(pool.await_termination(Duration::ZERO), Ok(true));
}
