//! One program, three executors: the local pool, a queue in memory, a queue on Redis.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "support/mod.rs"]
mod support;

use std::time::Duration;
use support::tasks::{Add, BOARD, Gated, Note};
use support::{LONG, eventually};
use windlass_remote::engine::{Engine, MemoryEngine};
use windlass_remote::{
    LocalExecutor, RejectedReason, RemoteError, RemoteExecutor, RemoteWorker, TaskExecutorService,
    TaskId,
};

/// Uses every verb of the trait.
fn program(executor: &impl TaskExecutorService, key: &str) {
    let id: TaskId = "order:1".parse().unwrap();
    let first = executor.submit_task_id(id.clone(), Add(1, 2)).unwrap();
    assert_eq!(first.get_timeout(LONG), Ok(3));
    assert_eq!(
        executor
            .submit_task_id(id, Add(5, 5))
            .unwrap()
            .get_timeout(LONG),
        Ok(3)
    );
    let all = executor
        .invoke_all((0..10).map(|n| Add(n, n)).collect())
        .unwrap();
    assert_eq!(all.iter().map(|f| f.get().unwrap()).sum::<i64>(), 90);
    assert_eq!(
        executor
            .invoke_any(vec![Add(i64::MAX, 1), Add(2, 2)])
            .unwrap(),
        4
    );
    let delayed = executor
        .schedule(Duration::from_millis(20), Add(1, 1))
        .unwrap();
    assert_eq!(pollster::block_on(delayed), Ok(2));
    let pause = Duration::from_millis(10);
    let ticking = executor
        .schedule_at_fixed_rate("tick", pause, pause, Note(key.into()))
        .unwrap();
    eventually("it ticks", || BOARD.starts(key).len() >= 3);
    assert!(ticking.cancel().unwrap());
    let gated = executor
        .submit_task(Gated::new(&format!("gate/{key}")))
        .unwrap();
    assert_eq!(
        gated.get_timeout(Duration::from_millis(30)),
        Err(RemoteError::TimedOut)
    );
    assert!(gated.cancel_now().unwrap());
    assert_eq!(gated.get(), Err(RemoteError::Cancelled));
    executor.shutdown();
    let rejected = executor.submit_task(Add(7, 7)).unwrap_err();
    assert_eq!(rejected.reason(), &RejectedReason::Shutdown);
    assert_eq!(rejected.into_task(), Add(7, 7));
    assert!(executor.await_termination(LONG) && executor.is_terminated());
}

fn on_engine<E: Engine + Clone>(engine: &E, key: &str) {
    let pool = windlass::executors::fixed_thread_pool(4).unwrap();
    let worker = RemoteWorker::builder(engine.clone()).pool(pool);
    let worker = worker
        .register::<Add>()
        .register::<Note>()
        .register::<Gated>()
        .start()
        .unwrap();
    program(&RemoteExecutor::new(engine.clone()), key);
    assert!(worker.shutdown(LONG));
}

#[test]
fn a_program_runs_on_a_local_pool() {
    program(&LocalExecutor::fixed(4).unwrap(), "local");
}

#[test]
fn the_same_program_runs_on_a_queue_in_memory() {
    on_engine(&MemoryEngine::new(), "memory");
}

#[cfg(feature = "redis")]
#[test]
fn the_same_program_runs_on_redis() {
    if let Some(server) = support::server::RedisServer::start(&[]) {
        on_engine(&server.engine(), "redis");
    }
}

#[test]
fn a_dropped_local_executor_lets_its_tasks_run_on() {
    let executor = LocalExecutor::fixed(1).unwrap();
    BOARD.open("dropped");
    let futures: Vec<_> = (0..20)
        .map(|_| executor.submit_task(Gated::new("dropped")).unwrap())
        .collect();
    drop(executor);
    for future in futures {
        assert_eq!(future.get_timeout(LONG).unwrap(), "dropped");
    }
}

#[test]
fn a_future_that_cancels_on_drop_does() {
    let engine = MemoryEngine::new();
    let executor = RemoteExecutor::new(engine.clone());
    let id = executor
        .submit_task(Add(1, 1))
        .unwrap()
        .cancel_on_drop()
        .id()
        .clone();
    let other = executor.submit_task(Add(1, 1)).unwrap().id().clone();
    let state = |id| executor.record(id).unwrap().unwrap().state;
    assert_eq!(state(&id), windlass_remote::engine::TaskState::Cancelled);
    assert_eq!(state(&other), windlass_remote::engine::TaskState::Ready);
}
