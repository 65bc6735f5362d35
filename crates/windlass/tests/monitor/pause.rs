//! A pool that is paused takes no tasks, until the pause ends.

use std::time::Duration;

use windlass::monitor::ChangeError;
use windlass::prelude::*;
use windlass::testing::{PATIENCE, until};

use crate::{SECOND, Watched};

/// Waits until both threads sleep because of the pause.
fn await_held(watched: &Watched, threads: usize) {
    assert!(watched.clock.await_sleepers(threads, PATIENCE));
}

/// WL-420
#[test]
fn a_paused_pool_takes_no_tasks_and_goes_on_by_itself_when_the_pause_ends() {
    let watched = Watched::new();
    watched.pool.prestart_all_core_threads();
    let until_when = watched.monitor.pause("web", 60 * SECOND, None).unwrap();
    await_held(&watched, 2);
    let handles: Vec<_> = (0..5)
        .map(|n| watched.pool.submit(move || n).unwrap())
        .collect();
    assert_eq!(
        (watched.pool.stats().queue_len, watched.pool.active_count()),
        (5, 0)
    );
    assert_eq!(watched.view().paused_until, Some(until_when));
    watched.clock.advance(59 * SECOND);
    assert_eq!(watched.pool.stats().completed_task_count, 0);
    await_held(&watched, 2);
    watched.clock.advance(SECOND);
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n);
    }
    assert_eq!(watched.view().paused_until, None);
}

/// WL-420
#[test]
fn a_resumption_ends_the_pause_and_a_thread_that_was_started_meanwhile_runs_its_task() {
    let watched = Watched::new();
    watched.monitor.pause("web", 3600 * SECOND, None).unwrap();
    // There is no thread yet: this task is the first of a new one.
    let first = watched.pool.submit(|| 1).unwrap();
    await_held(&watched, 1);
    assert!(!first.is_done());
    assert_eq!(watched.pool.task_count(), 1);
    watched.monitor.resume("web", None).unwrap();
    assert_eq!(first.join().unwrap(), 1);
}

/// WL-420
#[test]
fn a_change_of_the_maximum_does_not_end_the_pause() {
    let watched = Watched::new();
    watched.pool.prestart_all_core_threads();
    watched.monitor.pause("web", 3600 * SECOND, None).unwrap();
    watched.pool.set_maximum_pool_size(3).unwrap();
    await_held(&watched, 2);
    let held = watched.pool.submit(|| ()).unwrap();
    watched.pool.set_maximum_pool_size(4).unwrap();
    await_held(&watched, 2);
    assert!(!held.is_done());
    watched.monitor.resume("web", None).unwrap();
    held.join().unwrap();
}

/// WL-420
#[test]
fn a_shutdown_lets_a_paused_pool_run_what_is_queued_and_a_stop_returns_it() {
    let watched = Watched::new();
    watched.pool.prestart_all_core_threads();
    watched.monitor.pause("web", 3600 * SECOND, None).unwrap();
    await_held(&watched, 2);
    let queued = watched.pool.submit(|| 1).unwrap();
    watched.pool.close();
    assert_eq!(queued.join().unwrap(), 1);

    let stopped = Watched::new();
    stopped.pool.prestart_all_core_threads();
    stopped.monitor.pause("web", 3600 * SECOND, None).unwrap();
    await_held(&stopped, 2);
    stopped.pool.execute(|| ()).unwrap();
    assert_eq!(stopped.pool.shutdown_now().len(), 1);
    until("the end", || stopped.pool.is_terminated());
}

/// WL-420
#[test]
fn a_pause_needs_an_end_and_a_pool_that_can_pause() {
    let watched = Watched::new();
    let pause = |time| watched.monitor.pause("web", time, None);
    assert_eq!(pause(Duration::ZERO), Err(ChangeError::InvalidPause));
    assert_eq!(
        pause(Duration::from_secs(25 * 3600)),
        Err(ChangeError::InvalidPause)
    );
    let sums = ForkJoinPool::new(1).unwrap();
    watched.registry.register_as("sums", &sums);
    let refused = watched.monitor.pause("sums", SECOND, None);
    assert_eq!(refused, Err(ChangeError::Unsupported("pause")));
}

/// WL-420
#[test]
fn a_paused_scheduled_pool_runs_what_is_due_after_the_pause() {
    let registry = windlass::monitor::Registry::new();
    let clock = windlass::clock::TestClock::new();
    let (timers, monitor) = clock.enter(|| {
        let builder = windlass::monitor::Monitor::builder();
        let monitor = builder.registry(&registry).manual(true).start().unwrap();
        (ScheduledThreadPoolExecutor::new(1), monitor)
    });
    registry.register_as("timers", &timers);
    let task = timers.schedule(SECOND, || 1).unwrap();
    until("the worker to wait", || {
        clock.next_wake_up() == Some(SECOND)
    });
    monitor.pause("timers", 10 * SECOND, None).unwrap();
    until("the pause", || clock.next_wake_up() == Some(10 * SECOND));
    clock.advance(5 * SECOND);
    assert!(!task.is_done());
    assert_eq!(
        monitor.pool("timers").unwrap().snapshot.queue.oldest,
        Some(4 * SECOND)
    );
    clock.advance(5 * SECOND);
    assert_eq!(task.join().unwrap(), 1);
}
