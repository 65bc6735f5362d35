//! The ready-made scheduled executors.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;
#[path = "kit/time.rs"]
mod time;

use std::sync::Arc;

use threads::Counting;
use time::{SECOND, await_wake_up_in};
use windlass::clock::TestClock;
use windlass::testing::{PATIENCE, within_patience};
use windlass::{Schedule, ScheduledExecutorService, Submit, executors};

/// A delayed value comes with its time, is no cancelled one, and can be read as often as one likes.
fn honours_a_delay<E: ScheduledExecutorService>(clock: &TestClock, executor: &E) {
    let task = executor.schedule(SECOND, || "late").unwrap();
    let late = task.into_handle().share();
    await_wake_up_in(clock, SECOND);
    assert!(!late.is_done());
    clock.advance(SECOND);
    let reader = late.clone();
    let first = within_patience("the value", move || reader.get().unwrap());
    assert_eq!((first, late.get().unwrap()), ("late", "late"));
    assert!(late.is_done() && !late.is_cancelled());
    executor.shutdown();
    assert!(executor.await_termination(PATIENCE).unwrap());
}

/// FAC-007
#[test]
fn a_single_thread_scheduled_executor_honours_delays() {
    let clock = TestClock::new();
    let single = clock.enter(executors::single_thread_scheduled_executor);
    honours_a_delay(&clock, &single);
}

/// FAC-007
#[test]
fn a_single_thread_scheduled_executor_has_one_thread() {
    let single = executors::single_thread_scheduled_executor();
    let names = (0..20).map(|_| single.submit(|| std::thread::current().id()).unwrap());
    let mut ids: Vec<_> = names.map(|mut id| id.get().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

/// FAC-008
#[test]
fn a_scheduled_thread_pool_honours_delays() {
    let clock = TestClock::new();
    let pool = clock.enter(|| executors::scheduled_thread_pool(2));
    assert_eq!(pool.core_pool_size(), 2);
    honours_a_delay(&clock, &pool);
}

/// FAC-008
#[test]
fn a_scheduled_thread_pool_takes_its_threads_from_the_factory() {
    let (clock, threads) = (TestClock::new(), Counting::default());
    let factory = Arc::new(threads.clone());
    let pool = clock.enter(|| executors::scheduled_thread_pool_with(2, factory));
    honours_a_delay(&clock, &pool);
    assert_eq!(threads.created(), 1);
}

/// FAC-009
#[test]
fn an_unconfigurable_scheduled_executor_honours_delays() {
    let clock = TestClock::new();
    let pool = clock.enter(|| executors::scheduled_thread_pool(2));
    honours_a_delay(&clock, &executors::unconfigurable(pool));
}

/// FAC-009
#[test]
fn an_unconfigurable_scheduled_executor_is_one_for_every_caller_of_the_trait() {
    let clock = TestClock::new();
    let pool = clock.enter(|| executors::unconfigurable(executors::scheduled_thread_pool(1)));
    let shared: Arc<dyn ScheduledExecutorService> = Arc::new(pool.clone());
    honours_a_delay(&clock, &shared);
    // The same pool, and shut down through the other handle.
    assert!(pool.schedule(SECOND, || ()).is_err());
}
