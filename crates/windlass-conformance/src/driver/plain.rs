//! Builds the thread pool that a scenario asks for.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::pool::{AbortPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, Hooks};
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, LinkedBlockingQueue, PriorityBlockingQueue, SynchronousQueue,
};
use windlass::task::Task;
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{ThreadPoolExecutor, pool};

use super::{Handler, named};
use crate::format::{KeepAlive, Policy, QueueKind, TaskId, ThreadPoolSpec};

/// Stands for "never": longer than any scenario.
const NEVER: Duration = Duration::from_secs(1_000_000);

/// Why there is no pool; for the transcript both are an invalid argument.
#[derive(Debug)]
pub(super) enum BuildError {
    Sizes,
    Capacity,
}

pub(super) fn build(
    spec: &ThreadPoolSpec,
    hooks: Arc<dyn Hooks>,
) -> Result<ThreadPoolExecutor, BuildError> {
    let keep_alive = match spec.keep_alive {
        KeepAlive::Never => NEVER,
        KeepAlive::After(time) => time,
    };
    pool::ThreadPoolExecutor::builder()
        .core_pool_size(spec.core)
        .maximum_pool_size(spec.max)
        .keep_alive(keep_alive)
        .allow_core_thread_timeout(spec.core_timeout.unwrap_or(false))
        .work_queue(queue(spec.queue)?)
        .thread_factory(LimitedThreadFactory::new(spec.factory_limit))
        .rejection_handler(policy(spec.policy))
        .hooks(hooks)
        .build()
        .map_err(|_| BuildError::Sizes)
}

fn queue(kind: QueueKind) -> Result<Arc<dyn BlockingQueue<Task>>, BuildError> {
    let queue: Arc<dyn BlockingQueue<Task>> = match kind {
        QueueKind::Linked => Arc::new(LinkedBlockingQueue::new()),
        QueueKind::LinkedBounded(room) => {
            Arc::new(LinkedBlockingQueue::with_capacity(room).map_err(|_| BuildError::Capacity)?)
        }
        QueueKind::Array(room) => {
            Arc::new(ArrayBlockingQueue::new(room).map_err(|_| BuildError::Capacity)?)
        }
        QueueKind::Synchronous => Arc::new(SynchronousQueue::new()),
        QueueKind::Priority => Arc::new(PriorityBlockingQueue::by_key(Task::priority)),
    };
    Ok(queue)
}

/// What is queued, in the order in which it would be taken.
pub(super) fn queued(pool: &ThreadPoolExecutor) -> Vec<TaskId> {
    let mut queued = Vec::new();
    pool.queue()
        .for_each(&mut |task| queued.push((task.priority(), named(task))));
    // A queue by priority shows its elements in no order; all others have no priorities.
    queued.sort_by_key(|(priority, _)| *priority);
    queued.into_iter().map(|(_, name)| name).collect()
}

pub(super) fn policy(policy: Policy) -> Handler {
    match policy {
        Policy::Abort => Arc::new(AbortPolicy),
        Policy::CallerRuns => Arc::new(CallerRunsPolicy),
        Policy::Discard => Arc::new(DiscardPolicy),
        Policy::DiscardOldest => Arc::new(DiscardOldestPolicy),
    }
}

/// Makes so many threads, and then refuses.
#[derive(Debug)]
struct LimitedThreadFactory {
    factory: DefaultThreadFactory,
    left: AtomicUsize,
}

impl LimitedThreadFactory {
    fn new(limit: Option<usize>) -> Self {
        Self {
            factory: DefaultThreadFactory::named("replay"),
            left: AtomicUsize::new(limit.unwrap_or(usize::MAX)),
        }
    }
}

impl ThreadFactory for LimitedThreadFactory {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let one = |left: usize| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one)
        {
            Ok(_) => self.factory.new_thread(body),
            Err(_) => Err(io::Error::other("the scenario allows no more threads")),
        }
    }
}
