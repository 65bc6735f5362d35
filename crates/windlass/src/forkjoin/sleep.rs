//! The sleep and wake protocol: no work stays queued while a worker sleeps that could run it.
//!
//! Workers that find nothing sleep; threads that queue work wake them. Queueing is the hot side, so it
//! takes no lock: all it reads is `wakeable`, the number of workers that would take work now (those
//! that sleep, and those that the pool may still start). It is a copy, written under the pool's lock
//! with every change of the [`Census`].
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
//! retires if its keep-alive time is over. A woken worker that leaves work queued wakes the next one
//! (`Shared::notify_more`). So as many workers wake as there is work, not all at once.

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
    /// There may be work.
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

    /// Removes the worker that fell asleep last from the list; the caller unparks it.
    #[must_use]
    pub(super) fn pop_sleeper(&self, census: &mut Census) -> Option<Arc<WorkerInfo>> {
        self.update(census, |census| census.sleeping.pop())
    }

    /// Removes all sleeping workers from the list; the caller unparks them.
    #[must_use]
    pub(super) fn take_sleepers(&self, census: &mut Census) -> Vec<Arc<WorkerInfo>> {
        self.update(census, |census| std::mem::take(&mut census.sleeping))
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
                census.sleeping.retain(|other| !Arc::ptr_eq(other, worker));
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
                self.update(&mut state.census, |census| census.sleeping.swap_remove(at));
                return if state.injector.is_empty() {
                    Awake::Retire
                } else {
                    Awake::Search
                };
            }
        }
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
