//! What happens when tasks fail, workers vanish and builds differ.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use crate::tasks::Flaky;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use windlass_remote::engine::{Delivery, Report, Reported, TaskState, Verdict};
use windlass_remote::{
    Failure, FailureKind, OldPayload, RemoteExecutor, RemoteTask, SigningKey, TaskCx, TaskError,
    TaskExecutorService, TaskId, TaskOptions,
};

pub(crate) fn a_failed_attempt_is_repeated_when_asked(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let key = engine.key("flaky");
    let task = Flaky {
        key: key.clone(),
        succeeds_at: 3,
        panics: false,
    };
    assert_eq!(executor.submit_task(task).unwrap().get_timeout(LONG), Ok(3));
    assert_eq!(BOARD.starts(&key).len(), 3);
    assert_eq!(engine.stats(&engine.queue).unwrap().retried, 2);
}

pub(crate) fn attempts_end(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let key = engine.key("hopeless");
    let task = Flaky {
        key: key.clone(),
        succeeds_at: 9,
        panics: false,
    };
    let error = executor
        .submit_task(task)
        .unwrap()
        .get_timeout(LONG)
        .unwrap_err();
    assert_eq!(
        error.failure(),
        Some(&Failure::new(FailureKind::Task, "attempt 3"))
    );
    assert_eq!(BOARD.starts(&key).len(), 3);
}

/// Submits a task, and lets a worker start it that is never heard of again.
fn lose(engine: &UnderTest, id: &TaskId, worker: &str) -> Delivery {
    let mut fetched = engine.fetch(worker, 1).deliveries;
    assert_eq!(fetched.len(), 1);
    let delivery = fetched.pop().unwrap();
    assert_eq!(&delivery.lease.id, id);
    delivery
}

/// Waits until the engine has taken all deliveries back.
fn wait_for_reclaim(engine: &UnderTest) {
    eventually("the delivery is taken back", || {
        // A lease of 50 ms: what was not renewed since is lost.
        engine
            .tick(&engine.queue, Duration::from_millis(50), LONG)
            .unwrap();
        engine.stats(&engine.queue).unwrap().running == 0
    });
}

pub(crate) fn an_expired_lease_is_delivered_again(engine: &UnderTest) {
    let executor = engine.executor();
    let future = executor.submit_task(Add(3, 4)).unwrap();
    lose(engine, future.id(), "gone");
    let _worker = engine.worker(1);
    wait_for_reclaim_by_worker(engine);
    assert_eq!(future.get_timeout(LONG), Ok(7));
    let record = executor.record(future.id()).unwrap().unwrap();
    assert_eq!((record.deliveries, record.worker_deaths), (2, 1));
    assert_eq!(engine.stats(&engine.queue).unwrap().redelivered, 1);
}

/// Waits until a worker has taken the lost delivery over by itself.
fn wait_for_reclaim_by_worker(engine: &UnderTest) {
    eventually("the delivery is taken over", || {
        engine.stats(&engine.queue).unwrap().redelivered == 1
    });
}

pub(crate) fn an_at_most_once_task_fails_with_its_worker(engine: &UnderTest) {
    let executor = engine.executor();
    let options = TaskOptions::default().at_most_once();
    let id = TaskId::random();
    let future = executor
        .submit_with(id.clone(), Add(1, 1), options, Duration::ZERO)
        .unwrap();
    lose(engine, &id, "gone");
    wait_for_reclaim(engine);
    let error = future.get_timeout(LONG).unwrap_err();
    assert_eq!(error.failure().unwrap().kind(), FailureKind::WorkerLost);
    assert!(engine.fetch("next", 1).deliveries.is_empty());
}

pub(crate) fn a_task_that_ends_three_workers_is_a_dead_letter(engine: &UnderTest) {
    let executor = engine.executor();
    let future = executor.submit_task(Add(1, 1)).unwrap();
    for worker in ["one", "two", "three"] {
        lose(engine, future.id(), worker);
        wait_for_reclaim(engine);
    }
    let error = future.get_timeout(LONG).unwrap_err();
    assert_eq!(error.failure().unwrap().kind(), FailureKind::Poison);
    let dead = engine.dead_letters(&engine.queue, 0, 10).unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!((&dead[0].id, dead[0].state), (future.id(), TaskState::Dead));
    assert!(dead[0].payload.is_some());
}

fn report(engine: &UnderTest, delivery: &Delivery, verdict: Verdict) -> Reported {
    let report = Report {
        lease: delivery.lease.clone(),
        verdict,
    };
    engine.report(&engine.queue, &[report]).unwrap()[0]
}

fn failed() -> Verdict {
    Verdict::Failed(Failure::new(FailureKind::Task, "late"))
}

pub(crate) fn a_late_result_is_stale_and_counted(engine: &UnderTest) {
    let task = engine.new_task("late", &Add(1, 1), TaskOptions::default());
    engine.submit(&engine.queue, &[task]).unwrap();
    let first = lose(engine, &"late".parse().unwrap(), "one");
    wait_for_reclaim(engine);
    let second = lose(engine, &"late".parse().unwrap(), "two");
    assert_eq!(
        report(engine, &first, failed()),
        Reported::Stale,
        "a failure of a lost delivery"
    );
    assert_eq!(
        report(engine, &second, Verdict::Done(vec![2])),
        Reported::Accepted
    );
    assert_eq!(
        report(engine, &first, Verdict::Done(vec![1])),
        Reported::Stale
    );
    assert_eq!(report(engine, &second, failed()), Reported::Stale);
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!((stats.stale, stats.done, stats.failed), (3, 1, 0));
}

pub(crate) fn the_first_success_counts_even_if_late(engine: &UnderTest) {
    let task = engine.new_task("late", &Add(1, 1), TaskOptions::default());
    engine.submit(&engine.queue, &[task]).unwrap();
    let first = lose(engine, &"late".parse().unwrap(), "one");
    wait_for_reclaim(engine);
    assert_eq!(
        report(engine, &first, Verdict::Done(vec![1])),
        Reported::Accepted
    );
    assert!(
        engine.fetch("two", 1).deliveries.is_empty(),
        "it is not run again"
    );
    assert_eq!(engine.stats(&engine.queue).unwrap().ready, 0);
}

pub(crate) fn a_dead_letter_is_retried_or_dropped(engine: &UnderTest) {
    for id in ["a", "b"] {
        let task = engine.new_task(id, &Add(1, 1), TaskOptions::default());
        engine.submit(&engine.queue, &[task]).unwrap();
        let delivery = lose(engine, &id.parse().unwrap(), "one");
        let failure = Failure::new(FailureKind::Payload, "broken");
        assert_eq!(
            report(engine, &delivery, Verdict::Dead(failure)),
            Reported::Accepted
        );
    }
    let admin = engine.admin();
    let ids: Vec<_> = admin
        .dead_letters(0, 10)
        .unwrap()
        .into_iter()
        .map(|r| r.id)
        .collect();
    assert_eq!(
        ids,
        ["b".parse().unwrap(), "a".parse().unwrap()],
        "the latest first"
    );
    assert_eq!(admin.dead_letters(1, 10).unwrap().len(), 1);
    assert_eq!(admin.drop_dead(&ids[..1]).unwrap(), 1);
    assert_eq!(admin.task(&ids[0]).unwrap().map(|r| r.state), None);
    assert_eq!(
        admin.retry_dead(&ids).unwrap(),
        1,
        "the dropped one is gone"
    );
    let future = engine.executor().attach::<Add>(&ids[1]).unwrap();
    let _worker = engine.worker(1);
    assert_eq!(future.get_timeout(LONG), Ok(2));
    let stats = admin.stats().unwrap();
    assert_eq!((stats.dead, stats.dead_letters, stats.done), (2, 0, 1));
}

pub(crate) fn an_unknown_type_is_put_back_and_then_dead(engine: &UnderTest) {
    let executor = engine.executor();
    let future = executor.submit_task(Note(engine.key("unknown"))).unwrap();
    let limits = (Duration::from_millis(5), Duration::from_millis(200));
    let ignorant = engine
        .bare_worker(1)
        .unknown_tasks(limits.0, limits.1)
        .start()
        .unwrap();
    let error = future.get_timeout(LONG).unwrap_err();
    assert_eq!(
        error.failure(),
        Some(&Failure::new(FailureKind::Unknown, "test.note@1"))
    );
    assert!(ignorant.stats().put_back > 1);
    assert!(BOARD.starts(&engine.key("unknown")).is_empty());
}

#[derive(Serialize, Deserialize)]
struct GreetV1(String);

impl RemoteTask for GreetV1 {
    const NAME: &'static str = "test.greet";
    type Output = String;

    fn run(self, _: &TaskCx) -> Result<String, TaskError> {
        Ok(format!("v1 {}", self.0))
    }
}

#[derive(Serialize, Deserialize)]
struct GreetV2 {
    name: String,
    polite: bool,
}

impl RemoteTask for GreetV2 {
    const NAME: &'static str = "test.greet";
    const VERSION: u16 = 2;
    type Output = String;

    fn run(self, _: &TaskCx) -> Result<String, TaskError> {
        Ok(format!("v2 {} {}", self.name, self.polite))
    }

    fn upgrade(from: u16, payload: &OldPayload<'_>) -> Result<Self, TaskError> {
        assert_eq!(from, 1);
        Ok(Self {
            name: payload.decode::<GreetV1>()?.0,
            polite: false,
        })
    }
}

pub(crate) fn a_newer_version_waits_for_an_upgraded_worker(engine: &UnderTest) {
    let executor = engine.executor();
    let put_back = Duration::from_millis(5);
    let old = engine
        .bare_worker(1)
        .register::<GreetV1>()
        .unknown_tasks(put_back, LONG)
        .start()
        .unwrap();
    let future = executor
        .submit_task(GreetV2 {
            name: "Ada".into(),
            polite: true,
        })
        .unwrap();
    eventually("the old worker gives it back", || old.stats().put_back > 2);
    assert!(!future.is_done());
    let _new = engine.bare_worker(1).register::<GreetV2>().start().unwrap();
    assert_eq!(future.get_timeout(LONG).unwrap(), "v2 Ada true");
    let record = executor.record(future.id()).unwrap().unwrap();
    assert_eq!(
        (record.failures, record.worker_deaths),
        (0, 0),
        "putting back is no attempt"
    );
}

pub(crate) fn an_older_version_is_upgraded(engine: &UnderTest) {
    let executor = engine.executor();
    let future = executor.submit_task(GreetV1("Ada".into())).unwrap();
    let _new = engine.bare_worker(1).register::<GreetV2>().start().unwrap();
    assert_eq!(future.get_timeout(LONG).unwrap(), "v2 Ada false");
}

pub(crate) fn a_bad_payload_is_a_dead_letter(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    for (id, payload) in [
        ("empty", vec![]),
        ("garbage", vec![1, 1, 0, b'{']),
        ("old", vec![9, 9, 9]),
    ] {
        let mut task = engine.new_task(id, &Add(1, 1), TaskOptions::default().max_attempts(5));
        task.payload = payload;
        engine.submit(&engine.queue, &[task]).unwrap();
        let error = executor
            .attach::<Add>(&id.parse().unwrap())
            .unwrap()
            .get_timeout(LONG);
        assert_eq!(
            error.unwrap_err().failure().unwrap().kind(),
            FailureKind::Payload,
            "{id}"
        );
    }
    assert_eq!(engine.dead_letters(&engine.queue, 0, 10).unwrap().len(), 3);
}

pub(crate) fn a_task_that_waits_too_long_fails(engine: &UnderTest) {
    let executor = engine.executor();
    let options = TaskOptions::default().queue_timeout(Duration::from_millis(20));
    let key = engine.key("waits");
    let id = TaskId::random();
    let future = executor
        .submit_with(id, Note(key.clone()), options, Duration::ZERO)
        .unwrap();
    assert!(future.get_timeout(Duration::from_millis(60)).is_err());
    let _worker = engine.worker(1);
    let error = future.get_timeout(LONG).unwrap_err();
    assert_eq!(error.failure().unwrap().kind(), FailureKind::QueueTimeout);
    assert!(BOARD.starts(&key).is_empty());
}

pub(crate) fn a_task_that_runs_too_long_fails(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let options = TaskOptions::default().run_timeout(Duration::from_millis(50));
    let gate = engine.key("overdue");
    let id = TaskId::random();
    let future = executor
        .submit_with(id, Gated::new(&gate), options, Duration::ZERO)
        .unwrap();
    let error = future.get_timeout(LONG).unwrap_err();
    assert_eq!(error.failure().unwrap().kind(), FailureKind::RunTimeout);
    eventually("it was told", || {
        BOARD.starts(&format!("stopped:{gate}")).len() == 1
    });
}

pub(crate) fn a_signed_task_runs_and_an_unsigned_one_is_refused(engine: &UnderTest) {
    let key = || SigningKey::new(b"a key for tests");
    let worker = engine.bare_worker(1).register::<Add>().signing_key(key());
    let _worker = worker.start().unwrap();
    let unsigned = engine.executor().submit_task(Add(1, 1)).unwrap();
    let error = unsigned.get_timeout(LONG).unwrap_err();
    assert_eq!(error.failure().unwrap().kind(), FailureKind::Payload);
    let signing: RemoteExecutor = engine.signing_executor(key());
    assert_eq!(
        signing.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
}

pub(crate) fn a_task_that_ran_is_not_unknown_any_more(engine: &UnderTest) {
    let task = engine.new_task("t", &Add(1, 1), TaskOptions::default());
    engine.submit(&engine.queue, &[task]).unwrap();
    let fetch = || engine.fetch("w", 1).deliveries.pop().unwrap();
    let report = |delivery: Delivery, verdict| {
        let lease = delivery.lease;
        engine
            .report(&engine.queue, &[Report { lease, verdict }])
            .unwrap();
    };
    let unknown = Verdict::PutBack {
        delay: Duration::ZERO,
        unknown: true,
    };
    report(fetch(), unknown);
    eventually("it has been unknown for a while", || {
        let delivery = fetch();
        let known = delivery.unknown_for.is_zero();
        let delay = Duration::ZERO;
        let verdict = if known {
            Verdict::PutBack {
                delay,
                unknown: false,
            }
        } else {
            Verdict::Retry(Failure::new(FailureKind::Task, "no"), delay)
        };
        report(delivery, verdict);
        !known
    });
    assert_eq!(fetch().unknown_for, Duration::ZERO);
}
