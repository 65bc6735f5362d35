//! The order and the time limits of a graceful end.

use std::fmt;
use std::time::{Duration, Instant};

use super::report::{PoolEnd, PoolReport, ShutdownReport};
use crate::executor::ExecutorService;
use crate::interrupt::{self, Interrupted};
use crate::sync::clock;
use crate::task::Task;
use crate::unwind::{catch, discard_payload};

/// How long executors drain unless the plan says otherwise.
const DRAIN: Duration = Duration::from_secs(20);

/// How long the plan waits after the interrupt unless it says otherwise.
const WAIT: Duration = Duration::from_secs(5);

/// A plan for the end of one or several executors.
///
/// It ends them one after the other, in the order in which they were added. For each it stops the
/// intake, lets accepted tasks finish for a time, then interrupts what still runs and takes out what has
/// not started, and waits again. The report says what became of the
/// tasks that it had accepted; see [`PoolReport`].
///
/// Add executors before those that their tasks submit to: an executor accepts tasks until all before
/// it have ended. A task that submits to one that has ended gets its task back, rejected as
/// [`Shutdown`](crate::RejectionReason::Shutdown).
///
/// An interrupt of the thread that runs the plan makes it hurry: it no longer drains, it interrupts
/// the tasks at once. A second interrupt makes it wait no longer either. The interrupt is pending again
/// when the plan has ended. A plan for executors that have been shut down or have terminated, by another plan
/// for instance, waits for their end and reports it; each task is handed back once.
///
/// ```
/// use std::time::Duration;
/// use windlass::interrupt;
/// use windlass::prelude::*;
/// use windlass::shutdown::{PoolEnd, ShutdownPlan};
///
/// let web = executors::fixed_thread_pool(2).unwrap();
/// let database = executors::fixed_thread_pool(1).unwrap();
/// let request = web.submit(|| "done").unwrap();
/// drop(database.submit(|| interrupt::sleep(Duration::from_secs(3600))).unwrap());
/// let queued = database.submit(|| ()).unwrap();
///
/// let report = ShutdownPlan::new()
///     .pool("web", &web)
///     .pool("database", &database)
///     .drain_for(Duration::from_millis(50))
///     .run();
/// assert_eq!(report.pools[0].end, PoolEnd::Drained);
/// assert_eq!(report.pools[1].end, PoolEnd::Interrupted);
/// assert_eq!(report.pools[1].handed_back.len(), 1);
/// println!("{report}");
/// # drop((request, queued));
/// ```
#[must_use = "a plan does nothing until it is run"]
pub struct ShutdownPlan<'a> {
    pools: Vec<(String, Box<dyn ExecutorService + 'a>)>,
    drain: Duration,
    wait: Duration,
    total: Duration,
}

impl<'a> ShutdownPlan<'a> {
    /// Creates a plan without executors, which drains each for 20 seconds and waits for five after the
    /// interrupt.
    pub const fn new() -> Self {
        Self {
            pools: Vec::new(),
            drain: DRAIN,
            wait: WAIT,
            total: Duration::MAX,
        }
    }

    /// Adds an executor to the end of the order, or a reference to one; the report has it under this
    /// name.
    pub fn pool(mut self, name: impl Into<String>, executor: impl ExecutorService + 'a) -> Self {
        self.pools.push((name.into(), Box::new(executor)));
        self
    }

    /// Sets how long each executor may finish its tasks before they are interrupted.
    pub const fn drain_for(mut self, time: Duration) -> Self {
        self.drain = time;
        self
    }

    /// Sets how long the plan waits for each executor after the interrupt.
    pub const fn wait_for(mut self, time: Duration) -> Self {
        self.wait = time;
        self
    }

    /// Sets how long the plan may take altogether, such as the time that a service manager gives before
    /// it kills the process. When it is over, the executors that are left are interrupted at once and
    /// not waited for.
    pub const fn total(mut self, time: Duration) -> Self {
        self.total = time;
        self
    }

    /// Ends the executors, and reports what became of their tasks.
    ///
    /// Do not run it inside a task of one of them: the plan would wait for that task, though no longer
    /// than its limits.
    pub fn run(&self) -> ShutdownReport {
        let started = clock::now();
        let mut run = Run {
            plan: self,
            haste: Haste::None,
            ends_at: started.checked_add(self.total),
        };
        let pools = self.pools.iter().map(|(name, pool)| run.end(name, &**pool));
        let pools = pools.collect();
        let was_interrupted = run.haste > Haste::None;
        let report = ShutdownReport {
            pools,
            took: since(started),
        };
        if was_interrupted {
            interrupt::current().interrupt();
        }
        report
    }
}

impl Default for ShutdownPlan<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ShutdownPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.pools.iter().map(|(name, _)| name).collect();
        f.debug_struct("ShutdownPlan")
            .field("pools", &names)
            .field("drain_for", &self.drain)
            .field("wait_for", &self.wait)
            .finish_non_exhaustive()
    }
}

/// How often the plan was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Haste {
    /// Never.
    None,
    /// Once: it drains no longer.
    NoDrain,
    /// Twice: it waits no longer.
    NoWait,
}

/// One run of a plan.
struct Run<'a, 'p> {
    plan: &'a ShutdownPlan<'p>,
    haste: Haste,
    ends_at: Option<Instant>,
}

impl Run<'_, '_> {
    fn end(&mut self, name: &str, pool: &dyn ExecutorService) -> PoolReport {
        let started = clock::now();
        let completed_before = ask(|| pool.completed_count());
        let cancelled_before = ask(|| pool.cancelled_by_shutdown());
        let mut handed_back = Vec::new();
        let end = if ask(|| pool.is_terminated()) {
            PoolEnd::AlreadyTerminated
        } else {
            ask(|| pool.shutdown());
            if self.drains(pool) {
                PoolEnd::Drained
            } else {
                handed_back = stop(pool);
                if self.waits(pool) {
                    PoolEnd::Interrupted
                } else {
                    PoolEnd::StillRunning
                }
            }
        };
        let still_running = match end {
            PoolEnd::StillRunning => ask(|| pool.running_tasks()),
            _ => Vec::new(),
        };
        let completed = ask(|| pool.completed_count());
        let cancelled = ask(|| pool.cancelled_by_shutdown());
        PoolReport {
            name: name.to_owned(),
            end,
            finished: increase(completed_before, completed),
            handed_back,
            cancelled: increase(cancelled_before, cancelled),
            still_running,
            took: since(started),
        }
    }

    /// Waits while the executor drains. Returns whether it has terminated.
    fn drains(&mut self, pool: &dyn ExecutorService) -> bool {
        if self.haste >= Haste::NoDrain {
            return ask(|| pool.is_terminated());
        }
        match wait(pool, self.limit(self.plan.drain)) {
            Ok(terminated) => terminated,
            Err(Interrupted) => {
                self.haste = Haste::NoDrain;
                ask(|| pool.is_terminated())
            }
        }
    }

    /// Waits after the interrupt. Returns whether the executor has terminated.
    fn waits(&mut self, pool: &dyn ExecutorService) -> bool {
        if self.haste >= Haste::NoWait {
            return ask(|| pool.is_terminated());
        }
        let started = clock::now();
        loop {
            let left = self.plan.wait.saturating_sub(since(started));
            match wait(pool, self.limit(left)) {
                Ok(terminated) => return terminated,
                Err(Interrupted) if self.haste == Haste::None => self.haste = Haste::NoDrain,
                Err(Interrupted) => {
                    self.haste = Haste::NoWait;
                    return ask(|| pool.is_terminated());
                }
            }
        }
    }

    /// Shortens a time to what is left of the total.
    fn limit(&self, time: Duration) -> Duration {
        match self.ends_at {
            Some(end) => time.min(end.saturating_duration_since(clock::now())),
            None => time,
        }
    }
}

/// Interrupts what runs, and takes out what is queued.
///
/// A queue whose comparison panics keeps its tasks; they are taken out by the second call.
fn stop(pool: &dyn ExecutorService) -> Vec<Task> {
    for _ in 0..2 {
        match catch(|| pool.shutdown_now()) {
            Ok(tasks) => return tasks,
            Err(payload) => discard_payload(payload),
        }
    }
    Vec::new()
}

fn wait(pool: &dyn ExecutorService, limit: Duration) -> Result<bool, Interrupted> {
    catch(|| pool.await_termination(limit)).unwrap_or_else(|payload| {
        discard_payload(payload);
        Ok(false)
    })
}

/// Asks an executor. A panic of a user's executor does not keep the others from their end.
fn ask<R: Default>(question: impl FnOnce() -> R) -> R {
    catch(question).unwrap_or_else(|payload| {
        discard_payload(payload);
        R::default()
    })
}

/// Returns by how much a count has grown, if there is one.
fn increase(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

fn since(start: Instant) -> Duration {
    clock::now().saturating_duration_since(start)
}
