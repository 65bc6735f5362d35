//! Groups: tasks that are cancelled, awaited and counted together.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::prelude::*;
use windlass::task::{CancelToken, Cancellation, ExecutionError, TaskState};
use windlass::testing::{Gate, within_patience};

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

fn cancelled<T>(why: Cancellation) -> Result<T, ExecutionError> {
    Err(ExecutionError::Cancelled(why))
}

/// WL-135
#[test]
fn the_first_failure_cancels_the_others_and_is_returned() {
    within_patience("a group", || {
        let (pool, gate) = (fixed(2), Gate::new());
        let (joined, ends, counts) = pool.group().fail_fast().scope(|s| {
            let interrupted = s.spawn(|| gate.pass().is_err()).unwrap();
            gate.await_waiting(1);
            let failed = s.spawn_fallible(|| "x".parse::<u8>()).unwrap();
            let queued = s.spawn(|| ()).unwrap();
            let joined = s.join();
            let late = s.spawn(|| ()).unwrap();
            let states = [interrupted.state(), failed.state(), late.state()];
            assert!(queued.is_done());
            (
                joined,
                (states, interrupted.join(), late.join()),
                s.counts(),
            )
        });
        let failure = joined.unwrap_err().into_failure().unwrap();
        assert_eq!(failure.to_string(), "invalid digit found in string");
        let (states, interrupted, late) = ends;
        use TaskState::{Cancelled, Failed};
        assert_eq!(states, [Cancelled, Failed, Cancelled]);
        assert_eq!(interrupted, cancelled(Cancellation::Sibling));
        assert_eq!(late, cancelled(Cancellation::Sibling));
        assert_eq!(
            (counts.submitted, counts.failed, counts.pending()),
            (4, 1, 0)
        );
    });
}

/// WL-135
#[test]
fn a_panic_in_a_group_is_returned_or_resumed() {
    let pool = fixed(1);
    let joined = pool.group().fail_fast().scope(|s| {
        s.spawn(|| panic!("returned")).unwrap();
        s.join()
    });
    assert_eq!(
        joined.unwrap_err().failure().unwrap().message(),
        Some("returned")
    );
    let resumed = catch_unwind(AssertUnwindSafe(|| {
        pool.group().fail_fast().scope(|s| {
            s.spawn(|| panic!("resumed")).unwrap();
        });
    }));
    assert_eq!(resumed.unwrap_err().downcast_ref(), Some(&"resumed"));
}

/// WL-135
#[test]
fn a_panic_of_the_body_cancels_the_tasks_of_a_group_with_a_policy() {
    within_patience("a group", || {
        let (pool, gate) = (fixed(1), Gate::new());
        let interrupted = AtomicUsize::new(0);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            pool.group().fail_fast().scope(|s| {
                s.spawn(|| {
                    interrupted.fetch_add(usize::from(gate.pass().is_err()), Ordering::SeqCst)
                })
                .unwrap();
                gate.await_waiting(1);
                panic!("in the body");
            });
        }));
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"in the body"));
        assert_eq!(interrupted.into_inner(), 1);
    });
}

/// WL-137
#[test]
fn the_first_success_cancels_the_others() {
    within_patience("a group", || {
        let (pool, gate) = (fixed(3), Gate::new());
        let (first, counts) = pool.group().first_success().scope(|s| {
            let slow = s.spawn_fallible(|| gate.pass().map(|()| "slow")).unwrap();
            gate.await_waiting(1);
            let failed = s.spawn_fallible(|| Err::<&str, _>("no")).unwrap();
            failed.wait().unwrap();
            let fast = s.spawn(|| "fast").unwrap();
            (s.join_first([slow, failed, fast]), s.counts())
        });
        assert_eq!(first, Ok("fast"));
        assert_eq!(
            (counts.completed, counts.failed, counts.cancelled),
            (1, 1, 1)
        );
    });
}

/// WL-137
#[test]
fn without_a_success_the_last_failure_is_returned() {
    let pool = fixed(1);
    let first = pool.group().first_success().scope(|s| {
        let tasks = ["one", "two"].map(|why| s.spawn_fallible(move || Err::<u8, _>(why)).unwrap());
        s.join_first(tasks)
    });
    assert_eq!(
        first.unwrap_err().into_failure().unwrap().to_string(),
        "two"
    );
    let none = pool
        .group()
        .first_success()
        .scope(|s| s.join_first::<u8>([]));
    assert!(none.unwrap_err().is_cancelled());
}

/// WL-138
#[test]
fn without_a_policy_every_outcome_is_kept() {
    let pool = fixed(2);
    let (joined, outcomes) = pool.scope(|s| {
        let texts = ["1", "x", "3"];
        let tasks = texts.map(|text| s.spawn_fallible(move || text.parse::<u8>()).unwrap());
        (
            s.join(),
            tasks.map(|task| task.join().map_err(|error| error.is_failed())),
        )
    });
    assert_eq!((joined, outcomes), (Ok(()), [Ok(1), Err(true), Ok(3)]));
    let all = pool.scope(|s| s.join_all([1, 2].map(|n| s.spawn(move || n * n).unwrap())));
    assert_eq!(all, Ok(vec![1, 4]));
}

/// WL-139
#[test]
fn a_group_ends_at_its_deadline() {
    within_patience("a group", || {
        let clock = TestClock::new();
        clock.enter(|| {
            let (pool, gate) = (fixed(1), Gate::new());
            let group = pool.group().timeout(Duration::from_secs(5));
            let (joined, ends) = group.scope(|s| {
                let running = s.spawn(|| gate.pass().is_err()).unwrap();
                gate.await_waiting(1);
                let queued = s.spawn(|| true).unwrap();
                clock.advance(Duration::from_secs(5));
                let late = s.spawn(|| true).unwrap();
                (s.join(), [running, queued, late].map(|task| task.join()))
            });
            assert_eq!(joined, cancelled(Cancellation::TimedOut));
            assert_eq!(ends, [(); 3].map(|()| cancelled(Cancellation::TimedOut)));
        });
    });
}

/// WL-139
#[test]
fn a_task_whose_turn_comes_after_the_deadline_does_not_start() {
    within_patience("a group", || {
        let clock = TestClock::new();
        clock.enter(|| {
            let (pool, gate) = (fixed(1), Gate::new());
            let theirs = gate.clone();
            pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
            let ran = AtomicUsize::new(0);
            let group = pool.group().timeout(Duration::from_secs(5));
            let end = group.scope(|s| {
                let task = s.spawn(|| ran.fetch_add(1, Ordering::SeqCst)).unwrap();
                clock.advance(Duration::from_secs(6));
                gate.open();
                windlass::testing::until("the end", || task.is_done());
                task.join()
            });
            assert_eq!(end, cancelled(Cancellation::TimedOut));
            assert_eq!(ran.into_inner(), 0);
        });
    });
}

/// WL-139
#[test]
fn the_wait_for_a_handle_ends_at_the_deadline_of_its_group() {
    within_patience("a group", || {
        let (pool, gate) = (fixed(1), Gate::new());
        let group = pool.group().timeout(Duration::from_millis(1));
        let end = group.scope(|s| s.spawn(|| gate.pass().is_err()).unwrap().join());
        assert_eq!(end, cancelled(Cancellation::TimedOut));
    });
}

/// WL-134
#[test]
fn a_group_is_cancelled_as_a_whole() {
    within_patience("a group", || {
        let (pool, gate) = (fixed(1), Gate::new());
        pool.scope(|s| {
            let running = s.spawn(|| gate.pass_uninterruptibly()).unwrap();
            gate.await_waiting(1);
            let queued = s.spawn(|| ()).unwrap();
            s.cancel();
            assert!(s.is_cancelled());
            let late = s.spawn(|| ()).unwrap();
            for task in [running, queued, late] {
                assert_eq!(task.join(), cancelled(Cancellation::Requested));
            }
            assert_eq!(s.join(), cancelled(Cancellation::Requested));
            assert_eq!(s.counts().cancelled, 3);
            gate.open();
        });
    });
}

/// WL-143
#[test]
fn a_token_cancels_groups_until_they_end() {
    within_patience("a group", || {
        let (pool, gate, token) = (fixed(1), Gate::new(), CancelToken::new());
        let group = || pool.group().cancelled_by(&token);
        assert_eq!(group().scope(|s| s.spawn(|| 1).unwrap().join()), Ok(1));
        let end = group().scope(|s| {
            let task = s.spawn(|| gate.pass().is_err()).unwrap();
            gate.await_waiting(1);
            token.cancel_now();
            task.join()
        });
        assert_eq!(end, cancelled(Cancellation::Token));
        let late = group().scope(|s| s.spawn(|| 1).unwrap().join());
        assert_eq!(late, cancelled(Cancellation::Token));
    });
}

/// WL-139
#[test]
fn the_time_limit_of_a_group_ends_its_tasks_whatever_its_body_does() {
    within_patience("a group", || {
        let clock = TestClock::new();
        clock.enter(|| {
            let (pool, gate) = (fixed(1), Gate::new());
            let (sender, told) = std::sync::mpsc::channel();
            let group = pool.group().timeout(Duration::from_secs(5));
            let ends = group.scope(|s| {
                let running = s.spawn(|| sender.send(gate.pass().is_err()).unwrap());
                gate.await_waiting(1);
                let queued = s.spawn(|| ()).unwrap();
                clock.advance(Duration::from_secs(5));
                // A wait that the library knows nothing of.
                assert_eq!(told.recv(), Ok(true));
                let queued = pollster::block_on(queued);
                let late = pollster::block_on(s.spawn(|| ()).unwrap());
                [pollster::block_on(running.unwrap()), queued, late]
            });
            assert_eq!(ends, [(); 3].map(|()| cancelled(Cancellation::TimedOut)));
        });
    });
}

/// WL-139
#[test]
fn a_group_that_ends_in_time_leaves_no_timer() {
    within_patience("a group", || {
        let clock = TestClock::new();
        clock.enter(|| {
            let pool = fixed(1);
            let group = pool.group().timeout(Duration::from_secs(5));
            assert_eq!(group.scope(|s| s.spawn(|| 1).unwrap().join()), Ok(1));
        });
        windlass::testing::until("nobody waits for the time", || {
            clock.next_wake_up().is_none()
        });
    });
}

/// WL-460
#[test]
fn a_task_with_options_returns_an_error_to_its_group() {
    within_patience("a group", || {
        let (pool, gate) = (fixed(2), Gate::new());
        let (closed, rows) = (gate.clone(), [String::from("1"), String::from("two")]);
        let joined = pool.group().fail_fast().scope(|s| {
            let waits = pool
                .task()
                .name("waits")
                .spawn(s, || closed.pass().is_err());
            gate.await_waiting(1);
            let parse = || rows[1].parse::<u32>();
            let fails = pool.task().name("fails").spawn_fallible(s, parse).unwrap();
            assert_eq!(fails.name(), Some("fails"));
            assert!(fails.join().unwrap_err().is_failed());
            let waits = waits.unwrap().join();
            assert_eq!(waits, cancelled(Cancellation::Sibling));
            let works = pool.task().spawn_fallible(s, || rows[0].parse::<u32>());
            assert_eq!(works.unwrap().join(), cancelled(Cancellation::Sibling));
            s.join()
        });
        assert!(joined.unwrap_err().is_failed());
        let value = pool.scope(|s| {
            let works = pool.task().spawn_fallible(s, || rows[0].parse::<u32>());
            works.unwrap().join()
        });
        assert_eq!(value, Ok(1));
    });
}
