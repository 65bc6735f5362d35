//! What users of `threadpool` rely on, one test for each promise.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use windlass::interrupt;
use windlass::prelude::*;
use windlass::testing::{Gate, Latch, join, until, within_patience};
use windlass_threadpool::{Builder, ThreadPool};

/// Occupies `count` threads until the gate is open; returns when all of them are occupied.
fn occupy(pool: &ThreadPool, count: usize) -> Arc<Gate> {
    let gate = Arc::new(Gate::new());
    for _ in 0..count {
        let gate = Arc::clone(&gate);
        pool.execute(move || gate.pass_uninterruptibly());
    }
    gate.await_waiting(count);
    gate
}

#[test]
fn every_job_runs_once() {
    let pool = ThreadPool::new(4);
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..10_000 {
        let runs = Arc::clone(&runs);
        pool.execute(move || {
            runs.fetch_add(1, Ordering::Relaxed);
        });
    }
    pool.join();
    assert_eq!(runs.load(Ordering::Relaxed), 10_000);
}

#[test]
fn one_thread_runs_jobs_in_the_order_in_which_they_come() {
    let pool = ThreadPool::new(1);
    let (log, order) = channel();
    for n in 0..100 {
        let log = log.clone();
        pool.execute(move || log.send(n).unwrap());
    }
    drop(log);
    assert!(order.iter().eq(0..100));
}

#[test]
fn as_many_jobs_run_at_a_time_as_there_are_threads() {
    let pool = ThreadPool::new(3);
    let gate = occupy(&pool, 3);
    for _ in 0..5 {
        pool.execute(|| ());
    }
    assert_eq!((pool.active_count(), pool.queued_count()), (3, 5));
    assert_eq!(pool.max_count(), 3);
    gate.open();
    pool.join();
    assert_eq!((pool.active_count(), pool.queued_count()), (0, 0));
}

#[test]
fn a_pool_starts_all_its_threads_when_it_is_built() {
    let pool = ThreadPool::new(5);
    assert_eq!(pool.executor().pool_size(), 5);
}

#[test]
fn join_returns_at_once_without_jobs() {
    ThreadPool::new(1).join();
}

#[test]
fn join_waits_for_queued_and_running_jobs() {
    let pool = ThreadPool::new(1);
    let gate = occupy(&pool, 1);
    let last = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&last);
    pool.execute(move || set.store(true, Ordering::SeqCst));
    let joiner = {
        let (pool, last) = (pool.clone(), Arc::clone(&last));
        interrupt::spawn(move || {
            pool.join();
            last.load(Ordering::SeqCst)
        })
    };
    gate.open();
    assert!(join("the join", joiner));
}

#[test]
fn join_waits_for_jobs_that_jobs_submit() {
    fn countdown(pool: &ThreadPool, left: usize, runs: &Arc<AtomicUsize>) {
        let (next, runs) = (pool.clone(), Arc::clone(runs));
        pool.execute(move || {
            runs.fetch_add(1, Ordering::SeqCst);
            if left > 0 {
                countdown(&next, left - 1, &runs);
            }
        });
    }
    let pool = ThreadPool::new(2);
    let runs = Arc::new(AtomicUsize::new(0));
    countdown(&pool, 99, &runs);
    pool.join();
    assert_eq!(runs.load(Ordering::SeqCst), 100);
}

#[test]
fn all_threads_that_join_return() {
    let pool = ThreadPool::new(2);
    let gate = occupy(&pool, 2);
    let joined = Arc::new(Latch::new(8));
    for _ in 0..8 {
        let (pool, joined) = (pool.clone(), Arc::clone(&joined));
        drop(interrupt::spawn(move || {
            pool.join();
            joined.count_down();
        }));
    }
    gate.open();
    joined.wait();
}

#[test]
fn join_waits_for_what_its_thread_has_submitted_however_many_others_join() {
    let pool = ThreadPool::new(2);
    let rounds = 2_000;
    let early = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (pool, early) = (pool.clone(), Arc::clone(&early));
            interrupt::spawn(move || {
                for _ in 0..rounds {
                    let done = Arc::new(AtomicBool::new(false));
                    let set = Arc::clone(&done);
                    pool.execute(move || set.store(true, Ordering::SeqCst));
                    pool.join();
                    if !done.load(Ordering::SeqCst) {
                        early.fetch_add(1, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        join("a thread that joins", thread);
    }
    assert_eq!(early.load(Ordering::SeqCst), 0);
}

#[test]
fn panics_are_counted_exactly_before_join_returns() {
    let pool = ThreadPool::new(4);
    for round in 1..=50 {
        for n in 0..4 {
            pool.execute(move || assert!(n % 2 == 0, "a job that panics on purpose"));
        }
        pool.join();
        assert_eq!(pool.panic_count(), 2 * round);
    }
}

#[test]
fn a_pool_has_all_its_threads_after_panics() {
    let pool = ThreadPool::new(3);
    for _ in 0..9 {
        pool.execute(|| panic!("a job that panics on purpose"));
    }
    pool.join();
    let gate = occupy(&pool, 3);
    assert_eq!(pool.active_count(), 3);
    gate.open();
}

#[test]
fn a_panic_while_a_job_is_dropped_counts_too() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("a destructor that panics on purpose");
        }
    }
    let pool = ThreadPool::new(1);
    let captured = PanicsOnDrop;
    pool.execute(move || drop(captured));
    pool.join();
    assert_eq!(pool.panic_count(), 1);
}

#[test]
fn threads_have_the_name_of_the_pool() {
    let pool = ThreadPool::with_name("tool".into(), 2);
    let (log, names) = channel();
    for _ in 0..8 {
        let log = log.clone();
        pool.execute(move || {
            log.send(thread::current().name().map(str::to_owned))
                .unwrap();
        });
    }
    drop(log);
    let names: HashSet<_> = names.iter().collect();
    assert_eq!(names, HashSet::from([Some("tool".to_owned())]));
}

#[test]
fn threads_that_replace_others_after_a_panic_have_the_name_too() {
    let pool = ThreadPool::with_name("tool".into(), 1);
    pool.execute(|| panic!("a job that panics on purpose"));
    let (log, name) = channel();
    pool.execute(move || log.send(thread::current().name() == Some("tool")).unwrap());
    assert_eq!(name.recv(), Ok(true));
}

#[test]
fn threads_have_no_name_unless_set() {
    let pool = ThreadPool::new(1);
    let (log, name) = channel();
    pool.execute(move || log.send(thread::current().name().is_none()).unwrap());
    assert_eq!(name.recv(), Ok(true));
}

#[test]
fn threads_have_the_stack_that_was_asked_for() {
    fn deep(left: usize) -> usize {
        let frame = std::hint::black_box([left; 128]);
        if left == 0 {
            0
        } else {
            deep(left - 1) + frame[0].min(1)
        }
    }
    let pool = Builder::new()
        .num_threads(1)
        .thread_stack_size(64 << 20)
        .build();
    let (log, depth) = channel();
    // More than the 2 MiB of a default stack.
    pool.execute(move || log.send(deep(10_000)).unwrap());
    assert_eq!(depth.recv(), Ok(10_000));
}

#[test]
fn a_larger_pool_takes_up_queued_jobs_at_once() {
    let mut pool = ThreadPool::new(1);
    let gate = occupy(&pool, 1);
    let (log, ran) = channel();
    pool.execute(move || log.send(()).unwrap());
    assert_eq!(pool.queued_count(), 1);
    pool.set_num_threads(2);
    assert_eq!(ran.recv(), Ok(()));
    assert_eq!(pool.max_count(), 2);
    gate.open();
}

#[test]
fn a_smaller_pool_runs_fewer_jobs_at_a_time() {
    let mut pool = ThreadPool::new(4);
    occupy(&pool, 4).open();
    pool.join();
    pool.set_num_threads(2);
    until("surplus threads end", || pool.executor().pool_size() == 2);
    let gate = occupy(&pool, 2);
    pool.execute(|| ());
    assert_eq!((pool.active_count(), pool.queued_count()), (2, 1));
    gate.open();
    pool.join();
}

#[test]
fn a_smaller_pool_lets_running_jobs_end() {
    let mut pool = ThreadPool::new(4);
    let gate = occupy(&pool, 4);
    pool.set_num_threads(1);
    assert_eq!((pool.active_count(), pool.max_count()), (4, 1));
    gate.open();
    pool.join();
    until("surplus threads end", || pool.executor().pool_size() == 1);
    assert_eq!(pool.panic_count(), 0);
}

#[test]
fn the_size_changes_for_all_clones() {
    let pool = ThreadPool::new(1);
    pool.clone().set_num_threads(3);
    assert_eq!(pool.max_count(), 3);
}

#[test]
fn a_drop_lets_queued_jobs_finish() {
    let pool = ThreadPool::new(1);
    let gate = occupy(&pool, 1);
    let all = Arc::new(Latch::new(20));
    for _ in 0..20 {
        let all = Arc::clone(&all);
        pool.execute(move || all.count_down());
    }
    drop(pool);
    assert_eq!(all.count(), 20);
    gate.open();
    all.wait();
}

#[test]
fn the_threads_end_after_the_last_clone_is_dropped() {
    let pool = ThreadPool::new(2);
    let below = pool.executor().clone();
    let clone = pool.clone();
    drop(pool);
    clone.execute(|| ());
    clone.join();
    drop(clone);
    // The handle of the pool below is the last one now.
    assert!(!below.is_shutdown());
    below.close();
    assert_eq!(below.pool_size(), 0);
}

#[test]
fn a_job_may_drop_the_last_clone() {
    let pool = ThreadPool::new(1);
    let (log, ended) = channel();
    let inside = pool.clone();
    pool.execute(move || {
        drop(inside);
        log.send(()).unwrap();
    });
    drop(pool);
    assert_eq!(ended.recv(), Ok(()));
}

#[test]
fn handles_are_equal_if_they_are_of_one_pool() {
    let (pool, other) = (ThreadPool::new(1), ThreadPool::new(1));
    assert_eq!(pool, pool.clone());
    assert_ne!(pool, other);
}

#[test]
fn debug_shows_name_and_counts() {
    let pool = ThreadPool::with_name("hello".into(), 4);
    let shown = format!("{pool:?}");
    assert_eq!(
        shown,
        "ThreadPool { name: Some(\"hello\"), queued_count: 0, active_count: 0, max_count: 4 }"
    );
    let shown = format!("{:?}", ThreadPool::new(1));
    assert!(shown.starts_with("ThreadPool { name: None, "), "{shown}");
}

#[test]
fn a_default_pool_has_a_thread_for_each_processor() {
    let processors = thread::available_parallelism().unwrap().get();
    assert_eq!(ThreadPool::default().max_count(), processors);
    assert_eq!(Builder::default().build().max_count(), processors);
}

#[test]
#[should_panic(expected = "num_threads must be positive")]
fn a_pool_without_threads_is_refused() {
    let _pool = ThreadPool::new(0);
}

#[test]
#[should_panic(expected = "num_threads must be positive")]
fn a_pool_cannot_lose_its_last_thread() {
    ThreadPool::new(1).set_num_threads(0);
}

#[test]
#[should_panic(expected = "the job was rejected")]
fn a_job_for_a_pool_that_was_shut_down_below_is_refused_aloud() {
    let pool = ThreadPool::new(1);
    pool.executor().shutdown();
    pool.execute(|| ());
}

#[test]
fn a_job_that_is_drained_below_does_not_hold_up_a_join() {
    let pool = ThreadPool::new(1);
    let gate = occupy(&pool, 1);
    pool.execute(|| ());
    drop(pool.executor().shutdown_now());
    gate.open();
    within_patience("the join", move || pool.join());
}

#[test]
#[expect(deprecated, reason = "the deprecated names stay")]
fn the_deprecated_names_work() {
    let mut pool = ThreadPool::new_with_name("old".into(), 2);
    pool.set_threads(3);
    assert_eq!(pool.max_count(), 3);
}

#[test]
fn a_pool_can_be_shared_and_crosses_a_caught_panic() {
    fn check<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<ThreadPool>();
    check::<Builder>();
}
