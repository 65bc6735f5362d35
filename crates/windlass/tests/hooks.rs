//! Hooks: what they are told, when, and on which thread.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use recording::{Blocker, CountingFactory, HookFns, Log, assert_terminated, finish, fixed};
use windlass::clock::TestClock;
use windlass::pool::{Hooks, Outcome, TaskInfo};
use windlass::task::{Failure, Task};
use windlass::testing::{Gate, Latch, PATIENCE, until};
use windlass::{Executor, ExecutorService, Submit, ThreadPoolExecutor};

/// TPE-090
#[test]
fn before_body_and_after_run_in_this_order_on_the_worker() {
    let log: Log<(&str, ThreadId)> = Log::new();
    let note = |what: &'static str| {
        let log = log.clone();
        move || log.record((what, thread::current().id()))
    };
    let (before, after) = (note("before"), note("after"));
    let hooks = HookFns::new().before(move |_| before());
    let hooks = hooks.after(move |_, _| after());
    let pool = fixed(1).hooks(hooks).build().unwrap();
    pool.execute(note("body")).unwrap();
    finish(&pool);
    let (order, threads): (Vec<_>, Vec<_>) = log.entries().into_iter().unzip();
    assert_eq!(order, ["before", "body", "after"]);
    assert!(threads.iter().all(|id| *id == threads[0]));
    assert_ne!(threads[0], thread::current().id());
}

/// TPE-091
#[test]
fn during_after_the_handle_is_done_and_the_task_is_still_active() {
    let gate = Gate::new();
    let theirs = gate.clone();
    let hooks = HookFns::new().after(move |_, _| theirs.pass_uninterruptibly());
    let pool = fixed(1).hooks(hooks).build().unwrap();
    assert_eq!(pool.submit(|| 3).unwrap().get().unwrap(), 3);
    gate.await_waiting(1);
    assert_eq!(pool.completed_task_count(), 0);
    assert_eq!(pool.active_count(), 1);
    gate.open();
    finish(&pool);
    assert_eq!(pool.completed_task_count(), 1);
}

#[derive(Debug, PartialEq, Clone, Copy)]
struct Custom(u8);

/// TPE-092
#[test]
fn after_is_told_the_failure() {
    let log = Log::new();
    let theirs = log.clone();
    let hooks = HookFns::new().after(move |_, outcome| theirs.record(outcome.failure().cloned()));
    let pool = fixed(1).hooks(hooks).build().unwrap();
    pool.execute(|| ()).unwrap();
    pool.execute(|| panic!("text")).unwrap();
    pool.execute(|| panic!("formatted {}", 1)).unwrap();
    pool.execute(|| std::panic::panic_any(17_i32)).unwrap();
    pool.execute(|| std::panic::panic_any(Custom(9))).unwrap();
    finish(&pool);
    let told = log.entries();
    let failure = |at: usize| told[at].as_ref().unwrap();
    assert!(told[0].is_none());
    assert_eq!(failure(1).message(), Some("text"));
    assert_eq!(failure(2).message(), Some("formatted 1"));
    assert_eq!(payload::<i32>(failure(3)), Some(17));
    assert_eq!(payload::<Custom>(failure(4)), Some(Custom(9)));
}

fn payload<T: Copy + 'static>(failure: &Failure) -> Option<T> {
    failure.with_payload(|payload| payload.downcast_ref().copied())?
}

/// TPE-092: unlike the JDK, which says nothing of the failure of a task with a handle.
#[test]
fn after_is_told_the_failure_that_the_handle_reports() {
    let log = Log::new();
    let theirs = log.clone();
    let hooks = HookFns::new().after(move |_, outcome| theirs.record(outcome.failure().cloned()));
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let mut panics = pool.submit(|| -> u8 { panic!("no") }).unwrap();
    let mut errs = pool
        .submit_fallible(|| Err::<(), _>(std::io::Error::other("also no")))
        .unwrap();
    finish(&pool);
    let panic = panics.get().unwrap_err().into_failure().unwrap();
    let error = errs.get().unwrap_err().into_failure().unwrap();
    let told = log.entries();
    assert_eq!(told[0].as_ref().unwrap(), &panic);
    assert_eq!(told[1].as_ref().unwrap(), &error);
}

/// TPE-092
#[test]
fn after_is_told_that_the_task_was_cancelled() {
    let log = Log::new();
    let theirs = log.clone();
    let hooks = HookFns::new().after(move |task, outcome| {
        let cancelled = matches!(outcome, Outcome::Cancelled);
        theirs.record((task.id(), cancelled));
    });
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let blocker = Blocker::new();
    let running = pool.submit(blocker.body()).unwrap();
    let queued = pool.submit(|| ()).unwrap();
    blocker.await_held(1);
    assert!(running.cancel() && queued.cancel());
    blocker.release();
    finish(&pool);
    assert_eq!(log.entries(), [(running.id(), true), (queued.id(), true)]);
}

/// TPE-100
#[test]
fn without_workers_terminated_runs_inside_shutdown() {
    let log = Log::new();
    let theirs = log.clone();
    let hooks = HookFns::new().terminated(move || theirs.record(thread::current().id()));
    let pool = fixed(1).hooks(hooks).build().unwrap();
    pool.shutdown();
    assert_eq!(log.entries(), [thread::current().id()]);
    assert_terminated(&pool);
}

/// TPE-101
#[test]
fn inside_terminated_the_pool_is_terminating_and_empty() {
    for workers in [0, 2] {
        let place: Arc<OnceLock<ThreadPoolExecutor>> = Arc::default();
        let log = Log::new();
        let (theirs, of) = (log.clone(), Arc::clone(&place));
        let hooks = HookFns::new().terminated(move || {
            let pool = of.get().unwrap();
            let ended = pool.await_termination(Duration::ZERO);
            let life = [pool.is_shutdown(), pool.is_terminating()];
            theirs.record((life, pool.is_terminated(), ended, pool.pool_size()));
        });
        let pool = fixed(2).hooks(hooks).build().unwrap();
        place.set(pool.clone()).unwrap();
        for _ in 0..workers {
            pool.prestart_core_thread();
        }
        finish(&pool);
        pool.shutdown();
        assert!(pool.shutdown_now().is_empty());
        assert_eq!(log.entries(), [([true, true], false, Ok(false), 0)]);
    }
}

/// TPE-102
#[test]
fn a_terminated_that_fails_in_shutdown_fails_there_and_the_pool_ends() {
    let hooks = HookFns::new().terminated(|| panic!("terminated"));
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let failed = catch_unwind(AssertUnwindSafe(|| pool.shutdown())).unwrap_err();
    assert_eq!(failed.downcast_ref(), Some(&"terminated"));
    assert_terminated(&pool);
}

/// TPE-102
#[test]
fn a_terminated_that_fails_on_the_last_worker_is_reported_and_the_pool_ends() {
    let log = Log::new();
    let theirs = log.clone();
    let pool = fixed(1)
        .hooks(HookFns::new().terminated(|| panic!("terminated")))
        .uncaught_handler(move |failure| theirs.record(failure.message().map(String::from)))
        .build()
        .unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    pool.shutdown();
    blocker.release();
    finish(&pool);
    until("the failure is reported", || !log.entries().is_empty());
    assert_eq!(log.entries(), [Some("terminated".into())]);
}

/// A pool that can be paused: workers wait at a gate before their tasks.
fn pausable(workers: usize) -> (ThreadPoolExecutor, Gate) {
    let gate = Gate::new();
    let theirs = gate.clone();
    let hooks = HookFns::new().before(move |_| {
        let _ = theirs.pass();
    });
    (fixed(workers).hooks(hooks).build().unwrap(), gate)
}

/// TPE-103
#[test]
fn a_before_that_waits_pauses_the_pool_and_loses_nothing() {
    let (pool, gate) = pausable(2);
    let ran = Latch::new(10);
    for _ in 0..10 {
        let ran = ran.clone();
        pool.execute(move || ran.count_down()).unwrap();
    }
    gate.await_waiting(2);
    assert_eq!((pool.active_count(), ran.count()), (2, 10));
    gate.open();
    ran.wait();
    finish(&pool);
}

/// TPE-103
#[test]
fn shutdown_now_interrupts_a_before_that_waits() {
    let (pool, gate) = pausable(1);
    pool.execute(|| ()).unwrap();
    gate.await_waiting(1);
    assert!(pool.shutdown_now().is_empty());
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    assert_terminated(&pool);
}

/// TPE-104
#[test]
fn after_shutdown_no_thread_survives() {
    let factory = CountingFactory::new();
    let pool = fixed(5).thread_factory(factory.clone()).build().unwrap();
    pool.prestart_all_core_threads();
    for _ in 0..50 {
        pool.execute(|| ()).unwrap();
    }
    finish(&pool);
    factory.await_live(0);
    assert_eq!(factory.created(), 5);
}

/// Beyond the JDK.
#[test]
fn hooks_that_do_not_want_times_are_told_none() {
    struct Plain(Log<(Option<Duration>, Option<Duration>)>);

    impl Hooks for Plain {
        fn after_execute(&self, task: &TaskInfo, _: &Outcome) {
            self.0.record((task.queued_for(), task.ran_for()));
        }
    }

    let log = Log::new();
    let pool = fixed(1).hooks(Plain(log.clone())).build().unwrap();
    pool.execute(|| ()).unwrap();
    finish(&pool);
    assert_eq!(log.entries(), [(None, None)]);
}

/// Beyond the JDK.
#[test]
fn hooks_are_told_how_long_a_task_waited_and_ran() {
    let (clock, log) = (TestClock::new(), Log::new());
    let theirs = log.clone();
    let hooks =
        HookFns::new().after(move |task, _| theirs.record((task.queued_for(), task.ran_for())));
    let seconds = |n| Some(Duration::from_secs(n));
    clock.enter(|| {
        let pool = fixed(1).hooks(hooks).build().unwrap();
        let (first, second) = (Blocker::occupy(&pool, 1), Blocker::new());
        pool.execute(second.body()).unwrap();
        clock.advance(Duration::from_secs(3));
        first.release();
        second.await_held(1);
        clock.advance(Duration::from_secs(4));
        second.release();
        finish(&pool);
    });
    let zero = Some(Duration::ZERO);
    assert_eq!(
        log.entries(),
        [(zero, seconds(3)), (seconds(3), seconds(4))]
    );
}

/// Beyond the JDK.
#[test]
fn hooks_are_told_what_a_task_carries() {
    let log = Log::new();
    let theirs = log.clone();
    let hooks = HookFns::new().after(move |task, _| {
        let state = task.attachment::<Custom>().copied();
        let name = task.name().map(String::from);
        theirs.record((name, state, task.priority(), task.has_handle()));
    });
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let task = Task::builder().name("report").attach(Custom(2)).priority(8);
    pool.execute_task(task.build(|| ())).unwrap();
    pool.submit(|| ()).unwrap().get().unwrap();
    finish(&pool);
    let told = log.entries();
    assert_eq!(told[0], (Some("report".into()), Some(Custom(2)), 8, false));
    assert_eq!(told[1], (None, None, 0, true));
}
