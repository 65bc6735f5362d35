//! A pool whose settings change while it works.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use threads::{Blockers, Counting, await_idle, await_size, finish, idle};
use windlass::RejectionReason;
use windlass::clock::TestClock;
use windlass::pool::{BlockPolicy, Builder, ConfigError};
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, CapacityError, LinkedBlockingQueue, ResizableBlockingQueue,
    SynchronousQueue,
};
use windlass::task::Task;
use windlass::testing::{PATIENCE, until};
use windlass::{Submit, ThreadPoolExecutor, interrupt};

const HOUR: Duration = Duration::from_secs(3600);
const MOMENT: Duration = Duration::from_millis(1);

fn sized(core: usize, maximum: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
        .keep_alive(HOUR)
}

/// A pool on that clock with that many idle core workers.
fn prestarted(core: usize, clock: &TestClock) -> ThreadPoolExecutor {
    let pool = clock.enter(|| sized(core, core).build().unwrap());
    assert_eq!(pool.prestart_all_core_threads(), core);
    await_idle(&pool, core);
    pool
}

fn fill(pool: &ThreadPoolExecutor, blockers: &Blockers, count: usize) {
    for _ in 0..count {
        pool.execute(blockers.body()).unwrap();
    }
}

/// Moves the clock on, a moment at a time, until the factory has that many live threads.
fn advance_until_live(count: usize, threads: &Counting, clock: &TestClock) {
    until(&format!("{count} live threads"), || {
        clock.advance(MOMENT);
        threads.live() == count
    });
    assert!(clock.elapsed() < HOUR);
}

/// TPE-060
#[test]
fn setters_keep_core_at_most_maximum_and_maximum_above_zero() {
    let pool = sized(1, 1).build().unwrap();
    for size in 1..5 {
        pool.set_maximum_pool_size(size).unwrap();
        pool.set_core_pool_size(size).unwrap();
        let beyond = CoreExceeds(size + 1, size).into();
        assert_eq!(pool.set_core_pool_size(size + 1), Err(beyond));
        let refused = pool.set_maximum_pool_size(size - 1);
        let below = match size {
            1 => ConfigError::ZeroMaximum,
            _ => CoreExceeds(size, size - 1).into(),
        };
        assert_eq!(refused, Err(below));
        assert_eq!(pool.core_pool_size(), size);
        assert_eq!(pool.maximum_pool_size(), size);
    }
    pool.set_core_pool_size(0).unwrap();
    assert_eq!(pool.set_maximum_pool_size(0), Err(ConfigError::ZeroMaximum));
    assert_eq!((pool.core_pool_size(), pool.maximum_pool_size()), (0, 4));
}

struct CoreExceeds(usize, usize);

impl From<CoreExceeds> for ConfigError {
    fn from(CoreExceeds(core, maximum): CoreExceeds) -> Self {
        Self::CoreExceedsMaximum { core, maximum }
    }
}

/// TPE-061
#[test]
fn a_larger_core_size_starts_workers_for_what_is_queued_at_once() {
    for (queued, core, size) in [(4, 3, 3), (2, 10, 3), (1, 2, 2)] {
        let blockers = Blockers::default();
        let pool = sized(1, 10).build().unwrap();
        fill(&pool, &blockers, 1 + queued);
        assert_eq!((pool.pool_size(), pool.queue().len()), (1, queued));
        pool.set_core_pool_size(core).unwrap();
        assert_eq!(pool.pool_size(), size);
        blockers.await_started(size);
        assert_eq!(pool.queue().len(), queued + 1 - size);
        blockers.release();
        finish(&pool);
        assert_eq!(blockers.ended(), 1 + queued);
    }
}

/// TPE-061
#[test]
fn a_larger_core_size_starts_no_worker_where_nothing_is_queued() {
    let threads = Counting::default();
    let pool = sized(1, 10).thread_factory(threads.clone());
    let pool = pool.build().unwrap();
    pool.set_core_pool_size(2).unwrap();
    assert_eq!(threads.created(), 0);
    pool.submit(|| ()).unwrap().get().unwrap();
    pool.set_core_pool_size(5).unwrap();
    assert_eq!((pool.pool_size(), threads.created()), (1, 1));
    finish(&pool);
}

/// TPE-062
#[test]
fn a_smaller_core_size_lets_idle_workers_go_only_after_keep_alive() {
    let clock = TestClock::new();
    let pool = prestarted(4, &clock);
    pool.set_core_pool_size(1).unwrap();
    // They were woken, and wait for a time now.
    assert!(clock.await_sleepers(4, PATIENCE));
    clock.advance(HOUR - MOMENT);
    assert_eq!(clock.next_wake_up(), Some(MOMENT));
    assert_eq!((clock.sleepers(), pool.pool_size()), (4, 4));
    clock.advance(MOMENT);
    await_size(&pool, 1);
    finish(&pool);
}

/// TPE-062, TPE-065
#[test]
fn a_shorter_keep_alive_applies_to_workers_that_wait_already() {
    let clock = TestClock::new();
    let pool = prestarted(4, &clock);
    pool.set_core_pool_size(1).unwrap();
    assert!(clock.await_sleepers(4, PATIENCE));
    pool.set_keep_alive(MOMENT).unwrap();
    until("one worker", || {
        clock.advance(MOMENT);
        pool.pool_size() == 1
    });
    assert!(clock.elapsed() < HOUR);
    finish(&pool);
}

/// TPE-065
#[test]
fn a_longer_keep_alive_disturbs_nobody_who_waits() {
    let clock = TestClock::new();
    let pool = prestarted(3, &clock);
    pool.set_core_pool_size(1).unwrap();
    assert!(clock.await_sleepers(3, PATIENCE));
    clock.advance(HOUR / 2);
    pool.set_keep_alive(2 * HOUR).unwrap();
    assert_eq!(clock.next_wake_up(), Some(HOUR / 2));
    assert_eq!((clock.sleepers(), idle(&pool)), (3, 3));
    clock.advance(HOUR / 2);
    await_size(&pool, 1);
    finish(&pool);
}

/// TPE-063
#[test]
fn a_smaller_maximum_sheds_idle_workers_at_once() {
    let clock = TestClock::new();
    let pool = prestarted(4, &clock);
    pool.set_core_pool_size(1).unwrap();
    pool.set_maximum_pool_size(2).unwrap();
    await_size(&pool, 2);
    // The two that are left wait for keep-alive; no time has passed.
    until("two idle workers", || {
        (idle(&pool), clock.sleepers()) == (2, 2)
    });
    assert_eq!((pool.pool_size(), clock.elapsed()), (2, Duration::ZERO));
    finish(&pool);
}

/// TPE-063
#[test]
fn a_smaller_maximum_sheds_busy_workers_after_their_tasks() {
    let (threads, blockers) = (Counting::default(), Blockers::default());
    let pool = sized(4, 4).thread_factory(threads.clone()).build().unwrap();
    fill(&pool, &blockers, 4);
    blockers.await_started(4);
    pool.set_core_pool_size(1).unwrap();
    pool.set_maximum_pool_size(2).unwrap();
    assert_eq!((pool.pool_size(), blockers.ended()), (4, 0));
    blockers.release();
    threads.await_live(2);
    await_size(&pool, 2);
    until("the end of all tasks", || blockers.ended() == 4);
    assert_eq!(blockers.interrupted(), 0);
    finish(&pool);
}

/// TPE-064
#[test]
fn a_pool_that_is_retuned_all_its_life_has_the_right_size_in_every_phase() {
    const N: usize = 4;
    let (n, clock) = (N, TestClock::new());
    let (threads, blockers) = (Counting::default(), Blockers::default());
    let builder = sized(n, 3 * n)
        .thread_factory(threads.clone())
        .work_queue(ArrayBlockingQueue::new(3 * N).unwrap());
    let pool = clock.enter(|| builder.build().unwrap());

    fill(&pool, &blockers, 6 * N);
    assert!(pool.execute(blockers.body()).is_err());
    assert_eq!((threads.live(), pool.pool_size()), (3 * N, 3 * N));

    pool.set_maximum_pool_size(4 * n).unwrap();
    fill(&pool, &blockers, N);
    assert!(pool.execute(blockers.body()).is_err());
    assert_eq!((threads.live(), pool.pool_size()), (4 * N, 4 * N));

    blockers.await_started(4 * N);
    pool.set_maximum_pool_size(2 * n).unwrap();
    assert_eq!(threads.live(), 4 * N);
    blockers.release();
    threads.await_live(2 * N);
    until("all tasks", || pool.completed_task_count() == 7 * N as u64);
    assert!(clock.await_sleepers(2 * N, PATIENCE));
    assert_eq!(pool.pool_size(), 2 * N);

    pool.set_keep_alive(MOMENT).unwrap();
    advance_until_live(N, &threads, &clock);
    await_size(&pool, N);

    pool.set_allow_core_thread_timeout(true).unwrap();
    advance_until_live(0, &threads, &clock);
    await_size(&pool, 0);

    finish(&pool);
    assert_eq!((blockers.ended(), blockers.interrupted()), (7 * N, 0));
    assert_eq!(
        (threads.created(), pool.largest_pool_size()),
        (4 * N, 4 * N)
    );
}

/// TPE-066
#[test]
fn a_task_that_changes_the_core_size_is_not_interrupted_by_that() {
    const TASKS: usize = 100;
    let pool = sized(TASKS, TASKS).build().unwrap();
    pool.prestart_all_core_threads();
    let together = Arc::new(Barrier::new(TASKS));
    let handles: Vec<_> = (0..TASKS)
        .map(|_| {
            let (inside, together) = (pool.clone(), Arc::clone(&together));
            pool.submit(move || {
                inside.set_core_pool_size(TASKS).unwrap();
                inside.set_core_pool_size(1).unwrap();
                let before = interrupt::is_interrupted();
                together.wait();
                (before, interrupt::is_interrupted(), inside.pool_size())
            })
            .unwrap()
        })
        .collect();
    for mut handle in handles {
        assert_eq!(handle.get().unwrap(), (false, false, TASKS));
    }
    finish(&pool);
}

/// TPE-066
#[test]
fn no_change_of_the_configuration_interrupts_a_task() {
    let pool = sized(2, 4)
        .work_queue(LinkedBlockingQueue::with_capacity(4).unwrap())
        .rejection_handler(BlockPolicy::new())
        .build()
        .unwrap();
    let (over, inside) = (Arc::new(AtomicBool::new(false)), pool.clone());
    let tuned = Arc::clone(&over);
    let tuner = interrupt::spawn(move || {
        for round in 0..256_usize {
            inside.set_core_pool_size(round % 3).unwrap();
            inside.set_maximum_pool_size(2 + round % 3).unwrap();
            inside
                .set_keep_alive(MOMENT * if round % 2 == 0 { 1 } else { 1001 })
                .unwrap();
            inside
                .set_allow_core_thread_timeout(round % 2 == 0)
                .unwrap();
            inside.retire_idle();
        }
        tuned.store(true, Ordering::SeqCst);
    });
    let mut handles = Vec::new();
    while !over.load(Ordering::SeqCst) {
        let task = || {
            let before = interrupt::is_interrupted();
            std::thread::yield_now();
            before || interrupt::is_interrupted()
        };
        handles.push(pool.submit(task).unwrap());
    }
    tuner.join().unwrap().unwrap();
    let submitted = handles.len() as u64;
    for mut handle in handles {
        assert!(!handle.get().unwrap());
    }
    finish(&pool);
    assert_eq!(pool.completed_task_count(), submitted);
}

/// DD-19
#[test]
fn retire_idle_ends_idle_workers_beyond_core_now() {
    let clock = TestClock::new();
    let pool = prestarted(4, &clock);
    pool.set_core_pool_size(1).unwrap();
    assert!(clock.await_sleepers(4, PATIENCE));
    assert_eq!(pool.pool_size(), 4);
    pool.retire_idle();
    await_size(&pool, 1);
    assert_eq!(clock.elapsed(), Duration::ZERO);
    finish(&pool);
}

/// DD-19
#[test]
fn retire_idle_leaves_core_workers_alone() {
    let pool = prestarted(2, &TestClock::new());
    let blockers = Blockers::default();
    pool.retire_idle();
    fill(&pool, &blockers, 2);
    // Both have been through a look at the pool.
    blockers.await_started(2);
    assert_eq!((pool.pool_size(), pool.largest_pool_size()), (2, 2));
    blockers.release();
    finish(&pool);
}

/// DD-19
#[test]
fn retire_idle_leaves_busy_workers_and_their_tasks_alone() {
    let (clock, blockers) = (TestClock::new(), Blockers::default());
    let builder = sized(0, 3).work_queue(SynchronousQueue::new());
    let pool = clock.enter(|| builder.build().unwrap());
    let brief = Blockers::default();
    fill(&pool, &brief, 2);
    fill(&pool, &blockers, 1);
    blockers.await_started(1);
    brief.release();
    assert!(clock.await_sleepers(2, PATIENCE));
    pool.retire_idle();
    await_size(&pool, 1);
    blockers.release();
    // It waits for as long as every idle worker.
    assert!(clock.await_sleepers(1, PATIENCE));
    until("a whole keep-alive", || clock.next_wake_up() == Some(HOUR));
    assert_eq!((blockers.ended(), blockers.interrupted()), (1, 0));
    finish(&pool);
}

/// DD-19
#[test]
fn retire_idle_reaches_core_workers_that_may_time_out() {
    let clock = TestClock::new();
    let pool = prestarted(2, &clock);
    pool.set_allow_core_thread_timeout(true).unwrap();
    assert!(clock.await_sleepers(2, PATIENCE));
    pool.retire_idle();
    await_size(&pool, 0);
    assert_eq!(pool.submit(|| 3).unwrap().get().unwrap(), 3);
    finish(&pool);
}

/// A pool of at most two over a resizable queue with one place; one worker is busy, one task
/// queued.
fn resizable(blockers: &Blockers, maximum: usize) -> ThreadPoolExecutor {
    let pool = sized(1, maximum)
        .work_queue(ResizableBlockingQueue::with_capacity(1).unwrap())
        .build()
        .unwrap();
    fill(&pool, blockers, 2);
    blockers.await_started(1);
    pool
}

/// RLQ-013
#[test]
fn a_larger_queue_takes_what_would_have_been_rejected() {
    let blockers = Blockers::default();
    let pool = resizable(&blockers, 1);
    let refused = pool.execute(blockers.body()).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Saturated);
    assert_eq!(pool.set_queue_capacity(3), Ok(Some(1)));
    fill(&pool, &blockers, 2);
    assert!(pool.execute(blockers.body()).is_err());
    assert_eq!((pool.queue().len(), pool.rejected_count()), (3, 2));
    blockers.release();
    finish(&pool);
    assert_eq!(blockers.ended(), 4);
}

/// RLQ-013
#[test]
fn a_smaller_queue_keeps_what_is_queued_and_sends_new_tasks_past_it() {
    let blockers = Blockers::default();
    let pool = resizable(&blockers, 2);
    pool.set_queue_capacity(3).unwrap();
    fill(&pool, &blockers, 2);
    assert_eq!(pool.set_queue_capacity(1), Ok(Some(3)));
    assert_eq!(pool.queue().len(), 3);
    // To a worker beyond core, then to the handler.
    fill(&pool, &blockers, 1);
    assert_eq!((pool.pool_size(), pool.queue().len()), (2, 3));
    assert!(pool.execute(blockers.body()).is_err());
    blockers.release();
    finish(&pool);
    assert_eq!((blockers.ended(), pool.rejected_count()), (5, 1));
}

/// RLQ-013
#[test]
fn a_larger_queue_lets_a_submitter_in_that_waits_for_room() {
    let blockers = Blockers::default();
    let pool = resizable(&blockers, 1);
    pool.set_rejection_handler(Arc::new(BlockPolicy::new()));
    let (inside, body) = (pool.clone(), blockers.body());
    let submitter = interrupt::spawn(move || inside.execute(body).is_ok());
    until("a submitter that waits", || {
        pool.queue().waiting().unwrap().putters == 1
    });
    pool.set_queue_capacity(2).unwrap();
    assert!(submitter.join().unwrap().unwrap());
    assert_eq!(pool.queue().len(), 2);
    blockers.release();
    finish(&pool);
    assert_eq!(blockers.ended(), 3);
}

/// RLQ-014
#[test]
fn only_a_resizable_queue_can_be_resized() {
    let fixed: [Arc<dyn BlockingQueue<Task>>; 4] = [
        Arc::new(LinkedBlockingQueue::new()),
        Arc::new(LinkedBlockingQueue::with_capacity(2).unwrap()),
        Arc::new(ArrayBlockingQueue::new(2).unwrap()),
        Arc::new(SynchronousQueue::new()),
    ];
    for queue in fixed {
        let room = queue.remaining_capacity();
        let pool = sized(1, 1).work_queue(queue).build().unwrap();
        let refused = pool.set_queue_capacity(5);
        assert_eq!(refused, Err(CapacityError::NotResizable));
        assert_eq!(pool.queue().remaining_capacity(), room);
    }
    let queue = ResizableBlockingQueue::new();
    let pool = sized(1, 1).work_queue(queue).build().unwrap();
    assert_eq!(pool.set_queue_capacity(5), Ok(None));
    assert_eq!(pool.set_queue_capacity(0), Err(CapacityError::Zero));
    assert_eq!(pool.queue().remaining_capacity(), Some(5));
}
