//! The pool's figures, and how it is printed.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use recording::{Blocker, assert_terminated, finish, fixed};
use windlass::pool::PoolState;
use windlass::queue::{ArrayBlockingQueue, BlockingQueue};
use windlass::testing::{Gate, Latch, until};
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};

fn submit_many(pool: &ThreadPoolExecutor, count: u64, body: fn()) {
    for _ in 0..count {
        pool.execute(body).unwrap();
    }
}

/// TPE-110
#[test]
fn a_task_is_one_active_worker_seen_from_inside_and_outside() {
    let pool = fixed(2).build().unwrap();
    assert_eq!(pool.active_count(), 0);
    let mine = pool.clone();
    let mut inside = pool.submit(move || mine.active_count()).unwrap();
    assert_eq!(inside.get().unwrap(), 1);
    until("the worker is idle", || pool.active_count() == 0);
    let blocker = Blocker::occupy(&pool, 1);
    assert_eq!(pool.active_count(), 1);
    blocker.release();
    finish(&pool);
}

/// TPE-111
#[test]
fn a_task_counts_as_completed_after_its_end_and_not_before() {
    let pool = fixed(2).build().unwrap();
    assert_eq!(pool.completed_task_count(), 0);
    let blocker = Blocker::new();
    let (mine, body) = (pool.clone(), blocker.body());
    let mut inside = pool
        .submit(move || {
            body();
            mine.completed_task_count()
        })
        .unwrap();
    blocker.await_held(1);
    assert_eq!(pool.completed_task_count(), 0);
    blocker.release();
    assert_eq!(inside.get().unwrap(), 0);
    until("it is counted", || pool.completed_task_count() == 1);
    finish(&pool);
}

/// Runs `watch` again and again on a thread of its own while `load` runs.
fn sampled(mut watch: impl FnMut() + Send, load: impl FnOnce()) {
    let over = AtomicBool::new(false);
    let samples = thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut samples = 0_u64;
            while !over.load(Ordering::Acquire) || samples == 0 {
                watch();
                samples += 1;
            }
            samples
        });
        load();
        over.store(true, Ordering::Release);
        sampler.join().unwrap()
    });
    assert!(samples > 0);
}

/// TPE-112
#[test]
fn completed_never_falls_and_keeps_what_gone_workers_did() {
    let pool = fixed(4).keep_alive(Duration::from_secs(60));
    let pool = pool.build().unwrap();
    let mut last = 0;
    let watch = || {
        let now = pool.completed_task_count();
        assert!(now >= last, "{now} after {last}");
        last = now;
    };
    sampled(watch, || {
        for round in 1..=20 {
            pool.set_maximum_pool_size(4).unwrap();
            pool.set_core_pool_size(4).unwrap();
            let tasks: Vec<_> = (0..50).map(|_| pool.submit(|| ()).unwrap()).collect();
            tasks.into_iter().for_each(|mut task| task.get().unwrap());
            pool.set_core_pool_size(1).unwrap();
            pool.set_maximum_pool_size(1).unwrap();
            until("the pool shrinks", || pool.pool_size() == 1);
            until("all count", || pool.completed_task_count() == round * 50);
        }
    });
    finish(&pool);
    assert_eq!(pool.completed_task_count(), 1_000);
}

/// TPE-113
#[test]
fn the_largest_size_is_the_peak_and_stays() {
    let pool = fixed(3).build().unwrap();
    assert_eq!(pool.largest_pool_size(), 0);
    let blocker = Blocker::occupy(&pool, 3);
    assert_eq!(pool.largest_pool_size(), 3);
    blocker.release();
    let mine = pool.clone();
    let mut inside = pool.submit(move || mine.largest_pool_size()).unwrap();
    assert_eq!(inside.get().unwrap(), 3);
    finish(&pool);
    assert_eq!(pool.largest_pool_size(), 3);
}

/// TPE-114
#[test]
fn the_pool_size_counts_live_workers() {
    let pool = fixed(2).build().unwrap();
    assert_eq!(pool.pool_size(), 0);
    let mine = pool.clone();
    let mut inside = pool.submit(move || mine.pool_size()).unwrap();
    assert_eq!(inside.get().unwrap(), 1);
    assert_eq!(pool.pool_size(), 1);
    finish(&pool);
}

/// TPE-115
#[test]
fn the_task_count_is_what_is_done_runs_and_waits() {
    let pool = fixed(1).build().unwrap();
    assert_eq!(pool.task_count(), 0);
    let mine = pool.clone();
    let mut inside = pool.submit(move || mine.task_count()).unwrap();
    assert_eq!(inside.get().unwrap(), 1);
    until("it is counted", || pool.completed_task_count() == 1);
    let blocker = Blocker::occupy(&pool, 1);
    submit_many(&pool, 5, || ());
    let stats = pool.stats();
    let parts = (stats.completed_task_count, stats.active_count);
    assert_eq!((parts, stats.queue_len), ((1, 1), 5));
    assert_eq!(stats.task_count, 7);
    blocker.release();
    finish(&pool);
    assert_eq!(pool.task_count(), 7);
}

/// TPE-115
#[test]
fn under_load_the_task_count_never_falls_while_nothing_is_removed() {
    const PRODUCERS: u64 = 8;
    const EACH: u64 = 5_000;
    let pool = fixed(4).build().unwrap();
    let mut last = 0;
    let watch = || {
        let stats = pool.stats();
        assert!(
            stats.task_count >= last,
            "{} after {last}",
            stats.task_count
        );
        assert!(stats.task_count <= PRODUCERS * EACH, "{stats:?}");
        last = stats.task_count;
    };
    sampled(watch, || {
        thread::scope(|scope| {
            for _ in 0..PRODUCERS {
                scope.spawn(|| submit_many(&pool, EACH, || ()));
            }
        });
        until("all have run", || {
            pool.completed_task_count() == PRODUCERS * EACH
        });
    });
    finish(&pool);
    assert_eq!(pool.task_count(), PRODUCERS * EACH);
}

/// TPE-115
#[test]
fn what_is_taken_out_of_the_queue_by_hand_is_no_longer_counted() {
    let pool = fixed(2).build().unwrap();
    let blocker = Blocker::occupy(&pool, 2);
    submit_many(&pool, 3, || ());
    assert_eq!(pool.task_count(), 5);
    drop(pool.queue().poll());
    assert_eq!(pool.task_count(), 4);
    blocker.release();
    finish(&pool);
    assert_eq!(pool.task_count(), 4);
}

/// TPE-116
#[test]
fn after_termination_all_is_at_rest() {
    for stops in [false, true] {
        let pool = fixed(2).build().unwrap();
        let blocker = Blocker::occupy(&pool, 2);
        submit_many(&pool, 4, || panic!("fails"));
        let unrun = if stops { pool.shutdown_now().len() } else { 0 };
        blocker.release();
        finish(&pool);
        assert_eq!(pool.completed_task_count() + unrun as u64, 6);
        assert_terminated(&pool);
    }
}

/// Holds each new thread at a gate, before its worker's loop.
#[derive(Debug)]
struct Slow(Gate);

impl ThreadFactory for Slow {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let gate = self.0.clone();
        let thread = thread::Builder::new().spawn(move || {
            gate.pass_uninterruptibly();
            body.run();
        });
        thread.map(drop)
    }
}

/// TPE-117: the JDK says that such a worker is active, and counts a task.
#[test]
fn a_worker_that_has_not_begun_is_not_active() {
    let gate = Gate::new();
    let pool = fixed(1).thread_factory(Slow(gate.clone()));
    let pool = pool.build().unwrap();
    assert!(pool.prestart_core_thread());
    assert_eq!(pool.pool_size(), 1);
    assert_eq!((pool.active_count(), pool.task_count()), (0, 0));
    gate.open();
    finish(&pool);
}

/// TPE-118
#[test]
fn the_printed_form_shows_state_sizes_and_counts() {
    let pool = fixed(2).name("web").build().unwrap();
    let blocker = Blocker::occupy(&pool, 2);
    pool.execute(|| ()).unwrap();
    let expect = |state, figures| format!("ThreadPoolExecutor@web[{state}, {figures}]");
    let figures = "pool size = 2, active threads = 2, queued tasks = 1, completed tasks = 0";
    assert_eq!(pool.stats().to_string(), expect("Running", figures));
    pool.shutdown();
    assert_eq!(pool.stats().to_string(), expect("Shutting down", figures));
    blocker.release();
    finish(&pool);
    let figures = "pool size = 0, active threads = 0, queued tasks = 0, completed tasks = 3";
    assert_eq!(pool.stats().to_string(), expect("Terminated", figures));
    assert_eq!(pool.stats().state, PoolState::Terminated);
}

/// TPE-119
#[test]
fn a_refusal_describes_the_task_and_the_pool() {
    let pool = fixed(1).work_queue(ArrayBlockingQueue::new(1).unwrap());
    let pool = pool.build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    pool.execute(|| ()).unwrap();
    let refused = pool.execute(|| ()).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains(&format!("{:?}", refused.task())), "{text}");
    assert!(text.contains(&pool.stats().to_string()), "{text}");
    assert!(text.contains("queued tasks = 1"), "{text}");
    assert!(
        text.ends_with(": the queue is full and no worker may be added"),
        "{text}"
    );
    blocker.release();
    finish(&pool);
}

/// Beyond the JDK.
#[test]
fn one_snapshot_says_it_all() {
    let queue: Arc<dyn BlockingQueue<_>> = Arc::new(ArrayBlockingQueue::new(3).unwrap());
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(2)
        .work_queue(queue)
        .build()
        .unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let started = Latch::new(1);
    submit_many(&pool, 3, || ());
    let (theirs, body) = (started.clone(), blocker.body());
    pool.execute(move || {
        theirs.count_down();
        body();
    })
    .unwrap();
    started.wait();
    pool.execute(|| ()).unwrap_err();
    let stats = pool.stats();
    assert_eq!(stats.state, PoolState::Running);
    assert_eq!((stats.pool_size, stats.largest_pool_size), (2, 2));
    assert_eq!((stats.active_count, stats.queue_len), (2, 3));
    assert_eq!(stats.queue_remaining_capacity, Some(0));
    assert_eq!((stats.task_count, stats.rejected_count), (5, 1));
    assert_eq!((stats.core_pool_size, stats.maximum_pool_size), (1, 2));
    blocker.release();
    finish(&pool);
}

/// WL-021
#[test]
fn one_snapshot_never_contradicts_itself() {
    let pool = fixed(4).build().unwrap();
    assert_eq!(pool.prestart_all_core_threads(), 4);
    let done = Arc::new(AtomicBool::new(false));
    let feeder = {
        let (pool, done) = (pool.clone(), Arc::clone(&done));
        thread::spawn(move || {
            while !done.load(Ordering::SeqCst) {
                submit_many(&pool, 4, || ());
                // Short queues: tasks pass from the queue to a worker during each read.
                while pool.queue().len() > 1 {
                    thread::yield_now();
                }
            }
        })
    };
    let mut highest = 0;
    for _ in 0..100_000 {
        let stats = pool.stats();
        let begun = stats.completed_task_count + stats.active_count as u64;
        assert!(
            begun + stats.queue_len as u64 <= stats.task_count,
            "{stats:?}"
        );
        assert!(stats.active_count <= stats.pool_size, "{stats:?}");
        assert!(stats.pool_size <= stats.largest_pool_size, "{stats:?}");
        assert!(
            stats.largest_pool_size <= stats.maximum_pool_size,
            "{stats:?}"
        );
        assert!(highest <= stats.task_count, "{stats:?}");
        highest = stats.task_count;
    }
    done.store(true, Ordering::SeqCst);
    feeder.join().unwrap();
    finish(&pool);
    assert_eq!(pool.task_count(), pool.completed_task_count());
}
