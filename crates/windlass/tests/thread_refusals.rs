//! Pools whose threads the system refuses: every task is run, returned or cancelled with the reason, the
//! figures and the uncaught handler tell of it, and the pool terminates.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use threads::{Counting, await_size, finish};
use windlass::executors::{SerialExecutor, ThreadPerTaskExecutor};
use windlass::pool::{
    BlockPolicy, Builder, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, PoolStats,
    Saturated,
};
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, BlockingQueueExt, LinkedBlockingQueue, SynchronousQueue,
};
use windlass::task::{Cancellation, Task, TaskHandle};
use windlass::testing::{Gate, PATIENCE, until, within_patience};
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{
    CloseOnDrop, CompletionService, ExecutorService, ForkJoinPool, RejectedExecution,
    RejectionReason, Schedule, ScheduledThreadPoolExecutor, Submit, ThreadPoolExecutor,
};

/// How a factory tells that there is no thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// With the error of the system.
    Error,
    /// It drops the body, and returns `Ok`.
    Drop,
    /// It returns `Ok`, and another thread drops the body.
    DropElsewhere,
}

const FAULTS: [Fault; 3] = [Fault::Error, Fault::Drop, Fault::DropElsewhere];

/// The error of the system at a process limit (EAGAIN).
fn limit_reached() -> io::Error {
    io::Error::from_raw_os_error(11)
}

/// A factory that creates so many threads, and then none until it may again.
#[derive(Debug, Clone)]
struct Limited {
    fault: Fault,
    left: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    threads: Counting,
}

impl Limited {
    fn to(threads: usize, fault: Fault) -> Self {
        Self {
            fault,
            left: Arc::new(AtomicUsize::new(threads)),
            asked: Arc::default(),
            threads: Counting::default(),
        }
    }

    fn allow(&self, threads: usize) {
        self.left.fetch_add(threads, Ordering::SeqCst);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl ThreadFactory for Limited {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let one = |left: usize| left.checked_sub(1);
        let (set, get) = (Ordering::SeqCst, Ordering::SeqCst);
        if self.left.fetch_update(set, get, one).is_ok() {
            return self.threads.new_thread(body);
        }
        match self.fault {
            Fault::Error => Err(limit_reached()),
            Fault::Drop => Ok(()),
            Fault::DropElsewhere => thread::Builder::new().spawn(|| drop(body)).map(drop),
        }
    }
}

/// What the uncaught handler of a pool was called with.
#[derive(Debug, Clone, Default)]
struct Reports(Arc<LinkedBlockingQueue<String>>);

impl Reports {
    fn of(&self, builder: Builder) -> Builder {
        let reports = Arc::clone(&self.0);
        builder.uncaught_handler(move |failure| reports.offer(failure.to_string()).unwrap())
    }

    fn all(&self) -> Vec<String> {
        self.0.snapshot()
    }
}

fn sized(core: usize, maximum: usize, factory: &Limited) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
        .thread_factory(factory.clone())
}

/// What a caller learns of a task that found no thread, at once or by its handle.
fn refused<T: Send + 'static>(
    submitted: Result<TaskHandle<T>, RejectedExecution<TaskHandle<T>>>,
) -> bool {
    match submitted {
        Err(rejected) => rejected.reason() == RejectionReason::NoThread,
        Ok(mut handle) => {
            let outcome = within_patience("the handle", move || handle.get().map(drop));
            let why = outcome.unwrap_err().cancellation();
            assert!(
                matches!(why, Some(Cancellation::NoThread | Cancellation::Rejected)),
                "{why:?}"
            );
            true
        }
    }
}

fn refusals(stats: &PoolStats) -> (bool, Option<io::ErrorKind>) {
    (stats.refused_thread_count > 0, stats.last_refusal)
}

/// TPE-042
#[test]
fn a_pool_without_any_thread_returns_the_task_with_the_error_of_the_system() {
    let (factory, reports) = (Limited::to(0, Fault::Error), Reports::default());
    for core in [0, 1, 3] {
        let pool = reports.of(sized(core, 3, &factory)).build().unwrap();
        let reported = reports.all().len();
        let rejected = pool.submit(|| 5).unwrap_err();
        assert_eq!(rejected.reason(), RejectionReason::NoThread);
        let source = rejected.source().unwrap().downcast_ref::<io::Error>();
        assert_eq!(source.unwrap().raw_os_error(), Some(11));
        assert_eq!(reports.all().len(), reported + 1);
        let stats = pool.stats();
        assert_eq!(
            refusals(&stats),
            (true, Some(io::ErrorKind::WouldBlock)),
            "{stats:?}"
        );
        assert_eq!((stats.rejected_count, stats.abandoned_task_count), (1, 0));
        assert_eq!(
            (stats.pool_size, stats.queue_len, stats.task_count),
            (0, 0, 0)
        );
        let (task, mut handle) = rejected.into_parts();
        task.run();
        assert_eq!(handle.get().unwrap(), 5);
        pool.shutdown();
        assert!(pool.is_terminated());
    }
}

/// TPE-042
#[test]
fn no_handle_waits_in_a_pool_without_any_thread() {
    for fault in FAULTS {
        let pool = sized(1, 2, &Limited::to(0, fault)).build().unwrap();
        for _ in 0..10 {
            assert!(refused(pool.submit(|| ())), "{fault:?}");
        }
        pool.shutdown();
        assert_eq!(pool.await_termination(PATIENCE), Ok(true), "{fault:?}");
        assert_eq!(pool.queue().len(), 0);
    }
}

/// The absurd stack of a thread is refused by the system itself.
#[test]
fn a_stack_that_no_system_has_is_refused_by_the_system() {
    let factory = DefaultThreadFactory::named("vast").stack_size(1 << 60);
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .thread_factory(factory)
        .build()
        .unwrap();
    let rejected = pool.submit(|| ()).unwrap_err();
    assert_eq!(rejected.reason(), RejectionReason::NoThread);
    assert!(rejected.source().unwrap().is::<io::Error>());
    assert!(pool.stats().refused_thread_count > 0);
    pool.close();
}

/// TPE-042
#[test]
fn a_pool_that_was_refused_works_as_soon_as_it_gets_a_thread() {
    for fault in FAULTS {
        let factory = Limited::to(0, fault);
        let pool = sized(1, 1, &factory).build().unwrap();
        assert!(refused(pool.submit(|| ())));
        until("the lost workers are uncounted", || pool.pool_size() == 0);
        factory.allow(1);
        assert_eq!(pool.submit(|| 7).unwrap().get().unwrap(), 7);
        finish(&pool);
    }
}

/// TPE-040
#[test]
fn with_fewer_threads_than_core_the_pool_goes_on_and_says_so() {
    for fault in FAULTS {
        let (factory, reports) = (Limited::to(2, fault), Reports::default());
        let pool = reports.of(sized(8, 8, &factory)).build().unwrap();
        let handles: Vec<_> = (0..20).map(|n| pool.submit(move || n).unwrap()).collect();
        for (n, mut handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.get().unwrap(), n);
        }
        until("two workers", || pool.pool_size() == 2);
        let stats = pool.stats();
        assert!(stats.refused_thread_count > 0, "{stats:?}");
        assert_eq!((stats.rejected_count, stats.abandoned_task_count), (0, 0));
        finish(&pool);
        assert_eq!(pool.completed_task_count(), 20);
        assert!(reports.all().is_empty(), "{:?}", reports.all());
    }
}

/// A factory that promises one thread, which comes to nothing when the test says so, and refuses others.
#[derive(Debug, Clone, Default)]
struct Promised(Arc<Mutex<Option<ThreadBody>>>, Arc<AtomicUsize>);

impl Promised {
    /// Drops the body of the thread on another thread.
    fn break_promise(&self) -> thread::JoinHandle<()> {
        let body = self.0.lock().unwrap().take().unwrap();
        thread::spawn(|| drop(body))
    }
}

impl ThreadFactory for Promised {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        if self.1.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(limit_reached());
        }
        *self.0.lock().unwrap() = Some(body);
        Ok(())
    }
}

/// WL-022
#[test]
fn a_pool_terminates_after_a_task_whose_thread_did_not_come_was_rejected() {
    within_patience("the rejection", || {
        let (factory, gate) = (Promised::default(), Gate::new());
        let passes = gate.clone();
        let rejects = move |task: Task, _: &dyn Saturated| {
            passes.pass_uninterruptibly();
            drop(task);
            Ok(())
        };
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(0)
            .maximum_pool_size(1)
            .work_queue(SynchronousQueue::new())
            .thread_factory(factory.clone())
            .rejection_handler(rejects)
            .build()
            .unwrap();
        let handle = pool.submit(|| ()).unwrap();
        let dropped = factory.break_promise();
        gate.await_waiting(1);
        pool.shutdown();
        assert!(!pool.is_terminated());
        gate.open();
        assert_eq!(pool.await_termination(PATIENCE), Ok(true));
        assert!(handle.is_done());
        dropped.join().unwrap();
    });
}

/// WL-022
#[test]
fn a_pool_terminates_after_tasks_without_a_thread_were_reported() {
    within_patience("the report", || {
        let (factory, gate) = (Promised::default(), Gate::new());
        let passes = gate.clone();
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(1)
            .maximum_pool_size(1)
            .thread_factory(factory.clone())
            .uncaught_handler(move |_| passes.pass_uninterruptibly())
            .build()
            .unwrap();
        let handles = [(); 2].map(|()| pool.submit(|| ()).unwrap());
        let dropped = factory.break_promise();
        gate.await_waiting(1);
        pool.shutdown();
        assert!(!pool.is_terminated());
        gate.open();
        assert_eq!(pool.await_termination(PATIENCE), Ok(true));
        assert!(handles.iter().all(TaskHandle::is_done));
        dropped.join().unwrap();
    });
}

/// WL-022
#[test]
fn a_fork_join_pool_terminates_after_tasks_without_a_thread_were_reported() {
    within_patience("the report", || {
        let (factory, gate) = (Promised::default(), Gate::new());
        let passes = gate.clone();
        let pool = ForkJoinPool::builder()
            .parallelism(1)
            .thread_factory(factory.clone())
            .uncaught_handler(move |_| passes.pass_uninterruptibly())
            .build()
            .unwrap();
        let handles = [(); 2].map(|()| pool.submit(|| ()).unwrap());
        let dropped = factory.break_promise();
        gate.await_waiting(1);
        pool.shutdown();
        assert!(!pool.is_terminated());
        gate.open();
        assert_eq!(pool.await_termination(PATIENCE), Ok(true));
        assert!(handles.iter().all(TaskHandle::is_done));
        dropped.join().unwrap();
    });
}

/// WL-020
#[test]
fn a_task_whose_worker_died_is_told_if_the_replacement_is_refused() {
    for fault in FAULTS {
        let (factory, reports) = (Limited::to(1, fault), Reports::default());
        let pool = reports.of(sized(1, 1, &factory)).build().unwrap();
        let gate = Gate::new();
        let fatal = gate.clone();
        pool.execute(move || {
            fatal.pass_uninterruptibly();
            panic!("the last worker dies");
        })
        .unwrap();
        let queued = [(); 3].map(|()| pool.submit(|| ()).unwrap());
        pool.execute(|| ()).unwrap();
        gate.open();
        for mut handle in queued {
            let outcome = within_patience("the queued task", move || handle.get());
            let why = outcome.unwrap_err().cancellation();
            assert_eq!(why, Some(Cancellation::NoThread), "{fault:?}");
        }
        until("the count", || pool.stats().abandoned_task_count == 4);
        pool.shutdown();
        assert_eq!(pool.await_termination(PATIENCE), Ok(true), "{fault:?}");
        let told = reports.all();
        assert_eq!(told.len(), 2, "{fault:?} {told:?}");
        assert!(told.contains(&"panicked: the last worker dies".to_owned()));
        let stats = pool.stats();
        assert_eq!((stats.queue_len, stats.completed_task_count), (0, 1));
    }
}

#[test]
fn a_replacement_that_is_refused_is_reported_though_nothing_is_queued() {
    let (factory, reports) = (Limited::to(1, Fault::Error), Reports::default());
    let pool = reports.of(sized(1, 1, &factory)).build().unwrap();
    pool.execute(|| panic!("dies")).unwrap();
    until("both reports", || reports.all().len() == 2);
    await_size(&pool, 0);
    factory.allow(1);
    assert_eq!(pool.submit(|| 7).unwrap().get().unwrap(), 7);
    finish(&pool);
}

#[test]
fn a_replacement_that_is_refused_leaves_the_queue_to_the_other_workers() {
    let (factory, reports) = (Limited::to(2, Fault::Error), Reports::default());
    let pool = reports.of(sized(2, 2, &factory)).build().unwrap();
    let gate = Gate::new();
    let other = gate.clone();
    pool.execute(move || other.pass_uninterruptibly()).unwrap();
    pool.execute(|| panic!("dies")).unwrap();
    await_size(&pool, 1);
    let mut queued = pool.submit(|| 7).unwrap();
    gate.open();
    assert_eq!(queued.get().unwrap(), 7);
    finish(&pool);
    assert_eq!(reports.all(), ["panicked: dies"]);
    assert!(pool.stats().refused_thread_count > 0);
}

/// WL-020: after a shutdown queued tasks still need a worker.
#[test]
fn a_pool_that_is_shut_down_terminates_though_its_last_worker_cannot_be_replaced() {
    for fault in FAULTS {
        let factory = Limited::to(1, fault);
        let pool = sized(1, 1, &factory).build().unwrap();
        let gate = Gate::new();
        let fatal = gate.clone();
        pool.execute(move || {
            fatal.pass_uninterruptibly();
            std::panic::resume_unwind(Box::new("dies"));
        })
        .unwrap();
        let queued = pool.submit(|| ()).unwrap();
        pool.shutdown();
        gate.open();
        assert_eq!(pool.await_termination(PATIENCE), Ok(true), "{fault:?}");
        assert!(queued.is_cancelled());
    }
}

#[test]
fn prestarting_without_threads_says_no_and_is_counted() {
    let (factory, reports) = (Limited::to(0, Fault::Error), Reports::default());
    let pool = reports.of(sized(3, 3, &factory)).build().unwrap();
    assert!(!pool.prestart_core_thread());
    assert_eq!(pool.prestart_all_core_threads(), 0);
    let stats = pool.stats();
    assert_eq!((stats.refused_thread_count, stats.pool_size), (2, 0));
    assert_eq!(reports.all().len(), 2);
    factory.allow(2);
    assert_eq!(pool.prestart_all_core_threads(), 2);
    assert_eq!(reports.all().len(), 2);
    finish(&pool);
}

#[test]
fn a_factory_that_panics_leaves_no_task_queued_without_a_worker() {
    #[derive(Debug)]
    struct Panicking;
    impl ThreadFactory for Panicking {
        fn new_thread(&self, _body: ThreadBody) -> io::Result<()> {
            std::panic::resume_unwind(Box::new("no thread"));
        }
    }
    // With core zero the task is queued before a thread is asked for.
    for core in [0, 1] {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(core)
            .maximum_pool_size(1)
            .thread_factory(Panicking)
            .build()
            .unwrap();
        let submit = std::panic::AssertUnwindSafe(|| pool.submit(|| ()).map(drop));
        assert!(std::panic::catch_unwind(submit).is_err());
        assert_eq!((pool.queue().len(), pool.task_count()), (0, 0));
        assert!(pool.stats().refused_thread_count > 0);
        pool.shutdown();
        assert!(pool.is_terminated());
    }
}

#[test]
fn policies_decide_about_a_task_without_a_thread_too() {
    let factory = Limited::to(0, Fault::Error);
    let build = |builder: Builder| builder.build().unwrap();
    let pool = build(sized(1, 1, &factory).rejection_handler(CallerRunsPolicy));
    assert_eq!(pool.submit(|| 4).unwrap().get().unwrap(), 4);
    pool.close();
    let pool = build(sized(1, 1, &factory).rejection_handler(DiscardPolicy));
    assert!(pool.submit(|| 4).unwrap().is_cancelled());
    pool.close();
    let pool = build(sized(1, 1, &factory).rejection_handler(DiscardOldestPolicy));
    assert!(pool.submit(|| 4).unwrap().is_cancelled());
    pool.close();
}

/// Without a worker nobody would ever make room.
#[test]
fn a_submitter_does_not_wait_for_room_in_a_pool_without_any_thread() {
    for queue in [
        Arc::new(SynchronousQueue::new()) as Arc<dyn BlockingQueue<_>>,
        Arc::new(ArrayBlockingQueue::new(1).unwrap()),
    ] {
        let pool = sized(1, 1, &Limited::to(0, Fault::Error))
            .work_queue(queue)
            .rejection_handler(BlockPolicy::new())
            .build()
            .unwrap();
        let theirs = pool.clone();
        let rejected = within_patience("the rejection", move || theirs.execute(|| ()).unwrap_err());
        assert_eq!(rejected.reason(), RejectionReason::NoThread);
        assert!(rejected.source().unwrap().is::<io::Error>());
        pool.close();
    }
}

/// WL-020
#[test]
fn a_submitter_that_waits_for_room_is_told_when_the_last_worker_is_not_replaced() {
    for fault in FAULTS {
        let factory = Limited::to(1, fault);
        let pool = sized(1, 1, &factory)
            .work_queue(ArrayBlockingQueue::new(1).unwrap())
            .rejection_handler(BlockPolicy::new())
            .build()
            .unwrap();
        let gate = Gate::new();
        let fatal = gate.clone();
        pool.execute(move || {
            fatal.pass_uninterruptibly();
            std::panic::resume_unwind(Box::new("dies"));
        })
        .unwrap();
        gate.await_waiting(1);
        let queued = pool.submit(|| ()).unwrap();
        let theirs = pool.clone();
        let submitter = thread::spawn(move || refused(theirs.submit(|| ())));
        until("a blocked submitter", || {
            pool.queue().waiting().unwrap().putters == 1
        });
        gate.open();
        assert!(within_patience("the submitter", move || submitter
            .join()
            .unwrap()));
        assert!(refused(Ok(queued)));
        pool.close();
    }
}

#[test]
fn concurrent_submitters_without_threads_all_learn_of_it() {
    within_patience("all rounds", || {
        for round in 0..200 {
            let fault = FAULTS[round % FAULTS.len()];
            // Some rounds have a thread now and then.
            let factory = Limited::to(round % 2, fault);
            let pool = sized(round % 3, 2, &factory).build().unwrap();
            let submitters: Vec<_> = (0..3)
                .map(|_| {
                    let pool = pool.clone();
                    thread::spawn(move || {
                        let fates = (0..10).map(|n| match pool.submit(move || n) {
                            Err(rejected) => rejected.reason() == RejectionReason::NoThread,
                            Ok(mut handle) => match handle.get() {
                                Ok(value) => value == n,
                                Err(error) => error.is_cancelled(),
                            },
                        });
                        fates.filter(|told| *told).count()
                    })
                })
                .collect();
            for submitter in submitters {
                assert_eq!(submitter.join().unwrap(), 10, "{fault:?}");
            }
            pool.shutdown();
            assert_eq!(pool.await_termination(PATIENCE), Ok(true));
        }
    });
}

#[test]
fn a_scheduled_pool_without_any_thread_returns_the_task_with_the_error() {
    for core in [0, 1] {
        let factory = Limited::to(0, Fault::Error);
        let pool = ScheduledThreadPoolExecutor::builder()
            .core_pool_size(core)
            .thread_factory(factory.clone())
            .build();
        let late = Duration::from_secs(3600);
        let rejected = pool.schedule(late, || ()).unwrap_err();
        assert_eq!(rejected.reason(), RejectionReason::NoThread);
        assert!(rejected.source().unwrap().is::<io::Error>());
        let rejected = pool.schedule_at_fixed_rate(late, late, || ()).unwrap_err();
        assert_eq!(rejected.reason(), RejectionReason::NoThread);
        assert!(refused(pool.submit(|| ())));
        assert_eq!(pool.stats().queue_len, 0);
        assert!(pool.stats().refused_thread_count > 0);
        factory.allow(1);
        let mut task = pool.schedule(Duration::ZERO, || 6).unwrap();
        assert_eq!(task.get().unwrap(), 6);
        pool.close();
    }
}

/// A factory that returns `Ok`, and leaves the bodies to the test.
#[derive(Debug, Clone, Default)]
struct Hoarding(Arc<LinkedBlockingQueue<ThreadBody>>);

impl ThreadFactory for Hoarding {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.0.offer(body).unwrap();
        Ok(())
    }
}

/// WL-020
#[test]
fn timers_are_told_when_the_thread_of_their_pool_does_not_come() {
    let factory = Hoarding::default();
    let pool = ScheduledThreadPoolExecutor::builder()
        .core_pool_size(1)
        .thread_factory(factory.clone())
        .build();
    let late = Duration::from_secs(3600);
    let mut once = pool.schedule(late, || ()).unwrap();
    let mut periodic = pool.schedule_at_fixed_rate(late, late, || ()).unwrap();
    while let Some(body) = factory.0.poll() {
        drop(body);
    }
    let why = within_patience("the timers", move || {
        [once.get().unwrap_err(), periodic.get().unwrap_err()].map(|e| e.cancellation())
    });
    assert_eq!(why, [Some(Cancellation::NoThread); 2]);
    assert_eq!(pool.stats().abandoned_task_count, 2);
    pool.shutdown();
    assert!(pool.is_terminated());
}

#[test]
fn a_thread_per_task_that_is_refused_is_returned_or_cancelled_with_the_reason() {
    for fault in FAULTS {
        let executor = ThreadPerTaskExecutor::with_factory(Limited::to(0, fault));
        assert!(refused(executor.submit(|| ())), "{fault:?}");
        executor.close();
    }
}

#[test]
fn a_serial_executor_on_a_pool_without_any_thread_returns_the_task() {
    for fault in FAULTS {
        let pool = sized(1, 1, &Limited::to(0, fault)).build().unwrap();
        let serial = SerialExecutor::new(pool.clone());
        for _ in 0..3 {
            match serial.submit(|| ()) {
                Err(rejected) => {
                    assert_eq!(rejected.reason(), RejectionReason::NoThread);
                    assert!(rejected.source().is_some(), "{fault:?}");
                }
                Ok(mut handle) => {
                    let outcome = within_patience("the handle", move || handle.get());
                    assert!(outcome.unwrap_err().is_cancelled());
                }
            }
        }
        assert_eq!(serial.queue_len(), 0);
        pool.close();
    }
}

#[test]
fn a_completion_service_delivers_or_returns_what_found_no_thread() {
    for fault in FAULTS {
        let pool = sized(1, 1, &Limited::to(0, fault)).build().unwrap();
        let service = CompletionService::new(pool.clone());
        let accepted = (0..5).filter(|n| {
            let n = *n;
            service.submit(move || n).is_ok()
        });
        let accepted = accepted.count();
        let delivered = within_patience("all completions", move || service.completions().count());
        assert_eq!(delivered, accepted, "{fault:?}");
        pool.close();
    }
}

#[test]
fn a_guard_closes_a_pool_without_any_thread() {
    for fault in FAULTS {
        within_patience("the guard", move || {
            let factory = Limited::to(0, fault);
            let pool = CloseOnDrop::new(sized(1, 1, &factory).build().unwrap());
            assert!(refused(pool.submit(|| ())));
            assert!(factory.asked() > 0);
        });
    }
}
