//! The common pool. What depends on the environment is shown in child processes: this
//! program again, with the setting and one test to run.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Command;
use std::thread;
use std::time::Duration;

use windlass::forkjoin::{Cx, ForkJoinPool, RecursiveTask, join};
use windlass::testing::{Gate, PATIENCE};
use windlass::{ExecutorService, Submit};

const CHILD: &str = "WINDLASS_TEST_CHILD";
const PARALLELISM: &str = "WINDLASS_COMMON_PARALLELISM";
const MAXIMUM_SPARES: &str = "WINDLASS_COMMON_MAXIMUM_SPARES";

/// Runs the test again in a child with this setting. True in the child itself.
fn is_child_with(test: &str, parallelism: &str) -> bool {
    is_child_with_settings(test, &[(PARALLELISM, parallelism)])
}

fn is_child_with_settings(test: &str, settings: &[(&str, &str)]) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture"]);
    let output = child
        .env(CHILD, "1")
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

fn sum(from: u64, to: u64) -> u64 {
    if to - from < 1000 {
        return (from..to).sum();
    }
    let middle = from + (to - from) / 2;
    let (left, right) = join(|| sum(from, middle), || sum(middle, to));
    left + right
}

struct Where;

impl RecursiveTask for Where {
    type Output = thread::ThreadId;
    fn compute(self, _cx: &Cx<'_>) -> thread::ThreadId {
        thread::current().id()
    }
}

/// FJP-022
#[test]
fn a_common_pool_with_at_least_one_worker_exists_on_first_use() {
    let pool = ForkJoinPool::common();
    assert!(pool.parallelism() >= 1);
    assert!(std::ptr::eq(pool, ForkJoinPool::common()));
    assert_eq!(pool.submit(|| 1).unwrap().get().unwrap(), 1);
}

/// FJP-023
#[test]
fn the_common_pool_cannot_be_shut_down() {
    let pool = ForkJoinPool::common();
    pool.shutdown();
    assert!(pool.shutdown_now().is_empty());
    pool.close();
    assert!(!pool.is_shutdown() && !pool.is_terminated());
    assert_eq!(pool.await_termination(Duration::from_millis(1)), Ok(false));
    assert_eq!(pool.submit(|| 2).unwrap().get_timeout(PATIENCE).unwrap(), 2);
}

/// FJP-024
#[test]
fn a_common_pool_without_workers_has_the_caller_do_everything() {
    let test = "a_common_pool_without_workers_has_the_caller_do_everything";
    if !is_child_with(test, "0") {
        return;
    }
    let pool = ForkJoinPool::common();
    assert_eq!(pool.parallelism(), 0);
    let me = thread::current().id();
    assert_eq!(sum(0, 50_001), 1_250_025_000);
    assert_eq!(pool.invoke(Where), me);
    assert_eq!(pool.fork(Where).unwrap().join().unwrap(), me);
    assert_eq!(pool.invoke_tasks(vec![Where, Where]), [me, me]);
    let mut submitted = pool.submit(|| thread::current().id()).unwrap();
    assert_eq!(submitted.get().unwrap(), me);
    let mut cell = 0;
    pool.scope(|scope| scope.spawn(|| cell = 5));
    assert_eq!((cell, pool.stats().pool_size), (5, 0));
    assert!(pool.is_quiescent());
}

/// FJP-024
#[test]
fn the_common_pool_is_as_large_as_the_environment_says() {
    if is_child_with("the_common_pool_is_as_large_as_the_environment_says", "7") {
        assert_eq!(ForkJoinPool::common().parallelism(), 7);
    }
}

/// FJP-024
#[test]
fn a_bad_setting_falls_back_to_the_default() {
    let default = (thread::available_parallelism().unwrap().get() - 1).max(1);
    for bad in ["many", "-1", "32768"] {
        if is_child_with("a_bad_setting_falls_back_to_the_default", bad) {
            assert_eq!(ForkJoinPool::common().parallelism(), default);
            return;
        }
    }
}

/// FJP-041
#[test]
fn the_process_may_exit_although_workers_are_still_there() {
    if !is_child_with("the_process_may_exit_although_workers_are_still_there", "1") {
        return;
    }
    let (gate, pool) = (Gate::new(), ForkJoinPool::new(1).unwrap());
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    std::mem::forget(pool);
}

/// FJP-024
#[test]
fn the_common_pool_has_as_many_spares_as_the_environment_says() {
    let test = "the_common_pool_has_as_many_spares_as_the_environment_says";
    if !is_child_with_settings(test, &[(PARALLELISM, "1"), (MAXIMUM_SPARES, "0")]) {
        return;
    }
    let pool = ForkJoinPool::common();
    let (first, second) = (Gate::new(), Gate::new());
    let (held, waited_for) = (first.clone(), second.clone());
    let mut blocker = pool
        .submit(move || {
            held.pass_uninterruptibly();
            windlass::forkjoin::blocking(|| waited_for.pass_uninterruptibly());
        })
        .unwrap();
    first.await_waiting(1);
    let mut queued = pool.submit(|| 7).unwrap();
    first.open();
    second.await_waiting(1);
    // A spare would have been started before the worker began to wait.
    assert_eq!(pool.stats().pool_size, 1);
    assert!(!queued.is_done());
    second.open();
    blocker.get().unwrap();
    assert_eq!(queued.get().unwrap(), 7);
}
