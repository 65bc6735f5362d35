//! User code that panics where nobody expects it: nothing aborts, and the rest goes on.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::mpsc;
use std::thread;

use windlass::task::{FutureTask, Task, TaskState};
use windlass::testing::within_patience;

/// A value whose drop panics.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb went off");
    }
}

/// Drops it so that a panic would be a second one.
fn drop_in_a_panic(value: impl Send + 'static) {
    let thread = thread::spawn(move || {
        let _value = value;
        panic!("the first panic");
    });
    let payload = thread.join().unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"the first panic"));
}

#[test]
fn a_capture_whose_drop_panics_fails_the_task_that_ran() {
    let bomb = Bomb;
    let (task, mut handle) = Task::with_handle(move || {
        let _bomb = &bomb;
        7
    });
    task.run();
    let failure = handle.get().unwrap_err().into_failure().unwrap();
    assert_eq!(failure.message(), Some("a bomb went off"));
}

#[test]
fn a_capture_whose_drop_panics_does_not_disturb_a_cancel() {
    let (bomb, (tell, told)) = (Bomb, mpsc::channel());
    let (task, mut handle) = Task::with_handle(move || drop(bomb));
    handle.on_done(move |end| tell.send(end).unwrap());
    assert!(handle.cancel());
    assert_eq!(told.try_recv(), Ok(TaskState::Cancelled));
    assert!(handle.get().unwrap_err().is_cancelled());
    task.run();
}

#[test]
fn a_task_dropped_in_a_panic_may_drop_captures_that_panic() {
    let bomb = Bomb;
    let (task, mut handle) = Task::with_handle(move || drop(bomb));
    drop_in_a_panic(task);
    assert!(handle.get().unwrap_err().is_cancelled());
    let bomb = Bomb;
    drop_in_a_panic(Task::new(move || drop(bomb)));
    let bombs = (Bomb, [0_u8; 64]);
    drop_in_a_panic(Task::new(move || drop(bombs)));
}

#[test]
fn many_tasks_whose_captures_panic_can_be_dropped_together() {
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let bomb = Bomb;
            Task::new(move || drop(bomb))
        })
        .collect();
    drop(tasks);
}

#[test]
fn a_detached_task_whose_value_panics_when_dropped_runs_to_its_end() {
    let (task, handle) = Task::with_handle(|| Bomb);
    drop(handle);
    task.run();
}

#[test]
fn a_handle_dropped_with_a_value_that_panics_does_not_panic() {
    let (task, handle) = Task::with_handle(|| Bomb);
    task.run();
    drop_in_a_panic(handle);
}

#[test]
fn a_cancelled_run_whose_value_panics_when_dropped_ends_well() {
    let (send, receive) = mpsc::channel::<windlass::task::TaskControl>();
    let (task, handle) = Task::with_handle(move || {
        assert!(receive.recv().unwrap().cancel());
        Bomb
    });
    send.send(handle.control()).unwrap();
    task.run();
    assert!(handle.is_cancelled());
}

#[test]
fn a_value_refused_by_set_may_panic_when_dropped() {
    let task = FutureTask::new(|| Some(Bomb));
    assert!(task.complete(None));
    assert!(!task.complete(Some(Bomb)));
    assert!(task.result_now().unwrap().is_none());
}

#[test]
fn a_payload_whose_drop_panics_reaches_the_handle() {
    let (task, mut handle) = Task::with_handle(|| panic_any(Bomb));
    task.run();
    let failure = handle.get().unwrap_err().into_failure().unwrap();
    assert_eq!(
        failure.with_payload(|payload| payload.is::<Bomb>()),
        Some(true)
    );
    std::mem::forget(failure.take_payload());
}

#[test]
fn a_payload_that_nobody_takes_may_panic_when_it_is_dropped() {
    let (task, handle) = Task::with_handle(|| panic_any(Bomb));
    drop(handle);
    task.run();
    let (task, handle) = Task::with_handle(|| panic_any(Bomb));
    task.run();
    drop_in_a_panic(handle);
}

#[test]
fn a_failure_that_comes_after_a_cancel_may_panic_when_it_is_dropped() {
    let (send, receive) = mpsc::channel::<windlass::task::TaskControl>();
    let (task, handle) = Task::with_handle(move || {
        assert!(receive.recv().unwrap().cancel());
        panic_any(Bomb);
    });
    send.send(handle.control()).unwrap();
    task.run();
    assert!(handle.is_cancelled());
}

#[test]
fn an_attached_state_whose_drop_panics_harms_nobody() {
    drop_in_a_panic(Task::builder().attach(Bomb).build(|| ()));
    Task::builder().attach(Bomb).build(|| ()).run();
    let (task, handle) = Task::builder().attach(Bomb).build_with_handle(|| ());
    drop(handle);
    drop_in_a_panic(task);
}

#[test]
fn callbacks_after_one_that_panics_are_called_and_the_panic_goes_on_afterwards() {
    let (tell, told) = mpsc::channel();
    let (task, mut handle) = Task::with_handle(|| 7);
    for number in 0..4 {
        let tell = tell.clone();
        handle.on_done(move |_| {
            tell.send(number).unwrap();
            assert_ne!(number % 2, 1, "callback {number}");
        });
    }
    let payload = catch_unwind(AssertUnwindSafe(|| task.run())).unwrap_err();
    assert!(
        payload
            .downcast_ref::<String>()
            .unwrap()
            .contains("callback 1")
    );
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(handle.get().unwrap(), 7);
}

#[test]
fn a_callback_that_panics_while_a_task_is_dropped_ends_there() {
    let (task, mut handle) = Task::with_handle(|| 7);
    handle.on_done(|_| panic!("callback"));
    drop(task);
    assert!(handle.get().unwrap_err().is_cancelled());

    let (task, mut handle) = Task::with_handle(|| 7);
    handle.on_done(|_| panic!("callback"));
    drop_in_a_panic(task);
    assert!(handle.get().unwrap_err().is_cancelled());

    let (task, handle) = Task::with_handle(|| 7);
    handle.on_done(|_| panic!("callback"));
    drop(handle.cancel_on_drop());
    task.run();
}

#[test]
fn a_callback_that_panics_on_a_finished_task_does_so_to_whoever_registers_it() {
    let (task, handle) = Task::with_handle(|| 7);
    task.run();
    let registered = catch_unwind(AssertUnwindSafe(|| handle.on_done(|_| panic!("callback"))));
    assert!(registered.is_err());
}

#[test]
fn a_callback_that_is_never_called_may_panic_when_it_is_dropped() {
    let (bomb, task) = (Bomb, FutureTask::new(|| 7));
    task.on_done(move |_| drop(bomb));
    drop_in_a_panic(task);
}

#[test]
fn a_task_without_a_handle_panics_to_whoever_runs_it() {
    let panicking = || panic!("no handle");
    assert!(catch_unwind(|| Task::new(panicking).run()).is_err());
    let large = [0_u8; 64];
    let panicking = move || assert_eq!(large[63], 1, "no handle");
    assert!(catch_unwind(|| Task::new(panicking).run()).is_err());
}

#[test]
fn a_getter_and_a_callback_that_panics_do_not_meet() {
    within_patience("a getter", || {
        let (task, mut handle) = Task::with_handle(|| 7);
        handle.on_done(|_| panic!("callback"));
        let runner = thread::spawn(|| task.run());
        assert_eq!(handle.get().unwrap(), 7);
        assert!(runner.join().is_err());
    });
}
