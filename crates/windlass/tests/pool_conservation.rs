//! No task is lost and none is run twice, through every queue and under every policy.
//!
//! Eight submitters send tasks that each bear a number. For every number the book says in the end
//! whether its task ran, was dropped unrun, or was handed back; and the pool's own counters agree.
//! A million tasks for each queue in release builds or with `WINDLASS_STRESS=1`, fewer else.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use recording::finish;
use windlass::pool::{
    AbortPolicy, BlockPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy,
    RejectedExecutionHandler, Saturated,
};
use windlass::queue::{
    ArrayBlockingQueue, Blocking, BlockingQueue, Discipline, Fairness, LinkedBlockingDeque,
    LinkedBlockingQueue, LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue,
    SynchronousQueue,
};
use windlass::task::Task;
use windlass::{Executor, ThreadPoolExecutor};
use windlass::{RejectedExecution, RejectionReason};

const SUBMITTERS: usize = 8;
const ROOM: usize = 64;

/// How many tasks go through one queue, under all policies together.
fn tasks_per_queue() -> usize {
    if cfg!(debug_assertions) && std::env::var_os("WINDLASS_STRESS").is_none() {
        20_000 * POLICIES.len()
    } else {
        1_000_000
    }
}

/// What became of each task.
struct Book {
    ran: Vec<AtomicU8>,
    unrun: Vec<AtomicU8>,
    handed_back: Vec<AtomicU8>,
    ran_by_submitters: AtomicUsize,
}

impl Book {
    fn new(tasks: usize) -> Arc<Self> {
        let blank = || (0..tasks).map(|_| AtomicU8::new(0)).collect();
        Arc::new(Self {
            ran: blank(),
            unrun: blank(),
            handed_back: blank(),
            ran_by_submitters: AtomicUsize::new(0),
        })
    }

    /// Checks that every task had one fate, and gives how many ran, were dropped unrun, and were
    /// handed back.
    fn balance(&self) -> (usize, usize, usize) {
        let mut sums = (0, 0, 0);
        for at in 0..self.ran.len() {
            let count = |of: &[AtomicU8]| usize::from(of[at].load(Ordering::SeqCst));
            let (ran, unrun) = (count(&self.ran), count(&self.unrun));
            let handed_back = count(&self.handed_back);
            assert_eq!(ran + unrun, 1, "task {at}: ran {ran}, dropped {unrun}");
            assert!(handed_back <= unrun, "task {at} was handed back and ran");
            sums = (sums.0 + ran, sums.1 + unrun, sums.2 + handed_back);
        }
        sums
    }
}

/// What a task carries: notes its run, or its drop without one.
struct Entry {
    book: Arc<Book>,
    at: usize,
    ran: bool,
}

impl Entry {
    fn run(mut self, submitter: bool) {
        self.ran = true;
        self.book.ran[self.at].fetch_add(1, Ordering::SeqCst);
        if submitter {
            self.book.ran_by_submitters.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.ran {
            self.book.unrun[self.at].fetch_add(1, Ordering::SeqCst);
        }
    }
}

thread_local! {
    static IS_SUBMITTER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn submit(pool: &ThreadPoolExecutor, book: &Arc<Book>, numbers: impl Iterator<Item = usize>) {
    IS_SUBMITTER.set(true);
    for at in numbers {
        let entry = Entry {
            book: Arc::clone(book),
            at,
            ran: false,
        };
        let body = move || entry.run(IS_SUBMITTER.get());
        let task = if at % 2 == 0 {
            Task::new(body)
        } else {
            let priority = i32::try_from(at % 7).unwrap();
            let builder = Task::builder().priority(priority);
            builder.build_with_handle(body).0
        };
        if let Err(refused) = pool.execute_task(task) {
            book.handed_back[at].fetch_add(1, Ordering::SeqCst);
            drop(refused);
        }
    }
}

/// What a policy may do with tasks that the pool cannot take.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Abort,
    CallerRuns,
    Discard,
    DiscardOldest,
    Block,
    BlockShortly,
    Custom,
}

const POLICIES: [Policy; 7] = [
    Policy::Abort,
    Policy::CallerRuns,
    Policy::Discard,
    Policy::DiscardOldest,
    Policy::Block,
    Policy::BlockShortly,
    Policy::Custom,
];

/// Tries again, then hands back.
fn try_again(task: Task, pool: &dyn Saturated) -> Result<(), RejectedExecution> {
    thread::yield_now();
    let tried = pool.try_execute(task);
    tried.map_err(|task| RejectedExecution::new(task, RejectionReason::Other))
}

impl Policy {
    fn handler(self) -> Arc<dyn RejectedExecutionHandler> {
        match self {
            Self::Abort => Arc::new(AbortPolicy),
            Self::CallerRuns => Arc::new(CallerRunsPolicy),
            Self::Discard => Arc::new(DiscardPolicy),
            Self::DiscardOldest => Arc::new(DiscardOldestPolicy),
            Self::Block => Arc::new(BlockPolicy::new()),
            Self::BlockShortly => Arc::new(BlockPolicy::with_timeout(Duration::from_micros(50))),
            Self::Custom => Arc::new(try_again),
        }
    }

    /// Sends tasks through a pool with this queue, and balances the book.
    fn conserve(self, queue: Arc<dyn BlockingQueue<Task>>, tasks: usize) {
        let book = Book::new(tasks);
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(1)
            .maximum_pool_size(3)
            .keep_alive(Duration::from_micros(200))
            .work_queue(queue)
            .rejection_handler(self.handler())
            .build()
            .unwrap();
        thread::scope(|scope| {
            for first in 0..SUBMITTERS {
                let (pool, book) = (&pool, &book);
                scope.spawn(move || submit(pool, book, (first..tasks).step_by(SUBMITTERS)));
            }
        });
        finish(&pool);
        let (ran, unrun, handed_back) = book.balance();
        let by_submitters = book.ran_by_submitters.load(Ordering::SeqCst);
        let completed = usize::try_from(pool.completed_task_count()).unwrap();
        assert_eq!(completed, ran - by_submitters, "{self:?}");
        let rejected = usize::try_from(pool.rejected_count()).unwrap();
        match self {
            Self::Abort => assert_eq!((unrun, handed_back), (rejected, rejected)),
            Self::CallerRuns => assert_eq!((unrun, by_submitters), (0, rejected)),
            Self::Discard => assert_eq!((unrun, handed_back), (rejected, 0)),
            Self::DiscardOldest => assert_eq!(handed_back, 0),
            Self::Block => assert_eq!((ran, unrun), (tasks, 0)),
            Self::BlockShortly | Self::Custom => assert_eq!(unrun, handed_back),
        }
        if self != Self::CallerRuns {
            assert_eq!(by_submitters, 0);
        }
    }
}

fn conserve<Q: BlockingQueue<Task> + 'static>(queue: impl Fn() -> Q) {
    let tasks = tasks_per_queue() / POLICIES.len();
    for policy in POLICIES {
        policy.conserve(Arc::new(queue()), tasks);
    }
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_linked_queue_loses_and_doubles_nothing() {
    conserve(LinkedBlockingQueue::new);
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_bounded_linked_queue_loses_and_doubles_nothing() {
    conserve(|| LinkedBlockingQueue::with_capacity(ROOM).unwrap());
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn an_array_queue_loses_and_doubles_nothing() {
    conserve(|| ArrayBlockingQueue::new(ROOM).unwrap());
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_fair_array_queue_loses_and_doubles_nothing() {
    conserve(|| ArrayBlockingQueue::with_fairness(ROOM, Fairness::Fair).unwrap());
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_synchronous_queue_loses_and_doubles_nothing() {
    conserve(SynchronousQueue::new);
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_fair_synchronous_queue_loses_and_doubles_nothing() {
    conserve(|| SynchronousQueue::with_fairness(Fairness::Fair));
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_priority_queue_loses_and_doubles_nothing() {
    conserve(|| PriorityBlockingQueue::by_key(|task: &Task| task.priority()));
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_transfer_queue_loses_and_doubles_nothing() {
    conserve(LinkedTransferQueue::new);
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_resizable_queue_loses_and_doubles_nothing() {
    conserve(|| ResizableBlockingQueue::with_capacity(ROOM).unwrap());
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_deque_loses_and_doubles_nothing() {
    conserve(|| LinkedBlockingDeque::with_capacity(ROOM).unwrap());
}

/// Every other task to the front; room for a few.
#[derive(Default)]
struct ZigZag(VecDeque<Task>);

impl Discipline for ZigZag {
    type Item = Task;
    fn push(&mut self, task: Task) {
        if self.0.len() % 2 == 0 {
            self.0.push_front(task);
        } else {
            self.0.push_back(task);
        }
    }
    fn pop(&mut self) -> Option<Task> {
        self.0.pop_front()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn peek(&self) -> Option<&Task> {
        self.0.front()
    }
    fn iter(&self) -> Box<dyn Iterator<Item = &Task> + '_> {
        Box::new(self.0.iter())
    }
    fn remove(&mut self, at: usize) -> Task {
        self.0.remove(at).unwrap()
    }
    fn capacity(&self) -> Option<usize> {
        Some(ROOM)
    }
}

/// TPE-081, TPE-130 to TPE-140
#[test]
fn a_queue_of_the_users_own_loses_and_doubles_nothing() {
    conserve(|| Blocking::new(ZigZag::default()));
}
