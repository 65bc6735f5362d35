//! Cancelling a task before, during and after its run.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use windlass::interrupt;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
use windlass::task::{ExecutionError, FutureTask, TaskState};
use windlass::testing::{Gate, within_patience};

use super::{Count, End, Probe};

/// FT-007
#[test]
fn cancel_before_the_run_keeps_the_body_from_ever_running() {
    let probe = Probe::seven();
    assert!(probe.task.cancel());
    probe.task.run();
    assert_eq!(probe.runs.get(), 0);
    probe.assert_completed_as(&End::Cancelled);
}

/// FT-008
#[test]
fn cancel_now_before_the_run_does_the_same_and_interrupts_nobody() {
    let probe = Probe::seven();
    assert!(probe.task.cancel_now());
    probe.task.run();
    assert_eq!(probe.runs.get(), 0);
    assert!(!interrupt::interrupted());
    probe.assert_completed_as(&End::Cancelled);
}

/// FT-009
#[test]
fn cancelling_a_completed_task_is_refused_and_keeps_its_value() {
    for cancel in [FutureTask::cancel, FutureTask::cancel_now] {
        let probe = Probe::seven();
        probe.task.run();
        assert!(!cancel(&probe.task));
        assert!(!interrupt::interrupted());
        probe.assert_completed_as(&End::Value(7));
    }
}

/// A task that waits at `held` until interrupted, then at `go`, and then ends in this way.
fn interruptible(held: &Gate, go: &Gate, end: impl Fn() -> u32 + Send + 'static) -> Probe {
    let (held, go) = (held.clone(), go.clone());
    Probe::of(move || {
        let waited = held.pass();
        assert!(waited.is_err(), "cancelled, but not interrupted");
        go.pass_uninterruptibly();
        end()
    })
}

/// FT-010
#[test]
fn cancel_now_interrupts_the_runner_and_completes_the_task_before_the_body_ends() {
    let (held, go) = (Gate::new(), Gate::new());
    let probe = interruptible(&held, &go, || 7);
    thread::scope(|scope| {
        let runner = scope.spawn(|| probe.task.run());
        held.await_waiting(1);
        assert!(probe.task.cancel_now());
        go.await_waiting(1);
        probe.assert_completed_as(&End::Cancelled);
        go.open();
        runner.join().unwrap();
    });
    assert_eq!(probe.runs.get(), 1);
    probe.assert_completed_as(&End::Cancelled);
}

/// FT-011
#[test]
fn a_failure_after_cancel_now_is_discarded_and_the_task_stays_cancelled() {
    let (held, go) = (Gate::new(), Gate::new());
    let probe = interruptible(&held, &go, || panic!("interrupted"));
    thread::scope(|scope| {
        let runner = scope.spawn(|| probe.task.run());
        held.await_waiting(1);
        assert!(probe.task.cancel_now());
        go.open();
        runner.join().unwrap();
    });
    probe.assert_completed_as(&End::Cancelled);
    assert!(probe.task.failure_now().is_none());
}

/// FT-012
#[test]
fn cancel_never_interrupts_a_body_that_is_running() {
    let (held, after) = (Gate::new(), Count::default());
    let probe = Probe::of({
        let (held, after) = (held.clone(), after.clone());
        move || {
            held.pass().expect("not interrupted");
            assert!(!interrupt::is_interrupted());
            after.up();
            7
        }
    });
    thread::scope(|scope| {
        let runner = scope.spawn(|| probe.task.run());
        held.await_waiting(1);
        assert!(probe.task.cancel());
        held.open();
        runner.join().unwrap();
    });
    assert_eq!(after.get(), 1, "the body ran to its end");
    probe.assert_completed_as(&End::Cancelled);
}

/// FT-015
#[test]
fn cancelling_releases_waiting_getters_while_the_body_still_runs() {
    for cancel in [FutureTask::cancel, FutureTask::cancel_now] {
        let (started, go) = (Gate::new(), Gate::new());
        let probe = Probe::of({
            let (started, go) = (started.clone(), go.clone());
            move || {
                started.open();
                go.pass_uninterruptibly();
                7
            }
        });
        thread::scope(|scope| {
            scope.spawn(|| probe.task.run());
            started.pass().unwrap();
            let timed = scope.spawn(|| probe.task.get_timeout(super::LONG));
            let untimed = scope.spawn(|| probe.task.get());
            assert!(cancel(&probe.task));
            assert!(timed.join().unwrap().unwrap_err().is_cancelled());
            assert!(untimed.join().unwrap().unwrap_err().is_cancelled());
            // The body still runs: it comes to this gate, whether it was there before the cancel or not.
            go.await_waiting(1);
            go.open();
        });
        probe.assert_completed_as(&End::Cancelled);
    }
}

/// FT-028
#[test]
fn cancel_now_promptly_stops_bodies_that_loop_on_interruptible_waits() {
    const TASKS: u32 = 5;
    let (queue, running) = (Arc::new(LinkedBlockingQueue::<bool>::new()), Gate::new());
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| {
            let (queue, running) = (Arc::clone(&queue), running.clone());
            FutureTask::new(move || {
                running.pass().unwrap();
                while queue.take().is_ok_and(|stop| !stop) {}
                number
            })
        })
        .collect();
    thread::scope(|scope| {
        let runners: Vec<_> = tasks
            .iter()
            .map(|task| scope.spawn(|| task.run()))
            .collect();
        running.await_waiting(TASKS as usize);
        running.open();
        for task in &tasks[1..] {
            assert!(task.cancel_now());
        }
        for runner in runners.into_iter().skip(1) {
            runner.join().unwrap();
        }
        queue.put(true).unwrap();
    });
    assert_eq!(tasks[0].get().unwrap(), 0);
    assert!(tasks[1..].iter().all(FutureTask::is_cancelled));
}

/// FT-031
#[test]
fn a_task_that_cancels_itself_leaves_its_thread_flagged() {
    within_patience("self-cancelling task", || {
        let slot = Arc::new(OnceLock::<FutureTask<()>>::new());
        let theirs = Arc::clone(&slot);
        let task = slot
            .get_or_init(|| FutureTask::new(move || assert!(theirs.get().unwrap().cancel_now())));
        task.run();
        assert!(task.is_cancelled());
        assert!(interrupt::interrupted());
    });
}

/// Waits until the counter has come to this number.
fn await_round(counter: &AtomicUsize, round: usize) {
    while counter.load(Ordering::SeqCst) < round {
        thread::yield_now();
    }
}

/// What the two sides of a race tell each other: the number of the round they have come to.
#[derive(Default)]
struct Race {
    body_runs: AtomicUsize,
    canceller_is_here: AtomicUsize,
    cancelled: AtomicUsize,
}

impl Race {
    /// A task whose body ends at about the time at which it is cancelled.
    fn task(self: &Arc<Self>, round: usize) -> FutureTask<()> {
        let race = Arc::clone(self);
        FutureTask::new(move || {
            race.body_runs.store(round, Ordering::SeqCst);
            await_round(&race.canceller_is_here, round);
            (0..round % 16).for_each(|_| spin_loop());
        })
    }

    fn cancel(&self, task: &FutureTask<()>, round: usize) {
        await_round(&self.body_runs, round);
        self.canceller_is_here.store(round, Ordering::SeqCst);
        (0..round / 16 % 16).for_each(|_| spin_loop());
        task.cancel_now();
        self.cancelled.store(round, Ordering::SeqCst);
    }
}

/// FT-031
#[test]
fn the_interrupt_of_cancel_now_never_strikes_after_run_has_returned() {
    const ROUNDS: usize = 20_000;
    let (interrupted, late) = within_patience("20,000 races", || {
        let race = Arc::new(Race::default());
        let tasks: Vec<_> = (1..=ROUNDS).map(|round| race.task(round)).collect();
        thread::scope(|scope| {
            scope.spawn(|| (1..).zip(&tasks).for_each(|(n, task)| race.cancel(task, n)));
            let (mut interrupted, mut late) = (0, 0);
            for (round, task) in (1..).zip(&tasks) {
                task.run();
                interrupted += usize::from(interrupt::interrupted());
                // From here on, whatever the canceller still does must not be felt.
                await_round(&race.cancelled, round);
                late += usize::from(interrupt::interrupted());
            }
            (interrupted, late)
        })
    });
    println!("{interrupted} of {ROUNDS} runs were interrupted, {late} too late");
    assert_eq!(late, 0);
}

/// FT-031
#[test]
fn the_interrupt_of_cancel_now_never_reaches_a_later_round_of_a_repeating_task() {
    const ROUNDS: usize = 2_000;
    within_patience("races with run_and_reset", || {
        for _ in 0..ROUNDS {
            let task = FutureTask::repeating(|| ());
            thread::scope(|scope| {
                scope.spawn(|| task.cancel_now());
                while task.run_and_reset() {}
                let _ = interrupt::interrupted();
            });
            assert!(!interrupt::interrupted());
            assert!(task.is_cancelled());
        }
    });
}

/// FT-009
#[test]
fn a_cancel_that_comes_too_late_finds_the_task_done() {
    const ROUNDS: usize = 10_000;
    within_patience("races of set and cancel", || {
        for _ in 0..ROUNDS {
            let task = FutureTask::new(|| 7);
            thread::scope(|scope| {
                scope.spawn(|| task.complete(8));
                if !task.cancel() {
                    assert!(task.is_done());
                }
            });
        }
    });
}

/// FT-010
#[test]
fn a_cancelled_task_says_so_and_who_asked_for_it() {
    let task = FutureTask::new(|| 7);
    assert!(task.cancel());
    assert_eq!(task.state(), TaskState::Cancelled);
    assert!(matches!(
        task.get(),
        Err(ExecutionError::Cancelled(
            windlass::task::Cancellation::Requested
        ))
    ));
}
