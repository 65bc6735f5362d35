//! Thread pools, racing with their settings, their end and the fate of their tasks.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{Account, Ledger, Rendezvous, producers, spawn};
use crate::completion::CompletionService;
use crate::executor::ExecutorService;
use crate::pool::{
    BlockPolicy, Builder, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, Hooks, Outcome,
    TaskInfo, ThreadPoolExecutor,
};
use crate::queue::{BlockingQueue, LinkedBlockingQueue, ResizableBlockingQueue, SynchronousQueue};
use crate::submit::Submit;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, model, thread};
use crate::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};

const LONG: Duration = Duration::from_secs(60);

fn sized(core: usize, maximum: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
        .keep_alive(LONG)
}

/// A queue with room for one.
fn narrow(builder: Builder) -> Builder {
    builder.work_queue(LinkedBlockingQueue::with_capacity(1).unwrap())
}

/// Two producers on a new pool, and something else at the same time, in each schedule.
fn race(
    build: impl Fn() -> Builder + Send + Sync + 'static,
    disturb: impl Fn(&ThreadPoolExecutor, &Ledger) + Clone + Send + Sync + 'static,
    check: impl Fn(&ThreadPoolExecutor, Account) + Send + Sync + 'static,
) {
    let produce = |pool: &ThreadPoolExecutor, ledger: &Ledger| {
        ledger.submit(pool, || ());
        ledger.execute(pool, || ());
    };
    model(move || race_once(build(), produce, disturb.clone(), &check));
}

/// Does the same as [`race`], where tasks may be dropped: the handle of each reports it.
fn race_for_places(
    build: impl Fn() -> Builder + Send + Sync + 'static,
    disturb: impl Fn(&ThreadPoolExecutor, &Ledger) + Clone + Send + Sync + 'static,
    check: impl Fn(&ThreadPoolExecutor, Account) + Send + Sync + 'static,
) {
    let produce = |pool: &ThreadPoolExecutor, ledger: &Ledger| {
        ledger.submit(pool, || ());
        ledger.submit(pool, || ());
    };
    model(move || race_once(build(), produce, disturb.clone(), &check));
}

fn race_once(
    builder: Builder,
    produce: impl Fn(&ThreadPoolExecutor, &Ledger) + Clone + Send + 'static,
    disturb: impl Fn(&ThreadPoolExecutor, &Ledger) + Send + 'static,
    check: &(impl Fn(&ThreadPoolExecutor, Account) + ?Sized),
) {
    let (pool, ledger) = (builder.build().unwrap(), Ledger::default());
    let theirs = (pool.clone(), ledger.clone());
    let disturber = spawn(move || disturb(&theirs.0, &theirs.1));
    let theirs = (pool.clone(), ledger.clone());
    producers(2, move || produce(&theirs.0, &theirs.1));
    disturber.join().unwrap();
    check(&pool, ledger.audit(&pool));
}

/// Checks that every task ran or was rejected, and that the counters agree.
fn run_or_refused(pool: &ThreadPoolExecutor, account: Account) {
    assert_eq!(pool.completed_task_count(), account.ran);
    assert_eq!(pool.rejected_count(), account.refused);
    assert_eq!(account.unrun, 0);
}

/// Checks that every task ran.
fn all_run(pool: &ThreadPoolExecutor, account: Account) {
    run_or_refused(pool, account);
    assert_eq!(account.ran, account.sent);
}

#[test]
fn a_shutdown_while_tasks_are_submitted() {
    race(
        || narrow(sized(1, 2)),
        |pool, _| pool.shutdown(),
        run_or_refused,
    );
}

#[test]
fn a_shutdown_by_a_task() {
    race(
        || sized(1, 1),
        |pool, ledger| {
            let theirs = pool.clone();
            ledger.execute(pool, move || theirs.shutdown());
        },
        run_or_refused,
    );
}

#[test]
fn two_stops_and_a_shutdown_at_once() {
    race(
        || sized(2, 2),
        |pool, ledger| {
            let theirs = (pool.clone(), ledger.clone());
            let other = spawn(move || theirs.1.take_back(theirs.0.shutdown_now()));
            pool.shutdown();
            ledger.take_back(pool.shutdown_now());
            other.join().unwrap();
        },
        run_or_refused,
    );
}

#[test]
fn a_stop_ends_the_wait_of_a_task_that_runs() {
    model(|| {
        let (pool, ledger) = (sized(2, 2).build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
        let waiter = pool.submit(|| {
            let never = LinkedBlockingQueue::<()>::new();
            assert!(never.take().is_err());
        });
        let waiter = waiter.unwrap();
        let back = pool.shutdown_now().into_iter();
        ledger.take_back(back.filter(|task| task.id() != waiter.id()));
        producer.join().unwrap();
        let account = ledger.audit(&pool);
        let waited = u64::from(!waiter.is_cancelled());
        assert_eq!(pool.completed_task_count(), account.ran + waited);
    });
}

#[test]
fn a_task_that_submits_while_its_pool_is_shut_down() {
    race(
        || sized(1, 1),
        |pool, ledger| {
            let theirs = (pool.clone(), ledger.clone());
            ledger.execute(pool, move || {
                theirs.1.execute_some(&theirs.0, 1);
            });
            pool.shutdown();
        },
        run_or_refused,
    );
}

#[test]
fn a_cancelled_task_ends_once_queued_or_running() {
    race(
        || sized(1, 1),
        |pool, ledger| {
            let first = ledger.submit(pool, || ());
            let second = ledger.submit(pool, || ());
            second.cancel();
            first.cancel_now();
        },
        // A worker takes each of them, cancelled or not.
        |pool, account| assert_eq!(pool.completed_task_count(), account.sent),
    );
}

#[test]
fn a_removed_task_is_the_removers_and_no_workers() {
    race(
        || sized(1, 1),
        |pool, ledger| {
            let id = ledger.execute(pool, || ()).unwrap();
            ledger.take_back(pool.remove(id));
            let id = ledger.submit(pool, || ()).id();
            ledger.take_back(pool.remove(id));
        },
        run_or_refused,
    );
}

#[test]
fn a_purge_takes_out_what_was_cancelled_and_no_worker_had() {
    model(|| {
        let (pool, ledger) = (sized(1, 1).build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
        let cancelled = [(); 2].map(|()| ledger.submit(&pool, || ()));
        for handle in &cancelled {
            handle.cancel();
        }
        let purged = pool.purge() as u64;
        producer.join().unwrap();
        let account = ledger.audit(&pool);
        assert_eq!(pool.completed_task_count(), account.sent - purged);
    });
}

#[test]
fn a_larger_core_runs_what_was_queued() {
    model(|| {
        let (pool, ledger) = (sized(1, 2).build().unwrap(), Ledger::default());
        let rendezvous = Rendezvous::of(2);
        ledger.execute(&pool, rendezvous.participant());
        // Queued behind the first, which can only end while this one runs.
        ledger.execute(&pool, rendezvous.participant());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
        pool.set_core_pool_size(2).unwrap();
        producer.join().unwrap();
        all_run(&pool, ledger.audit(&pool));
    });
}

#[test]
fn a_smaller_core_while_tasks_are_submitted() {
    race(
        || sized(2, 2),
        |pool, _| pool.set_core_pool_size(0).unwrap(),
        all_run,
    );
}

#[test]
fn a_smaller_maximum_while_tasks_are_submitted() {
    race(
        || narrow(sized(0, 3)),
        |pool, _| pool.set_maximum_pool_size(1).unwrap(),
        run_or_refused,
    );
}

#[test]
fn idle_workers_are_retired_while_tasks_are_submitted() {
    race(
        || sized(0, 2),
        |pool, _| {
            pool.retire_idle();
            pool.retire_idle();
        },
        all_run,
    );
}

#[test]
fn core_workers_that_time_out_leave_nothing_behind() {
    race(
        || sized(2, 2).allow_core_thread_timeout(true),
        |_, _| (),
        all_run,
    );
}

#[test]
fn keep_alive_changes_while_tasks_are_submitted() {
    race(
        || sized(1, 2),
        |pool, _| {
            pool.set_keep_alive(Duration::from_nanos(1)).unwrap();
            pool.set_allow_core_thread_timeout(true).unwrap();
            pool.set_keep_alive(LONG).unwrap();
        },
        all_run,
    );
}

#[test]
fn workers_that_are_started_early_are_no_more_than_core() {
    race(
        || sized(2, 4),
        |pool, _| {
            pool.prestart_all_core_threads();
            pool.prestart_core_thread();
        },
        |pool, account| {
            all_run(pool, account);
            assert!(pool.largest_pool_size() <= 2);
        },
    );
}

#[test]
fn workers_of_a_cached_pool_are_used_again_or_leave() {
    model(|| {
        let pool = sized(0, 4)
            .work_queue(SynchronousQueue::with_interchangeable_takers())
            .build()
            .unwrap();
        let ledger = Ledger::default();
        let theirs = (pool.clone(), ledger.clone());
        producers(2, move || {
            for _ in 0..2 {
                theirs.1.submit(&theirs.0, || ()).wait().unwrap();
            }
        });
        all_run(&pool, ledger.audit(&pool));
    });
}

#[test]
fn a_worker_that_a_panic_has_killed_is_replaced() {
    race(
        || sized(1, 1),
        |pool, ledger| {
            for _ in 0..2 {
                ledger.execute(pool, || std::panic::resume_unwind(Box::new("planned")));
            }
        },
        all_run,
    );
}

#[test]
fn a_worker_that_survives_a_panic_goes_on() {
    race(
        || sized(1, 1).reuse_worker_after_panic(true),
        |pool, ledger| {
            ledger.execute(pool, || std::panic::resume_unwind(Box::new("planned")));
        },
        |pool, account| {
            all_run(pool, account);
            assert_eq!(pool.largest_pool_size(), 1);
        },
    );
}

/// A factory that fails the first time.
#[derive(Debug)]
struct Unreliable {
    calls: AtomicUsize,
    kind: Unreliability,
    /// The thread that drops the first body.
    dropper: Mutex<Option<thread::JoinHandle<()>>>,
    real: DefaultThreadFactory,
}

#[derive(Debug, Clone, Copy)]
enum Unreliability {
    Refuses,
    /// Creates this many threads, and refuses all others.
    RefusesAfter(usize),
    /// Returns `Ok`, and drops the body later on another thread.
    Forgets,
}

impl Unreliable {
    fn that(kind: Unreliability) -> Self {
        Self {
            calls: AtomicUsize::new(0),
            kind,
            dropper: Mutex::new(None),
            real: DefaultThreadFactory::named("model"),
        }
    }
}

impl ThreadFactory for Unreliable {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        match (self.calls.fetch_add(1, Ordering::SeqCst), self.kind) {
            (0, Unreliability::Refuses) => Err(io::ErrorKind::OutOfMemory.into()),
            (0, Unreliability::Forgets) => {
                *self.dropper.lock() = Some(spawn(move || drop(body)));
                Ok(())
            }
            (call, Unreliability::RefusesAfter(limit)) if call >= limit => {
                Err(io::ErrorKind::OutOfMemory.into())
            }
            _ => self.real.new_thread(body),
        }
    }
}

/// Checks that every task ran, was returned, or was cancelled because the pool had no thread.
fn run_refused_or_abandoned(pool: &ThreadPoolExecutor, account: Account) {
    assert_eq!(pool.completed_task_count(), account.ran);
    assert_eq!(pool.rejected_count(), account.refused);
    assert_eq!(pool.stats().abandoned_task_count, account.unrun);
}

/// Submitters that rely on a worker which is refused to another one are not left waiting.
#[test]
fn no_thread_can_be_made_at_all() {
    for core in [0, 1] {
        race_for_places(
            move || {
                let factory = Unreliable::that(Unreliability::RefusesAfter(0));
                sized(core, 2).thread_factory(factory)
            },
            |pool, _| {
                pool.prestart_core_thread();
            },
            |pool, account| {
                assert_eq!(account.ran, 0);
                run_refused_or_abandoned(pool, account);
            },
        );
    }
}

/// What is queued behind the last worker is not left there when that cannot be replaced.
#[test]
fn a_worker_that_dies_and_cannot_be_replaced() {
    /// Ends the worker after each task.
    struct Fatal;
    impl Hooks for Fatal {
        fn after_execute(&self, _: &TaskInfo, _: &Outcome) {
            std::panic::resume_unwind(Box::new("planned"));
        }
    }
    race_for_places(
        || {
            let factory = Unreliable::that(Unreliability::RefusesAfter(1));
            sized(1, 1).thread_factory(factory).hooks(Fatal)
        },
        |_, _| (),
        |pool, account| {
            assert_eq!(account.ran, 1);
            run_refused_or_abandoned(pool, account);
        },
    );
}

/// The uncaught handler has returned for each failure when the pool has terminated.
#[test]
fn a_failure_is_reported_before_the_end() {
    model(|| {
        let reported = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&reported);
        let pool = sized(2, 2)
            .uncaught_handler(move |_| {
                theirs.fetch_add(1, Ordering::SeqCst);
            })
            .build()
            .unwrap();
        for _ in 0..2 {
            pool.execute(|| std::panic::resume_unwind(Box::new("planned")))
                .unwrap();
        }
        pool.close();
        assert_eq!(reported.load(Ordering::SeqCst), 2);
        assert_eq!(pool.stats().failed_task_count, 2);
    });
}

/// One snapshot does not contradict itself, however the tasks go on while it is taken.
#[test]
fn a_snapshot_while_tasks_run() {
    model(|| {
        let pool = sized(1, 2).build().unwrap();
        let theirs = pool.clone();
        let producer = spawn(move || {
            for _ in 0..3 {
                let fails = || std::panic::resume_unwind(Box::new("planned"));
                drop(theirs.submit(fails).unwrap());
            }
        });
        let mut highest = 0;
        for _ in 0..3 {
            let stats = pool.stats();
            let begun = stats.completed_task_count + stats.active_count as u64;
            assert!(begun + stats.queue_len as u64 <= stats.task_count);
            assert!(stats.failed_task_count <= stats.completed_task_count);
            assert!(stats.active_count <= stats.pool_size);
            assert!(stats.pool_size <= stats.largest_pool_size);
            assert!(highest <= stats.task_count && stats.task_count <= 3);
            highest = stats.task_count;
        }
        producer.join().unwrap();
        pool.close();
    });
}

#[test]
fn a_thread_that_cannot_be_made() {
    race(
        || sized(1, 2).thread_factory(Unreliable::that(Unreliability::Refuses)),
        |_, _| (),
        all_run,
    );
}

/// A thread that queues a task while the only worker is being started relies on that worker.
#[test]
fn a_thread_that_cannot_be_made_ahead_of_its_tasks() {
    for how in [Unreliability::Refuses, Unreliability::Forgets] {
        race(
            move || sized(1, 2).thread_factory(Unreliable::that(how)),
            |pool, _| {
                pool.prestart_core_thread();
            },
            all_run,
        );
    }
}

#[test]
fn a_thread_that_is_promised_and_does_not_come() {
    race(
        || sized(1, 2).thread_factory(Unreliable::that(Unreliability::Forgets)),
        |_, _| (),
        all_run,
    );
}

#[test]
fn a_thread_that_is_promised_and_does_not_come_before_the_stop() {
    model(|| {
        let factory = Arc::new(Unreliable::that(Unreliability::Forgets));
        let builder = sized(1, 2).thread_factory(Arc::clone(&factory));
        let (pool, ledger) = (builder.build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let stopper = spawn(move || theirs.1.take_back(theirs.0.shutdown_now()));
        for _ in 0..2 {
            ledger.submit(&pool, || ());
        }
        stopper.join().unwrap();
        // The thread that drops the body also places or rejects the task, possibly after termination.
        let dropper = factory.dropper.lock().take();
        if let Some(dropper) = dropper {
            dropper.join().unwrap();
        }
        let account = ledger.audit(&pool);
        assert_eq!(pool.completed_task_count(), account.ran);
    });
}

#[test]
fn blocked_submitters_get_their_turn() {
    race(
        || narrow(sized(1, 1)).rejection_handler(BlockPolicy::new()),
        |pool, ledger| {
            ledger.execute_some(pool, 2);
        },
        |pool, account| {
            assert_eq!(account.refused, 0);
            assert_eq!(pool.completed_task_count(), account.sent);
        },
    );
}

#[test]
fn blocked_submitters_get_a_place_in_a_larger_queue() {
    model(|| {
        let pool = sized(1, 1)
            .work_queue(ResizableBlockingQueue::with_capacity(1).unwrap())
            .rejection_handler(BlockPolicy::new())
            .build()
            .unwrap();
        let ledger = Ledger::default();
        let rendezvous = Rendezvous::of(2);
        // The worker is kept until all have been taken: only the queue can make room for them.
        ledger.execute(&pool, rendezvous.participant());
        let theirs = (pool.clone(), ledger.clone());
        let submitter = spawn(move || {
            producers(2, move || {
                theirs.1.execute_some(&theirs.0, 1);
            });
        });
        pool.set_queue_capacity(2).unwrap();
        submitter.join().unwrap();
        rendezvous.arrive();
        let account = ledger.audit(&pool);
        assert_eq!((account.sent, account.refused), (3, 0));
        assert_eq!(pool.completed_task_count(), 3);
    });
}

#[test]
fn blocked_submitters_get_a_worker_of_a_larger_maximum() {
    model(|| {
        let builder = narrow(sized(1, 1)).rejection_handler(BlockPolicy::new());
        let (pool, ledger) = (builder.build().unwrap(), Ledger::default());
        let rendezvous = Rendezvous::of(2);
        ledger.execute(&pool, rendezvous.participant());
        ledger.execute_some(&pool, 1);
        // The queue is full, and stays so until this one meets the first.
        let theirs = (pool.clone(), ledger.clone(), rendezvous.participant());
        let submitter = spawn(move || theirs.1.execute(&theirs.0, theirs.2));
        pool.set_maximum_pool_size(2).unwrap();
        submitter.join().unwrap();
        let account = ledger.audit(&pool);
        assert_eq!((account.ran, account.refused), (3, 0));
        assert_eq!(pool.completed_task_count(), 3);
    });
}

#[test]
fn blocked_submitters_at_a_hand_off_and_a_shutdown() {
    race(
        || {
            sized(1, 1)
                .work_queue(SynchronousQueue::new())
                .rejection_handler(BlockPolicy::new())
        },
        |pool, _| pool.shutdown(),
        |pool, account| {
            assert_eq!(pool.completed_task_count(), account.sent - account.refused);
            assert_eq!(account.unrun, 0);
        },
    );
}

#[test]
fn blocked_submitters_and_a_shutdown() {
    race(
        || narrow(sized(1, 1)).rejection_handler(BlockPolicy::new()),
        |pool, _| pool.shutdown(),
        |pool, account| {
            assert_eq!(pool.completed_task_count(), account.sent - account.refused);
            assert_eq!(account.unrun, 0);
        },
    );
}

#[test]
fn blocked_submitters_and_a_stop() {
    race(
        || narrow(sized(1, 1)).rejection_handler(BlockPolicy::with_timeout(LONG)),
        |pool, ledger| ledger.take_back(pool.shutdown_now()),
        |pool, account| assert_eq!(pool.completed_task_count(), account.ran),
    );
}

#[test]
fn callers_that_run_their_tasks_and_a_shutdown() {
    race_for_places(
        || narrow(sized(1, 1)).rejection_handler(CallerRunsPolicy),
        |pool, _| pool.shutdown(),
        |pool, account| {
            // A rejected task runs on the submitter's thread, or is dropped after the shutdown.
            let seen = pool.completed_task_count() + pool.rejected_count();
            assert_eq!((seen, account.refused), (account.sent, 0));
        },
    );
}

#[test]
fn callers_run_what_there_is_no_room_for() {
    race(
        || narrow(sized(1, 1)).rejection_handler(CallerRunsPolicy),
        |_, _| (),
        |pool, account| {
            assert_eq!(account.ran, account.sent);
            let seen = pool.completed_task_count() + pool.rejected_count();
            assert_eq!(seen, account.sent);
        },
    );
}

#[test]
fn the_oldest_makes_room() {
    race_for_places(
        || narrow(sized(1, 1)).rejection_handler(DiscardOldestPolicy),
        |pool, ledger| {
            ledger.submit(pool, || ());
        },
        |pool, account| {
            assert_eq!(pool.completed_task_count(), account.ran);
            assert_eq!(account.ran + account.unrun, account.sent);
        },
    );
}

#[test]
fn the_oldest_makes_room_until_the_shutdown() {
    race_for_places(
        || narrow(sized(1, 1)).rejection_handler(DiscardOldestPolicy),
        |pool, _| pool.shutdown(),
        |pool, account| {
            assert_eq!(pool.completed_task_count(), account.ran);
            assert_eq!(account.ran + account.unrun, account.sent);
        },
    );
}

#[test]
fn what_is_dropped_is_counted() {
    race_for_places(
        || narrow(sized(1, 1)).rejection_handler(DiscardPolicy),
        |pool, ledger| ledger.take_back(pool.shutdown_now()),
        |pool, account| {
            assert_eq!(pool.completed_task_count(), account.ran);
            assert_eq!(pool.rejected_count(), account.unrun);
        },
    );
}

/// Hooks that count their calls.
#[derive(Default)]
struct CountingHooks {
    before: AtomicUsize,
    after: AtomicUsize,
    ended: AtomicUsize,
}

impl Hooks for CountingHooks {
    fn before_execute(&self, _: &TaskInfo) {
        self.before.fetch_add(1, Ordering::SeqCst);
    }

    fn after_execute(&self, _: &TaskInfo, _: &Outcome) {
        self.after.fetch_add(1, Ordering::SeqCst);
    }

    fn terminated(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn hooks_are_told_of_every_run_and_of_one_end() {
    model(|| {
        let hooks = Arc::new(CountingHooks::default());
        let builder = sized(1, 2).hooks(Arc::clone(&hooks));
        let produce = |pool: &ThreadPoolExecutor, ledger: &Ledger| {
            ledger.execute(pool, || ());
            ledger.execute(pool, || ());
        };
        let stop =
            |pool: &ThreadPoolExecutor, ledger: &Ledger| ledger.take_back(pool.shutdown_now());
        race_once(builder, produce, stop, &|_: &_, account: Account| {
            let runs =
                [&hooks.before, &hooks.after].map(|count| count.load(Ordering::SeqCst) as u64);
            assert_eq!(runs, [account.ran; 2]);
            assert_eq!(hooks.ended.load(Ordering::SeqCst), 1);
        });
    });
}

#[test]
fn all_that_are_invoked_together_end() {
    model(|| {
        let (pool, ledger) = (sized(2, 2).build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 1));
        let rendezvous = Rendezvous::of(2);
        let bodies = [(); 2].map(|()| ledger.body(rendezvous.participant()));
        let ended = pool.invoke_all(bodies).unwrap();
        assert!(ended.iter().all(|handle| handle.is_done()));
        producer.join().unwrap();
        all_run(&pool, ledger.audit(&pool));
    });
}

#[test]
fn of_those_that_race_one_wins_and_the_rest_end() {
    model(|| {
        let (pool, ledger) = (sized(2, 2).build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 2));
        let started = Arc::new(AtomicUsize::new(0));
        let bodies = (0..3).map(|n| {
            let started = Arc::clone(&started);
            move || {
                started.fetch_add(1, Ordering::SeqCst);
                if n == 0 { Err("never this one") } else { Ok(n) }
            }
        });
        assert!(matches!(pool.invoke_any_fallible(bodies), Ok(1 | 2)));
        producer.join().unwrap();
        let account = ledger.audit(&pool);
        let completed = pool.completed_task_count() - account.ran;
        assert!((started.load(Ordering::SeqCst) as u64..=3).contains(&completed));
    });
}

#[test]
fn results_come_in_the_order_of_their_completion_and_none_is_missing() {
    model(|| {
        let (pool, ledger) = (narrow(sized(1, 3)).build().unwrap(), Ledger::default());
        let service = CompletionService::new(pool.clone());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.execute_some(&theirs.0, 1));
        let taken = (0..3).filter(|n| {
            let n = *n;
            service.submit(move || n).is_ok()
        });
        let taken = taken.count();
        let mut results: Vec<u32> = (0..taken)
            .map(|_| service.take().unwrap().get().unwrap())
            .collect();
        results.sort_unstable();
        results.dedup();
        assert_eq!((results.len(), service.overflowed()), (taken, 0));
        producer.join().unwrap();
        let account = ledger.audit(&pool);
        assert_eq!(pool.completed_task_count(), account.ran + taken as u64);
    });
}

#[test]
fn a_pool_whose_last_handle_is_dropped_runs_what_it_has() {
    model(|| {
        let (pool, ledger) = (sized(1, 1).build().unwrap(), Ledger::default());
        let theirs = (pool.clone(), ledger.clone());
        let producer = spawn(move || theirs.1.submit(&theirs.0, || ()));
        let handle = ledger.submit(&pool, || ());
        drop(pool);
        handle.wait().unwrap();
        producer.join().unwrap().wait().unwrap();
        assert_eq!(ledger.close().ran, 2);
    });
}
