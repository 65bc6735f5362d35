//! A tokio runtime as an executor service. `executor_service.rs` runs the general contract on it.

#![cfg(feature = "tokio")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Barrier};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use windlass::error::RejectionReason;
use windlass::executors::TokioExecutor;
use windlass::prelude::*;
use windlass::shutdown::{PoolEnd, ShutdownPlan};
use windlass::task::Cancellation;
use windlass::testing::{Gate, PATIENCE, until};
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

/// WL-503
#[test]
fn a_task_that_waits_for_one_that_has_no_thread_runs_it_in_place() {
    let runtime = runtime();
    let executor = Arc::new(executor(&runtime));
    let theirs = Arc::clone(&executor);
    let sum = executor.submit(move || {
        let mut sum = theirs.submit(|| 1).unwrap().join().unwrap();
        sum += theirs.map([1, 2], |n| n).unwrap().iter().sum::<u32>();
        let tasks = (0..3).map(|n| move || n);
        let ended = theirs.invoke_all(tasks).unwrap().into_iter();
        sum += ended.map(|task| task.join().unwrap()).sum::<u32>();
        let service = CompletionService::new(Arc::clone(&theirs));
        service.submit(|| 10).unwrap();
        sum + service.take().unwrap().join().unwrap()
    });
    assert_eq!(sum.unwrap().get_timeout(PATIENCE).unwrap(), 17);
    executor.close();
    assert_eq!(executor.completed_count(), Some(8));
}

/// WL-503
#[test]
fn an_interrupt_of_the_task_in_place_is_its_own_and_a_stop_interrupts_both() {
    let runtime = runtime();
    let executor = Arc::new(executor(&runtime));
    let (theirs, gate) = (Arc::clone(&executor), Gate::new());
    let (passed, other) = (gate.clone(), gate.clone());
    let outer = executor.submit(move || {
        let limited = theirs.task().run_limit(Duration::from_millis(1));
        let limited = limited.submit(move || passed.pass().is_err()).unwrap();
        let timed_out = limited.join().unwrap_err().cancellation();
        let is_interrupted = interrupt::is_interrupted();
        let nested = theirs.submit(move || other.pass().is_err()).unwrap();
        let ended = nested.join();
        (
            timed_out,
            is_interrupted,
            ended,
            interrupt::is_interrupted(),
        )
    });
    let mut outer = outer.unwrap();
    until("the second one runs", || {
        executor.completed_count() == Some(1)
    });
    gate.await_waiting(1);
    drop(executor.shutdown_now());
    let (timed_out, was_interrupted, ended, is_interrupted) = outer.get_timeout(PATIENCE).unwrap();
    assert_eq!(timed_out, Some(Cancellation::TimedOut));
    assert!(!was_interrupted && is_interrupted);
    assert_eq!(ended, Ok(true));
    assert_eq!(executor.await_termination(PATIENCE), Ok(true));
}

/// WL-503
#[test]
fn a_pool_and_a_runtime_whose_tasks_wait_for_each_others_tasks_return() {
    let runtime = runtime();
    let executor = Arc::new(executor(&runtime));
    let pool = executors::fixed_thread_pool(1).unwrap();
    let meeting = Arc::new(Barrier::new(2));
    let (of_runtime, of_pool) = (Arc::clone(&executor), pool.clone());
    let (met, also_met) = (Arc::clone(&meeting), meeting);
    let one = executor.submit(move || {
        met.wait();
        of_pool.submit(|| 1).unwrap().join().unwrap()
    });
    let other = pool.submit(move || {
        also_met.wait();
        let theirs = Arc::clone(&of_runtime);
        let outer = of_runtime.submit(move || theirs.submit(|| 2).unwrap().join().unwrap());
        outer.unwrap().join().unwrap()
    });
    assert_eq!(
        one.unwrap().get_timeout(PATIENCE).unwrap() + other.unwrap().get_timeout(PATIENCE).unwrap(),
        3
    );
    executor.close();
    pool.close();
}
