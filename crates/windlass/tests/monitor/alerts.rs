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
    let enqueue = || {
        let inside = gate.clone();
        let task = move || inside.pass_uninterruptibly();
        watched.pool.execute(task).unwrap();
    };
    watched.clock.advance(Duration::from_millis(300));
    enqueue();
    watched.clock.advance(Duration::from_millis(300));
    enqueue();
    watched.clock.advance(Duration::from_millis(400));
    watched.monitor.sample();
    assert_eq!(active(&watched), [AlertKind::QueueAge]);
    // The next task is 0.7 s old: below the threshold, and above half of it.
    drop(watched.pool.queue().poll());
    watched.monitor.sample();
    assert_eq!(active(&watched), [AlertKind::QueueAge]);
    // 0.4 s is below half.
    drop(watched.pool.queue().poll());
    watched.monitor.sample();
    assert_eq!(active(&watched), []);
    release(&watched, &gate);
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

/// WL-484
#[test]
fn an_alert_that_lasts_is_told_when_its_silence_ends() {
    let watched = Watched::new();
    let told = told(&watched);
    let next = || told.recv_timeout(PATIENCE).unwrap();
    let gate = occupy(&watched, 1);
    watched.seconds(1);
    assert_eq!(next().kind, AlertKind::QueueAge);
    release(&watched, &gate);
    watched.seconds(1);
    assert!(!next().active);
    // Raised again within two minutes of the last time: told when they are over, as it lasts.
    let gate = occupy(&watched, 1);
    watched.seconds(1);
    let again = alert(&watched, AlertKind::QueueAge);
    watched.seconds(116);
    assert!(active(&watched).contains(&AlertKind::QueueAge));
    let queue_age = || {
        std::iter::from_fn(|| told.recv_timeout(PATIENCE).ok())
            .find(|alert| alert.kind == AlertKind::QueueAge)
            .unwrap()
    };
    watched.seconds(2);
    let late = queue_age();
    assert!(late.active && late.since == again.since);
    // Silenced before it ends: that it has ended is told after the silence.
    let silence = Duration::from_secs(60);
    watched.monitor.silence("web:queue_age", silence).unwrap();
    release(&watched, &gate);
    watched.seconds(1);
    assert!(!active(&watched).contains(&AlertKind::QueueAge));
    let silenced = watched.monitor.now();
    watched.seconds(60);
    let cleared = queue_age();
    assert!(!cleared.active && cleared.cleared == Some(silenced));
}

/// WL-483
#[test]
fn a_threshold_of_a_minute_is_not_passed_by_runs_and_waits_of_nine_seconds() {
    let watched = Watched::new();
    let mut thresholds = Thresholds::default();
    thresholds.run_timeout = Some(Duration::from_secs(60));
    thresholds.queue_timeout = Some(Duration::from_secs(60));
    thresholds.queue_age = Duration::from_secs(3600);
    watched.monitor.set_thresholds("web", thresholds);
    run_each(&watched, 10, Duration::from_secs(9));
    let gate = occupy(&watched, 0);
    for _ in 0..5 {
        watched.pool.execute(|| ()).unwrap();
    }
    watched.clock.advance(Duration::from_secs(9));
    release(&watched, &gate);
    watched.await_runs(17);
    watched.seconds(1);
    let view = watched.view();
    assert_eq!((view.run_timeouts, view.queue_timeouts), (0, 0));
    assert_eq!(view.alerts, []);
    run_each(&watched, 1, Duration::from_secs(75));
    watched.seconds(1);
    assert_eq!(watched.view().run_timeouts, 1);
}

/// WL-483
#[test]
fn each_run_that_goes_on_for_too_long_counts() {
    let watched = Watched::new();
    let change = windlass::monitor::Change::new().core(12).max(12);
    let force = windlass::monitor::ChangeOptions::new().force(true);
    watched.monitor.change("web", &change, &force).unwrap();
    let mut thresholds = Thresholds::default();
    thresholds.run_timeout = Some(Duration::from_secs(20));
    thresholds.activity = 1.0;
    watched.monitor.set_thresholds("web", thresholds);
    let gate = Gate::new();
    for _ in 0..10 {
        let inside = gate.clone();
        let task = move || inside.pass_uninterruptibly();
        watched.pool.execute(task).unwrap();
    }
    gate.await_waiting(10);
    watched.seconds(19);
    assert_eq!(active(&watched), []);
    // A run that was not timed counts from the first sample that has seen it.
    watched.seconds(2);
    assert_eq!(active(&watched), [AlertKind::RunTimeout]);
    let raised = alert(&watched, AlertKind::RunTimeout);
    assert_eq!(raised.value, 10.0);
    release(&watched, &gate);
}

/// WL-488
#[test]
fn thresholds_and_silences_are_in_the_audit() {
    let watched = Watched::new();
    let mut thresholds = Thresholds::default();
    thresholds.activity = 0.5;
    thresholds.run_timeout = Some(Duration::from_secs(2));
    let monitor = &watched.monitor;
    assert!(monitor.set_thresholds_as("web", thresholds.clone(), Some("me")));
    // Nothing differs.
    assert!(monitor.set_thresholds("web", thresholds));
    let gate = occupy(&watched, 1);
    watched.seconds(1);
    monitor
        .silence_as("web:queue_age", Duration::from_secs(60), Some("you"))
        .unwrap();
    release(&watched, &gate);
    let audit = monitor.audit();
    let told: Vec<_> = audit
        .iter()
        .map(|entry| {
            let detail = entry.detail.as_deref().unwrap();
            (entry.action.as_str(), entry.actor.as_deref(), detail)
        })
        .collect();
    let changes = "activity 0.8 -> 0.5, run_timeout none -> 2s";
    assert_eq!(
        told,
        [
            ("silence", Some("you"), "queue_age for 60s"),
            ("thresholds", Some("me"), changes),
        ]
    );
}

/// WL-489
#[test]
fn a_condition_that_is_reported_raises_after_its_time_and_clears() {
    use windlass::monitor::Condition;
    let watched = Watched::new();
    let told = told(&watched);
    let report = |down: bool| {
        let mut condition = Condition::new("remote", AlertKind::EngineDown);
        (condition.raises, condition.clears) = (down, !down);
        condition.message = "the engine does not answer";
        watched.monitor.report(&condition);
    };
    let is_down = || {
        let alerts = watched.monitor.alerts();
        alerts.iter().any(|alert| alert.active)
    };
    for _ in 0..5 {
        report(true);
        assert!(!is_down());
        watched.seconds(1);
    }
    report(true);
    assert!(is_down());
    let raised = told.recv_timeout(PATIENCE).unwrap();
    assert_eq!((&*raised.id, raised.active), ("remote:engine_down", true));
    let silence = Duration::from_secs(3600);
    assert!(
        watched
            .monitor
            .silence("remote:engine_down", silence)
            .is_some()
    );
    report(false);
    assert!(!is_down());
}

/// WL-484
#[test]
fn a_receiver_that_breaks_is_told_no_more() {
    use std::ops::ControlFlow;
    let watched = Watched::new();
    let (tell, told) = mpsc::channel();
    let receive = move |_: &Event| match tell.send(()) {
        Ok(()) => ControlFlow::Break(()),
        Err(_) => panic!("called again"),
    };
    watched.monitor.on_event_while(receive).unwrap();
    watched.seconds(1);
    told.recv_timeout(PATIENCE).unwrap();
    // The receiver, and with it its end of the channel, is dropped when its thread ends.
    assert!(told.recv_timeout(PATIENCE).is_err());
    watched.seconds(600);
    assert_eq!(
        (watched.monitor.dropped_events(), watched.monitor.panics()),
        (0, 0)
    );
}

/// Otherwise a receiver would have it as active for ever.
///
/// WL-484
#[test]
fn the_alerts_of_a_pool_that_ends_are_told_as_cleared() {
    let watched = Watched::new();
    let told = told(&watched);
    let mut thresholds = Thresholds::default();
    thresholds.stuck = Duration::from_secs(3600);
    watched.monitor.set_thresholds("web", thresholds);
    let gate = occupy(&watched, 1);
    watched.seconds(11);
    let kinds = [AlertKind::QueueAge, AlertKind::Activity];
    for kind in kinds {
        let alert = told.recv_timeout(PATIENCE).unwrap();
        assert_eq!((alert.kind, alert.active), (kind, true));
    }
    // One that is silenced could not be told later.
    let silence = Duration::from_secs(600);
    watched.monitor.silence("web:queue_age", silence).unwrap();
    watched.pool.shutdown();
    gate.open();
    assert_eq!(watched.pool.await_termination(PATIENCE), Ok(true));
    // Another one of the same name, of which something is told at the same sample.
    let successor = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(1)
        .build();
    let successor = successor.unwrap();
    assert_eq!(&*watched.registry.register(&successor), "web");
    successor.shutdown();
    successor.execute(|| ()).unwrap_err();
    watched.seconds(1);
    let now = watched.monitor.now();
    for kind in [AlertKind::Activity, AlertKind::QueueAge] {
        let alert = told.recv_timeout(PATIENCE).unwrap();
        let expected = (kind, false, Some(now));
        assert_eq!((alert.kind, alert.active, alert.cleared), expected);
    }
}
