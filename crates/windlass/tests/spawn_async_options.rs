//! The options of a submission hold for futures too: limits, tokens, parents; and a future sees its task.

#![cfg(feature = "async")]
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;
#[path = "kit/time.rs"]
mod time;

use std::future::{Future, pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use recording::{Blocker, finish, fixed};
use time::{HOUR, SECOND, await_wake_up_in};
use windlass::clock::TestClock;
use windlass::interrupt;
use windlass::prelude::*;
use windlass::task::{self, CancelToken, Cancellation, Task, TaskState};
use windlass::testing::{DropCounter, DropToken, Gate, until, within_patience};

/// A pool of one on a clock.
fn pool_on(clock: &TestClock) -> ThreadPoolExecutor {
    clock.enter(|| fixed(1).build().unwrap())
}

/// A future that is pending until it is dropped, and keeps its waker where the test reaches it.
fn suspended(
    kept: &Arc<Mutex<Option<Waker>>>,
    token: DropToken,
) -> impl Future<Output = ()> + use<> {
    let (kept, token) = (Arc::clone(kept), token);
    poll_fn(move |context| {
        let _owned = &token;
        *kept.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    })
}

async fn never() {
    unreachable!("it is too late");
}

/// WL-450
#[test]
fn a_future_that_is_not_polled_in_time_expires_and_is_never_polled() {
    within_patience("futures", || {
        let clock = TestClock::new();
        let pool = pool_on(&clock);
        let blocker = Blocker::occupy(&pool, 1);
        let by_limit = pool.task().queue_limit(SECOND).spawn_async(never());
        let deadline = clock.now() + SECOND;
        let by_deadline = pool.task().deadline(deadline).spawn_async(never());
        await_wake_up_in(&clock, SECOND);
        clock.advance(SECOND);
        for late in [by_limit, by_deadline] {
            let error = late.unwrap().join().unwrap_err();
            assert_eq!(error.cancellation(), Some(Cancellation::Expired));
        }
        assert_eq!(pool.stats().expired_task_count, 2);
        blocker.release();
        finish(&pool);
    });
}

/// WL-450
#[test]
fn the_deadline_of_a_future_that_was_polled_in_time_does_not_disturb_it() {
    within_patience("a future", || {
        let clock = TestClock::new();
        let pool = pool_on(&clock);
        let (kept, drops) = (Arc::default(), DropCounter::new());
        let task = pool.task().queue_limit(SECOND);
        let handle = task.spawn_async(suspended(&kept, drops.token())).unwrap();
        until("it is pending", || kept.lock().unwrap().is_some());
        clock.advance(HOUR);
        // The next poll comes after the deadline.
        let waker = kept.lock().unwrap().take().unwrap();
        waker.wake();
        until("it is polled again", || kept.lock().unwrap().is_some());
        until("it is suspended", || handle.state() == TaskState::Queued);
        assert_eq!(drops.count(), 0);
        assert_eq!(pool.stats().expired_task_count, 0);
        handle.cancel();
        finish(&pool);
    });
}

/// WL-451
#[test]
fn the_run_limit_of_a_future_counts_from_its_first_poll_and_ends_it_where_it_is_suspended() {
    within_patience("a future", || {
        let clock = TestClock::new();
        let pool = pool_on(&clock);
        let (kept, drops) = (Arc::default(), DropCounter::new());
        let task = pool.task().run_limit(SECOND);
        let handle = task.spawn_async(suspended(&kept, drops.token())).unwrap();
        until("it is pending", || kept.lock().unwrap().is_some());
        await_wake_up_in(&clock, SECOND);
        clock.advance(SECOND);
        let error = handle.join().unwrap_err();
        assert_eq!(error.cancellation(), Some(Cancellation::TimedOut));
        until("it is dropped", || drops.count() == 1);
        assert_eq!(pool.stats().timed_out_task_count, 1);
        finish(&pool);
    });
}

/// WL-451
#[test]
fn a_poll_that_takes_longer_than_the_run_limit_is_interrupted_and_the_future_dropped() {
    within_patience("a poll", || {
        let clock = TestClock::new();
        let pool = pool_on(&clock);
        let (gate, drops) = (Gate::new(), DropCounter::new());
        let (closed, token) = (gate.clone(), drops.token());
        let handle = pool.task().run_limit(SECOND).spawn_async(async move {
            assert!(closed.pass().is_err(), "nobody opens the gate");
            pending::<()>().await;
            drop(token);
        });
        gate.await_waiting(1);
        await_wake_up_in(&clock, SECOND);
        clock.advance(SECOND);
        let error = handle.unwrap().join().unwrap_err();
        assert_eq!(error.cancellation(), Some(Cancellation::TimedOut));
        until("it is dropped", || drops.count() == 1);
        assert!(
            !pool
                .submit(interrupt::is_interrupted)
                .unwrap()
                .join()
                .unwrap()
        );
        finish(&pool);
    });
}

/// WL-452
#[test]
fn the_limits_of_a_pool_hold_for_the_futures_that_are_spawned_on_it() {
    within_patience("a future", || {
        let clock = TestClock::new();
        let pool = clock.enter(|| fixed(1).queue_limit(SECOND).build().unwrap());
        let gate = Gate::new();
        let closed = gate.clone();
        pool.execute(move || closed.pass_uninterruptibly()).unwrap();
        gate.await_waiting(1);
        let late = pool.spawn_async(never()).unwrap();
        await_wake_up_in(&clock, SECOND);
        clock.advance(SECOND);
        let error = late.join().unwrap_err();
        assert_eq!(error.cancellation(), Some(Cancellation::Expired));
        assert_eq!(pool.stats().expired_task_count, 1);
        gate.open();
        finish(&pool);
    });
}

/// WL-453
#[test]
fn a_token_cancels_a_future_and_drops_it() {
    within_patience("futures", || {
        let (pool, token) = (fixed(1).build().unwrap(), CancelToken::new());
        let (kept, drops) = (Arc::default(), DropCounter::new());
        let future = suspended(&kept, drops.token());
        let handle = pool.task().cancelled_by(&token).spawn_async(future);
        until("it is pending", || kept.lock().unwrap().is_some());
        token.cancel();
        let error = handle.unwrap().join().unwrap_err();
        assert_eq!(error.cancellation(), Some(Cancellation::Token));
        until("it is dropped", || drops.count() == 1);
        let late = pool.task().cancelled_by(&token).spawn_async(never());
        let error = late.unwrap().join().unwrap_err();
        assert_eq!(error.cancellation(), Some(Cancellation::Token));
        finish(&pool);
    });
}

/// WL-453
#[test]
fn a_future_that_is_a_child_is_cancelled_with_its_parent() {
    within_patience("a child", || {
        let pool = fixed(2).build().unwrap();
        let (kept, drops) = (Arc::default(), DropCounter::new());
        let (inner, future) = (pool.clone(), suspended(&kept, drops.token()));
        let gate = Gate::new();
        let closed = gate.clone();
        let parent = pool.submit(move || {
            let child = inner.task().as_child().spawn_async(future).unwrap();
            let _ = closed.pass();
            child.join()
        });
        until("the child is pending", || kept.lock().unwrap().is_some());
        gate.await_waiting(1);
        parent.unwrap().cancel_now();
        until("it is dropped", || drops.count() == 1);
        finish(&pool);
    });
}

/// WL-454
#[test]
fn the_code_of_a_future_sees_its_task_in_each_poll_and_so_do_its_children() {
    within_patience("futures", || {
        let pool = fixed(2).build().unwrap();
        let inner = pool.clone();
        let (kept, drops) = (Arc::default(), DropCounter::new());
        let grandchild = suspended(&kept, drops.token());
        let mut is_first = true;
        let yielded = poll_fn(move |context| {
            if !std::mem::replace(&mut is_first, false) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        let parent = pool.task().name("parent").spawn_async(async move {
            let first = task::current().map(|me| me.id());
            assert!(task::check().is_ok());
            yielded.await;
            let second = task::current().map(|me| me.id());
            let child = inner.task().as_child().spawn_async(grandchild);
            drop(child.unwrap());
            assert!(first.is_some() && first == second);
            pending::<()>().await;
        });
        let parent = parent.unwrap();
        until("the child is pending", || kept.lock().unwrap().is_some());
        parent.cancel();
        until("the child is dropped", || drops.count() == 1);
        finish(&pool);
    });
}

/// WL-454
#[test]
fn a_future_that_is_polled_while_it_is_cancelled_finds_out_and_is_interrupted() {
    within_patience("a poll", || {
        let (pool, gate) = (fixed(1).build().unwrap(), Gate::new());
        let closed = gate.clone();
        let (told, tells) = std::sync::mpsc::channel();
        let handle = pool.spawn_async(async move {
            let interrupted = closed.pass().is_err();
            told.send((interrupted, task::check().is_err())).unwrap();
        });
        let handle = handle.unwrap();
        gate.await_waiting(1);
        assert_eq!(handle.state(), TaskState::Running);
        handle.cancel_now();
        assert_eq!(tells.recv().unwrap(), (true, true));
        assert!(
            !pool
                .submit(interrupt::is_interrupted)
                .unwrap()
                .join()
                .unwrap()
        );
        finish(&pool);
    });
}

/// WL-453
#[test]
fn a_token_cancels_a_future_task() {
    let token = CancelToken::new();
    let task = Task::builder().cancelled_by(&token).build_future_task(|| 1);
    token.cancel();
    assert_eq!(task.handle().cancellation(), Some(Cancellation::Token));
}
