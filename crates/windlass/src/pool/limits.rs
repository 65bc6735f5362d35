//! Counts the tasks of a pool whose time was up, and those that it has shed.

use std::sync::Arc;

use super::blocked::Blocked;
use super::room::Room;
use super::task_count::TaskCount;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::clock::{Clock, TestClock};
use crate::task::LimitOwner;

/// The tasks of a pool whose time was up. Shared by the pool and its tasks with limits.
#[derive(Debug, Default)]
pub(crate) struct LimitCounts {
    expired: AtomicU64,
    timed_out: AtomicU64,
    shed: AtomicU64,
    /// Whether a task has expired since the queue was searched for such tasks. Written before blocked
    /// submitters are nudged and those that await room are served, and read by a submitter that has
    /// registered itself: so an expired task makes room, whichever comes first.
    has_expired: AtomicBool,
    /// How many tasks are about to expire: they may be seen to have expired before `has_expired` is set.
    expiring: AtomicUsize,
    blocked: Blocked,
    room: Arc<Room>,
    task_count: Arc<TaskCount>,
    clock: Clock,
}

impl LimitCounts {
    /// Creates the counts of a pool that is built on the current thread.
    pub(super) fn new() -> Self {
        Self {
            clock: Clock::current(),
            ..Self::default()
        }
    }

    pub(super) const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the last task count of the pool, which falls when a task is shed.
    pub(super) const fn task_count(&self) -> &Arc<TaskCount> {
        &self.task_count
    }

    pub(crate) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    pub(crate) fn timed_out(&self) -> u64 {
        self.timed_out.load(Ordering::Relaxed)
    }

    pub(crate) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }

    pub(super) fn count_shed(&self) {
        self.shed.fetch_add(1, Ordering::Relaxed);
        self.task_count.invalidate();
    }

    /// Takes back the count of a task that was about to be shed, and has ended in another way.
    pub(super) fn uncount_shed(&self) {
        self.shed.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) const fn blocked(&self) -> &Blocked {
        &self.blocked
    }

    /// Returns the submissions that await room in the pool.
    pub(super) const fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Returns whether a task has expired since the last call, or may be about to.
    ///
    /// Who sees that a task has expired finds `expiring` above zero, or it was lowered after `has_expired`
    /// was set.
    #[inline]
    pub(super) fn take_has_expired(&self) -> bool {
        let is_expiring = self.expiring.load(Ordering::SeqCst) > 0;
        let has_expired = self.has_expired.load(Ordering::SeqCst)
            && self.has_expired.swap(false, Ordering::SeqCst);
        is_expiring || has_expired
    }
}

impl LimitOwner for LimitCounts {
    fn test_clock(&self) -> Option<TestClock> {
        match &self.clock {
            Clock::System => None,
            Clock::Test(clock) => Some(clock.clone()),
        }
    }

    fn expiry_begins(&self) {
        self.expired.fetch_add(1, Ordering::Relaxed);
        self.expiring.fetch_add(1, Ordering::SeqCst);
    }

    fn expiry_ends(&self, expired: bool) {
        if !expired {
            self.expired.fetch_sub(1, Ordering::Relaxed);
            self.expiring.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        self.has_expired.store(true, Ordering::SeqCst);
        self.expiring.fetch_sub(1, Ordering::SeqCst);
        self.blocked.nudge_all();
        // Whether or not any seem to await it: the lock of the line orders this with one that enlists.
        self.room.serve();
    }

    fn task_timed_out(&self) {
        self.timed_out.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::executor::ExecutorService;
    use crate::pool::{BlockPolicy, ThreadPoolExecutor};
    use crate::queue::ArrayBlockingQueue;
    use crate::submit::Submit;
    use crate::sync::clock::TestClock;
    use crate::sync::{Parker, model, thread};

    /// The worker is held until the submitter has got through.
    ///
    /// WL-184
    #[test]
    fn a_task_that_expires_makes_room_for_a_submitter_that_waits() {
        model(|| {
            let clock = TestClock::new();
            let builder = ThreadPoolExecutor::builder()
                .core_pool_size(1)
                .work_queue(ArrayBlockingQueue::new(1).unwrap())
                .rejection_handler(BlockPolicy::new());
            let pool = clock.enter(|| builder.build().unwrap());
            let gate = Arc::new(Parker::new());
            let inside = Arc::clone(&gate);
            pool.execute(move || inside.park()).unwrap();
            let limit = Duration::from_secs(1);
            pool.task().queue_limit(limit).execute(|| ()).unwrap();
            let theirs = pool.clone();
            let submitter = thread::Builder::new().spawn(move || theirs.execute(|| ()).is_ok());
            clock.advance(limit);
            assert!(submitter.unwrap().join().unwrap());
            assert_eq!(pool.stats().expired_task_count, 1);
            gate.unpark();
            pool.close();
        });
    }
}
