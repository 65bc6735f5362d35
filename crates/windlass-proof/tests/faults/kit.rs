//! The executors under test, and checks that they still work.

use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use windlass::testing::{PATIENCE, until};
use windlass::{
    ExecutorService, ForkJoinPool, ScheduledThreadPoolExecutor, Submit, ThreadPoolExecutor,
};

pub(crate) type Pool = Arc<dyn ExecutorService>;

/// One of each kind, with two threads.
pub(crate) fn pools() -> [(&'static str, Pool); 3] {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(2)
        .uncaught_handler(|_| ())
        .build();
    let scheduled = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(2)
        .uncaught_handler(|_| ());
    let forks = ForkJoinPool::builder()
        .parallelism(2)
        .uncaught_handler(|_| ())
        .build();
    [
        ("ThreadPoolExecutor", Arc::new(pool.unwrap())),
        ("ScheduledThreadPoolExecutor", Arc::new(scheduled.build())),
        ("ForkJoinPool", Arc::new(forks.unwrap())),
    ]
}

/// More tasks than there are threads still run.
pub(crate) fn goes_on(name: &str, pool: &dyn ExecutorService) {
    let handles: Vec<_> = (0..8).map(|n| pool.submit(move || n).unwrap()).collect();
    for (n, mut handle) in handles.into_iter().enumerate() {
        let got = handle.get_timeout(PATIENCE);
        assert_eq!(got.ok(), Some(n), "{name} does not go on");
    }
}

/// The pool still works, and it ends.
pub(crate) fn goes_on_and_ends(name: &str, pool: &dyn ExecutorService) {
    goes_on(name, pool);
    ends(name, pool);
}

pub(crate) fn ends(name: &str, pool: &dyn ExecutorService) {
    pool.shutdown();
    let ended = pool.await_termination(PATIENCE).unwrap();
    assert!(ended, "{name} does not end");
}

const CHILD: &str = "WINDLASS_PROOF_CHILD";

/// What the process was started for, if it is a child.
pub(crate) fn child_role() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// Runs a test of this file in a process of its own, in a role, and returns its exit status.
pub(crate) fn in_child(test: &str, role: &str) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, role)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut status = None;
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        until("the child process", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
    }));
    if ended.is_err() {
        child.kill().unwrap();
    }
    status.unwrap_or_else(|| panic!("{test} hangs as {role}"))
}
