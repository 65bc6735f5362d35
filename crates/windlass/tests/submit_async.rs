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
use std::time::Duration;

use recording::{Blocker, CountingFactory, Log, finish, fixed};
use windlass::clock::TestClock;
use windlass::error::RejectionReason;
use windlass::pool::SubmitAsync;
use windlass::prelude::*;
use windlass::queue::{
    ArrayBlockingQueue, FairShareQueue, ResizableBlockingQueue, SynchronousQueue,
};
use windlass::task::{CancelToken, Cancellation, Task};
use windlass::testing::{DropCounter, Gate, until};

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
        Self::of(pool.submit_async(body))
    }

    fn of(submission: SubmitAsync<'a, u32>) -> Self {
        Self {
            future: Box::pin(submission),
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

/// WL-152
#[test]
fn a_task_that_is_run_in_place_leaves_its_room_to_a_submission() {
    let pool = fixed(1).work_queue(ArrayBlockingQueue::new(1).unwrap());
    let (pool, log) = (pool.build().unwrap(), Log::new());
    let (queued, join, entered) = (Gate::new(), Gate::new(), Gate::new());
    let inside = (pool.clone(), queued.clone(), join.clone(), entered.clone());
    let outer = pool.submit(move || {
        let (pool, queued, join, entered) = inside;
        let inner = pool.submit(move || entered.pass_uninterruptibly()).unwrap();
        queued.open();
        join.pass_uninterruptibly();
        inner.join().unwrap();
    });
    queued.pass_uninterruptibly();
    let mut waiting = Polled::waiting(&pool, 1, &log);
    join.open();
    // The only worker runs the inner task inside the outer one, and that ends only after this.
    waiting.await_woken();
    entered.open();
    assert_eq!(waiting.ready().unwrap().join().unwrap(), 1);
    outer.unwrap().join().unwrap();
    finish(&pool);
}

const LIMIT: Duration = Duration::from_secs(1);

/// WL-184
#[test]
fn a_submission_awaits_room_no_longer_than_until_its_task_expires_or_is_cancelled() {
    let clock = TestClock::new();
    let (pool, blocker) = clock.enter(full_pool);
    let token = CancelToken::new();
    let first = pool.task().queue_limit(LIMIT).submit_async(|| 1);
    let second = pool.task().cancelled_by(&token).submit_async(|| 2);
    let third = pool.task().queue_limit(2 * LIMIT).submit_async(|| 3);
    let mut waiting = [first, second, third].map(Polled::of);
    for polled in &mut waiting {
        assert!(polled.poll().is_pending());
    }
    let [mut first, mut second, mut third] = waiting;
    token.cancel();
    second.await_woken();
    let ended = second.ready().unwrap().join().unwrap_err();
    assert_eq!(ended.cancellation(), Some(Cancellation::Token));
    clock.advance(LIMIT);
    first.await_woken();
    let ended = first.ready().unwrap().join().unwrap_err();
    assert_eq!(ended.cancellation(), Some(Cancellation::Expired));
    assert!(third.poll().is_pending());
    blocker.release();
    third.await_woken();
    assert_eq!(third.ready().unwrap().join().unwrap(), 3);
    finish(&pool);
}

/// WL-184
#[test]
fn submissions_that_await_room_get_the_places_of_tasks_that_expire() {
    let clock = TestClock::new();
    let queue = ArrayBlockingQueue::new(2).unwrap();
    let pool = clock.enter(|| fixed(1).work_queue(queue).build().unwrap());
    let (blocker, log) = (Blocker::occupy(&pool, 1), Log::new());
    for _ in 0..2 {
        pool.task().queue_limit(LIMIT).execute(|| ()).unwrap();
    }
    let mut waiting = [1, 2, 3].map(|n| Polled::waiting(&pool, n, &log));
    clock.advance(LIMIT);
    let handles = [0, 1].map(|n| {
        waiting[n].await_woken();
        waiting[n].ready().unwrap()
    });
    assert!(waiting[2].poll().is_pending());
    blocker.release();
    for handle in handles {
        handle.join().unwrap();
    }
    waiting[2].await_woken();
    waiting[2].ready().unwrap().join().unwrap();
    assert_eq!(log.entries(), [1, 2, 3]);
    assert_eq!(pool.stats().expired_task_count, 2);
    finish(&pool);
}

/// WL-152
#[test]
fn a_submission_waits_for_the_room_of_its_own_key_only() {
    let queue = FairShareQueue::new(|task: &Task| task.attachment::<char>().copied());
    let queue = queue.bound_per_key(1).unwrap();
    let pool = fixed(1).work_queue(queue).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let submit = |key: char, n: u32| Polled::of(pool.task().attach(key).submit_async(move || n));
    let _first = submit('a', 1).ready().unwrap();
    let mut second = submit('a', 2);
    assert!(second.poll().is_pending());
    let mut third = submit('a', 3);
    assert!(third.poll().is_pending());
    let other = submit('b', 4).ready().unwrap();
    let mut fifth = submit('b', 5);
    assert!(fifth.poll().is_pending());
    blocker.release();
    assert_eq!(other.join().unwrap(), 4);
    for (polled, n) in [(&mut second, 2), (&mut third, 3), (&mut fifth, 5)] {
        polled.await_woken();
        assert_eq!(polled.ready().unwrap().join().unwrap(), n);
    }
    finish(&pool);
}
