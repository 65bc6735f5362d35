//! Handles are awaited from any runtime: tokio, smol's executor, pollster.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use async_executor::Executor as SmolExecutor;
use windlass::prelude::*;
use windlass::task::TaskState;
use windlass::testing::{Gate, until};

fn pool() -> ThreadPoolExecutor {
    executors::fixed_thread_pool(2).unwrap()
}

/// Returns a handle whose task waits for the gate.
fn gated(pool: &ThreadPoolExecutor, gate: &Gate) -> windlass::TaskHandle<u32> {
    let gate = gate.clone();
    let body = move || {
        gate.pass_uninterruptibly();
        42
    };
    pool.submit(body).unwrap()
}

fn tokio() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap()
}

/// WL-155
#[test]
fn a_handle_is_awaited_from_tokio_smol_and_pollster() {
    let (pool, gate) = (pool(), Gate::new());
    let (one, two, three) = (
        gated(&pool, &gate),
        gated(&pool, &gate),
        gated(&pool, &gate),
    );
    let failing = pool.submit(|| -> u32 { panic!("planned") }).unwrap();
    gate.open();
    assert_eq!(tokio().block_on(one).unwrap(), 42);
    let smol = SmolExecutor::new();
    let task = smol.spawn(two);
    assert_eq!(futures_lite::future::block_on(smol.run(task)).unwrap(), 42);
    assert_eq!(pollster::block_on(three).unwrap(), 42);
    assert!(pollster::block_on(failing).unwrap_err().is_failed());
}

/// WL-155
#[test]
fn every_kind_of_handle_is_awaited() {
    let pool = pool();
    let control = pool.submit(|| 1).unwrap().control();
    let shared = pool.submit(|| 2).unwrap().share();
    let again = shared.clone();
    let timers = ScheduledThreadPoolExecutor::new(1);
    let later = timers.schedule(Duration::from_millis(1), || 3).unwrap();
    let splitters = ForkJoinPool::new(1).unwrap();
    let submitted = splitters.submit(|| 4).unwrap();
    tokio().block_on(async {
        assert_eq!(control.await, TaskState::Completed);
        assert_eq!((shared.await.unwrap(), again.await.unwrap()), (2, 2));
        assert_eq!(later.await.unwrap(), 3);
        assert_eq!(submitted.await.unwrap(), 4);
    });
}

/// WL-155
#[test]
fn a_select_or_a_timeout_leaves_the_task_alone_and_the_handle_usable() {
    let (pool, gate) = (pool(), Gate::new());
    let mut handle = gated(&pool, &gate);
    tokio().block_on(async {
        let timed = tokio::time::timeout(Duration::from_millis(1), &mut handle).await;
        assert!(timed.is_err());
        let won = tokio::select! {
            biased;
            _ = &mut handle => "handle",
            () = std::future::ready(()) => "other",
        };
        assert_eq!(won, "other");
        gate.open();
        assert_eq!(handle.await.unwrap(), 42);
    });
}

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// WL-155
#[test]
fn a_handle_that_is_dropped_while_it_is_pending_keeps_no_waker() {
    let (pool, gate) = (pool(), Gate::new());
    let counter = Arc::new(Counter::default());
    let waker = Waker::from(Arc::clone(&counter));
    let control = {
        let handle = gated(&pool, &gate);
        let control = handle.control();
        let mut handle = pin!(handle);
        let polled = handle.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        control
    };
    drop(waker);
    assert_eq!(Arc::strong_count(&counter), 1);
    gate.open();
    control.wait().unwrap();
    assert_eq!(counter.0.load(Ordering::SeqCst), 0);
}

/// WL-155
#[test]
fn only_the_last_waker_is_kept_and_it_is_woken_once() {
    let (pool, gate) = (pool(), Gate::new());
    let counters: Vec<_> = (0..3).map(|_| Arc::new(Counter::default())).collect();
    let mut handle = pin!(gated(&pool, &gate));
    for counter in &counters {
        let waker = Waker::from(Arc::clone(counter));
        assert!(
            handle
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    let kept: Vec<_> = counters.iter().map(Arc::strong_count).collect();
    assert_eq!(kept, [1, 1, 2]);
    gate.open();
    until("the waker is woken", || {
        counters[2].0.load(Ordering::SeqCst) == 1
    });
    let Poll::Ready(value) = handle
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("the task is done");
    };
    assert_eq!(value.unwrap(), 42);
}
