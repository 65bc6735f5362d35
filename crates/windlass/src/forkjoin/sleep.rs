//! The sleep and wake protocol: no work stays queued while a worker sleeps that could run it.
//!
//! Workers that find nothing sleep; threads that queue work wake them. Queueing is the hot side, so it
//! takes no lock: all it reads is `wakeable`, the number of workers that may be woken now (those
//! that sleep, and those that the pool may still start). It is a copy, written under the pool's lock
//! with every change of the [`Census`].
//!
//! # One at a time
//!
//! A woken worker *searches* until it has found work or sleeps again. As long as one searches, `wakeable` is
//! zero and no other is woken: it would mostly come too late. A worker whose search ends follows the right
//! column of the table below: it publishes `wakeable`, and then looks for work that is still queued, for
//! which it wakes the next one (`Shared::notify_more`) or does not sleep. So as many workers wake as there
//! is work, one after the other.
//!
//! # Why no wake-up is lost
//!
//! Both sides write first and read second, with a sequentially consistent fence in between:
//!
//! | a thread that queues work | a worker that goes to sleep |
//! |---|---|
//! | 1. pushes to its deque | 1. enlists as sleeping: writes `wakeable` ([`enlist`](Sleep::enlist)) |
//! | 2. fence | 2. fence |
//! | 3. reads `wakeable` ([`must_wake`](Sleep::must_wake)) | 3. reads all deques ([`wait`](Sleep::wait)) |
//!
//! The two fences are totally ordered. If the left one is first, the worker's reads see the push, and it
//! does not sleep. If the right one is first, the pushing thread reads `wakeable` as not zero and wakes a
//! worker. Without either fence both may read the old value: the work stays queued while the worker
//! sleeps.
//!
//! The injector needs no such argument: it is changed under the same lock as the census. A worker that
//! blocks inside a task makes room for a replacement, and so follows the right column as well
//! ([`block`](Sleep::block)).
//!
//! # What a wake-up means
//!
//! A thread that wakes a sleeper removes it from the list, under the lock, and then unparks it. A worker
//! that returns from parking and is still listed was not woken by the protocol: it parks again, or
//! retires if its keep-alive time is over.
//!
//! If none sleeps, a worker is missing because others are blocked. Before one is started, a blocked joiner
//! is *recalled* that can run a queued job: it waits for work of which the job is a part. Otherwise each
//! join of a deep tree might leave one more blocked worker behind.

use std::sync::Arc;

use super::roster::WorkerInfo;
use super::state::{Census, RunState, State, lock};
use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::sync::{Deadline, Mutex, ParkResult};

/// The lock-free half of the protocol. The other half, who sleeps, is in the [`Census`].
pub(super) struct Sleep {
    /// A copy of [`Census::wakeable`].
    wakeable: AtomicUsize,
}

/// Why a worker is awake again.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awake {
    /// There may be work, and the worker counts as one that searches.
    Search,
    /// Its keep-alive time is over, or the pool stops.
    Retire,
}

impl Sleep {
    pub(super) fn new(census: &Census) -> Self {
        Self {
            wakeable: AtomicUsize::new(census.wakeable()),
        }
    }

    /// Returns whether a worker would take work; a hint.
    #[inline]
    pub(super) fn has_wakeable(&self) -> bool {
        self.wakeable.load(Ordering::Relaxed) != 0
    }

    /// Returns whether a thread that has just queued work has to wake a worker for it.
    #[inline]
    #[must_use]
    pub(super) fn must_wake(&self) -> bool {
        fence(Ordering::SeqCst);
        self.has_wakeable()
    }

    /// Notes that the worker shares its private jobs now. It stays asked as long as a worker would take
    /// more.
    ///
    /// A thread that makes a worker wakeable publishes that first, and then asks. So either this sees it, or
    /// the worker is asked again.
    pub(super) fn answer(&self, worker: &WorkerInfo) {
        worker.set_asked(false);
        if self.must_wake() {
            worker.set_asked(true);
        }
    }

    /// Changes the census, under the lock, and publishes how many workers can be woken.
    pub(super) fn update<R>(
        &self,
        census: &mut Census,
        change: impl FnOnce(&mut Census) -> R,
    ) -> R {
        let result = change(census);
        self.wakeable.store(census.wakeable(), Ordering::SeqCst);
        result
    }

    /// Removes the worker that fell asleep last from the list; it searches now, and the caller unparks it.
    #[must_use]
    pub(super) fn pop_sleeper(&self, census: &mut Census) -> Option<Arc<WorkerInfo>> {
        self.update(census, |census| {
            let sleeper = census.sleeping.pop();
            census.searching += usize::from(sleeper.is_some());
            sleeper
        })
    }

    /// Removes all sleeping workers from the list; they search now, and the caller unparks them.
    #[must_use]
    pub(super) fn take_sleepers(&self, census: &mut Census) -> Vec<Arc<WorkerInfo>> {
        self.update(census, |census| {
            census.searching += census.sleeping.len();
            std::mem::take(&mut census.sleeping)
        })
    }

    /// Counts the calling worker as one that searches.
    pub(super) fn begin_search(&self, census: &mut Census) {
        self.update(census, |census| census.searching += 1);
    }

    /// Undoes [`begin_search`](Self::begin_search). The caller wakes another worker if work is queued: a
    /// thread that has queued it meanwhile has relied on the one that searched.
    pub(super) fn end_search(&self, census: &mut Census) {
        self.update(census, |census| census.searching -= 1);
    }

    /// Enlists a worker as sleeping; it calls [`wait`](Self::wait) next.
    pub(super) fn enlist(&self, census: &mut Census, worker: &Arc<WorkerInfo>) {
        self.update(census, |census| census.sleeping.push(Arc::clone(worker)));
    }

    /// Parks the calling worker, which is [enlisted](Self::enlist), until it is woken or the deadline
    /// has passed; returns at once if work is queued.
    pub(super) fn wait(
        &self,
        state: &Mutex<State>,
        worker: &Arc<WorkerInfo>,
        deadline: Deadline,
        has_queued: impl FnOnce() -> bool,
    ) -> Awake {
        fence(Ordering::SeqCst);
        if has_queued() {
            self.update(&mut lock(state).census, |census| {
                let listed = census.sleeping.len();
                census.sleeping.retain(|other| !Arc::ptr_eq(other, worker));
                census.searching += listed - census.sleeping.len();
            });
            return Awake::Search;
        }
        let context = ThreadContext::current();
        loop {
            let parked = context.park_uninterruptibly(deadline);
            let mut state = lock(state);
            let mut sleeping = state.census.sleeping.iter();
            let Some(at) = sleeping.position(|other| Arc::ptr_eq(other, worker)) else {
                return Awake::Search;
            };
            if state.run_state > RunState::Shutdown || parked == ParkResult::TimedOut {
                let has_injected = !state.injector.is_empty();
                self.update(&mut state.census, |census| {
                    census.sleeping.swap_remove(at);
                    census.searching += usize::from(has_injected);
                });
                return if has_injected {
                    Awake::Search
                } else {
                    Awake::Retire
                };
            }
        }
    }

    /// Lists a worker that is about to wait for a join job, which the worker with index `runner` runs.
    pub(super) fn list_joiner(
        &self,
        state: &Mutex<State>,
        joiner: &Arc<WorkerInfo>,
        runner: usize,
    ) {
        let joiner = Arc::clone(joiner);
        lock(state).census.joiners.push((runner, joiner));
    }

    /// Returns whether the worker is still listed as a joiner.
    pub(super) fn is_joiner(state: &Mutex<State>, worker: &Arc<WorkerInfo>) -> bool {
        let state = lock(state);
        let mut joiners = state.census.joiners.iter();
        joiners.any(|(_, other)| Arc::ptr_eq(other, worker))
    }

    /// Removes from the list a joiner for which there is a job at its runner; the caller unparks it.
    #[must_use]
    pub(super) fn recall_joiner(
        &self,
        census: &mut Census,
        has_job: impl Fn(usize) -> bool,
    ) -> Option<Arc<WorkerInfo>> {
        let mut joiners = census.joiners.iter();
        let at = joiners.position(|(runner, _)| has_job(*runner))?;
        self.update(census, |census| {
            census.recalled += 1;
            Some(census.joiners.swap_remove(at).1)
        })
    }

    /// Undoes [`list_joiner`](Self::list_joiner) or [`recall_joiner`](Self::recall_joiner).
    pub(super) fn unlist_joiner(&self, state: &Mutex<State>, joiner: &Arc<WorkerInfo>) {
        self.update(&mut lock(state).census, |census| {
            let mut joiners = census.joiners.iter();
            match joiners.position(|(_, other)| Arc::ptr_eq(other, joiner)) {
                Some(at) => drop(census.joiners.swap_remove(at)),
                None => census.recalled -= 1,
            }
        });
    }

    /// Counts a worker as blocked inside a task; returns whether another has to be woken for what is
    /// queued.
    #[must_use]
    pub(super) fn block(&self, state: &Mutex<State>, has_queued: impl FnOnce() -> bool) -> bool {
        let has_injected = {
            let mut state = lock(state);
            self.update(&mut state.census, |census| census.blocked += 1);
            !state.injector.is_empty()
        };
        fence(Ordering::SeqCst);
        has_injected || has_queued()
    }

    /// Undoes [`block`](Self::block).
    pub(super) fn unblock(&self, state: &Mutex<State>) {
        self.update(&mut lock(state).census, |census| census.blocked -= 1);
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{Awake, Sleep};
    use crate::forkjoin::deque::{Deque, LocalOrder};
    use crate::forkjoin::job::Work;
    use crate::forkjoin::roster::WorkerInfo;
    use crate::forkjoin::state::{Census, State, lock};
    use crate::interrupt::ThreadContext;
    use crate::sync::atomic::{Ordering, fence};
    use crate::sync::{Deadline, Mutex, model, thread};
    use crate::task::Task;

    /// The state shared by one worker, which is awake, and a thread that queues work for it.
    struct Pair {
        sleep: Sleep,
        state: Mutex<State>,
        worker: Arc<WorkerInfo>,
    }

    impl Pair {
        fn new(deque: &Deque<Work>) -> Arc<Self> {
            let mut census = Census::new(1, 0);
            census.live = 1;
            Arc::new(Self {
                sleep: Sleep::new(&census),
                state: Mutex::new(State::new(census)),
                worker: WorkerInfo::new(0, deque.stealer()),
            })
        }

        fn has_queued(&self) -> bool {
            self.worker.stealer.len() > 0
        }

        fn wake(&self) {
            if self.sleep.must_wake() {
                let sleeper = self.sleep.pop_sleeper(&mut lock(&self.state).census);
                if let Some(sleeper) = sleeper {
                    sleeper.unpark();
                }
            }
        }
    }

    fn spawn_with<T: Send + 'static>(
        pair: &Arc<Pair>,
        body: impl FnOnce(&Pair) -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        let theirs = Arc::clone(pair);
        let thread = thread::Builder::new().spawn(move || body(&theirs));
        thread.unwrap()
    }

    #[test]
    fn a_push_is_seen_by_a_worker_that_falls_asleep_or_wakes_it() {
        model(|| {
            let deque = Deque::new(LocalOrder::Lifo);
            let pair = Pair::new(&deque);
            let sleeper = spawn_with(&pair, |pair| {
                pair.worker.set_context(ThreadContext::current());
                pair.sleep
                    .enlist(&mut lock(&pair.state).census, &pair.worker);
                let has_queued = || pair.has_queued();
                let awake = pair
                    .sleep
                    .wait(&pair.state, &pair.worker, Deadline::Never, has_queued);
                assert_eq!(awake, Awake::Search);
                assert!(pair.has_queued());
            });
            deque.push(Work::task(Task::new(|| ())));
            pair.wake();
            sleeper.join().unwrap();
            assert!(lock(&pair.state).census.sleeping.is_empty());
        });
    }

    #[test]
    fn a_worker_that_has_shared_its_jobs_stays_asked_if_another_would_take_more() {
        model(|| {
            let deque = Deque::new(LocalOrder::Lifo);
            let pair = Pair::new(&deque);
            let sleeper = spawn_with(&pair, |pair| {
                let theirs = WorkerInfo::new(1, Deque::new(LocalOrder::Lifo).stealer());
                pair.sleep.enlist(&mut lock(&pair.state).census, &theirs);
                fence(Ordering::SeqCst);
                pair.worker.set_asked(true);
            });
            pair.sleep.answer(&pair.worker);
            sleeper.join().unwrap();
            assert!(pair.worker.is_asked());
        });
    }

    #[test]
    fn a_push_is_seen_by_a_worker_whose_search_ends_or_wakes_another() {
        model(|| {
            let deque = Deque::new(LocalOrder::Lifo);
            let pair = Pair::new(&deque);
            {
                let census = &mut lock(&pair.state).census;
                pair.sleep.enlist(census, &pair.worker);
                pair.sleep.begin_search(census);
            }
            let searcher = spawn_with(&pair, |pair| {
                pair.sleep.end_search(&mut lock(&pair.state).census);
                pair.sleep.must_wake() && pair.has_queued()
            });
            deque.push(Work::task(Task::new(|| ())));
            let pusher_wakes = pair.sleep.must_wake();
            assert!(searcher.join().unwrap() || pusher_wakes);
        });
    }

    #[test]
    fn a_joiner_sees_a_job_at_its_runner_or_is_recalled_to_it() {
        model(|| {
            let deque = Deque::new(LocalOrder::Lifo);
            let pair = Pair::new(&deque);
            let joiner = spawn_with(&pair, |pair| {
                let theirs = WorkerInfo::new(1, Deque::new(LocalOrder::Lifo).stealer());
                pair.sleep.list_joiner(&pair.state, &theirs, 0);
                let sees_job = pair.sleep.block(&pair.state, || pair.has_queued());
                (theirs, sees_job)
            });
            deque.push(Work::task(Task::new(|| ())));
            let recalled = pair.sleep.must_wake().then(|| {
                let mut state = lock(&pair.state);
                pair.sleep
                    .recall_joiner(&mut state.census, |runner| runner == 0)
            });
            let (theirs, sees_job) = joiner.join().unwrap();
            let is_recalled = recalled.flatten().is_some();
            assert!(is_recalled || sees_job);
            assert_eq!(Sleep::is_joiner(&pair.state, &theirs), !is_recalled);
            pair.sleep.unlist_joiner(&pair.state, &theirs);
            pair.sleep.unblock(&pair.state);
            assert_eq!(lock(&pair.state).census.wakeable(), 0);
        });
    }

    #[test]
    fn a_push_is_seen_by_a_worker_that_blocks_or_finds_room_for_another() {
        model(|| {
            let deque = Deque::new(LocalOrder::Lifo);
            let pair = Pair::new(&deque);
            let blocker = spawn_with(&pair, |pair| {
                pair.sleep.block(&pair.state, || pair.has_queued())
            });
            deque.push(Work::task(Task::new(|| ())));
            let pusher_wakes = pair.sleep.must_wake();
            let blocker_wakes = blocker.join().unwrap();
            assert!(pusher_wakes || blocker_wakes);
        });
    }
}
