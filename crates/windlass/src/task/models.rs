//! Models of the races that the state word of a task decides, and of what its transitions publish.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::{Cancellation, ExecutionError, FutureTask, Task, TaskHandle};
use crate::interrupt;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{UnsafeCell, model, thread};

fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().spawn(body).unwrap()
}

/// A waker that counts its wakes.
struct Counting(AtomicU32);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

fn poll<T: Send + 'static>(
    handle: &mut TaskHandle<T>,
    counting: &Arc<Counting>,
) -> Poll<Result<T, ExecutionError>> {
    let waker = Waker::from(Arc::clone(counting));
    std::pin::Pin::new(handle).poll(&mut Context::from_waker(&waker))
}

/// FT-013
#[test]
fn a_getter_is_released_by_the_run_whenever_it_comes() {
    model(|| {
        let (task, mut handle) = Task::with_handle(|| 7);
        let runner = spawn(move || task.run());
        assert_eq!(handle.get().unwrap(), 7);
        runner.join().unwrap();
    });
}

/// FT-013
#[test]
fn two_getters_are_released_by_one_run() {
    model(|| {
        let (task, handle) = Task::with_handle(|| 7);
        let first = handle.share();
        let other = first.clone();
        let getter = spawn(move || other.get().unwrap());
        let runner = spawn(move || task.run());
        assert_eq!(first.get().unwrap(), 7);
        assert_eq!(getter.join().unwrap(), 7);
        runner.join().unwrap();
    });
}

/// FT-026
#[test]
fn a_timed_getter_of_a_task_that_is_done_never_times_out() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let theirs = task.clone();
        let runner = spawn(move || theirs.run());
        let was_done = task.is_done();
        match task.get_timeout(Duration::from_secs(1)) {
            Ok(value) => assert_eq!(value, 7),
            Err(error) => assert!(error.is_timed_out() && !was_done),
        }
        runner.join().unwrap();
        assert_eq!(task.get_timeout(Duration::ZERO).unwrap(), 7);
    });
}

/// FT-006, FT-009
#[test]
fn a_task_runs_to_its_end_or_is_cancelled_never_both() {
    model(|| {
        let (task, mut handle) = Task::with_handle(|| 7);
        let control = handle.control();
        let canceller = spawn(move || control.cancel());
        task.run();
        let cancelled = canceller.join().unwrap();
        assert_eq!(cancelled, handle.is_cancelled());
        assert_eq!(cancelled, handle.get().is_err());
    });
}

/// FT-031
#[test]
fn the_interrupt_of_cancel_now_never_lands_after_run_has_returned() {
    model(|| {
        let (task, handle) = Task::with_handle(|| ());
        let canceller = spawn(move || handle.cancel_now());
        task.run();
        let _ = interrupt::interrupted();
        canceller.join().unwrap();
        assert!(!interrupt::interrupted(), "an interrupt came late");
    });
}

/// FT-010
#[test]
fn cancel_now_ends_the_wait_of_a_body_that_runs() {
    model(|| {
        let (task, mut handle) = Task::with_handle(|| while interrupt::park().is_ok() {});
        let runner = spawn(move || task.run());
        assert!(handle.cancel_now());
        assert!(handle.get().unwrap_err().is_cancelled());
        runner.join().unwrap();
    });
}

/// FT-015
#[test]
fn cancelling_releases_a_getter_whenever_it_comes() {
    model(|| {
        let task = FutureTask::new(|| ());
        let theirs = task.clone();
        let canceller = spawn(move || assert!(theirs.cancel_now()));
        assert!(task.get().unwrap_err().is_cancelled());
        canceller.join().unwrap();
    });
}

/// FT-010
#[test]
fn cancel_now_interrupts_a_body_that_has_started_exactly_once() {
    model(|| {
        let (task, handle) = Task::with_handle(interrupt::interrupted);
        let started = Arc::new(AtomicU32::new(0));
        let (count, control) = (Arc::clone(&started), handle.control());
        let canceller = spawn(move || {
            let running = control.state() == super::TaskState::Running;
            let cancelled = control.cancel_now();
            count.store(u32::from(running && cancelled), Ordering::Release);
        });
        task.run();
        let flagged = interrupt::interrupted();
        canceller.join().unwrap();
        assert!(!interrupt::interrupted());
        if !handle.is_cancelled() {
            assert!(!flagged && started.load(Ordering::Acquire) == 0);
        }
    });
}

/// FT-027
#[test]
fn a_completion_from_outside_releases_a_getter_whenever_it_comes() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let theirs = task.clone();
        let completer = spawn(move || theirs.complete(8));
        assert_eq!(task.get().unwrap(), 8);
        assert!(completer.join().unwrap());
    });
}

/// FT-006
#[test]
fn of_complete_and_run_one_wins_and_both_leave_the_task_done() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let theirs = task.clone();
        let completer = spawn(move || {
            let set = theirs.complete(8);
            assert!(theirs.is_done());
            set
        });
        task.run();
        let set = completer.join().unwrap();
        assert_eq!(task.get().unwrap(), if set { 8 } else { 7 });
    });
}

/// FT-006, FT-009
#[test]
fn a_cancel_that_loses_to_a_completion_finds_the_task_done() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let theirs = task.clone();
        let completer = spawn(move || theirs.complete(8));
        let cancelled = task.cancel();
        assert!(task.is_done());
        assert_ne!(completer.join().unwrap(), cancelled);
        assert_eq!(task.get().is_err(), cancelled);
    });
}

#[test]
fn a_getter_never_waits_for_a_task_that_is_dropped() {
    model(|| {
        let (task, mut handle) = Task::with_handle(|| 7);
        let dropper = spawn(move || task.abandon(Cancellation::Drained));
        let got = handle.get();
        assert!(matches!(
            got,
            Err(ExecutionError::Cancelled(Cancellation::Drained))
        ));
        dropper.join().unwrap();
    });
}

/// WL-050
#[test]
fn a_half_that_is_dropped_leaves_the_task_to_the_others_who_can_run_it() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let half = task.task();
        let dropper = spawn(move || drop(half));
        task.run();
        dropper.join().unwrap();
        assert_eq!(task.get().unwrap(), 7);
    });
}

/// WL-051
#[test]
fn a_getter_never_waits_for_a_task_that_nobody_can_run_any_more() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let (half, handle) = (task.task(), task.handle());
        let dropper = spawn(move || drop(half));
        drop(task);
        assert!(handle.get().unwrap_err().is_cancelled());
        dropper.join().unwrap();
    });
}

/// WL-050
#[test]
fn a_task_that_is_dropped_is_cancelled_or_runs_to_its_end_never_both() {
    model(|| {
        let runs = Arc::new(AtomicU32::new(0));
        let ran = Arc::clone(&runs);
        let (task, mut handle) = Task::with_handle(move || ran.fetch_add(1, Ordering::Relaxed));
        let dropper = spawn(move || drop(task));
        let _ = handle.run_here();
        dropper.join().unwrap();
        let ran = runs.load(Ordering::Relaxed) == 1;
        assert_eq!(handle.get().is_ok(), ran);
    });
}

#[test]
fn a_waker_registered_by_a_poll_that_found_nothing_is_woken() {
    model(|| {
        let (task, mut handle) = Task::with_handle(|| 7);
        let counting = Arc::new(Counting(AtomicU32::new(0)));
        let runner = spawn(move || task.run());
        let polled = poll(&mut handle, &counting);
        runner.join().unwrap();
        match polled {
            Poll::Ready(got) => assert_eq!(got.unwrap(), 7),
            Poll::Pending => {
                assert_eq!(counting.0.load(Ordering::Acquire), 1);
                assert!(matches!(poll(&mut handle, &counting), Poll::Ready(Ok(7))));
            }
        }
        assert_eq!(Arc::strong_count(&counting), 1, "no waker is left behind");
    });
}

#[test]
fn a_waker_in_the_place_of_another_is_woken() {
    model(|| {
        let (task, mut handle) = Task::with_handle(|| 7);
        let (first, second) = (
            Arc::new(Counting(AtomicU32::new(0))),
            Arc::new(Counting(AtomicU32::new(0))),
        );
        assert!(poll(&mut handle, &first).is_pending());
        let runner = spawn(move || task.run());
        let pending = poll(&mut handle, &second).is_pending();
        runner.join().unwrap();
        // A poll that finds the task done may still be woken.
        assert!(second.0.load(Ordering::Acquire) == 1 || !pending);
    });
}

/// FT-024
#[test]
fn a_callback_registered_at_the_end_is_called_exactly_once() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let (theirs, calls) = (task.clone(), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&calls);
        let runner = spawn(move || theirs.run());
        task.on_done(move |_| {
            counted.fetch_add(1, Ordering::AcqRel);
        });
        runner.join().unwrap();
        assert_eq!(calls.load(Ordering::Acquire), 1);
    });
}

/// FT-029
#[test]
fn a_callback_that_was_there_is_never_called_by_another_that_comes() {
    model(|| {
        let task = FutureTask::new(|| 7);
        let registrar = interrupt::current();
        let called_here = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&called_here);
        task.on_done(move |_| {
            // The interrupt flag tells the threads apart: only the registrar's is set.
            seen.store(
                1 + u32::from(interrupt::is_interrupted()),
                Ordering::Release,
            );
        });
        let theirs = task.clone();
        let runner = spawn(move || theirs.run());
        registrar.interrupt();
        task.on_done(|_| ());
        assert!(interrupt::interrupted());
        runner.join().unwrap();
        assert_eq!(called_here.load(Ordering::Acquire), 1);
    });
}

/// FT-031
#[test]
fn the_interrupt_of_cancel_now_never_lands_after_run_and_reset_has_returned() {
    model(|| {
        let task = FutureTask::repeating(|| ());
        let theirs = task.clone();
        let canceller = spawn(move || assert!(theirs.cancel_now()));
        task.run_and_reset();
        let _ = interrupt::interrupted();
        canceller.join().unwrap();
        assert!(!interrupt::interrupted(), "an interrupt came late");
    });
}

/// FT-031
#[test]
fn the_interrupt_of_cancel_now_never_reaches_the_runner_of_an_earlier_round() {
    model(|| {
        let task = FutureTask::repeating(|| ());
        assert!(task.run_and_reset());
        let theirs = task.clone();
        let next = spawn(move || theirs.run());
        task.cancel_now();
        next.join().unwrap();
        assert!(!interrupt::interrupted(), "meant for the other thread");
    });
}

/// FT-032
#[test]
fn the_body_of_a_repeating_task_is_dropped_once_whoever_ends_it() {
    model(|| {
        let captured = Arc::new(());
        let held = Arc::clone(&captured);
        let task = FutureTask::repeating(move || drop(Arc::clone(&held)));
        let theirs = task.clone();
        let completer = spawn(move || theirs.complete(()));
        task.run_and_reset();
        assert!(completer.join().unwrap());
        assert_eq!(Arc::strong_count(&captured), 1);
    });
}

/// A cell without any synchronisation of its own.
struct Plain(UnsafeCell<u32>);

#[expect(unsafe_code, reason = "the model watches one unsynchronised cell")]
// SAFETY: the cell is written in the body of a task and read after a get: that is the claim.
unsafe impl Sync for Plain {}

/// A value that counts its drops, and takes any access that is not ordered before its drop for an
/// error of the model.
struct Watched {
    plain: Plain,
    drops: Arc<AtomicU32>,
}

impl Watched {
    fn new(drops: &Arc<AtomicU32>) -> Self {
        let plain = Plain(UnsafeCell::new(0));
        plain.0.with_mut(|_| ());
        let drops = Arc::clone(drops);
        Self { plain, drops }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.plain.0.with_mut(|_| ());
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_value_of_a_task_that_is_detached_is_dropped_once() {
    model(|| {
        let drops = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&drops);
        let (task, handle) = Task::with_handle(move || Watched::new(&theirs));
        let runner = spawn(move || task.run());
        drop(handle);
        runner.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_value_is_dropped_after_all_readers_have_released_it() {
    model(|| {
        let drops = Arc::new(AtomicU32::new(0));
        let theirs = Arc::clone(&drops);
        let (task, handle) = Task::with_handle(move || Watched::new(&theirs));
        let shared = handle.share();
        task.run();
        let other = shared.clone();
        let read = |handle: super::SharedHandle<Watched>| {
            handle.result_now().unwrap().plain.0.with(|_| ());
        };
        let reader = spawn(move || read(other));
        read(shared);
        reader.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// The runner and a thread that completes the task from outside write their outcomes at the same
/// time.
#[test]
fn of_a_completion_and_a_run_of_a_task_with_a_handle_one_wins() {
    model(|| {
        let drops = Arc::new(AtomicU32::new(0));
        let (theirs, ours) = (Arc::clone(&drops), Watched::new(&drops));
        let (task, mut handle) = Task::with_handle(move || (7, Watched::new(&theirs)));
        let runner = spawn(move || task.run());
        let set = handle.complete(Ok((8, ours)));
        assert!(handle.is_done());
        let (number, value) = handle.get().unwrap();
        assert_eq!(number, if set { 8 } else { 7 });
        runner.join().unwrap();
        let before = drops.load(Ordering::Relaxed);
        drop((value, handle));
        assert_eq!(drops.load(Ordering::Relaxed), before + 1);
    });
}

/// ES-014, FT-026
#[test]
#[expect(unsafe_code, reason = "the model watches one unsynchronised cell")]
fn what_the_body_wrote_is_seen_by_whoever_saw_the_task_done() {
    model(|| {
        let plain = Arc::new(Plain(UnsafeCell::new(0)));
        let theirs = Arc::clone(&plain);
        let task = FutureTask::new(move || {
            // SAFETY: nobody reads before the task is done.
            theirs.0.with_mut(|data| unsafe { *data = 7 });
        });
        let run = task.clone();
        let runner = spawn(move || run.run());
        if task.is_done() {
            // SAFETY: the task is done, so its body has written.
            assert_eq!(plain.0.with(|data| unsafe { *data }), 7);
        }
        task.get().unwrap();
        // SAFETY: the task is done, so its body has written.
        assert_eq!(plain.0.with(|data| unsafe { *data }), 7);
        runner.join().unwrap();
    });
}

/// ES-014
#[test]
#[expect(unsafe_code, reason = "the model watches one unsynchronised cell")]
fn what_was_written_before_the_submission_is_seen_by_the_body_of_each_round() {
    model(|| {
        let plain = Arc::new(Plain(UnsafeCell::new(0)));
        let theirs = Arc::clone(&plain);
        let task = FutureTask::repeating(move || {
            // SAFETY: rounds are ordered by the task, which has one runner at a time.
            theirs.0.with_mut(|data| unsafe { *data += 1 });
        });
        let other = task.clone();
        let second = spawn(move || other.run_and_reset());
        let first = task.run_and_reset();
        let rounds = u32::from(first) + u32::from(second.join().unwrap());
        task.run();
        // SAFETY: the task is done, so its last round has written.
        assert_eq!(plain.0.with(|data| unsafe { *data }), rounds + 1);
    });
}
