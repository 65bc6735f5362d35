//! Clocks that jump, and times at the end of time.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "faults/kit.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod kit;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kit::{ends, pools};
use windlass::clock::TestClock;
use windlass::interrupt;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue, SynchronousQueue};
use windlass::testing::{Gate, PATIENCE, await_takers, join, until};
use windlass::{
    ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit, ThreadPoolExecutor,
};

const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[test]
fn a_scheduled_pool_survives_that_years_pass_at_once() {
    let clock = TestClock::new();
    clock.enter(|| {
        let pool = ScheduledThreadPoolExecutor::new(2);
        let runs = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&runs);
        let periodic = pool
            .schedule_with_fixed_delay(YEAR, YEAR, move || {
                theirs.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
        let once: Vec<_> = (1..=20)
            .map(|n| pool.schedule(YEAR * n, move || n).unwrap())
            .collect();
        let never = pool.schedule(Duration::MAX, || ()).unwrap();
        for jumps in 1..=3 {
            clock.advance(YEAR * 7);
            // Late runs are not made up for; the delay counts from the end of the last.
            until("the run of this jump", || {
                runs.load(Ordering::SeqCst) == jumps
            });
            until("its end", || {
                periodic.runs() == jumps as u64 && pool.stats().active_count == 0
            });
        }
        for (n, mut handle) in (1..=20).zip(once) {
            until("a task long due", || handle.is_done());
            assert_eq!(handle.get().unwrap(), n);
        }
        assert!(!never.is_done() && periodic.cancel());
        assert_eq!(pool.submit(|| 8).unwrap().get().unwrap(), 8);
        assert_eq!(
            pool.shutdown_now().len(),
            2,
            "the cancelled one and the one that is never due"
        );
        until("the end", || pool.is_terminated());
    });
}

#[test]
fn a_fixed_rate_makes_up_for_the_years_and_then_keeps_its_pace() {
    let clock = TestClock::new();
    clock.enter(|| {
        let pool = ScheduledThreadPoolExecutor::new(1);
        let rate = pool.schedule_at_fixed_rate(YEAR, YEAR, || ()).unwrap();
        clock.advance(YEAR * 50);
        until("fifty runs", || rate.runs() == 50);
        clock.advance(YEAR);
        until("one more", || rate.runs() == 51);
        drop(pool.shutdown_now());
        until("the end", || pool.is_terminated());
    });
}

#[test]
fn a_pool_whose_keep_alive_is_over_by_years_goes_on() {
    let clock = TestClock::new();
    clock.enter(|| {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(2)
            .keep_alive(Duration::from_secs(1))
            .allow_core_thread_timeout(true)
            .build()
            .unwrap();
        for _ in 0..3 {
            assert_eq!(pool.submit(|| 8).unwrap().get().unwrap(), 8);
            assert!(clock.await_sleepers(1, PATIENCE));
            clock.advance(YEAR * 10);
            until("nobody", || pool.pool_size() == 0);
        }
        pool.shutdown();
        until("the end", || pool.is_terminated());
    });
}

#[test]
fn a_time_limit_may_be_as_long_as_times_get() {
    for (name, pool) in pools() {
        let mut handle = pool.submit(|| 8).unwrap();
        assert_eq!(handle.get_timeout(Duration::MAX).unwrap(), 8);
        let gate = Gate::new();
        let theirs = gate.clone();
        pool.execute(move || {
            let _ = theirs.pass();
        })
        .unwrap();
        pool.shutdown();
        let theirs = Arc::clone(&pool);
        let waiter = interrupt::spawn(move || theirs.await_termination(Duration::MAX));
        gate.open();
        assert!(join("the end", waiter).unwrap(), "{name}");
        ends(name, &*pool);
    }
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(0)
        .maximum_pool_size(2)
        .keep_alive(Duration::MAX)
        .work_queue(SynchronousQueue::new())
        .build()
        .unwrap();
    for _ in 0..2 {
        assert_eq!(pool.submit(|| 8).unwrap().get().unwrap(), 8);
        until("an idle worker", || {
            pool.queue().waiting().unwrap().takers > 0
        });
    }
    assert_eq!(pool.pool_size(), 1);
    ends("longest keep-alive", &pool);
}

#[test]
fn a_queue_may_be_waited_for_as_long_as_times_get() {
    let queue = Arc::new(LinkedBlockingQueue::with_capacity(1).unwrap());
    let theirs = Arc::clone(&queue);
    let taker = interrupt::spawn(move || theirs.poll_timeout(Duration::MAX));
    await_takers(&*queue, 1);
    queue.offer_timeout(8, Duration::MAX).unwrap();
    assert_eq!(join("the taker", taker).unwrap(), Some(8));
}
