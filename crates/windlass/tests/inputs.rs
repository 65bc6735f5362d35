//! A rejected or drained task gives back the input that it was submitted with.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::task::{Cancellation, ExecutionError, TaskState};
use windlass::testing::Gate;

/// An input that cannot be cloned, and is larger than a task.
#[derive(Debug, PartialEq)]
struct Large([u64; 20]);

fn connection() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    TcpStream::connect(listener.local_addr().unwrap()).unwrap()
}

fn shut_down() -> ThreadPoolExecutor {
    let pool = executors::fixed_thread_pool(1).unwrap();
    pool.shutdown();
    pool
}

/// A pool whose worker waits and whose queue is full.
fn full(gate: &Gate) -> ThreadPoolExecutor {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(1).unwrap())
        .build()
        .unwrap();
    let blocker = gate.clone();
    pool.execute(move || blocker.pass_uninterruptibly())
        .unwrap();
    pool.execute(|| ()).unwrap();
    pool
}

#[test]
fn a_shut_down_pool_gives_the_input_back_without_and_with_a_handle() {
    let pool = shut_down();
    let stream = connection();
    let address = stream.local_addr().unwrap();
    let refused = pool.execute_with(stream, drop).unwrap_err();
    let stream: TcpStream = refused.into_input().unwrap();
    let refused = pool.submit_with(stream, |stream| stream.peer_addr());
    let stream: TcpStream = refused.unwrap_err().into_input().unwrap();
    assert_eq!(stream.local_addr().unwrap(), address);
}

#[test]
fn a_full_pool_gives_the_input_back_without_and_with_a_handle() {
    let gate = Gate::new();
    let pool = full(&gate);
    let refused = pool.execute_with(connection(), drop).unwrap_err();
    let stream: TcpStream = refused.into_input().unwrap();
    let refused = pool.submit_with(stream, |stream| stream.peer_addr());
    assert!(refused.unwrap_err().into_input::<TcpStream>().is_ok());
    gate.open();
}

#[test]
fn an_input_of_every_size_comes_back() {
    let pool = shut_down();
    let small = pool.execute_with(7_u8, |_| ()).unwrap_err();
    assert_eq!(small.into_input::<u8>().unwrap(), 7);
    let middle = pool.execute_with([7_u64; 8], |_| ()).unwrap_err();
    assert_eq!(middle.into_input::<[u64; 8]>().unwrap(), [7; 8]);
    let large = pool.execute_with(Large([7; 20]), |_| ()).unwrap_err();
    assert_eq!(large.into_input::<Large>().unwrap(), Large([7; 20]));
    let nothing = pool.execute_with((), |()| ()).unwrap_err();
    nothing.into_input::<()>().unwrap();
}

#[test]
fn a_task_with_another_input_or_none_stays_as_it_is() {
    let pool = shut_down();
    let ran = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&ran);
    let body = move |number: u32| theirs.store(number == 7, Ordering::SeqCst);
    let refused = pool.execute_with(7_u32, body).unwrap_err();
    let refused = refused.into_input::<u64>().unwrap_err();
    refused.into_task().run();
    assert!(ran.load(Ordering::SeqCst));

    let refused = pool.submit_with(Large([7; 20]), |large| large.0[0]);
    let refused = refused.unwrap_err().into_input::<u64>().unwrap_err();
    let (task, handle) = refused.into_parts();
    task.run();
    assert_eq!(handle.join(), Ok(7));

    let refused = pool.execute(|| ()).unwrap_err();
    assert!(refused.into_input::<()>().is_err());
    let refused = pool.submit(|| 1).unwrap_err();
    assert!(refused.into_input::<()>().is_err());
}

#[test]
fn the_handle_of_a_task_whose_input_was_taken_is_cancelled() {
    let pool = shut_down();
    let refused = pool.submit_with(String::from("input"), |text| text.len());
    let (task, mut handle) = refused.unwrap_err().into_parts();
    let (done, seen) = std::sync::mpsc::channel();
    handle.on_done(move |state| done.send(state).unwrap());
    assert_eq!(task.into_input::<String>().unwrap(), "input");
    assert_eq!(seen.try_recv(), Ok(TaskState::Cancelled));
    let rejected = ExecutionError::Cancelled(Cancellation::Rejected);
    assert_eq!(handle.get(), Err(rejected));
}

#[test]
fn the_input_of_a_cancelled_task_is_gone() {
    let pool = shut_down();
    let refused = pool.submit_with(String::from("input"), |text| text.len());
    let (task, handle) = refused.unwrap_err().into_parts();
    assert!(handle.cancel());
    assert!(task.into_input::<String>().is_err());
}

#[test]
fn a_drained_task_gives_its_input_back() {
    let gate = Gate::new();
    let pool = executors::single_thread_executor();
    let blocker = gate.clone();
    pool.execute(move || blocker.pass_uninterruptibly())
        .unwrap();
    pool.execute_with(connection(), drop).unwrap();
    let handle = pool.submit_with(connection(), |s| s.peer_addr()).unwrap();
    let drained = pool.shutdown_now();
    gate.open();
    assert_eq!(drained.len(), 2);
    for task in drained {
        assert!(task.into_input::<TcpStream>().is_ok());
    }
    let drained = ExecutionError::Cancelled(Cancellation::Drained);
    assert_eq!(handle.join().unwrap_err(), drained);
}

#[test]
fn a_task_whose_times_are_taken_gives_its_input_back() {
    struct Times;
    impl windlass::pool::Hooks for Times {}
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .hooks(Times)
        .build()
        .unwrap();
    let gate = Gate::new();
    let blocker = gate.clone();
    pool.execute(move || blocker.pass_uninterruptibly())
        .unwrap();
    pool.execute_with(Large([7; 20]), |_| ()).unwrap();
    let drained = pool.shutdown_now();
    gate.open();
    let inputs = drained.into_iter().map(|task| task.into_input::<Large>());
    assert!(inputs.map(Result::unwrap).eq([Large([7; 20])]));
}

#[test]
fn what_is_accepted_runs_with_its_input() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.execute_with(sender, |sender| sender.send(7).unwrap())
        .unwrap();
    assert_eq!(receiver.recv(), Ok(7));
    let handle = pool.submit_with(Large([7; 20]), |large| large.0[3]);
    assert_eq!(handle.unwrap().join(), Ok(7));
}
