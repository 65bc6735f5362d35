//! The pool's queue: looking at it, taking tasks out of it, putting them in by hand.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::sync::Arc;
use std::time::Duration;

use recording::{Blocker, HookFns, Log, finish, fixed};
use windlass::interrupt::Interrupted;
use windlass::queue::{
    BlockingQueue, LinkedBlockingDeque, LinkedBlockingQueue, PriorityBlockingQueue, PutError,
};
use windlass::task::{Cancellation, ExecutionError, FutureTask, Task, TaskId};
use windlass::testing::{Gate, Latch, until};
use windlass::{Executor, ExecutorService, Submit, ThreadPoolExecutor};

fn queued(pool: &ThreadPoolExecutor) -> Vec<TaskId> {
    let mut ids = Vec::new();
    pool.queue().for_each(&mut |task| ids.push(task.id()));
    ids
}

/// A pool that has taken tasks and has no thread to run them.
/// A pool whose workers nobody has started: tasks are put into its queue past it.
fn without_workers() -> ThreadPoolExecutor {
    fixed(1).build().unwrap()
}

/// TPE-080
#[test]
fn the_queue_is_the_one_given_and_holds_what_waits_only() {
    let queue: Arc<dyn BlockingQueue<Task>> = Arc::new(LinkedBlockingQueue::new());
    let pool = fixed(1).work_queue(Arc::clone(&queue));
    let pool = pool.build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let waiting: Vec<_> = (0..4).map(|_| pool.execute(|| ()).unwrap()).collect();
    assert!(std::ptr::addr_eq(pool.queue(), &*queue));
    assert_eq!(queued(&pool), waiting);
    blocker.release();
    finish(&pool);
}

#[test]
fn a_task_that_is_submitted_from_inside_a_predicate_of_the_queue_is_not_lost() {
    let pool = fixed(1).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    pool.execute(|| ()).unwrap();
    let (task, mut handle) = Task::with_handle(|| 1);
    let mut task = Some(task);
    let misuse = std::panic::AssertUnwindSafe(|| {
        pool.queue().remove_first(&mut |_| {
            pool.execute_task(task.take().unwrap()).unwrap();
            false
        })
    });
    assert!(std::panic::catch_unwind(misuse).is_err());
    assert!(matches!(handle.get(), Err(ExecutionError::Cancelled(_))));
    blocker.release();
    finish(&pool);
}

/// TPE-081
#[test]
fn a_queued_task_is_removed_once_and_never_runs() {
    let pool = fixed(1).build().unwrap();
    let (blocker, log) = (Blocker::new(), Log::new());
    let running = pool.execute(blocker.body()).unwrap();
    blocker.await_held(1);
    let task = |n: u32| {
        let log = log.clone();
        pool.execute(move || log.record(n)).unwrap()
    };
    let ids = [task(0), task(1), task(2)];
    assert!(pool.remove(running).is_none());
    assert_eq!(pool.remove(ids[1]).unwrap().id(), ids[1]);
    assert!(pool.remove(ids[1]).is_none());
    blocker.release();
    finish(&pool);
    assert_eq!(log.entries(), [0, 2]);
}

/// TPE-082
#[test]
fn the_handle_of_a_removed_task_is_pending_until_the_task_is_dropped() {
    let pool = fixed(1).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let mut handle = pool.submit(|| 5).unwrap();
    let removed = pool.remove(&handle).unwrap();
    assert!(!handle.is_done());
    drop(removed);
    assert!(matches!(
        handle.get(),
        Err(ExecutionError::Cancelled(Cancellation::Removed))
    ));
    blocker.release();
    finish(&pool);
}

/// TPE-082
#[test]
fn of_two_copies_one_call_removes_one() {
    let pool = fixed(1).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let shared = FutureTask::new(|| ());
    pool.execute_task(shared.task()).unwrap();
    pool.execute_task(shared.task()).unwrap();
    let removed = pool.remove(&shared).unwrap();
    assert_eq!(queued(&pool), [shared.id()]);
    blocker.release();
    assert_eq!(shared.get().ok(), Some(()));
    drop(removed);
    finish(&pool);
}

/// TPE-083
#[test]
fn purge_drops_what_was_cancelled_and_nothing_else() {
    let pool = fixed(1).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let handles: Vec<_> = (0..4).map(|_| pool.submit(|| ()).unwrap()).collect();
    assert!(handles[0].cancel() && handles[3].cancel_now());
    assert_eq!(pool.task_count(), 5);
    assert_eq!(pool.purge(), 2);
    assert_eq!(queued(&pool), [handles[1].id(), handles[2].id()]);
    assert_eq!(pool.task_count(), 3);
    assert_eq!(pool.purge(), 0);
    assert_eq!(pool.task_count(), 3);
    blocker.release();
    finish(&pool);
}

/// TPE-084
#[test]
fn removing_the_last_task_terminates_a_pool_that_is_shut_down() {
    let pool = without_workers();
    let task = Task::new(|| ());
    let id = task.id();
    pool.queue().offer(task).unwrap();
    pool.shutdown();
    assert!(!pool.is_terminated());
    let removed = pool.remove(id);
    assert!(removed.is_some() && pool.is_terminated());
}

/// TPE-084
#[test]
fn purging_the_last_task_terminates_a_pool_that_is_shut_down() {
    let pool = without_workers();
    let (task, handle) = Task::with_handle(|| ());
    pool.queue().offer(task).unwrap();
    pool.shutdown();
    handle.cancel();
    assert!(!pool.is_terminated());
    assert_eq!(pool.purge(), 1);
    assert!(pool.is_terminated());
}

/// TPE-085
#[test]
fn a_task_put_in_by_hand_starts_no_worker() {
    let pool = fixed(1).build().unwrap();
    let ran = Latch::new(1);
    let theirs = ran.clone();
    let task = Task::new(move || theirs.count_down());
    pool.queue().offer(task).unwrap();
    assert_eq!(pool.pool_size(), 0);
    assert!(pool.prestart_core_thread());
    ran.wait();
    finish(&pool);
}

/// TPE-085
#[test]
fn a_task_put_in_by_hand_is_run_by_an_idle_worker() {
    let pool = fixed(1).build().unwrap();
    pool.prestart_all_core_threads();
    let (task, mut handle) = Task::with_handle(|| 7);
    pool.queue().offer(task).unwrap();
    assert_eq!(handle.get().unwrap(), 7);
    finish(&pool);
}

/// TPE-086
#[test]
fn a_task_cancelled_in_the_queue_passes_through_a_worker_without_running() {
    let (hooked, ran) = (Log::new(), Log::new());
    let theirs = hooked.clone();
    let hooks = HookFns::new().before(move |task| theirs.record(task.id()));
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let theirs = ran.clone();
    let handle = pool.submit(move || theirs.record(())).unwrap();
    handle.cancel();
    blocker.release();
    until("both are counted", || pool.completed_task_count() == 2);
    assert_eq!(hooked.entries()[1..], [handle.id()]);
    assert_eq!(ran.entries(), []);
    finish(&pool);
}

/// PBQ-010
#[test]
fn with_a_priority_queue_what_waits_runs_in_order_of_priority() {
    let queue = PriorityBlockingQueue::by_key(|task: &Task| task.priority());
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(4)
        .work_queue(queue)
        .build()
        .unwrap();
    let (blocker, order) = (Blocker::occupy(&pool, 1), Log::new());
    let mut handles = Vec::new();
    for priority in [3, 1, 2] {
        let order = order.clone();
        let task = Task::builder().priority(priority);
        let (task, handle) = task.build_with_handle(move || order.record(priority));
        pool.execute_task(task).unwrap();
        handles.push(handle);
    }
    assert_eq!(pool.pool_size(), 1);
    blocker.release();
    finish(&pool);
    assert_eq!(order.entries(), [1, 2, 3]);
    assert_eq!(pool.largest_pool_size(), 1);
}

/// LBD-014
#[test]
fn a_deque_that_is_offered_at_the_front_runs_the_newest_first() {
    let pool = fixed(1).work_queue(Stack(LinkedBlockingDeque::new()));
    let pool = pool.build().unwrap();
    let (blocker, order) = (Blocker::occupy(&pool, 1), Log::new());
    for n in [1, 2, 3] {
        let order = order.clone();
        pool.execute(move || order.record(n)).unwrap();
    }
    blocker.release();
    finish(&pool);
    assert_eq!(order.entries(), [3, 2, 1]);
}

/// Passes to `.0` what the queues below do not do themselves.
macro_rules! pass_on {
    () => {
        fn poll(&self) -> Option<Task> {
            self.0.poll()
        }
        fn take(&self) -> Result<Task, Interrupted> {
            self.0.take()
        }
        fn drain(&self, max: usize) -> Vec<Task> {
            self.0.drain(max)
        }
        fn drain_all(&self) -> Vec<Task> {
            self.0.drain_all()
        }
        fn remove_first(&self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
            self.0.remove_first(wanted)
        }
        fn retain(&self, keep: &mut dyn FnMut(&Task) -> bool) -> Vec<Task> {
            self.0.retain(keep)
        }
        fn for_each(&self, f: &mut dyn FnMut(&Task)) {
            self.0.for_each(f);
        }
        fn peek(&self, f: &mut dyn FnMut(&Task)) {
            self.0.peek(f);
        }
        fn len(&self) -> usize {
            self.0.len()
        }
        fn remaining_capacity(&self) -> Option<usize> {
            self.0.remaining_capacity()
        }
    };
}

/// A deque whose elements come in at the end at which they leave.
struct Stack(LinkedBlockingDeque<Task>);

impl BlockingQueue<Task> for Stack {
    fn offer(&self, task: Task) -> Result<(), PutError<Task>> {
        self.0.offer_first(task)
    }
    fn offer_timeout(&self, task: Task, timeout: Duration) -> Result<(), PutError<Task>> {
        self.0.offer_first_timeout(task, timeout)
    }
    fn put(&self, task: Task) -> Result<(), PutError<Task>> {
        self.0.put_first(task)
    }
    fn poll_timeout(&self, timeout: Duration) -> Result<Option<Task>, Interrupted> {
        self.0.poll_timeout(timeout)
    }
    pass_on!();
}

/// A queue whose waits no interrupt ends. A pool asks it for that before each wait, and waits at
/// the gate for the answer.
struct Deaf(LinkedBlockingQueue<Task>, Gate);

impl BlockingQueue<Task> for Deaf {
    fn offer(&self, task: Task) -> Result<(), PutError<Task>> {
        self.0.offer(task)
    }
    fn offer_timeout(&self, task: Task, _timeout: Duration) -> Result<(), PutError<Task>> {
        self.0.offer(task)
    }
    fn put(&self, task: Task) -> Result<(), PutError<Task>> {
        self.0.offer(task)
    }
    fn poll_timeout(&self, timeout: Duration) -> Result<Option<Task>, Interrupted> {
        if self.0.is_empty() {
            std::thread::park_timeout(timeout);
        }
        Ok(self.0.poll())
    }
    fn is_interruptible(&self) -> bool {
        self.1.pass_uninterruptibly();
        false
    }
    pass_on!();
}

/// TPE-151
#[test]
fn a_worker_about_to_wait_on_a_queue_that_cannot_be_interrupted_sees_the_shutdown() {
    let gate = Gate::new();
    let queue = Deaf(LinkedBlockingQueue::new(), gate.clone());
    let pool = fixed(1).work_queue(queue).build().unwrap();
    pool.prestart_all_core_threads();
    gate.await_waiting(1);
    pool.shutdown();
    gate.open();
    finish(&pool);
}

/// TPE-062
#[test]
fn surplus_workers_leave_a_queue_that_cannot_be_interrupted() {
    let gate = Gate::new();
    gate.open();
    let pool = fixed(3).work_queue(Deaf(LinkedBlockingQueue::new(), gate));
    let pool = pool.build().unwrap();
    pool.prestart_all_core_threads();
    assert_eq!(pool.submit(|| 1).unwrap().get().unwrap(), 1);
    pool.set_core_pool_size(1).unwrap();
    pool.set_maximum_pool_size(1).unwrap();
    until("two have gone", || pool.pool_size() == 1);
    assert_eq!(pool.submit(|| 2).unwrap().get().unwrap(), 2);
    finish(&pool);
}
