//! The cells of tasks with handles share blocks of memory, which are given back.
//!
//! In a binary of its own, since it counts the memory of the process.

use std::alloc::System;

use cap::Cap;
use windlass::task::{Task, TaskHandle};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const TASKS: usize = 100_000;

/// One block of each size may be in use.
const MAY_STAY: usize = 8 * 1024;

fn live() -> usize {
    ALLOCATOR.allocated()
}

fn submit_and_run() -> Vec<TaskHandle<usize>> {
    let mut handles = Vec::with_capacity(TASKS);
    for number in 0..TASKS {
        let (task, handle) = Task::with_handle(move || number);
        task.run();
        handles.push(handle);
    }
    handles
}

/// One test, so that no other allocates meanwhile.
#[test]
fn blocks_are_given_back() {
    drop(submit_and_run());
    let before = live();

    let handles = submit_and_run();
    let each = (live() - before) / TASKS;
    assert!(
        (48..=60).contains(&each),
        "{each} bytes a task and its handle"
    );
    drop(handles);
    let stays = live().saturating_sub(before);
    assert!(stays < MAY_STAY, "{stays} bytes stay after the drop");

    // By a thread that has ended meanwhile, and freed here.
    let handles = std::thread::spawn(submit_and_run).join().unwrap();
    drop(handles);
    let stays = live().saturating_sub(before);
    assert!(stays < MAY_STAY, "{stays} bytes stay after a thread");

    // Three threads free one cell of each block after the other, and have ended.
    let mut shares = [const { Vec::new() }; 3];
    for (at, handle) in submit_and_run().into_iter().enumerate() {
        shares[at % 3].push(handle);
    }
    std::thread::scope(|threads| {
        for share in shares {
            threads.spawn(move || drop(share));
        }
    });
    let stays = live().saturating_sub(before);
    assert!(stays < MAY_STAY, "{stays} bytes stay after three threads");

    // A thread stops in the middle of each block, and ends.
    let mut handles = submit_and_run();
    for _ in 0..500 {
        let some = handles.split_off(handles.len() - 30);
        std::thread::spawn(move || drop(some)).join().unwrap();
    }
    drop(handles);
    let stays = live().saturating_sub(before);
    assert!(stays < MAY_STAY, "{stays} bytes stay after many threads");

    // Every hundredth is kept: no more than its block stays with it.
    let mut handles = submit_and_run();
    let mut at = 0;
    handles.retain(|_| {
        at += 1;
        at % 100 == 0
    });
    handles.shrink_to_fit();
    let each = live().saturating_sub(before) / handles.len();
    assert!(each <= 1_024 + 16, "{each} bytes for a handle that is kept");
    let sum: usize = handles
        .into_iter()
        .map(|handle| handle.join().unwrap())
        .sum();
    assert_eq!(sum, (0..TASKS / 100).map(|at| 100 * at + 99).sum());
    let stays = live().saturating_sub(before);
    assert!(stays < MAY_STAY, "{stays} bytes stay at the end");
}
