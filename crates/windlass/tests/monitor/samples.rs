//! What a monitor makes of its samples: rates, peaks, quantiles, the past, recent tasks.

use std::sync::mpsc;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::interrupt;
use windlass::monitor::{Ending, Event, HistorySpan, Monitor, Registry};
use windlass::prelude::*;
use windlass::testing::{Gate, PATIENCE, until};

use crate::{SECOND, Watched};

/// Runs a task that takes this long on the clock of the pool.
fn run_for(watched: &Watched, time: Duration) {
    let before = watched.pool.stats().run_times.count();
    let task = watched.pool.task().name("slow");
    let task = task.submit(move || interrupt::sleep(time).is_ok()).unwrap();
    assert!(watched.clock.await_sleepers(1, PATIENCE));
    watched.clock.advance(time);
    assert!(task.join().unwrap());
    watched.await_runs(before + 1);
}

/// WL-405
#[test]
fn the_thread_takes_a_sample_each_second_of_its_clock_and_ends_when_it_is_stopped() {
    let (clock, registry) = (TestClock::new(), Registry::new());
    let monitor = clock.enter(|| Monitor::start(&registry).unwrap());
    let (told, samples) = mpsc::channel();
    let tell = move |event: &Event| {
        if matches!(event, Event::Sampled) {
            told.send(()).unwrap();
        }
    };
    monitor.on_event(tell).unwrap();
    for count in 1..=3 {
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(SECOND / 2);
        assert!(clock.await_sleepers(1, PATIENCE));
        assert_eq!(monitor.samples(), count - 1);
        clock.advance(SECOND / 2);
        samples.recv_timeout(PATIENCE).unwrap();
        assert_eq!(monitor.samples(), count);
    }
    monitor.stop();
    assert_eq!(clock.sleepers(), 0);
    clock.advance(SECOND);
    assert_eq!(monitor.samples(), 3);
}

/// WL-405
#[test]
fn the_thread_ends_with_the_last_clone_of_the_monitor() {
    let clock = TestClock::new();
    let monitor = clock.enter(|| Monitor::start(&Registry::new()).unwrap());
    assert!(clock.await_sleepers(1, PATIENCE));
    let other = monitor.clone();
    drop(monitor);
    assert!(clock.await_sleepers(1, PATIENCE));
    drop(other);
    until("the end of the thread", || clock.sleepers() == 0);
}

/// WL-406
#[test]
fn rates_are_of_the_last_second_and_peaks_of_the_last_ten() {
    let watched = Watched::new();
    let gate = Gate::new();
    for _ in 0..5 {
        let inside = gate.clone();
        watched
            .pool
            .execute(move || inside.pass_uninterruptibly())
            .unwrap();
    }
    gate.await_waiting(2);
    watched.seconds(1);
    let view = watched.view();
    assert_eq!((view.rates.submitted, view.rates.completed), (5.0, 0.0));
    assert_eq!((view.active_peak, view.queue_peak), (2, 3));
    gate.open();
    until("all tasks to end", || {
        watched.pool.completed_task_count() == 5
    });
    watched.clock.advance(SECOND);
    watched.seconds(1);
    // Two seconds have passed.
    assert_eq!(watched.view().rates.completed, 2.5);
    watched.seconds(8);
    assert_eq!(
        (watched.view().active_peak, watched.view().queue_peak),
        (2, 3)
    );
    watched.seconds(1);
    assert_eq!(
        (watched.view().active_peak, watched.view().queue_peak),
        (0, 0)
    );
    assert_eq!(watched.view().rates.completed, 0.0);
    assert_eq!(&watched.view().spark_queue[..3], [0, 3, 0]);
}

/// WL-406
#[test]
fn quantiles_are_of_the_last_ten_seconds() {
    let watched = Watched::new();
    run_for(&watched, Duration::from_millis(400));
    let run = watched.view().run.unwrap();
    assert_eq!((run.count, run.max), (1, Duration::from_millis(400)));
    assert_eq!(run.sampled_every, 1);
    watched.seconds(10);
    assert!(watched.view().run.is_some());
    watched.seconds(1);
    assert_eq!(watched.view().run, None);
    assert_eq!(watched.view().snapshot.run_times.count(), 1);
}

/// WL-407
#[test]
fn the_past_has_seconds_and_minutes_in_columns() {
    let watched = Watched::new();
    run_for(&watched, Duration::from_millis(400));
    watched.seconds(120);
    let seconds = watched
        .monitor
        .history("web", HistorySpan::Seconds(60))
        .unwrap();
    assert_eq!((seconds.step, seconds.times.len()), (SECOND, 60));
    let of = |history: &windlass::monitor::History, name: &str| {
        let series = history.series.iter().find(|(series, _)| *series == name);
        series.unwrap().1.clone()
    };
    assert_eq!(of(&seconds, "core"), [Some(2.0); 60]);
    assert_eq!(of(&seconds, "run_p99"), [None; 60]);
    assert_eq!(of(&seconds, "steals"), [None; 60]);
    let all = watched
        .monitor
        .history("web", HistorySpan::Seconds(900))
        .unwrap();
    assert_eq!(all.times.len(), 121);
    let runs = of(&all, "run_p99").into_iter().flatten().count();
    assert_eq!(runs, 1);
    let minutes = watched
        .monitor
        .history("web", HistorySpan::Minutes(10))
        .unwrap();
    assert_eq!((minutes.step, minutes.times.len()), (60 * SECOND, 2));
    let quantiles = of(&minutes, "run_p99");
    assert!(
        quantiles[0].is_some_and(|p99| (p99 - 0.4).abs() < 0.05),
        "{quantiles:?}"
    );
    assert_eq!(quantiles[1], None);
    assert!(
        watched
            .monitor
            .history("other", HistorySpan::Seconds(1))
            .is_none()
    );
}

/// WL-411
#[test]
fn the_slowest_tasks_of_five_minutes_and_the_last_failed_ones_are_shown() {
    let watched = Watched::new();
    for millis in [100, 300, 200] {
        run_for(&watched, Duration::from_millis(millis));
    }
    let fails = watched.pool.task().name("broken");
    let fails = fails.submit(|| panic!("on purpose")).unwrap();
    assert!(fails.join().is_err());
    until("all to be recorded", || {
        watched.monitor.sample();
        let recent = watched.monitor.recent("web").unwrap();
        (recent.slowest.len(), recent.failed.len()) == (3, 1)
    });
    let recent = watched.monitor.recent("web").unwrap();
    let slowest = recent
        .slowest
        .iter()
        .map(|task| task.run.unwrap().as_millis());
    assert_eq!(slowest.collect::<Vec<_>>(), [300, 200, 100]);
    assert_eq!(recent.slowest[0].name.as_deref(), Some("slow"));
    assert!(
        recent.slowest[0]
            .thread
            .as_deref()
            .unwrap()
            .starts_with("web-thread-")
    );
    assert_eq!(recent.failed.len(), 1);
    let failed = &recent.failed[0];
    assert_eq!(
        (failed.ending, failed.name.as_deref()),
        (Ending::Panicked, Some("broken"))
    );
    assert_eq!(failed.message.as_deref(), Some("on purpose"));
    assert!(failed.ended <= watched.monitor.now());
    watched.clock.advance(Duration::from_secs(300));
    watched.seconds(1);
    let recent = watched.monitor.recent("web").unwrap();
    assert_eq!((recent.slowest.len(), recent.failed.len()), (0, 1));
}

/// WL-408
#[test]
fn threads_are_listed_with_what_they_run() {
    let watched = Watched::new();
    watched.pool.prestart_all_core_threads();
    let gate = Gate::new();
    let inside = gate.clone();
    let task = watched.pool.task().name("report");
    task.execute(move || inside.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let threads = watched.monitor.threads("web").unwrap();
    assert_eq!(threads.len(), 2);
    let running: Vec<_> = threads
        .iter()
        .filter_map(|thread| thread.task.as_ref())
        .collect();
    assert_eq!(running[0].name.as_deref(), Some("report"));
    assert_eq!(running.len(), 1);
    gate.open();
}

/// WL-409
#[test]
fn a_receiver_that_panics_or_is_slow_harms_nobody() {
    let watched = Watched::new();
    watched.monitor.on_event(|_| panic!("on purpose")).unwrap();
    let gate = Gate::new();
    let inside = gate.clone();
    watched
        .monitor
        .on_event(move |_| inside.pass_uninterruptibly())
        .unwrap();
    let (told, events) = mpsc::channel();
    let tell = move |event: &Event| told.send(matches!(event, Event::Sampled)).unwrap();
    watched.monitor.on_event(tell).unwrap();
    for round in 1..=270 {
        watched.seconds(1);
        assert!(events.recv_timeout(PATIENCE).unwrap());
        until("the panic", || watched.monitor.panics() == round);
        gate.await_waiting(1);
    }
    // One is being received, 256 are queued.
    assert_eq!(watched.monitor.dropped_events(), 270 - 257);
    gate.open();
}

/// WL-410
#[test]
fn a_periodic_task_that_overruns_is_counted_and_the_next_runs_are_shown() {
    let (clock, registry) = (TestClock::new(), Registry::new());
    let timers = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    registry.register_as("timers", &timers);
    let seen = || registry.get("timers").unwrap().snapshot().unwrap();
    let ticks = timers.schedule_at_fixed_rate(SECOND, SECOND, || {
        let _ = interrupt::sleep(3 * SECOND);
    });
    let once = timers.schedule(Duration::from_secs(60), || ()).unwrap();
    let scheduled = seen().scheduled.unwrap();
    assert_eq!((scheduled.queued, scheduled.periodic), (2, Some(1)));
    let delays: Vec<_> = scheduled.next.iter().map(|task| task.delay).collect();
    assert_eq!(delays, [SECOND, 60 * SECOND]);
    until("the worker to wait", || {
        clock.next_wake_up() == Some(SECOND)
    });
    clock.advance(SECOND);
    until("the run to begin", || {
        clock.next_wake_up() == Some(3 * SECOND)
    });
    clock.advance(3 * SECOND);
    until("the overrun", || seen().scheduled.unwrap().overruns == 1);
    drop((ticks, once));
    drop(timers.shutdown_now());
}

/// WL-490
#[test]
fn threads_without_a_name_are_shown_and_each_has_an_id_of_its_own() {
    use windlass::thread_factory::{ThreadBody, ThreadFactory};

    #[derive(Debug)]
    struct Nameless;
    impl ThreadFactory for Nameless {
        fn new_thread(&self, body: ThreadBody) -> std::io::Result<()> {
            let thread = std::thread::Builder::new().spawn(move || body.run());
            thread.map(drop)
        }
    }

    let registry = windlass::monitor::Registry::new();
    let pool = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(3)
        .thread_factory(Nameless)
        .build()
        .unwrap();
    registry.register(&pool);
    let monitor = windlass::monitor::Monitor::builder()
        .registry(&registry)
        .manual(true);
    let monitor = monitor.start().unwrap();
    assert_eq!(pool.prestart_all_core_threads(), 3);
    let mut ids = Vec::new();
    windlass::testing::until("the threads to be listed", || {
        let threads = monitor.threads("web").unwrap();
        assert!(threads.iter().all(|thread| thread.task.is_none()));
        ids = threads.iter().filter_map(|thread| thread.id).collect();
        ids.len() == 3
    });
    ids.dedup();
    assert_eq!(ids.len(), 3);
    let again: Vec<_> = monitor.threads("web").unwrap();
    assert_eq!(
        ids,
        again
            .iter()
            .filter_map(|thread| thread.id)
            .collect::<Vec<_>>()
    );
}
