//! What is called when a task is done, where, and how often.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use windlass::task::{Failure, FutureTask, TaskState};
use windlass::testing::{Gate, within_patience};

use super::{Count, End, Probe};

/// What completes a task in [`a_panicking_callback_reaches_whoever_completed_the_task`].
type Complete = fn(&FutureTask<u32>);

/// FT-022
#[test]
fn a_panicking_callback_reaches_whoever_completed_the_task() {
    let completions: [(Complete, TaskState); 5] = [
        (FutureTask::run, TaskState::Completed),
        (|task| assert!(task.complete(1)), TaskState::Completed),
        (
            |task| assert!(task.fail(Failure::from_error("no"))),
            TaskState::Failed,
        ),
        (|task| assert!(task.cancel()), TaskState::Cancelled),
        (|task| assert!(task.cancel_now()), TaskState::Cancelled),
    ];
    for (complete, end) in completions {
        let task = FutureTask::repeating(|| 7);
        task.on_done(|_| panic!("callback"));
        panics_with_callback(&task, complete);
        assert_eq!(task.state(), end);
    }
}

#[track_caller]
fn panics_with_callback(task: &FutureTask<u32>, complete: Complete) {
    let payload = catch_unwind(AssertUnwindSafe(|| complete(task))).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"callback"));
}

/// FT-022
#[test]
fn a_panicking_callback_reaches_whoever_ran_a_task_that_fails() {
    let completions: [Complete; 2] = [FutureTask::run, |task| {
        task.run_and_reset();
    }];
    for complete in completions {
        let task = FutureTask::repeating(|| -> u32 { panic!("body") });
        task.on_done(|_| panic!("callback"));
        panics_with_callback(&task, complete);
        assert_eq!(task.failure_now().unwrap().message(), Some("body"));
    }
}

/// FT-022
#[test]
fn a_task_is_usable_after_the_panic_of_its_callback() {
    let probe = Probe::seven();
    probe.task.on_done(|_| panic!("callback"));
    panics_with_callback(&probe.task, FutureTask::run);
    probe.assert_completed_as(&End::Value(7));
}

/// FT-022
#[test]
fn a_panicking_callback_keeps_neither_the_other_callbacks_nor_getters_from_their_turn() {
    let probe = Probe::seven();
    let calls = Count::default();
    for number in 0..4 {
        let calls = calls.clone();
        probe.task.on_done(move |_| {
            calls.up();
            assert!(number % 2 == 0, "odd callbacks panic");
        });
    }
    let getter = thread::spawn({
        let task = probe.task.clone();
        move || task.get()
    });
    assert!(catch_unwind(AssertUnwindSafe(|| probe.task.run())).is_err());
    assert_eq!(getter.join().unwrap().unwrap(), 7);
    assert_eq!(calls.get(), 4);
}

/// How often callbacks were told of each end.
#[derive(Debug, Clone, Default)]
struct Tally {
    completed: Count,
    failed: Count,
    cancelled: Count,
}

impl Tally {
    fn watch(&self, task: &FutureTask<u32>) {
        let tally = self.clone();
        task.on_done(move |end| {
            match end {
                TaskState::Completed => tally.completed.up(),
                TaskState::Failed => tally.failed.up(),
                TaskState::Cancelled => tally.cancelled.up(),
                other => panic!("told of {other:?}"),
            };
        });
    }

    fn counts(&self) -> [usize; 3] {
        [&self.completed, &self.failed, &self.cancelled].map(Count::get)
    }
}

/// FT-024
#[test]
fn completion_callbacks_fire_exactly_as_often_as_the_tasks_life_demands() {
    let (tally, cause) = (Tally::default(), || Failure::from_error("no"));

    let run = FutureTask::repeating(|| 7);
    tally.watch(&run);
    run.run();
    run.run();
    assert_eq!(tally.counts(), [1, 0, 0]);

    let cancelled = FutureTask::repeating(|| 7);
    tally.watch(&cancelled);
    assert!(cancelled.cancel() && !cancelled.cancel());
    assert_eq!(tally.counts(), [1, 0, 1]);

    let failing = FutureTask::repeating(|| panic!("body"));
    tally.watch(&failing);
    failing.run();
    assert!(!failing.fail(cause()));
    assert_eq!(tally.counts(), [1, 1, 1]);

    let set = FutureTask::repeating(|| 7);
    tally.watch(&set);
    assert!(set.complete(1) && !set.complete(2) && !set.fail(cause()));
    assert_eq!(tally.counts(), [2, 1, 1]);

    let failed = FutureTask::repeating(|| 7);
    tally.watch(&failed);
    assert!(failed.fail(cause()) && !failed.complete(1) && !failed.fail(cause()));
    failed.run();
    assert_eq!(tally.counts(), [2, 2, 1]);
}

/// FT-024
#[test]
fn run_and_reset_calls_no_callback_until_the_task_ends() {
    let (tally, task) = (Tally::default(), FutureTask::repeating(|| 7));
    tally.watch(&task);
    assert!(task.run_and_reset() && task.run_and_reset());
    assert_eq!(tally.counts(), [0, 0, 0]);
    assert!(
        task.get_timeout(std::time::Duration::ZERO)
            .unwrap_err()
            .is_timed_out()
    );
    task.run();
    assert_eq!(tally.counts(), [1, 0, 0]);
}

/// FT-029
#[test]
fn the_callback_runs_on_the_completing_thread_after_waiters_are_released() {
    let (callback_may_end, task) = (Gate::new(), FutureTask::new(|| 7));
    let (tell, told) = mpsc::channel();
    task.on_done({
        let (gate, task) = (callback_may_end.clone(), task.clone());
        move |end| {
            assert!(task.is_done());
            tell.send((end, thread::current().id())).unwrap();
            gate.pass().unwrap();
        }
    });
    thread::scope(|scope| {
        let runner = scope.spawn(|| task.run());
        callback_may_end.await_waiting(1);
        assert_eq!(task.get().unwrap(), 7, "got while the callback runs");
        let (end, thread) = told.recv().unwrap();
        assert_eq!(end, TaskState::Completed);
        assert_eq!(thread, runner.thread().id());
        callback_may_end.open();
        runner.join().unwrap();
    });
}

/// FT-029
#[test]
fn a_getter_that_waits_is_released_before_the_callback_ends() {
    let (callback_may_end, task) = (Gate::new(), FutureTask::new(|| 7));
    let gate = callback_may_end.clone();
    task.on_done(move |_| gate.pass().unwrap());
    thread::scope(|scope| {
        let getter = scope.spawn(|| task.get());
        scope.spawn(|| task.run());
        assert_eq!(getter.join().unwrap().unwrap(), 7);
        callback_may_end.open();
    });
}

/// FT-029
#[test]
fn the_callback_of_a_cancelled_task_runs_on_the_canceller() {
    let (started, go) = (Gate::new(), Gate::new());
    let task = FutureTask::new({
        let (started, go) = (started.clone(), go.clone());
        move || {
            started.open();
            go.pass_uninterruptibly();
        }
    });
    let (tell, told) = mpsc::channel();
    task.on_done(move |end| tell.send((end, thread::current().id())).unwrap());
    thread::scope(|scope| {
        scope.spawn(|| task.run());
        started.pass().unwrap();
        assert!(task.cancel());
        let expected = (TaskState::Cancelled, thread::current().id());
        assert_eq!(told.try_recv(), Ok(expected));
        go.open();
    });
}

/// FT-029
#[test]
fn a_callback_that_was_there_first_is_called_by_the_completing_thread_alone() {
    const ROUNDS: usize = 3_000;
    within_patience("races of completion and registration", || {
        for _ in 0..ROUNDS {
            let task = FutureTask::new(|| 7);
            let (tell, told) = mpsc::channel();
            task.on_done(move |_| tell.send(thread::current().id()).unwrap());
            thread::scope(|scope| {
                let runner = scope.spawn(|| task.run());
                task.on_done(|_| ());
                assert_eq!(told.recv().unwrap(), runner.thread().id());
            });
        }
    });
}
