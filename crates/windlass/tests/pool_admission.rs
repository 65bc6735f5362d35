//! The three steps of `execute`: a new core worker, the queue, a worker beyond core; else refusal.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use threads::{Blockers, Counting, finish};
use windlass::RejectionReason;
use windlass::clock::TestClock;
use windlass::pool::{Builder, NestedWaits};
use windlass::queue::{BlockingQueueExt, LinkedBlockingQueue, SynchronousQueue};
use windlass::task::Task;
use windlass::testing::{Gate, Latch, PATIENCE, until};
use windlass::{
    Executor, ExecutorService, InvokeError, Submit, ThreadPoolExecutor, executors, interrupt,
};

fn sized(core: usize, maximum: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
}

fn bounded(core: usize, maximum: usize, capacity: usize) -> ThreadPoolExecutor {
    let queue = LinkedBlockingQueue::with_capacity(capacity).unwrap();
    sized(core, maximum).work_queue(queue).build().unwrap()
}

/// Gives the pool that many blockers, one after the other, and says how many it took.
fn fill(pool: &ThreadPoolExecutor, blockers: &Blockers, count: usize) -> usize {
    (0..count)
        .filter(|_| pool.execute(blockers.body()).is_ok())
        .count()
}

/// TPE-020
#[test]
fn below_core_size_each_task_starts_a_worker_though_others_are_idle() {
    let pool = sized(2, 2).build().unwrap();
    let sizes = [(); 3].map(|()| {
        pool.submit(|| ()).unwrap().get().unwrap();
        pool.pool_size()
    });
    assert_eq!(sizes, [1, 2, 2]);
    finish(&pool);
}

/// TPE-020
#[test]
fn ten_tasks_start_exactly_ten_core_workers() {
    let threads = Counting::default();
    let pool = sized(10, 20)
        .thread_factory(threads.clone())
        .build()
        .unwrap();
    for made in 1..=10 {
        pool.execute(|| ()).unwrap();
        assert_eq!(threads.created(), made);
    }
    for _ in 0..10 {
        pool.execute(|| ()).unwrap();
    }
    finish(&pool);
    assert_eq!((threads.created(), pool.completed_task_count()), (10, 20));
}

/// TPE-021
#[test]
fn with_an_unbounded_queue_the_pool_never_exceeds_core() {
    let blockers = Blockers::default();
    let pool = sized(1, 10).build().unwrap();
    assert_eq!(fill(&pool, &blockers, 5), 5);
    assert_eq!((pool.pool_size(), pool.queue().len()), (1, 4));
    blockers.release();
    finish(&pool);
    assert_eq!((pool.largest_pool_size(), blockers.ended()), (1, 5));
}

/// TPE-022
#[test]
fn a_task_that_the_queue_refuses_starts_a_worker_and_overtakes_the_queued_ones() {
    let blockers = Blockers::default();
    let order = Arc::new(LinkedBlockingQueue::new());
    let record = |name: &'static str| {
        let order = Arc::clone(&order);
        move || windlass::queue::BlockingQueue::offer(&*order, name).unwrap()
    };
    let pool = bounded(1, 2, 1);
    pool.execute(blockers.body()).unwrap();
    let mut queued = pool.submit(record("queued")).unwrap();
    // The worker that is started for it goes on with the queued one, when it is done.
    pool.submit(record("refused by the queue"))
        .unwrap()
        .get()
        .unwrap();
    queued.get().unwrap();
    assert_eq!(order.snapshot(), ["refused by the queue", "queued"]);
    blockers.release();
    finish(&pool);
}

/// TPE-023
#[test]
fn exactly_maximum_plus_capacity_tasks_fit() {
    for (core, maximum, capacity) in [(1, 1, 1), (1, 3, 2), (3, 3, 4), (0, 2, 3)] {
        let blockers = Blockers::default();
        let pool = bounded(core, maximum, capacity);
        let room = maximum + capacity;
        assert_eq!(fill(&pool, &blockers, 1), 1);
        // With core zero it is queued first, and takes up room until its worker is there.
        blockers.await_started(1);
        assert_eq!(fill(&pool, &blockers, room + 1), room - 1);
        blockers.await_started(maximum);
        until("all counted", || pool.task_count() == room as u64);
        for _ in 0..2 {
            let refused = pool.submit(|| ()).unwrap_err();
            assert_eq!(refused.reason(), RejectionReason::Saturated);
            assert_eq!(pool.task_count(), room as u64);
        }
        assert_eq!(pool.rejected_count(), 4);
        blockers.release();
        finish(&pool);
        assert_eq!(blockers.ended(), room);
    }
}

/// Submits in every way there is, and says why each was refused; `None`: it was not.
fn refusals(pool: &ThreadPoolExecutor) -> Vec<Option<RejectionReason>> {
    let invoked = |error| match error {
        InvokeError::Rejected(refused) => refused.reason(),
        other => panic!("{other}"),
    };
    vec![
        pool.execute_task(Task::new(|| ()))
            .err()
            .map(|e| e.reason()),
        pool.execute(|| ()).err().map(|e| e.reason()),
        pool.submit(|| 1).err().map(|e| e.reason()),
        pool.submit_with_result(|| (), 1).err().map(|e| e.reason()),
        pool.submit_fallible(|| Ok::<_, std::fmt::Error>(1))
            .err()
            .map(|e| e.reason()),
        pool.invoke_all([|| 1]).err().map(invoked),
        pool.invoke_any_fallible([|| Ok::<_, std::fmt::Error>(1)])
            .err()
            .map(invoked),
    ]
}

/// TPE-024
#[test]
fn every_way_to_submit_is_refused_when_full_shutting_down_or_terminated() {
    for at_once in [false, true] {
        let blockers = Blockers::default();
        let pool = bounded(2, 3, 4);
        assert_eq!(fill(&pool, &blockers, 7), 7);
        blockers.await_started(3);
        assert_eq!(refusals(&pool), [Some(RejectionReason::Saturated); 7]);
        if at_once {
            assert_eq!(pool.shutdown_now().len(), 4);
        } else {
            pool.shutdown();
        }
        assert!(pool.is_terminating());
        assert_eq!(refusals(&pool), [Some(RejectionReason::Shutdown); 7]);
        blockers.release();
        finish(&pool);
        assert_eq!(refusals(&pool), [Some(RejectionReason::Shutdown); 7]);
        assert_eq!(pool.completed_task_count(), if at_once { 3 } else { 7 });
    }
}

/// TPE-025
#[test]
fn work_may_be_executed_any_number_of_times_and_runs_once_per_acceptance() {
    const TIMES: usize = 1000;
    let (runs, all) = (Arc::new(AtomicUsize::new(0)), Latch::new(TIMES));
    let work = {
        let (runs, all) = (Arc::clone(&runs), all.clone());
        Arc::new(move || {
            runs.fetch_add(1, Ordering::SeqCst);
            all.count_down();
        })
    };
    let pool = bounded(1, 2, 10);
    for _ in 0..TIMES {
        let work = Arc::clone(&work);
        let mut task = Task::new(move || work());
        let id = task.id();
        // What is refused comes back and is tried again.
        while let Err(refused) = pool.execute_task(task) {
            task = refused.into_task();
            assert_eq!(task.id(), id);
            std::thread::yield_now();
        }
    }
    all.wait();
    finish(&pool);
    assert_eq!(runs.load(Ordering::SeqCst), TIMES);
    assert_eq!(pool.completed_task_count(), TIMES as u64);
}

/// TPE-026
#[test]
fn with_core_zero_the_first_queued_task_starts_one_worker_and_no_more_follow() {
    let (threads, blockers) = (Counting::default(), Blockers::default());
    let pool = sized(0, 10)
        .thread_factory(threads.clone())
        .build()
        .unwrap();
    assert_eq!(fill(&pool, &blockers, 5), 5);
    blockers.await_started(1);
    assert_eq!((pool.pool_size(), pool.queue().len()), (1, 4));
    blockers.release();
    finish(&pool);
    assert_eq!((threads.created(), blockers.ended()), (1, 5));
}

/// What became of the tasks in a race with `shutdown_now`.
#[derive(Default)]
struct Tally {
    accepted: AtomicUsize,
    interrupted: AtomicUsize,
    slept: AtomicUsize,
}

/// Executes sleepers until the pool refuses one.
fn execute_sleepers(pool: &ThreadPoolExecutor, tally: &Arc<Tally>) {
    loop {
        let theirs = Arc::clone(tally);
        let sleeper = move || {
            let ended = match interrupt::sleep(Duration::from_secs(3600)) {
                Err(_) => &theirs.interrupted,
                Ok(()) => &theirs.slept,
            };
            ended.fetch_add(1, Ordering::SeqCst);
        };
        if pool.execute(sleeper).is_err() {
            return;
        }
        tally.accepted.fetch_add(1, Ordering::SeqCst);
    }
}

/// TPE-027
#[test]
fn a_task_that_races_shutdown_now_is_refused_returned_or_run_interrupted() {
    for round in 0..256 {
        let pool = match round % 4 {
            0 => executors::cached_thread_pool(),
            1 => sized(0, 1).build().unwrap(),
            cores => executors::fixed_thread_pool(cores).unwrap(),
        };
        if round % 4 == 0 {
            pool.set_maximum_pool_size(8).unwrap();
            pool.set_rejection_handler(Arc::new(windlass::pool::BlockPolicy::new()));
        }
        let tally = Arc::new(Tally::default());
        let submitter = {
            let (pool, tally) = (pool.clone(), Arc::clone(&tally));
            interrupt::spawn(move || execute_sleepers(&pool, &tally))
        };
        until("some tasks", || {
            tally.accepted.load(Ordering::SeqCst) >= round % 7
        });
        let returned = pool.shutdown_now().len();
        submitter.join().unwrap().unwrap();
        assert_eq!(pool.await_termination(PATIENCE), Ok(true), "{pool:?}");
        assert_eq!(tally.slept.load(Ordering::SeqCst), 0);
        assert_eq!(
            tally.interrupted.load(Ordering::SeqCst) + returned,
            tally.accepted.load(Ordering::SeqCst)
        );
    }
}

/// TPE-028
#[test]
fn submitting_never_waits_and_leaves_the_interrupt_flag_alone() {
    let blockers = Blockers::default();
    let pool = bounded(1, 2, 1);
    let flagged = (0..4).map(|_| {
        interrupt::current().interrupt();
        // A new worker, the queue, a worker beyond core, refusal.
        let accepted = pool.execute(blockers.body()).is_ok();
        (accepted, interrupt::interrupted())
    });
    let flagged: Vec<_> = flagged.collect();
    let expected = [(true, true), (true, true), (true, true), (false, true)];
    assert_eq!(flagged, expected);
    blockers.release();
    finish(&pool);
    assert_eq!((blockers.ended(), blockers.interrupted()), (3, 0));
}

/// TPE-028
#[test]
fn handing_over_to_an_idle_worker_leaves_the_interrupt_flag_alone() {
    let pool = sized(0, 1)
        .work_queue(SynchronousQueue::new())
        .build()
        .unwrap();
    pool.execute(|| ()).unwrap();
    threads::await_idle(&pool, 1);
    interrupt::current().interrupt();
    pool.execute(|| ()).unwrap();
    assert!(interrupt::interrupted());
    finish(&pool);
}

/// TPE-029: as on the JDK, where the pool is told to let workers block.
#[test]
fn a_lone_worker_that_waits_for_its_own_subtask_starves() {
    let clock = TestClock::new();
    let blocking = sized(1, 1).nested_waits(NestedWaits::Block);
    let pool = clock.enter(|| blocking.build().unwrap());
    let inside = pool.clone();
    let mut outer = pool
        .submit(move || {
            let mut subtask = inside.submit(|| "ran").unwrap();
            let waited = subtask.get_timeout(Duration::from_secs(1));
            (waited.unwrap_err().is_timed_out(), subtask)
        })
        .unwrap();
    assert!(clock.await_sleepers(1, PATIENCE));
    assert_eq!((pool.pool_size(), pool.queue().len()), (1, 1));
    clock.advance(Duration::from_secs(1));
    let (starved, mut subtask) = outer.get().unwrap();
    assert!(starved);
    assert_eq!(subtask.get().unwrap(), "ran");
    finish(&pool);
}

/// TPE-029
#[test]
fn a_worker_may_submit_to_its_own_pool() {
    let pool = executors::fixed_thread_pool(2).unwrap();
    let inside = pool.clone();
    let mut outer = pool
        .submit(move || inside.submit(|| 3).unwrap().get().unwrap() + 1)
        .unwrap();
    assert_eq!(outer.get().unwrap(), 4);
    finish(&pool);
}

/// RLQ-018
#[test]
fn an_eager_pool_grows_to_its_maximum_before_it_queues() {
    let gate = Gate::new();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(3)
        .grow_eagerly(true)
        .build()
        .unwrap();
    for expected in 1..=3 {
        let (gate, started) = (gate.clone(), Latch::new(1));
        let begun = started.clone();
        pool.execute(move || {
            begun.count_down();
            gate.pass_uninterruptibly();
        })
        .unwrap();
        started.wait();
        assert_eq!((pool.pool_size(), pool.queue().len()), (expected, 0));
    }
    let queued = gate.clone();
    pool.execute(move || queued.pass_uninterruptibly()).unwrap();
    assert_eq!((pool.pool_size(), pool.queue().len()), (3, 1));
    gate.open();
    pool.close();
    assert_eq!(pool.completed_task_count(), 4);
}

/// RLQ-018
#[test]
fn an_eager_pool_gives_a_task_to_an_idle_worker() {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(3)
        .grow_eagerly(true)
        .build()
        .unwrap();
    for done in 1..=5 {
        pool.submit(|| ()).unwrap().get().unwrap();
        until("the worker is idle again", || {
            pool.completed_task_count() == done
        });
    }
    assert_eq!(pool.largest_pool_size(), 1);
}
