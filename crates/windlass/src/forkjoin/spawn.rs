//! Wakes, starts and retires workers, and replaces those that block.

use std::sync::Arc;

use super::deque::Deque;
use super::job::Work;
use super::roster::WorkerInfo;
use super::shared::Shared;
use super::state::State;
use crate::sync::MutexGuard;
use crate::task::Failure;
use crate::thread_factory::ThreadBody;
use crate::unwind::{catch, ignore_panic};

impl Shared {
    /// Wakes a worker for work that was just queued, if one would take it.
    #[inline]
    pub(super) fn notify_work(self: &Arc<Self>) {
        if self.sleep.must_wake() {
            self.wake_one();
        }
    }

    /// Wakes a worker if work is still queued, after the caller has taken some. So each woken worker
    /// wakes the next, until no work is queued.
    pub(super) fn notify_more(self: &Arc<Self>) {
        if self.sleep.must_wake() && (self.roster.has_queued() || !self.lock().injector.is_empty())
        {
            self.wake_one();
        }
    }

    /// Wakes a sleeping worker, or starts one.
    #[cold]
    fn wake_one(self: &Arc<Self>) {
        let mut state = self.lock();
        if let Some(sleeper) = self.sleep.pop_sleeper(&mut state.census) {
            drop(state);
            sleeper.unpark();
        } else if state.may_start_worker() {
            self.start_worker(state);
        } else {
            Self::wake_waiters_if_stalled(state);
        }
    }

    /// Wakes the threads that wait for work of the pool, if only they can run it.
    fn wake_waiters_if_stalled(state: MutexGuard<'_, State>) {
        let waiters = if state.census.is_stalled() {
            state.waiters.clone()
        } else {
            Vec::new()
        };
        drop(state);
        waiters.iter().for_each(|waiter| waiter.unpark());
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
            self.wake_one();
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
            self.wake_one();
        }
        let state = self.lock();
        self.signal_quiescers(&state);
        Self::wake_waiters_if_stalled(state);
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
        self.wake_for_queued();
        former
    }

    /// Starts a worker. The caller has checked that the state permits it.
    fn start_worker(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        self.sleep
            .update(&mut state.census, |census| census.live += 1);
        let index = state.next_worker_index();
        drop(state);
        let deque = Deque::new(self.config.order);
        let start = WorkerStart {
            shared: Arc::clone(self),
            worker: Some((WorkerInfo::new(index, deque.stealer()), deque)),
        };
        let factory = Arc::clone(&self.config.factory);
        // A factory may refuse, panic or drop the body: dropping `WorkerStart` uncounts the worker.
        ignore_panic(|| drop(factory.new_thread(ThreadBody::new(move || start.run()))));
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
        Self::wake_waiters_if_stalled(self.lock());
    }
}

/// The body of a worker's thread; if it is dropped without being run, the worker is uncounted again.
struct WorkerStart {
    shared: Arc<Shared>,
    worker: Option<(Arc<WorkerInfo>, Deque<Work>)>,
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
        if self.worker.is_some() {
            self.shared.uncount_worker(self.shared.lock());
        }
    }
}
