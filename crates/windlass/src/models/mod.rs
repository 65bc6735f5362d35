//! Whole pools, through the front door: every kind of pool, in race with everything that one can do
//! to it.
//!
//! Each scenario keeps books of what it sends to a pool, and has them checked at the end. So three
//! properties are looked at in every schedule:
//!
//! - A task that was taken ran exactly once, or was handed back whole: the books run what came back,
//!   and then each task has run once, unless its handle says that it was cancelled.
//! - No task waits while a worker sleeps that could run it: tasks that [`Meeting`] each other need a
//!   worker each, and whoever is left alone lets the model deadlock.
//! - The counters are exact when the pool has ended.
//!
//! Too large for loom. Once each under `cargo test`, many random schedules under shuttle.

mod fork_join;
mod queues;
mod scheduled;
mod thread_pools;

use std::sync::Arc;

use crate::executor::{Executor, ExecutorService};
use crate::forkjoin::ForkJoinPool;
use crate::pool::ThreadPoolExecutor;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, thread};
use crate::task::{Task, TaskHandle, TaskId, TaskState};

/// What was sent to one pool, and what came back.
#[derive(Clone, Default)]
struct Books(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    sent: Vec<Entry>,
    /// Refused and handed back.
    back: Vec<Task>,
    refused: u64,
}

struct Entry {
    runs: Arc<AtomicUsize>,
    handle: Option<Arc<TaskHandle<()>>>,
}

/// What the books say when the pool has ended.
#[derive(Debug, Clone, Copy)]
struct Account {
    sent: u64,
    /// Tasks that the pool ran, or its handler.
    ran: u64,
    /// Tasks that never ran: their handles say that they were cancelled.
    unrun: u64,
    refused: u64,
}

impl Books {
    /// A body that does this and is counted.
    fn body(&self, then: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
        self.enter(None, then).1
    }

    /// Opens an entry; gives its place, and the body that belongs to it.
    fn enter(
        &self,
        handle: Option<Arc<TaskHandle<()>>>,
        then: impl FnOnce() + Send + 'static,
    ) -> (usize, impl FnOnce() + Send + 'static) {
        let runs = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&runs);
        let mut pages = self.0.lock();
        pages.sent.push(Entry { runs, handle });
        let body = move || {
            theirs.fetch_add(1, Ordering::SeqCst);
            then();
        };
        (pages.sent.len() - 1, body)
    }

    /// Sends a task without a handle; gives its id if it was taken.
    fn execute(
        &self,
        pool: &impl Executor,
        then: impl FnOnce() + Send + 'static,
    ) -> Option<TaskId> {
        let task = Task::new(self.body(then));
        let id = task.id();
        self.send(pool, task).then_some(id)
    }

    /// Sends a task with a handle, and gives that, whether the task was taken or not.
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

    /// Sends this many tasks that do nothing; says how many were taken.
    fn execute_some(&self, pool: &impl Executor, count: usize) -> usize {
        let taken = (0..count).filter(|_| self.execute(pool, || ()).is_some());
        taken.count()
    }

    /// Notes what the pool has handed back.
    fn take_back(&self, tasks: impl IntoIterator<Item = Task>) {
        self.0.lock().back.extend(tasks);
    }

    /// Waits for the end of the pool, and checks that every task had one.
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

    /// The same, for scenarios in which nothing is cancelled and a refusal is told to the submitter.
    fn settle(&self, pool: &ThreadPoolExecutor) -> Account {
        let account = self.audit(pool);
        assert_eq!(pool.completed_task_count(), account.ran);
        assert_eq!(pool.rejected_count(), account.refused);
        assert_eq!(account.unrun, 0);
        account
    }

    /// The same for a fork-join pool, which counts less.
    fn settle_fork_join(&self, pool: &ForkJoinPool) -> Account {
        pool.close();
        assert!(pool.is_terminated());
        let stats = pool.stats();
        let left = (stats.queued_task_count, stats.queued_submission_count);
        assert_eq!((stats.pool_size, left), (0, (0, 0)));
        self.close()
    }

    /// Runs what came back, and checks that every task has ended in one way.
    fn close(&self) -> Account {
        let pages = std::mem::take(&mut *self.0.lock());
        let ran = pages.sent.iter().map(Entry::runs).sum();
        for task in pages.back {
            task.run();
        }
        let mut unrun = 0;
        for (at, entry) in pages.sent.iter().enumerate() {
            match (entry.runs(), entry.end()) {
                (1, None | Some(TaskState::Completed | TaskState::Cancelled)) => {}
                (0, Some(TaskState::Cancelled)) => unrun += 1,
                (runs, end) => panic!("task {at} ran {runs} times, and its end is {end:?}"),
            }
        }
        Account {
            sent: pages.sent.len() as u64,
            ran,
            unrun,
            refused: pages.refused,
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
struct Meeting {
    size: usize,
    here: Mutex<usize>,
    complete: Condvar,
}

impl Meeting {
    fn of(size: usize) -> Arc<Self> {
        Arc::new(Self {
            size,
            here: Mutex::new(0),
            complete: Condvar::new(),
        })
    }

    /// A body that comes to the meeting and stays to its end.
    fn guest(self: &Arc<Self>) -> impl FnOnce() + Send + 'static {
        let meeting = Arc::clone(self);
        move || meeting.attend()
    }

    fn attend(&self) {
        let mut here = self.here.lock();
        *here += 1;
        self.complete.notify_all();
        while *here < self.size {
            here = self.complete.wait(here);
        }
    }
}

/// Runs this on another thread of the model.
fn beside<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().spawn(body).unwrap()
}

/// Twice two tasks that need a worker each, from two threads.
fn send_tasks_that_meet(pool: &(impl Executor + Clone + 'static), books: &Books) {
    for _ in 0..2 {
        let meeting = Meeting::of(2);
        let theirs = (pool.clone(), books.clone(), meeting.guest());
        let producer = beside(move || theirs.1.submit(&theirs.0, theirs.2));
        books.submit(pool, meeting.guest()).wait().unwrap();
        producer.join().unwrap().wait().unwrap();
    }
}

/// Has this many producers do this at once, and waits for them.
fn producers(count: usize, produce: impl Fn() + Clone + Send + 'static) {
    let all: Vec<_> = (0..count).map(|_| beside(produce.clone())).collect();
    for producer in all {
        producer.join().unwrap();
    }
}
