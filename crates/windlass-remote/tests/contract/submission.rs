//! Submitting tasks, waiting for results, picking them up.

use crate::engines::UnderTest;
use crate::support::LONG;
use crate::support::tasks::{Add, BOARD, Gated};
use crate::tasks::Text;
use windlass_remote::{AttachError, FailureKind, RejectedReason, TaskExecutorService, TaskId};

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

pub(crate) fn a_watcher_gets_no_payload(engine: &UnderTest) {
    let future = engine.executor().submit_task(Add(1, 1)).unwrap();
    let ids = [future.id().clone()];
    let payload = |watcher| {
        let found = engine.look_up(&engine.queue, &ids, watcher).unwrap();
        found[0].as_ref().unwrap().payload.clone()
    };
    assert!(payload(None).is_some_and(|payload| !payload.is_empty()));
    assert_eq!(payload(Some("watcher")), None);
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
