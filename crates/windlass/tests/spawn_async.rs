//! Futures on executors: each poll is a task, and the handle is that of any task.

#![cfg(feature = "async")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "used by other tests")]
mod recording;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use recording::{Blocker, HookFns, Log, finish, fixed};
use windlass::context;
use windlass::executors::{DirectExecutor, ThreadPerTaskExecutor};
use windlass::pool::{CallerRunsPolicy, Outcome};
use windlass::prelude::*;
use windlass::queue::{ArrayBlockingQueue, BlockingQueue, LinkedBlockingQueue};
use windlass::task::{Cancellation, TaskState};
use windlass::testing::{DropCounter, DropToken, Gate, PATIENCE, until};

/// A future that is ready when its switch is set, and shows its wakers.
#[derive(Clone, Default)]
struct Switch {
    wakers: Arc<LinkedBlockingQueue<Waker>>,
    is_on: Arc<AtomicUsize>,
    polls: Arc<AtomicUsize>,
}

impl Switch {
    fn set(&self) {
        self.is_on.store(1, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        for waker in self.wakers.drain_all() {
            waker.wake();
        }
    }

    fn await_pending(&self) {
        until("the future is pending", || !self.wakers.is_empty());
    }

    fn polls(&self) -> usize {
        self.polls.load(Ordering::SeqCst)
    }
}

impl Future for Switch {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.polls.fetch_add(1, Ordering::SeqCst);
        if self.is_on.load(Ordering::SeqCst) == 1 {
            return Poll::Ready(());
        }
        self.wakers.offer(context.waker().clone()).unwrap();
        Poll::Pending
    }
}

/// A future that waits for the switch, and owns a token.
async fn keep(switch: Switch, token: DropToken) -> u32 {
    switch.await;
    drop(token);
    42
}

fn pool() -> ThreadPoolExecutor {
    fixed(1).build().unwrap()
}

/// WL-157
#[test]
fn a_future_runs_on_any_executor_and_its_handle_is_that_of_any_task() {
    let switch = Switch::default();
    let pool = pool();
    let mut handle = pool
        .spawn_async(keep(switch.clone(), DropCounter::new().token()))
        .unwrap();
    switch.await_pending();
    assert!(
        handle
            .get_timeout(Duration::ZERO)
            .unwrap_err()
            .is_timed_out()
    );
    assert_eq!(handle.state(), TaskState::Queued);
    switch.set();
    assert_eq!(handle.get().unwrap(), 42);
    let named = pool
        .task()
        .name("named")
        .attach(7_u32)
        .spawn_async(async { 1 })
        .unwrap();
    assert_eq!(
        (named.name(), named.attachment::<u32>()),
        (Some("named"), Some(&7))
    );
    assert_eq!(pollster::block_on(named).unwrap(), 1);
    let fork_join = ForkJoinPool::new(2).unwrap();
    assert_eq!(
        fork_join.spawn_async(async { 2 }).unwrap().join().unwrap(),
        2
    );
    let timers = ScheduledThreadPoolExecutor::new(1);
    assert_eq!(timers.spawn_async(async { 3 }).unwrap().join().unwrap(), 3);
    let threads = Arc::new(ThreadPerTaskExecutor::new());
    assert_eq!(
        threads
            .spawn_async(async { 4 })
            .unwrap()
            .share()
            .join()
            .unwrap(),
        4
    );
    let erased: Arc<dyn Executor> = Arc::new(pool);
    assert_eq!(erased.spawn_async(async { 5 }).unwrap().join().unwrap(), 5);
}

/// WL-157
#[test]
fn futures_await_each_other_and_timers_of_tokio() {
    let pool = pool();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .unwrap();
    let sleep = {
        let _inside = runtime.enter();
        tokio::time::sleep(Duration::from_millis(1))
    };
    let inner = pool.submit(|| 40).unwrap();
    let outer = pool.spawn_async(async {
        sleep.await;
        inner.await.unwrap() + 2
    });
    assert_eq!(outer.unwrap().join().unwrap(), 42);
}

/// WL-157
#[test]
fn an_error_or_a_panic_of_a_future_is_the_failure_of_the_task() {
    let pool = pool();
    let failing = pool
        .spawn_async_fallible(async { "x".parse::<u32>() })
        .unwrap();
    let id = failing.id();
    let error = failing.join().unwrap_err();
    assert!(error.to_string().contains("invalid digit"), "{error}");
    assert_ne!(pool.submit(|| ()).unwrap().id(), id);
    let panicking = pool.spawn_async(async { panic!("planned") }).unwrap();
    let error: windlass::error::ExecutionError = panicking.join().map(|()| 0).unwrap_err();
    assert!(error.to_string().contains("planned"), "{error}");
    finish(&pool);
    assert_eq!(pool.stats().failed_task_count, 2);
}

/// WL-157
#[test]
fn hooks_and_statistics_see_each_poll_with_the_id_and_the_name_of_the_handle() {
    let (switch, log) = (Switch::default(), Log::new());
    let entries = log.clone();
    let hooks = HookFns::new().after(move |task, outcome| {
        let name = task.name().map(str::to_owned);
        entries.record((task.id(), name, matches!(outcome, Outcome::Completed)));
    });
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let future = keep(switch.clone(), DropCounter::new().token());
    let handle = pool.task().name("polled").spawn_async(future).unwrap();
    let id = handle.id();
    switch.await_pending();
    switch.set();
    handle.join().unwrap();
    finish(&pool);
    let run = (id, Some("polled".to_owned()), true);
    assert_eq!(log.entries(), [run.clone(), run]);
    assert_eq!(pool.stats().completed_task_count, 2);
}

/// WL-157
#[test]
fn however_often_a_future_is_woken_one_poll_is_queued() {
    let (pool, switch) = (pool(), Switch::default());
    let handle = pool.spawn_async(switch.clone()).unwrap();
    switch.await_pending();
    let blocker = Blocker::occupy(&pool, 1);
    let waker = switch.wakers.take().unwrap();
    for _ in 0..100 {
        waker.wake_by_ref();
    }
    assert_eq!(pool.stats().queue_len, 1);
    blocker.release();
    until("the second poll", || switch.polls() == 2);
    switch.set();
    handle.join().unwrap();
    assert_eq!(switch.polls(), 3);
}

/// WL-158
#[test]
fn a_cancel_drops_the_future_on_a_worker_and_the_handle_is_done_at_once() {
    struct Dropped(Log<thread::ThreadId>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.record(thread::current().id());
        }
    }
    let (pool, switch, log) = (pool(), Switch::default(), Log::new());
    let worker = pool
        .submit(|| thread::current().id())
        .unwrap()
        .join()
        .unwrap();
    let (dropped, waits) = (Dropped(log.clone()), switch.clone());
    let handle = pool.spawn_async(async move {
        waits.await;
        drop(dropped);
    });
    let handle = handle.unwrap();
    switch.await_pending();
    assert!(handle.cancel());
    assert!(!handle.cancel());
    assert_eq!(handle.cancellation(), Some(Cancellation::Requested));
    until("the future is dropped", || log.entries() == [worker]);
    switch.set();
    finish(&pool);
    assert_eq!(switch.polls(), 1);
}

/// WL-158
#[test]
fn a_handle_that_cancels_on_drop_drops_the_future_and_one_that_is_dropped_detaches_it() {
    let (pool, switch, drops) = (pool(), Switch::default(), DropCounter::new());
    let future = keep(switch.clone(), drops.token());
    let handle = pool.spawn_async(future).unwrap().cancel_on_drop();
    switch.await_pending();
    drop(handle);
    until("the future is dropped", || drops.count() == 1);
    let switch = Switch::default();
    drop(
        pool.spawn_async(keep(switch.clone(), drops.token()))
            .unwrap(),
    );
    switch.await_pending();
    switch.set();
    until("the future has run", || drops.count() == 2);
    assert_eq!(switch.polls(), 2);
}

/// WL-158
#[test]
fn a_wake_up_that_is_rejected_ends_the_future_with_the_reason() {
    let drops = DropCounter::new();
    let queue = ArrayBlockingQueue::new(1).unwrap();
    let pool = fixed(1).work_queue(queue).build().unwrap();
    let switch = Switch::default();
    let handle = pool
        .spawn_async(keep(switch.clone(), drops.token()))
        .unwrap();
    switch.await_pending();
    let blocker = Blocker::occupy(&pool, 1);
    pool.execute(|| ()).unwrap();
    switch.wake();
    let error = handle.join().unwrap_err();
    assert_eq!(error.cancellation(), Some(Cancellation::Rejected));
    assert_eq!(drops.count(), 1);
    blocker.release();
    let late = Switch::default();
    let handle = loop {
        match pool.spawn_async(keep(late.clone(), drops.token())) {
            Ok(handle) => break handle,
            Err(rejected) => drop(rejected),
        }
    };
    late.await_pending();
    finish(&pool);
    // Nobody wakes it, and nobody could poll it.
    let error = handle.join().unwrap_err();
    assert_eq!(error.cancellation(), Some(Cancellation::Shutdown));
}

/// WL-158
#[test]
fn a_first_poll_that_is_rejected_is_returned_and_can_be_run() {
    let (pool, switch) = (pool(), Switch::default());
    pool.shutdown();
    let rejected = pool.spawn_async(async { 1 }).unwrap_err();
    assert!(rejected.is_shutdown());
    let (task, handle) = rejected.into_parts();
    task.run();
    assert_eq!(handle.join().unwrap(), 1);
    let rejected = pool.spawn_async(switch.clone()).unwrap_err();
    let (task, handle) = rejected.into_parts();
    drop(task);
    assert!(handle.join().unwrap_err().is_cancelled());
    assert_eq!(switch.polls(), 0);
}

/// WL-158
#[test]
fn a_poll_that_a_pool_returns_ends_the_future_when_it_is_dropped() {
    let (pool, drops) = (pool(), DropCounter::new());
    let blocker = Blocker::occupy(&pool, 1);
    let [removed, drained, run] = [0, 1, 2].map(|_| {
        pool.spawn_async(keep(Switch::default(), drops.token()))
            .unwrap()
    });
    drop(pool.remove(&removed).unwrap());
    assert_eq!(removed.cancellation(), Some(Cancellation::Removed));
    let mut returned = pool.shutdown_now().into_iter();
    assert_eq!(returned.len(), 2);
    drop(returned.next());
    assert_eq!(drained.cancellation(), Some(Cancellation::Drained));
    // Polled here, pending, and nobody is left to take the next poll.
    returned.next().unwrap().run();
    assert_eq!(run.cancellation(), Some(Cancellation::Shutdown));
    assert_eq!(drops.count(), 3);
    blocker.release();
    finish(&pool);
}

/// WL-159
#[test]
fn a_future_that_nobody_can_wake_any_more_is_cancelled() {
    let (pool, drops) = (pool(), DropCounter::new());
    let token = drops.token();
    let lost = pool.spawn_async(async move {
        pending::<()>().await;
        drop(token);
    });
    let error = lost.unwrap().join().unwrap_err();
    assert_eq!(error.cancellation(), Some(Cancellation::Dropped));
    assert_eq!(drops.count(), 1);
    let switch = Switch::default();
    let handle = pool
        .spawn_async(keep(switch.clone(), drops.token()))
        .unwrap();
    switch.await_pending();
    // Woken once, pending again, and then its waker is dropped.
    switch.wake();
    until("the second poll", || switch.polls() == 2);
    switch.await_pending();
    drop(switch.wakers.drain_all());
    let error = handle.join().unwrap_err();
    assert_eq!(error.cancellation(), Some(Cancellation::Dropped));
    assert_eq!(drops.count(), 2);
    finish(&pool);
}

/// WL-159
#[test]
fn a_drop_that_panics_harms_neither_the_worker_nor_the_handle() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("planned");
        }
    }
    let (pool, switch) = (pool(), Switch::default());
    let worker = pool
        .submit(|| thread::current().id())
        .unwrap()
        .join()
        .unwrap();
    let (bad, waits) = (Bad, switch.clone());
    let handle = pool.spawn_async(async move {
        waits.await;
        let _bad = bad;
    });
    switch.await_pending();
    assert!(handle.unwrap().cancel());
    // Dropped as the closure of a task is: a panic is its failure.
    let bad = Bad;
    let failed = pool.spawn_async(async move {
        let _bad = bad;
        3
    });
    assert!(failed.unwrap().join().unwrap_err().is_failed());
    let same = pool
        .submit(|| thread::current().id())
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(same, worker);
    finish(&pool);
}

thread_local! {
    static REQUEST: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// WL-160
#[test]
fn every_poll_has_the_context_of_the_thread_that_spawned_the_future() {
    let pool = fixed(1)
        .propagate(context::copied(&REQUEST))
        .build()
        .unwrap();
    let switch = Switch::default();
    let waits = switch.clone();
    REQUEST.set(7);
    let handle = pool.spawn_async(async move {
        let before = REQUEST.get();
        waits.await;
        (before, REQUEST.get())
    });
    REQUEST.set(8);
    switch.await_pending();
    switch.set();
    assert_eq!(handle.unwrap().join().unwrap(), (7, 7));
}

/// WL-159
#[test]
fn futures_that_are_woken_and_cancelled_at_once_all_end() {
    let pool = fixed(2).build().unwrap();
    let drops = DropCounter::new();
    const FUTURES: usize = 2_000;
    for n in 0..FUTURES {
        let (switch, token) = (Switch::default(), drops.token());
        let handle = pool.spawn_async(keep(switch.clone(), token)).unwrap();
        if n % 2 == 0 {
            switch.await_pending();
        }
        let control = handle.control();
        let canceller = pool.submit(move || control.cancel()).unwrap();
        switch.set();
        drop(switch);
        let end = handle.join();
        assert_eq!(end.is_err(), canceller.join().unwrap(), "{end:?}");
    }
    finish(&pool);
    assert_eq!(drops.count(), FUTURES);
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// WL-500
#[test]
fn a_future_that_is_suspended_ends_with_its_executor() {
    fn end<E: ExecutorService + Clone + 'static>(executor: E) {
        let (switch, drops) = (Switch::default(), DropCounter::new());
        let future = keep(switch.clone(), drops.token());
        let handle = executor.spawn_async(future).unwrap();
        switch.await_pending();
        executor.close();
        let error = handle.join().unwrap_err();
        assert_eq!(error.cancellation(), Some(Cancellation::Shutdown));
        assert_eq!((drops.count(), switch.polls()), (1, 1));
        assert_eq!(executor.cancelled_by_shutdown(), Some(1));
    }
    end(pool());
    end(ScheduledThreadPoolExecutor::new(1));
    end(ForkJoinPool::new(1).unwrap());
    end(Arc::new(ThreadPerTaskExecutor::new()));
    end(Arc::new(DirectExecutor::new()));
}

/// WL-500
#[test]
fn a_future_that_is_polled_or_queued_at_the_shutdown_may_end() {
    let pool = pool();
    let blocker = Blocker::occupy(&pool, 1);
    let ready = pool.spawn_async(async { 1 }).unwrap();
    let (switch, drops) = (Switch::default(), DropCounter::new());
    let suspends = pool.spawn_async(keep(switch, drops.token())).unwrap();
    pool.shutdown();
    assert!(!ready.is_done() && !suspends.is_done());
    blocker.release();
    assert_eq!(ready.join().unwrap(), 1);
    let error = suspends.join().unwrap_err();
    assert_eq!(error.cancellation(), Some(Cancellation::Shutdown));
    finish(&pool);
    assert_eq!(pool.cancelled_by_shutdown(), Some(1));
}

/// WL-500
#[test]
fn a_task_of_a_fork_join_pool_that_is_shut_down_still_wakes_a_future_of_it() {
    let pool = ForkJoinPool::new(1).unwrap();
    let (switch, gate) = (Switch::default(), Gate::new());
    let handle = pool.spawn_async(switch.clone()).unwrap();
    switch.await_pending();
    let (theirs, passes) = (switch.clone(), gate.clone());
    pool.execute(move || {
        passes.pass_uninterruptibly();
        theirs.set();
    })
    .unwrap();
    pool.shutdown();
    assert!(!handle.is_done());
    gate.open();
    handle.join().unwrap();
    pool.close();
    assert_eq!(pool.cancelled_by_shutdown(), Some(0));
}

/// WL-500
#[test]
fn futures_that_have_ended_are_cancelled_by_no_shutdown() {
    let pool = pool();
    for _ in 0..100 {
        pool.spawn_async(async {}).unwrap().join().unwrap();
    }
    pool.shutdown();
    let (task, handle) = pool.spawn_async(pending::<()>()).unwrap_err().into_parts();
    // Never accepted, so not counted.
    task.run();
    assert!(handle.join().unwrap_err().is_cancelled());
    finish(&pool);
    assert_eq!(pool.cancelled_by_shutdown(), Some(0));
}

/// A future that is pending so many times, and wakes itself each time.
struct Yields(u32);

impl Future for Yields {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(left) = self.0.checked_sub(1) else {
            return Poll::Ready(());
        };
        self.0 = left;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// So many nested polls would exhaust the stack of a test.
const MANY: u32 = 100_000;

#[test]
fn a_future_that_yields_often_takes_no_stack_where_tasks_run_at_once() {
    let executor = Arc::new(DirectExecutor::new());
    let handle = executor.spawn_async(Yields(MANY)).unwrap();
    assert_eq!(handle.join(), Ok(()));
}

#[test]
fn a_future_that_yields_often_takes_no_stack_where_its_caller_runs_it() {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(1).unwrap())
        .rejection_handler(CallerRunsPolicy)
        .build()
        .unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    pool.execute(|| ()).unwrap();
    // The worker is busy and the queue is full: each poll runs on this thread.
    let handle = pool.spawn_async(Yields(MANY)).unwrap();
    assert!(handle.is_done());
    blocker.release();
    finish(&pool);
}
