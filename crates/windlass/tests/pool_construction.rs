//! Building a pool, and what it says about itself before anything has run.

#[path = "kit/threads.rs"]
mod threads;

use std::sync::Arc;
use std::time::Duration;

use threads::{Blockers, Counting, await_idle, finish};
use windlass::RejectionReason;
use windlass::clock::TestClock;
use windlass::pool::{
    AbortPolicy, Builder, CallerRunsPolicy, ConfigError, DiscardPolicy, RejectedExecutionHandler,
};
use windlass::queue::{BlockingQueue, LinkedBlockingQueue, SynchronousQueue};
use windlass::task::Task;
use windlass::testing::Latch;
use windlass::thread_factory::{DefaultThreadFactory, ThreadFactory};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};

fn sized(core: usize, maximum: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
}

/// The configuration with and without a factory and a handler, in every combination.
fn combinations(core: usize, maximum: usize, threads: &Counting) -> [Builder; 4] {
    [
        sized(core, maximum),
        sized(core, maximum).thread_factory(threads.clone()),
        sized(core, maximum).rejection_handler(DiscardPolicy),
        sized(core, maximum)
            .thread_factory(threads.clone())
            .rejection_handler(DiscardPolicy),
    ]
}

/// TPE-001
#[test]
fn a_maximum_of_zero_is_refused() {
    let threads = Counting::default();
    for builder in combinations(0, 0, &threads) {
        assert_eq!(builder.build().unwrap_err(), ConfigError::ZeroMaximum);
    }
    assert_eq!(threads.created(), 0);
}

/// TPE-002
#[test]
fn a_core_size_above_the_maximum_is_refused_whatever_else_is_given() {
    let refusal = ConfigError::CoreExceedsMaximum {
        core: 2,
        maximum: 1,
    };
    let threads = Counting::default();
    for builder in combinations(2, 1, &threads) {
        assert_eq!(builder.build().unwrap_err(), refusal);
    }
    assert_eq!(threads.created(), 0);
}

/// TPE-054
#[test]
fn core_timeout_without_keep_alive_is_refused() {
    let builder = sized(1, 1)
        .keep_alive(Duration::ZERO)
        .allow_core_thread_timeout(true);
    assert_eq!(builder.build().unwrap_err(), ConfigError::ZeroKeepAlive);
}

/// TPE-003
#[test]
fn core_and_maximum_size_read_back_as_configured() {
    for (core, maximum) in [(0, 1), (1, 1), (3, 7)] {
        let pool = sized(core, maximum).build().unwrap();
        assert_eq!(pool.core_pool_size(), core);
        assert_eq!(pool.maximum_pool_size(), maximum);
    }
}

/// TPE-003
#[test]
fn without_a_maximum_there_are_as_many_workers_as_core_and_at_least_one() {
    for (core, maximum) in [(0, 1), (1, 1), (5, 5)] {
        let builder = ThreadPoolExecutor::builder().core_pool_size(core);
        assert_eq!(builder.build().unwrap().maximum_pool_size(), maximum);
    }
}

#[test]
fn without_a_core_size_it_is_clamped_to_the_maximum() {
    let one = ThreadPoolExecutor::builder().maximum_pool_size(1);
    assert_eq!(one.build().unwrap().core_pool_size(), 1);
    let many = ThreadPoolExecutor::builder().maximum_pool_size(usize::MAX);
    let default = ThreadPoolExecutor::builder().build().unwrap();
    assert_eq!(
        many.build().unwrap().core_pool_size(),
        default.core_pool_size()
    );
    let none = ThreadPoolExecutor::builder().maximum_pool_size(0);
    assert_eq!(none.build().unwrap_err(), ConfigError::ZeroMaximum);
}

#[test]
fn a_pool_has_the_name_it_was_given_or_that_of_its_threads_or_a_number() {
    let named = ThreadPoolExecutor::builder().name("own").build().unwrap();
    assert_eq!(named.name(), "own");
    let factory = DefaultThreadFactory::named("threads");
    let by_factory = sized(1, 1).thread_factory(factory.clone()).build().unwrap();
    assert_eq!(by_factory.name(), "threads");
    let both = sized(1, 1).thread_factory(factory).name("own");
    assert_eq!(both.build().unwrap().name(), "own");
    let plain = sized(1, 1).build().unwrap();
    let thread = plain
        .submit(|| std::thread::current().name().map(str::to_owned))
        .unwrap()
        .get()
        .unwrap();
    assert_eq!(thread, Some(format!("{}-thread-1", plain.name())));
    let counted = sized(1, 1).thread_factory(Counting::default());
    assert!(counted.build().unwrap().name().starts_with("pool-"));
}

#[test]
fn the_printed_form_and_a_rejection_show_the_name() {
    let pool = sized(1, 1).name("web").build().unwrap();
    pool.shutdown();
    let shown = pool.execute(|| ()).unwrap_err().to_string();
    for shown in [format!("{pool:?}"), shown] {
        assert!(shown.contains("ThreadPoolExecutor@web["), "{shown}");
    }
}

/// TPE-004
#[test]
fn keep_alive_reads_back_exactly() {
    for time in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_millis(1999),
        Duration::MAX,
    ] {
        let pool = sized(1, 1).keep_alive(time).build().unwrap();
        assert_eq!(pool.keep_alive(), time);
    }
}

/// TPE-005
#[test]
fn the_thread_factory_is_the_very_one_that_was_given_last() {
    let first: Arc<dyn ThreadFactory> = Arc::new(DefaultThreadFactory::named("first"));
    let second: Arc<dyn ThreadFactory> = Arc::new(DefaultThreadFactory::named("second"));
    let builder = sized(1, 1).thread_factory(Arc::clone(&first));
    let pool = builder.build().unwrap();
    assert!(Arc::ptr_eq(&pool.thread_factory(), &first));
    pool.set_thread_factory(Arc::clone(&second));
    assert!(Arc::ptr_eq(&pool.thread_factory(), &second));
}

/// TPE-006
#[test]
fn the_rejection_handler_is_the_very_one_that_was_given_last() {
    // Handlers with a size, so that two of them have two addresses.
    let handler = |number: u8| -> Arc<dyn RejectedExecutionHandler> {
        Arc::new(move |task, pool: &dyn windlass::pool::Saturated| {
            assert_ne!(number, 0);
            AbortPolicy.rejected(task, pool)
        })
    };
    let (first, second) = (handler(1), handler(2));
    let builder = sized(1, 1).rejection_handler(Arc::clone(&first));
    let pool = builder.build().unwrap();
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &first));
    pool.set_rejection_handler(Arc::clone(&second));
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &second));
    pool.set_rejection_handler(Arc::new(CallerRunsPolicy));
    assert!(!Arc::ptr_eq(&pool.rejection_handler(), &second));
}

/// TPE-007
#[test]
fn by_default_a_refused_task_is_handed_back() {
    let pool = sized(1, 1)
        .work_queue(SynchronousQueue::new())
        .build()
        .unwrap();
    let blockers = Blockers::default();
    pool.execute(blockers.body()).unwrap();
    let task = Task::new(|| ());
    let id = task.id();
    let refused = windlass::Executor::execute_task(&pool, task).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Saturated);
    assert_eq!(refused.into_task().id(), id);
    blockers.release();
    finish(&pool);
}

/// TPE-007
#[test]
fn by_default_core_workers_do_not_time_out() {
    assert!(!sized(1, 1).build().unwrap().allows_core_thread_timeout());
}

/// TPE-008
#[test]
fn building_starts_no_thread() {
    let threads = Counting::default();
    let pool = sized(3, 5).thread_factory(threads.clone()).build().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.active_count), (0, 0));
    assert_eq!(
        (stats.largest_pool_size, stats.completed_task_count),
        (0, 0)
    );
    assert_eq!((stats.task_count, threads.created()), (0, 0));
}

/// TPE-008
#[test]
fn tasks_that_the_queue_brings_along_are_counted_and_wait_for_a_worker() {
    let ran = Latch::new(2);
    let queue = LinkedBlockingQueue::new();
    for _ in 0..2 {
        let ran = ran.clone();
        queue.offer(Task::new(move || ran.count_down())).unwrap();
    }
    let pool = sized(1, 1).work_queue(queue).build().unwrap();
    assert_eq!((pool.task_count(), pool.pool_size()), (2, 0));
    assert_eq!(ran.count(), 2);
    assert!(pool.prestart_core_thread());
    ran.wait();
    finish(&pool);
    assert_eq!(pool.completed_task_count(), 2);
}

/// TPE-009
#[test]
fn the_longest_keep_alive_means_never() {
    let clock = TestClock::new();
    let builder = sized(1, 2)
        .keep_alive(Duration::MAX)
        .work_queue(SynchronousQueue::new());
    let pool = clock.enter(|| builder.build().unwrap());
    let blockers = Blockers::default();
    for _ in 0..2 {
        pool.execute(blockers.body()).unwrap();
    }
    blockers.release();
    await_idle(&pool, 2);
    clock.advance(Duration::from_secs(100 * 365 * 24 * 3600));
    // Both wait, and nobody's time has come.
    assert_eq!(threads::idle(&pool), 2);
    assert_ne!(clock.next_wake_up(), Some(Duration::ZERO));
    assert_eq!(pool.pool_size(), 2);
    finish(&pool);
}

/// TPE-010
#[test]
fn an_enormous_maximum_is_reported_as_given_and_tasks_run() {
    for maximum in [(1 << 29) - 1, 1 << 29, (1 << 29) + 1, usize::MAX] {
        let builder = sized(0, maximum).work_queue(SynchronousQueue::new());
        let pool = builder.build().unwrap();
        assert_eq!(pool.maximum_pool_size(), maximum);
        assert_eq!(pool.submit(|| 7).unwrap().get().unwrap(), 7);
        finish(&pool);
    }
}

/// TPE-010
#[test]
fn an_enormous_core_size_is_no_hindrance_either() {
    let pool = sized(usize::MAX, usize::MAX).build().unwrap();
    assert_eq!(pool.core_pool_size(), usize::MAX);
    assert_eq!(pool.submit(|| 7).unwrap().get().unwrap(), 7);
    finish(&pool);
}
