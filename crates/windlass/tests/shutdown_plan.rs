//! What a shutdown plan promises: everything accepted is finished, handed back, or reported as running.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

#[path = "kit/threads.rs"]
mod threads;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use threads::Blockers;
use windlass::clock::TestClock;
use windlass::executors::{SerialExecutor, ThreadPerTaskExecutor};
use windlass::interrupt::{self, JoinHandle};
use windlass::prelude::*;
use windlass::shutdown::{PoolEnd, ShutdownPlan, ShutdownReport};
use windlass::testing::{Gate, ManualExecutor, join, until};
use windlass::{RejectedExecution, Task};

const SECOND: Duration = Duration::from_secs(1);

fn pool(name: &str, clock: &TestClock) -> ThreadPoolExecutor {
    let builder = ThreadPoolExecutor::builder().core_pool_size(1).name(name);
    clock.enter(|| builder.build()).unwrap()
}

/// A plan on a clock that stands still, on a thread of its own.
fn run_on(clock: &TestClock, plan: ShutdownPlan<'static>) -> JoinHandle<ShutdownReport> {
    let clock = clock.clone();
    interrupt::spawn(move || clock.enter(|| plan.run()))
}

fn ends(report: &ShutdownReport) -> Vec<PoolEnd> {
    report.pools.iter().map(|pool| pool.end).collect()
}

/// Waits until the plan sleeps on the clock, and lets that time pass.
fn pass(clock: &TestClock, time: Duration) {
    until("the plan that waits", || clock.next_wake_up() == Some(time));
    clock.advance(time);
}

/// A task that ends when it is interrupted.
fn sleeper(gate: &Gate) -> impl FnOnce() + Send + 'static {
    let gate = gate.clone();
    move || {
        let _ = gate.pass();
    }
}

/// WL-232
#[test]
fn a_pool_that_drains_in_time_has_finished_everything() {
    let (clock, blockers) = (TestClock::new(), Blockers::default());
    let pool = pool("web", &clock);
    drop(pool.submit(|| ()).unwrap().join());
    let handles = [(); 5].map(|()| pool.submit(blockers.body()).unwrap());
    let plan = run_on(&clock, ShutdownPlan::new().pool("web", pool.clone()));
    until("the end of the intake", || pool.is_shutdown());
    blockers.release();
    let report = join("the plan", plan);
    assert_eq!(ends(&report), [PoolEnd::Drained]);
    let web = &report.pools[0];
    assert_eq!((web.name.as_str(), web.finished), ("web", Some(5)));
    assert!(web.handed_back.is_empty() && web.still_running.is_empty());
    assert!(report.is_drained() && report.is_terminated());
    assert!(handles.iter().all(windlass::TaskHandle::is_done));
    assert_eq!(blockers.interrupted(), 0);
}

/// WL-232
#[test]
fn after_the_drain_tasks_are_interrupted_and_queued_ones_are_handed_back() {
    let (clock, gate) = (TestClock::new(), Gate::new());
    let pool = pool("db", &clock);
    pool.execute(sleeper(&gate)).unwrap();
    gate.await_waiting(1);
    let queued = [1, 2].map(|n| pool.submit(move || n).unwrap());
    let plan = ShutdownPlan::new().pool("db", pool).drain_for(10 * SECOND);
    let plan = run_on(&clock, plan);
    pass(&clock, 10 * SECOND);
    let report = join("the plan", plan);
    assert_eq!(ends(&report), [PoolEnd::Interrupted]);
    assert_eq!(report.took, 10 * SECOND);
    assert!(report.is_terminated() && !report.is_drained());
    assert_eq!(report.pools[0].finished, Some(1));
    for task in report.into_tasks() {
        task.run();
    }
    assert_eq!(queued.map(|handle| handle.join().unwrap()), [1, 2]);
}

/// WL-233
#[test]
fn a_task_that_ignores_the_interrupt_is_reported_with_its_thread_and_time() {
    let (clock, blockers) = (TestClock::new(), Blockers::default());
    let pool = pool("db", &clock);
    let stubborn = pool
        .task()
        .name("stubborn")
        .submit(blockers.body())
        .unwrap();
    blockers.await_started(1);
    clock.advance(7 * SECOND);
    let plan = ShutdownPlan::new().pool("db", pool.clone());
    let plan = run_on(&clock, plan.drain_for(10 * SECOND).wait_for(5 * SECOND));
    pass(&clock, 10 * SECOND);
    pass(&clock, 5 * SECOND);
    let report = join("the plan", plan);
    assert_eq!(ends(&report), [PoolEnd::StillRunning]);
    assert!(!report.is_terminated());
    let running = &report.pools[0].still_running;
    assert_eq!(running.len(), 1);
    assert_eq!(
        (running[0].id, running[0].name.as_deref()),
        (stubborn.id(), Some("stubborn"))
    );
    assert_eq!(running[0].thread.as_deref(), Some("db-thread-1"));
    let text = report.to_string();
    assert!(
        text.starts_with("db: still running after 15s, 0 finished, 0 handed back"),
        "{text}"
    );
    assert!(
        text.contains("still runs: stubborn (") && text.contains("on db-thread-1"),
        "{text}"
    );
    blockers.release();
    pool.close();
}

/// WL-234
#[test]
fn pools_end_in_order_and_later_ones_accept_tasks_meanwhile() {
    let clock = TestClock::new();
    let (web, db) = (pool("web", &clock), pool("db", &clock));
    let (gate, log) = (Gate::new(), channel());
    let (passes, theirs, entries) = (gate.clone(), db.clone(), log.0.clone());
    web.execute(move || {
        passes.pass_uninterruptibly();
        // The pool of the database is still open, though that of the web is shut down.
        let stored = theirs.submit(|| "stored").unwrap();
        entries.send(stored.join().unwrap()).unwrap();
    })
    .unwrap();
    let plan = ShutdownPlan::new()
        .pool("web", web.clone())
        .pool("db", db.clone());
    let plan = run_on(&clock, plan);
    until("the end of the first intake", || web.is_shutdown());
    assert!(!db.is_shutdown());
    gate.open();
    let report = join("the plan", plan);
    assert_eq!(ends(&report), [PoolEnd::Drained, PoolEnd::Drained]);
    assert_eq!(log.1.recv(), Ok("stored"));
}

/// WL-234
#[test]
fn a_task_that_submits_to_an_earlier_pool_gets_its_task_back() {
    let clock = TestClock::new();
    let (web, db) = (pool("web", &clock), pool("db", &clock));
    let (gate, log) = (Gate::new(), channel());
    let (passes, theirs) = (gate.clone(), web.clone());
    db.execute(move || {
        passes.pass_uninterruptibly();
        let rejected = theirs.submit(|| 1).unwrap_err();
        assert!(rejected.is_shutdown());
        let (task, handle) = rejected.into_parts();
        task.run();
        log.0.send(handle.join().unwrap()).unwrap();
    })
    .unwrap();
    let plan = ShutdownPlan::new().pool("web", web).pool("db", db.clone());
    let plan = run_on(&clock, plan);
    until("the end of the second intake", || db.is_shutdown());
    gate.open();
    assert!(join("the plan", plan).is_drained());
    assert_eq!(log.1.recv(), Ok(1));
}

/// WL-235
#[test]
fn an_interrupt_makes_the_plan_hurry_and_a_second_one_leave() {
    let (clock, gate, blockers) = (TestClock::new(), Gate::new(), Blockers::default());
    let (web, db) = (pool("web", &clock), pool("db", &clock));
    web.execute(blockers.body()).unwrap();
    db.execute(sleeper(&gate)).unwrap();
    blockers.await_started(1);
    gate.await_waiting(1);
    let (pending, report) = (channel(), channel());
    let plan = ShutdownPlan::new()
        .pool("web", web.clone())
        .pool("db", db.clone());
    let plan = plan.drain_for(10 * SECOND).wait_for(5 * SECOND);
    let on = clock.clone();
    let runner = interrupt::spawn(move || {
        report.0.send(on.enter(|| plan.run())).unwrap();
        pending.0.send(interrupt::interrupted()).unwrap();
    });
    until("the drain", || clock.next_wake_up() == Some(10 * SECOND));
    runner.interrupt();
    until("the wait after the interrupt", || {
        clock.next_wake_up() == Some(5 * SECOND)
    });
    assert!(!db.is_shutdown(), "it still waits for the first pool");
    runner.interrupt();
    let report = report.1.recv().unwrap();
    assert_eq!(report.took, Duration::ZERO, "no time has passed");
    assert_eq!(report.pools[0].end, PoolEnd::StillRunning);
    // The second pool was interrupted at once and not waited for.
    assert!(db.is_shutdown() && report.pools[1].end >= PoolEnd::Interrupted);
    assert_eq!(pending.1.recv(), Ok(true), "the interrupt is pending again");
    join("the plan", runner);
    blockers.release();
    web.close();
    db.close();
}

/// WL-235
#[test]
fn the_total_time_limits_all_pools_together() {
    let (clock, blockers) = (TestClock::new(), Blockers::default());
    let pools = [0, 1, 2].map(|number| pool(&number.to_string(), &clock));
    let mut plan = ShutdownPlan::new()
        .drain_for(10 * SECOND)
        .wait_for(5 * SECOND);
    for pool in &pools {
        pool.execute(blockers.body()).unwrap();
        plan = plan.pool("one of three", pool.clone());
    }
    blockers.await_started(3);
    let plan = run_on(&clock, plan.total(22 * SECOND));
    for wait in [10, 5, 7] {
        pass(&clock, wait * SECOND);
    }
    let report = join("the plan", plan);
    assert_eq!(report.took, 22 * SECOND);
    assert_eq!(ends(&report), [PoolEnd::StillRunning; 3]);
    blockers.release();
    pools.iter().for_each(ThreadPoolExecutor::close);
}

/// WL-236
#[test]
fn a_second_plan_finds_nothing_left_and_each_task_is_handed_back_once() {
    let (clock, gate) = (TestClock::new(), Gate::new());
    let pool = pool("db", &clock);
    pool.execute(sleeper(&gate)).unwrap();
    gate.await_waiting(1);
    let queued = pool.submit(|| 3).unwrap();
    let plan = || {
        ShutdownPlan::new()
            .pool("db", pool.clone())
            .drain_for(10 * SECOND)
    };
    let plans = [run_on(&clock, plan()), run_on(&clock, plan())];
    until("both plans", || clock.sleepers() == 2);
    clock.advance(10 * SECOND);
    let reports = plans.map(|plan| join("a plan", plan));
    let handed_back: usize = reports
        .iter()
        .map(|report| report.pools[0].handed_back.len())
        .sum();
    assert_eq!(handed_back, 1);
    drop(reports);
    assert!(
        queued.join().unwrap_err().is_cancelled(),
        "it was dropped with its report"
    );
    let third = clock.enter(|| plan().run());
    assert_eq!(ends(&third), [PoolEnd::AlreadyTerminated]);
    assert_eq!(
        (third.pools[0].finished, third.took),
        (Some(0), Duration::ZERO)
    );
    assert!(third.is_drained());
}

/// WL-236
#[test]
fn any_executor_can_be_part_of_a_plan() {
    let (threads, manual) = (ThreadPerTaskExecutor::new(), ManualExecutor::new());
    let fork_join = executors::work_stealing_pool_of(2).unwrap();
    let scheduled = executors::scheduled_thread_pool(1);
    let handle = manual.submit(|| 1).unwrap();
    drop(
        scheduled
            .schedule(Duration::from_secs(3600), || ())
            .unwrap(),
    );
    let report = ShutdownPlan::new()
        .pool("threads", &threads)
        .pool("fork-join", &fork_join)
        .pool("manual", &manual)
        .pool("scheduled", Arc::new(scheduled))
        .drain_for(Duration::ZERO)
        .run();
    assert!(report.is_terminated(), "{report}");
    assert_eq!(
        report.pools[2].handed_back.len() + usize::from(handle.is_done()),
        1
    );
    assert_eq!(
        report.pools[3].handed_back.len(),
        1,
        "the task of the timer"
    );
    assert_eq!(report.pools[0].finished, Some(0));
    assert_eq!(report.pools[2].finished, None, "it does not count");
}

/// WL-236
#[test]
fn an_executor_that_panics_does_not_keep_the_others_from_their_end() {
    struct Broken;
    impl Executor for Broken {
        fn execute_task(&self, _: Task) -> Result<(), RejectedExecution> {
            panic!("broken")
        }
    }
    impl ExecutorService for Broken {
        fn shutdown(&self) {
            panic!("broken")
        }
        fn shutdown_now(&self) -> Vec<Task> {
            panic!("broken")
        }
        fn is_shutdown(&self) -> bool {
            panic!("broken")
        }
        fn is_terminated(&self) -> bool {
            panic!("broken")
        }
        fn await_termination(&self, _: Duration) -> Result<bool, interrupt::Interrupted> {
            panic!("broken")
        }
    }
    let pool = executors::fixed_thread_pool(1).unwrap();
    let report = ShutdownPlan::new()
        .pool("broken", Broken)
        .pool("pool", &pool)
        .run();
    assert_eq!(ends(&report), [PoolEnd::StillRunning, PoolEnd::Drained]);
}

/// WL-501
#[test]
fn what_the_shutdown_cancels_is_in_the_report() {
    let (clock, blockers) = (TestClock::new(), Blockers::default());
    let pool = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    pool.set_run_delayed_after_shutdown(false);
    let periodic = pool.schedule_at_fixed_rate(SECOND, SECOND, || ()).unwrap();
    let [delayed, given_up] = [(); 2].map(|()| pool.schedule(SECOND, || ()).unwrap());
    let running = pool.submit(blockers.body()).unwrap();
    let queued = pool.submit(|| ()).unwrap();
    blockers.await_started(1);
    // Ended by its owner, not by the shutdown.
    assert!(given_up.cancel());
    let plan = run_on(&clock, ShutdownPlan::new().pool("timers", pool.clone()));
    until("the end of the intake", || pool.is_shutdown());
    blockers.release();
    let report = join("the plan", plan);
    let timers = &report.pools[0];
    assert_eq!((timers.finished, timers.cancelled), (Some(2), Some(2)));
    assert!(report.is_drained() && timers.handed_back.is_empty());
    let text = report.to_string();
    assert!(
        text.ends_with("2 finished, 0 handed back, 2 cancelled"),
        "{text}"
    );
    assert!(running.join().is_ok() && queued.join().is_ok());
    assert!(periodic.is_cancelled() && delayed.is_cancelled());
}

/// WL-501
#[test]
fn a_periodic_task_that_runs_at_the_shutdown_is_in_the_report() {
    let (clock, gate) = (TestClock::new(), Gate::new());
    let pool = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    let passes = gate.clone();
    let periodic = pool
        .schedule_at_fixed_rate(Duration::ZERO, SECOND, move || {
            passes.pass_uninterruptibly();
        })
        .unwrap();
    gate.await_waiting(1);
    let plan = run_on(&clock, ShutdownPlan::new().pool("timers", pool.clone()));
    until("the end of the intake", || pool.is_shutdown());
    gate.open();
    let report = join("the plan", plan);
    assert_eq!(report.pools[0].finished, Some(1), "its run");
    assert_eq!(report.pools[0].cancelled, Some(1));
    assert!(periodic.is_cancelled());
}

/// WL-501
#[test]
fn the_timers_of_a_fork_join_pool_are_in_the_report_and_time_limits_are_not() {
    let (clock, gate) = (TestClock::new(), Gate::new());
    let pool = clock.enter(|| ForkJoinPool::new(1)).unwrap();
    let periodic = pool.schedule_at_fixed_rate(SECOND, SECOND, || ()).unwrap();
    let delayed = pool.schedule(SECOND, || ()).unwrap();
    let limited = pool
        .submit_with_timeout(60 * SECOND, sleeper(&gate))
        .unwrap();
    gate.await_waiting(1);
    let queued = pool.submit(|| ()).unwrap();
    let plan = ShutdownPlan::new().pool("fork-join", pool.clone());
    let plan = run_on(&clock, plan.drain_for(Duration::ZERO));
    let report = join("the plan", plan);
    let end = &report.pools[0];
    assert_eq!(end.end, PoolEnd::Interrupted);
    assert_eq!((end.finished, end.cancelled), (Some(1), Some(2)));
    assert_eq!(end.handed_back.len(), 1);
    assert!(periodic.is_cancelled() && delayed.is_cancelled());
    assert!(limited.join().is_ok() && !queued.is_done());
}

/// WL-501
#[test]
fn what_an_executor_in_front_of_a_pool_has_queued_is_in_the_report() {
    let (clock, blockers) = (TestClock::new(), Blockers::default());
    let pool = pool("web", &clock);
    let serial = SerialExecutor::new(pool.clone());
    let first = serial.submit(blockers.body()).unwrap();
    let rest = [(); 3].map(|()| serial.submit(|| ()).unwrap());
    blockers.await_started(1);
    let plan = run_on(&clock, ShutdownPlan::new().pool("web", pool.clone()));
    until("the end of the intake", || pool.is_shutdown());
    blockers.release();
    let report = join("the plan", plan);
    assert_eq!(report.pools[0].cancelled, Some(3));
    assert!(first.join().is_ok());
    assert!(rest.iter().all(windlass::TaskHandle::is_cancelled));
}
