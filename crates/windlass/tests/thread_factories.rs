//! How the pool's threads are made, and what happens where they are not.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/threads.rs"]
mod threads;

use std::hint::black_box;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use threads::{Blockers, Counting, await_size, finish};
use windlass::RejectionReason;
use windlass::pool::Builder;
use windlass::queue::{BlockingQueue, BlockingQueueExt, LinkedBlockingQueue, SynchronousQueue};
use windlass::testing::{DropCounter, Latch, until};
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor, executors};

/// What a factory does instead of making a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Says so.
    Error,
    /// Drops the body and says that all is well.
    Drop,
    /// Says that all is well, and the body is dropped on another thread.
    DropElsewhere,
    /// Panics.
    Panic,
}

const FAULTS: [Fault; 4] = [
    Fault::Error,
    Fault::Drop,
    Fault::DropElsewhere,
    Fault::Panic,
];

/// Makes threads, but not at the calls that `fails` tells; calls count from one.
#[derive(Debug, Clone)]
struct Flaky {
    fault: Fault,
    fails: fn(usize, usize) -> bool,
    limit: usize,
    calls: Arc<AtomicUsize>,
    good: Counting,
}

impl Flaky {
    fn new(fault: Fault, limit: usize, fails: fn(usize, usize) -> bool) -> Self {
        Self {
            fault,
            fails,
            limit,
            calls: Arc::default(),
            good: Counting::default(),
        }
    }

    /// Fails from the call after `limit` on.
    fn after(limit: usize, fault: Fault) -> Self {
        Self::new(fault, limit, |call, limit| call > limit)
    }

    /// Fails at one call only.
    fn at(call: usize, fault: Fault) -> Self {
        Self::new(fault, call, |call, at| call == at)
    }
}

impl ThreadFactory for Flaky {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if !(self.fails)(call, self.limit) {
            return self.good.new_thread(body);
        }
        match self.fault {
            Fault::Error => Err(io::Error::other("no more threads")),
            Fault::Drop => Ok(()),
            Fault::DropElsewhere => thread::Builder::new().spawn(|| drop(body)).map(drop),
            Fault::Panic => panic!("the factory is out of order"),
        }
    }
}

fn sized(core: usize, maximum: usize) -> Builder {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
}

/// Executes that many tasks, and says how many calls returned; each task that runs is counted.
fn execute_counted(pool: &ThreadPoolExecutor, count: usize, ran: &Arc<AtomicUsize>) -> usize {
    let accepted = (0..count).filter(|_| {
        let ran = Arc::clone(ran);
        let task = move || {
            ran.fetch_add(1, Ordering::SeqCst);
        };
        catch_unwind(AssertUnwindSafe(|| pool.execute(task).unwrap())).is_ok()
    });
    accepted.count()
}

/// TPE-040
#[test]
fn one_thread_is_enough_to_run_everything() {
    for fault in [Fault::Error, Fault::Drop, Fault::DropElsewhere] {
        let factory = Flaky::after(1, fault);
        let pool = sized(100, 100)
            .thread_factory(factory.clone())
            .build()
            .unwrap();
        let all = Latch::new(100);
        for _ in 0..100 {
            let all = all.clone();
            pool.execute(move || all.count_down()).unwrap();
        }
        all.wait();
        finish(&pool);
        assert_eq!(factory.good.created(), 1);
        assert_eq!(pool.completed_task_count(), 100);
    }
}

/// TPE-041
#[test]
fn a_factory_that_fails_from_the_fifth_thread_on_leaves_the_books_right() {
    for fault in FAULTS {
        let factory = Flaky::after(4, fault);
        let pool = sized(10, 10)
            .thread_factory(factory.clone())
            .build()
            .unwrap();
        let ran = Arc::default();
        let accepted = execute_counted(&pool, 8, &ran);
        // Only a panic is the submitter's business.
        assert_eq!(accepted, if fault == Fault::Panic { 4 } else { 8 });
        await_size(&pool, 4);
        until("the end of all tasks", || {
            pool.completed_task_count() == accepted as u64
        });
        finish(&pool);
        factory.good.await_live(0);
        assert_eq!(ran.load(Ordering::SeqCst), accepted, "{fault:?}");
    }
}

/// TPE-041
#[test]
fn a_factory_that_fails_at_the_nth_thread_loses_nothing() {
    for fault in FAULTS {
        for n in 1..=6 {
            let factory = Flaky::at(n, fault);
            let pool = sized(6, 6).thread_factory(factory.clone()).build().unwrap();
            let ran = Arc::default();
            let accepted = execute_counted(&pool, 12, &ran);
            let lost = usize::from(fault == Fault::Panic);
            assert_eq!(accepted, 12 - lost);
            finish(&pool);
            factory.good.await_live(0);
            assert_eq!(ran.load(Ordering::SeqCst), accepted, "{fault:?} at {n}");
            assert_eq!(pool.completed_task_count(), accepted as u64);
            assert!(pool.largest_pool_size() <= 6);
        }
    }
}

/// TPE-041
#[test]
fn a_factory_that_fails_at_the_nth_thread_does_not_hide_a_full_pool() {
    for fault in [Fault::Error, Fault::Drop] {
        for n in 1..=6 {
            let (factory, blockers) = (Flaky::at(n, fault), Blockers::default());
            let pool = sized(0, 6)
                .work_queue(SynchronousQueue::new())
                .thread_factory(factory.clone())
                .build()
                .unwrap();
            let accepted = (0..7).filter(|_| pool.execute(blockers.body()).is_ok());
            // The one without a thread is refused, the others fit exactly.
            assert_eq!(accepted.count(), 6);
            assert_eq!((pool.pool_size(), pool.rejected_count()), (6, 1));
            blockers.release();
            finish(&pool);
            assert_eq!(blockers.ended(), 6);
        }
    }
}

/// TPE-041
#[test]
fn a_refusal_for_want_of_a_thread_says_so() {
    let pool = sized(1, 1)
        .work_queue(SynchronousQueue::new())
        .thread_factory(Flaky::after(0, Fault::Error))
        .build()
        .unwrap();
    let refused = pool.execute(|| ()).unwrap_err();
    let source = std::error::Error::source(&refused).unwrap();
    assert_eq!(source.to_string(), "no more threads");
    assert_eq!(refused.reason(), RejectionReason::NoThread);
    let text = refused.to_string();
    assert!(text.ends_with(": no thread could be created"), "{text}");
}

/// TPE-042
#[test]
fn without_any_thread_a_task_that_cannot_be_queued_is_rejected() {
    for fault in [Fault::Error, Fault::Drop] {
        let pool = sized(1, 2)
            .work_queue(SynchronousQueue::new())
            .thread_factory(Flaky::after(0, fault))
            .build()
            .unwrap();
        let refused = pool.execute(|| ()).unwrap_err();
        assert_eq!(refused.reason(), RejectionReason::NoThread);
        assert_eq!((pool.pool_size(), pool.task_count()), (0, 0));
        pool.shutdown();
        assert!(pool.is_terminated());
    }
}

/// TPE-043
#[test]
fn a_panicking_factory_unwinds_out_of_execute_and_changes_nothing() {
    let pool = sized(1, 2)
        .thread_factory(Flaky::after(0, Fault::Panic))
        .build()
        .unwrap();
    let drops = DropCounter::new();
    let token = drops.token();
    let unwound = catch_unwind(AssertUnwindSafe(|| pool.execute(move || drop(token))));
    let payload = unwound.unwrap_err();
    assert_eq!(
        payload.downcast_ref::<&str>(),
        Some(&"the factory is out of order")
    );
    assert_eq!(drops.count(), 1);
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.largest_pool_size), (0, 0));
    assert_eq!((stats.queue_len, stats.task_count), (0, 0));
    pool.set_thread_factory(Arc::new(Counting::default()));
    assert_eq!(pool.submit(|| 6).unwrap().get().unwrap(), 6);
    finish(&pool);
}

/// TPE-043
#[test]
fn a_panicking_factory_gets_through_though_the_drop_of_the_task_panics_too() {
    struct Explosive;
    impl Drop for Explosive {
        fn drop(&mut self) {
            panic!("the drop");
        }
    }
    let pool = sized(1, 1)
        .thread_factory(Flaky::after(0, Fault::Panic))
        .build()
        .unwrap();
    let cargo = Explosive;
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        pool.execute(move || drop(cargo)).unwrap();
    }));
    let payload = unwound.unwrap_err();
    assert_eq!(
        payload.downcast_ref::<&str>(),
        Some(&"the factory is out of order")
    );
}

/// TPE-043
#[test]
fn a_factory_that_panics_for_a_replacement_is_reported() {
    let reports = Arc::new(LinkedBlockingQueue::new());
    let theirs = Arc::clone(&reports);
    let pool = sized(1, 1)
        .thread_factory(Flaky::after(1, Fault::Panic))
        .uncaught_handler(move |failure| {
            theirs.offer(failure.message().unwrap().to_owned()).unwrap();
        })
        .build()
        .unwrap();
    pool.execute(|| panic!("the task's own")).unwrap();
    until("both reports", || reports.len() == 2);
    let expected = ["the task's own", "the factory is out of order"];
    assert_eq!(reports.snapshot(), expected);
    assert_eq!(pool.pool_size(), 0);
    pool.set_thread_factory(Arc::new(Counting::default()));
    assert_eq!(pool.submit(|| 6).unwrap().get().unwrap(), 6);
    finish(&pool);
}

/// TPE-044
#[test]
fn a_new_factory_makes_the_threads_from_then_on() {
    let name = || thread::current().name().unwrap().to_owned();
    let pool = sized(2, 2)
        .thread_factory(DefaultThreadFactory::named("old"))
        .build()
        .unwrap();
    let before = pool.submit(name).unwrap().get().unwrap();
    pool.set_thread_factory(Arc::new(DefaultThreadFactory::named("new")));
    let after = pool.submit(name).unwrap().get().unwrap();
    assert_eq!((&*before, &*after), ("old-thread-1", "new-thread-1"));
    finish(&pool);
}

fn thread_name() -> String {
    thread::current().name().unwrap().to_owned()
}

/// TPE-044
#[test]
fn threads_are_named_after_their_factory_and_numbered_from_one() {
    let names = |factory: DefaultThreadFactory| {
        let pool = sized(2, 2).thread_factory(factory).build().unwrap();
        let names = [(); 2].map(|()| pool.submit(thread_name).unwrap().get().unwrap());
        finish(&pool);
        names
    };
    assert_eq!(
        names(DefaultThreadFactory::named("io")),
        ["io-thread-1", "io-thread-2"]
    );
    let numbers = [(); 2].map(|()| {
        let [first, second] = names(DefaultThreadFactory::new());
        let pool = first.strip_prefix("pool-").unwrap();
        let pool = pool.strip_suffix("-thread-1").unwrap();
        assert_eq!(second, format!("pool-{pool}-thread-2"));
        pool.parse::<u64>().unwrap()
    });
    assert!(numbers[0] < numbers[1]);
}

/// TPE-044
#[test]
fn the_name_of_a_pool_is_the_prefix_of_its_threads_unless_it_has_a_factory() {
    let pool = sized(1, 1).name("web").build().unwrap();
    let name = pool.submit(thread_name).unwrap().get().unwrap();
    assert_eq!(name, "web-thread-1");
    finish(&pool);
    let named = sized(1, 1).name("web");
    let pool = named.thread_factory(Counting::default()).build().unwrap();
    let name = pool.submit(thread_name).unwrap().get().unwrap();
    assert_eq!(name, "counted-1");
    finish(&pool);
}

#[test]
fn threads_have_the_stack_that_they_are_given() {
    /// Uses more than a KiB of stack per step.
    fn descend(steps: usize) -> usize {
        let frame = black_box([1_u8; 1024]);
        if steps == 0 {
            0
        } else {
            descend(black_box(steps - 1)) + usize::from(frame[steps % 1024])
        }
    }
    // Far more than the 2 MiB that a thread usually has; too little would end the process.
    let factory = DefaultThreadFactory::named("deep").stack_size(64 << 20);
    let pool = sized(1, 1).thread_factory(factory).build().unwrap();
    let depth = pool.submit(|| descend(8 << 10)).unwrap().get().unwrap();
    assert_eq!(depth, 8 << 10);
    finish(&pool);
}

#[test]
fn the_start_is_the_first_thing_on_a_thread_and_the_stop_the_last() {
    let events = Arc::new(LinkedBlockingQueue::new());
    let note = |event: &'static str| {
        let events = Arc::clone(&events);
        move || events.offer((event, thread_name())).unwrap()
    };
    let factory = DefaultThreadFactory::named("noted")
        .on_start(note("start"))
        .on_stop(note("stop"));
    let pool = sized(1, 1).thread_factory(factory).build().unwrap();
    pool.execute(note("task")).unwrap();
    finish(&pool);
    until("the stop", || events.len() == 3);
    let noted = events.snapshot();
    let expected = ["start", "task", "stop"].map(|event| (event, "noted-thread-1".to_owned()));
    assert_eq!(noted, expected);
}

#[test]
fn a_start_or_a_stop_that_panics_is_contained() {
    let stops = Latch::new(2);
    let stopped = stops.clone();
    let factory = DefaultThreadFactory::named("panicky")
        .on_start(|| panic!("start"))
        .on_stop(move || {
            stopped.count_down();
            panic!("stop");
        });
    let pool = executors::fixed_thread_pool_with(2, Arc::new(factory)).unwrap();
    for _ in 0..2 {
        assert_eq!(pool.submit(|| 3).unwrap().get().unwrap(), 3);
    }
    finish(&pool);
    stops.wait();
    assert_eq!(
        (pool.largest_pool_size(), pool.completed_task_count()),
        (2, 2)
    );
}
