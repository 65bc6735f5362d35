//! The work queue of a scheduled pool by itself: the test takes the tasks.

#[path = "kit/time.rs"]
mod time;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use time::{HOUR, SECOND, await_wake_up_in, step};
use windlass::clock::TestClock;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
use windlass::scheduled::ScheduledHandle;
use windlass::task::{Task, TaskId};
use windlass::testing::{until, within_patience};
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit, interrupt};

/// DWQ-001
#[test]
fn the_queue_is_one_of_tasks() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    // The type says it: nothing but a `Task` has a way in.
    let queue: &dyn BlockingQueue<Task> = pool.queue();
    assert!(queue.is_empty());
}

/// DWQ-002
#[test]
fn the_queue_has_no_bound() {
    let pool = ScheduledThreadPoolExecutor::new(0);
    for _ in 0..10_000 {
        drop(pool.schedule(HOUR, || ()).unwrap());
    }
    let queue = pool.queue();
    assert_eq!((queue.len(), queue.remaining_capacity()), (10_000, None));
    drop(pool.shutdown_now());
}

/// DWQ-003
#[test]
fn tasks_leave_by_time_and_equal_times_in_the_order_of_scheduling() {
    let clock = TestClock::new();
    let pool = unattended(&clock);
    let late = pool.schedule(SECOND * 2, || ()).unwrap();
    let equal: Vec<_> = (0..5)
        .map(|_| pool.schedule(SECOND, || ()).unwrap())
        .collect();
    let now = pool.submit(|| ()).unwrap();
    clock.advance(SECOND * 2);
    let drained = clock.enter(|| pool.queue().drain(usize::MAX));
    let left: Vec<_> = drained.iter().map(Task::id).collect();
    let mut expected = vec![now.id()];
    expected.extend(equal.iter().map(ScheduledHandle::id));
    expected.push(late.id());
    assert_eq!(left, expected);
}

/// DWQ-006
#[test]
fn a_drain_takes_what_is_due_and_a_stop_takes_all() {
    let clock = TestClock::new();
    let pool = unattended(&clock);
    let tasks = [3, 1, 2].map(|n| pool.schedule(SECOND * n, || ()).unwrap());
    let queue = pool.queue();
    assert!(clock.enter(|| queue.drain(usize::MAX)).is_empty());
    clock.advance(SECOND);
    assert_eq!(
        clock.enter(|| queue.drain(usize::MAX))[0].id(),
        tasks[1].id()
    );
    let rest = pool.shutdown_now();
    assert_eq!(rest.len(), 2);
    assert!(queue.is_empty());
}

/// A factory whose threads never run: the test takes the tasks itself.
#[derive(Debug, Default)]
struct NoThreads(LinkedBlockingQueue<ThreadBody>);

impl ThreadFactory for NoThreads {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let kept = self.0.offer(body);
        kept.map_err(|_| io::Error::other("an unbounded queue is never full"))
    }
}

/// A pool whose queue is left to the test.
fn unattended(clock: &TestClock) -> ScheduledThreadPoolExecutor {
    let builder = ScheduledThreadPoolExecutor::builder().thread_factory(NoThreads::default());
    clock.enter(|| builder.build())
}

/// A thread that takes one task from the pool's queue, on that clock.
fn taker(
    pool: &ScheduledThreadPoolExecutor,
    clock: &TestClock,
) -> interrupt::JoinHandle<Option<TaskId>> {
    let (pool, clock) = (pool.clone(), clock.clone());
    interrupt::spawn(move || clock.enter(|| pool.queue().take().ok().map(|task| task.id())))
}

fn await_takers(pool: &ScheduledThreadPoolExecutor, count: usize) {
    until("waiting takers", || {
        pool.queue().waiting().unwrap_or_default().takers == count
    });
}

/// DWQ-009
#[test]
fn an_earlier_task_wakes_who_waits_for_a_later_one() {
    let clock = TestClock::new();
    let pool = unattended(&clock);
    let late = pool.schedule(SECOND * 60, || ()).unwrap();
    let waits = taker(&pool, &clock);
    await_wake_up_in(&clock, SECOND * 60);
    let soon = pool.schedule(SECOND, || ()).unwrap();
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    let taken = within_patience("the earlier one", move || waits.join().unwrap().unwrap());
    assert_eq!(taken, Some(soon.id()));
    assert!(!late.is_done());
}

/// DWQ-009
#[test]
fn when_the_one_who_waits_for_the_head_leaves_another_does() {
    let clock = TestClock::new();
    let pool = unattended(&clock);
    let task = pool.schedule(SECOND, || ()).unwrap();
    let leader = taker(&pool, &clock);
    await_wake_up_in(&clock, SECOND);
    let follower = taker(&pool, &clock);
    await_takers(&pool, 2);
    assert_eq!(clock.sleepers(), 1, "only one of them sleeps by the clock");
    leader.interrupt();
    let left = within_patience("the leader", move || leader.join().unwrap().unwrap());
    assert_eq!(left, None);
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    let taken = within_patience("the follower", move || follower.join().unwrap().unwrap());
    assert_eq!(taken, Some(task.id()));
}

/// DWQ-009
#[test]
fn whoever_takes_the_head_leaves_the_next_to_another() {
    let clock = TestClock::new();
    let pool = unattended(&clock);
    drop(pool.schedule(SECOND, || ()).unwrap());
    drop(pool.schedule(SECOND * 2, || ()).unwrap());
    let takers = [taker(&pool, &clock), taker(&pool, &clock)];
    await_takers(&pool, 2);
    for _ in 0..2 {
        assert_eq!(step(&clock), SECOND);
    }
    for taker in takers {
        assert!(within_patience("a taker", move || taker.join().unwrap().unwrap()).is_some());
    }
}

/// DWQ-009
#[test]
fn a_predicate_that_panics_takes_nothing_out() {
    let pool = unattended(&TestClock::new());
    for _ in 0..3 {
        drop(pool.schedule(HOUR, || ()).unwrap());
    }
    let queue = pool.queue();
    let mut asked = 0;
    let failed = catch_unwind(AssertUnwindSafe(|| {
        queue.retain(&mut |_| {
            asked += 1;
            assert!(asked < 2, "planned");
            false
        })
    }));
    assert!(failed.is_err());
    assert_eq!(queue.len(), 3);
    drop(pool.shutdown_now());
}
