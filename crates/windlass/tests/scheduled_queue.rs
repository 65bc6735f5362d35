//! The queue of a scheduled pool: inspection, removal, cancellation.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/time.rs"]
mod time;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use time::{HOUR, Log, SECOND, await_idle, await_wake_up_in, pool_on, step};
use windlass::clock::TestClock;
use windlass::error::Cancellation;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
use windlass::scheduled::ScheduledHandle;
use windlass::task::{ExecutionError, TaskControl, TaskId};
use windlass::testing::{DropCounter, Gate, until, within_patience};
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, interrupt};

fn holds(pool: &ScheduledThreadPoolExecutor, id: TaskId) -> bool {
    pool.queued_tasks().iter().any(|task| task.id == id)
}

/// Five tasks at one gated worker: the first runs, the others wait.
fn five_at_a_gate() -> (ScheduledThreadPoolExecutor, Gate, Vec<ScheduledHandle<()>>) {
    let (clock, gate) = (TestClock::new(), Gate::new());
    let pool = pool_on(&clock, 1);
    let wait = || {
        let gate = gate.clone();
        move || gate.pass_uninterruptibly()
    };
    let millis = Duration::from_millis(1);
    let tasks = (0..5).map(|_| pool.schedule(millis, wait()).unwrap());
    let tasks = tasks.collect();
    step(&clock);
    gate.await_waiting(1);
    (pool, gate, tasks)
}

/// STP-040
#[test]
fn the_queue_has_what_waits_and_not_what_runs() {
    let (pool, gate, tasks) = five_at_a_gate();
    assert!(!holds(&pool, tasks[0].id()));
    assert!(tasks[1..].iter().all(|task| holds(&pool, task.id())));
    assert_eq!(pool.queue().len(), 4);
    gate.open();
    pool.close();
}

/// STP-041
/// DWQ-007
#[test]
fn a_waiting_task_is_removed_once_and_stays_unfinished_in_the_hands_of_the_remover() {
    let (pool, gate, mut tasks) = five_at_a_gate();
    assert!(pool.remove(&tasks[0]).is_none(), "it runs");
    let removed = pool.remove(&tasks[4]).unwrap();
    assert_eq!(removed.id(), tasks[4].id());
    assert!(pool.remove(&tasks[4]).is_none(), "it is gone");
    assert!(pool.remove(&tasks[3]).is_some());
    assert!(!tasks[4].is_done());
    assert_eq!(pool.queue().len(), 2);
    drop(removed);
    let error = tasks[4].get().unwrap_err();
    let expected = ExecutionError::Cancelled(Cancellation::Removed);
    assert_eq!(error.to_string(), expected.to_string());
    gate.open();
    pool.close();
}

/// DWQ-007
#[test]
fn a_task_of_another_pool_is_not_found() {
    let (here, there) = (
        ScheduledThreadPoolExecutor::new(0),
        ScheduledThreadPoolExecutor::new(0),
    );
    let mine = here.schedule(HOUR, || ()).unwrap();
    let theirs = there.schedule(HOUR, || ()).unwrap();
    assert!(here.remove(&theirs).is_none());
    assert!(here.remove(&mine).is_some());
    assert_eq!(there.queue().len(), 1);
    drop(there.shutdown_now());
}

#[test]
fn a_task_is_removed_by_its_id_or_by_any_of_its_handles() {
    let pool = ScheduledThreadPoolExecutor::new(0);
    let schedule = || pool.schedule(HOUR, || ()).unwrap();
    let (by_id, by_control, by_handle) = (schedule(), schedule(), schedule());
    let periodic = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    assert!(pool.remove(by_id.id()).is_some());
    assert!(pool.remove(&by_control.control()).is_some());
    assert!(pool.remove(&by_handle.into_handle()).is_some());
    assert!(
        pool.remove(&periodic)
            .is_some_and(|task| task.is_periodic())
    );
    assert!(pool.queue().is_empty());
    pool.close();
}

/// STP-042
#[test]
fn a_purge_drops_what_was_cancelled() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let tasks: Vec<_> = (0..5)
        .map(|_| pool.schedule(HOUR, || ()).unwrap())
        .collect();
    assert!(tasks[0].cancel() && tasks[3].cancel());
    assert_eq!(pool.stats().task_count, 5);
    assert_eq!(pool.purge(), 2);
    assert_eq!((pool.stats().task_count, pool.purge()), (3, 0));
    assert!(!holds(&pool, tasks[3].id()) && holds(&pool, tasks[4].id()));
    drop(pool.shutdown_now());
}

/// STP-043
/// DWQ-005
#[test]
fn a_cancelled_task_stays_queued_unless_it_is_to_be_removed() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let queued = || pool.queue().len();
    let kept = pool.schedule(HOUR, || ()).unwrap();
    assert!(kept.cancel());
    assert_eq!((queued(), pool.queued_tasks()[0].is_cancelled), (1, true));
    pool.set_remove_on_cancel(true);
    assert!(pool.removes_on_cancel());
    assert_eq!(
        queued(),
        1,
        "the policy is for what is cancelled from now on"
    );
    let gone = pool.schedule(HOUR, || ()).unwrap();
    let often = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    assert!(gone.cancel() && often.cancel());
    assert_eq!(queued(), 1);
    assert_eq!(pool.purge(), 1);
    assert_eq!((queued(), pool.stats().task_count), (0, 0));
    pool.close();
}

/// DWQ-005
#[test]
fn a_cancelled_task_leaves_the_queue_when_its_time_comes() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let task = pool.schedule(SECOND, || ()).unwrap();
    assert!(task.cancel());
    step(&clock);
    until("it has left", || pool.queue().is_empty());
    pool.close();
}

const MANY: usize = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

/// STP-044
/// DWQ-004
#[test]
fn scheduling_and_cancelling_for_ever_leaves_nothing_behind() {
    let (pool, drops) = (ScheduledThreadPoolExecutor::new(1), DropCounter::new());
    pool.set_remove_on_cancel(true);
    for _ in 0..MANY {
        let token = drops.token();
        let task = pool.schedule(HOUR, move || drop(token)).unwrap();
        assert!(task.cancel());
        assert_eq!(pool.queue().len(), 0);
    }
    assert_eq!(drops.count(), MANY);
    pool.close();
    let stats = pool.stats();
    assert_eq!((stats.task_count, stats.completed_task_count), (0, 0));
}

/// STP-045
/// DWQ-004
#[test]
fn cancelling_among_many_needs_no_search() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    pool.set_remove_on_cancel(true);
    let delay = |n: usize| HOUR + Duration::from_millis((n as u64 * 7_919) % 100_003);
    let tasks: Vec<_> = (0..MANY)
        .map(|n| pool.schedule(delay(n), || ()).unwrap())
        .collect();
    assert_eq!(pool.queue().len(), MANY);
    // With a search for each this would take minutes.
    within_patience("all are cancelled", move || {
        assert!(tasks.iter().rev().all(ScheduledHandle::cancel));
    });
    assert!(pool.queue().is_empty());
    pool.close();
}

/// STP-046
#[test]
fn a_cancel_during_a_run_lets_it_end_undisturbed_and_is_the_last() {
    let (clock, gate, log) = (TestClock::new(), Gate::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let (inside, notes) = (gate.clone(), log.clone());
    let mut task = pool
        .schedule_at_fixed_rate(Duration::ZERO, SECOND, move || {
            inside.pass_uninterruptibly();
            notes.record(interrupt::is_interrupted());
        })
        .unwrap();
    gate.await_waiting(1);
    assert!(task.cancel() && !task.cancel());
    assert!(task.get().unwrap_err().is_cancelled());
    gate.open();
    assert!(!log.next(), "not interrupted");
    await_idle(&pool, 1);
    clock.advance(HOUR);
    assert!(log.is_empty() && pool.queue().is_empty());
    pool.close();
}

/// STP-046
#[test]
fn a_cancel_now_interrupts_the_run() {
    let (gate, log) = (Gate::new(), Log::new());
    let pool = ScheduledThreadPoolExecutor::new(1);
    let (inside, notes) = (gate.clone(), log.clone());
    let task = pool
        .schedule_at_fixed_rate(Duration::ZERO, HOUR, move || {
            notes.record(inside.pass().is_err());
        })
        .unwrap();
    gate.await_waiting(1);
    assert!(task.cancel_now());
    assert!(log.next(), "interrupted");
    pool.close();
}

/// Holds what a task needs to know of itself.
type Itself = Arc<LinkedBlockingQueue<TaskControl>>;

/// STP-047
#[test]
fn a_task_may_cancel_itself() {
    let (clock, itself) = (TestClock::new(), Itself::default());
    let pool = pool_on(&clock, 1);
    let me = Arc::clone(&itself);
    let mut task = pool
        .schedule_at_fixed_rate(SECOND, SECOND, move || assert!(me.poll().unwrap().cancel()))
        .unwrap();
    itself.offer(task.control()).unwrap();
    step(&clock);
    let (task, outcome) = within_patience("the end", move || {
        let outcome = task.get();
        (task, outcome)
    });
    assert!(outcome.unwrap_err().is_cancelled());
    await_idle(&pool, 1);
    assert_eq!((task.runs(), pool.queue().len()), (1, 0));
    pool.close();
}

/// Ticks three times fast and twice slowly, and changes its pace from inside.
struct Tickler {
    pool: ScheduledThreadPoolExecutor,
    itself: Itself,
    ticks: AtomicUsize,
    log: Log<usize>,
}

impl Tickler {
    fn start(self: &Arc<Self>, every: Duration) {
        let me = Arc::clone(self);
        let task = self
            .pool
            .schedule_at_fixed_rate(every, every, move || me.tick());
        self.itself.offer(task.unwrap().control()).unwrap();
    }

    fn tick(self: &Arc<Self>) {
        let tick = self.ticks.fetch_add(1, Ordering::SeqCst) + 1;
        if tick == 3 || tick == 5 {
            assert!(self.itself.poll().unwrap().cancel());
        }
        if tick == 3 {
            self.start(SECOND * 10);
        }
        self.log.record(tick);
    }
}

/// STP-048
#[test]
fn a_task_may_cancel_and_schedule_itself_at_another_pace() {
    for removes in [false, true] {
        let clock = TestClock::new();
        let pool = pool_on(&clock, 1);
        pool.set_remove_on_cancel(removes);
        let ticklers = [(); 2].map(|()| {
            let tickler = Arc::new(Tickler {
                pool: pool.clone(),
                itself: Itself::default(),
                ticks: AtomicUsize::new(0),
                log: Log::new(),
            });
            tickler.start(SECOND);
            tickler
        });
        for time in [1, 1, 1, 10, 10] {
            assert_eq!(step(&clock), SECOND * time);
            for tickler in &ticklers {
                tickler.log.next();
            }
            await_idle(&pool, 1);
        }
        clock.advance(HOUR);
        await_idle(&pool, 1);
        let ticks = ticklers.map(|tickler| tickler.ticks.load(Ordering::SeqCst));
        assert_eq!((ticks, pool.queue().len()), ([5, 5], 0));
        pool.close();
    }
}

/// STP-049
#[test]
fn nothing_keeps_a_task_alive_that_was_cancelled_and_purged() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 10);
    pool.prestart_all_core_threads();
    let mut weak: Vec<Weak<()>> = Vec::new();
    // Each becomes the new head, on which a worker waits.
    let tasks: Vec<_> = (0..100)
        .rev()
        .map(|hour| {
            let captured = Arc::new(());
            weak.push(Arc::downgrade(&captured));
            let body = move || drop(Arc::clone(&captured));
            pool.schedule(HOUR * (hour + 1), body).unwrap()
        })
        .collect();
    await_wake_up_in(&clock, HOUR);
    assert!(weak.iter().all(|weak| weak.strong_count() == 1));
    assert!(tasks.iter().all(ScheduledHandle::cancel));
    assert_eq!(pool.purge(), 100);
    assert!(weak.iter().all(|weak| weak.strong_count() == 0));
    let controls: Vec<_> = tasks.iter().map(ScheduledHandle::control).collect();
    drop(tasks);
    assert!(controls.iter().all(TaskControl::is_cancelled));
    pool.close();
}

/// STP-049
#[test]
fn a_pool_that_is_gone_keeps_nothing_and_its_handles_know() {
    let captured = Arc::new(());
    let weak = Arc::downgrade(&captured);
    let pool = ScheduledThreadPoolExecutor::new(1);
    let often = pool
        .schedule_at_fixed_rate(HOUR, HOUR, move || drop(Arc::clone(&captured)))
        .unwrap();
    drop(pool);
    until("the task is gone", || weak.strong_count() == 0);
    assert!(often.is_cancelled());
}
