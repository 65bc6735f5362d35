//! Tokens: a cancellation that spreads to tasks, their children, groups and callbacks.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::executors::DirectExecutor;
use windlass::interrupt;
use windlass::prelude::*;
use windlass::task::{self, CancelToken, Cancellation, ExecutionError, Task, TaskState};
use windlass::testing::{DropCounter, Gate, PATIENCE, within_patience};

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

fn cancelled<T>(why: Cancellation) -> Result<T, ExecutionError> {
    Err(ExecutionError::Cancelled(why))
}

/// WL-143
#[test]
fn a_token_cancels_tasks_queued_and_running() {
    within_patience("tasks", || {
        let (pool, gate, token) = (fixed(1), Gate::new(), CancelToken::new());
        let theirs = gate.clone();
        let by_token = || pool.task().cancelled_by(&token);
        let running = by_token().submit(move || theirs.pass().is_err()).unwrap();
        gate.await_waiting(1);
        let queued = by_token().submit(|| true).unwrap();
        assert!(!token.is_cancelled() && token.check().is_ok());
        assert!(token.cancel_now() && !token.cancel());
        assert_eq!(token.cancellation(), Some(Cancellation::Token));
        let late = by_token().submit(|| true).unwrap();
        for task in [running, queued, late] {
            assert_eq!(task.join(), cancelled(Cancellation::Token));
        }
        // The gate is closed: only the interrupt has ended the wait at it.
        assert_eq!(pool.submit(|| 1).unwrap().join(), Ok(1));
    });
}

/// WL-143
#[test]
fn a_token_does_not_interrupt_unless_it_is_told_to() {
    within_patience("a task", || {
        let (pool, gate, token) = (fixed(1), Gate::new(), CancelToken::new());
        let (theirs, told) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
        let tell = Arc::clone(&told);
        let task = pool.task().cancelled_by(&token).submit(move || {
            theirs.pass().unwrap();
            tell.fetch_add(1, Ordering::SeqCst);
        });
        gate.await_waiting(1);
        token.cancel();
        assert!(task.unwrap().is_cancelled());
        gate.open();
        pool.close();
        assert_eq!(told.load(Ordering::SeqCst), 1);
    });
}

/// WL-143
#[test]
fn a_task_without_a_handle_does_not_start_after_its_token_is_cancelled() {
    let (pool, gate, token) = (fixed(1), Gate::new(), CancelToken::new());
    let (theirs, runs) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    let (plain, input) = (Arc::clone(&runs), Arc::clone(&runs));
    let by_token = || pool.task().cancelled_by(&token);
    let plain = move || {
        plain.fetch_add(1, Ordering::SeqCst);
    };
    let with_input = move |number| {
        input.fetch_add(number, Ordering::SeqCst);
    };
    by_token().execute(plain).unwrap();
    by_token().execute_with(1, with_input).unwrap();
    token.cancel();
    gate.open();
    pool.close();
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// WL-143
#[test]
fn a_token_forgets_tasks_that_are_done() {
    let (pool, token, drops) = (fixed(1), CancelToken::new(), DropCounter::new());
    for _ in 0..10 {
        let task = pool.task().cancelled_by(&token).attach(drops.token());
        task.submit(|| ()).unwrap().join().unwrap();
    }
    windlass::testing::until("the tasks are gone", || drops.count() == 10);
    token.cancel();
}

/// WL-142
#[test]
fn a_task_knows_itself() {
    let pool = fixed(1);
    let task = pool.task().name("self").submit(|| {
        let me = task::current().unwrap();
        // A task inside, without a handle, is another one; so is one with a handle.
        let inside = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&inside);
        let direct = DirectExecutor::new();
        direct
            .execute(move || {
                theirs.store(usize::from(task::current().is_none()), Ordering::SeqCst);
            })
            .unwrap();
        let other = direct.submit(|| task::current().unwrap().id()).unwrap();
        let unknown = inside.load(Ordering::SeqCst) == 1;
        let again = task::current().unwrap().id();
        let same = me.id() == again && me.id() != other.join().unwrap();
        (
            me.name().map(String::from),
            me.id(),
            me.state(),
            unknown && same,
        )
    });
    let task = task.unwrap();
    let id = task.id();
    let (name, own, state, is_told_apart) = task.join().unwrap();
    assert_eq!(
        (name.as_deref(), own, state),
        (Some("self"), id, TaskState::Running)
    );
    assert!(is_told_apart);
    assert!(task::current().is_none() && task::check().is_ok());
}

/// WL-142
#[test]
fn a_task_is_told_of_its_cancellation() {
    within_patience("a task", || {
        let (pool, gate) = (fixed(1), Gate::new());
        let (theirs, told) = (gate.clone(), Gate::new());
        let tell = told.clone();
        let task = pool.submit(move || {
            assert!(task::check().is_ok());
            let token = task::current().unwrap().token();
            theirs.pass_uninterruptibly();
            token.wait_timeout(PATIENCE).unwrap();
            assert_eq!(task::check(), cancelled(Cancellation::Requested));
            assert_eq!(token.check(), cancelled(Cancellation::Parent));
            tell.open();
        });
        gate.await_waiting(1);
        assert!(task.unwrap().cancel());
        gate.open();
        told.pass_uninterruptibly();
    });
}

/// WL-142
#[test]
fn the_token_of_a_task_that_ends_in_another_way_is_not_cancelled() {
    let (task, handle) = Task::with_handle(|| ());
    let token = handle.token();
    task.run();
    assert!(!token.is_cancelled() && !handle.token().is_cancelled());
    // Nor does it cancel the task.
    let (task, handle) = Task::with_handle(|| 1);
    handle.token().cancel();
    task.run();
    assert_eq!(handle.join(), Ok(1));
}

/// WL-142
#[test]
fn children_are_cancelled_with_the_task_that_submitted_them() {
    within_patience("tasks", || {
        let (pool, gate) = (Arc::new(fixed(3)), Gate::new());
        let (inner, theirs) = (Arc::clone(&pool), gate.clone());
        let parent = pool.submit(move || {
            let gate = || theirs.clone();
            let (nested, first) = (Arc::clone(&inner), gate());
            let second = gate();
            // A child, whose own child waits; and a task that is not a child.
            let child = inner.task().as_child().submit(move || {
                let grandchild = nested
                    .task()
                    .as_child()
                    .submit(move || second.pass().is_err());
                (grandchild.unwrap().join(), first.pass().is_err())
            });
            let other = inner.submit(|| "other").unwrap();
            (child.unwrap().join(), other.join())
        });
        let parent = parent.unwrap();
        gate.await_waiting(1);
        assert!(parent.cancel());
        // The gate is never opened: all of them are interrupted.
        pool.close();
        assert_eq!(parent.cancellation(), Some(Cancellation::Requested));
    });
}

/// WL-142
#[test]
fn a_child_goes_on_when_its_parent_ends() {
    within_patience("tasks", || {
        let (pool, gate) = (Arc::new(fixed(2)), Gate::new());
        let (inner, theirs) = (Arc::clone(&pool), gate.clone());
        let submit = move || {
            let child = inner.task().as_child();
            child.submit(move || theirs.pass().is_ok()).unwrap()
        };
        let child = pool.submit(submit).unwrap().join().unwrap();
        gate.await_waiting(1);
        gate.open();
        assert_eq!(child.join(), Ok(true));
        // Outside of tasks it is the child of none.
        assert_eq!(pool.task().as_child().submit(|| 1).unwrap().join(), Ok(1));
    });
}

/// WL-142
#[test]
fn a_group_is_cancelled_with_the_task_that_opened_it() {
    within_patience("a group", || {
        let (pool, gate) = (Arc::new(fixed(2)), Gate::new());
        let (inner, theirs) = (Arc::clone(&pool), gate.clone());
        let (send, ends) = std::sync::mpsc::channel();
        let parent = pool.submit(move || {
            let end = inner.group().as_child().scope(|s| {
                let task = s.spawn(|| theirs.pass().is_err()).unwrap();
                task.join()
            });
            send.send(end).unwrap();
        });
        gate.await_waiting(1);
        assert!(parent.unwrap().cancel());
        assert_eq!(
            ends.recv_timeout(PATIENCE).unwrap(),
            cancelled(Cancellation::Parent)
        );
    });
}

/// WL-141
#[test]
fn children_of_a_token_are_cancelled_with_it_and_not_the_other_way() {
    let token = CancelToken::new();
    let (child, other) = (token.child(), token.child());
    child.cancel();
    assert!(child.is_cancelled() && !token.is_cancelled() && !other.is_cancelled());
    token.cancel();
    assert!(other.is_cancelled() && token.child().is_cancelled());
}

/// WL-141
#[test]
fn a_long_chain_of_tokens_takes_no_stack() {
    let chain = std::thread::Builder::new().stack_size(256 << 10).spawn(|| {
        let root = CancelToken::new();
        let leaf = (0..50_000).fold(root.clone(), |token, _| token.child());
        root.cancel();
        assert!(leaf.is_cancelled());
        drop(root);
        drop(leaf);
    });
    chain.unwrap().join().unwrap();
}

/// WL-140
#[test]
fn all_callbacks_are_called_the_newest_first_and_the_first_panic_is_resumed() {
    let (token, order) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
    for digit in 1..4 {
        let order = Arc::clone(&order);
        token.on_cancel(move || {
            let now = order.load(Ordering::SeqCst);
            order.store(10 * now + digit, Ordering::SeqCst);
            assert!(digit != 2, "in a callback");
        });
    }
    let ended = catch_unwind(AssertUnwindSafe(|| token.cancel()));
    assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"in a callback"));
    assert_eq!(order.load(Ordering::SeqCst), 321);
    assert!(token.is_cancelled());
    // Later ones are called at once.
    let theirs = Arc::clone(&order);
    token.on_cancel(move || theirs.store(0, Ordering::SeqCst));
    assert_eq!(order.load(Ordering::SeqCst), 0);
}

/// WL-140
#[test]
fn callbacks_are_forgotten_with_their_token() {
    let (token, drops) = (CancelToken::new(), DropCounter::new());
    let (child, kept) = (token.child(), drops.token());
    child.on_cancel(move || drop(kept));
    drop(child);
    assert_eq!(drops.count(), 1);
    token.cancel();
}

/// WL-140
#[test]
fn a_wait_ends_by_the_cancellation_the_time_or_an_interrupt() {
    within_patience("waits", || {
        let token = CancelToken::new();
        assert_eq!(token.wait_timeout(Duration::ZERO), Ok(false));
        let theirs = token.clone();
        let waiter = interrupt::spawn(move || theirs.wait());
        waiter.interrupt();
        assert!(waiter.join().unwrap().unwrap().is_err());
        let theirs = token.clone();
        let waiter = interrupt::spawn(move || theirs.wait());
        token.cancel();
        assert!(waiter.join().unwrap().unwrap().is_ok());
        assert_eq!(token.wait_timeout(Duration::ZERO), Ok(true));
    });
}

/// WL-140
#[test]
fn all_threads_that_wait_for_a_token_are_woken() {
    within_patience("waits", || {
        let (clock, token) = (TestClock::new(), CancelToken::new());
        let waiters = [(); 3].map(|()| {
            let (clock, token) = (clock.clone(), token.clone());
            let wait = move || clock.enter(|| token.wait_timeout(Duration::from_secs(1)));
            std::thread::spawn(wait)
        });
        assert!(clock.await_sleepers(3, PATIENCE));
        token.cancel();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Ok(true));
        }
    });
}
