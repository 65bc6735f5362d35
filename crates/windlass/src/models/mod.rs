//! Models of whole pools through their public interface: every kind of pool, in a race with every
//! operation on it.
//!
//! Each scenario records what it submits to a pool in a ledger, and checks that at the end. So three
//! properties are checked in every schedule:
//!
//! - A task that was accepted ran exactly once, or was returned: the ledger runs the returned tasks, and
//!   then each task has run once, unless its handle reports that it was cancelled.
//! - No task waits while a worker sleeps that could run it: tasks that meet at a [`Rendezvous`] need a
//!   worker each, and one that is left alone deadlocks the model.
//! - The counters are exact when the pool has ended.
//!
//! Too large for loom. Once each under `cargo test`, many random schedules under shuttle.

mod fairness;
mod fork_join;
mod groups;
mod queues;
mod room;
mod scheduled;
mod shutdown;
mod thread_pools;
mod waits;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::executor::{Executor, ExecutorService};
use crate::forkjoin::ForkJoinPool;
use crate::pool::ThreadPoolExecutor;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, thread};
use crate::task::{Task, TaskHandle, TaskId, TaskState};

/// The tasks that were submitted to one pool, and those that it returned.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<Records>>);

#[derive(Default)]
struct Records {
    sent: Vec<Entry>,
    /// Rejected or returned.
    back: Vec<Task>,
    refused: u64,
}

struct Entry {
    runs: Arc<AtomicUsize>,
    handle: Option<Arc<TaskHandle<()>>>,
}

/// The totals of a ledger when the pool has terminated.
#[derive(Debug, Clone, Copy)]
struct Account {
    sent: u64,
    /// Tasks that the pool ran, or its handler.
    ran: u64,
    /// Tasks that never ran: their handles report that they were cancelled.
    unrun: u64,
    refused: u64,
}

impl Ledger {
    /// Returns a body that runs `then` and is counted.
    fn body(&self, then: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
        self.enter(None, then).1
    }

    /// Opens an entry; returns its place, and the body that belongs to it.
    fn enter(
        &self,
        handle: Option<Arc<TaskHandle<()>>>,
        then: impl FnOnce() + Send + 'static,
    ) -> (usize, impl FnOnce() + Send + 'static) {
        let runs = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&runs);
        let mut records = self.0.lock();
        records.sent.push(Entry { runs, handle });
        let body = move || {
            theirs.fetch_add(1, Ordering::SeqCst);
            then();
        };
        (records.sent.len() - 1, body)
    }

    /// Submits a task without a handle; returns its id if it was accepted.
    fn execute(
        &self,
        pool: &impl Executor,
        then: impl FnOnce() + Send + 'static,
    ) -> Option<TaskId> {
        let task = Task::new(self.body(then));
        let id = task.id();
        self.send(pool, task).then_some(id)
    }

    /// Submits a task with a handle, and returns that, whether the task was accepted or not.
    fn submit(
        &self,
        pool: &impl Executor,
        then: impl FnOnce() + Send + 'static,
    ) -> Arc<TaskHandle<()>> {
        let (at, body) = self.enter(None, then);
        let (task, handle) = Task::with_handle(body);
        let handle = Arc::new(handle);
        self.0.lock().sent[at].handle = Some(Arc::clone(&handle));
        self.send(pool, task);
        handle
    }

    fn send(&self, pool: &impl Executor, task: Task) -> bool {
        let answer = pool.execute_task(task);
        let taken = answer.is_ok();
        if let Err(refused) = answer {
            self.0.lock().refused += 1;
            self.take_back([refused.into_task()]);
        }
        taken
    }

    /// Submits this many tasks that do nothing; returns how many were accepted.
    fn execute_some(&self, pool: &impl Executor, count: usize) -> usize {
        let taken = (0..count).filter(|_| self.execute(pool, || ()).is_some());
        taken.count()
    }

    /// Records tasks that the pool has returned.
    fn take_back(&self, tasks: impl IntoIterator<Item = Task>) {
        self.0.lock().back.extend(tasks);
    }

    /// Closes the pool, and checks that every task has ended.
    fn audit(&self, pool: &ThreadPoolExecutor) -> Account {
        pool.close();
        assert!(pool.is_terminated());
        let stats = pool.stats();
        assert_eq!(
            (stats.pool_size, stats.active_count, stats.queue_len),
            (0, 0, 0)
        );
        assert_eq!(stats.task_count, stats.completed_task_count);
        let account = self.close();
        assert!(stats.rejected_count >= account.refused);
        account
    }

    /// Does the same, for scenarios in which nothing is cancelled and rejections reach the submitter.
    fn close_pool(&self, pool: &ThreadPoolExecutor) -> Account {
        let account = self.audit(pool);
        assert_eq!(pool.completed_task_count(), account.ran);
        assert_eq!(pool.rejected_count(), account.refused);
        assert_eq!(account.unrun, 0);
        account
    }

    /// Does the same for a fork-join pool, which counts less.
    fn close_fork_join(&self, pool: &ForkJoinPool) -> Account {
        pool.close();
        assert!(pool.is_terminated());
        let stats = pool.stats();
        let left = (stats.queued_task_count, stats.queued_submission_count);
        assert_eq!((stats.pool_size, left), (0, (0, 0)));
        self.close()
    }

    /// Runs the returned tasks, and checks that every task has ended in one way.
    fn close(&self) -> Account {
        let records = std::mem::take(&mut *self.0.lock());
        let ran = records.sent.iter().map(Entry::runs).sum();
        for task in records.back {
            task.run();
        }
        let mut unrun = 0;
        for (at, entry) in records.sent.iter().enumerate() {
            match (entry.runs(), entry.end()) {
                (1, None | Some(TaskState::Completed | TaskState::Cancelled)) => {}
                (0, Some(TaskState::Cancelled)) => unrun += 1,
                (runs, end) => panic!("task {at} ran {runs} times, and its end is {end:?}"),
            }
        }
        Account {
            sent: records.sent.len() as u64,
            ran,
            unrun,
            refused: records.refused,
        }
    }
}

impl Entry {
    fn runs(&self) -> u64 {
        self.runs.load(Ordering::SeqCst) as u64
    }

    fn end(&self) -> Option<TaskState> {
        self.handle.as_ref().map(|handle| handle.state())
    }
}

/// A place where threads wait until this many of them are there.
struct Rendezvous {
    size: usize,
    here: Mutex<usize>,
    complete: Condvar,
}

impl Rendezvous {
    fn of(size: usize) -> Arc<Self> {
        Arc::new(Self {
            size,
            here: Mutex::new(0),
            complete: Condvar::new(),
        })
    }

    /// Returns a body that arrives and waits for the others.
    fn participant(self: &Arc<Self>) -> impl FnOnce() + Send + 'static {
        let rendezvous = Arc::clone(self);
        move || rendezvous.arrive()
    }

    fn arrive(&self) {
        let mut here = self.here.lock();
        *here += 1;
        self.complete.notify_all();
        while *here < self.size {
            here = self.complete.wait(here);
        }
    }
}

/// The waker of a thread of the model.
#[derive(Default)]
struct Signal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.is_set.lock() = true;
        self.changed.notify_all();
    }
}

/// Polls the future until it is ready; waits for its waker in between.
fn block_on<F: Future>(future: F) -> F::Output {
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let mut is_set = signal.is_set.lock();
        while !*is_set {
            is_set = signal.changed.wait(is_set);
        }
        *is_set = false;
    }
}

/// Runs this on another thread of the model.
fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().spawn(body).unwrap()
}

/// Submits two tasks that need a worker each from two threads, twice.
fn submit_tasks_that_meet(pool: &(impl Executor + Clone + 'static), ledger: &Ledger) {
    for _ in 0..2 {
        let rendezvous = Rendezvous::of(2);
        let theirs = (pool.clone(), ledger.clone(), rendezvous.participant());
        let producer = spawn(move || theirs.1.submit(&theirs.0, theirs.2));
        ledger
            .submit(pool, rendezvous.participant())
            .wait()
            .unwrap();
        producer.join().unwrap().wait().unwrap();
    }
}

/// Runs `produce` on this many threads at once, and waits for them.
fn producers(count: usize, produce: impl Fn() + Clone + Send + 'static) {
    let all: Vec<_> = (0..count).map(|_| spawn(produce.clone())).collect();
    for producer in all {
        producer.join().unwrap();
    }
}
