//! The ready-made executors, and the small adapters that come with them.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use windlass::executors::DirectExecutor;
use windlass::interrupt::Interrupted;
use windlass::pool::ConfigError;
use windlass::task::Task;
use windlass::testing::{DropCounter, DropToken, Gate, PATIENCE, until};
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{Executor, ExecutorService, RejectedExecution};
use windlass::{Submit, ThreadPoolExecutor, executors};

/// Counts the threads that it makes and those that have ended.
#[derive(Debug, Clone, Default)]
struct Counting {
    made: DropCounter,
    ended: DropCounter,
}

impl ThreadFactory for Counting {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        drop(self.made.token());
        let at_end: DropToken = self.ended.token();
        let builder = thread::Builder::new().name(format!("counted-{}", self.made.count()));
        let thread = builder.spawn(move || {
            let _at_end = at_end;
            body.run();
        });
        thread.map(drop)
    }
}

fn thread_name() -> String {
    thread::current().name().unwrap_or("unnamed").to_owned()
}

/// Does three small tasks, and shows on what threads they ran.
fn names_of_three(executor: &impl Executor) -> Vec<String> {
    let run = |_| executor.submit(thread_name).unwrap().get().unwrap();
    (0..3).map(run).collect()
}

/// More workers than a cached pool starts without waiting for one to return.
const MANY: usize = 80;

/// FAC-001
#[test]
fn a_cached_pool_has_no_core_no_bound_and_a_minute_of_patience() {
    let pool = executors::cached_thread_pool();
    assert_eq!(pool.core_pool_size(), 0);
    assert!(pool.maximum_pool_size() > 1 << 20);
    assert_eq!(pool.keep_alive(), Duration::from_secs(60));
    assert_eq!(pool.queue().remaining_capacity(), Some(0));
    assert_eq!(names_of_three(&pool).len(), 3);
}

/// FAC-001
#[test]
fn a_cached_pool_reuses_an_idle_thread() {
    let factory = Arc::new(Counting::default());
    let pool = executors::cached_thread_pool_with(factory.clone());
    for _ in 0..3 {
        pool.submit(|| ()).unwrap().get().unwrap();
        until("an idle worker", || {
            pool.queue().waiting().is_some_and(|who| who.takers == 1)
        });
    }
    assert_eq!(factory.made.count(), 1);
    assert_eq!(pool.largest_pool_size(), 1);
}

/// FAC-001
#[test]
fn a_cached_pool_grows_with_the_tasks_that_run_at_once() {
    let pool = executors::cached_thread_pool();
    let gate = Gate::new();
    for _ in 0..5 {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(5);
    assert_eq!(pool.pool_size(), 5);
    gate.open();
}

/// FAC-001, WL-073
#[test]
fn a_cached_pool_starts_a_thread_at_once_while_all_are_busy() {
    let pool = executors::cached_thread_pool();
    let gate = Gate::new();
    for size in 1..=MANY {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
        assert_eq!(pool.pool_size(), size);
    }
    gate.await_waiting(MANY);
    gate.open();
}

/// WL-073
#[test]
fn a_cached_pool_whose_tasks_were_short_runs_long_ones_at_once_too() {
    let pool = executors::cached_thread_pool();
    for _ in 0..5 * MANY {
        pool.execute(|| ()).unwrap();
    }
    let gate = Gate::new();
    for _ in 0..2 * MANY {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(2 * MANY);
    gate.open();
}

/// Tasks from two threads that are ahead of the workers; the result counts those that have run.
fn flood(pool: &ThreadPoolExecutor, tasks: usize) -> Arc<AtomicUsize> {
    let ran = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..tasks / 2 {
                    let ran = Arc::clone(&ran);
                    let count = move || {
                        ran.fetch_add(1, Ordering::Relaxed);
                    };
                    let _ = pool.execute(count);
                }
            });
        }
    });
    ran
}

/// WL-074
#[test]
fn short_tasks_that_are_ahead_of_a_cached_pool_all_run() {
    let pool = executors::cached_thread_pool();
    let ran = flood(&pool, 40_000);
    pool.close();
    assert_eq!(ran.load(Ordering::Relaxed), 40_000);
    assert_eq!(pool.completed_task_count(), 40_000);
    assert_eq!(pool.rejected_count(), 0);
}

/// All workers block, and none of them returns before the last task has begun.
///
/// WL-074
#[test]
fn tasks_that_block_behind_short_ones_run_though_no_worker_returns() {
    let pool = executors::cached_thread_pool();
    for _ in 0..5 {
        let gate = Gate::new();
        flood(&pool, 4_000);
        for _ in 0..4 * MANY {
            let gate = gate.clone();
            pool.execute(move || gate.pass_uninterruptibly()).unwrap();
        }
        gate.await_waiting(4 * MANY);
        gate.open();
    }
    pool.close();
}

/// Refuses threads when it has made so many.
#[derive(Debug)]
struct Limited(AtomicUsize);

impl ThreadFactory for Limited {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let take = |left: usize| left.checked_sub(1);
        if self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_err()
        {
            return Err(io::Error::other("no more threads"));
        }
        thread::Builder::new().spawn(move || body.run()).map(drop)
    }
}

/// WL-074
#[test]
fn what_a_cached_pool_has_accepted_without_a_thread_for_it_runs_when_a_worker_returns() {
    let pool = executors::cached_thread_pool_with(Limited(AtomicUsize::new(MANY)));
    let gate = Gate::new();
    flood(&pool, 4_000);
    for _ in 0..4 * MANY {
        let gate = gate.clone();
        let _ = pool.execute(move || gate.pass_uninterruptibly());
    }
    gate.await_waiting(MANY);
    gate.open();
    pool.close();
    let ended = pool.completed_task_count() + pool.rejected_count();
    assert_eq!(ended, 4_000 + 4 * MANY as u64);
}

/// WL-074
#[test]
fn a_stopped_cached_pool_hands_back_what_it_was_ahead_with() {
    let pool = executors::cached_thread_pool();
    let ran = flood(&pool, 4_000);
    let drained = pool.shutdown_now().len();
    assert!(pool.await_termination(PATIENCE).unwrap());
    assert_eq!(ran.load(Ordering::Relaxed) + drained, 4_000);
}

/// FAC-002
#[test]
fn a_single_thread_runs_tasks_one_at_a_time_in_order() {
    let factory = Arc::new(Counting::default());
    for single in [
        executors::single_thread_executor(),
        executors::single_thread_executor_with(factory.clone()),
    ] {
        let (log, order) = channel();
        for n in 0..100 {
            let log = log.clone();
            single
                .execute(move || log.send((n, thread::current().id())).unwrap())
                .unwrap();
        }
        single.close();
        drop(log);
        let (order, threads): (Vec<_>, Vec<_>) = order.iter().unzip();
        assert!(order.into_iter().eq(0..100));
        assert!(threads.iter().all(|id| *id == threads[0]));
    }
    assert_eq!(factory.made.count(), 1);
}

/// FAC-004
#[test]
fn a_fixed_pool_has_n_threads_an_unbounded_queue_and_stays_tunable() {
    let factory = Arc::new(Counting::default());
    for pool in [
        executors::fixed_thread_pool(2).unwrap(),
        executors::fixed_thread_pool_with(2, factory.clone()).unwrap(),
    ] {
        assert_eq!(pool.core_pool_size(), 2);
        assert_eq!(pool.maximum_pool_size(), 2);
        assert_eq!(pool.keep_alive(), Duration::ZERO);
        assert_eq!(pool.queue().remaining_capacity(), None);
        assert_eq!(names_of_three(&pool).len(), 3);
        pool.set_maximum_pool_size(4).unwrap();
        pool.set_core_pool_size(4).unwrap();
        assert_eq!(pool.core_pool_size(), 4);
    }
    assert_eq!(factory.made.count(), 2);
}

/// FAC-005
#[test]
fn a_fixed_pool_of_zero_threads_is_refused() {
    let refused = executors::fixed_thread_pool(0);
    assert!(matches!(refused, Err(ConfigError::ZeroMaximum)));
    let refused = executors::fixed_thread_pool_with(0, Arc::new(Counting::default()));
    assert!(matches!(refused, Err(ConfigError::ZeroMaximum)));
}

/// A service that answers each question in a way of its own.
#[derive(Debug, Default)]
struct Peculiar {
    direct: DirectExecutor,
    closed: DropCounter,
}

impl Executor for Peculiar {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.direct.execute_task(task)
    }
}

impl ExecutorService for Peculiar {
    fn shutdown(&self) {
        self.direct.shutdown();
    }
    fn shutdown_now(&self) -> Vec<Task> {
        vec![Task::new(|| ())]
    }
    fn is_shutdown(&self) -> bool {
        self.direct.is_shutdown()
    }
    fn is_terminated(&self) -> bool {
        self.direct.is_terminated()
    }
    fn await_termination(&self, timeout: Duration) -> Result<bool, Interrupted> {
        self.direct.await_termination(timeout)
    }
    fn is_terminating(&self) -> bool {
        true
    }
    fn close(&self) {
        drop(self.closed.token());
    }
}

/// FAC-006
#[test]
fn an_unconfigurable_wrapper_forwards_everything() {
    let peculiar = Peculiar::default();
    let closed = peculiar.closed.clone();
    let wrapped = executors::unconfigurable(peculiar);
    assert_eq!(wrapped.submit(|| 7).unwrap().get().unwrap(), 7);
    assert_eq!(wrapped.shutdown_now().len(), 1);
    assert!(wrapped.is_terminating());
    wrapped.close();
    assert_eq!(closed.count(), 1, "its own close was not called");
    assert!(!wrapped.is_shutdown());
    wrapped.shutdown();
    assert!(wrapped.is_shutdown() && wrapped.is_terminated());
    assert_eq!(wrapped.await_termination(Duration::ZERO), Ok(true));
}

/// The numbers `N` of two factories differ, and grow; other tests make factories too.
///
/// FAC-010
#[test]
fn default_threads_are_named_by_pool_and_number() {
    fn number_of_pool(names: &[String]) -> u32 {
        let middle = names[0].strip_prefix("pool-").unwrap();
        let (pool, thread) = middle.split_once("-thread-").unwrap();
        assert_eq!(thread, "1");
        assert_eq!(names[1], format!("pool-{pool}-thread-2"));
        pool.parse().unwrap()
    }
    let pools: Vec<_> = (0..2)
        .map(|_| executors::fixed_thread_pool(2).unwrap())
        .collect();
    let numbers: Vec<_> = pools
        .iter()
        .map(|pool| number_of_pool(&names_of_three(pool)))
        .collect();
    assert!(numbers[0] < numbers[1]);
}

/// FAC-010
#[test]
fn a_thread_number_is_never_given_twice() {
    let factory = Arc::new(DefaultThreadFactory::named("io"));
    let pool = executors::fixed_thread_pool_with(1, factory).unwrap();
    let first = pool.submit(thread_name).unwrap().get().unwrap();
    pool.execute(|| panic!("costs the worker")).unwrap();
    let second = pool.submit(thread_name).unwrap().get().unwrap();
    assert_eq!(
        [first.as_str(), second.as_str()],
        ["io-thread-1", "io-thread-2"]
    );
}

/// FAC-011
#[test]
fn a_unit_closure_can_be_made_to_return_a_value() {
    let ran = DropCounter::new();
    let token = ran.token();
    let executor = executors::DirectExecutor::new();
    let mut handle = executor
        .submit_with_result(move || drop(token), "a value")
        .unwrap();
    assert_eq!(handle.get().unwrap(), "a value");
    assert_eq!(ran.count(), 1);
    executor
        .submit_with_result(|| (), ())
        .unwrap()
        .get()
        .unwrap();
}

/// FAC-012
#[test]
fn a_single_thread_executor_survives_the_death_of_its_thread_and_keeps_the_order() {
    let single =
        executors::single_thread_executor_with(Arc::new(DefaultThreadFactory::named("single")));
    let (log, order) = channel();
    let note = |n: u32| {
        let log = log.clone();
        move || log.send((n, thread_name())).unwrap()
    };
    single.execute(note(1)).unwrap();
    let fails = single.submit(|| panic!("keeps the thread")).unwrap();
    single.execute(note(2)).unwrap();
    single.execute(|| panic!("costs the thread")).unwrap();
    single.execute(note(3)).unwrap();
    single.execute(note(4)).unwrap();
    single.close();
    assert!(fails.is_done());
    let order: Vec<_> = order.try_iter().collect();
    let order: Vec<_> = order.iter().map(|(n, name)| (*n, name.as_str())).collect();
    let (first, second) = ("single-thread-1", "single-thread-2");
    assert_eq!(order, [(1, first), (2, first), (3, second), (4, second)]);
}

/// FAC-013
#[test]
fn dropping_a_single_thread_executor_finishes_its_tasks_and_ends_its_thread() {
    for tasks in 0..3 {
        let factory = Arc::new(Counting::default());
        let single = executors::single_thread_executor_with(factory.clone());
        single.submit(|| ()).unwrap().get().unwrap();
        let gate = Gate::new();
        let handles: Vec<_> = (0..tasks)
            .map(|n| {
                let gate = gate.clone();
                let body = move || gate.pass().map(|()| n);
                single.submit(body).unwrap()
            })
            .collect();
        drop(single.clone());
        drop(single);
        gate.open();
        for (n, mut handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.get_timeout(PATIENCE).unwrap(), Ok(n));
        }
        until("the thread's end", || factory.ended.count() == 1);
    }
}

/// FAC-013
#[test]
fn dropping_it_after_a_shutdown_changes_nothing() {
    let factory = Arc::new(Counting::default());
    let single = executors::single_thread_executor_with(factory.clone());
    let mut handle = single.submit(|| 7).unwrap();
    single.shutdown();
    drop(single);
    assert_eq!(handle.get().unwrap(), 7);
    until("the thread's end", || factory.ended.count() == 1);
    assert_eq!(factory.made.count(), 1);
    until("the pool's end", || Arc::strong_count(&factory) == 1);
}

/// The factory and the queue are freed with the pool, so their owners show that it is gone.
///
/// FAC-014
#[test]
fn executors_built_and_dropped_unused_leak_nothing() {
    let factory: Arc<Counting> = Arc::default();
    for _ in 0..1_000 {
        drop(executors::fixed_thread_pool_with(4, factory.clone()).unwrap());
        drop(executors::cached_thread_pool_with(factory.clone()));
        drop(executors::single_thread_executor_with(factory.clone()));
    }
    assert_eq!(Arc::strong_count(&factory), 1);
    assert_eq!(factory.made.count(), 0);
}

/// FAC-015
#[test]
fn shutdown_now_works_on_every_freshly_made_executor() {
    let fresh: Vec<Box<dyn ExecutorService>> = vec![
        Box::new(executors::fixed_thread_pool(1).unwrap()),
        Box::new(executors::fixed_thread_pool(8).unwrap()),
        Box::new(executors::cached_thread_pool()),
        Box::new(executors::single_thread_executor()),
        Box::new(executors::thread_per_task_executor()),
        Box::new(executors::unconfigurable(DirectExecutor::new())),
        Box::new(ThreadPoolExecutor::builder().build().unwrap()),
        Box::new(DirectExecutor::new()),
    ];
    for executor in fresh {
        assert!(executor.shutdown_now().is_empty());
        assert!(executor.is_shutdown() && executor.is_terminated());
        assert!(executor.shutdown_now().is_empty());
        executor.close();
    }
}

/// FAC-016
#[test]
fn adapters_pass_on_the_exact_value_or_failure() {
    #[derive(Debug)]
    struct Own(Arc<str>);
    impl fmt::Display for Own {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }
    impl std::error::Error for Own {}

    let wrapped = executors::unconfigurable(executors::fixed_thread_pool(1).unwrap());
    let mark: Arc<str> = "the very same".into();

    let value = Arc::clone(&mark);
    let got = wrapped.submit_with_result(|| (), value).unwrap().get();
    assert!(Arc::ptr_eq(&got.unwrap(), &mark));

    let payload = Arc::clone(&mark);
    let panics = move || std::panic::panic_any(payload);
    let mut handle = wrapped.submit_with_result(panics, ()).unwrap();
    let failure = handle.get().unwrap_err();
    let payload = failure.into_failure().unwrap().take_payload().unwrap();
    assert!(Arc::ptr_eq(&payload.downcast::<Arc<str>>().unwrap(), &mark));

    let error = Own(Arc::clone(&mark));
    let mut handle = wrapped.submit_fallible(|| Err::<(), _>(error)).unwrap();
    let failure = handle.get().unwrap_err().into_failure().unwrap();
    let error = failure.error().unwrap().downcast_ref::<Own>().unwrap();
    assert!(Arc::ptr_eq(&error.0, &mark));
}

/// The wording is the JDK's, by which people find their pool in a log.
#[test]
fn a_pool_describes_itself_in_the_words_of_the_jdk() {
    let factory = DefaultThreadFactory::named("web");
    let pool = executors::fixed_thread_pool_with(2, factory).unwrap();
    pool.close();
    let words = "ThreadPoolExecutor@web[Terminated, pool size = 0, active threads = 0, \
                 queued tasks = 0, completed tasks = 0]";
    assert_eq!(format!("{pool:?}"), words);
    let wrapped = executors::unconfigurable(pool);
    assert_eq!(format!("{wrapped:?}"), format!("Unconfigurable({words})"));
}
