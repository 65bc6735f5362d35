//! The work-stealing pool: building it, its order, its helpers, its threads.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::error::Failure;
use windlass::error::RejectionReason;
use windlass::forkjoin::{Cx, ForkJoinPool, RecursiveTask, worker_index};
use windlass::task::Task;
use windlass::testing::{Gate, PATIENCE, until, within_patience};
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{Executor, ExecutorService, Submit, executors};

struct Fib(u32);

impl RecursiveTask for Fib {
    type Output = u64;
    fn compute(self, cx: &Cx<'_>) -> u64 {
        if self.0 < 2 {
            return u64::from(self.0);
        }
        let left = cx.fork(Fib(self.0 - 1));
        let right = Fib(self.0 - 2).compute(cx);
        left.join().unwrap() + right
    }
}

/// Starts as many workers as the pool may have; they wait at the gate.
fn hold(pool: &ForkJoinPool) -> Gate {
    let gate = Gate::new();
    for _ in 0..pool.parallelism() {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(pool.parallelism());
    gate
}

fn held(parallelism: usize) -> (ForkJoinPool, Gate) {
    let pool = ForkJoinPool::new(parallelism).unwrap();
    let gate = hold(&pool);
    (pool, gate)
}

/// Creates no more threads than this number.
#[derive(Debug, Clone, Default)]
struct Limited(Arc<AtomicUsize>);

impl ThreadFactory for Limited {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let less = |left: usize| left.checked_sub(1);
        match self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        {
            Ok(_) => thread::Builder::new().spawn(|| body.run()).map(drop),
            Err(_) => Err(io::Error::other("no more threads")),
        }
    }
}

fn limited(threads: usize) -> (ForkJoinPool, Limited) {
    let factory = Limited(Arc::new(AtomicUsize::new(threads)));
    let builder = ForkJoinPool::builder().parallelism(1);
    let pool = builder
        .thread_factory(Arc::new(factory.clone()))
        .build()
        .unwrap();
    (pool, factory)
}

/// FJP-001
#[test]
fn a_fresh_pool_is_idle_and_empty() {
    let pool = ForkJoinPool::new(3).unwrap();
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.active_thread_count), (0, 0));
    assert_eq!((stats.running_thread_count, stats.steal_count), (0, 0));
    assert_eq!(
        (stats.queued_task_count, stats.queued_submission_count),
        (0, 0)
    );
    assert!(!pool.is_async_mode() && !pool.is_shutdown() && !pool.is_terminated());
    assert!(pool.is_quiescent());
}

/// FJP-002
#[test]
fn parallelism_lies_between_1_and_32767() {
    assert!(ForkJoinPool::new(0).is_err());
    assert!(ForkJoinPool::new(1).is_ok());
    assert!(ForkJoinPool::new(32_767).is_ok());
    let error = ForkJoinPool::new(32_768).unwrap_err();
    assert!(error.to_string().contains("32768"));
}

/// FJP-003
#[test]
fn parallelism_reads_back_and_defaults_to_the_processors() {
    assert_eq!(ForkJoinPool::new(5).unwrap().parallelism(), 5);
    let default = ForkJoinPool::builder().build().unwrap();
    assert_eq!(
        default.parallelism(),
        thread::available_parallelism().unwrap().get()
    );
}

/// FJP-004
#[test]
fn workers_start_with_the_first_task_and_are_gone_after_termination() {
    let pool = ForkJoinPool::new(1).unwrap();
    assert_eq!(pool.stats().pool_size, 0);
    let gate = hold(&pool);
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.active_thread_count), (1, 1));
    gate.open();
    pool.close();
    assert_eq!(pool.stats().pool_size, 0);
}

/// FJP-007
#[test]
fn after_a_computation_the_pool_is_quiescent_and_stays_usable() {
    let pool = ForkJoinPool::new(2).unwrap();
    for _ in 0..2 {
        assert_eq!(pool.invoke(Fib(20)), 6765);
        until("rest", || pool.is_quiescent());
        let stats = pool.stats();
        assert_eq!((stats.active_thread_count, stats.queued_task_count), (0, 0));
        assert_eq!((stats.parallelism, stats.queued_submission_count), (2, 0));
        assert!(!pool.is_shutdown());
    }
}

/// WL-045: what needs no worker can still be computed, by the caller, and the pool says so.
#[test]
fn invoke_after_the_end_of_the_pool_runs_in_the_caller() {
    let pool = ForkJoinPool::new(2).unwrap();
    pool.close();
    assert_eq!(pool.invoke(Fib(8)), 21);
    assert_eq!(pool.stats().caller_run_count, 1);
    assert_eq!(pool.try_install(|| 1).map_err(|body| body()), Err(1));
    assert_eq!(pool.stats().caller_run_count, 1);
    assert!(pool.is_terminated());
}

/// FJP-025, FJT-031
#[test]
fn a_worker_that_awaits_quiescence_helps_and_succeeds() {
    struct Awaits(ForkJoinPool);
    impl RecursiveTask for Awaits {
        type Output = ();
        fn compute(self, cx: &Cx<'_>) {
            let task = cx.fork(Fib(8));
            assert!(self.0.await_quiescence(PATIENCE));
            assert!(task.is_done());
            assert_eq!(self.0.stats().queued_task_count, 0);
            assert_eq!(task.join().unwrap(), 21);
        }
    }
    let pool = ForkJoinPool::new(1).unwrap();
    pool.invoke(Awaits(pool.clone()));
}

/// FJP-026
#[test]
fn an_outside_thread_that_awaits_quiescence_runs_what_is_queued() {
    let (pool, gate) = held(1);
    let ran_on: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    for _ in 0..5 {
        let ran_on = Arc::clone(&ran_on);
        pool.execute(move || ran_on.lock().unwrap().push(thread::current().id()))
            .unwrap();
    }
    let forked = pool.fork(Fib(9)).unwrap();
    assert!(!pool.await_quiescence(Duration::from_millis(20)));
    assert_eq!(*ran_on.lock().unwrap(), vec![thread::current().id(); 5]);
    assert_eq!(forked.join().unwrap(), 34);
    gate.open();
    assert!(pool.await_quiescence(PATIENCE));
}

/// FJP-027
#[test]
fn a_pool_is_not_quiescent_while_a_task_looks_at_it() {
    let pool = ForkJoinPool::new(1).unwrap();
    assert!(!pool.install(|| pool.is_quiescent()));
    until("rest", || pool.is_quiescent());
}

/// FJP-028
#[test]
fn a_worker_runs_its_forks_newest_first_and_in_async_mode_oldest_first() {
    for (async_mode, expected) in [(false, [5, 4, 3, 2, 1]), (true, [1, 2, 3, 4, 5])] {
        let builder = ForkJoinPool::builder().parallelism(1);
        let pool = builder.async_mode(async_mode).build().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        pool.install(|| {
            for number in 1..=5 {
                let order = Arc::clone(&order);
                pool.execute(move || order.lock().unwrap().push(number))
                    .unwrap();
            }
        });
        pool.close();
        assert_eq!(*order.lock().unwrap(), expected);
    }
}

/// FJP-029
#[test]
fn submissions_from_one_outside_thread_start_in_order() {
    for async_mode in [false, true] {
        let builder = ForkJoinPool::builder().parallelism(1);
        let pool = builder.async_mode(async_mode).build().unwrap();
        let gate = hold(&pool);
        let order = Arc::new(Mutex::new(Vec::new()));
        for number in 1..=5 {
            let order = Arc::clone(&order);
            pool.execute(move || order.lock().unwrap().push(number))
                .unwrap();
        }
        gate.open();
        pool.close();
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 4, 5]);
    }
}

/// FJP-034
#[test]
fn parallelism_can_be_changed_within_its_limits() {
    let (pool, gate) = held(1);
    let queued = pool.submit(|| 5).unwrap();
    assert!(pool.set_parallelism(0).is_err() && pool.set_parallelism(32_768).is_err());
    assert_eq!((pool.parallelism(), pool.stats().pool_size), (1, 1));
    assert_eq!(pool.set_parallelism(2).unwrap(), 1);
    let mut queued = queued;
    assert_eq!(queued.get_timeout(PATIENCE).unwrap(), 5);
    assert_eq!(pool.set_parallelism(1).unwrap(), 2);
    until("one worker", || pool.stats().pool_size == 1);
    gate.open();
}

/// FJP-038
#[test]
fn a_panic_in_execute_goes_to_the_handler_and_the_worker_carries_on() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&messages);
    let handler = move |failure: &Failure| {
        theirs
            .lock()
            .unwrap()
            .push(failure.message().map(str::to_owned));
        panic!("so does the handler");
    };
    let pool = ForkJoinPool::builder()
        .parallelism(1)
        .uncaught_handler(handler)
        .build()
        .unwrap();
    let before = pool.install(|| thread::current().id());
    pool.execute(|| panic!("in execute")).unwrap();
    assert_eq!(pool.install(|| thread::current().id()), before);
    assert_eq!(*messages.lock().unwrap(), [Some("in execute".to_owned())]);
}

/// FJP-039
#[test]
fn a_panic_in_a_submitted_task_stays_with_that_task() {
    let reports = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&reports);
    let handler = move |_: &Failure| {
        theirs.fetch_add(1, Ordering::SeqCst);
    };
    let pool = ForkJoinPool::builder()
        .parallelism(1)
        .uncaught_handler(handler)
        .build()
        .unwrap();
    let mut failed = pool.submit(|| panic!("submitted")).unwrap();
    assert!(failed.get().unwrap_err().is_failed());
    pool.close();
    assert_eq!(reports.load(Ordering::SeqCst), 0);
}

/// FJP-040
#[test]
fn when_no_worker_can_be_made_tasks_are_refused_and_joiners_progress() {
    let (pool, factory) = limited(0);
    let refused = pool.submit(|| 3).unwrap_err();
    assert!(
        refused
            .source()
            .unwrap()
            .to_string()
            .contains("no more threads")
    );
    assert_eq!(refused.reason(), RejectionReason::NoThread);
    assert_eq!(pool.stats().queued_submission_count, 0);
    assert_eq!(pool.invoke(Fib(8)), 21);
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    assert!(pool.fork(Fib(8)).is_err());
    assert_eq!(pool.stats().caller_run_count, 2);
    factory.0.store(9, Ordering::SeqCst);
    let (task, mut handle) = refused.into_parts();
    pool.execute_task(task).unwrap();
    assert_eq!(handle.get_timeout(PATIENCE).unwrap(), 3);
}

/// FJP-040: the same if the thread comes to nothing after it was promised.
#[test]
fn a_caller_whose_worker_never_starts_does_the_work_itself() {
    #[derive(Debug)]
    struct Lost;
    impl ThreadFactory for Lost {
        fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
            thread::Builder::new().spawn(|| drop(body)).map(drop)
        }
    }
    let builder = ForkJoinPool::builder()
        .parallelism(1)
        .thread_factory(Arc::new(Lost));
    let pool = builder.build().unwrap();
    within_patience("callers", move || {
        for _ in 0..100 {
            assert_eq!(pool.invoke(Fib(5)), 5);
            let mut cell = 0;
            pool.scope(|scope| scope.spawn(|| cell = 1));
            assert_eq!(cell, 1);
        }
        pool.close();
    });
}

/// A payload that panics when it is dropped unwinds through no join.
#[test]
fn a_factory_that_panics_is_survived() {
    #[derive(Debug)]
    struct Panics;
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    impl ThreadFactory for Panics {
        fn new_thread(&self, _body: ThreadBody) -> io::Result<()> {
            std::panic::panic_any(Loud);
        }
    }
    let builder = ForkJoinPool::builder()
        .parallelism(2)
        .thread_factory(Arc::new(Panics));
    let pool = builder.build().unwrap();
    assert_eq!(pool.invoke(Fib(8)), 21);
    assert_eq!(pool.stats().pool_size, 0);
}

/// FJP-042
#[test]
fn worker_names_tell_the_pool_and_the_worker() {
    let name = || thread::current().name().map(str::to_owned).unwrap();
    let pool = ForkJoinPool::new(1).unwrap();
    assert!(pool.name().starts_with("ForkJoinPool-"));
    assert_eq!(pool.install(name), format!("{}-worker-1", pool.name()));
    let named = ForkJoinPool::builder().name("render").build().unwrap();
    assert_eq!(named.name(), "render");
    assert_eq!(named.install(name), "render-worker-1");
    let common = ForkJoinPool::common();
    assert_eq!(common.name(), "ForkJoinPool.common");
    assert!(
        common
            .install(name)
            .starts_with("ForkJoinPool.common-worker-")
    );
    pool.shutdown();
    let rejected = pool.execute(|| ()).unwrap_err().to_string();
    assert!(rejected.contains(pool.name()), "{rejected}");
}

#[test]
fn a_pool_takes_its_name_from_its_factory() {
    let builder = ForkJoinPool::builder().parallelism(1);
    let factory = DefaultThreadFactory::named("ours");
    assert_eq!(
        builder.thread_factory(factory).build().unwrap().name(),
        "ours"
    );
}

#[test]
fn what_a_task_carries_can_be_completed_by_the_pool() {
    let builder = ForkJoinPool::builder().parallelism(1);
    let pool = builder.prepare_tasks(|task| task.name("prepared"));
    let handle = pool.build().unwrap().submit(|| ()).unwrap();
    assert_eq!(handle.name(), Some("prepared"));
}

/// FJP-043
#[test]
fn idle_workers_leave_after_keep_alive_and_return_when_needed() {
    let clock = TestClock::new();
    let keep_alive = Duration::from_secs(60);
    let pool = clock.enter(|| ForkJoinPool::builder().parallelism(2).build().unwrap());
    for _ in 0..3 {
        let gate = hold(&pool);
        gate.open();
        assert!(clock.await_sleepers(2, PATIENCE));
        assert_eq!(pool.stats().pool_size, 2);
        clock.advance(keep_alive);
        until("no workers", || pool.stats().pool_size == 0);
    }
}

/// FJP-043, FJP-047
#[test]
fn a_submission_that_meets_a_worker_on_its_way_out_is_run() {
    let builder = ForkJoinPool::builder()
        .parallelism(1)
        .keep_alive(Duration::ZERO);
    let pool = builder.build().unwrap();
    within_patience("submissions to leaving workers", move || {
        for number in 0..3_000 {
            assert_eq!(pool.submit(move || number).unwrap().get().unwrap(), number);
        }
    });
}

/// FJP-047
#[test]
fn no_submission_is_left_without_a_worker() {
    let one = ForkJoinPool::new(1).unwrap();
    let two = ForkJoinPool::new(2).unwrap();
    within_patience("submissions", move || {
        for number in 0..10_000 {
            assert_eq!(one.submit(move || number).unwrap().get().unwrap(), number);
        }
        for _ in 0..3_000 {
            let gate = Gate::new();
            let spinner = gate.clone();
            let mut spinning = two.submit(move || spinner.pass_uninterruptibly()).unwrap();
            two.submit(|| ()).unwrap().get().unwrap();
            gate.open();
            spinning.get().unwrap();
        }
    });
}

/// FJP-049
#[test]
fn a_work_stealing_pool_is_an_async_mode_executor_service() {
    let pool = executors::work_stealing_pool_of(3).unwrap();
    assert_eq!((pool.parallelism(), pool.is_async_mode()), (3, true));
    let service: &dyn ExecutorService = &pool;
    assert_eq!(service.submit(|| 4).unwrap().get().unwrap(), 4);
    let default = executors::work_stealing_pool();
    assert_eq!(
        default.parallelism(),
        thread::available_parallelism().unwrap().get()
    );
}

/// FJP-050
#[test]
fn inside_a_task_the_pool_and_the_worker_index_are_known() {
    struct Asks;
    impl RecursiveTask for Asks {
        type Output = usize;
        fn compute(self, cx: &Cx<'_>) -> usize {
            assert_eq!(worker_index(), Some(cx.worker_index()));
            cx.worker_index()
        }
    }
    let (pool, other) = (ForkJoinPool::new(1).unwrap(), ForkJoinPool::new(1).unwrap());
    assert!(!pool.is_current());
    pool.install(|| {
        assert!(pool.is_current() && !other.is_current());
        other.install(|| assert!(other.is_current() && !pool.is_current()));
        assert!(pool.is_current());
    });
    assert_eq!(pool.invoke(Asks), pool.invoke(Asks));
    assert_eq!(worker_index(), None);
}

/// FJP-033
#[test]
fn lazy_submit_queues_a_task_without_waking_a_worker() {
    let pool = ForkJoinPool::new(1).unwrap();
    let (task, mut handle) = Task::with_handle(|| 6);
    pool.lazy_submit(task).unwrap();
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.queued_submission_count), (0, 1));
    pool.install(|| ());
    assert_eq!(handle.get_timeout(PATIENCE).unwrap(), 6);
}

/// FJP-048
#[test]
fn debug_output_shows_state_sizes_steals_and_queues() {
    let (pool, gate) = held(1);
    pool.execute(|| ()).unwrap();
    assert_eq!(
        format!("{pool:?}"),
        format!(
            "ForkJoinPool@{}[Running, parallelism = 1, size = 1, active = 1, running = 1, \
             steals = 0, tasks = 0, submissions = 1]",
            pool.name()
        )
    );
    pool.shutdown();
    assert!(format!("{pool:?}").contains("Shutting down"));
    gate.open();
    pool.close();
    assert!(format!("{pool:?}").contains("Terminated"));
}

/// A pool holds no state that a panic of user code could leave half changed.
#[test]
fn a_pool_and_its_handles_are_unwind_safe() {
    fn check<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<ForkJoinPool>();
    check::<windlass::forkjoin::ForkHandle<std::cell::Cell<u32>>>();
    check::<windlass::forkjoin::completer::Root>();
    check::<windlass::forkjoin::completer::Node>();
}
