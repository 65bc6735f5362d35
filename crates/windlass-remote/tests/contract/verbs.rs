//! The verbs of `TaskExecutorService`, on the local pool and on every engine.

use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use crate::tasks::Flaky;
use std::time::Duration;
use windlass_remote::{
    AttachError, FailureKind, InvokeAnyError, RejectedReason, RemoteError, TaskExecutorService,
    TaskId, TaskOptions,
};

/// Makes keys for the board that no other test uses.
pub(crate) type Key<'a> = &'a dyn Fn(&str) -> String;

pub(crate) fn a_task_returns_its_result(executor: &impl TaskExecutorService, _: Key<'_>) {
    let future = executor.submit_task(Add(2, 3)).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(5));
    assert_eq!(future.get(), Ok(5), "a result is read any number of times");
}

pub(crate) fn a_failed_task_fails_its_future(executor: &impl TaskExecutorService, _: Key<'_>) {
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

pub(crate) fn a_panic_fails_its_future_and_nothing_else(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let task = Flaky {
        key: key("panic"),
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

pub(crate) fn a_future_is_awaited(executor: &impl TaskExecutorService, _: Key<'_>) {
    let future = executor.submit_task(Add(20, 22)).unwrap();
    assert_eq!(pollster::block_on(future), Ok(42));
}

pub(crate) fn a_timed_wait_leaves_the_task_alone(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let gate = key("timed");
    let future = executor.submit_task(Gated::new(&gate)).unwrap();
    assert_eq!(
        future.get_timeout(Duration::from_millis(20)),
        Err(RemoteError::TimedOut)
    );
    BOARD.open(&gate);
    assert_eq!(future.get_timeout(LONG), Ok(gate));
}

pub(crate) fn many_tasks_return_in_order(executor: &impl TaskExecutorService, _: Key<'_>) {
    let tasks = (0..450).map(|n| Add(n, n)).collect();
    let futures = executor.submit_all(tasks).unwrap();
    let results: Vec<_> = futures
        .iter()
        .map(|f| f.get_timeout(LONG).unwrap())
        .collect();
    assert_eq!(results, (0..450).map(|n| 2 * n).collect::<Vec<_>>());
}

pub(crate) fn invoke_all_returns_when_all_are_done(
    executor: &impl TaskExecutorService,
    _: Key<'_>,
) {
    let futures = executor
        .invoke_all((0..20).map(|n| Add(n, 1)).collect())
        .unwrap();
    assert!(futures.iter().all(|future| future.is_done()));
    assert_eq!(futures[19].get(), Ok(20));
}

pub(crate) fn invoke_all_cancels_what_is_unfinished_at_its_limit(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let (open, shut) = (key("open"), key("shut"));
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

pub(crate) fn invoke_any_returns_the_first_success(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let (open, shut) = (key("any"), key("never"));
    BOARD.open(&open);
    let result = executor.invoke_any(vec![Gated::new(&shut), Gated::new(&open)]);
    assert_eq!(result.unwrap(), open);
    executor.shutdown();
    assert!(executor.await_termination(LONG), "nothing is left");
}

pub(crate) fn invoke_any_fails_when_all_fail(executor: &impl TaskExecutorService, key: Key<'_>) {
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
    let error = executor.invoke_any_timeout(vec![Gated::new(&key("slow"))], limit);
    assert!(matches!(error, Err(InvokeAnyError::TimedOut)));
}

pub(crate) fn a_running_task_is_not_cancelled_by_cancel(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let gate = key("running");
    let future = executor.submit_task(Gated::new(&gate)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    assert!(!future.cancel().unwrap());
    BOARD.open(&gate);
    assert_eq!(future.get_timeout(LONG), Ok(gate));
}

pub(crate) fn a_finished_task_is_not_cancelled(executor: &impl TaskExecutorService, _: Key<'_>) {
    let future = executor.submit_task(Add(1, 2)).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(3));
    assert!(!future.cancel_now().unwrap());
    let other = executor.attach::<Add>(future.id()).unwrap();
    assert!(!other.cancel_now().unwrap());
    assert_eq!(other.get(), Ok(3));
}

pub(crate) fn await_termination_waits_for_every_task(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let gate = key("await");
    let options = TaskOptions::default();
    let id = windlass_remote::TaskId::random();
    drop(
        executor
            .submit_with(id, Gated::new(&gate), options, Duration::ZERO)
            .unwrap(),
    );
    executor.shutdown();
    assert!(!executor.await_termination(Duration::from_millis(50)));
    BOARD.open(&gate);
    assert!(executor.await_termination(LONG));
}

pub(crate) fn a_task_has_its_own_id_and_rules(executor: &impl TaskExecutorService, key: Key<'_>) {
    let (id, key) = (TaskId::random(), key("rules"));
    let task = |succeeds_at| Flaky {
        key: key.clone(),
        succeeds_at,
        panics: false,
    };
    let once = TaskOptions::default().max_attempts(1);
    let delay = Duration::from_millis(5);
    let future = executor
        .submit_with(id.clone(), task(2), once, delay)
        .unwrap();
    assert_eq!(future.id(), &id);
    assert!(
        future.get_timeout(LONG).is_err(),
        "by its own rules it fails"
    );
    let second = executor.submit_task_id(id.clone(), task(1)).unwrap();
    assert!(second.get_timeout(LONG).is_err(), "one id is one task");
    assert_eq!(BOARD.starts(&key).len(), 1);
    let error = executor.attach::<Add>(&id).unwrap_err();
    assert!(matches!(error, AttachError::OtherType { .. }));
    let gone = executor.attach::<Add>(&TaskId::random()).unwrap_err();
    assert_eq!(gone, AttachError::NotFound);
}

pub(crate) fn a_schedule_runs_until_it_is_cancelled(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let (key, pause) = (key("schedule"), Duration::from_millis(10));
    let delayed = executor.schedule(pause, Add(1, 1)).unwrap();
    assert_eq!(delayed.get_timeout(LONG), Ok(2));
    let schedule = executor
        .schedule_with_fixed_delay("verbs", pause, pause, Note(key.clone()))
        .unwrap();
    eventually("it runs twice", || BOARD.starts(&key).len() >= 2);
    assert!(schedule.cancel().unwrap());
}

pub(crate) fn an_executor_that_is_shut_down_rejects(
    executor: &impl TaskExecutorService,
    key: Key<'_>,
) {
    let gate = key("end");
    let running = executor.submit_task(Gated::new(&gate)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    assert!(!executor.is_shutdown());
    let not_started = executor.shutdown_now();
    assert!(not_started.is_empty() && running.is_cancelled());
    let rejected = executor.submit_task(Add(7, 7)).unwrap_err();
    assert_eq!(rejected.reason(), &RejectedReason::Shutdown);
    assert_eq!(rejected.into_task(), Add(7, 7));
    assert!(executor.await_termination(LONG) && executor.is_terminated());
}
