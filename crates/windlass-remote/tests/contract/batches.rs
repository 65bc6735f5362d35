//! What is read and written for many tasks at once is what it would be for one after the other.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, Note};
use crate::support::{LONG, eventually};
use std::time::Duration;
use windlass_remote::engine::{
    DeadAction, Delivery, FetchRequest, MAX_BATCH, NewTask, Outcome, Report, Reported, Submitted,
    TaskFeed, TaskState, Verdict,
};
use windlass_remote::{Failure, FailureKind, Priority, TaskId, TaskOptions};

fn submit_adds(engine: &UnderTest, ids: &[&str]) -> Vec<Submitted> {
    let task = |id: &&str| engine.new_task(id, &Add(1, 2), TaskOptions::default());
    let tasks: Vec<_> = ids.iter().map(task).collect();
    engine.submit(&engine.queue, &tasks).unwrap()
}

fn report(delivery: &Delivery, verdict: Verdict) -> Report {
    Report {
        lease: delivery.lease.clone(),
        verdict,
    }
}

fn failure() -> Failure {
    Failure::new(FailureKind::Task, "no")
}

fn again() -> Verdict {
    Verdict::Retry(failure(), Duration::ZERO)
}

pub(crate) fn an_id_twice_in_a_batch_is_taken_once(engine: &UnderTest) {
    let answers = submit_adds(engine, &["a", "b", "a"]);
    let expected = [
        Submitted::Accepted,
        Submitted::Accepted,
        Submitted::Duplicate,
    ];
    assert_eq!(answers, expected);
    assert_eq!(submit_adds(engine, &["b", "c"])[0], Submitted::Duplicate);
    let fetched = engine.fetch("w", 10).deliveries;
    let ids: Vec<_> = fetched.iter().map(|d| d.lease.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(engine.stats(&engine.queue).unwrap().submitted, 3);
}

pub(crate) fn of_reports_on_one_delivery_in_a_batch_the_first_counts(engine: &UnderTest) {
    submit_adds(engine, &["a", "b", "c"]);
    let fetched = engine.fetch("w", 3).deliveries;
    let [a, b, c] = fetched.as_slice() else {
        panic!("{fetched:?}");
    };
    let reports = [
        report(c, Verdict::Failed(failure())),
        report(a, Verdict::Done(vec![1])),
        report(b, again()),
        report(a, Verdict::Done(vec![2])),
        report(b, again()),
        // The first success counts, also of a delivery that was given back.
        report(b, Verdict::Done(vec![3])),
        report(c, Verdict::Done(vec![4])),
    ];
    let answers = engine.report(&engine.queue, &reports).unwrap();
    let (taken, stale) = (Reported::Accepted, Reported::Stale);
    assert_eq!(answers, [taken, taken, taken, stale, stale, taken, stale]);
    let ids: Vec<_> = [a, b, c].map(|d| d.lease.id.clone()).into();
    let records = engine.look_up(&engine.queue, &ids, None).unwrap();
    let outcomes: Vec<_> = records.into_iter().map(|r| r.unwrap().outcome).collect();
    let expected = [
        Some(Outcome::Done(vec![1])),
        Some(Outcome::Done(vec![3])),
        Some(Outcome::Failed(failure())),
    ];
    assert_eq!(outcomes, expected);
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!((stats.done, stats.failed, stats.retried), (2, 1, 1));
    assert_eq!((stats.ready, stats.running, stats.stale), (0, 0, 3));
    assert!(engine.fetch("w", 3).deliveries.is_empty());
}

pub(crate) fn outcomes_of_older_deliveries_in_a_batch_are_judged_one_by_one(engine: &UnderTest) {
    submit_adds(engine, &["a", "b", "c"]);
    let first = engine.fetch("w", 3).deliveries;
    let back: Vec<_> = first.iter().map(|d| report(d, again())).collect();
    engine.report(&engine.queue, &back).unwrap();
    let second = engine.fetch("w", 3).deliveries;
    assert_eq!(second.len(), 3);
    // One of the latest delivery, one failure and one success of the first one.
    let find = |id: &str, of: &[Delivery]| {
        let found = of.iter().find(|d| d.lease.id.as_str() == id);
        found.unwrap().clone()
    };
    let reports = [
        report(&find("c", &first), Verdict::Done(vec![3])),
        report(&find("b", &first), Verdict::Failed(failure())),
        report(&find("a", &second), Verdict::Done(vec![1])),
    ];
    let answers = engine.report(&engine.queue, &reports).unwrap();
    let (taken, stale) = (Reported::Accepted, Reported::Stale);
    assert_eq!(answers, [taken, stale, taken]);
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!((stats.done, stats.running, stats.stale), (2, 1, 1));
}

pub(crate) fn a_large_payload_stays_with_its_task(engine: &UnderTest) {
    let note = Note("x".repeat(100_000));
    let task = engine.new_task("large", &note, TaskOptions::default());
    let payload = task.payload.clone();
    let id = [task.id.clone()];
    let small = engine.new_task("small", &Add(1, 2), TaskOptions::default());
    engine.submit(&engine.queue, &[task, small]).unwrap();
    let fetched = engine.fetch("w", 2).deliveries;
    assert_eq!(fetched[0].payload, payload);
    assert_ne!(fetched[1].payload, payload);
    let look_up = || {
        let records = engine.look_up(&engine.queue, &id, None).unwrap();
        records.into_iter().next().flatten().unwrap()
    };
    assert_eq!(look_up().payload.as_ref(), Some(&payload));
    let say = |delivery: &Delivery, verdict| {
        let answers = engine.report(&engine.queue, &[report(delivery, verdict)]);
        assert_eq!(answers.unwrap(), [Reported::Accepted]);
    };
    say(&fetched[0], again());
    let record = look_up();
    assert_eq!(record.payload.as_ref(), Some(&payload));
    assert_eq!(record.failure, Some(failure()));
    let second = engine.fetch("w", 1).deliveries.remove(0);
    assert_eq!((&second.payload, second.failures), (&payload, 1));
    say(&second, Verdict::Dead(failure()));
    let letters = engine.dead_letters(&engine.queue, 0, 10).unwrap();
    assert_eq!(letters[0].payload.as_ref(), Some(&payload));
    let revived = engine.settle_dead(&engine.queue, &id, DeadAction::Retry);
    assert_eq!(revived, Ok(1));
    let third = engine.fetch("w", 1).deliveries.remove(0);
    assert_eq!((&third.payload, third.failures), (&payload, 0));
    say(&third, Verdict::Done(vec![7]));
    let record = look_up();
    assert_eq!(record.state, TaskState::Done);
    assert_eq!(record.outcome, Some(Outcome::Done(vec![7])));
}

/// A batch of tasks with the largest payload of a client that has changed nothing: more than a server sends a subscriber at once.
fn large_tasks(engine: &UnderTest) -> Vec<NewTask> {
    let task = |_| NewTask {
        payload: vec![7; 256 * 1024],
        ..engine.new_task(
            TaskId::random().as_str(),
            &Add(1, 1),
            TaskOptions::default(),
        )
    };
    (0..MAX_BATCH).map(task).collect()
}

/// Fetches as many tasks as a worker has room for at the most, in calls that all succeed.
fn fetch_large(feed: &mut dyn TaskFeed) {
    let mut left = MAX_BATCH;
    eventually("all are fetched", || {
        let request = FetchRequest {
            count: left,
            wait: Duration::from_secs(5),
            lease: LONG,
            first: Priority::High,
        };
        let fetched = feed.fetch(&request).unwrap().deliveries;
        assert!(fetched.iter().all(|d| d.payload.len() == 256 * 1024));
        left -= fetched.len();
        left == 0
    });
}

pub(crate) fn many_large_payloads_are_fetched(engine: &UnderTest) {
    engine.submit(&engine.queue, &large_tasks(engine)).unwrap();
    let mut feed = engine.tasks(&engine.queue, "w").unwrap();
    fetch_large(&mut *feed);
    assert_eq!(engine.stats(&engine.queue).unwrap().running, 200);
}

pub(crate) fn many_large_payloads_reach_a_worker_that_waits(engine: &UnderTest) {
    let mut feed = engine.tasks(&engine.queue, "w").unwrap();
    // From now on an engine may hand tasks over as they are submitted.
    let request = FetchRequest {
        count: MAX_BATCH,
        wait: Duration::from_millis(1),
        lease: LONG,
        first: Priority::High,
    };
    assert!(feed.fetch(&request).unwrap().deliveries.is_empty());
    engine.submit(&engine.queue, &large_tasks(engine)).unwrap();
    fetch_large(&mut *feed);
    assert_eq!(engine.stats(&engine.queue).unwrap().running, 200);
}
