//! What timers cost in memory, and that a burst of them gives it back.

#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cap::Cap;
use windlass::clock::TestClock;
use windlass::pool::Times;
use windlass::testing::until;
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The tests of this file run one after another, since all count in one place.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const MANY: usize = 40_000;
const HOUR: Duration = Duration::from_secs(3600);

/// What may stay of a burst: a hundredth of what it took, and less.
const LITTLE: usize = 40_000;

fn in_use() -> usize {
    ALLOCATOR.allocated()
}

/// A delay for each number, without order.
fn delay(number: usize) -> Duration {
    HOUR + Duration::from_micros((number as u64 * 7_919) % 1_000_003)
}

/// A pool on a clock that stands still, after its first timer.
fn warm_pool() -> (TestClock, ScheduledThreadPoolExecutor) {
    let clock = TestClock::new();
    // The time of submission lies in recycled blocks, some of which are kept for later tasks.
    let untimed = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(1)
        .times(Times::Off);
    let pool = clock.enter(|| untimed.build());
    pool.set_remove_on_cancel(true);
    pool.prestart_all_core_threads();
    assert!(pool.schedule(HOUR, || ()).unwrap().cancel());
    pool.submit(|| ()).unwrap().join().unwrap();
    (clock, pool)
}

fn await_idle(pool: &ScheduledThreadPoolExecutor) {
    until("all have run", || {
        pool.queue().is_empty() && pool.active_count() == 0
    });
}

/// WL-061
#[test]
fn a_pending_timer_takes_its_cell_and_two_words() {
    let _alone = alone();
    let (_clock, pool) = warm_pool();
    let mut handles = Vec::with_capacity(MANY);
    let before = in_use();
    handles.extend((0..MANY).map(|number| pool.schedule(delay(number), || ()).unwrap()));
    let each = (in_use() - before) / MANY;
    // A cell of eight words; the lists grow by doubling, and what they have not used yet counts here.
    assert!(each <= 64 + 2 * 16, "{each} bytes");
    drop(pool.shutdown_now());
}

/// WL-062
#[test]
fn a_burst_of_timers_that_are_cancelled_leaves_no_memory_behind() {
    let _alone = alone();
    let (_clock, pool) = warm_pool();
    let before = in_use();
    for _ in 0..2 {
        let handles: Vec<_> = (0..MANY)
            .map(|number| pool.schedule(delay(number), || ()).unwrap())
            .collect();
        // Without order, so that gaps are everywhere.
        for number in 0..MANY {
            assert!(handles[number * 7_919 % MANY].cancel());
        }
        drop(handles);
        assert!(pool.queue().is_empty());
        let left = in_use().saturating_sub(before);
        assert!(left < LITTLE, "{left} bytes");
    }
    pool.close();
}

/// WL-062
#[test]
fn a_burst_of_timers_that_have_run_leaves_no_memory_behind() {
    let _alone = alone();
    let (clock, pool) = warm_pool();
    let before = in_use();
    for number in 0..MANY {
        drop(pool.schedule(delay(number), || ()).unwrap());
    }
    clock.advance(2 * HOUR);
    await_idle(&pool);
    let left = in_use().saturating_sub(before);
    assert!(left < LITTLE, "{left} bytes");
    pool.close();
}

/// WL-062
#[test]
fn a_burst_of_tasks_without_a_delay_leaves_no_memory_behind() {
    let _alone = alone();
    let (_clock, pool) = warm_pool();
    let before = in_use();
    let gate = windlass::testing::Gate::new();
    let held = gate.clone();
    pool.execute(move || held.pass().unwrap()).unwrap();
    for _ in 0..MANY {
        pool.execute(|| ()).unwrap();
    }
    gate.open();
    drop(gate);
    await_idle(&pool);
    let left = in_use().saturating_sub(before);
    assert!(left < LITTLE, "{left} bytes");
    pool.close();
}
