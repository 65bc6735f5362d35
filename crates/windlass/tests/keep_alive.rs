//! How long idle workers stay, and for what reasons a worker leaves.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use threads::{Blockers, Counting, await_idle, await_size, finish, idle};
use windlass::clock::TestClock;
use windlass::pool::{Builder, ConfigError};
use windlass::queue::{Blocking, Discipline, SynchronousQueue};
use windlass::task::Task;
use windlass::testing::{Latch, PATIENCE, until};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor, interrupt};

const KEEP_ALIVE: Duration = Duration::from_secs(60);

fn sized(core: usize, maximum: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
        .keep_alive(KEEP_ALIVE)
}

/// A pool on that clock, with counted threads.
fn build(builder: Builder, clock: &TestClock) -> (ThreadPoolExecutor, Counting) {
    let threads = Counting::default();
    let builder = builder.thread_factory(threads.clone());
    (clock.enter(|| builder.build().unwrap()), threads)
}

/// Has `count` workers run a task at the same time, and waits until all of them are idle.
fn grow(pool: &ThreadPoolExecutor, count: usize) {
    let blockers = Blockers::default();
    for _ in 0..count {
        pool.execute(blockers.body()).unwrap();
    }
    blockers.await_started(count);
    blockers.release();
    await_idle(pool, count);
}

/// TPE-050
#[test]
fn workers_beyond_core_leave_after_keep_alive_and_not_before() {
    let clock = TestClock::new();
    let queue = SynchronousQueue::new();
    let (pool, threads) = build(sized(3, 6).work_queue(queue), &clock);
    grow(&pool, 6);
    assert!(clock.await_sleepers(6, PATIENCE));
    clock.advance(KEEP_ALIVE - Duration::from_nanos(1));
    assert_eq!(clock.next_wake_up(), Some(Duration::from_nanos(1)));
    assert_eq!((clock.sleepers(), pool.pool_size()), (6, 6));
    clock.advance(Duration::from_nanos(1));
    await_size(&pool, 3);
    // Those that are left wait for tasks only, and not for a time.
    until("endless waits", || {
        (idle(&pool), clock.sleepers()) == (3, 0)
    });
    assert_eq!(threads.created(), 6);
    finish(&pool);
}

/// TPE-050
#[test]
fn workers_that_time_out_together_never_take_the_pool_below_core() {
    for _ in 0..256 {
        let clock = TestClock::new();
        let queue = SynchronousQueue::new();
        let (pool, threads) = build(sized(2, 4).work_queue(queue), &clock);
        grow(&pool, 4);
        assert!(clock.await_sleepers(4, PATIENCE));
        clock.advance(KEEP_ALIVE);
        until("two that stay", || {
            (pool.pool_size(), idle(&pool), clock.sleepers()) == (2, 2, 0)
        });
        finish(&pool);
        threads.await_live(0);
        // One worker too many that left would have been replaced.
        assert_eq!(threads.created(), 4);
    }
}

/// TPE-051
#[test]
fn with_zero_keep_alive_a_worker_beyond_core_leaves_when_it_finds_no_work() {
    let clock = TestClock::new();
    let (pool, threads) = build(sized(0, 1).keep_alive(Duration::ZERO), &clock);
    for round in 1..=3 {
        pool.submit(|| ()).unwrap().get().unwrap();
        await_size(&pool, 0);
        assert_eq!(threads.created(), round);
    }
    assert!(!pool.is_shutdown());
    finish(&pool);
}

/// TPE-052
#[test]
fn with_core_timeout_an_idle_pool_shrinks_to_nothing_and_goes_on() {
    let clock = TestClock::new();
    let builder = sized(2, 2).allow_core_thread_timeout(true);
    let (pool, threads) = build(builder, &clock);
    for round in 1..=2 {
        pool.submit(|| ()).unwrap().get().unwrap();
        assert!(clock.await_sleepers(1, PATIENCE));
        assert_eq!(pool.pool_size(), 1);
        clock.advance(KEEP_ALIVE);
        await_size(&pool, 0);
        threads.await_live(0);
        assert_eq!((threads.created(), pool.is_shutdown()), (round, false));
    }
    finish(&pool);
}

/// TPE-053
#[test]
fn without_core_timeout_core_workers_stay_however_long_they_idle() {
    for explicitly in [false, true] {
        let clock = TestClock::new();
        let (pool, threads) = build(sized(2, 4), &clock);
        if explicitly {
            pool.set_allow_core_thread_timeout(false).unwrap();
        }
        grow(&pool, 2);
        clock.advance(2 * KEEP_ALIVE);
        // They do not wait for a time at all.
        assert_eq!((idle(&pool), clock.sleepers()), (2, 0));
        pool.submit(|| ()).unwrap().get().unwrap();
        assert_eq!((pool.pool_size(), threads.created()), (2, 2));
        finish(&pool);
    }
}

/// TPE-054
#[test]
fn core_timeout_and_zero_keep_alive_exclude_each_other() {
    let pool = sized(1, 1).keep_alive(Duration::ZERO).build().unwrap();
    let refused = pool.set_allow_core_thread_timeout(true);
    assert_eq!(refused, Err(ConfigError::ZeroKeepAlive));
    assert!(!pool.allows_core_thread_timeout());
    pool.set_keep_alive(KEEP_ALIVE).unwrap();
    pool.set_allow_core_thread_timeout(true).unwrap();
    let refused = pool.set_keep_alive(Duration::ZERO);
    assert_eq!(refused, Err(ConfigError::ZeroKeepAlive));
    assert_eq!(pool.keep_alive(), KEEP_ALIVE);
    assert!(pool.allows_core_thread_timeout());
}

/// TPE-055
#[test]
fn the_core_timeout_reads_back_and_survives_shutdown() {
    for allow in [true, false] {
        let pool = sized(1, 1).build().unwrap();
        pool.set_allow_core_thread_timeout(allow).unwrap();
        assert_eq!(pool.allows_core_thread_timeout(), allow);
        finish(&pool);
        assert_eq!(pool.allows_core_thread_timeout(), allow);
    }
}

/// TPE-056
#[test]
fn allowing_core_timeout_reaches_workers_that_are_idle_already() {
    let clock = TestClock::new();
    let (pool, threads) = build(sized(3, 3), &clock);
    assert_eq!(pool.prestart_all_core_threads(), 3);
    await_idle(&pool, 3);
    assert_eq!(clock.sleepers(), 0);
    pool.set_allow_core_thread_timeout(true).unwrap();
    assert!(clock.await_sleepers(3, PATIENCE));
    clock.advance(KEEP_ALIVE);
    await_size(&pool, 0);
    assert_eq!(pool.submit(|| 5).unwrap().get().unwrap(), 5);
    assert_eq!((threads.created(), pool.largest_pool_size()), (4, 3));
    finish(&pool);
}

/// A queue whose elements may not leave before a certain time.
struct NotBefore(Instant, VecDeque<Task>);

impl Discipline for NotBefore {
    type Item = Task;

    fn push(&mut self, task: Task) {
        self.1.push_back(task);
    }

    fn pop(&mut self) -> Option<Task> {
        self.1.pop_front()
    }

    fn len(&self) -> usize {
        self.1.len()
    }

    fn peek(&self) -> Option<&Task> {
        self.1.front()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &Task> + '_> {
        Box::new(self.1.iter())
    }

    fn remove(&mut self, at: usize) -> Task {
        self.1.remove(at).unwrap()
    }

    fn ready_at(&self) -> Option<Instant> {
        Some(self.0)
    }
}

/// TPE-057
#[test]
fn the_last_worker_stays_while_a_task_is_queued_for_later() {
    const LATER: Duration = Duration::from_secs(3600);
    for core_timeout in [false, true] {
        let clock = TestClock::new();
        let queue = Blocking::new(NotBefore(clock.now() + LATER, VecDeque::new()));
        let builder = sized(0, 3)
            .allow_core_thread_timeout(core_timeout)
            .keep_alive(Duration::from_millis(1))
            .work_queue(queue);
        let (pool, threads) = build(builder, &clock);
        let ran = Latch::new(1);
        let runs = ran.clone();
        pool.execute(move || runs.count_down()).unwrap();
        for _ in 0..100 {
            assert!(clock.await_sleepers(1, PATIENCE));
            clock.advance(Duration::from_millis(1));
        }
        assert_eq!(
            (pool.pool_size(), threads.created(), ran.count()),
            (1, 1, 1)
        );
        clock.advance(LATER);
        ran.wait();
        finish(&pool);
        assert_eq!(threads.created(), 1);
    }
}

/// TPE-058
#[test]
fn an_idle_worker_that_is_interrupted_from_outside_goes_on_waiting() {
    let pool = sized(1, 1).build().unwrap();
    let look = || {
        let flagged = interrupt::is_interrupted();
        (thread::current().id(), interrupt::current(), flagged)
    };
    let (worker, handle, _) = pool.submit(look).unwrap().get().unwrap();
    await_idle(&pool, 1);
    handle.interrupt();
    for _ in 0..2 {
        let (same, _, flagged) = pool.submit(look).unwrap().get().unwrap();
        assert_eq!((same, flagged), (worker, false));
    }
    finish(&pool);
    assert_eq!(pool.largest_pool_size(), 1);
}

/// TPE-058
#[test]
fn an_interrupt_does_not_make_an_idle_worker_wait_less_long() {
    let clock = TestClock::new();
    let (pool, threads) = build(sized(0, 1), &clock);
    let mut handle = pool.submit(interrupt::current).unwrap();
    assert!(clock.await_sleepers(1, PATIENCE));
    clock.advance(KEEP_ALIVE / 2);
    handle.get().unwrap().interrupt();
    // It begins its wait anew, as a worker does that was told to look at its pool.
    until("the new wait", || clock.next_wake_up() == Some(KEEP_ALIVE));
    assert_eq!((pool.pool_size(), threads.created()), (1, 1));
    clock.advance(KEEP_ALIVE);
    await_size(&pool, 0);
    finish(&pool);
}

/// TPE-059
#[test]
fn a_stopped_pool_lets_its_idle_workers_go() {
    let (pool, threads) = build(sized(2, 2), &TestClock::new());
    grow(&pool, 2);
    assert!(pool.shutdown_now().is_empty());
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    threads.await_live(0);
}
