//! Starts a worker; when it ends, retires or replaces it.

use std::io;
use std::sync::Arc;

use super::ctl::{MAX_WORKERS, RunState};
use super::roster::{LaunchState, Worker};
use super::shared::Shared;
use super::worker::{self, Retire};
use crate::interrupt::ThreadContext;
use crate::sync::{mutant, reduce_timer_slack};
use crate::task::{Failure, Task};
use crate::thread_factory::ThreadBody;
use crate::unwind::{catch, discard, ignore_panic};

/// How many workers there may be with the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeLimit {
    Core,
    Maximum,
}

/// Why no worker was started; the task that it was to start with comes back.
#[derive(Debug)]
pub(crate) struct NotStarted {
    pub(crate) first: Option<Task>,
    /// What the thread factory said, if it was asked.
    pub(crate) error: Option<io::Error>,
}

impl NotStarted {
    /// Returns the task that the worker was to start with.
    pub(crate) fn into_task(self) -> Task {
        self.first
            .expect("a worker that was not started has not taken its task")
    }
}

impl Shared {
    /// Starts a worker, with a first task or without, if the state and the bound allow it.
    ///
    /// # Panics
    ///
    /// If the thread factory panics; everything is then as it was before, but for the task.
    pub(crate) fn add_worker(
        self: &Arc<Self>,
        first: Option<Task>,
        bound: SizeLimit,
    ) -> Result<(), NotStarted> {
        let queue_was_empty = self.queue.is_empty();
        if !self.count_worker(first.is_some(), bound) {
            return Err(NotStarted { first, error: None });
        }
        let worker = Worker::new(first, self.retirements());
        let launch = Launch {
            pool: Arc::clone(self),
            worker: Arc::clone(&worker),
            bound,
            queue_was_empty,
        };
        let factory = self.factory();
        let made = catch(|| factory.new_thread(ThreadBody::new(move || launch.run())));
        let void = match &made {
            Ok(Ok(())) => {
                worker.advance(&[LaunchState::Requested], LaunchState::Accepted)
                    == LaunchState::Failed
            }
            _ => {
                let stage = worker.advance(&[LaunchState::Requested], LaunchState::Failed);
                matches!(stage, LaunchState::Requested | LaunchState::Failed)
            }
        };
        if !void {
            self.roster.add(&worker);
            return Ok(());
        }
        self.ctl.remove_worker();
        let first = worker.take_first();
        self.try_terminate();
        if queue_was_empty {
            ignore_panic(|| self.cover_queued());
        }
        match made {
            Ok(made) => Err(NotStarted {
                first,
                error: made.err(),
            }),
            Err(payload) => {
                // A second panic, of the task's drop, would end the process.
                discard(first);
                std::panic::resume_unwind(payload)
            }
        }
    }

    /// Starts a worker for what was queued while one was being made that did not come.
    ///
    /// Whoever queued it saw that one counted, and so started none.
    fn cover_queued(self: &Arc<Self>) {
        // Mutant: what was queued meanwhile waits for the next submission.
        let is_stranded = !mutant!("pool_strands_what_came_meanwhile");
        if is_stranded && self.ctl.load().workers() == 0 && !self.queue.is_empty() {
            let _ = self.add_worker(None, SizeLimit::Maximum);
        }
    }

    /// Makes sure that there is a worker for a task that was queued, up to core, and one at least.
    pub(crate) fn ensure_worker(self: &Arc<Self>) {
        let workers = self.ctl.load().workers();
        if workers < self.settings.core() {
            let _ = self.add_worker(None, SizeLimit::Core);
        } else if workers == 0 {
            let _ = self.add_worker(None, SizeLimit::Maximum);
        }
    }

    /// Counts the worker in the control word, if the state and the bound allow it.
    fn count_worker(&self, has_task: bool, bound: SizeLimit) -> bool {
        loop {
            let seen = self.ctl.load();
            let state = seen.state();
            if state >= RunState::Stop {
                return false;
            }
            // A pool that is shut down gets workers for what is queued only.
            if state == RunState::Shutdown && (has_task || self.queue.is_empty()) {
                return false;
            }
            let limit = match bound {
                SizeLimit::Core => self.settings.core(),
                SizeLimit::Maximum => self.settings.maximum(),
            };
            if seen.workers() >= limit.min(MAX_WORKERS) {
                return false;
            }
            if self.ctl.try_add_worker(seen) {
                return true;
            }
        }
    }

    /// The whole life of a worker, on its own thread.
    fn work(self: &Arc<Self>, worker: &Arc<Worker>) {
        self.clock().adopt();
        if self.options.timers.is_some() {
            // Any worker may be the one that sleeps until the next task is due.
            reduce_timer_slack();
        }
        worker.set_thread(ThreadContext::current());
        self.roster.add(worker);
        let ended = catch(|| worker::run(self, worker));
        let retire = ended.unwrap_or_else(|payload| Retire::Failed(Failure::from_panic(payload)));
        let ended = catch(|| self.retire(worker, &retire));
        ThreadContext::with_current(|me| me.take_interrupt());
        if let Retire::Failed(failure) = retire {
            self.report(&failure);
            discard(failure);
        }
        if let Err(payload) = ended {
            // The `terminated` hook, or the thread factory when asked for a replacement.
            let failure = Failure::from_panic(payload);
            self.report(&failure);
            discard(failure);
        }
    }

    /// Takes a worker off the books, and replaces it if it is missed.
    fn retire(self: &Arc<Self>, worker: &Arc<Worker>, why: &Retire) {
        let failed = matches!(why, Retire::Failed(_));
        self.roster.remove(worker);
        // Mutant: a dead worker keeps its place.
        if failed && !mutant!("pool_counts_the_dead") {
            // After it has left, so that whoever takes its place is not seen beside it.
            self.ctl.remove_worker();
        }
        // There may be nobody left to whom a submitter that waits could hand its task.
        self.nudge_blocked();
        self.try_terminate();
        let seen = self.ctl.load();
        if seen.state() >= RunState::Stop {
            return;
        }
        if !failed {
            let mut needed = if self.settings.core_timeout() {
                0
            } else {
                self.settings.core()
            };
            if needed == 0 && !self.queue.is_empty() {
                needed = 1;
            }
            if seen.workers() >= needed {
                return;
            }
        }
        // Mutant: who is missed is not replaced.
        if !mutant!("pool_replaces_nobody") {
            let _ = self.add_worker(None, SizeLimit::Maximum);
        }
    }

    /// Goes on without a worker whose thread was promised and will not come.
    ///
    /// Its task goes the way that it would have gone had the factory said no: into the queue, then
    /// to a worker beyond core, then to the policy. So each task asks the factory a bounded number
    /// of times, whatever that promises.
    fn handle_lost_thread(
        self: &Arc<Self>,
        worker: &Arc<Worker>,
        bound: SizeLimit,
        queue_was_empty: bool,
    ) {
        let first = worker.take_first();
        let had_task = first.is_some();
        // While the worker is still counted, so that a pool that is shut down waits for the task.
        // Mutant: the task goes with the worker.
        let unplaced = if mutant!("pool_forgets_with_the_factory") {
            None
        } else {
            first.and_then(|task| self.requeue(task))
        };
        self.roster.remove(worker);
        self.ctl.remove_worker();
        self.try_terminate();
        match (unplaced, bound) {
            (Some(task), SizeLimit::Core) => {
                if let Err(not_started) = self.add_worker(Some(task), SizeLimit::Maximum) {
                    drop(not_started.first.map(|task| self.reject(task)));
                }
            }
            (Some(task), SizeLimit::Maximum) => drop(self.reject(task)),
            (None, _) => {}
        }
        if had_task || queue_was_empty {
            self.cover_queued();
        }
    }

    /// Queues a task that the pool has taken already; gives it back where that cannot be.
    fn requeue(&self, task: Task) -> Option<Task> {
        if self.ctl.load().state() >= RunState::Stop {
            return Some(task);
        }
        let id = task.id();
        if let Err(refused) = self.queue.offer(task) {
            return Some(refused.into_inner());
        }
        // After a stop in between the queue may have been drained for the last time.
        if self.ctl.load().state() >= RunState::Stop {
            return self.queue.remove_first(&mut |task| task.id() == id);
        }
        None
    }
}

/// What a worker's thread runs, and what happens if it never does.
struct Launch {
    pool: Arc<Shared>,
    worker: Arc<Worker>,
    bound: SizeLimit,
    queue_was_empty: bool,
}

impl Launch {
    fn run(self) {
        let before = self.worker.advance(
            &[LaunchState::Requested, LaunchState::Accepted],
            LaunchState::Running,
        );
        if matches!(before, LaunchState::Requested | LaunchState::Accepted) {
            self.pool.work(&self.worker);
        }
    }
}

/// The factory dropped the body. Before its answer, whoever asked sees to the rest; after it
/// promised a thread, the promise is taken back here, and the task finds another way.
impl Drop for Launch {
    fn drop(&mut self) {
        let before = self.worker.advance(
            &[LaunchState::Requested, LaunchState::Accepted],
            LaunchState::Failed,
        );
        if before == LaunchState::Accepted {
            ignore_panic(|| {
                self.pool
                    .handle_lost_thread(&self.worker, self.bound, self.queue_was_empty);
            });
        }
    }
}
