//! What happens in a pool, for `tracing`: a span for each run, and events.
//!
//! Each part is given to the builder of a pool like any other hook, policy or factory; a pool without them
//! pays nothing.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::sync::Arc;

use tracing::span::EnteredSpan;
use tracing::{debug, debug_span, info, warn};

use super::alert::Alert;
use super::service::Monitor;
use super::sinks::Event;
use crate::executor::RejectedExecution;
use crate::hooks::{Hooks, Outcome, TaskInfo};
use crate::pool::{RejectedExecutionHandler, Saturated};
use crate::sync::thread_local;
use crate::task::{Task, TaskBuilder, inside_next_span};
use crate::thread_factory::{ThreadBody, ThreadFactory};

thread_local! {
    /// The spans of the tasks that this thread runs, one inside the other.
    static RUNNING: RefCell<Vec<EnteredSpan>> = RefCell::default();
}

/// Hooks that open a span `task` around each run, with the name of the pool, the id and the name of the task,
/// and how long it waited; events tell how it started and ended.
///
/// With [`TracingSpan`](crate::context::TracingSpan) the span of the submitter is its parent. The crate
/// `tracing-opentelemetry` exports the spans, as all others of the program.
///
/// ```
/// use windlass::monitor::{TracedPolicy, TracedTasks, TracedThreads, trace_submissions};
/// use windlass::pool::AbortPolicy;
/// use windlass::prelude::*;
/// use windlass::thread_factory::DefaultThreadFactory;
///
/// let pool = ThreadPoolExecutor::builder()
///     .name("web")
///     .core_pool_size(2)
///     .prepare_tasks(trace_submissions("web"))
///     .hooks(TracedTasks::new("web"))
///     .rejection_handler(TracedPolicy::new("web", AbortPolicy))
///     .thread_factory(TracedThreads::new("web", DefaultThreadFactory::named("web")))
///     .build()
///     .unwrap();
/// pool.submit(|| tracing::info!("inside the span `task`")).unwrap().join().unwrap();
/// ```
#[derive(Debug, Clone)]
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub struct TracedTasks {
    pool: Arc<str>,
}

impl TracedTasks {
    /// Creates the hooks of a pool of this name.
    #[must_use]
    pub fn new(pool: impl Into<Arc<str>>) -> Self {
        Self { pool: pool.into() }
    }
}

impl Hooks for TracedTasks {
    fn wants_times(&self) -> bool {
        true
    }

    fn before_execute(&self, task: &TaskInfo) {
        let (pool, task) = (Arc::clone(&self.pool), task.clone());
        if task.enters_span() {
            // Inside the span of the submitter, which the body enters.
            let open = Box::new(move || open_span(&pool, &task));
            drop(inside_next_span(Some(open)));
        } else {
            open_span(&pool, &task);
        }
    }

    fn after_execute(&self, task: &TaskInfo, outcome: &Outcome) {
        if let Some(open) = inside_next_span(None) {
            // There was no run: the task was cancelled before.
            open();
        }
        let entered = RUNNING.with(|running| running.borrow_mut().pop());
        let ran = task.ran_for().map(tracing::field::debug);
        match outcome {
            Outcome::Failed(failure) => warn!(ran, failure = %failure, "failed"),
            Outcome::Cancelled => debug!(ran, "cancelled"),
            Outcome::Completed => debug!(ran, "end"),
        }
        drop(entered);
    }
}

/// Opens and enters the span of a run, below the current one.
fn open_span(pool: &str, task: &TaskInfo) {
    let span = debug_span!(
        "task",
        pool,
        id = task.id().as_u64(),
        name = task.name(),
        waited = task.queued_for().map(tracing::field::debug),
    );
    let entered = span.entered();
    debug!("start");
    RUNNING.with(|running| running.borrow_mut().push(entered));
}

/// A rejection policy that tells of each rejection before another one handles it.
#[derive(Debug, Clone)]
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub struct TracedPolicy<H> {
    pool: Arc<str>,
    handler: H,
}

impl<H: RejectedExecutionHandler> TracedPolicy<H> {
    /// Creates a policy for a pool of this name.
    #[must_use]
    pub fn new(pool: impl Into<Arc<str>>, handler: H) -> Self {
        Self {
            pool: pool.into(),
            handler,
        }
    }
}

impl<H: RejectedExecutionHandler> RejectedExecutionHandler for TracedPolicy<H> {
    fn rejected(&self, task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
        warn!(
            pool = &*self.pool,
            id = task.id().as_u64(),
            policy = self.handler.name(),
            "rejected"
        );
        self.handler.rejected(task, pool)
    }

    fn name(&self) -> &str {
        self.handler.name()
    }
}

/// A thread factory that tells when a thread starts and ends.
#[derive(Clone)]
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub struct TracedThreads<F> {
    pool: Arc<str>,
    factory: F,
}

impl<F: ThreadFactory> TracedThreads<F> {
    /// Creates a factory for a pool of this name.
    #[must_use]
    pub fn new(pool: impl Into<Arc<str>>, factory: F) -> Self {
        Self {
            pool: pool.into(),
            factory,
        }
    }
}

impl<F: ThreadFactory> ThreadFactory for TracedThreads<F> {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let pool = Arc::clone(&self.pool);
        self.factory.new_thread(ThreadBody::new(move || {
            debug!(pool = &*pool, "thread starts");
            let _ends = Ends(pool);
            body.run();
        }))
    }

    fn name_prefix(&self) -> Option<&str> {
        self.factory.name_prefix()
    }
}

/// Tells that a thread ends, also if it unwinds.
struct Ends(Arc<str>);

impl Drop for Ends {
    fn drop(&mut self) {
        debug!(pool = &*self.0, "thread ends");
    }
}

impl<F: fmt::Debug> fmt::Debug for TracedThreads<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TracedThreads").field(&self.factory).finish()
    }
}

/// Returns what tells of each submission to a pool of this name; for
/// [`Builder::prepare_tasks`](crate::pool::Builder::prepare_tasks).
#[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
pub fn trace_submissions(
    pool: impl Into<Arc<str>>,
) -> impl Fn(TaskBuilder) -> TaskBuilder + Send + Sync + 'static {
    let pool = pool.into();
    move |task| {
        debug!(pool = &*pool, "submit");
        task
    }
}

impl Monitor {
    /// Emits an event of `tracing` for each alert that is raised or cleared, and for each change of settings.
    ///
    /// # Errors
    ///
    /// That of the system, if no thread can be created.
    #[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
    pub fn trace_events(&self) -> io::Result<()> {
        self.on_event(|event| match event {
            Event::Alert(alert) => trace_alert(alert),
            Event::Audit(entry) => {
                let changes: Vec<_> = entry.changes.iter().map(ToString::to_string).collect();
                info!(
                    pool = &*entry.pool,
                    source = entry.source.as_str(),
                    changes = %changes.join(", "),
                    detail = entry.detail.as_deref(),
                    "{}",
                    entry.action
                );
            }
            Event::Sampled => {}
        })
    }
}

fn trace_alert(alert: &Alert) {
    let (pool, kind) = (&*alert.pool, alert.kind.as_str());
    if alert.active {
        warn!(pool, kind, value = alert.value, "{}", alert.message);
    } else {
        info!(pool, kind, "cleared");
    }
}
