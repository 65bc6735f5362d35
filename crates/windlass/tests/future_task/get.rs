//! Waiting for a task, and looking at it without waiting.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::interrupt;
use windlass::task::{ExecutionError, Failure, FutureTask, Task, TaskState};
use windlass::testing::{Gate, Latch, PATIENCE, within_patience};

use super::{End, LONG, Probe};

/// Two getters, timed and untimed, and what they got once `complete` was called.
fn got_by_waiters(
    probe: &Probe,
    complete: impl FnOnce(&FutureTask<u32>),
) -> [Result<u32, ExecutionError>; 2] {
    let (clock, about_to_get) = (TestClock::new(), Latch::new(1));
    thread::scope(|scope| {
        let timed = scope.spawn(|| clock.enter(|| probe.task.get_timeout(LONG)));
        let untimed = scope.spawn(|| {
            about_to_get.count_down();
            probe.task.get()
        });
        about_to_get.wait();
        assert!(clock.await_sleepers(1, PATIENCE));
        complete(&probe.task);
        [timed.join().unwrap(), untimed.join().unwrap()]
    })
}

/// FT-013
#[test]
fn running_the_task_releases_all_waiting_getters_with_its_value() {
    let probe = Probe::seven();
    for got in got_by_waiters(&probe, FutureTask::run) {
        assert_eq!(got.unwrap(), 7);
    }
    assert_eq!(probe.runs.get(), 1);
    probe.assert_completed_as(&End::Value(7));
}

/// FT-014
#[test]
fn set_from_any_thread_releases_all_waiting_getters() {
    let probe = Probe::seven();
    for got in got_by_waiters(&probe, |task| assert!(task.complete(8))) {
        assert_eq!(got.unwrap(), 8);
    }
    assert_eq!(probe.runs.get(), 0);
    probe.assert_completed_as(&End::Value(8));
}

/// FT-014
#[test]
fn fail_releases_all_waiting_getters() {
    let probe = Probe::seven();
    let cause = Failure::from_error("no");
    for got in got_by_waiters(&probe, |task| assert!(task.fail(cause.clone()))) {
        assert_eq!(got.unwrap_err().into_failure().unwrap(), cause);
    }
    probe.assert_completed_as(&End::Failed(cause));
}

/// FT-017, FT-033
#[test]
fn a_failing_body_is_reported_by_every_get_with_one_and_the_same_cause() {
    let probe = Probe::of(|| panic_any(42_u64));
    let [timed, untimed] = got_by_waiters(&probe, FutureTask::run);
    let cause = timed.unwrap_err().into_failure().unwrap();
    assert_eq!(cause, untimed.unwrap_err().into_failure().unwrap());
    assert!(cause.is_panic());
    let payload = cause.with_payload(|payload| payload.downcast_ref::<u64>().copied());
    assert_eq!(payload, Some(Some(42)));
    probe.assert_completed_as(&End::Failed(cause));
}

/// FT-033
#[test]
fn a_look_at_the_cause_that_panics_does_not_lose_it() {
    let task = FutureTask::new(|| panic_any(42_u64));
    task.run();
    let cause = task.failure_now().unwrap();
    let look = cause.clone();
    let looked = thread::spawn(move || look.with_payload(|_| panic!("cannot bear to look")));
    assert!(looked.join().is_err());
    assert_eq!(
        cause.with_payload(|payload| payload.is::<u64>()),
        Some(true)
    );
}

/// Interrupts a get before it begins and again while it waits.
fn is_interruptible(get: impl Fn(&FutureTask<u32>) -> Result<u32, ExecutionError> + Sync) {
    let probe = Probe::seven();
    let (first, tell) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let getter = scope.spawn(|| {
            interrupt::current().interrupt();
            assert!(get(&probe.task).unwrap_err().is_interrupted());
            assert!(!interrupt::is_interrupted(), "reported, hence cleared");
            first.send(interrupt::current()).unwrap();
            assert!(get(&probe.task).unwrap_err().is_interrupted());
            assert!(!interrupt::is_interrupted(), "reported, hence cleared");
        });
        tell.recv().unwrap().interrupt();
        getter.join().unwrap();
    });
    probe.is_pending();
    probe.task.run();
    probe.assert_completed_as(&End::Value(7));
}

/// FT-018
#[test]
fn an_interrupt_before_or_during_get_ends_it_and_leaves_the_task_untouched() {
    is_interruptible(FutureTask::get);
}

/// FT-019
#[test]
fn an_interrupt_ends_get_timeout_in_the_same_way() {
    is_interruptible(|task| task.get_timeout(LONG));
    is_interruptible(|task| task.get_timeout(Duration::MAX));
}

/// FT-020
#[test]
fn get_timeout_waits_at_least_its_time_before_it_answers_timed_out() {
    let (probe, clock) = (Probe::seven(), TestClock::new());
    thread::scope(|scope| {
        let getter = scope.spawn(|| {
            clock.enter(|| {
                let got = probe.task.get_timeout(Duration::from_secs(10));
                (got, clock.elapsed())
            })
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(Duration::from_secs(9));
        assert_eq!(clock.next_wake_up(), Some(Duration::from_secs(1)));
        clock.advance(Duration::from_secs(1));
        let (got, elapsed) = getter.join().unwrap();
        assert!(got.unwrap_err().is_timed_out());
        assert_eq!(elapsed, Duration::from_secs(10));
    });
    probe.is_pending();
    probe.task.run();
    probe.assert_completed_as(&End::Value(7));
}

/// FT-021
#[test]
fn a_timeout_of_zero_is_over_at_once_for_many_getters() {
    let probe = Probe::seven();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let got = probe.task.get_timeout(Duration::ZERO);
                assert!(got.unwrap_err().is_timed_out());
            });
        }
    });
    probe.is_pending();
}

/// FT-021
#[test]
fn enormous_timeouts_neither_overflow_nor_end() {
    let probe = Probe::seven();
    let almost = Duration::MAX - Duration::from_nanos(1);
    let waiting = Latch::new(3);
    thread::scope(|scope| {
        let getters: Vec<_> = [Duration::MAX, almost, Duration::from_secs(u64::MAX / 4)]
            .into_iter()
            .map(|timeout| {
                let (probe, waiting) = (&probe, waiting.clone());
                scope.spawn(move || {
                    waiting.count_down();
                    probe.task.get_timeout(timeout)
                })
            })
            .collect();
        waiting.wait();
        probe.task.run();
        for getter in getters {
            assert_eq!(getter.join().unwrap().unwrap(), 7);
        }
    });
}

/// FT-025
#[test]
fn once_is_done_was_true_no_get_reports_an_interrupt_or_a_timeout() {
    const TASKS: usize = 1_000;
    let tasks: Vec<_> = (0..TASKS).map(|n| FutureTask::new(move || n)).collect();
    let observe = |timeout: Option<Duration>| {
        for (n, task) in tasks.iter().enumerate() {
            while !task.is_done() {
                thread::yield_now();
            }
            interrupt::current().interrupt();
            let got = match timeout {
                Some(timeout) => task.get_timeout(timeout),
                None => task.get(),
            };
            assert_eq!(got.unwrap(), n);
            assert!(
                interrupt::interrupted(),
                "a get that need not wait ate the flag"
            );
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| observe(None));
        scope.spawn(|| observe(Some(Duration::ZERO)));
        tasks.iter().for_each(FutureTask::run);
    });
}

/// FT-026
#[test]
fn after_is_done_even_a_zero_timeout_yields_the_outcome() {
    const TASKS: usize = 2_000;
    let tasks: Vec<_> = (0..TASKS).map(|_| FutureTask::new(|| 0)).collect();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for (n, task) in tasks.iter().enumerate() {
                    while !task.is_done() {
                        thread::yield_now();
                    }
                    match task.get_timeout(Duration::ZERO) {
                        Ok(value) => assert_eq!((value, n % 2), (n, 0)),
                        Err(error) => assert!(error.is_failed() && n % 2 == 1, "{error}"),
                    }
                }
            });
        }
        for (n, task) in tasks.iter().enumerate() {
            if n % 2 == 0 {
                assert!(task.complete(n));
            } else {
                assert!(task.fail(Failure::from_error("odd")));
            }
        }
    });
}

/// FT-027
#[test]
fn a_set_that_races_a_starting_getter_never_loses_the_wake_up() {
    const ROUNDS: usize = 10_000;
    let tasks: Arc<Vec<_>> = Arc::new((0..ROUNDS).map(|_| FutureTask::new(|| 0)).collect());
    let theirs = Arc::clone(&tasks);
    let round = Arc::new(AtomicUsize::new(0));
    let reached = Arc::clone(&round);
    let setter = thread::spawn(move || {
        for (n, task) in theirs.iter().enumerate() {
            while reached.load(Ordering::SeqCst) < n {
                thread::yield_now();
            }
            assert!(task.complete(n));
        }
    });
    within_patience("10,000 gets", move || {
        for (n, task) in tasks.iter().enumerate() {
            round.store(n, Ordering::SeqCst);
            assert_eq!(task.get().unwrap(), n);
        }
    });
    setter.join().unwrap();
}

/// FT-034
#[test]
fn a_body_that_fails_with_interrupted_has_failed_and_was_not_cancelled() {
    let task = FutureTask::new(|| {
        interrupt::current().interrupt();
        panic_any(interrupt::check().unwrap_err());
    });
    task.run();
    let failure = task.get().unwrap_err().into_failure().unwrap();
    let interrupted = failure.with_payload(|payload| payload.is::<interrupt::Interrupted>());
    assert_eq!(interrupted, Some(true));
    assert!(!task.is_cancelled());
    assert!(!interrupt::interrupted(), "the getter is not interrupted");
}

/// FT-034
#[test]
fn a_task_failed_with_the_error_interrupted_was_not_cancelled() {
    interrupt::current().interrupt();
    let error = interrupt::check().unwrap_err();
    let task = FutureTask::new(|| 0);
    assert!(task.fail(Failure::from_error(error)));
    let got = task.get().unwrap_err();
    assert!(got.is_failed() && !got.is_interrupted());
    assert!(
        std::error::Error::source(&got)
            .unwrap()
            .is::<interrupt::Interrupted>()
    );
}

/// FT-035
#[test]
fn a_task_that_waits_for_itself_gets_only_a_timeout() {
    let (clock, gate) = (TestClock::new(), Gate::new());
    let (send, receive) = std::sync::mpsc::channel::<FutureTask<bool>>();
    let task = FutureTask::new(move || {
        let me = receive.recv().unwrap();
        me.get_timeout(Duration::from_millis(20))
            .is_err_and(|error| error.is_timed_out())
    });
    send.send(task.clone()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            clock.enter(|| task.run());
            gate.open();
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(Duration::from_millis(20));
        gate.pass().unwrap();
    });
    assert!(task.get().unwrap());
}

/// FT-036
#[test]
fn the_printed_form_names_the_state_the_task_is_in() {
    let named = || Task::builder().name("report");
    let task = named().build_future_task(|| 7);
    let id = task.id().as_u64();
    let not_completed = format!("FutureTask[Not completed, task = report, id = {id}]");
    assert_eq!(format!("{task:?}"), not_completed);
    task.run();
    let completed = format!("FutureTask[Completed normally, id = {id}]");
    assert_eq!(format!("{task:?}"), completed);

    let failing = FutureTask::new(|| -> u32 { panic!("no paper") });
    failing.run();
    let id = failing.id().as_u64();
    let failed = format!("FutureTask[Completed exceptionally: panicked: no paper, id = {id}]");
    assert_eq!(format!("{failing:?}"), failed);

    let cancelled = FutureTask::new(|| 7);
    cancelled.cancel();
    let id = cancelled.id().as_u64();
    assert_eq!(
        format!("{cancelled:?}"),
        format!("FutureTask[Cancelled, id = {id}]")
    );

    let plain = FutureTask::new(|| 7);
    assert!(format!("{plain:?}").starts_with("FutureTask[Not completed, task = closure,"));
}

/// FT-037
#[test]
fn state_result_and_failure_can_be_inspected_without_blocking() {
    let (started, go) = (Gate::new(), Gate::new());
    let running = FutureTask::new({
        let (started, go) = (started.clone(), go.clone());
        move || {
            started.open();
            go.pass_uninterruptibly();
        }
    });
    thread::scope(|scope| {
        scope.spawn(|| running.run());
        started.pass().unwrap();
        interrupt::current().interrupt();
        assert_eq!(running.state(), TaskState::Running);
        assert!(running.result_now().is_none() && running.failure_now().is_none());
        assert!(interrupt::interrupted(), "looking does not clear the flag");
        go.open();
    });
    assert_eq!(running.state(), TaskState::Completed);
    assert!(running.result_now().is_some() && running.failure_now().is_none());

    let queued = FutureTask::new(|| 7);
    assert_eq!(queued.state(), TaskState::Queued);
    assert!(queued.result_now().is_none() && queued.failure_now().is_none());
    queued.cancel();
    assert_eq!(queued.state(), TaskState::Cancelled);
    assert!(queued.result_now().is_none() && queued.failure_now().is_none());

    let failed = FutureTask::new(|| -> u32 { panic!("no") });
    failed.run();
    assert_eq!(failed.state(), TaskState::Failed);
    assert!(failed.result_now().is_none());
    assert_eq!(failed.failure_now().unwrap().message(), Some("no"));
}
