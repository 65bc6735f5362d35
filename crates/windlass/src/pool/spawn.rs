//! Starts workers, retires those that end, and replaces them where needed.
//!
//! A start has three steps: the worker is counted in the control word, the thread factory is called,
//! and the thread runs the [`Launch`]. The factory may return an error, panic, or drop the body of
//! the thread, before or after it has returned `Ok`. Then the worker is taken back: it is uncounted,
//! and the thread that does this also places or returns the worker's first task.

use std::any::Any;
use std::sync::Arc;

use super::assist::Member;
use super::ctl::{CtlSnapshot, MAX_WORKERS, RunState};
use super::in_place_times::EndOfWorker;
use super::roster::{Dropped, Launched, Worker};
use super::shared::Shared;
use super::tally::Exit;
use super::watch::Started;
use super::worker::{self, Retire, Starts};
use crate::interrupt::ThreadContext;
use crate::sync::{reduce_timer_slack, thread};
use crate::task::{Cancellation, Failure, Task, wake_waiters, with_wait_helper};
use crate::thread_factory::ThreadBody;
use crate::unwind::{catch, discard, ignore_panic};

/// The size that the pool must not exceed with the new worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeLimit {
    Core,
    Maximum,
    /// The maximum, and as many more as wait, up to the number of spare workers.
    Spare,
}

/// The task that a worker starts with.
#[derive(Debug)]
pub(crate) struct FirstTask {
    pub(crate) task: Task,
    /// Called with the task if the factory returned `Ok` without creating a thread, and neither the
    /// queue nor another worker took the task. A function pointer, so that this file does not depend
    /// on admission.
    pub(crate) reject: fn(&Arc<Shared>, Task, Failure),
}

/// A worker that the control word counts and that has no thread yet.
struct Counted {
    queue_was_empty: bool,
}

/// The error of a start that failed; contains the task that the worker was to start with.
#[derive(Debug)]
#[must_use]
pub(crate) struct NotStarted {
    first: Option<Task>,
    cause: Cause,
}

/// Why no worker was started.
#[derive(Debug)]
pub(crate) enum Cause {
    /// The state or the size limit of the pool does not allow it.
    NotAllowed,
    /// The thread factory created no thread; this is its error.
    NoThread(Failure),
    /// The thread factory panicked.
    Panicked(Box<dyn Any + Send>),
}

impl NotStarted {
    /// Returns the task that the worker was to start with, and the cause.
    pub(crate) fn into_parts(self) -> (Task, Cause) {
        let task = self
            .first
            .expect("a worker that was not started has not taken its task");
        (task, self.cause)
    }

    /// Returns the cause.
    pub(crate) fn into_cause(self) -> Cause {
        self.cause
    }
}

impl Shared {
    /// Starts a worker, with a first task or without, if the state and the limit allow it.
    ///
    /// If no thread can be created, the pool goes on with the workers that it has. Without any, what
    /// is queued is abandoned, after another attempt. The uncaught handler is called with the error if
    /// no caller receives it and the pool has no worker.
    ///
    /// # Panics
    ///
    /// If the thread factory panics; the worker is taken back, and its task is dropped.
    pub(crate) fn add_worker(
        self: &Arc<Self>,
        first: Option<FirstTask>,
        limit: SizeLimit,
    ) -> Result<(), NotStarted> {
        let Err(not_started) = self.try_start(first, limit) else {
            return Ok(());
        };
        match not_started.cause {
            Cause::NotAllowed => {}
            Cause::NoThread(ref refusal) => {
                if self.is_stranded() {
                    self.cover_queued();
                } else if not_started.first.is_none() && self.ctl.load().workers() == 0 {
                    self.report(refusal);
                }
            }
            Cause::Panicked(payload) => {
                self.cover_queued();
                // A second panic, of the task's drop, would abort the process.
                discard(not_started.first);
                std::panic::resume_unwind(payload)
            }
        }
        Err(not_started)
    }

    /// Starts a worker, if the state and the limit allow it. If that fails, the caller has to
    /// [cover](Self::cover_queued) what was queued meanwhile: its submitters saw this worker counted.
    pub(crate) fn try_start(
        self: &Arc<Self>,
        first: Option<FirstTask>,
        limit: SizeLimit,
    ) -> Result<(), NotStarted> {
        let (first, reject) = match first {
            Some(first) => (Some(first.task), Some(first.reject)),
            None => (None, None),
        };
        let Some(Counted { queue_was_empty }) = self.count_worker(first.as_ref(), limit) else {
            return Err(NotStarted {
                first,
                cause: Cause::NotAllowed,
            });
        };
        let worker = Worker::new(first, self.retirements());
        let launch = Launch {
            pool: Arc::clone(self),
            worker: Arc::clone(&worker),
            limit,
            queue_was_empty,
            reject,
        };
        let factory = self.factory();
        let created = catch(|| factory.new_thread(ThreadBody::new(move || launch.run())));
        let launched = match &created {
            Ok(Ok(())) => worker.accept(),
            Ok(Err(_)) | Err(_) => worker.fail(),
        };
        if launched == Launched::Yes {
            self.roster.add(&worker);
            return Ok(());
        }
        let cause = match created {
            Ok(created) => Cause::NoThread(self.refusals.record(created.err())),
            Err(payload) => {
                self.refusals.record_panic();
                Cause::Panicked(payload)
            }
        };
        let first = worker.take_first();
        self.uncount_worker();
        Err(NotStarted { first, cause })
    }

    /// Takes back a worker without a thread.
    fn uncount_worker(&self) {
        self.ctl.remove_worker();
        // A submitter that waits for room may have relied on this worker.
        self.nudge_blocked();
        self.try_terminate();
    }

    /// Returns whether tasks are queued that no worker will take, though the pool still runs tasks.
    fn is_stranded(&self) -> bool {
        let seen = self.ctl.load();
        seen.workers() == 0 && !seen.is_stopped() && !self.queue.is_drained()
    }

    /// Starts a worker for queued tasks that have none; if no thread can be created, abandons them.
    ///
    /// Called after a start that failed: submitters saw that worker counted, and started none. A
    /// submitter that queues a task afterwards finds no worker, and has to start one itself.
    pub(crate) fn cover_queued(self: &Arc<Self>) {
        while self.is_stranded() {
            let Err(not_started) = self.try_start(None, SizeLimit::Maximum) else {
                return;
            };
            let refusal = match not_started.cause {
                // Another thread has counted a worker, or the pool has stopped.
                Cause::NotAllowed => continue,
                Cause::NoThread(refusal) => refusal,
                Cause::Panicked(payload) => Failure::from_panic(payload),
            };
            if !self.abandon_queued(&refusal) {
                return;
            }
        }
    }

    /// Abandons all queued tasks, since there is neither a worker nor a thread for one: their handles
    /// are cancelled, and the uncaught handler is called with the error. Returns whether there were any.
    fn abandon_queued(&self, refusal: &Failure) -> bool {
        self.before_termination(|| self.abandon_drained(refusal))
    }

    fn abandon_drained(&self, refusal: &Failure) -> bool {
        let mut tasks = self.queue.drain_left();
        if tasks.is_empty() {
            return false;
        }
        self.task_count.invalidate();
        if self.ctl.load().workers() != 0 {
            // Another thread has started a worker, whose tasks these may be.
            let unplaced = tasks.into_iter().filter_map(|task| self.requeue(task));
            tasks = unplaced.collect();
        }
        if !tasks.is_empty() {
            self.count_abandoned(tasks.len());
            self.report(refusal);
            for task in tasks {
                ignore_panic(|| task.abandon(Cancellation::NoThread));
            }
        }
        true
    }

    /// Runs `f`, before whose end the pool does not terminate: tasks that it has taken out of the queue are
    /// not done yet.
    pub(super) fn before_termination<R>(&self, f: impl FnOnce() -> R) -> R {
        self.begin_report();
        let result = catch(f);
        self.end_report();
        self.report_panic(catch(|| self.try_terminate()));
        result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    }

    /// Starts a worker for a task that was queued, if there are fewer workers than core, or none.
    ///
    /// # Errors
    ///
    /// The cause, if there is no worker and none can be started; the task may still be queued, and the
    /// caller has to [cover](Self::cover_queued) the others.
    pub(crate) fn ensure_worker(self: &Arc<Self>) -> Result<(), Cause> {
        let workers = self.ctl.load().workers();
        let limit = if workers < self.settings.core() {
            SizeLimit::Core
        } else if workers == 0 {
            SizeLimit::Maximum
        } else {
            return Ok(());
        };
        let Err(not_started) = self.try_start(None, limit) else {
            return Ok(());
        };
        match not_started.cause {
            Cause::NotAllowed => Ok(()),
            Cause::NoThread(_) if self.ctl.load().workers() != 0 => Ok(()),
            cause => Err(cause),
        }
    }

    /// Continues after a task was queued, or a worker has ended, while threads of the pool wait inside
    /// tasks.
    #[cold]
    pub(crate) fn offer_to_waiting(self: &Arc<Self>) {
        self.replace_blocked();
        wake_waiters();
    }

    /// Starts a spare worker if tasks are queued, workers wait, and no other worker is idle.
    ///
    /// Called after a task was queued and after a worker has taken one: either the former sees that the
    /// worker is busy, or the latter sees the task.
    pub(crate) fn replace_blocked(self: &Arc<Self>) {
        if self.options.spare_workers == 0 || self.queue.is_drained() {
            return;
        }
        let blocked = self.waits.blocked();
        let running = self.ctl.load().workers().saturating_sub(blocked);
        if blocked == 0 || running >= self.settings.core().max(1) {
            return;
        }
        // In this order: the task that made the last idle worker busy is no longer queued.
        if !self.roster.has_idle() && !self.queue.is_drained() {
            let started = catch(|| drop(self.add_worker(None, SizeLimit::Spare)));
            self.report_panic(started);
        }
    }

    /// Starts so many workers for tasks that are queued though no worker waits. If there is no thread, the
    /// tasks stay queued for the workers that there are.
    fn add_workers(self: &Arc<Self>, wanted: u32) -> Started {
        let mut workers = 0;
        while workers < wanted {
            let refusal = match catch(|| self.add_worker(None, SizeLimit::Maximum)) {
                Ok(Ok(())) => {
                    workers += 1;
                    continue;
                }
                Ok(Err(not_started)) => match not_started.into_cause() {
                    Cause::NoThread(refusal) => Some(refusal),
                    Cause::Panicked(payload) => Some(Failure::from_panic(payload)),
                    Cause::NotAllowed => None,
                },
                Err(payload) => Some(Failure::from_panic(payload)),
            };
            return Started { workers, refusal };
        }
        Started {
            workers,
            refusal: None,
        }
    }

    /// Returns whether the state and the limit allow another worker at present.
    #[must_use]
    pub(crate) fn may_add_worker(&self, first: Option<&Task>, limit: SizeLimit) -> bool {
        self.allows_worker(self.ctl.load(), first, limit)
    }

    #[inline]
    fn allows_worker(&self, seen: CtlSnapshot, first: Option<&Task>, limit: SizeLimit) -> bool {
        let size = match limit {
            SizeLimit::Core => self.settings.core(),
            SizeLimit::Maximum => self.settings.maximum(),
            SizeLimit::Spare => self.size_with_spares(),
        };
        // The size is compared before the queue is read: most queues take their lock for that, and a
        // pool that has all its workers executes this for every task that it rejects.
        seen.workers() < size.min(MAX_WORKERS)
            && match seen.state() {
                RunState::Running => true,
                // After a shutdown, workers are started for queued tasks only.
                RunState::Shutdown => first.is_none() && !self.queue.is_drained(),
                _ => false,
            }
    }

    /// Counts the worker in the control word, if the state and the limit allow it.
    #[must_use]
    fn count_worker(&self, first: Option<&Task>, limit: SizeLimit) -> Option<Counted> {
        loop {
            let seen = self.ctl.load();
            if !self.allows_worker(seen, first, limit) {
                return None;
            }
            // Read before the worker is counted: a submitter that queues a task afterwards starts no
            // other worker.
            let queue_was_empty = self.queue.is_drained();
            if self.ctl.try_add_worker(seen) {
                return Some(Counted { queue_was_empty });
            }
        }
    }

    /// Runs a worker on its own thread, from start to end.
    fn work(self: &Arc<Self>, worker: &Arc<Worker>) {
        self.clock().adopt();
        if self.options.timers.is_some() {
            // Any worker may be the one that sleeps until the next task is due.
            reduce_timer_slack();
        }
        worker.set_thread(ThreadContext::current(), thread::current());
        self.roster.add(worker);
        self.tally.count_start();
        let member = Member::worker(self, Self::replace_blocked);
        let _times = EndOfWorker;
        let starts = Starts {
            replace_blocked: Self::replace_blocked,
            add_workers: Self::add_workers,
        };
        let run = || worker::run(self, worker, starts);
        let ended = catch(|| with_wait_helper(member, run));
        let retire = ended.unwrap_or_else(|payload| Retire::Failed(Failure::from_panic(payload)));
        // The failure is reported after the worker was replaced, so that a handler may wait for the
        // pool's tasks, and before the pool terminates.
        let failed = matches!(retire, Retire::Failed(_));
        if failed {
            self.tally.count_exit(Exit::Panic);
            self.begin_report();
        }
        let retired = catch(|| self.retire(worker, &retire));
        ThreadContext::with_current(|me| me.take_interrupt());
        if let Retire::Failed(failure) = retire {
            self.report(&failure);
            discard(failure);
        }
        self.report_panic(retired);
        if failed {
            self.end_report();
            self.report_panic(catch(|| self.try_terminate()));
        }
    }

    /// Removes a worker that has ended, and replaces it if it is needed.
    fn retire(self: &Arc<Self>, worker: &Arc<Worker>, why: &Retire) {
        let failed = matches!(why, Retire::Failed(_));
        self.roster.remove(worker);
        if failed {
            // After the removal, so that the roster never holds both it and its replacement.
            self.ctl.remove_worker();
        }
        // No worker may be left that would take the task of a submitter that waits for room.
        self.nudge_blocked();
        self.try_terminate();
        let seen = self.ctl.load();
        if seen.has_waits() {
            // Perhaps all other workers wait, and this one has left a task that somebody waits for.
            self.offer_to_waiting();
        }
        if seen.state() >= RunState::Stop {
            return;
        }
        if !failed {
            let mut needed = if self.settings.core_timeout() {
                0
            } else {
                self.settings.core()
            };
            if needed == 0 && !self.queue.is_drained() {
                needed = 1;
            }
            if seen.workers() >= needed {
                return;
            }
        }
        let _ = self.add_worker(None, SizeLimit::Maximum);
    }

    /// Takes back a worker whose factory returned `Ok` and then dropped the body of the thread.
    ///
    /// Its task is treated as after an error of the factory: it is queued, else passed to a worker
    /// beyond core, else passed to the rejection handler. So the factory is called a bounded number of
    /// times per task, whatever it returns.
    fn handle_lost_thread(self: &Arc<Self>, launch: &Launch) {
        let first = launch.worker.take_first();
        let had_task = first.is_some();
        let refusal = self.refusals.record(None);
        // While the worker is still counted, so that a pool that is shut down waits for the task.
        let unplaced = first.and_then(|task| self.requeue(task));
        self.roster.remove(&launch.worker);
        self.uncount_worker();
        if let (Some(task), Some(reject)) = (unplaced, launch.reject) {
            let rejected = match launch.limit {
                SizeLimit::Core => self
                    .add_worker(Some(FirstTask { task, reject }), SizeLimit::Maximum)
                    .map_err(NotStarted::into_parts)
                    .map_err(|(task, _)| task),
                SizeLimit::Maximum | SizeLimit::Spare => Err(task),
            };
            if let Err(task) = rejected {
                reject(self, task, refusal.clone());
            }
        }
        if had_task || launch.queue_was_empty {
            self.cover_queued();
        } else if self.is_stranded() {
            // This worker was asked for on behalf of queued tasks, perhaps as the second attempt.
            let _ = self.abandon_queued(&refusal);
        } else if self.ctl.load().workers() == 0 {
            self.report(&refusal);
        }
    }

    /// Queues a task that the pool has already accepted; returns it if the queue refuses it or the
    /// pool is stopped.
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
            return self.queue.withdraw(id);
        }
        if self.ctl.load().has_waits() {
            wake_waiters();
        }
        None
    }
}

/// What the thread of a worker runs.
struct Launch {
    pool: Arc<Shared>,
    worker: Arc<Worker>,
    limit: SizeLimit,
    queue_was_empty: bool,
    reject: Option<fn(&Arc<Shared>, Task, Failure)>,
}

impl Launch {
    fn run(self) {
        if self.worker.try_start() {
            self.pool.work(&self.worker);
        }
    }
}

/// Runs when the worker has ended, or when the factory has dropped the body of the thread.
impl Drop for Launch {
    fn drop(&mut self) {
        match self.worker.drop_body() {
            // Its task was accepted: the pool terminates after what becomes of it.
            Dropped::AfterAccept => self
                .pool
                .before_termination(|| ignore_panic(|| self.pool.handle_lost_thread(self))),
            Dropped::BeforeAnswer | Dropped::Settled => {}
        }
    }
}
