//! Submissions that await room in a bounded pool.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "used by other tests")]
mod recording;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use recording::{Blocker, CountingFactory, Log, finish, fixed};
use windlass::error::RejectionReason;
use windlass::pool::SubmitAsync;
use windlass::prelude::*;
use windlass::queue::{ArrayBlockingQueue, ResizableBlockingQueue, SynchronousQueue};
use windlass::testing::{DropCounter, until};

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Counter {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

type Submitted =
    Result<windlass::TaskHandle<u32>, windlass::RejectedExecution<windlass::TaskHandle<u32>>>;

/// A submission of a number, and the waker that it is polled with.
struct Polled<'a> {
    future: Pin<Box<SubmitAsync<'a, u32>>>,
    counter: Arc<Counter>,
}

impl<'a> Polled<'a> {
    fn new(pool: &'a ThreadPoolExecutor, number: u32, log: &Log<u32>) -> Self {
        let log = log.clone();
        let body = move || {
            log.record(number);
            number
        };
        Self {
            future: Box::pin(pool.submit_async(body)),
            counter: Arc::default(),
        }
    }

    /// Creates one that waits.
    fn waiting(pool: &'a ThreadPoolExecutor, number: u32, log: &Log<u32>) -> Self {
        let mut polled = Self::new(pool, number, log);
        assert!(polled.poll().is_pending());
        polled
    }

    fn poll(&mut self) -> Poll<Submitted> {
        let waker = Waker::from(Arc::clone(&self.counter));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    fn await_woken(&self) {
        until("the submission is woken", || self.counter.count() > 0);
    }

    fn ready(&mut self) -> Submitted {
        match self.poll() {
            Poll::Ready(ready) => ready,
            Poll::Pending => panic!("the submission still waits"),
        }
    }
}

/// Returns a pool with one worker, which is blocked, and a queue of one place, which is full.
fn full_pool() -> (ThreadPoolExecutor, Blocker) {
    let queue = ResizableBlockingQueue::with_capacity(1).unwrap();
    let pool = fixed(1).work_queue(queue).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    pool.execute(|| ()).unwrap();
    (pool, blocker)
}

/// WL-150
#[test]
fn a_submission_that_finds_room_does_not_wait() {
    let (pool, log) = (fixed(1).build().unwrap(), Log::new());
    let mut first = Polled::new(&pool, 1, &log);
    assert_eq!(pool.stats().task_count, 0);
    assert_eq!(first.ready().unwrap().join().unwrap(), 1);
    let named = pollster::block_on(pool.task().name("named").submit_async(|| 2)).unwrap();
    assert_eq!(named.name(), Some("named"));
    let failing = pool.task().submit_async_fallible(|| Err::<u32, _>("no"));
    let failing = pollster::block_on(failing).unwrap();
    assert!(failing.join().unwrap_err().is_failed());
    finish(&pool);
}

/// WL-150
#[test]
fn submissions_wait_for_room_and_enter_in_the_order_of_arrival() {
    let ((pool, blocker), log) = (full_pool(), Log::new());
    let mut waiting: Vec<_> = (0..5).map(|n| Polled::waiting(&pool, n, &log)).collect();
    assert_eq!(pool.stats().queue_len, 1);
    assert_eq!(pool.rejected_count(), 0);
    blocker.release();
    for polled in &mut waiting {
        polled.await_woken();
        polled.ready().unwrap().join().unwrap();
        assert_eq!(polled.counter.count(), 1);
    }
    assert_eq!(log.entries(), [0, 1, 2, 3, 4]);
    drop(waiting);
    finish(&pool);
}

/// WL-150
#[test]
fn room_is_made_by_a_larger_queue_a_larger_pool_and_a_removed_task() {
    let ((pool, blocker), log) = (full_pool(), Log::new());
    let mut first = Polled::waiting(&pool, 1, &log);
    pool.set_queue_capacity(2).unwrap();
    let first = first.ready().unwrap();
    let mut second = Polled::waiting(&pool, 2, &log);
    drop(pool.remove(&first));
    let second = second.ready().unwrap();
    let mut third = Polled::waiting(&pool, 3, &log);
    assert!(second.cancel());
    assert_eq!(pool.purge(), 1);
    let _third = third.ready().unwrap();
    let mut fourth = Polled::waiting(&pool, 4, &log);
    pool.set_maximum_pool_size(2).unwrap();
    assert_eq!(fourth.ready().unwrap().join().unwrap(), 4);
    drop(fourth);
    blocker.release();
    drop(third);
    finish(&pool);
}

/// WL-150
#[test]
fn a_submission_that_is_dropped_leaves_the_line_and_drops_its_closure() {
    let ((pool, blocker), log) = (full_pool(), Log::new());
    let drops = DropCounter::new();
    let token = drops.token();
    let mut given_up = Box::pin(pool.submit_async(move || drop(token)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(given_up.as_mut().poll(&mut context).is_pending());
    let mut next = Polled::waiting(&pool, 1, &log);
    drop(given_up);
    assert_eq!(drops.count(), 1);
    blocker.release();
    next.await_woken();
    assert_eq!(next.ready().unwrap().join().unwrap(), 1);
    assert_eq!(log.entries(), [1]);
    drop(next);
    // Admitted and not polled since: cancelled.
    let (pool, blocker) = full_pool();
    let unseen = Polled::waiting(&pool, 2, &log);
    pool.set_queue_capacity(2).unwrap();
    unseen.await_woken();
    drop(unseen);
    blocker.release();
    finish(&pool);
    assert_eq!(log.entries(), [1]);
}

/// WL-151
#[test]
fn a_shutdown_ends_the_wait_with_the_task_and_its_handle() {
    for now in [false, true] {
        let ((pool, blocker), log) = (full_pool(), Log::new());
        let mut waiting = [
            Polled::waiting(&pool, 1, &log),
            Polled::waiting(&pool, 2, &log),
        ];
        if now {
            drop(pool.shutdown_now());
        } else {
            pool.shutdown();
        }
        for polled in &mut waiting {
            polled.await_woken();
            let rejected = polled.ready().unwrap_err();
            assert_eq!(rejected.reason(), RejectionReason::Shutdown);
            let (task, handle) = rejected.into_parts();
            task.run();
            handle.join().unwrap();
        }
        assert_eq!(log.entries(), [1, 2]);
        let late = pollster::block_on(pool.submit_async(|| 3)).unwrap_err();
        assert!(late.is_shutdown());
        blocker.release();
        drop(waiting);
        finish(&pool);
    }
}

/// WL-151
#[test]
fn a_pool_that_gets_no_thread_rejects_at_once() {
    let pool = fixed(1)
        .thread_factory(CountingFactory::failing())
        .build()
        .unwrap();
    let rejected = pollster::block_on(pool.submit_async(|| 1)).unwrap_err();
    assert_eq!(rejected.reason(), RejectionReason::NoThread);
}

/// WL-150
#[test]
fn a_hand_off_queue_gives_waiting_submissions_to_workers_that_become_idle() {
    let pool = fixed(1)
        .work_queue(SynchronousQueue::new())
        .build()
        .unwrap();
    let (blocker, log) = (Blocker::occupy(&pool, 1), Log::new());
    let mut waiting: Vec<_> = (0..3).map(|n| Polled::waiting(&pool, n, &log)).collect();
    blocker.release();
    for polled in &mut waiting {
        polled.await_woken();
        polled.ready().unwrap().join().unwrap();
    }
    assert_eq!(log.entries(), [0, 1, 2]);
    drop(waiting);
    finish(&pool);
}

/// WL-152
#[test]
fn many_submitters_on_many_threads_all_enter_whatever_the_queue() {
    let bounded = fixed(2).work_queue(ArrayBlockingQueue::new(2).unwrap());
    let handing_off = fixed(2).work_queue(SynchronousQueue::new());
    for builder in [bounded, handing_off] {
        let pool = builder.build().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        thread::scope(|scope| {
            for submitter in 0..4 {
                let (pool, ran) = (&pool, &ran);
                scope.spawn(move || {
                    pollster::block_on(async {
                        for n in 0..500 {
                            let ran = Arc::clone(ran);
                            let body = move || {
                                ran.fetch_add(1, Ordering::SeqCst);
                            };
                            let mut submission = Box::pin(pool.submit_async(body));
                            // Some are polled once and given up.
                            let gives_up = (n + submitter) % 5 == 0;
                            if gives_up {
                                let polled = futures_lite::future::poll_once(&mut submission).await;
                                if polled.is_none() {
                                    ran_instead(&mut submission, n).await;
                                }
                            } else {
                                drop(submission.await.unwrap());
                            }
                        }
                    });
                });
            }
        });
        finish(&pool);
        assert!(ran.load(Ordering::SeqCst) >= 4 * 400);
    }
}

/// Gives every second submission up, and awaits the others.
async fn ran_instead(submission: &mut Pin<Box<SubmitAsync<'_, ()>>>, n: u32) {
    if n % 2 == 0 {
        drop(submission.await.unwrap());
    }
}
