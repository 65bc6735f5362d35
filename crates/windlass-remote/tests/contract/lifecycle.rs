//! Cancelling, and the end of an executor.

use crate::engines::UnderTest;
use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use std::time::{Duration, Instant};
use windlass_remote::engine::TaskState;
use windlass_remote::{RejectedReason, RemoteError, TaskExecutorService};

pub(crate) fn a_queued_task_is_cancelled_before_it_starts(engine: &UnderTest) {
    let executor = engine.executor();
    let key = engine.key("queued");
    let future = executor.submit_task(Note(key.clone())).unwrap();
    assert!(future.cancel().unwrap());
    assert!(future.is_done() && future.is_cancelled());
    assert_eq!(future.get(), Err(RemoteError::Cancelled));
    assert!(!future.cancel().unwrap(), "a second cancel changes nothing");
    let _worker = engine.worker(1);
    assert_eq!(
        executor.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
    assert!(BOARD.starts(&key).is_empty());
}

pub(crate) fn cancel_now_stops_a_running_task_and_drops_its_result(engine: &UnderTest) {
    let (executor, worker) = (engine.executor(), engine.worker(1));
    let gate = engine.key("now");
    let future = executor.submit_task(Gated::new(&gate)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    assert!(future.cancel_now().unwrap());
    assert_eq!(future.get(), Err(RemoteError::Cancelled));
    eventually("it was told", || {
        BOARD.starts(&format!("stopped:{gate}")).len() == 1
    });
    eventually("its report is stale", || worker.stats().stale == 1);
    let record = executor.record(future.id()).unwrap().unwrap();
    assert_eq!(record.state, TaskState::Cancelled);
    assert_eq!(engine.stats(&engine.queue).unwrap().stale, 1);
}

pub(crate) fn a_scheduled_task_is_cancelled(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let key = engine.key("scheduled");
    let future = executor
        .schedule(Duration::from_millis(150), Note(key.clone()))
        .unwrap();
    assert!(future.cancel().unwrap());
    let after = executor
        .schedule(Duration::from_millis(300), Add(1, 1))
        .unwrap();
    assert_eq!(after.get_timeout(LONG), Ok(2));
    assert!(BOARD.starts(&key).is_empty());
    assert_eq!(engine.stats(&engine.queue).unwrap().scheduled, 0);
}

/// Waits from no time to five milliseconds, so that every state of a task is met on every engine.
fn pause(round: u64) {
    let until = Instant::now() + Duration::from_micros(round % 25 * 200);
    while Instant::now() < until {
        std::thread::yield_now();
    }
}

pub(crate) fn cancelling_races_with_starting_without_contradiction(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(4));
    let key = engine.key("race");
    let (mut cancelled, mut ran) = (0, 0);
    // As many rounds as it takes to meet both outcomes, on a machine of any speed.
    let until = Instant::now() + LONG;
    let mut n = 0;
    while n < 300 || (cancelled == 0 || ran == 0) && Instant::now() < until {
        // These take the places of the worker: an engine may start a task for an idle worker as it is submitted.
        let before = (0..4).map(|place| Note(format!("{key}/{n}-{place}.")));
        let before = executor.submit_all(before.collect()).unwrap();
        let future = executor.submit_task(Note(format!("{key}/{n}."))).unwrap();
        pause(n);
        let done = future.cancel().unwrap();
        let outcome = future.get_timeout(LONG);
        let starts = BOARD.starts(&format!("{key}/{n}.")).len();
        if done {
            assert_eq!(
                (outcome, starts),
                (Err(RemoteError::Cancelled), 0),
                "task {n}"
            );
            cancelled += 1;
        } else {
            assert_eq!((outcome, starts), (Ok(()), 1), "task {n}");
            ran += 1;
        }
        for other in before {
            assert_eq!(other.get_timeout(LONG), Ok(()));
        }
        n += 1;
    }
    assert!(cancelled > 0 && ran > 0, "{cancelled} and {ran}");
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!(
        (stats.cancelled, stats.done, stats.ready),
        (cancelled, ran + 4 * n, 0)
    );
}

pub(crate) fn cancelling_now_races_with_the_outcome_without_contradiction(engine: &UnderTest) {
    let (executor, worker) = (engine.executor(), engine.worker(4));
    let (mut cancelled, mut ran) = (0, 0);
    let until = Instant::now() + LONG;
    let mut n = 0;
    while n < 200 || (cancelled == 0 || ran == 0) && Instant::now() < until {
        let gate = engine.key(&format!("report/{n}."));
        let future = executor.submit_task(Gated::new(&gate)).unwrap();
        eventually("it runs", || BOARD.starts(&gate).len() == 1);
        // Its report and the request to cancel it are under way at the same time.
        BOARD.open(&gate);
        pause(n);
        let done = future.cancel_now().unwrap();
        let outcome = future.get_timeout(LONG);
        let record = executor.record(future.id()).unwrap().unwrap();
        if done {
            assert_eq!(
                (outcome, record.state),
                (Err(RemoteError::Cancelled), TaskState::Cancelled),
                "task {n}"
            );
            cancelled += 1;
        } else {
            assert_eq!(
                (outcome, record.state),
                (Ok(gate), TaskState::Done),
                "task {n}"
            );
            ran += 1;
        }
        n += 1;
    }
    assert!(cancelled > 0 && ran > 0, "{cancelled} and {ran}");
    eventually("every report has come", || worker.stats().running == 0);
    let stats = engine.stats(&engine.queue).unwrap();
    assert_eq!((stats.cancelled, stats.done), (cancelled, ran));
    assert_eq!((stats.ready, stats.running, stats.failed), (0, 0, 0));
}

pub(crate) fn shutdown_rejects_and_lets_run(engine: &UnderTest) {
    let executor = engine.executor();
    let future = executor.submit_task(Add(4, 5)).unwrap();
    executor.shutdown();
    let rejected = executor.submit_task(Add(1, 1)).unwrap_err();
    assert_eq!(
        (rejected.reason(), executor.is_terminated()),
        (&RejectedReason::Shutdown, false)
    );
    assert_eq!(rejected.into_task(), Add(1, 1));
    let _worker = engine.worker(1);
    assert_eq!(future.get_timeout(LONG), Ok(9));
    assert!(executor.await_termination(LONG) && executor.is_terminated());
    assert!(
        engine.executor().submit_task(Add(1, 1)).is_ok(),
        "other clients go on"
    );
}

pub(crate) fn shutdown_now_cancels_and_returns_what_had_not_started(engine: &UnderTest) {
    let (executor, _worker) = (engine.executor(), engine.worker(1));
    let gate = engine.key("shutdown");
    let running = executor.submit_task(Gated::new(&gate)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    let queued = executor.submit_task(Add(1, 1)).unwrap();
    let other = engine.executor().submit_task(Add(2, 2)).unwrap();
    assert_eq!(executor.shutdown_now(), [queued.id().clone()]);
    assert!(running.is_cancelled() && queued.is_cancelled());
    assert!(executor.await_termination(LONG));
    assert_eq!(
        other.get_timeout(LONG),
        Ok(4),
        "tasks of other clients are left alone"
    );
}

pub(crate) fn shutdown_now_leaves_attached_tasks_alone(engine: &UnderTest) {
    let (owner, visitor) = (engine.executor(), engine.executor());
    let task = owner.submit_task(Add(1, 2)).unwrap();
    let attached = visitor.attach::<Add>(task.id()).unwrap();
    let own = visitor.submit_task(Add(3, 4)).unwrap();
    assert_eq!(visitor.shutdown_now(), [own.id().clone()]);
    assert!(own.is_done() && !attached.is_done());
    assert!(
        visitor.is_terminated(),
        "what is another's is not waited for"
    );
    let _worker = engine.worker(1);
    assert_eq!(attached.get_timeout(LONG), Ok(3));
    assert_eq!(task.get_timeout(LONG), Ok(3));
}

pub(crate) fn the_longest_wait_is_no_panic(engine: &UnderTest) {
    let (executor, _worker) = (engine.patient_executor(), engine.worker(1));
    let future = executor.submit_task(Add(1, 2)).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| executor.await_termination(Duration::MAX));
        assert_eq!(future.get_timeout(Duration::MAX), Ok(3));
        executor.shutdown();
        assert!(waiting.join().unwrap());
    });
    assert!(executor.await_termination(Duration::MAX));
}
