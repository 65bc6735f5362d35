//! Submitting tasks, waiting for results, picking them up.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, BOARD, Gated};
use crate::support::{LONG, eventually};
use crate::tasks::{Flaky, Text};
use std::time::Duration;
use windlass_remote::{
    AttachError, FailureKind, InvokeAnyError, RejectedReason, RemoteError, TaskExecutorService,
    TaskId,
};

pub(crate) fn a_task_returns_its_result(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(2));
    let future = executor.submit_task(Add(2, 3)).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(5));
    assert_eq!(future.get(), Ok(5), "a result is read any number of times");
}

pub(crate) fn a_failed_task_fails_its_future(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let error = executor
        .submit_task(Add(i64::MAX, 1))
        .unwrap()
        .get_timeout(LONG)
        .unwrap_err();
    let failure = error.failure().unwrap();
    assert_eq!(
        (failure.kind(), failure.message()),
        (FailureKind::Task, "overflow")
    );
}

pub(crate) fn a_panic_fails_its_future_and_nothing_else(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let task = Flaky {
        key: engine.key("panic"),
        succeeds_at: 1,
        panics: true,
    };
    let error = executor
        .submit_task(task)
        .unwrap()
        .get_timeout(LONG)
        .unwrap_err();
    let failure = error.failure().unwrap();
    assert_eq!(
        (failure.kind(), failure.message()),
        (FailureKind::Panic, "on purpose")
    );
    assert_eq!(
        executor.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
}

pub(crate) fn a_future_is_awaited(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let future = executor.submit_task(Add(20, 22)).unwrap();
    assert_eq!(pollster::block_on(future), Ok(42));
}

pub(crate) fn a_timed_wait_leaves_the_task_alone(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let gate = engine.key("timed");
    let future = executor.submit_task(Gated::new(&gate)).unwrap();
    assert_eq!(
        future.get_timeout(Duration::from_millis(20)),
        Err(RemoteError::TimedOut)
    );
    BOARD.open(&gate);
    assert_eq!(future.get_timeout(LONG), Ok(gate));
}

pub(crate) fn a_second_submission_of_an_id_is_the_first(engine: &UnderTest) {
    let (executor, other) = (engine.executor(), engine.executor());
    let gate = engine.key("twice");
    let id = TaskId::random();
    let first = executor
        .submit_task_id(id.clone(), Gated::new(&gate))
        .unwrap();
    let second = executor
        .submit_task_id(id.clone(), Gated::new("another"))
        .unwrap();
    let elsewhere = other
        .submit_task_id(id.clone(), Gated::new("a third"))
        .unwrap();
    BOARD.open(&gate);
    let _worker = engine.worker(2);
    for future in [&first, &second, &elsewhere] {
        assert_eq!(future.get_timeout(LONG), Ok(gate.clone()));
    }
    let late = other.submit_task_id(id, Gated::new("a fourth")).unwrap();
    assert_eq!(late.get_timeout(LONG), Ok(gate.clone()));
    assert_eq!(BOARD.starts(&gate).len(), 1);
    assert_eq!(engine.stats(&engine.queue).unwrap().submitted, 1);
}

pub(crate) fn a_result_is_picked_up_by_id_from_another_client(engine: &UnderTest) {
    let (executor, other) = (engine.executor(), engine.executor());
    let gate = engine.key("attach");
    let id = executor
        .submit_task(Gated::new(&gate))
        .unwrap()
        .id()
        .clone();
    let before = other.attach::<Gated>(&id).unwrap();
    assert!(!before.is_done());
    BOARD.open(&gate);
    let _worker = engine.worker(1);
    assert_eq!(before.get_timeout(LONG), Ok(gate.clone()));
    let after = engine.executor().attach::<Gated>(&id).unwrap();
    assert_eq!(after.get_timeout(LONG), Ok(gate));
}

pub(crate) fn an_unknown_id_cannot_be_attached(engine: &UnderTest) {
    let executor = engine.executor();
    assert_eq!(
        executor.attach::<Add>(&TaskId::random()).unwrap_err(),
        AttachError::NotFound
    );
    let id = executor.submit_task(Add(1, 1)).unwrap().id().clone();
    let error = executor.attach::<Gated>(&id).unwrap_err();
    assert_eq!(
        error,
        AttachError::OtherType {
            name: "test.add".into()
        }
    );
}

pub(crate) fn many_tasks_return_in_order(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(4));
    let tasks = (0..450).map(|n| Add(n, n)).collect();
    let futures = executor.submit_all(tasks).unwrap();
    let results: Vec<_> = futures
        .iter()
        .map(|f| f.get_timeout(LONG).unwrap())
        .collect();
    assert_eq!(results, (0..450).map(|n| 2 * n).collect::<Vec<_>>());
}

pub(crate) fn a_payload_beyond_the_limit_comes_back(engine: &UnderTest) {
    let executor = engine.executor();
    let rejected = executor.submit_task(Text("x".repeat(300_000))).unwrap_err();
    assert!(matches!(
        rejected.reason(),
        RejectedReason::TooLarge { limit: 262_144, .. }
    ));
    assert_eq!(rejected.into_task().0.len(), 300_000);
    assert_eq!(engine.stats(&engine.queue).unwrap().submitted, 0);
}

pub(crate) fn a_result_beyond_the_limit_fails_the_future(engine: &UnderTest) {
    let executor = engine.executor();
    let _worker = engine
        .bare_worker(1)
        .register::<Text>()
        .max_result(1_000)
        .start()
        .unwrap();
    assert!(
        executor
            .submit_task(Text("x".repeat(100)))
            .unwrap()
            .get_timeout(LONG)
            .is_ok()
    );
    let error = executor
        .submit_task(Text("x".repeat(600)))
        .unwrap()
        .get_timeout(LONG)
        .unwrap_err();
    assert_eq!(error.failure().unwrap().kind(), FailureKind::Result);
}

pub(crate) fn invoke_all_returns_when_all_are_done(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(2));
    let futures = executor
        .invoke_all((0..20).map(|n| Add(n, 1)).collect())
        .unwrap();
    assert!(futures.iter().all(|future| future.is_done()));
    assert_eq!(futures[19].get(), Ok(20));
}

pub(crate) fn invoke_all_cancels_what_is_unfinished_at_its_limit(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(2));
    let (open, shut) = (engine.key("open"), engine.key("shut"));
    BOARD.open(&open);
    let tasks = vec![Gated::new(&open), Gated::new(&shut)];
    let futures = executor
        .invoke_all_timeout(tasks, Duration::from_millis(500))
        .unwrap();
    assert_eq!(futures[0].get(), Ok(open));
    assert!(futures[1].is_cancelled());
    eventually("the task was told", || {
        BOARD.starts(&format!("stopped:{shut}")).len() == 1
    });
}

pub(crate) fn invoke_any_returns_the_first_success(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(2));
    let (open, shut) = (engine.key("any"), engine.key("never"));
    BOARD.open(&open);
    let result = executor.invoke_any(vec![Gated::new(&shut), Gated::new(&open)]);
    assert_eq!(result.unwrap(), open);
    eventually("nothing is left", || engine.is_empty());
}

pub(crate) fn invoke_any_fails_when_all_fail(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(2));
    let error = executor
        .invoke_any(vec![Add(i64::MAX, 1), Add(i64::MIN, -1)])
        .unwrap_err();
    assert!(
        matches!(error, InvokeAnyError::Failed(RemoteError::Failed(_))),
        "{error}"
    );
    assert!(matches!(
        executor.invoke_any(Vec::<Add>::new()),
        Err(InvokeAnyError::Empty)
    ));
    let limit = Duration::from_millis(50);
    let error = executor.invoke_any_timeout(vec![Gated::new(&engine.key("slow"))], limit);
    assert!(matches!(error, Err(InvokeAnyError::TimedOut)));
}
