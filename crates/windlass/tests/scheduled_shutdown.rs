//! Delayed and periodic tasks of a pool that is shut down.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/time.rs"]
mod time;

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use time::{HOUR, Log, SECOND, await_wake_up_in, pool_on, step};
use windlass::clock::TestClock;
use windlass::error::{Cancellation, ExecutionError, RejectedExecution, RejectionReason};
use windlass::pool::{
    CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, RejectedExecutionHandler,
};
use windlass::scheduled::{Period, ScheduledHandle};
use windlass::testing::{Gate, PATIENCE, until};
use windlass::{ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit, interrupt};

fn ends(pool: &ScheduledThreadPoolExecutor) -> bool {
    pool.await_termination(PATIENCE).unwrap()
}

/// STP-060
#[test]
fn by_default_delayed_tasks_still_run_in_their_time() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    let mut tasks: Vec<_> = (0..5)
        .map(|n| pool.schedule(HOUR, move || n).unwrap())
        .collect();
    await_wake_up_in(&clock, HOUR);
    pool.shutdown();
    assert!(pool.is_shutdown() && pool.is_terminating());
    assert_eq!(pool.queue().len(), 5);
    assert!(tasks.iter().all(|task| !task.is_done()));
    await_wake_up_in(&clock, HOUR);
    clock.advance(HOUR);
    assert!(ends(&pool));
    let values: Vec<_> = tasks.iter_mut().map(|task| task.get().unwrap()).collect();
    assert_eq!(values, [0, 1, 2, 3, 4]);
    assert!(pool.queue().is_empty());
}

/// STP-061
#[test]
fn with_the_delayed_policy_off_a_shutdown_cancels_what_waits() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    pool.set_run_delayed_after_shutdown(false);
    assert!(!pool.runs_delayed_after_shutdown());
    let tasks: Vec<_> = (0..5)
        .map(|_| pool.schedule(HOUR, || ()).unwrap())
        .collect();
    assert_eq!(pool.queue().len(), 5);
    pool.shutdown();
    assert!(pool.queue().is_empty());
    assert!(tasks.iter().all(ScheduledHandle::is_cancelled));
    assert!(ends(&pool));
}

/// STP-062
#[test]
fn by_default_a_shutdown_cancels_periodic_tasks() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let rate = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    let delay = pool.schedule_with_fixed_delay(HOUR, HOUR, || ()).unwrap();
    pool.shutdown();
    assert!(rate.is_done() && rate.is_cancelled() && delay.is_cancelled());
    assert!(pool.queue().is_empty());
    assert!(ends(&pool));
}

/// Returns why the task was cancelled.
fn reason(mut task: ScheduledHandle<()>) -> Cancellation {
    match task.get() {
        Err(ExecutionError::Cancelled(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_shutdown_cancels_names_the_shutdown_and_what_a_drop_cancels_the_drop() {
    let end: [(fn(ScheduledThreadPoolExecutor), Cancellation); 2] = [
        (|pool| pool.shutdown(), Cancellation::Shutdown),
        (drop, Cancellation::PoolDropped),
    ];
    for (end, expected) in end {
        let pool = ScheduledThreadPoolExecutor::new(1);
        pool.set_run_delayed_after_shutdown(false);
        let delayed = pool.schedule(HOUR, || ()).unwrap();
        let periodic = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
        let requested = pool.schedule(HOUR, || ()).unwrap();
        assert!(requested.cancel());
        end(pool);
        assert_eq!(reason(delayed), expected);
        assert_eq!(reason(periodic), expected);
        assert_eq!(reason(requested), Cancellation::Requested);
    }
}

#[test]
fn a_periodic_task_that_runs_during_the_shutdown_names_the_shutdown() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let gate = Gate::new();
    let blocker = gate.clone();
    let task = pool
        .schedule_at_fixed_rate(Duration::ZERO, HOUR, move || blocker.pass_uninterruptibly())
        .unwrap();
    gate.await_waiting(1);
    pool.shutdown();
    gate.open();
    assert_eq!(reason(task), Cancellation::Shutdown);
    assert!(ends(&pool));
}

/// STP-063
#[test]
fn with_the_periodic_policy_on_repetition_outlives_the_shutdown() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    pool.set_continue_periodic_after_shutdown(true);
    assert!(pool.continues_periodic_after_shutdown());
    let notes = log.clone();
    let task = pool
        .schedule_at_fixed_rate(SECOND, SECOND, move || notes.record(()))
        .unwrap();
    pool.shutdown();
    for _ in 0..3 {
        step(&clock);
        log.next();
    }
    assert!(!task.is_done() && !pool.is_terminated());
    assert!(task.cancel());
    // It stays queued until its next time, since it is not removed on cancel.
    until("the pool has ended", || {
        clock.advance(SECOND);
        pool.is_terminated()
    });
    assert!(task.is_cancelled() && log.is_empty());
}

/// One wave of the matrix: what runs at once, what is delayed, what is periodic.
struct Wave {
    immediate: ScheduledHandle<()>,
    delayed: ScheduledHandle<()>,
    periodic: [ScheduledHandle<()>; 2],
}

/// A pool of four, with tasks that count themselves and wait at a gate.
struct Matrix {
    clock: TestClock,
    pool: ScheduledThreadPoolExecutor,
    ran: Arc<AtomicUsize>,
    gate: Gate,
}

const WORKERS: usize = 4;

impl Matrix {
    fn new((delayed, periodic, removes): (bool, bool, bool)) -> Self {
        let clock = TestClock::new();
        let pool = pool_on(&clock, WORKERS);
        pool.set_run_delayed_after_shutdown(delayed);
        pool.set_continue_periodic_after_shutdown(periodic);
        pool.set_remove_on_cancel(removes);
        Self {
            clock,
            pool,
            ran: Arc::default(),
            gate: Gate::new(),
        }
    }

    fn body(&self) -> impl Fn() + Send + 'static {
        let (ran, gate) = (Arc::clone(&self.ran), self.gate.clone());
        move || {
            ran.fetch_add(1, Ordering::SeqCst);
            gate.pass_uninterruptibly();
        }
    }

    /// Counts and waits in the first run, and fails in the second.
    fn periodic_body(&self) -> impl FnMut() + Send + 'static {
        let (body, mut is_first) = (self.body(), true);
        move || {
            assert!(is_first, "the second run");
            is_first = false;
            body();
        }
    }

    fn wave(&self, delay: Duration) -> Wave {
        let now = Duration::ZERO;
        let rate = self
            .pool
            .schedule_at_fixed_rate(now, SECOND, self.periodic_body());
        let pause = self
            .pool
            .schedule_with_fixed_delay(now, SECOND, self.periodic_body());
        Wave {
            immediate: self.pool.schedule(now, self.body()).unwrap(),
            delayed: self.pool.schedule(delay, self.body()).unwrap(),
            periodic: [rate.unwrap(), pause.unwrap()],
        }
    }

    /// Two waves, the first of which has the pool wedged; then the shutdown.
    fn two_waves_and_a_shutdown(&self) -> [Wave; 2] {
        let first = self.wave(Duration::ZERO);
        self.gate.await_waiting(WORKERS);
        assert!(self.pool.queue().is_empty());
        let delay = if self.pool.runs_delayed_after_shutdown() {
            Duration::ZERO
        } else {
            HOUR
        };
        let second = self.wave(delay);
        assert_eq!(self.pool.queue().len(), 4);
        self.pool.shutdown();
        assert!(self.pool.is_terminating());
        [first, second]
    }

    fn finish(&self) -> usize {
        self.gate.open();
        until("the pool has ended", || {
            self.clock.advance(SECOND);
            self.pool.is_terminated()
        });
        assert!(self.pool.queue().is_empty());
        self.ran.load(Ordering::SeqCst)
    }
}

/// STP-064
#[test]
fn every_combination_of_policies_runs_exactly_what_it_should() {
    for policies in (0..8).map(|n| (n & 1 == 0, n & 2 == 0, n & 4 == 0)) {
        let (delayed, periodic, _) = policies;
        let matrix = Matrix::new(policies);
        let [mut first, mut second] = matrix.two_waves_and_a_shutdown();

        assert!(!first.immediate.is_done() && !second.immediate.is_done());
        assert!(!first.delayed.is_done());
        assert_eq!(second.delayed.is_cancelled(), !delayed);
        assert!(first.periodic.iter().all(|task| !task.is_done()));
        assert!(
            second
                .periodic
                .iter()
                .all(|task| task.is_cancelled() != periodic)
        );

        let ran = matrix.finish();
        let expected = WORKERS + 1 + usize::from(delayed) + 2 * usize::from(periodic);
        assert_eq!(ran, expected, "{policies:?}");
        first.immediate.get().unwrap();
        first.delayed.get().unwrap();
        second.immediate.get().unwrap();
        assert_eq!(second.delayed.get().is_ok(), delayed);
        for task in first.periodic.iter_mut().chain(&mut second.periodic) {
            let error = task.get().unwrap_err();
            assert_eq!(error.is_failed(), periodic, "{policies:?}: {error}");
            assert_eq!(error.is_cancelled(), !periodic);
        }
    }
}

/// STP-064
#[test]
fn periodic_tasks_that_outlive_a_shutdown_end_with_their_cancel() {
    for policies in (0..4).map(|n| (n & 1 == 0, true, n & 2 == 0)) {
        let matrix = Matrix::new(policies);
        let [first, second] = matrix.two_waves_and_a_shutdown();
        let mut periodic = first.periodic.iter().chain(&second.periodic);
        assert!(
            periodic
                .clone()
                .all(|task| !task.is_done() && task.cancel())
        );
        let ran = matrix.finish();
        assert_eq!(ran, WORKERS + 1 + usize::from(policies.0), "{policies:?}");
        assert!(periodic.all(ScheduledHandle::is_cancelled));
    }
}

/// STP-065
#[test]
fn a_policy_that_is_turned_off_after_the_shutdown_takes_effect_at_once() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    pool.set_continue_periodic_after_shutdown(true);
    let once = pool.schedule(HOUR, || ()).unwrap();
    let often = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    pool.shutdown();
    assert!(!once.is_done() && !often.is_done());
    pool.set_continue_periodic_after_shutdown(false);
    assert!(!once.is_done() && often.is_cancelled());
    pool.set_run_delayed_after_shutdown(false);
    assert!(once.is_cancelled());
    assert!(ends(&pool));
}

/// STP-066
#[test]
fn a_periodic_run_under_way_ends_undisturbed_and_then_the_task_is_cancelled() {
    let (gate, log) = (Gate::new(), Log::new());
    let pool = ScheduledThreadPoolExecutor::new(1);
    let (inside, notes) = (gate.clone(), log.clone());
    let mut task = pool
        .schedule_at_fixed_rate(Duration::ZERO, Duration::from_nanos(1), move || {
            inside.pass_uninterruptibly();
            notes.record(interrupt::is_interrupted());
        })
        .unwrap();
    gate.await_waiting(1);
    pool.shutdown();
    assert!(!task.is_done());
    gate.open();
    assert!(ends(&pool));
    assert!(task.get().unwrap_err().is_cancelled());
    assert_eq!((task.runs(), log.next()), (1, false));
}

/// STP-067
#[test]
fn a_shutdown_throws_out_what_was_cancelled_before() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let task = pool.schedule(HOUR, || ()).unwrap();
    assert!(task.cancel());
    assert_eq!(pool.queue().len(), 1);
    pool.shutdown();
    assert!(pool.queue().is_empty());
    assert!(ends(&pool));
}

/// STP-068
#[test]
fn a_stop_hands_back_all_that_waits_unfinished() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let mut tasks: Vec<_> = (0..3)
        .map(|_| pool.schedule(HOUR, || ()).unwrap())
        .collect();
    tasks.extend((0..3).map(|_| pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap()));
    tasks.extend((0..3).map(|_| pool.schedule_with_fixed_delay(HOUR, HOUR, || ()).unwrap()));
    let drained = pool.shutdown_now();
    let mut ids: Vec<_> = drained.iter().map(windlass::Task::id).collect();
    ids.sort();
    let mut all: Vec<_> = tasks.iter().map(ScheduledHandle::id).collect();
    all.sort();
    assert_eq!(ids, all);
    assert!(pool.queue().is_empty());
    assert!(
        tasks
            .iter()
            .all(|task| !task.is_done() && !task.is_cancelled())
    );
    assert!(ends(&pool));
    drop(drained);
    for task in &mut tasks {
        let error = task.get().unwrap_err();
        assert!(matches!(
            error,
            ExecutionError::Cancelled(Cancellation::Drained)
        ));
    }
}

/// WL-060
#[test]
fn a_stop_hands_tasks_back_in_the_order_of_time() {
    let clock = TestClock::new();
    let pool = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    let (gate, theirs) = (Gate::new(), Gate::new());
    let (held, begun) = (gate.clone(), theirs.clone());
    pool.execute(move || {
        begun.open();
        let _ = held.pass();
    })
    .unwrap();
    theirs.pass().unwrap();
    // Enough of them to be kept by ranges of time, and several that are due together.
    let hour = |at: u32| at * 7_919 % 1_009 + 1;
    let schedule = |at| pool.schedule(HOUR * hour(at), || ()).unwrap().id();
    let mut expected: Vec<_> = (0..2_000).map(|at| (hour(at), at, schedule(at))).collect();
    expected.push((0, 0, pool.submit(|| ()).unwrap().id()));
    expected.sort_unstable();
    let drained = pool.shutdown_now();
    gate.open();
    let drained = drained.iter().map(windlass::Task::id);
    assert!(drained.eq(expected.into_iter().map(|(.., id)| id)));
    assert!(ends(&pool));
}

/// STP-069
#[test]
fn every_way_to_schedule_is_refused_after_a_shutdown() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    pool.shutdown();
    let fallible = || Ok::<_, std::fmt::Error>(());
    let period = Period::fixed_rate(SECOND);
    let refused = [
        pool.schedule(SECOND, || ()),
        pool.schedule(Duration::ZERO, || ()),
        pool.schedule_fallible(SECOND, fallible),
        pool.schedule_at(SystemTime::UNIX_EPOCH, || ()),
        pool.schedule_at_fixed_rate(SECOND, SECOND, || ()),
        pool.schedule_at_fixed_rate_fallible(SECOND, SECOND, fallible),
        pool.schedule_with_fixed_delay(SECOND, SECOND, || ()),
        pool.schedule_with_fixed_delay_fallible(SECOND, SECOND, fallible),
        pool.schedule_periodic(period.clone(), || ()),
        pool.schedule_periodic_fallible(period, fallible),
    ];
    let refused = refused
        .into_iter()
        .map(|way| way.map(drop).map_err(Into::into));
    let plain = [
        pool.execute(|| ()).map(drop),
        pool.submit(|| ()).map(drop).map_err(Into::into),
    ];
    for (way, answer) in refused.chain(plain).enumerate() {
        let refused: RejectedExecution = answer.unwrap_err();
        assert_eq!(refused.reason(), RejectionReason::Shutdown, "{way}");
    }
    assert_eq!(pool.stats().rejected_count, 12);
}

#[test]
fn a_refused_schedule_gives_task_and_handle_back() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    pool.shutdown();
    let refused = pool.schedule(HOUR, || 42).unwrap_err();
    let (task, mut handle) = refused.into_parts();
    assert_eq!((task.id(), handle.is_periodic()), (handle.id(), false));
    task.run();
    assert_eq!(handle.get().unwrap(), 42);

    let refused = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap_err();
    let (task, handle) = refused.into_parts();
    assert!(!handle.is_done() && handle.is_periodic());
    drop(task);
    assert_eq!(reason(handle), Cancellation::Rejected);
}

/// STP-070
#[test]
fn a_policy_that_drops_in_silence_leaves_no_handle_waiting() {
    let policies: [(Arc<dyn RejectedExecutionHandler>, _); 3] = [
        (Arc::new(DiscardPolicy), Cancellation::Discarded),
        (Arc::new(CallerRunsPolicy), Cancellation::Shutdown),
        (Arc::new(DiscardOldestPolicy), Cancellation::Shutdown),
    ];
    for (policy, expected) in policies {
        let pool = ScheduledThreadPoolExecutor::builder()
            .rejection_handler(policy)
            .build();
        pool.shutdown();
        let once = pool.schedule(HOUR, || ()).unwrap();
        let often = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
        assert_eq!([reason(once), reason(often)], [expected; 2]);
    }
}

/// STP-071
#[test]
fn a_shutdown_wakes_a_worker_that_sleeps_for_a_far_off_task() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 1);
    pool.set_run_delayed_after_shutdown(false);
    drop(pool.schedule(HOUR * 1_000, || ()).unwrap());
    await_wake_up_in(&clock, HOUR * 1_000);
    pool.shutdown();
    assert!(ends(&pool));
    assert_eq!(clock.elapsed(), Duration::ZERO);
}

/// A pool whose last handle is dropped still runs delayed tasks.
#[test]
fn a_dropped_pool_runs_its_delayed_tasks_and_cancels_its_periodic_ones() {
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let notes = log.clone();
    drop(pool.schedule(SECOND, move || notes.record("ran")).unwrap());
    let often = pool.schedule_at_fixed_rate(HOUR, HOUR, || ()).unwrap();
    drop(pool);
    assert!(often.is_cancelled());
    step(&clock);
    assert_eq!(log.next(), "ran");
}

/// The done-callbacks run while the tasks are cancelled. The first panic reaches the caller, after
/// everything was cancelled and the workers, which sleep, were told that nothing comes.
#[test]
fn done_callbacks_that_panic_do_not_keep_a_pool_from_terminating() {
    let clock = TestClock::new();
    let pool = pool_on(&clock, 2);
    let tasks: Vec<_> = (0..3)
        .map(|_| pool.schedule(HOUR, || ()).unwrap())
        .collect();
    for task in &tasks {
        task.on_done(|_| panic!("a done-callback"));
    }
    pool.shutdown();
    await_wake_up_in(&clock, HOUR);
    let caught = panic::catch_unwind(|| pool.set_run_delayed_after_shutdown(false));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"a done-callback"));
    let reasons: Vec<_> = tasks.iter().map(ScheduledHandle::cancellation).collect();
    assert_eq!(reasons, [Some(Cancellation::Shutdown); 3]);
    assert!(ends(&pool));
}
