//! The queue of a scheduled pool with its clock and its policies: what a timer refers to.
//!
//! A timer owns it, so that a cancel reaches the queue without asking whether the pool still exists. The
//! queue in turn owns the queued timers; [`Shared`](super::shared::Shared) breaks that cycle when the pool
//! is dropped. Nothing of the user is in here, since a handle may outlive the pool.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::settings::Settings;
use super::timer_queue::TimerQueue;
use crate::interrupt::Interrupted;
use crate::pool::{self, TaskCount};
use crate::queue::{Blocking, BlockingQueue, Fairness, InterruptPrecedence, PutError, Waiting};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::clock::Clock;
use crate::task::{Failure, Task, TimedTask, TimerService, TimerView};
use crate::unwind::catch;

/// The queue, the clock and the policies of a scheduled pool.
#[derive(Debug)]
pub(super) struct Timers {
    queue: Blocking<TimerQueue>,
    pub(super) settings: Settings,
    /// The clock of the pool, whatever clock a submitter has.
    pub(super) clock: Clock,
    /// Set once, by the builder.
    pool: OnceLock<PoolBelow>,
    /// Whether the pool was shut down, and the removal of a task may be what it waits for.
    ///
    /// `Relaxed`: written before the queue is searched under its lock, and read after a removal under
    /// that lock. Either the search comes later and does not find the task, or the flag is seen.
    is_shut_down: AtomicBool,
}

/// The thread pool below, and the part of it that a removal changes.
#[derive(Debug)]
struct PoolBelow {
    shared: Weak<pool::Shared>,
    task_count: Arc<TaskCount>,
}

impl Timers {
    pub(super) fn new() -> Self {
        let clock = Clock::current();
        Self {
            queue: Blocking::configured(
                TimerQueue::new(clock.clone()),
                Fairness::Unfair,
                InterruptPrecedence::Removal,
            ),
            settings: Settings::default(),
            clock,
            pool: OnceLock::new(),
            is_shut_down: AtomicBool::new(false),
        }
    }

    /// Connects the thread pool below, once.
    pub(super) fn set_pool(&self, pool: &Arc<pool::Shared>) {
        let unset = self.pool.set(PoolBelow {
            shared: Arc::downgrade(pool),
            task_count: Arc::clone(&pool.task_count),
        });
        debug_assert!(unset.is_ok(), "a scheduled pool has one thread pool");
    }

    /// Returns the thread pool below, unless it has been dropped.
    pub(super) fn pool(&self) -> Option<Arc<pool::Shared>> {
        self.pool.get()?.shared.upgrade()
    }

    /// Records that the pool was shut down.
    pub(super) fn set_shut_down(&self) {
        self.is_shut_down.store(true, Ordering::Relaxed);
    }

    /// Terminates a pool that was shut down, if this was its last task.
    #[cold]
    fn terminate_pool(&self) {
        let Some(pool) = self.pool() else { return };
        // The caller ignores panics, so that a panic of the `terminated` hook is reported here.
        if let Err(payload) = catch(|| pool.try_terminate()) {
            pool.report(&Failure::from_panic(payload));
        }
    }

    #[inline]
    pub(super) fn push(&self, task: Task) {
        self.queue.push(task);
    }

    #[inline]
    pub(super) fn push_timer(&self, timer: TimedTask) {
        let mut timer = Some(timer);
        self.queue.push_by(|queue| queue.push_timer(&mut timer));
    }

    /// Inserts a timer that is due then, and was never queued.
    #[inline]
    pub(super) fn push_new(&self, due: u64, timer: TimedTask) {
        let mut timer = Some(timer);
        self.queue.push_by(|queue| queue.push_new(due, &mut timer));
    }

    /// Calls `f` with due time, sequence number and task of each element, in no particular order.
    pub(super) fn for_each_entry(&self, f: impl FnMut(Instant, u64, &Task)) {
        self.queue
            .with(|state| (state.items.discipline.for_each_entry(f), ()));
    }
}

impl TimerService for Timers {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn task_cancelled(&self, timer: TimerView<'_>) {
        if !self.settings.removes_on_cancel() {
            return;
        }
        // Under the lock of the queue. Reading the place of the timer is not enough, since another
        // thread may be about to queue the task: either this finds it queued, or that thread finds it
        // cancelled after the push.
        drop(self.queue.remove_with(|queue| queue.remove_timer(timer)));
        if let Some(pool) = self.pool.get() {
            pool.task_count.invalidate();
        }
        if self.is_shut_down.load(Ordering::Relaxed) {
            self.terminate_pool();
        }
    }
}

/// The queue as the thread pool and its users see it.
///
/// Most calls are those of the [`Blocking`] queue. Those that show tasks in place are not: here a timer has
/// no place of the size of a task.
impl BlockingQueue<Task> for Timers {
    fn offer(&self, task: Task) -> Result<(), PutError<Task>> {
        self.queue.offer(task)
    }

    fn offer_timeout(&self, task: Task, timeout: Duration) -> Result<(), PutError<Task>> {
        self.queue.offer_timeout(task, timeout)
    }

    fn put(&self, task: Task) -> Result<(), PutError<Task>> {
        self.queue.put(task)
    }

    fn poll(&self) -> Option<Task> {
        self.queue.poll()
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<Task>, Interrupted> {
        self.queue.poll_timeout(timeout)
    }

    fn take(&self) -> Result<Task, Interrupted> {
        self.queue.take()
    }

    fn drain(&self, max: usize) -> Vec<Task> {
        self.queue.drain(max)
    }

    fn drain_all(&self) -> Vec<Task> {
        self.queue.drain_all()
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
        self.queue.remove_with(|queue| queue.remove_first(wanted))
    }

    fn retain(&self, keep: &mut dyn FnMut(&Task) -> bool) -> Vec<Task> {
        self.queue.retain_by(|queue| {
            let mut verdicts = Vec::new();
            queue.for_each(&mut |task| verdicts.push(keep(task)));
            verdicts
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&Task)) {
        self.queue
            .with(|state| (state.items.discipline.for_each(f), ()));
    }

    fn peek(&self, f: &mut dyn FnMut(&Task)) {
        self.queue
            .with(|state| (state.items.discipline.peek(f), ()));
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn remaining_capacity(&self) -> Option<usize> {
        self.queue.remaining_capacity()
    }

    fn waiting(&self) -> Option<Waiting> {
        self.queue.waiting()
    }
}
