//! The policy that makes submitters wait, which the JDK does not have.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use recording::{Blocker, finish, fixed};
use windlass::clock::TestClock;
use windlass::interrupt::{self, JoinHandle};
use windlass::pool::BlockPolicy;
use windlass::queue::{Blocking, Discipline, ResizableBlockingQueue, SynchronousQueue};
use windlass::task::Task;
use windlass::testing::{Latch, PATIENCE, until, within_patience};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};
use windlass::{RejectedExecution, RejectionReason};

type Answer = Result<(), RejectedExecution>;

/// A pool of one whose worker is held and whose queue is full, and a submitter that waits for room;
/// the latch opens when its task has run.
struct Stuck {
    pool: ThreadPoolExecutor,
    blocker: Blocker,
    submitter: JoinHandle<Answer>,
    ran: Latch,
}

impl Stuck {
    fn new(policy: BlockPolicy) -> Self {
        let pool = fixed(1)
            .work_queue(ResizableBlockingQueue::with_capacity(1).unwrap())
            .rejection_handler(policy)
            .build()
            .unwrap();
        let blocker = Blocker::occupy(&pool, 1);
        pool.execute(|| ()).unwrap();
        let ran = Latch::new(1);
        let submitter = interrupt::spawn({
            let (pool, ran) = (pool.clone(), ran.clone());
            move || pool.execute(move || ran.count_down()).map(drop)
        });
        until("the submitter waits", || {
            pool.queue().waiting().unwrap().putters == 1
        });
        Self {
            pool,
            blocker,
            submitter,
            ran,
        }
    }

    /// Waits for the submitter to be refused; gives the reason.
    fn refused(self) -> RejectionReason {
        let refused = self.submitter.join().unwrap().unwrap().unwrap_err();
        self.blocker.release();
        finish(&self.pool);
        assert_eq!(self.ran.count(), 1);
        refused.reason()
    }

    /// Waits for the submitter to get through, and for its task to run.
    fn accepted(self, release: bool) {
        if release {
            self.blocker.release();
        }
        self.submitter.join().unwrap().unwrap().unwrap();
        self.blocker.release();
        self.ran.wait();
        finish(&self.pool);
    }
}

#[test]
fn a_submitter_waits_for_room() {
    Stuck::new(BlockPolicy::new()).accepted(true);
}

#[test]
fn a_submitter_with_a_time_limit_waits_for_room() {
    Stuck::new(BlockPolicy::with_timeout(PATIENCE)).accepted(true);
}

#[test]
fn a_submitter_waits_until_its_time_is_up_and_no_less() {
    let clock = TestClock::new();
    clock.enter(|| {
        let stuck = Stuck::new(BlockPolicy::with_timeout(Duration::from_secs(10)));
        clock.advance(Duration::from_millis(9_999));
        assert!(clock.await_sleepers(1, PATIENCE));
        assert!(!stuck.submitter.is_finished());
        clock.advance(Duration::from_millis(1));
        assert_eq!(stuck.refused(), RejectionReason::TimedOut);
    });
}

#[test]
fn without_time_a_submitter_does_not_wait() {
    let pool = fixed(1).work_queue(SynchronousQueue::new());
    let pool = pool.rejection_handler(BlockPolicy::with_timeout(Duration::ZERO));
    let pool = pool.build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let refused = pool.execute(|| ()).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::TimedOut);
    blocker.release();
    finish(&pool);
}

#[test]
fn shutdown_ends_the_wait_with_a_refusal() {
    let stuck = Stuck::new(BlockPolicy::new());
    stuck.pool.shutdown();
    assert_eq!(stuck.refused(), RejectionReason::Shutdown);
}

#[test]
fn shutdown_now_ends_the_wait_with_a_refusal() {
    let stuck = Stuck::new(BlockPolicy::new());
    assert_eq!(stuck.pool.shutdown_now().len(), 1);
    assert_eq!(stuck.refused(), RejectionReason::Shutdown);
}

#[test]
fn a_larger_maximum_ends_the_wait_with_a_new_worker() {
    let stuck = Stuck::new(BlockPolicy::new());
    stuck.pool.set_maximum_pool_size(2).unwrap();
    stuck.ran.wait();
    assert_eq!(stuck.pool.largest_pool_size(), 2);
    stuck.accepted(false);
}

#[test]
fn a_larger_queue_ends_the_wait_with_room() {
    let stuck = Stuck::new(BlockPolicy::new());
    assert_eq!(stuck.pool.set_queue_capacity(2), Ok(Some(1)));
    until("it is queued", || stuck.pool.queue().len() == 2);
    stuck.accepted(false);
}

#[test]
fn an_interrupt_ends_the_wait_with_a_refusal() {
    let stuck = Stuck::new(BlockPolicy::new());
    stuck.submitter.interrupt();
    assert_eq!(stuck.refused(), RejectionReason::Interrupted);
}

#[test]
fn changes_that_do_not_help_leave_the_submitter_waiting() {
    let stuck = Stuck::new(BlockPolicy::new());
    stuck.pool.set_maximum_pool_size(1).unwrap();
    stuck.pool.set_keep_alive(Duration::from_secs(1)).unwrap();
    until("the submitter waits", || {
        stuck.pool.queue().waiting().unwrap().putters == 1
    });
    assert!(!stuck.submitter.is_finished());
    stuck.accepted(true);
}

/// With a hand-off queue nobody may be left to hand the task to: the last worker goes while the
/// submitter comes.
#[test]
fn a_submitter_is_not_forgotten_when_the_last_worker_leaves() {
    const EACH: usize = 2_000;
    let pool = fixed(1)
        .core_pool_size(0)
        .keep_alive(Duration::ZERO)
        .work_queue(SynchronousQueue::new())
        .rejection_handler(BlockPolicy::new())
        .build()
        .unwrap();
    let ran = Latch::new(2 * EACH);
    within_patience("all submitters get through", {
        let (pool, ran) = (pool.clone(), ran.clone());
        move || {
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..EACH {
                            let ran = ran.clone();
                            pool.execute(move || ran.count_down()).unwrap();
                        }
                    });
                }
            });
        }
    });
    ran.wait();
    finish(&pool);
}

/// A place that is full for ever, or takes nothing.
struct Closed;

impl Discipline for Closed {
    type Item = Task;
    fn push(&mut self, task: Task) {
        drop(task);
    }
    fn pop(&mut self) -> Option<Task> {
        None
    }
    fn len(&self) -> usize {
        0
    }
    fn peek(&self) -> Option<&Task> {
        None
    }
    fn iter(&self) -> Box<dyn Iterator<Item = &Task> + '_> {
        Box::new(std::iter::empty())
    }
    fn remove(&mut self, _at: usize) -> Task {
        unreachable!("nothing is queued")
    }
    fn admits(&self, _task: &Task) -> bool {
        false
    }
}

#[test]
fn a_task_that_the_queue_does_not_admit_is_not_waited_for() {
    let pool = fixed(1).work_queue(Blocking::new(Closed));
    let pool = pool.rejection_handler(BlockPolicy::new()).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let refused = pool.execute(|| ()).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Saturated);
    blocker.release();
    finish(&pool);
}

thread_local! {
    /// Submits a task when the thread's locals are dropped.
    static LAST_WISH: RefCell<Option<LastWish>> = const { RefCell::new(None) };
}

struct LastWish {
    pool: ThreadPoolExecutor,
    answer: mpsc::Sender<RejectionReason>,
}

impl Drop for LastWish {
    fn drop(&mut self) {
        if let Err(rejected) = self.pool.execute(|| ()) {
            self.answer.send(rejected.reason()).unwrap();
        }
    }
}

/// WL-023: the thread has lost what the library keeps for it before it submits.
#[test]
fn a_submitter_whose_thread_ends_is_woken_by_a_shutdown_too() {
    let pool = fixed(1)
        .work_queue(ResizableBlockingQueue::with_capacity(1).unwrap())
        .rejection_handler(BlockPolicy::new())
        .build()
        .unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    pool.execute(|| ()).unwrap();
    let (answer, answered) = mpsc::channel();
    let wish = LastWish {
        pool: pool.clone(),
        answer,
    };
    let submitter = thread::spawn(move || {
        // Locals are dropped in the reverse order of their first use.
        LAST_WISH.set(Some(wish));
        assert!(!interrupt::is_interrupted());
    });
    until("a blocked submitter", || {
        pool.queue().waiting().unwrap().putters == 1
    });
    pool.shutdown();
    let reason = answered.recv_timeout(PATIENCE).unwrap();
    assert_eq!(reason, RejectionReason::Shutdown);
    submitter.join().unwrap();
    blocker.release();
    finish(&pool);
}
