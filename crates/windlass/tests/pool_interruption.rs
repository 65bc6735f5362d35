//! Whom interrupts reach in a pool, and whom they do not.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use recording::{Blocker, HookFns, Log, finish, fixed};
use windlass::interrupt::{self, is_interrupted};
use windlass::testing::{Gate, Latch, PATIENCE, until};
use windlass::{ExecutorService, Submit};

/// Hooks that note whether the worker is interrupted.
fn noting(log: &Log<(&'static str, bool)>) -> HookFns {
    let (before, after) = (log.clone(), log.clone());
    HookFns::new()
        .before(move |_| before.record(("before", is_interrupted())))
        .after(move |_, _| after.record(("after", is_interrupted())))
}

/// INT-004
#[test]
fn no_task_inherits_an_interrupt_from_its_predecessor() {
    let log = Log::new();
    let pool = fixed(1).hooks(noting(&log)).build().unwrap();
    pool.execute(|| interrupt::current().interrupt()).unwrap();
    let theirs = log.clone();
    pool.execute(move || theirs.record(("body", is_interrupted())))
        .unwrap();
    finish(&pool);
    assert_eq!(
        log.entries(),
        [
            ("before", false),
            ("after", true),
            ("before", false),
            ("body", false),
            ("after", false),
        ]
    );
}

/// INT-004
#[test]
fn an_interrupt_of_an_idle_worker_reaches_no_task() {
    let pool = fixed(1).build().unwrap();
    let mut worker = pool.submit(interrupt::current).unwrap();
    let worker = worker.get().unwrap();
    for _ in 0..100 {
        worker.interrupt();
        let mut seen = pool.submit(is_interrupted).unwrap();
        let _ = seen.get().unwrap();
        // The worker is idle now, or will be without another task.
        worker.interrupt();
        until("the interrupt is used up", || !worker.is_interrupted());
    }
    let mut seen = pool.submit(is_interrupted).unwrap();
    assert!(!seen.get().unwrap());
    finish(&pool);
}

/// INT-005
#[test]
fn an_ignored_cancel_now_is_seen_by_after_and_not_by_the_next_task() {
    let log = Log::new();
    let pool = fixed(1).hooks(noting(&log)).build().unwrap();
    let blocker = Blocker::new();
    let ignoring = pool.submit(blocker.body()).unwrap();
    blocker.await_held(1);
    let mut next = pool.submit(is_interrupted).unwrap();
    assert!(ignoring.cancel_now());
    blocker.release();
    assert!(!next.get().unwrap());
    finish(&pool);
    let seen: Vec<_> = log.entries().into_iter().map(|(_, flag)| flag).collect();
    assert_eq!(seen, [false, true, false, false]);
}

/// INT-006
#[test]
fn reconfiguration_and_shutdown_do_not_interrupt_what_runs() {
    let pool = fixed(4).build().unwrap();
    let (blocker, log) = (Blocker::new(), Log::new());
    let (body, theirs) = (blocker.body(), log.clone());
    pool.execute(move || {
        body();
        theirs.record(is_interrupted());
        // Nor does it end a wait of the task's.
        theirs.record(interrupt::sleep(Duration::ZERO).is_err());
    })
    .unwrap();
    blocker.await_held(1);
    pool.prestart_all_core_threads();
    pool.set_core_pool_size(1).unwrap();
    pool.set_maximum_pool_size(1).unwrap();
    pool.set_keep_alive(Duration::from_secs(1)).unwrap();
    pool.set_allow_core_thread_timeout(true).unwrap();
    pool.retire_idle();
    until("idle workers have gone", || pool.pool_size() == 1);
    pool.shutdown();
    blocker.release();
    finish(&pool);
    assert_eq!(log.entries(), [false, false]);
}

/// INT-006
#[test]
fn a_wait_inside_a_task_outlasts_reconfiguration_and_shutdown() {
    let pool = fixed(1).build().unwrap();
    let gate = Gate::new();
    let at = gate.clone();
    let mut waits = pool.submit(move || at.pass()).unwrap();
    gate.await_waiting(1);
    for seconds in (1..50).rev() {
        pool.set_keep_alive(Duration::from_secs(seconds)).unwrap();
    }
    pool.shutdown();
    assert_eq!(gate.waiting(), 1);
    gate.open();
    assert_eq!(waits.get().unwrap(), Ok(()));
    finish(&pool);
}

/// INT-007
#[test]
fn shutdown_now_interrupts_every_worker_that_runs_a_task() {
    let pool = fixed(3).build().unwrap();
    let log = Log::new();
    let started = Log::new();
    for _ in 0..3 {
        let (log, started) = (log.clone(), started.clone());
        let body = move || {
            started.record(());
            until("the interrupt", is_interrupted);
            log.record(is_interrupted());
        };
        pool.execute(body).unwrap();
    }
    until("all spin", || started.entries().len() == 3);
    assert!(pool.shutdown_now().is_empty());
    finish(&pool);
    assert_eq!(log.entries(), [true; 3]);
}

/// INT-007
#[test]
fn a_task_that_starts_on_a_stopping_pool_starts_interrupted() {
    let gate = Gate::new();
    let (at, log) = (gate.clone(), Log::new());
    // The worker is between its task and the body when the pool stops.
    let hooks = HookFns::new().before(move |_| at.pass_uninterruptibly());
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let theirs = log.clone();
    pool.execute(move || theirs.record(is_interrupted()))
        .unwrap();
    gate.await_waiting(1);
    assert!(pool.shutdown_now().is_empty());
    gate.open();
    finish(&pool);
    assert_eq!(log.entries(), [true]);
}

/// INT-010
#[test]
fn the_uncaught_failure_handler_runs_uninterrupted() {
    let log = Log::new();
    let theirs = log.clone();
    let pool = fixed(1)
        .uncaught_handler(move |_| theirs.record(is_interrupted()))
        .build()
        .unwrap();
    pool.execute(|| {
        interrupt::current().interrupt();
        panic!("dies interrupted");
    })
    .unwrap();
    until("the failure is reported", || log.entries().len() == 1);
    finish(&pool);
    assert_eq!(log.entries(), [false]);
}

/// INT-010
#[test]
fn the_uncaught_failure_handler_runs_uninterrupted_on_a_worker_that_stays() {
    let log = Log::new();
    let theirs = log.clone();
    let pool = fixed(1)
        .reuse_worker_after_panic(true)
        .uncaught_handler(move |_| theirs.record(is_interrupted()))
        .build()
        .unwrap();
    pool.execute(|| {
        interrupt::current().interrupt();
        panic!("fails interrupted");
    })
    .unwrap();
    finish(&pool);
    assert_eq!(log.entries(), [false]);
}

/// INT-004, INT-005
#[test]
fn twenty_thousand_racing_cancels_leak_no_interrupt_into_the_next_task() {
    const ROUNDS: usize = 20_000;
    let pool = fixed(1).build().unwrap();
    let (mut leaks, mut won) = (0, 0);
    for round in 0..ROUNDS {
        let runs = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&runs);
        let hit = pool
            .submit(move || theirs.store(true, Ordering::Release))
            .unwrap();
        let mut next = pool.submit(is_interrupted).unwrap();
        // At the start of the task, in its midst, at its end, after it.
        let start = round % 4 != 0;
        while start && !runs.load(Ordering::Acquire) && !hit.is_done() {
            hint::spin_loop();
        }
        for _ in 0..round % 97 {
            hint::spin_loop();
        }
        won += usize::from(hit.cancel_now());
        leaks += usize::from(next.get_timeout(PATIENCE).unwrap());
    }
    finish(&pool);
    assert_eq!(leaks, 0, "of {ROUNDS} cancels {won} came in time");
}

/// INT-008
#[test]
fn a_task_that_swallowed_its_interrupt_is_clear_while_the_pool_stops() {
    let pool = fixed(1).build().unwrap();
    let (started, gate) = (Latch::new(1), Gate::new());
    let (begun, never) = (started.clone(), gate.clone());
    let mut seen = pool
        .submit(move || {
            begun.count_down();
            let ended = never.pass().is_err();
            (ended, interrupt::is_interrupted())
        })
        .unwrap();
    started.wait();
    drop(pool.shutdown_now());
    assert_eq!(seen.get().unwrap(), (true, false));
    pool.close();
}
