//! What every handle promises: the same tests on each of the seven.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use windlass::forkjoin::completer::{Completer, Node, Root};
use windlass::forkjoin::{Cx, ForkHandle, ForkJoinPool, RecursiveTask};
use windlass::interrupt;
use windlass::prelude::*;
use windlass::scheduled::ScheduledHandle;
use windlass::task::{
    Cancellation, ExecutionError, FutureTask, SharedHandle, Task, TaskControl, TaskHandle, TaskId,
    TaskState,
};
use windlass::testing::{Gate, PATIENCE};

/// How a task ends once its gate is open.
#[derive(Clone, Copy)]
enum End {
    Value,
    Panic,
}

/// The body of every task here: waits, then ends in this way.
fn body(gate: &Gate, end: End) -> u32 {
    gate.pass_uninterruptibly();
    match end {
        Value => 7,
        Panic => std::panic::resume_unwind(Box::new("on purpose")),
    }
}

use End::{Panic, Value};

/// A handle, and the gate that its task waits at.
struct Subject<H> {
    handle: H,
    gate: Opened,
}

/// A gate that is open in the end, so that a test that fails does not hang.
struct Opened(Gate);

impl Opened {
    fn open(&self) {
        self.0.open();
    }

    fn open_elsewhere(&self) {
        let gate = self.0.clone();
        thread::spawn(move || gate.open());
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.open();
    }
}

fn subject<H>(start: impl FnOnce(Gate) -> H) -> Subject<H> {
    let gate = Gate::new();
    let handle = start(gate.clone());
    let gate = Opened(gate);
    Subject { handle, gate }
}

fn task_handle(end: End) -> Subject<TaskHandle<u32>> {
    subject(|gate| {
        let (task, handle) = Task::with_handle(move || body(&gate, end));
        thread::spawn(|| task.run());
        handle
    })
}

fn shared_handle(end: End) -> Subject<SharedHandle<u32>> {
    let Subject { handle, gate } = task_handle(end);
    let handle = handle.share();
    Subject { handle, gate }
}

fn task_control(end: End) -> Subject<TaskControl> {
    let Subject { handle, gate } = task_handle(end);
    let handle = handle.control();
    Subject { handle, gate }
}

fn future_task(end: End) -> Subject<FutureTask<u32>> {
    subject(|gate| {
        let task = FutureTask::new(move || body(&gate, end));
        let theirs = task.clone();
        thread::spawn(move || theirs.run());
        task
    })
}

fn scheduled_handle(end: End) -> Subject<ScheduledHandle<u32>> {
    subject(|gate| {
        let pool = ScheduledThreadPoolExecutor::new(1);
        let handle = pool.schedule(Duration::ZERO, move || body(&gate, end));
        handle.unwrap()
    })
}

/// A recursive task, and a tree of one node.
struct Gated(Gate, End);

impl RecursiveTask for Gated {
    type Output = u32;

    fn compute(self, _: &Cx<'_>) -> u32 {
        body(&self.0, self.1)
    }
}

impl Completer for Gated {
    fn compute(&self, node: &Node) {
        body(&self.0, self.1);
        node.try_complete();
    }
}

fn fork_handle(end: End) -> Subject<ForkHandle<u32>> {
    let pool = ForkJoinPool::new(1).unwrap();
    subject(|gate| pool.fork(Gated(gate, end)).unwrap())
}

fn root(end: End) -> Subject<Root> {
    let pool = ForkJoinPool::new(1).unwrap();
    subject(|gate| pool.submit_completer(Gated(gate, end)).unwrap())
}

fn is_unwind_safe<H: UnwindSafe + RefUnwindSafe>(_: &H) {}

/// The promises of every handle.
macro_rules! every_handle {
    ($($make:ident),*) => {$(
        mod $make {
            mod every_handle {
                use super::super::*;
                use super::super::$make as make;

                #[test]
                fn knows_its_task() {
                    let Subject { handle, gate } = make(Value);
                    let control = handle.control();
                    assert_eq!(TaskId::from(&handle), handle.id());
                    assert_eq!(control.id(), handle.id());
                    assert_eq!(control.name(), handle.name());
                    assert_eq!(handle.attachment::<u8>(), None);
                    assert!(format!("{handle:?}").contains(&handle.id().as_u64().to_string()));
                    is_unwind_safe(&handle);
                    gate.open();
                }

                #[test]
                fn waits_until_the_task_is_done() {
                    let Subject { handle, gate } = make(Value);
                    assert!(!handle.is_done() && !handle.state().is_done());
                    gate.open_elsewhere();
                    assert_eq!(handle.wait(), Ok(()));
                    assert!(handle.is_done() && !handle.is_cancelled());
                    assert_eq!(handle.state(), TaskState::Completed);
                }

                #[test]
                fn says_whether_a_timed_wait_met_the_end() {
                    let Subject { handle, gate } = make(Value);
                    assert_eq!(handle.wait_timeout(Duration::ZERO), Ok(false));
                    assert_eq!(handle.wait_timeout(Duration::from_millis(1)), Ok(false));
                    gate.open_elsewhere();
                    assert_eq!(handle.wait_timeout(PATIENCE), Ok(true));
                    assert_eq!(handle.wait_timeout(Duration::ZERO), Ok(true));
                }

                #[test]
                fn an_interrupt_ends_a_wait_but_not_one_for_a_task_that_is_done() {
                    let Subject { handle, gate } = make(Value);
                    interrupt::current().interrupt();
                    assert!(handle.wait().is_err());
                    assert!(!interrupt::is_interrupted());
                    interrupt::current().interrupt();
                    assert!(handle.wait_timeout(PATIENCE).is_err());
                    gate.open();
                    handle.wait().unwrap();
                    interrupt::current().interrupt();
                    assert_eq!(handle.wait(), Ok(()));
                    assert_eq!(handle.wait_timeout(PATIENCE), Ok(true));
                    assert!(interrupt::interrupted());
                }

                #[test]
                fn is_cancelled_once() {
                    for cancel in [
                        |handle: &_| made(make, handle).cancel(),
                        |handle: &_| made(make, handle).cancel_now(),
                    ] {
                        let Subject { handle, gate: _gate } = make(Value);
                        assert!(cancel(&handle));
                        assert!(!handle.cancel() && !handle.cancel_now());
                        assert!(handle.is_done() && handle.is_cancelled());
                        assert_eq!(handle.state(), TaskState::Cancelled);
                        assert_eq!(handle.wait(), Ok(()));
                    }
                }

                #[test]
                fn is_cancelled_by_its_control() {
                    let Subject { handle, gate: _gate } = make(Value);
                    assert_eq!(handle.cancellation(), None);
                    assert!(handle.control().cancel());
                    assert!(handle.is_cancelled());
                    assert_eq!(handle.cancellation(), Some(Cancellation::Requested));
                }

                #[test]
                fn calls_back_with_the_final_state_now_or_later() {
                    for (end, expected) in
                        [(Value, TaskState::Completed), (Panic, TaskState::Failed)]
                    {
                        let Subject { handle, gate } = make(end);
                        let (sender, receiver) = mpsc::channel();
                        let later = sender.clone();
                        handle.on_done(move |state| later.send(state).unwrap());
                        gate.open();
                        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(expected));
                        handle.on_done(move |state| sender.send(state).unwrap());
                        assert_eq!(receiver.try_recv(), Ok(expected));
                    }
                }

                #[test]
                fn its_control_is_a_future_of_the_final_state() {
                    for (end, expected) in
                        [(Value, TaskState::Completed), (Panic, TaskState::Failed)]
                    {
                        let Subject { handle, gate } = make(end);
                        gate.open_elsewhere();
                        assert_eq!(pollster::block_on(handle.control()), expected);
                    }
                }
            }
        }
    )*};
}

/// Has the compiler find the type of a handle by how it is made.
fn made<H>(_: fn(End) -> Subject<H>, handle: &H) -> &H {
    handle
}

every_handle!(
    task_handle,
    shared_handle,
    task_control,
    future_task,
    scheduled_handle,
    fork_handle,
    root
);

/// The promises of every handle with a value.
macro_rules! value_handles {
    ($($module:ident: $make:ident, $value:expr;)*) => {$(
        mod $module {
            use super::*;
            use super::$make as make;

            #[test]
            fn join_returns_the_value() {
                let Subject { handle, gate } = make(Value);
                gate.open_elsewhere();
                assert_eq!(handle.join(), Ok($value));
            }

            #[test]
            fn join_leaves_an_interrupt_pending() {
                let Subject { handle, gate } = make(Value);
                interrupt::current().interrupt();
                gate.open_elsewhere();
                assert_eq!(handle.join(), Ok($value));
                assert!(interrupt::interrupted());
            }

            #[test]
            #[allow(clippy::allow_attributes, unused_mut, reason = "some handles need it")]
            fn get_is_ended_by_an_interrupt_and_by_its_limit_and_loses_nothing() {
                let Subject { mut handle, gate } = make(Value);
                interrupt::current().interrupt();
                assert_eq!(handle.get(), Err(ExecutionError::Interrupted));
                assert_eq!(
                    handle.get_timeout(Duration::ZERO),
                    Err(ExecutionError::TimedOut)
                );
                assert_eq!(handle.try_get(), None);
                gate.open_elsewhere();
                assert_eq!(handle.get(), Ok($value));
            }

            #[test]
            #[allow(clippy::allow_attributes, unused_mut, reason = "some handles need it")]
            fn a_task_that_is_done_answers_at_once() {
                let Subject { mut handle, gate } = make(Value);
                gate.open();
                handle.wait().unwrap();
                interrupt::current().interrupt();
                assert_eq!(handle.try_get(), Some(Ok($value)));
                assert!(interrupt::interrupted());
            }

            #[test]
            #[allow(clippy::allow_attributes, unused_mut, reason = "some handles need it")]
            fn a_failure_is_the_same_for_every_call() {
                let Subject { mut handle, gate } = make(Panic);
                gate.open();
                let failure = handle.get().unwrap_err().into_failure().unwrap();
                assert_eq!(failure.message(), Some("on purpose"));
                let failed = Err(ExecutionError::Failed(failure));
                assert_eq!(handle.get_timeout(Duration::ZERO), failed);
                assert_eq!(handle.try_get(), Some(failed.clone()));
                assert_eq!(handle.join(), failed);
            }

            #[test]
            #[allow(clippy::allow_attributes, unused_mut, reason = "some handles need it")]
            fn a_cancelled_task_says_why() {
                let Subject { mut handle, gate: _gate } = make(Value);
                assert!(handle.cancel());
                let requested = Err(ExecutionError::Cancelled(Cancellation::Requested));
                assert_eq!(handle.get(), requested);
                assert_eq!(handle.join(), requested);
            }

            #[test]
            fn shared_it_serves_any_number_of_readers() {
                let Subject { handle, gate } = make(Value);
                let id = handle.id();
                let shared = handle.share();
                let other = shared.clone();
                gate.open_elsewhere();
                assert_eq!(shared.id(), id);
                assert_eq!(shared.get(), Ok($value));
                assert_eq!(other.join(), Ok($value));
                assert_eq!(shared.outcome(), Some(Ok(&$value)));
            }

            #[test]
            fn it_is_a_future_of_the_value() {
                let Subject { handle, gate } = make(Value);
                gate.open_elsewhere();
                assert_eq!(pollster::block_on(handle), Ok($value));
            }
        }
    )*};
}

value_handles! {
    task_handle_value: task_handle, 7;
    shared_handle_value: shared_handle, 7;
    future_task_value: future_task, 7;
    scheduled_handle_value: scheduled_handle, 7;
    fork_handle_value: fork_handle, 7;
    root_value: root, ();
}

/// The promises of every handle that owns the value.
macro_rules! owning_handles {
    ($($module:ident: $make:ident;)*) => {$(
        mod $module {
            use super::*;
            use super::$make as make;

            #[test]
            fn the_value_is_moved_out_once() {
                let Subject { mut handle, gate } = make(Value);
                gate.open();
                assert_eq!(handle.get(), Ok(7));
                assert_eq!(handle.get(), Err(ExecutionError::Taken));
                assert_eq!(handle.join(), Err(ExecutionError::Taken));
            }

            #[test]
            fn dropping_it_detaches_the_task() {
                let Subject { handle, gate } = make(Value);
                let control = handle.control();
                drop(handle);
                gate.open();
                control.wait().unwrap();
                assert_eq!(control.state(), TaskState::Completed);
            }

            #[test]
            fn dropping_it_cancels_the_task_if_it_is_to() {
                let Subject { handle, gate: _gate } = make(Value);
                let control = handle.control();
                drop(handle.cancel_on_drop());
                assert_eq!(control.state(), TaskState::Cancelled);
                assert_eq!(control.cancellation(), Some(Cancellation::HandleDropped));
            }

            #[test]
            fn a_shared_handle_does_not_cancel_on_drop() {
                let Subject { handle, gate } = make(Value);
                let shared = handle.cancel_on_drop().share();
                drop(shared.clone());
                gate.open();
                assert_eq!(shared.join(), Ok(7));
            }
        }
    )*};
}

owning_handles! {
    task_handle_owning: task_handle;
    scheduled_handle_owning: scheduled_handle;
    fork_handle_owning: fork_handle;
}

#[test]
fn a_handle_shows_the_name_and_the_attachment_of_its_task() {
    let (_task, handle) = Task::builder()
        .name("report")
        .attach(7_u8)
        .build_with_handle(|| ());
    let control = handle.control();
    let shared = handle.share();
    assert_eq!(
        (control.name(), shared.name()),
        (Some("report"), Some("report"))
    );
    assert_eq!(control.attachment::<u8>(), Some(&7));
    assert_eq!(shared.attachment::<u8>(), Some(&7));
}

#[test]
fn tasks_are_unwind_safe() {
    is_unwind_safe(&Task::new(|| ()));
}
