//! Delays and named schedules.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use std::time::{Duration, Instant};
use windlass_remote::TaskExecutorService;
use windlass_remote::engine::{Fire, Overlap};
use windlass_remote::{RejectedReason, Schedule};

const SHORT: Duration = Duration::from_millis(30);

pub(crate) fn a_delayed_task_starts_in_time(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    // The worker is idle and waits for something else when the task is submitted.
    assert_eq!(
        executor.submit_task(Add(0, 0)).unwrap().get_timeout(LONG),
        Ok(0)
    );
    let begun = Instant::now();
    let future = executor
        .schedule(Duration::from_millis(100), Add(1, 1))
        .unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(2));
    assert!(
        begun.elapsed() >= Duration::from_millis(99),
        "{:?}",
        begun.elapsed()
    );
}

pub(crate) fn a_fixed_rate_submits_again_and_again(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let key = engine.key("rate");
    let handle = executor
        .schedule_at_fixed_rate("tick", SHORT, SHORT, Note(key.clone()))
        .unwrap();
    eventually("it runs five times", || BOARD.starts(&key).len() >= 5);
    assert!(handle.next_run().unwrap().is_some());
    assert_eq!(engine.schedules(&engine.queue).unwrap()[0].name, "tick");
    assert!(handle.cancel().unwrap());
    let zero = executor
        .schedule_at_fixed_rate("zero", SHORT, Duration::ZERO, Note(key))
        .unwrap_err();
    assert!(matches!(zero.reason(), RejectedReason::Schedule(_)));
}

pub(crate) fn a_fixed_delay_waits_for_the_outcome(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(4));
    let gate = engine.key("delay");
    let handle = executor
        .schedule_with_fixed_delay("slow", SHORT, SHORT, Gated::new(&gate))
        .unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    assert_eq!(handle.next_run().unwrap(), None);
    assert_eq!(
        executor
            .schedule(5 * SHORT, Add(1, 1))
            .unwrap()
            .get_timeout(LONG),
        Ok(2)
    );
    assert_eq!(
        BOARD.starts(&gate).len(),
        1,
        "no second run before the first has ended"
    );
    BOARD.open(&gate);
    eventually("it runs again", || BOARD.starts(&gate).len() >= 3);
    assert!(handle.cancel().unwrap());
}

/// The task that runs is of the schedule before, which did not wait for outcomes; so nobody but the skipped time itself can set the next.
pub(crate) fn a_fixed_delay_survives_a_time_that_was_left_out(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(4));
    let (gate, key) = (engine.key("rate"), engine.key("then-delay"));
    let hour = Duration::from_secs(3_600);
    let rate = Schedule::at_fixed_rate(Duration::ZERO, hour);
    executor
        .schedule_named("changed", &rate, Gated::new(&gate))
        .unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    for overlap in [Overlap::Skip, Overlap::Queue] {
        let delay = Schedule::with_fixed_delay(Duration::ZERO, SHORT).overlap(overlap);
        let handle = executor
            .schedule_named("changed", &delay, Note(key.clone()))
            .unwrap();
        let first = handle.next_run().unwrap().unwrap();
        eventually("a time is left out", || {
            handle.next_run().unwrap() != Some(first)
        });
        assert!(handle.next_run().unwrap().is_some(), "{overlap:?}");
        assert!(BOARD.starts(&key).is_empty());
    }
    BOARD.open(&gate);
    eventually("it goes on", || BOARD.starts(&key).len() >= 2);
    assert!(engine.remove_schedule(&engine.queue, "changed").unwrap());
}

pub(crate) fn a_schedule_that_overlaps_leaves_a_time_out(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(4));
    let (skip, allow) = (engine.key("skip"), engine.key("allow"));
    let rate = Schedule::at_fixed_rate(SHORT, SHORT);
    executor
        .schedule_named("skip", &rate, Gated::new(&skip))
        .unwrap();
    let rate = rate.overlap(Overlap::Allow);
    executor
        .schedule_named("allow", &rate, Gated::new(&allow))
        .unwrap();
    eventually("three run side by side", || BOARD.starts(&allow).len() == 3);
    assert_eq!(BOARD.starts(&skip).len(), 1);
    for name in ["skip", "allow"] {
        assert!(engine.remove_schedule(&engine.queue, name).unwrap());
    }
    BOARD.open(&skip);
    BOARD.open(&allow);
}

pub(crate) fn a_schedule_that_queues_runs_one_after_the_other(engine: &UnderTest) {
    let executor = engine.executor();
    let hour = Duration::from_secs(3_600);
    let rate = Schedule::at_fixed_rate(Duration::ZERO, hour).overlap(Overlap::Queue);
    let gate = engine.key("queue");
    executor
        .schedule_named("queue", &rate, Gated::new(&gate))
        .unwrap();
    let first = engine.tick(&engine.queue, LONG, LONG).unwrap().due[0].at;
    for at in first..first + 3 {
        let fire = Fire {
            name: "queue".into(),
            at,
            next: Some(at + 1),
            ids: vec![format!("cron:queue:{at}").parse().unwrap()],
        };
        assert!(engine.fire(&engine.queue, &fire).unwrap());
    }
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!((stats.submitted, stats.ready), (1, 1), "two wait");
    let _worker = engine.worker(4);
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    BOARD.open(&gate);
    eventually("the others run after it", || {
        BOARD.starts(&gate).len() >= 3 && engine.stats(&engine.queue).unwrap().done >= 3
    });
    assert!(engine.remove_schedule(&engine.queue, "queue").unwrap());
}

pub(crate) fn a_cancelled_schedule_submits_nothing_more(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let key = engine.key("ends");
    let handle = executor
        .schedule_at_fixed_rate("ends", SHORT, SHORT, Note(key.clone()))
        .unwrap();
    eventually("it runs", || !BOARD.starts(&key).is_empty());
    assert!(handle.cancel().unwrap());
    assert!(!handle.cancel().unwrap());
    eventually("what was submitted has ended", || engine.is_empty());
    let runs = BOARD.starts(&key).len();
    assert_eq!(
        executor
            .schedule(5 * SHORT, Add(1, 1))
            .unwrap()
            .get_timeout(LONG),
        Ok(2)
    );
    assert_eq!(BOARD.starts(&key).len(), runs);
}

pub(crate) fn a_time_is_fired_once(engine: &UnderTest) {
    let executor = engine.executor();
    executor
        .schedule_at_fixed_rate("once", Duration::ZERO, LONG, Note(engine.key("once")))
        .unwrap();
    let tick = engine.tick(&engine.queue, LONG, LONG).unwrap();
    let at = tick.due[0].at;
    let ids = vec![format!("cron:once:{at}").parse().unwrap()];
    let fire = Fire {
        name: "once".into(),
        at,
        next: Some(at + 1_000_000),
        ids,
    };
    assert!(engine.fire(&engine.queue, &fire).unwrap());
    assert!(
        !engine.fire(&engine.queue, &fire).unwrap(),
        "a second worker is too late"
    );
    assert_eq!(engine.stats(&engine.queue).unwrap().ready, 1);
}

#[cfg(feature = "cron")]
pub(crate) fn a_cron_schedule_submits_by_its_name(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let key = engine.key("cron");
    let handle = executor
        .schedule_cron("each-second", "* * * * * *", "UTC", Note(key.clone()))
        .unwrap();
    let first = handle.next_run().unwrap().unwrap();
    eventually("it runs twice", || BOARD.starts(&key).len() >= 2);
    // Another program, which knows the name and the time, finds the task of that time.
    let millis = first.duration_since(std::time::UNIX_EPOCH).unwrap();
    let id = format!("cron:each-second:{}", millis.as_millis());
    let future = engine.executor().attach::<Note>(&id.parse().unwrap());
    assert_eq!(future.unwrap().get_timeout(LONG), Ok(()));
    assert!(handle.cancel().unwrap());
}
