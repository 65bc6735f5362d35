//! Wakes, starts and retires workers, and replaces those that block.

use std::sync::Arc;

use super::deque::Deque;
use super::job::Work;
use super::roster::WorkerInfo;
use super::shared::{Refused, Shared};
use super::state::State;
use crate::sync::MutexGuard;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::task::{Cancellation, Failure, TaskId, wake_waiters};
use crate::thread_factory::ThreadBody;
use crate::unwind::{catch, ignore_panic};

impl Shared {
    /// Wakes a worker for work that was just queued, if one would take it.
    #[inline]
    pub(super) fn notify_work(self: &Arc<Self>) {
        if self.sleep.must_wake() {
            let _ = self.wake_one(None);
        }
    }

    /// As [`notify_work`](Self::notify_work), for a submitted task. If it needs a worker, and no thread
    /// can be created, returns the task and the error.
    pub(super) fn notify_submitted(self: &Arc<Self>, id: TaskId) -> Result<(), Refused> {
        if !self.sleep.must_wake() {
            return Ok(());
        }
        match self.wake_one(Some(id)) {
            Err(NotStarted(cause, Some(work))) => Err(Refused::no_thread(work, cause)),
            Ok(()) | Err(NotStarted(_, None)) => Ok(()),
        }
    }

    /// Wakes a worker if work is still queued, after the caller was woken and has taken some. So each woken
    /// worker wakes the next, until no work is queued.
    pub(super) fn notify_more(self: &Arc<Self>) {
        if self.sleep.must_wake() && (self.roster.has_queued() || !self.lock().injector.is_empty())
        {
            let _ = self.wake_one(None);
        }
    }

    /// Wakes a sleeping worker, recalls a joiner, or starts a worker; see
    /// [`start_worker`](Self::start_worker).
    #[cold]
    fn wake_one(self: &Arc<Self>, own: Option<TaskId>) -> Result<(), NotStarted> {
        let mut state = self.lock();
        let woken = self.sleep.pop_sleeper(&mut state.census);
        if let Some(woken) = woken.or_else(|| self.recall_joiner(&mut state)) {
            drop(state);
            woken.unpark();
        } else if state.may_start_worker() {
            return self.start_worker(state, own);
        } else {
            self.wake_waiters_if_stalled(state);
        }
        Ok(())
    }

    /// Wakes the threads that wait for work of the pool, if only they can run it: those that are registered
    /// with it, and those of other executors.
    fn wake_waiters_if_stalled(&self, state: MutexGuard<'_, State>) {
        let has_work = self.is_stalled_with_work(&state);
        let waiters = if state.census.is_stalled() {
            state.waiters.clone()
        } else {
            Vec::new()
        };
        drop(state);
        waiters.iter().for_each(|waiter| waiter.unpark());
        if has_work {
            wake_waiters();
        }
    }

    /// Recalls a joiner to a queued job that it may run, if a worker is missing.
    fn recall_joiner(&self, state: &mut State) -> Option<Arc<WorkerInfo>> {
        if state.census.missing() == 0 {
            return None;
        }
        let has_job = |runner| self.roster.has_join_job(runner);
        self.sleep.recall_joiner(&mut state.census, has_job)
    }

    /// Wakes or starts workers, one for each piece of queued work, until none can be woken or started.
    pub(super) fn wake_for_queued(self: &Arc<Self>) {
        let queued = self.lock().injector.len() + self.roster.snapshot().queued();
        for _ in 0..queued {
            let state = self.lock();
            if state.census.sleeping.is_empty() && !state.may_start_worker() {
                return;
            }
            drop(state);
            if self.wake_one(None).is_err() {
                return;
            }
        }
    }

    /// Wakes a sleeping worker if work is queued, after one that should have searched for it was not
    /// started.
    fn wake_sleeper_for_queued(&self) {
        let has_queued = self.roster.has_queued();
        let mut state = self.lock();
        if has_queued || !state.injector.is_empty() {
            let sleeper = self.sleep.pop_sleeper(&mut state.census);
            drop(state);
            if let Some(sleeper) = sleeper {
                sleeper.unpark();
            }
        }
    }

    /// Wakes all sleeping workers.
    pub(super) fn wake_all(&self) {
        let sleepers = self.sleep.take_sleepers(&mut self.lock().census);
        for sleeper in sleepers {
            sleeper.unpark();
        }
    }

    /// Counts the calling worker as blocked, so that another replaces it as soon as there is work.
    pub(super) fn begin_blocking(self: &Arc<Self>) {
        let has_queued = || self.roster.has_queued();
        if self.sleep.block(&self.state, has_queued) {
            let _ = self.wake_one(None);
        } else {
            self.roster.snapshot().ask_all();
        }
        let state = self.lock();
        self.signal_quiescers(&state);
        self.wake_waiters_if_stalled(state);
    }

    /// Undoes [`begin_blocking`](Self::begin_blocking).
    pub(super) fn end_blocking(&self) {
        self.sleep.unblock(&self.state);
    }

    /// Changes the parallelism; returns the former one.
    pub(super) fn set_parallelism(self: &Arc<Self>, parallelism: usize) -> usize {
        let former = {
            let mut state = self.lock();
            self.sleep.update(&mut state.census, |census| {
                std::mem::replace(&mut census.parallelism, parallelism)
            })
        };
        // Woken workers retire if there are too many; missing ones are started.
        self.wake_all();
        self.roster.snapshot().ask_all();
        self.wake_for_queued();
        former
    }

    /// Starts a worker. The caller has checked that the state permits it.
    ///
    /// If no thread can be created, the pool goes on with the workers that it has. Without any, the task
    /// `own` is returned, and the other submitted tasks are abandoned, after another attempt.
    fn start_worker(
        self: &Arc<Self>,
        state: MutexGuard<'_, State>,
        own: Option<TaskId>,
    ) -> Result<(), NotStarted> {
        let Err(cause) = self.try_start(state) else {
            return Ok(());
        };
        let own = own.and_then(|own| {
            let is_stranded = self.lock().census.live == 0;
            is_stranded.then(|| self.take_submission_if(|work| work.is_task(own)))?
        });
        // Others have relied on this worker.
        let state = self.lock();
        if !state.has_stranded_tasks() {
            self.try_terminate(state);
        } else if self.try_start(state).is_err() {
            self.abandon_submissions(&cause);
            self.try_terminate(self.lock());
        }
        Err(NotStarted(cause, own))
    }

    /// Starts a worker; returns the error if there is none because no thread was created.
    fn try_start(self: &Arc<Self>, mut state: MutexGuard<'_, State>) -> Result<(), Failure> {
        self.sleep.update(&mut state.census, |census| {
            census.live += 1;
            census.most_live = census.most_live.max(census.live);
            census.searching += 1;
        });
        let index = state.next_worker_index();
        drop(state);
        let deque = Deque::new(self.config.order);
        let other = Arc::new(AtomicBool::new(false));
        let start = WorkerStart {
            shared: Arc::clone(self),
            worker: Some((WorkerInfo::new(index, deque.stealer()), deque)),
            is_second: Arc::clone(&other),
        };
        let factory = Arc::clone(&self.config.factory);
        // A factory may refuse, panic or drop the body: dropping `WorkerStart` uncounts the worker. Of
        // this thread and the one that drops it, the second sees what has become of the start.
        let created = catch(|| factory.new_thread(ThreadBody::new(move || start.run())));
        if !other.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let cause = match created {
            Ok(created) => self.refusals.record(created.err()),
            Err(payload) => {
                self.refusals.record_panic();
                Failure::from_panic(payload)
            }
        };
        Err(cause)
    }

    /// Abandons all submitted tasks if there is no worker, since no thread could be created for one:
    /// their handles are cancelled, and the uncaught handler is called with the cause.
    ///
    /// The jobs stay: a thread waits for each, and runs it.
    fn abandon_submissions(&self, cause: &Failure) {
        self.while_open(|| self.abandon_stranded(cause));
    }

    fn abandon_stranded(&self, cause: &Failure) {
        let mut state = self.lock();
        if !state.has_stranded_tasks() {
            return;
        }
        let tasks = state.take_submitted_tasks();
        state.abandoned += tasks.len() as u64;
        drop(state);
        self.report(cause.clone());
        for task in tasks.into_iter().filter_map(Work::into_task) {
            ignore_panic(|| task.abandon(Cancellation::NoThread));
        }
    }

    /// Retires a worker; the last one of a pool that is shut down terminates it.
    fn retire(self: &Arc<Self>, worker: &Arc<WorkerInfo>) {
        let state = self.lock();
        self.roster.remove(worker);
        self.uncount_worker(state);
        // Work may have been queued while this worker still counted as one that would take it.
        self.wake_for_queued();
    }

    fn uncount_worker(&self, mut state: MutexGuard<'_, State>) {
        self.sleep
            .update(&mut state.census, |census| census.live -= 1);
        self.try_terminate(state);
        self.wake_waiters_if_stalled(self.lock());
    }
}

/// The error of a worker that was not started, and the task that was to be returned.
struct NotStarted(Failure, Option<Work>);

/// The body of a worker's thread; if it is dropped without being run, the worker is uncounted again.
struct WorkerStart {
    shared: Arc<Shared>,
    worker: Option<(Arc<WorkerInfo>, Deque<Work>)>,
    /// Whether the factory has returned.
    is_second: Arc<AtomicBool>,
}

impl WorkerStart {
    fn run(mut self) {
        if let Some((worker, deque)) = self.worker.take() {
            let shared = Arc::clone(&self.shared);
            shared.roster.add(&worker);
            let ended = catch(|| (shared.config.run_worker)(&shared, &worker, deque));
            shared.retire(&worker);
            if let Err(payload) = ended {
                shared.report(Failure::from_panic(payload));
            }
        }
    }
}

impl Drop for WorkerStart {
    fn drop(&mut self) {
        if self.worker.is_none() {
            return;
        }
        let mut state = self.shared.lock();
        self.shared.sleep.end_search(&mut state.census);
        self.shared.uncount_worker(state);
        self.shared.wake_sleeper_for_queued();
        if self.is_second.swap(true, Ordering::AcqRel) {
            // The thread was promised, and does not come.
            let cause = self.shared.refusals.record(None);
            self.shared.abandon_submissions(&cause);
            self.shared.try_terminate(self.shared.lock());
        }
    }
}
