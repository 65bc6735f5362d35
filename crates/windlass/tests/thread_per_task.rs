//! A thread for every task, and what happens where there is none to be had.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use windlass::Submit;
use windlass::executors::ThreadPerTaskExecutor;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
use windlass::task::{Cancellation, FutureTask};
use windlass::testing::{Gate, until, within_patience};
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{Executor, ExecutorService, RejectionReason};

/// What a factory does with the body that it is given.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Refuse,
    Panic,
    DropAndPromise,
}

#[derive(Debug)]
struct Faulty(Fault);

impl ThreadFactory for Faulty {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        match self.0 {
            Fault::Refuse => Err(io::Error::other("no more threads")),
            Fault::Panic => panic!("the factory panics"),
            Fault::DropAndPromise => {
                drop(body);
                Ok(())
            }
        }
    }
}

/// Promises a thread, and keeps the body for later.
#[derive(Debug, Default)]
struct Later(LinkedBlockingQueue<ThreadBody>);

impl ThreadFactory for Later {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.0.offer(body).map_err(|_| io::Error::other("full"))
    }
}

fn closes(executor: ThreadPerTaskExecutor) {
    within_patience("the executor's end", move || executor.close());
}

#[test]
fn every_task_has_a_thread_of_its_own() {
    let executor = ThreadPerTaskExecutor::new();
    let gate = Gate::new();
    let (told, threads): (Sender<_>, Receiver<_>) = channel();
    for _ in 0..3 {
        let (gate, told) = (gate.clone(), told.clone());
        let body = move || {
            gate.pass_uninterruptibly();
            told.send(thread::current().id()).unwrap();
        };
        executor.execute(body).unwrap();
    }
    gate.await_waiting(3);
    assert_eq!(executor.thread_count(), 3);
    gate.open();
    executor.close();
    let mut threads: Vec<_> = threads.try_iter().collect();
    threads.sort_by_key(|id| format!("{id:?}"));
    threads.dedup();
    assert_eq!(threads.len(), 3);
    assert_eq!(executor.thread_count(), 0);
}

#[test]
fn a_task_whose_thread_is_refused_comes_back() {
    for fault in [Fault::Refuse, Fault::DropAndPromise] {
        let executor = ThreadPerTaskExecutor::with_factory(Arc::new(Faulty(fault)));
        let refused = executor.submit(|| 7).expect_err("there is no thread");
        assert_eq!(refused.reason(), RejectionReason::NoThread, "{fault:?}");
        let (task, mut handle) = refused.into_parts();
        task.run();
        assert_eq!(handle.get().unwrap(), 7);
        assert_eq!(executor.thread_count(), 0);
        closes(executor);
    }
}

#[test]
fn a_panic_of_the_factory_is_the_submitters_and_leaves_nothing_behind() {
    let executor = ThreadPerTaskExecutor::with_factory(Arc::new(Faulty(Fault::Panic)));
    let submit = std::panic::AssertUnwindSafe(|| executor.submit(|| 7));
    assert!(std::panic::catch_unwind(submit).is_err());
    assert_eq!(executor.thread_count(), 0);
    closes(executor);
}

#[test]
fn a_promised_thread_that_never_comes_does_not_keep_the_executor_from_its_end() {
    let factory = Arc::new(Later::default());
    let executor = ThreadPerTaskExecutor::with_factory(factory.clone());
    let mut lost = executor.submit(|| 1).unwrap();
    let mut late = executor.submit(|| 2).unwrap();
    drop(factory.0.poll());
    let error = lost.get().unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&Cancellation::NoThread.to_string())
    );
    assert_eq!(executor.thread_count(), 1);
    factory.0.poll().unwrap().run();
    assert_eq!(late.get().unwrap(), 2);
    closes(executor);
}

#[test]
fn a_task_that_panics_ends_its_thread_only() {
    let executor = ThreadPerTaskExecutor::new();
    executor
        .execute(|| panic!("on a thread of its own"))
        .unwrap();
    until("its end", || executor.thread_count() == 0);
    assert_eq!(executor.submit(|| 7).unwrap().get().unwrap(), 7);
    closes(executor);
}

#[test]
fn a_task_that_is_there_twice_is_counted_twice() {
    let executor = ThreadPerTaskExecutor::new();
    let gate = Gate::new();
    let theirs = gate.clone();
    let shared = FutureTask::new(move || theirs.pass_uninterruptibly());
    executor.execute_task(shared.task()).unwrap();
    gate.await_waiting(1);
    // The second runner finds the task running, and leaves.
    executor.execute_task(shared.task()).unwrap();
    until("the second runner's end", || executor.thread_count() < 2);
    executor.shutdown();
    assert_eq!(executor.thread_count(), 1);
    assert!(!executor.is_terminated());
    gate.open();
    closes(executor);
}
