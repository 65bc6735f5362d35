//! Tasks with time limits: how late they may start, and how long they may run.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;
#[path = "kit/time.rs"]
mod time;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use recording::{Blocker, HookFns, finish, fixed};
use time::{HOUR, Log, SECOND, await_wake_up_in, pool_on};
use windlass::clock::TestClock;
use windlass::pool::{BlockPolicy, CallerRunsPolicy, Codel, Outcome};
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::task::{Cancellation, Task, TaskState};
use windlass::testing::{DropCounter, Gate, PATIENCE, until};
use windlass::{RejectionReason, TaskHandle, interrupt};

const EXPIRED: Option<Cancellation> = Some(Cancellation::Expired);
const TIMED_OUT: Option<Cancellation> = Some(Cancellation::TimedOut);

/// A pool of one on a clock, whose worker is held.
struct Busy {
    clock: TestClock,
    pool: ThreadPoolExecutor,
    blocker: Blocker,
}

impl Busy {
    fn new() -> Self {
        Self::with(|builder| builder)
    }

    fn with(configure: impl FnOnce(windlass::pool::Builder) -> windlass::pool::Builder) -> Self {
        let clock = TestClock::new();
        let pool = clock.enter(|| configure(fixed(1)).build().unwrap());
        let blocker = Blocker::occupy(&pool, 1);
        Self {
            clock,
            pool,
            blocker,
        }
    }

    fn end(self) {
        self.blocker.release();
        finish(&self.pool);
    }
}

/// Waits for the end of a task, though its worker is held; returns why it was cancelled.
fn end_of<T: Send + 'static>(mut handle: TaskHandle<T>) -> Option<Cancellation> {
    let ended = handle.get_timeout(PATIENCE);
    ended.err().and_then(|error| error.cancellation())
}

fn never() {
    unreachable!("it is too late");
}

/// WL-180
#[test]
fn of_a_deadline_and_a_queue_limit_the_earlier_counts() {
    let busy = Busy::new();
    let now = busy.clock.now();
    let limited = |deadline, limit| {
        let task = busy.pool.task().deadline(now + deadline);
        task.queue_limit(limit).submit(never).unwrap()
    };
    let both = [limited(SECOND, HOUR), limited(HOUR, SECOND)];
    await_wake_up_in(&busy.clock, SECOND);
    busy.clock.advance(SECOND);
    assert_eq!(both.map(end_of), [EXPIRED; 2]);
    busy.end();
}

/// WL-180
#[test]
fn a_task_expires_at_once_while_the_only_worker_is_busy_and_never_runs() {
    let busy = Busy::new();
    let deadline = busy.clock.now() + 2 * SECOND;
    let by_deadline = busy.pool.task().deadline(deadline).submit(never).unwrap();
    let by_limit = busy.pool.task().queue_limit(SECOND).submit(never).unwrap();
    await_wake_up_in(&busy.clock, SECOND);
    assert!(!by_limit.is_done());
    busy.clock.advance(SECOND);
    assert_eq!(end_of(by_limit), EXPIRED);
    assert_eq!(by_deadline.state(), TaskState::Queued);
    await_wake_up_in(&busy.clock, SECOND);
    busy.clock.advance(SECOND);
    assert_eq!(end_of(by_deadline), EXPIRED);
    assert_eq!(busy.pool.stats().expired_task_count, 2);
    assert_eq!(busy.pool.stats().failed_task_count, 0);
    busy.end();
}

/// WL-180
#[test]
fn the_body_of_an_expired_task_is_dropped_at_once_also_without_a_handle() {
    let busy = Busy::new();
    let drops = DropCounter::new();
    let (first, second) = (drops.token(), drops.token());
    let with_handle = busy
        .pool
        .task()
        .queue_limit(SECOND)
        .submit(move || drop(first));
    busy.pool
        .task()
        .queue_limit(SECOND)
        .execute(move || drop(second))
        .unwrap();
    await_wake_up_in(&busy.clock, SECOND);
    assert_eq!(drops.count(), 0);
    busy.clock.advance(SECOND);
    until("both are dropped", || drops.count() == 2);
    until("both are counted", || {
        busy.pool.stats().expired_task_count == 2
    });
    drop(with_handle);
    busy.end();
}

/// WL-181
#[test]
fn a_task_that_starts_in_time_runs_and_its_deadline_does_not_disturb_it() {
    let busy = Busy::new();
    let gate = Gate::new();
    let inside = gate.clone();
    let task = busy.pool.task().queue_limit(SECOND).submit(move || {
        inside.pass().unwrap();
        42
    });
    busy.blocker.release();
    gate.await_waiting(1);
    busy.clock.advance(HOUR);
    gate.open();
    assert_eq!(task.unwrap().join().unwrap(), 42);
    assert_eq!(busy.pool.stats().expired_task_count, 0);
    busy.end();
}

/// WL-181
#[test]
fn a_worker_does_not_start_a_task_that_is_too_late_though_no_timer_has_come() {
    let clock = TestClock::new();
    let (task, handle) =
        clock.enter(|| Task::builder().queue_limit(SECOND).build_with_handle(never));
    let detached = clock.enter(|| Task::builder().queue_limit(SECOND).build(never));
    // Whichever comes first, the timer or these runs.
    clock.advance(SECOND);
    task.run();
    detached.run();
    assert_eq!(handle.cancellation(), EXPIRED);
}

/// WL-182
#[test]
fn a_run_that_takes_too_long_is_interrupted_and_the_next_task_is_not() {
    let clock = TestClock::new();
    let pool = clock.enter(|| fixed(1).build().unwrap());
    let gate = Gate::new();
    let inside = gate.clone();
    let slow = pool.task().run_limit(SECOND).submit(move || inside.pass());
    let next = pool.submit(interrupt::interrupted).unwrap();
    gate.await_waiting(1);
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    assert_eq!(end_of(slow.unwrap()), TIMED_OUT);
    assert!(!next.join().unwrap());
    assert_eq!(pool.stats().timed_out_task_count, 1);
    finish(&pool);
}

/// WL-182
#[test]
fn a_task_that_ignores_the_interrupt_of_its_run_limit_keeps_its_worker() {
    let clock = TestClock::new();
    let pool = clock.enter(|| fixed(1).build().unwrap());
    let blocker = Blocker::new();
    let stubborn = pool
        .task()
        .run_limit(SECOND)
        .submit(blocker.body())
        .unwrap();
    blocker.await_held(1);
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    assert_eq!(end_of(stubborn), TIMED_OUT);
    assert_eq!(pool.active_count(), 1);
    blocker.release();
    finish(&pool);
}

/// WL-182
#[test]
fn a_task_without_a_handle_is_interrupted_at_its_run_limit_and_its_panic_is_reported() {
    let (clock, reports) = (TestClock::new(), Log::new());
    let noted = reports.clone();
    let pool = clock.enter(|| {
        let builder = fixed(1).uncaught_handler(move |failure| noted.record(failure.to_string()));
        builder.build().unwrap()
    });
    let (gate, seen) = (Gate::new(), Log::new());
    let (inside, log) = (gate.clone(), seen.clone());
    let slow = move || log.record(inside.pass().is_err());
    pool.task().run_limit(SECOND).execute(slow).unwrap();
    gate.await_waiting(1);
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    assert!(seen.next(), "it was interrupted");
    let panics = || panic!("in time");
    pool.task().run_limit(SECOND).execute(panics).unwrap();
    assert_eq!(reports.next(), "panicked: in time");
    finish(&pool);
}

/// WL-183
#[test]
fn limits_of_a_pool_apply_to_what_sets_none_of_its_own() {
    let busy = Busy::with(|builder| builder.queue_limit(SECOND).run_limit(HOUR));
    let own = busy
        .pool
        .task()
        .queue_limit(2 * HOUR)
        .submit(|| 42)
        .unwrap();
    let default = busy.pool.submit(never).unwrap();
    await_wake_up_in(&busy.clock, SECOND);
    busy.clock.advance(SECOND);
    assert_eq!(end_of(default), EXPIRED);
    busy.blocker.release();
    assert_eq!(own.join().unwrap(), 42);
    let gate = Gate::new();
    let inside = gate.clone();
    let slow = busy.pool.submit(move || inside.pass()).unwrap();
    gate.await_waiting(1);
    await_wake_up_in(&busy.clock, HOUR);
    busy.clock.advance(HOUR);
    assert_eq!(end_of(slow), TIMED_OUT);
    let stats = busy.pool.stats();
    assert_eq!(
        (stats.expired_task_count, stats.timed_out_task_count),
        (1, 1)
    );
    busy.end();
}

/// WL-184
#[test]
fn a_full_queue_drops_what_has_expired_before_it_refuses() {
    let busy = Busy::with(|builder| builder.work_queue(ArrayBlockingQueue::new(2).unwrap()));
    let stale = busy.pool.task().queue_limit(SECOND).submit(never).unwrap();
    let waits = busy.pool.submit(|| 1).unwrap();
    let refused = busy.pool.submit(never).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Saturated);
    await_wake_up_in(&busy.clock, SECOND);
    busy.clock.advance(SECOND);
    assert_eq!(end_of(stale), EXPIRED);
    let admitted = busy.pool.submit(|| 2).unwrap();
    assert_eq!(busy.pool.rejected_count(), 1);
    busy.blocker.release();
    assert_eq!((waits.join().unwrap(), admitted.join().unwrap()), (1, 2));
    busy.end();
}

/// WL-184
#[test]
fn a_submitter_that_waits_for_room_gets_the_place_of_a_task_that_expires() {
    let busy = Busy::with(|builder| {
        let builder = builder.rejection_handler(BlockPolicy::new());
        builder.work_queue(ArrayBlockingQueue::new(1).unwrap())
    });
    let stale = busy.pool.task().queue_limit(SECOND).submit(never).unwrap();
    await_wake_up_in(&busy.clock, SECOND);
    let pool = busy.pool.clone();
    let submitter = interrupt::spawn(move || pool.submit(|| 42).unwrap());
    until("the submitter waits", || {
        busy.pool.queue().waiting().unwrap().putters == 1
    });
    busy.clock.advance(SECOND);
    assert_eq!(end_of(stale), EXPIRED);
    let admitted = submitter.join().unwrap().unwrap();
    busy.blocker.release();
    assert_eq!(admitted.join().unwrap(), 42);
    busy.end();
}

/// WL-184
#[test]
fn a_submitter_waits_for_room_no_longer_than_until_its_task_expires() {
    let busy = Busy::with(|builder| {
        let builder = builder.rejection_handler(BlockPolicy::new());
        builder.work_queue(ArrayBlockingQueue::new(1).unwrap())
    });
    busy.pool.execute(|| ()).unwrap();
    let (pool, clock) = (busy.pool.clone(), busy.clock.clone());
    let submitter = interrupt::spawn(move || {
        clock.enter(|| pool.task().queue_limit(SECOND).submit(never).unwrap_err())
    });
    until("the submitter and the timer wait", || {
        busy.clock.sleepers() == 2
    });
    busy.clock.advance(SECOND);
    let refused = submitter.join().unwrap().unwrap();
    assert_eq!(refused.reason(), RejectionReason::TimedOut);
    busy.end();
}

/// WL-185
#[test]
fn purge_removes_expired_tasks_and_a_drained_task_keeps_its_deadline() {
    let busy = Busy::new();
    let first = busy.pool.task().queue_limit(SECOND).submit(never).unwrap();
    let second = busy.pool.task().queue_limit(HOUR).submit(never).unwrap();
    await_wake_up_in(&busy.clock, SECOND);
    busy.clock.advance(SECOND);
    assert_eq!(end_of(first), EXPIRED);
    assert_eq!(busy.pool.purge(), 1);
    let drained = busy.pool.shutdown_now();
    assert_eq!(drained.len(), 1);
    assert_eq!(second.state(), TaskState::Queued);
    await_wake_up_in(&busy.clock, HOUR - SECOND);
    busy.clock.advance(HOUR);
    assert_eq!(end_of(second), EXPIRED);
    drop(drained);
    busy.end();
}

/// WL-185
#[test]
fn a_task_that_was_cancelled_or_taken_back_does_not_expire() {
    let busy = Busy::new();
    let cancelled = busy.pool.task().queue_limit(SECOND).submit(never).unwrap();
    assert!(cancelled.cancel());
    let input = busy
        .clock
        .enter(|| Task::builder().queue_limit(SECOND).build(never));
    drop(input);
    busy.pool.shutdown();
    let refused = busy
        .pool
        .task()
        .queue_limit(SECOND)
        .execute_with(String::from("input"), drop)
        .unwrap_err();
    let input: String = refused.into_task().into_input().unwrap();
    assert_eq!(input, "input");
    busy.clock.advance(SECOND);
    assert_eq!(cancelled.cancellation(), Some(Cancellation::Requested));
    assert_eq!(busy.pool.stats().expired_task_count, 0);
    busy.end();
}

/// WL-185
#[test]
fn a_task_that_its_submitter_runs_has_limits_too() {
    let busy = Busy::with(|builder| {
        let builder = builder.rejection_handler(CallerRunsPolicy);
        builder.work_queue(ArrayBlockingQueue::new(1).unwrap())
    });
    busy.pool.execute(|| ()).unwrap();
    let late = busy.clock.now();
    let late = busy.pool.task().deadline(late).submit(never).unwrap();
    assert_eq!(late.cancellation(), EXPIRED);
    let in_time = busy.pool.task().queue_limit(SECOND).submit(|| 42).unwrap();
    assert_eq!(in_time.join().unwrap(), 42);
    busy.end();
}

/// WL-185
#[test]
fn hooks_see_an_expired_task_as_a_cancelled_one() {
    let seen = Log::new();
    let log = seen.clone();
    let hooks = HookFns::new().after(move |info, outcome| {
        if info.name() == Some("late") {
            log.record((info.has_handle(), matches!(outcome, Outcome::Cancelled)));
        }
    });
    let busy = Busy::with(|builder| builder.hooks(hooks));
    let late = || busy.pool.task().name("late").queue_limit(SECOND);
    late().execute(never).unwrap();
    let handle = late().submit(never).unwrap();
    await_wake_up_in(&busy.clock, SECOND);
    busy.clock.advance(SECOND);
    assert_eq!(end_of(handle), EXPIRED);
    until("both have expired", || {
        busy.pool.stats().expired_task_count == 2
    });
    busy.blocker.release();
    assert_eq!(seen.take(2), [(false, true), (true, true)]);
    busy.end();
}

/// WL-186
#[test]
fn the_queue_limit_of_a_scheduled_task_counts_from_when_it_is_due() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let gate = time::occupy(&pool);
    let late = pool
        .task()
        .queue_limit(SECOND)
        .schedule(HOUR, never)
        .unwrap();
    let expires_first = pool
        .task()
        .deadline(clock.now() + SECOND)
        .schedule(HOUR, never)
        .unwrap();
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    assert_eq!(end_of(expires_first.into_handle()), EXPIRED);
    await_wake_up_in(&clock, HOUR);
    clock.advance(HOUR - SECOND);
    assert!(!late.is_done());
    clock.advance(SECOND);
    assert_eq!(end_of(late.into_handle()), EXPIRED);
    assert_eq!(pool.stats().expired_task_count, 2);
    gate.open();
    pool.close();
}

/// WL-186
#[test]
fn a_periodic_task_ends_at_its_deadline_or_with_a_run_that_takes_too_long() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let runs = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&runs);
    let until_deadline = pool
        .task()
        .deadline(clock.now() + Duration::from_millis(2_500))
        .schedule_at_fixed_rate(SECOND, SECOND, move || {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    for run in 1..=2 {
        until("the worker and the timer wait", || clock.sleepers() == 2);
        await_wake_up_in(&clock, SECOND);
        clock.advance(SECOND);
        until("the run", || runs.load(Ordering::Relaxed) == run);
    }
    until("the worker and the timer wait", || clock.sleepers() == 2);
    await_wake_up_in(&clock, SECOND / 2);
    clock.advance(SECOND / 2);
    assert_eq!(end_of(until_deadline.into_handle()), EXPIRED);
    assert_eq!(runs.load(Ordering::Relaxed), 2);

    let gate = Gate::new();
    let (inside, first) = (gate.clone(), AtomicBool::new(true));
    let slow = pool.task().run_limit(SECOND / 10).schedule_at_fixed_rate(
        Duration::ZERO,
        HOUR,
        move || {
            if !first.swap(false, Ordering::Relaxed) {
                let _ = inside.pass();
            }
        },
    );
    let slow = slow.unwrap();
    until("the first run", || slow.runs() == 1);
    clock.advance(HOUR);
    gate.await_waiting(1);
    await_wake_up_in(&clock, SECOND / 10);
    clock.advance(SECOND / 10);
    assert_eq!(end_of(slow.into_handle()), TIMED_OUT);
    pool.close();
}

/// WL-187
#[test]
fn tasks_expire_on_every_executor() {
    let clock = TestClock::new();
    clock.enter(|| {
        let direct = executors::DirectExecutor::default();
        let late = direct.task().deadline(clock.now()).submit(never).unwrap();
        assert_eq!(late.cancellation(), EXPIRED);
        let task = Task::builder().deadline(clock.now());
        let future_task = task.build_future_task(never);
        future_task.run();
        assert_eq!(future_task.cancellation(), EXPIRED);
        let fork_join = ForkJoinPool::new(1).unwrap();
        let slow = || interrupt::sleep(HOUR);
        let slow = fork_join.task().run_limit(SECOND).submit(slow).unwrap();
        until("the task and the timer wait", || clock.sleepers() >= 2);
        clock.advance(SECOND);
        assert_eq!(end_of(slow), TIMED_OUT);
    });
}

/// WL-462
#[test]
fn a_fork_join_pool_has_default_limits_and_counts_the_tasks_whose_time_is_up() {
    let clock = TestClock::new();
    let builder = ForkJoinPool::builder().parallelism(1);
    let limited = builder.queue_limit(SECOND).run_limit(SECOND);
    let pool = clock.enter(|| limited.build().unwrap());
    // Not through the pool's defaults: those hold for closures.
    let gate = Gate::new();
    let held = gate.clone();
    pool.execute_task(Task::new(move || held.pass_uninterruptibly()))
        .unwrap();
    gate.await_waiting(1);
    let late = pool.submit(never).unwrap();
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    assert_eq!(end_of(late), EXPIRED);
    assert_eq!(pool.stats().expired_task_count, 1);
    gate.open();
    let patient = pool.task().queue_limit(HOUR);
    let closed = Gate::new();
    let inside = closed.clone();
    let slow = patient.submit(move || inside.pass().is_err()).unwrap();
    closed.await_waiting(1);
    await_wake_up_in(&clock, SECOND);
    clock.advance(SECOND);
    assert_eq!(end_of(slow), TIMED_OUT);
    let stats = pool.stats();
    assert_eq!(
        (stats.expired_task_count, stats.timed_out_task_count),
        (1, 1)
    );
    pool.close();
}

/// WL-188
#[test]
#[cfg(target_os = "linux")]
fn the_timer_thread_ends_when_no_limit_is_pending() {
    fn timer_threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names
            .filter(|name| name.starts_with("windlass-expiry"))
            .count()
    }
    let pool = fixed(1).build().unwrap();
    let quick = pool.task().queue_limit(HOUR).submit(|| 42).unwrap();
    assert_eq!(quick.join().unwrap(), 42);
    // Other tests have timers of their own.
    until("no timer thread", || timer_threads() == 0);
    let again = pool.task().run_limit(HOUR).submit(|| 42).unwrap();
    assert_eq!(again.join().unwrap(), 42);
    finish(&pool);
}

/// WL-191
#[test]
fn a_pool_whose_queue_stays_slow_sheds_and_serves_the_last_task() {
    const MS: Duration = Duration::from_millis(1);
    let busy = Busy::with(|builder| builder.shed(Codel::default()));
    let served = Arc::new(AtomicU32::new(0));
    let handles: Vec<_> = (0..500)
        .map(|_| {
            let (clock, served) = (busy.clock.clone(), Arc::clone(&served));
            busy.pool.submit(move || {
                served.fetch_add(1, Ordering::Relaxed);
                clock.advance(10 * MS);
            })
        })
        .collect();
    busy.clock.advance(10 * MS);
    busy.blocker.release();
    let ends: Vec<_> = handles
        .into_iter()
        .map(|task| end_of(task.unwrap()))
        .collect();
    let shed = ends.iter().filter(|end| **end == Some(Cancellation::Shed));
    let shed = u32::try_from(shed.count()).unwrap();
    assert!(shed > 20, "{shed}");
    assert_eq!(shed + served.load(Ordering::Relaxed), 500);
    assert_eq!(busy.pool.stats().shed_task_count, u64::from(shed));
    assert_eq!(ends.last(), Some(&None), "the last task is never shed");
    assert!(ends[..10].iter().all(Option::is_none), "nor is a burst");
    busy.end();
}

/// WL-191
#[test]
fn a_pool_that_keeps_up_sheds_nothing() {
    let pool = fixed(1).shed(Codel::default()).build().unwrap();
    for number in 0..1_000 {
        let echo = pool.submit(move || number).unwrap();
        assert_eq!(echo.join().unwrap(), number);
    }
    assert_eq!(pool.stats().shed_task_count, 0);
    finish(&pool);
}
