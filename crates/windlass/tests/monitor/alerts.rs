//! When alerts are raised, told and cleared.

use std::sync::mpsc;
use std::time::Duration;

use windlass::interrupt;
use windlass::monitor::{Alert, AlertKind, Event, Thresholds};
use windlass::prelude::*;
use windlass::testing::{Gate, PATIENCE, until};

use crate::Watched;

/// Keeps both threads busy and fills the queue with this many tasks.
fn occupy(watched: &Watched, queued: usize) -> Gate {
    let gate = Gate::new();
    for _ in 0..2 + queued {
        let inside = gate.clone();
        watched
            .pool
            .execute(move || inside.pass_uninterruptibly())
            .unwrap();
    }
    gate.await_waiting(2);
    gate
}

fn release(watched: &Watched, gate: &Gate) {
    gate.open();
    until("the pool to be idle", || {
        let stats = watched.pool.stats();
        stats.active_count + stats.queue_len == 0
    });
}

fn active(watched: &Watched) -> Vec<AlertKind> {
    watched.view().alerts
}

/// Returns the alert of this kind, which there is or was.
fn alert(watched: &Watched, kind: AlertKind) -> Alert {
    let mut alerts = watched.monitor.alerts().into_iter();
    alerts.find(|alert| alert.kind == kind).unwrap()
}

/// Returns what a receiver is told.
fn told(watched: &Watched) -> mpsc::Receiver<Alert> {
    let (tell, told) = mpsc::channel();
    let receive = move |event: &Event| {
        if let Event::Alert(alert) = event {
            tell.send(alert.clone()).unwrap();
        }
    };
    watched.monitor.on_event(receive).unwrap();
    told
}

/// WL-412
#[test]
fn activity_and_capacity_raise_after_ten_seconds_and_clear_below_four_fifths() {
    let watched = Watched::new();
    let mut thresholds = Thresholds::default();
    thresholds.queue_age = Duration::from_secs(3600);
    thresholds.stuck = Duration::from_secs(3600);
    assert!(watched.monitor.set_thresholds("web", thresholds));
    let gate = occupy(&watched, 7);
    watched.seconds(10);
    assert_eq!(active(&watched), []);
    watched.seconds(1);
    assert_eq!(active(&watched), [AlertKind::Activity, AlertKind::Capacity]);
    let message = |kind| alert(&watched, kind).message;
    assert_eq!(
        message(AlertKind::Activity),
        "100 % of the maximum of threads are active, 80 % or more"
    );
    assert_eq!(
        message(AlertKind::Capacity),
        "70 % of the queue is taken, 70 % or more"
    );
    // 6 of 10 places is below the threshold, but not by enough.
    drop(watched.pool.queue().poll());
    watched.seconds(5);
    assert_eq!(active(&watched), [AlertKind::Activity, AlertKind::Capacity]);
    assert_eq!(
        message(AlertKind::Capacity),
        "60 % of the queue is taken, not yet below 56 %"
    );
    drop(watched.pool.queue().poll());
    watched.seconds(1);
    assert_eq!(active(&watched), [AlertKind::Activity]);
    let capacity = alert(&watched, AlertKind::Capacity);
    assert!(!capacity.active && capacity.cleared == Some(watched.monitor.now()));
    assert_eq!((&*capacity.id, capacity.threshold), ("web:capacity", 0.7));
    release(&watched, &gate);
    watched.seconds(1);
    assert_eq!(active(&watched), []);
}

/// WL-412
#[test]
fn a_moment_below_the_threshold_begins_the_ten_seconds_again() {
    let watched = Watched::new();
    let gate = occupy(&watched, 0);
    watched.seconds(9);
    release(&watched, &gate);
    watched.seconds(1);
    let gate = occupy(&watched, 0);
    watched.seconds(10);
    assert_eq!(active(&watched), []);
    watched.seconds(1);
    assert_eq!(active(&watched), [AlertKind::Activity]);
    release(&watched, &gate);
}

/// WL-413
#[test]
fn the_age_of_the_queue_raises_at_once_and_clears_at_half() {
    let watched = Watched::new();
    let gate = occupy(&watched, 1);
    watched.seconds(1);
    assert_eq!(active(&watched), [AlertKind::QueueAge]);
    release(&watched, &gate);
    watched.seconds(1);
    assert_eq!(active(&watched), []);
}

/// WL-413
#[test]
fn a_rejection_raises_for_ten_seconds_and_clears_after_a_quiet_minute() {
    let watched = Watched::new();
    let gate = occupy(&watched, 10);
    for _ in 0..3 {
        assert!(watched.pool.execute(|| ()).is_err());
    }
    release(&watched, &gate);
    watched.seconds(1);
    let reject = alert(&watched, AlertKind::Reject);
    assert_eq!(reject.message, "3 tasks rejected in the last 10 s");
    // Quiet by now, but not for long enough: what it says is still true.
    watched.seconds(59);
    assert_eq!(active(&watched), [AlertKind::Reject]);
    let reject = alert(&watched, AlertKind::Reject);
    assert_eq!(reject.message, "3 tasks rejected in the last 60 s");
    assert_eq!(reject.value, 3.0);
    watched.seconds(1);
    assert_eq!(active(&watched), []);
}

/// Runs tasks one after the other, each for this long.
fn run_each(watched: &Watched, count: u64, time: Duration) {
    let before = watched.pool.stats().run_times.count();
    for run in 1..=count {
        let task = watched
            .pool
            .submit(move || interrupt::sleep(time).is_ok())
            .unwrap();
        assert!(watched.clock.await_sleepers(1, PATIENCE));
        watched.clock.advance(time);
        assert!(task.join().unwrap());
        // Before the clock moves on.
        watched.await_runs(before + run);
    }
}

/// WL-414
#[test]
fn ten_runs_in_two_minutes_that_take_too_long_raise() {
    let watched = Watched::new();
    let mut thresholds = Thresholds::default();
    thresholds.run_timeout = Some(Duration::from_secs(1));
    watched.monitor.set_thresholds("web", thresholds);
    run_each(&watched, 9, Duration::from_secs(2));
    watched.seconds(1);
    assert_eq!((watched.view().run_timeouts, active(&watched)), (9, vec![]));
    run_each(&watched, 5, Duration::from_millis(100));
    run_each(&watched, 1, Duration::from_secs(2));
    watched.seconds(1);
    assert_eq!(watched.view().run_timeouts, 10);
    assert_eq!(active(&watched), [AlertKind::RunTimeout]);
    watched.seconds(119);
    assert_eq!(active(&watched), [AlertKind::RunTimeout]);
    watched.seconds(2);
    assert_eq!(active(&watched), []);
}

/// WL-414
#[test]
fn waits_that_take_too_long_are_counted() {
    let watched = Watched::new();
    let mut thresholds = Thresholds::default();
    thresholds.queue_timeout = Some(Duration::from_secs(2));
    watched.monitor.set_thresholds("web", thresholds);
    let gate = occupy(&watched, 10);
    watched.clock.advance(Duration::from_secs(5));
    release(&watched, &gate);
    watched.await_runs(12);
    watched.seconds(1);
    assert_eq!(watched.view().queue_timeouts, 10);
    assert_eq!(active(&watched), [AlertKind::QueueTimeout]);
}

/// WL-415
#[test]
fn a_task_that_runs_much_longer_than_others_is_stuck_until_it_ends() {
    let watched = Watched::new();
    run_each(&watched, 100, Duration::from_secs(4));
    let gate = Gate::new();
    let inside = gate.clone();
    watched
        .pool
        .execute(move || inside.pass_uninterruptibly())
        .unwrap();
    gate.await_waiting(1);
    // More than 30 s, but less than ten times as long as usual.
    watched.clock.advance(Duration::from_secs(35));
    watched.seconds(1);
    assert_eq!(active(&watched), []);
    watched.clock.advance(Duration::from_secs(10));
    watched.seconds(1);
    assert_eq!(active(&watched), [AlertKind::Stuck]);
    gate.open();
    until("the task to end", || watched.pool.active_count() == 0);
    watched.seconds(1);
    assert_eq!(active(&watched), []);
}

/// WL-415
#[test]
fn threads_that_end_too_often_raise() {
    let watched = Watched::new();
    let mut thresholds = Thresholds::default();
    thresholds.churn_per_minute = 5;
    watched.monitor.set_thresholds("web", thresholds);
    for ended in 1..=6 {
        watched.pool.execute(|| panic!("on purpose")).unwrap();
        until("the thread to end", || {
            let exits = watched.view().snapshot.threads.exited.unwrap();
            exits.panic == ended
        });
    }
    watched.seconds(1);
    assert_eq!(active(&watched), [AlertKind::ThreadChurn]);
    watched.seconds(60);
    assert_eq!(active(&watched), []);
}

/// WL-416
#[test]
fn an_alert_is_told_once_in_two_minutes_and_not_while_it_is_silenced() {
    let watched = Watched::new();
    let told = told(&watched);
    let raise_and_clear = || {
        let gate = occupy(&watched, 1);
        watched.seconds(1);
        assert_eq!(active(&watched), [AlertKind::QueueAge]);
        release(&watched, &gate);
        watched.seconds(1);
        assert_eq!(active(&watched), []);
    };
    let next = || told.recv_timeout(PATIENCE).unwrap();
    raise_and_clear();
    assert!(next().active && !next().active);
    raise_and_clear();
    watched.seconds(120);
    let silenced = watched
        .monitor
        .silence("web:queue_age", Duration::from_secs(60));
    assert!(silenced.unwrap().silenced_until.is_some());
    raise_and_clear();
    watched.seconds(60);
    raise_and_clear();
    let raised = next();
    assert!(raised.active && !next().active);
    // The second and the third time nobody was told.
    assert!(watched.monitor.now().duration_since(raised.since).unwrap() < Duration::from_secs(5));
    assert!(told.try_recv().is_err());
    assert!(
        watched
            .monitor
            .silence("web:unknown", Duration::from_secs(1))
            .is_none()
    );
}
