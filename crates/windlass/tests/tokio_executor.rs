//! A tokio runtime as an executor service. `executor_service.rs` runs the general contract on it.

#![cfg(feature = "tokio")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use windlass::error::RejectionReason;
use windlass::executors::TokioExecutor;
use windlass::prelude::*;
use windlass::shutdown::{PoolEnd, ShutdownPlan};
use windlass::task::Cancellation;
use windlass::testing::{Gate, PATIENCE};
use windlass::{CompletionService, RunningTask, interrupt};

/// A runtime with one blocking thread.
fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap()
}

fn executor(runtime: &Runtime) -> TokioExecutor {
    TokioExecutor::new(runtime.handle().clone())
}

/// WL-154
#[test]
fn a_stop_returns_what_the_runtime_has_not_started_and_interrupts_the_rest() {
    let runtime = runtime();
    let executor = executor(&runtime);
    let gate = Gate::new();
    let passed = gate.clone();
    let running = executor.submit(move || passed.pass().is_err()).unwrap();
    gate.await_waiting(1);
    let queued: Vec<_> = (0..3)
        .map(|n| executor.submit(move || n).unwrap())
        .collect();
    assert_eq!(executor.task_count(), 4);
    let mut returned = executor.shutdown_now().into_iter();
    assert!(running.join().unwrap());
    assert_eq!(executor.await_termination(PATIENCE), Ok(true));
    assert!(
        returned
            .as_slice()
            .iter()
            .map(windlass::Task::id)
            .eq(queued.iter().map(|handle| handle.id()))
    );
    returned.next().unwrap().run();
    drop(returned);
    let ends: Vec<_> = queued.into_iter().map(windlass::TaskHandle::join).collect();
    assert_eq!(ends[0], Ok(0));
    for end in &ends[1..] {
        let cancelled = end.as_ref().unwrap_err();
        assert_eq!(cancelled.cancellation(), Some(Cancellation::Drained));
    }
}

/// WL-154
#[test]
fn a_shutdown_lets_queued_tasks_run_and_leaves_the_runtime_alone() {
    let runtime = runtime();
    let executor = executor(&runtime);
    let gate = Gate::new();
    let blocked = gate.clone();
    let first = executor
        .submit(move || blocked.pass_uninterruptibly())
        .unwrap();
    let second = executor.submit(|| 2).unwrap();
    executor.shutdown();
    assert!(executor.is_shutdown() && !executor.is_terminated());
    let rejected = executor.submit(|| 3).unwrap_err();
    assert_eq!(rejected.reason(), RejectionReason::Shutdown);
    assert_eq!(executor.await_termination(Duration::ZERO), Ok(false));
    gate.open();
    first.join().unwrap();
    assert_eq!(second.join().unwrap(), 2);
    assert_eq!(executor.await_termination(PATIENCE), Ok(true));
    assert_eq!(runtime.block_on(async { 7 }), 7);
}

/// WL-154
#[test]
fn a_runtime_that_ends_first_runs_or_cancels_what_it_has_and_rejects_the_rest() {
    let runtime = runtime();
    let executor = executor(&runtime);
    let gate = Gate::new();
    let blocked = gate.clone();
    let running = executor
        .submit(move || blocked.pass_uninterruptibly())
        .unwrap();
    gate.await_waiting(1);
    let queued = executor.submit(|| 2).unwrap();
    runtime.shutdown_background();
    gate.open();
    running.join().unwrap();
    match queued.join() {
        Ok(value) => assert_eq!(value, 2),
        Err(error) => assert_eq!(error.cancellation(), Some(Cancellation::NoThread)),
    }
    let rejected = executor.submit(|| 3).unwrap_err();
    assert_eq!(rejected.reason(), RejectionReason::NoThread);
    drop(rejected);
    executor.close();
}

/// WL-154
#[test]
fn an_interrupt_of_one_task_does_not_reach_the_next_one_on_the_same_thread() {
    let runtime = runtime();
    let executor = executor(&runtime);
    let left = executor
        .submit(|| interrupt::current().interrupt())
        .unwrap();
    left.join().unwrap();
    assert!(
        !executor
            .submit(interrupt::is_interrupted)
            .unwrap()
            .join()
            .unwrap()
    );
    let other = self::executor(&runtime);
    let gate = Gate::new();
    let passed = gate.clone();
    let running = other.submit(move || passed.pass().is_err()).unwrap();
    gate.await_waiting(1);
    drop(other.shutdown_now());
    assert!(running.join().unwrap());
    assert!(
        !executor
            .submit(interrupt::is_interrupted)
            .unwrap()
            .join()
            .unwrap()
    );
}

/// WL-154
#[test]
fn it_is_found_from_inside_the_runtime_and_works_as_any_other_executor() {
    let runtime = runtime();
    assert!(TokioExecutor::current().is_none());
    let sum = runtime.block_on(async {
        let executor = TokioExecutor::current().unwrap();
        let handle = executor.submit(|| 40).unwrap();
        let service = CompletionService::new(executor);
        service.submit(|| 2).unwrap();
        handle.await.unwrap() + service.completions().next().unwrap().await.unwrap()
    });
    assert_eq!(sum, 42);
}

/// WL-459
#[test]
fn it_lists_the_tasks_that_run_and_a_shutdown_plan_reports_them() {
    let runtime = runtime();
    let executor = executor(&runtime);
    let gate = Gate::new();
    let held = gate.clone();
    let task = executor.task().name("held");
    let running = task.submit(move || held.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let names = |tasks: &[RunningTask]| -> Vec<_> {
        tasks
            .iter()
            .map(|task| task.name.as_deref().map(String::from))
            .collect()
    };
    let held = [Some(String::from("held"))];
    assert_eq!(names(&executor.running_tasks()), held);
    let report = ShutdownPlan::new()
        .pool("tokio", &executor)
        .drain_for(Duration::ZERO)
        .wait_for(Duration::ZERO)
        .run();
    assert_eq!(report.pools[0].end, PoolEnd::StillRunning);
    assert_eq!(names(&report.pools[0].still_running), held);
    gate.open();
    running.join().unwrap();
    assert_eq!(executor.await_termination(PATIENCE), Ok(true));
}
