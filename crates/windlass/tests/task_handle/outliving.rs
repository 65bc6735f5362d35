//! Values that live exactly as long as somebody may want them.

use std::sync::Arc;

use windlass::task::{FutureTask, Task};
use windlass::testing::DropCounter;

#[test]
fn a_value_nobody_gets_is_dropped_exactly_once() {
    let drops = DropCounter::new();
    let token = drops.token();
    let (task, handle) = Task::with_handle(move || token);
    task.run();
    assert_eq!(drops.count(), 0);
    drop(handle);
    assert_eq!(drops.count(), 1);
}

#[test]
fn the_value_of_a_detached_task_is_dropped_with_the_task() {
    let drops = DropCounter::new();
    let token = drops.token();
    let (task, handle) = Task::with_handle(move || token);
    drop(handle);
    assert_eq!(drops.count(), 0);
    task.run();
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_value_that_was_got_belongs_to_whoever_got_it() {
    let drops = DropCounter::new();
    let token = drops.token();
    let (task, mut handle) = Task::with_handle(move || token);
    task.run();
    let value = handle.get().unwrap();
    drop(handle);
    assert_eq!(drops.count(), 0);
    drop(value);
    assert_eq!(drops.count(), 1);
}

#[test]
fn the_value_of_a_task_cancelled_while_it_ran_is_dropped_at_its_end() {
    let drops = DropCounter::new();
    let token = drops.token();
    let slot = Arc::new(std::sync::OnceLock::<windlass::task::TaskControl>::new());
    let control = Arc::clone(&slot);
    let (task, handle) = Task::with_handle(move || {
        assert!(control.get().unwrap().cancel());
        token
    });
    slot.set(handle.control()).unwrap();
    task.run();
    assert!(handle.is_cancelled());
    assert_eq!(drops.count(), 1, "though the handle is still there");
}

#[test]
fn a_closure_that_is_not_run_is_dropped_exactly_once() {
    let drops = DropCounter::new();
    let (inline, boxed) = (drops.token(), (drops.token(), [0_u8; 64]));
    drop(Task::new(move || drop(inline)));
    assert_eq!(drops.count(), 1);
    drop(Task::new(move || drop(boxed)));
    assert_eq!(drops.count(), 2);
    let handled = drops.token();
    let (task, handle) = Task::with_handle(move || drop(handled));
    assert!(handle.cancel());
    assert_eq!(drops.count(), 3, "as soon as it is cancelled");
    drop((task, handle));
    assert_eq!(drops.count(), 3);
}

#[test]
fn a_closure_that_is_run_is_dropped_exactly_once() {
    let drops = DropCounter::new();
    let (inline, boxed) = (drops.token(), (drops.token(), [0_u8; 64]));
    Task::new(move || drop(inline)).run();
    Task::new(move || drop(boxed)).run();
    assert_eq!(drops.count(), 2);
}

#[test]
fn a_future_task_that_nobody_runs_drops_its_body_and_callbacks_with_the_last_clone() {
    let drops = DropCounter::new();
    let (body, callback) = (drops.token(), drops.token());
    let task = FutureTask::new(move || drop(body));
    task.on_done(move |_| drop(callback));
    let clone = task.clone();
    drop(task);
    assert_eq!(drops.count(), 0);
    drop(clone);
    assert_eq!(drops.count(), 2);
}

#[test]
fn what_a_user_attached_lives_as_long_as_either_half() {
    let drops = DropCounter::new();
    let builder = Task::builder().attach(drops.token());
    let (task, handle) = builder.build_with_handle(|| ());
    task.run();
    assert_eq!(drops.count(), 0);
    drop(handle);
    assert_eq!(drops.count(), 1);
}
