//! Bounds, pause, priorities, and limits of a type.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use std::time::{Duration, Instant};
use windlass_remote::engine::{
    CancelMode, Delivery, EngineError, Report, TaskState, TypeLimit, Verdict,
};
use windlass_remote::{Priority, RejectedReason, TaskExecutorService, TaskId, TaskOptions};

pub(crate) fn a_full_queue_rejects(engine: &UnderTest) {
    let (executor, other) = (engine.executor(), engine.executor());
    engine.admin().set_capacity(Some(2)).unwrap();
    let first = executor.submit_task(Add(1, 1)).unwrap();
    let delayed = executor.schedule(LONG, Add(2, 2)).unwrap();
    let rejected = other.submit_task(Add(3, 3)).unwrap_err();
    assert_eq!(rejected.reason(), &RejectedReason::Full { capacity: 2 });
    assert_eq!(rejected.into_task(), Add(3, 3));
    let rejected = executor.invoke_all(vec![Add(4, 4), Add(5, 5)]).unwrap_err();
    assert_eq!(rejected.into_task().len(), 2);
    assert!(delayed.cancel().unwrap());
    assert!(
        other.submit_task(Add(3, 3)).is_ok(),
        "a cancelled task makes room"
    );
    let _worker = engine.worker(1);
    assert_eq!(first.get_timeout(LONG), Ok(2));
    engine.admin().set_capacity(None).unwrap();
    assert_eq!(engine.stats(&engine.queue).unwrap().refused, 3);
    assert!(
        executor
            .submit_all((0..5).map(|n| Add(n, n)).collect())
            .is_ok()
    );
}

pub(crate) fn a_closed_queue_rejects(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    engine.admin().close().unwrap();
    let rejected = executor.submit_task(Add(1, 1)).unwrap_err();
    assert_eq!(rejected.reason(), &RejectedReason::Closed);
    engine.admin().open().unwrap();
    assert_eq!(
        executor.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
}

pub(crate) fn a_paused_queue_starts_nothing(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(2));
    engine.admin().pause().unwrap();
    let key = engine.key("paused");
    let futures: Vec<_> = (0..5)
        .map(|n| executor.submit_task(Note(format!("{key}/{n}"))).unwrap())
        .collect();
    assert!(futures[0].get_timeout(Duration::from_millis(300)).is_err());
    assert!(BOARD.starts(&key).is_empty());
    assert_eq!(engine.stats(&engine.queue).unwrap().ready, 5);
    engine.admin().resume().unwrap();
    for future in futures {
        assert_eq!(future.get_timeout(LONG), Ok(()));
    }
}

pub(crate) fn urgent_tasks_start_first(engine: &UnderTest) {
    let executor = engine.executor();
    let key = engine.key("urgent");
    let mut futures = Vec::new();
    for (priority, name) in [
        (Priority::Low, "c"),
        (Priority::Normal, "b"),
        (Priority::High, "a"),
    ] {
        let options = TaskOptions::default().priority(priority);
        let task = Note(format!("{key}/{name}"));
        futures.push(
            executor
                .submit_with(TaskId::random(), task, options, Duration::ZERO)
                .unwrap(),
        );
    }
    let _worker = engine.worker(1);
    for future in futures {
        future.get_timeout(LONG).unwrap();
    }
    assert_eq!(
        BOARD.starts(&key),
        ["a", "b", "c"].map(|name| format!("{key}/{name}"))
    );
}

pub(crate) fn no_more_of_a_type_run_than_allowed(engine: &UnderTest) {
    let executor = engine.executor();
    engine
        .admin()
        .limit_concurrency("test.gated", Some(2))
        .unwrap();
    let gates: Vec<_> = (0..6)
        .map(|n| engine.key(&format!("limited/{n}.")))
        .collect();
    let futures: Vec<_> = gates
        .iter()
        .map(|gate| executor.submit_task(Gated::new(gate)).unwrap())
        .collect();
    let _workers = (engine.worker(4), engine.worker(4));
    let started = || BOARD.starts(&engine.key("limited/")).len();
    eventually("two run", || started() == 2);
    // Another type is not held up, and shows that the workers have gone on.
    assert_eq!(
        executor.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
    assert_eq!(
        (started(), engine.stats(&engine.queue).unwrap().running),
        (2, 2)
    );
    let first = BOARD.starts(&engine.key("limited/"))[0].clone();
    BOARD.open(&first);
    eventually("a third starts", || started() == 3);
    gates.iter().for_each(|gate| BOARD.open(gate));
    for future in futures {
        assert!(future.get_timeout(LONG).is_ok());
    }
}

/// Starts one task of a type that may run once at a time, and has two others wait for its end; returns its delivery.
fn park_two(engine: &UnderTest, first: TaskOptions) -> Delivery {
    engine
        .admin()
        .limit_concurrency("test.add", Some(1))
        .unwrap();
    let submit = |id: &str, options| {
        let task = engine.new_task(id, &Add(1, 1), options);
        engine.submit(&engine.queue, &[task]).unwrap();
    };
    submit("x", TaskOptions::default());
    let running = engine.fetch("w", 5).deliveries.pop().unwrap();
    submit("a", first);
    submit("b", TaskOptions::default());
    assert!(engine.fetch("w", 5).deliveries.is_empty(), "both wait");
    running
}

fn end(engine: &UnderTest, delivery: Delivery) {
    let report = Report {
        lease: delivery.lease,
        verdict: Verdict::Done(Vec::new()),
    };
    engine.report(&engine.queue, &[report]).unwrap();
}

fn next_is_b(engine: &UnderTest) {
    let fetched = engine.fetch("w", 5).deliveries;
    let ids: Vec<_> = fetched.iter().map(|d| d.lease.id.as_str()).collect();
    assert_eq!(ids, ["b"]);
}

pub(crate) fn a_cancelled_task_does_not_use_up_the_end_it_waited_for(engine: &UnderTest) {
    let running = park_two(engine, TaskOptions::default());
    let id = "a".parse().unwrap();
    engine
        .cancel(&engine.queue, &[id], CancelMode::IfNotStarted)
        .unwrap();
    end(engine, running);
    next_is_b(engine);
}

pub(crate) fn a_task_that_waited_too_long_does_not_use_up_the_end_it_waited_for(
    engine: &UnderTest,
) {
    let limit = Duration::from_millis(600);
    let begun = Instant::now();
    let running = park_two(engine, TaskOptions::default().queue_timeout(limit));
    // The engine has a clock of its own, which may be read a little earlier.
    eventually("it has waited too long", || begun.elapsed() > 2 * limit);
    end(engine, running);
    next_is_b(engine);
}

/// So many that a worker with little room would need minutes if it paused after each look.
const MANY: usize = 5_000;

pub(crate) fn cancelled_tasks_hold_up_nobody(engine: &UnderTest) {
    let executor = engine.executor();
    executor
        .submit_all((0..MANY).map(|_| Add(0, 0)).collect())
        .unwrap();
    assert_eq!(executor.shutdown_now().len(), MANY);
    let future = engine.executor().submit_task(Add(1, 2)).unwrap();
    let _worker = engine.worker(1);
    assert_eq!(future.get_timeout(LONG), Ok(3));
}

pub(crate) fn tasks_at_their_limit_hold_up_no_other_type(engine: &UnderTest) {
    let executor = engine.executor();
    engine
        .admin()
        .limit_concurrency("test.gated", Some(1))
        .unwrap();
    let gate = engine.key("many");
    executor
        .submit_all((0..MANY).map(|_| Gated::new(&gate)).collect())
        .unwrap();
    let other = executor.submit_task(Add(1, 2)).unwrap();
    let _worker = engine.worker(2);
    assert_eq!(other.get_timeout(LONG), Ok(3));
    // It was started before the other, and may still be on its way to a thread.
    eventually("one runs", || !BOARD.starts(&gate).is_empty());
    assert_eq!(BOARD.starts(&gate).len(), 1);
    executor.shutdown_now();
}

pub(crate) fn starts_of_a_type_keep_their_distance(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(4));
    engine
        .admin()
        .limit_rate("test.note", Duration::from_millis(60), 2)
        .unwrap();
    let key = engine.key("rate");
    let begun = Instant::now();
    let tasks = (0..6).map(|n| Note(format!("{key}/{n}"))).collect();
    for future in executor.invoke_all(tasks).unwrap() {
        assert_eq!(future.get(), Ok(()));
    }
    // Two at once, then four with 60 ms between.
    assert!(
        begun.elapsed() >= Duration::from_millis(4 * 60 - 5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(BOARD.starts(&key).len(), 6);
}

pub(crate) fn the_longest_times_are_no_short_ones(engine: &UnderTest) {
    let (executor, worker) = (engine.executor(), engine.worker(2));
    let (longest, id) = (Duration::MAX, TaskId::random());
    let waits = executor.schedule(longest, Add(1, 1)).unwrap();
    let options = TaskOptions::default()
        .retention(longest)
        .queue_timeout(longest)
        .run_timeout(longest);
    let kept = executor.submit_with(id, Add(1, 2), options, Duration::ZERO);
    assert_eq!(kept.as_ref().unwrap().get_timeout(LONG), Ok(3));
    engine.tick(&engine.queue, LONG, LONG).unwrap();
    assert!(executor.record(kept.unwrap().id()).unwrap().is_some());
    let admin = engine.admin();
    for burst in [1, u32::MAX] {
        admin.limit_rate("test.note", longest, burst).unwrap();
        let key = engine.key(&format!("longest/{burst}"));
        let first = executor.submit_task(Note(format!("{key}/1"))).unwrap();
        assert_eq!(first.get_timeout(LONG), Ok(()));
        let second = executor.submit_task(Note(format!("{key}/2"))).unwrap();
        // Of another type: the queue goes on.
        let other = executor.submit_task(Add(2, 2)).unwrap();
        assert_eq!(other.get_timeout(LONG), Ok(4));
        admin.limit("test.note", TypeLimit::default()).unwrap();
        if burst == 1 {
            assert!(second.cancel().unwrap(), "it starts years later");
        } else {
            assert_eq!(second.get_timeout(LONG), Ok(()));
        }
    }
    let record = executor.record(waits.id()).unwrap().unwrap();
    assert_eq!(record.state, TaskState::Scheduled);
    assert!(waits.cancel().unwrap());
    assert!(
        admin
            .dead_letters(usize::MAX, usize::MAX)
            .unwrap()
            .is_empty()
    );
    let refused = admin.limit_concurrency("no name\0", Some(1));
    assert!(matches!(refused, Err(EngineError::Protocol(_))));
    assert_eq!(worker.stats().last_engine_error, None);
}

pub(crate) fn counts_agree_with_what_happened(engine: &UnderTest) {
    let executor = engine.executor();
    let cancelled = executor.submit_task(Add(0, 0)).unwrap();
    assert!(cancelled.cancel().unwrap());
    let _worker = engine.worker(2);
    executor
        .invoke_all((0..10).map(|n| Add(n, n)).collect())
        .unwrap();
    executor.invoke_all(vec![Add(i64::MAX, 1)]).unwrap();
    let delayed = executor.schedule(LONG, Add(1, 1)).unwrap();
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!(
        (stats.submitted, stats.done, stats.failed, stats.cancelled),
        (13, 10, 1, 1)
    );
    assert_eq!(
        (stats.scheduled, stats.ready, stats.running, stats.dead),
        (1, 0, 0, 0)
    );
    assert!(delayed.cancel().unwrap());
    assert!(engine.is_empty());
    assert!(engine.queues().unwrap().contains(&engine.queue));
}

pub(crate) fn what_waits_is_told_by_priority_with_its_age(engine: &UnderTest) {
    let levels = || engine.backlog(&engine.queue).unwrap();
    let ready = || levels().iter().map(|level| level.ready).collect::<Vec<_>>();
    // An engine that does not know it says so.
    if levels().is_empty() {
        return;
    }
    assert_eq!(ready(), [0, 0, 0]);
    assert!(levels().iter().all(|level| level.oldest.is_none()));
    for (id, priority) in [
        ("a", Priority::High),
        ("b", Priority::High),
        ("c", Priority::Low),
    ] {
        let options = TaskOptions::default().priority(priority);
        let task = engine.new_task(id, &Add(1, 1), options);
        engine.submit(&engine.queue, &[task]).unwrap();
    }
    assert_eq!(ready(), [2, 0, 1]);
    eventually("they grow old", || {
        let old = |at: usize| levels()[at].oldest >= Some(Duration::from_millis(1));
        old(0) && old(2) && levels()[1].oldest.is_none()
    });
    // What a worker has is not what waits.
    assert_eq!(engine.fetch("w", 1).deliveries.len(), 1);
    assert_eq!(ready(), [1, 0, 1]);
    assert!(levels()[0].oldest.is_some());
    assert_eq!(engine.fetch("w", 2).deliveries.len(), 2);
    assert_eq!(ready(), [0, 0, 0]);
    assert!(levels().iter().all(|level| level.oldest.is_none()));
}
