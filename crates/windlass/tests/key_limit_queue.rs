//! What the queue with a limit for each key promises beyond the common contract.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

#[path = "kit/threads.rs"]
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use threads::{Blockers, await_idle, finish};
use windlass::TaskHandle;
use windlass::prelude::*;
use windlass::queue::{CapacityError, KeyLimitQueue};
use windlass::task::Task;
use windlass::testing::{Gate, until};

type Keyed = KeyLimitQueue<Task, Option<String>>;

fn by_name(limit: usize) -> Arc<Keyed> {
    let queue = KeyLimitQueue::new(limit, |task: &Task| task.name().map(str::to_owned));
    Arc::new(queue.unwrap())
}

fn pool_of(core: usize, queue: &Arc<Keyed>) -> ThreadPoolExecutor {
    let builder = ThreadPoolExecutor::builder().core_pool_size(core);
    builder.work_queue(Arc::clone(queue)).build().unwrap()
}

fn named(name: &str) -> Task {
    Task::builder().name(name).build(|| ())
}

fn running(queue: &Keyed, key: &str) -> usize {
    queue.running(&Some(key.to_owned()))
}

/// WL-218
#[test]
fn tasks_over_the_limit_stay_queued_while_others_pass() {
    let queue = by_name(1);
    for name in ["a", "a", "b"] {
        queue.offer(named(name)).unwrap();
    }
    let first = queue.poll().unwrap();
    assert_eq!(first.name(), Some("a"));
    let second = queue.poll().unwrap();
    assert_eq!(second.name(), Some("b"));
    assert!(queue.poll().is_none());
    assert_eq!((queue.len(), running(&queue, "a")), (1, 1));
    first.run();
    assert_eq!(queue.poll().unwrap().name(), Some("a"));
}

/// WL-218
#[test]
fn among_the_tasks_that_may_leave_the_first_to_arrive_is_next() {
    let queue = by_name(1);
    for name in ["a", "a", "b", "b", "c"] {
        queue.offer(named(name)).unwrap();
    }
    let first = queue.poll().unwrap();
    drop(first);
    // The second of a came before b and c.
    let names: Vec<_> = queue
        .drain(9)
        .iter()
        .map(|task| task.name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
}

/// WL-218
#[test]
fn no_more_tasks_of_a_key_run_than_the_limit_and_all_of_them_run() {
    let queue = by_name(2);
    let pool = pool_of(8, &queue);
    let counts = Arc::new([const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; 3]);
    let ran = Arc::new(AtomicUsize::new(0));
    for n in 0..300 {
        let (key, counts, ran) = (n % 3, Arc::clone(&counts), Arc::clone(&ran));
        let task = pool.task().name(["a", "b", "c"][key]);
        let body = move || {
            let (now, most) = &counts[key];
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
            ran.fetch_add(1, Ordering::SeqCst);
        };
        task.execute(body).unwrap();
    }
    finish(&pool);
    assert_eq!(ran.load(Ordering::SeqCst), 300);
    let most = [0, 1, 2].map(|key| counts[key].1.load(Ordering::SeqCst));
    assert!(most.iter().all(|most| *most <= 2), "{most:?}");
    assert_eq!(queue.key_count(), 0);
}

/// WL-218
#[test]
fn the_first_tasks_of_new_workers_keep_the_limit_too() {
    let queue = by_name(1);
    let (pool, blockers) = (pool_of(4, &queue), Blockers::default());
    for _ in 0..4 {
        pool.task().name("a").execute(blockers.body()).unwrap();
    }
    blockers.await_started(1);
    await_idle(&pool, 3);
    assert_eq!((running(&queue, "a"), queue.len()), (1, 3));
    blockers.release();
    finish(&pool);
    assert_eq!(blockers.ended(), 4);
}

/// WL-219
#[test]
fn a_task_that_ends_in_any_way_makes_room_for_the_next() {
    let queue = by_name(1);
    let pool = pool_of(2, &queue);
    let after = |what: &str| {
        let next = pool.task().name("a").submit(|| 1).unwrap();
        assert_eq!(next.join().unwrap(), 1, "{what}");
    };
    let submit = |body: fn()| pool.task().name("a").submit(body).unwrap();
    drop(submit(|| ()).join());
    after("completes");
    assert!(submit(|| panic!("expected")).join().is_err());
    after("panics");
    pool.task()
        .name("a")
        .execute(|| panic!("expected, without a handle"))
        .unwrap();
    after("panics without a handle");
    let gate = Gate::new();
    let inside = gate.clone();
    let running: TaskHandle<()> = pool
        .task()
        .name("a")
        .submit(move || {
            let _ = inside.pass();
        })
        .unwrap();
    gate.await_waiting(1);
    let queued = submit(|| ());
    assert!(queued.cancel());
    assert!(running.cancel_now());
    after("is cancelled, running or queued");
    drop(queue.poll());
    after("is dropped unrun after it was taken");
    finish(&pool);
    assert_eq!(queue.key_count(), 0);
}

/// WL-219
#[test]
fn a_task_that_is_cancelled_counts_until_its_code_has_returned() {
    let queue = by_name(1);
    let (pool, blockers) = (pool_of(2, &queue), Blockers::default());
    let stubborn = pool.task().name("a").submit(blockers.body()).unwrap();
    blockers.await_started(1);
    assert!(stubborn.cancel_now());
    let next = pool.task().name("a").submit(|| ()).unwrap();
    await_idle(&pool, 1);
    assert!(!next.is_done());
    assert_eq!((running(&queue, "a"), queue.len()), (1, 1));
    blockers.release();
    next.join().unwrap();
    finish(&pool);
}

/// WL-219
#[test]
fn a_worker_that_waits_is_woken_when_a_key_becomes_free() {
    let queue = by_name(1);
    let pool = pool_of(1, &queue);
    queue.offer(named("a")).unwrap();
    // Taken by a thread that is not of the pool: its worker finds nothing that may leave.
    let elsewhere = queue.poll().unwrap();
    let next = pool.task().name("a").submit(|| 7).unwrap();
    await_idle(&pool, 1);
    assert!(!next.is_done());
    elsewhere.run();
    assert_eq!(next.join().unwrap(), 7);
    finish(&pool);
}

/// WL-220
#[test]
fn a_task_keeps_what_it_carries_on_its_way_through() {
    let queue = by_name(1);
    let (task, handle) = Task::builder()
        .name("a")
        .priority(3)
        .attach(5_u8)
        .build_with_handle(|| 9);
    let id = task.id();
    queue.offer(task).unwrap();
    let task = queue.poll().unwrap();
    assert_eq!(
        (task.id(), task.name(), task.priority()),
        (id, Some("a"), 3)
    );
    assert_eq!(
        (task.attachment::<u8>(), task.has_handle()),
        (Some(&5), true)
    );
    task.run();
    assert_eq!(handle.join().unwrap(), 9);
    let limited = Task::builder().queue_limit(Duration::from_secs(3600));
    queue.offer(limited.build(|| ())).unwrap();
    assert!(!queue.poll().unwrap().has_handle());
    let (task, handle) = Task::with_handle(|| 9);
    queue.offer(task).unwrap();
    drop(queue.poll());
    assert!(handle.join().unwrap_err().is_cancelled());
}

/// WL-220
#[test]
fn what_is_removed_or_handed_back_does_not_count() {
    let queue = by_name(1);
    let (pool, blockers) = (pool_of(1, &queue), Blockers::default());
    pool.task().name("a").execute(blockers.body()).unwrap();
    blockers.await_started(1);
    let removed = pool.task().name("a").submit(|| ()).unwrap();
    let handed_back = pool.task().name("a").submit(|| 4).unwrap();
    assert!(pool.remove(&removed).is_some());
    let tasks = pool.shutdown_now();
    assert_eq!(tasks.len(), 1);
    blockers.release();
    until("the end of the running task", || pool.is_terminated());
    assert_eq!(queue.key_count(), 0);
    for task in tasks {
        task.run();
    }
    assert_eq!(handed_back.join().unwrap(), 4);
}

/// WL-221
#[test]
fn a_limit_can_be_changed_while_tasks_are_queued() {
    let queue = by_name(1);
    for _ in 0..4 {
        queue.offer(named("a")).unwrap();
    }
    let mut taken = queue.drain(9);
    assert_eq!((taken.len(), queue.limit()), (1, 1));
    assert_eq!(queue.set_limit(3), Ok(1));
    taken.extend(queue.drain(9));
    assert_eq!(taken.len(), 3);
    assert_eq!(queue.set_limit(1), Ok(3));
    taken.truncate(1);
    assert!(queue.poll().is_none());
    taken.clear();
    assert!(queue.poll().is_some());
    assert_eq!(queue.set_limit(0), Err(CapacityError::Zero));
    assert_eq!(
        KeyLimitQueue::new(0, Task::id).err(),
        Some(CapacityError::Zero)
    );
}

/// WL-221
#[test]
fn a_pool_that_grows_eagerly_starts_workers_beyond_core() {
    let queue = by_name(1);
    let builder = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(3);
    let pool = builder
        .grow_eagerly(true)
        .work_queue(Arc::clone(&queue))
        .build()
        .unwrap();
    let blockers = Blockers::default();
    for name in ["a", "b", "c"] {
        pool.task().name(name).execute(blockers.body()).unwrap();
    }
    blockers.await_started(3);
    blockers.release();
    finish(&pool);
}
