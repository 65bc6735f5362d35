//! The work-stealing pool as an executor service.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::error::InvokeError;
use windlass::forkjoin::ForkJoinPool;
use windlass::interrupt;
use windlass::testing::{Gate, PATIENCE, join};
use windlass::{ExecutorService, Submit};

type Fallible = Box<dyn FnOnce() -> Result<u32, String> + Send>;

fn pool() -> ForkJoinPool {
    ForkJoinPool::new(1).unwrap()
}

fn well(value: u32) -> Fallible {
    Box::new(move || Ok(value))
}

fn ill() -> Fallible {
    Box::new(|| Err("no".to_owned()))
}

/// FJP-013
#[test]
fn closures_run_once_and_deliver_their_value() {
    let pool = pool();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = || {
        let count = Arc::clone(&count);
        move || {
            count.fetch_add(1, Ordering::SeqCst);
        }
    };
    pool.execute(counter()).unwrap();
    pool.submit(counter()).unwrap().get().unwrap();
    assert_eq!(
        pool.submit_with_result(counter(), "given")
            .unwrap()
            .get()
            .unwrap(),
        "given"
    );
    let handle = pool.submit(|| 7).unwrap().share();
    assert_eq!(handle.get().unwrap(), 7);
    assert!(handle.is_done() && !handle.is_cancelled());
    assert_eq!(handle.get_timeout(Duration::ZERO).unwrap(), 7);
    pool.close();
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

/// FJP-014
#[test]
fn an_interrupt_frees_an_outside_waiter_and_leaves_the_task_running() {
    let pool = pool();
    let gate = Gate::new();
    let theirs = gate.clone();
    let task = pool
        .submit(move || theirs.pass_uninterruptibly())
        .unwrap()
        .share();
    gate.await_waiting(1);
    let handle = task.clone();
    let waiter = interrupt::spawn(move || handle.get());
    waiter.interrupt();
    assert!(join("the waiter", waiter).unwrap_err().is_interrupted());
    assert!(!task.is_done());
    gate.open();
    task.get().unwrap();
}

/// FJP-015
#[test]
fn the_get_of_a_failed_closure_carries_the_cause() {
    let mut task = pool().submit(|| std::panic::panic_any(4_u16)).unwrap();
    let failure = task.get().unwrap_err().into_failure().unwrap();
    assert_eq!(
        failure.take_payload().unwrap().downcast_ref::<u16>(),
        Some(&4)
    );
}

/// FJP-016
#[test]
fn invoke_any_without_tasks_is_an_argument_error() {
    let none = Vec::<Fallible>::new;
    assert!(matches!(
        pool().invoke_any_fallible(none()),
        Err(InvokeError::Empty)
    ));
    let timed = pool().invoke_any_fallible_timeout(none(), PATIENCE);
    assert!(matches!(timed, Err(InvokeError::Empty)));
}

/// FJP-017
#[test]
fn invoke_any_fails_with_a_cause_when_all_fail() {
    let failed = pool().invoke_any_fallible([ill(), ill()]);
    assert!(matches!(failed, Err(InvokeError::Failed(_))));
    let failed = pool().invoke_any_fallible_timeout([ill()], Duration::MAX);
    assert!(matches!(failed, Err(InvokeError::Failed(_))));
}

/// FJP-018
#[test]
fn invoke_any_returns_one_success_and_cancels_the_rest() {
    assert_eq!(pool().invoke_any_fallible([ill(), well(2)]).unwrap(), 2);
    assert_eq!(
        pool()
            .invoke_any_fallible_timeout([ill(), well(2)], PATIENCE)
            .unwrap(),
        2
    );
    let pool = ForkJoinPool::new(2).unwrap();
    let endless: Fallible = Box::new(|| {
        let interrupted = Gate::new().pass();
        interrupted
            .map(|()| 0)
            .map_err(|_| "interrupted".to_owned())
    });
    assert_eq!(pool.invoke_any_fallible([endless, well(3)]).unwrap(), 3);
    pool.close();
}

/// FJP-019
#[test]
fn invoke_all_of_nothing_is_an_empty_list() {
    assert!(
        pool()
            .invoke_all(Vec::<fn() -> u8>::new())
            .unwrap()
            .is_empty()
    );
    let timed = pool().invoke_all_timeout(Vec::<fn() -> u8>::new(), Duration::ZERO);
    assert!(timed.unwrap().is_empty());
}

/// FJP-020
#[test]
fn invoke_all_returns_finished_handles_in_order() {
    let body = |number: u32| {
        move || {
            assert!(number != 2, "the second");
            number
        }
    };
    let all = pool().invoke_all((1..=3).map(body)).unwrap();
    assert!(all.iter().all(|handle| handle.is_done()));
    let values: Vec<_> = all
        .into_iter()
        .map(|mut handle| handle.get().ok())
        .collect();
    assert_eq!(values, [Some(1), None, Some(3)]);
    let timed = pool()
        .invoke_all_timeout((4..6).map(body), PATIENCE)
        .unwrap();
    assert!(timed.iter().all(|handle| handle.is_done()));
}

/// FJP-037
#[test]
fn shutdown_now_hands_back_what_never_ran() {
    let pool = pool();
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let queued = pool.submit(|| ()).unwrap();
    let service: &dyn ExecutorService = &pool;
    let unstarted = service.shutdown_now();
    assert_eq!(unstarted.len(), 1);
    assert!(!queued.is_done());
    drop(unstarted);
    assert!(queued.is_cancelled());
    gate.open();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}
