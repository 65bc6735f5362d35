//! What is in a queue, a page at a time.

use crate::engines::UnderTest;
use crate::support::tasks::Add;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use windlass_remote::engine::{
    CancelMode, EngineError, MAX_PAGE, NewTask, Report, TaskState, Verdict,
};
use windlass_remote::{Failure, FailureKind, QueueName, TaskId, TaskOptions};

fn task(engine: &UnderTest, id: &str) -> NewTask {
    engine.new_task(id, &Add(1, 2), TaskOptions::default())
}

fn submit(engine: &UnderTest, queue: &QueueName, ids: &[String]) {
    for ids in ids.chunks(100) {
        let tasks: Vec<_> = ids.iter().map(|id| task(engine, id)).collect();
        engine.submit(queue, &tasks).unwrap();
    }
}

/// Reads page after page to the last one.
fn all(engine: &UnderTest, states: &[TaskState], count: usize) -> BTreeSet<String> {
    let (mut ids, mut next) = (BTreeSet::new(), None);
    for _ in 0..100_000 {
        let page = engine.list(&engine.queue, states, next.as_deref(), count);
        let page = page.unwrap();
        ids.extend(page.ids.iter().map(TaskId::to_string));
        next = page.next;
        if next.is_none() {
            return ids;
        }
    }
    panic!("there is no last page");
}

pub(crate) fn an_empty_queue_has_one_empty_page(engine: &UnderTest) {
    let others = engine.list(&engine.queue, &[], None, MAX_PAGE).unwrap();
    assert!(others.ids.is_empty(), "{others:?}");
    assert!(all(engine, &[], 100).is_empty());
    assert!(
        engine.list(&engine.queue, &[], None, 0).is_ok(),
        "one record"
    );
}

pub(crate) fn every_task_of_a_queue_is_on_a_page_and_no_other(engine: &UnderTest) {
    let ids: Vec<String> = (0..57).map(|n| format!("task:{n}")).collect();
    submit(engine, &engine.queue, &ids);
    // The same ids and others, in queues that sort before and after.
    for other in ["0", "zz"] {
        let other = format!("{other}{}", engine.queue).parse().unwrap();
        submit(engine, &other, &ids[..40]);
        submit(engine, &other, &["elsewhere".into(), "task:10:x".into()]);
    }
    let expected: BTreeSet<String> = ids.into_iter().collect();
    for count in [7, 20, 57, 1_000_000] {
        assert_eq!(all(engine, &[], count), expected, "about {count} in a page");
    }
}

pub(crate) fn tasks_are_listed_by_their_state(engine: &UnderTest) {
    let ids: Vec<String> = ["done", "failed", "dead", "running"].map(Into::into).into();
    submit(engine, &engine.queue, &ids);
    let failure = || Failure::new(FailureKind::Task, "no");
    for delivery in engine.fetch("w", 4).deliveries {
        let verdict = match delivery.lease.id.as_str() {
            "done" => Verdict::Done(vec![1]),
            "failed" => Verdict::Failed(failure()),
            "dead" => Verdict::Dead(failure()),
            _ => continue,
        };
        let lease = delivery.lease;
        let reports = [Report { lease, verdict }];
        engine.report(&engine.queue, &reports).unwrap();
    }
    submit(engine, &engine.queue, &["cancelled".into(), "ready".into()]);
    let cancelled: TaskId = "cancelled".parse().unwrap();
    let cancelled = engine.cancel(&engine.queue, &[cancelled], CancelMode::Now);
    cancelled.unwrap();
    let mut delayed = task(engine, "scheduled");
    delayed.delay = Duration::from_secs(3600);
    engine.submit(&engine.queue, &[delayed]).unwrap();

    let states = [
        TaskState::Scheduled,
        TaskState::Ready,
        TaskState::Running,
        TaskState::Done,
        TaskState::Failed,
        TaskState::Cancelled,
        TaskState::Dead,
    ];
    for state in states {
        let expected = BTreeSet::from([state.to_string()]);
        for count in [20, 100] {
            assert_eq!(all(engine, &[state], count), expected);
        }
    }
    let waiting = all(engine, &[TaskState::Ready, TaskState::Scheduled], 50);
    assert_eq!(
        waiting,
        BTreeSet::from(["ready".into(), "scheduled".into()])
    );
    assert_eq!(all(engine, &[], 25).len(), states.len());
    assert_eq!(all(engine, &states, 25).len(), states.len());
}

pub(crate) fn what_comes_and_goes_hides_nothing_that_stays(engine: &UnderTest) {
    let stays: Vec<String> = (0..300).map(|n| format!("stays:{n}")).collect();
    submit(engine, &engine.queue, &stays);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..100 {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let ids: Vec<String> = (0..100).map(|n| format!("goes:{round}:{n}")).collect();
                submit(engine, &engine.queue, &ids);
                let ids: Vec<TaskId> = ids.iter().map(|id| id.parse().unwrap()).collect();
                let cancelled = engine.cancel(&engine.queue, &ids, CancelMode::Now);
                cancelled.unwrap();
            }
        });
        let listed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for count in [20, 100, 500] {
                let ready = all(engine, &[TaskState::Ready], count);
                let missing = stays.iter().filter(|id| !ready.contains(*id)).count();
                assert_eq!(missing, 0, "about {count} in a page");
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        listed.unwrap();
    });
}

pub(crate) fn a_page_begins_where_one_of_this_engine_ended(engine: &UnderTest) {
    let refused = engine.list(&engine.queue, &[], Some("no place!"), 10);
    assert!(
        matches!(refused, Err(EngineError::Protocol(_))),
        "{refused:?}"
    );
}
