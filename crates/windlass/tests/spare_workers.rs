//! Spare workers replace workers that wait for tasks which run elsewhere, up to a bound.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::sync::{Arc, Barrier};

use recording::{Blocker, CountingFactory, finish, fixed};
use windlass::task::{SharedHandle, Task};
use windlass::testing::{Gate, until, within_patience};
use windlass::{
    Executor, ExecutorService, ScheduledThreadPoolExecutor, Submit, ThreadPoolExecutor, executors,
};

/// A task that runs on another pool until it is released.
struct Elsewhere {
    pool: ThreadPoolExecutor,
    blocker: Blocker,
    running: SharedHandle<()>,
}

impl Elsewhere {
    fn new() -> Self {
        let pool = executors::fixed_thread_pool(1).unwrap();
        let blocker = Blocker::new();
        let running = pool.submit(blocker.body()).unwrap().share();
        blocker.await_held(1);
        Self {
            pool,
            blocker,
            running,
        }
    }

    /// Makes this many workers of the pool wait for it.
    fn await_on(&self, pool: &(impl Executor + ?Sized), count: usize) -> Vec<SharedHandle<()>> {
        let wait = || {
            let running = self.running.clone();
            let (task, handle) = Task::with_handle(move || running.join().unwrap());
            pool.execute_task(task).unwrap();
            handle.share()
        };
        (0..count).map(|_| wait()).collect()
    }

    fn release(self) {
        self.blocker.release();
        self.pool.close();
    }
}

/// WL-115
#[test]
fn without_spares_the_maximum_holds_while_workers_wait() {
    within_patience("the worker", || {
        let pool = fixed(1).build().unwrap();
        let elsewhere = Elsewhere::new();
        let waits = elsewhere.await_on(&pool, 1);
        until("it waits", || pool.stats().waiting_count == 1);
        let queued = pool.submit(|| 1).unwrap();
        assert!(!queued.is_done());
        assert_eq!((pool.pool_size(), pool.stats().queue_len), (1, 1));
        elsewhere.release();
        assert_eq!(queued.join().unwrap(), 1);
        assert!(waits[0].is_done());
        finish(&pool);
        assert_eq!(pool.largest_pool_size(), 1);
    });
}

/// WL-115
#[test]
fn an_idle_spare_leaves_when_the_wait_is_over_though_its_worker_is_busy() {
    within_patience("a spare", || {
        let pool = fixed(1).spare_workers(1).build().unwrap();
        let (elsewhere, gate) = (Elsewhere::new(), Gate::new());
        let (running, theirs) = (elsewhere.running.clone(), gate.clone());
        let busy = pool.submit(move || {
            running.join().unwrap();
            theirs.pass_uninterruptibly();
        });
        until("it waits", || pool.stats().waiting_count == 1);
        pool.submit(|| ()).unwrap().join().unwrap();
        assert_eq!(pool.pool_size(), 2);
        elsewhere.release();
        gate.await_waiting(1);
        until("the spare leaves", || pool.pool_size() == 1);
        gate.open();
        busy.unwrap().join().unwrap();
        finish(&pool);
    });
}

/// WL-115
#[test]
fn a_spare_runs_what_is_queued_and_leaves_when_the_worker_returns() {
    within_patience("a spare", || {
        let factory = CountingFactory::new();
        let pool = fixed(1).spare_workers(1).thread_factory(factory.clone());
        let pool = pool.build().unwrap();
        for round in 1..=3 {
            let elsewhere = Elsewhere::new();
            elsewhere.await_on(&pool, 1);
            until("it waits", || pool.stats().waiting_count == 1);
            assert_eq!(pool.pool_size(), 1);
            // Queued after the wait began, and before.
            assert_eq!(pool.submit(move || round).unwrap().join().unwrap(), round);
            assert_eq!(pool.pool_size(), 2);
            elsewhere.release();
            until("the spare leaves", || pool.pool_size() == 1);
            factory.await_live(1);
        }
        finish(&pool);
        assert_eq!(pool.largest_pool_size(), 2);
    });
}

/// WL-115
#[test]
fn a_spare_is_started_for_what_was_queued_before_the_wait() {
    within_patience("a spare", || {
        let pool = fixed(1).spare_workers(1).build().unwrap();
        let (elsewhere, gate) = (Elsewhere::new(), Gate::new());
        let (passes, running) = (gate.clone(), elsewhere.running.clone());
        let waits = pool.submit(move || {
            passes.pass_uninterruptibly();
            running.join().unwrap();
        });
        gate.await_waiting(1);
        let queued = pool.submit(|| 2).unwrap();
        gate.open();
        assert_eq!(queued.join().unwrap(), 2);
        elsewhere.release();
        waits.unwrap().join().unwrap();
        finish(&pool);
    });
}

/// WL-116
#[test]
fn there_are_never_more_spares_than_the_bound_nor_than_workers_that_wait() {
    within_patience("spares", || {
        let factory = CountingFactory::new();
        let pool = fixed(2).spare_workers(3).thread_factory(factory.clone());
        let pool = pool.build().unwrap();
        let elsewhere = Elsewhere::new();
        let waits = elsewhere.await_on(&pool, 20);
        until("the bound", || {
            let stats = pool.stats();
            assert!(factory.live() <= 5, "{stats:?}");
            stats.waiting_count == 5
        });
        assert_eq!((pool.pool_size(), pool.stats().queue_len), (5, 15));
        elsewhere.release();
        for wait in waits {
            wait.join().unwrap();
        }
        until("the spares leave", || pool.pool_size() == 2);
        finish(&pool);
        assert_eq!((pool.largest_pool_size(), factory.created()), (5, 5));
    });
}

/// WL-116
#[test]
fn no_spare_is_started_while_another_worker_is_idle() {
    within_patience("an idle worker", || {
        let pool = fixed(2).spare_workers(2).build().unwrap();
        pool.prestart_all_core_threads();
        let elsewhere = Elsewhere::new();
        elsewhere.await_on(&pool, 1);
        until("it waits", || pool.stats().waiting_count == 1);
        for n in 0..100 {
            assert_eq!(pool.submit(move || n).unwrap().join().unwrap(), n);
            until("it is idle", || pool.active_count() == 1);
        }
        elsewhere.release();
        finish(&pool);
        assert_eq!(pool.largest_pool_size(), 2);
    });
}

/// WL-116
#[test]
fn a_spare_is_started_for_what_an_idle_worker_has_no_time_for() {
    within_patience("two tasks for one idle worker", || {
        for _ in 0..50 {
            let pool = fixed(2).spare_workers(1).build().unwrap();
            pool.prestart_all_core_threads();
            let elsewhere = Elsewhere::new();
            elsewhere.await_on(&pool, 1);
            until("it waits", || pool.stats().waiting_count == 1);
            let meeting = Arc::new(Barrier::new(2));
            let meet = |meeting: Arc<Barrier>| pool.submit(move || meeting.wait().is_leader());
            let first = meet(Arc::clone(&meeting)).unwrap();
            let second = meet(meeting).unwrap();
            assert_ne!(first.join().unwrap(), second.join().unwrap());
            assert_eq!(pool.largest_pool_size(), 3);
            elsewhere.release();
            finish(&pool);
        }
    });
}

/// WL-116
#[test]
fn a_pool_whose_spare_gets_no_thread_goes_on() {
    within_patience("no thread", || {
        let pool = fixed(1).spare_workers(1).build().unwrap();
        pool.prestart_all_core_threads();
        pool.set_thread_factory(CountingFactory::failing());
        let elsewhere = Elsewhere::new();
        elsewhere.await_on(&pool, 1);
        until("it waits", || pool.stats().waiting_count == 1);
        let queued = pool.submit(|| 3).unwrap();
        assert!(pool.stats().refused_thread_count > 0);
        elsewhere.release();
        assert_eq!(queued.join().unwrap(), 3);
        finish(&pool);
    });
}

/// WL-115
#[test]
fn a_scheduled_pool_has_spares_too() {
    within_patience("a spare", || {
        let builder = ScheduledThreadPoolExecutor::builder().core_pool_size(1);
        let pool = builder.spare_workers(1).build();
        let elsewhere = Elsewhere::new();
        elsewhere.await_on(&pool, 1);
        until("it waits", || pool.stats().waiting_count == 1);
        assert_eq!(pool.submit(|| 4).unwrap().join().unwrap(), 4);
        assert_eq!(pool.pool_size(), 2);
        elsewhere.release();
        until("the spare leaves", || pool.pool_size() == 1);
        pool.close();
    });
}
