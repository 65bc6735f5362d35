//! That limits which never come to bear leave no memory behind.

#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cap::Cap;
use windlass::clock::TestClock;
use windlass::pool::Times;
use windlass::prelude::*;
use windlass::task::Cancellation;
use windlass::testing::{Gate, until};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The tests of this file run one after another, since all count in one place.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const HOUR: Duration = Duration::from_secs(3600);

/// What may stay: less than a byte for each task.
const LITTLE: usize = 100_000;

fn pool() -> (TestClock, ThreadPoolExecutor) {
    let clock = TestClock::new();
    // The time of submission lies in recycled blocks, some of which are kept for later tasks.
    let untimed = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .times(Times::Off);
    let pool = clock.enter(|| untimed.build().unwrap());
    let warm = pool.task().queue_limit(HOUR).run_limit(HOUR);
    warm.submit(|| ()).unwrap().join().unwrap();
    (clock, pool)
}

fn await_memory(before: usize) {
    until("the memory is back", || {
        ALLOCATOR.allocated() <= before + LITTLE
    });
}

/// WL-189
#[test]
fn a_million_tasks_that_end_in_time_leave_no_memory_behind() {
    let _alone = alone();
    let (_clock, pool) = pool();
    let before = ALLOCATOR.allocated();
    for _ in 0..1_000 {
        let batch: Vec<_> = (0..1_000)
            .map(|number| {
                let task = pool.task().queue_limit(HOUR).run_limit(HOUR);
                task.submit(move || vec![number; 100]).unwrap()
            })
            .collect();
        // Some handles go before their task has run, and the value with it; some take it.
        for handle in batch.into_iter().step_by(2) {
            assert_eq!(handle.join().unwrap().len(), 100);
        }
    }
    pool.submit(|| ()).unwrap().join().unwrap();
    await_memory(before);
}

/// WL-189
#[test]
fn tasks_that_are_cancelled_or_expire_leave_no_memory_behind() {
    let _alone = alone();
    let (clock, pool) = pool();
    let gate = Gate::new();
    let inside = gate.clone();
    pool.execute(move || inside.pass_uninterruptibly()).unwrap();
    let before = ALLOCATOR.allocated();
    let handles: Vec<_> = (0..100_000_u64)
        .map(|number| {
            let limit = HOUR + Duration::from_micros(number * 7_919 % 1_000_003);
            pool.task().queue_limit(limit).submit(|| ()).unwrap()
        })
        .collect();
    for handle in handles.iter().step_by(2) {
        assert!(handle.cancel());
    }
    clock.advance(2 * HOUR);
    until("the others expire", || {
        pool.stats().expired_task_count == 50_000
    });
    assert_eq!(handles[1].cancellation(), Some(Cancellation::Expired));
    drop(handles);
    assert_eq!(pool.purge(), 100_000);
    await_memory(before);
    gate.open();
}
