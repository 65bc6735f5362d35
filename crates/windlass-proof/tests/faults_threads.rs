//! Threads that cannot be started: nothing hangs, nothing is lost, the pool goes on.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "faults/kit.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod kit;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kit::{child_role, goes_on_and_ends, in_child};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use windlass::queue::{ArrayBlockingQueue, SynchronousQueue};
use windlass::testing::{Gate, Latch, until};
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{
    ExecutorService, ForkJoinPool, ScheduledThreadPoolExecutor, Submit, ThreadPoolExecutor,
};

const TASKS: usize = 50;

/// Fails, or panics, at the n-th thread.
#[derive(Debug)]
struct Failing {
    at: usize,
    panics: bool,
    asked: AtomicUsize,
    threads: DefaultThreadFactory,
}

impl Failing {
    fn at(at: usize, panics: bool) -> Arc<Self> {
        Arc::new(Self {
            at,
            panics,
            asked: AtomicUsize::new(0),
            threads: DefaultThreadFactory::new(),
        })
    }
}

impl ThreadFactory for Failing {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let asked = 1 + self.asked.fetch_add(1, Ordering::SeqCst);
        if asked != self.at {
            return self.threads.new_thread(body);
        }
        if self.panics {
            // Prints no message.
            std::panic::resume_unwind(Box::new("no thread"));
        }
        Err(io::Error::other("no thread"))
    }
}

/// Submits all, and returns for how many the factory panicked, and how many were rejected.
fn submit_all(pool: &dyn ExecutorService, ran: &Arc<AtomicUsize>) -> (usize, usize) {
    let (mut panicked, mut refused) = (0, 0);
    for _ in 0..TASKS {
        let ran = Arc::clone(ran);
        let body = move || {
            ran.fetch_add(1, Ordering::SeqCst);
        };
        let submit = std::panic::AssertUnwindSafe(|| pool.execute(body));
        match std::panic::catch_unwind(submit) {
            Ok(Ok(_)) => {}
            Ok(Err(_)) => refused += 1,
            Err(_) => panicked += 1,
        }
    }
    (panicked, refused)
}

/// `keeps`: whether a task is queued before a thread is asked for, and stays when that panics, since
/// another worker will run it.
fn check(name: &str, pool: &dyn ExecutorService, keeps: bool) {
    let ran = Arc::new(AtomicUsize::new(0));
    let (panicked, refused) = submit_all(pool, &ran);
    let lost = if keeps { refused } else { refused + panicked };
    until("all tasks", || ran.load(Ordering::SeqCst) + lost >= TASKS);
    goes_on_and_ends(name, pool);
    assert_eq!(ran.load(Ordering::SeqCst) + lost, TASKS, "{name}");
}

#[test]
fn a_pool_survives_the_failure_of_any_thread() {
    for (n, panics) in (1..=20).flat_map(|n| [(n, false), (n, true)]) {
        // Room for the tasks that show that it goes on, whatever is left.
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(4)
            .maximum_pool_size(24)
            .work_queue(ArrayBlockingQueue::new(10).unwrap())
            .thread_factory(Failing::at(n, panics))
            .build()
            .unwrap();
        check(&format!("thread {n}, panics: {panics}"), &pool, false);
    }
}

#[test]
fn a_scheduled_pool_survives_the_failure_of_any_thread() {
    for (n, panics) in (1..=20).flat_map(|n| [(n, false), (n, true)]) {
        let pool = ScheduledThreadPoolExecutor::builder()
            .core_pool_size(24)
            .thread_factory(Failing::at(n, panics))
            .build();
        check(&format!("thread {n}, panics: {panics}"), &pool, n > 1);
    }
}

#[test]
fn a_fork_join_pool_survives_the_failure_of_any_thread() {
    for (n, panics) in (1..=20).flat_map(|n| [(n, false), (n, true)]) {
        let pool = ForkJoinPool::builder()
            .parallelism(24)
            .thread_factory(Failing::at(n, panics))
            .build()
            .unwrap();
        check(&format!("thread {n}, panics: {panics}"), &pool, n > 1);
    }
}

/// Leaves this process so little address space that only a few threads fit in.
fn restrict_address_space() {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
    let current = Some(pages * 4096 + (160 << 20));
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
}

#[test]
fn a_pool_survives_that_the_system_gives_it_no_more_threads() {
    if child_role().is_none() {
        let test = "a_pool_survives_that_the_system_gives_it_no_more_threads";
        assert!(in_child(test, "restricted").success());
        return;
    }
    restrict_address_space();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(0)
        .maximum_pool_size(1_000)
        .work_queue(SynchronousQueue::new())
        .thread_factory(DefaultThreadFactory::new().stack_size(16 << 20))
        .build()
        .unwrap();
    let (gate, started) = (Gate::new(), Arc::new(AtomicUsize::new(0)));
    let (mut handles, mut refused) = (Vec::new(), 0);
    for n in 0..TASKS {
        let (gate, started) = (gate.clone(), Arc::clone(&started));
        let body = move || {
            started.fetch_add(1, Ordering::SeqCst);
            gate.pass_uninterruptibly();
            n
        };
        match pool.submit(body) {
            Ok(handle) => handles.push((n, handle)),
            Err(rejected) => {
                assert!(rejected.source().is_some(), "{rejected}");
                refused += 1;
            }
        }
    }
    assert!(!handles.is_empty() && refused > 0, "{refused} refused");
    assert_eq!(pool.pool_size(), handles.len());
    gate.open();
    for (n, mut handle) in handles {
        assert_eq!(handle.get().unwrap(), n);
    }
    assert_eq!(started.load(Ordering::SeqCst) + refused, TASKS);
    until("idle workers", || {
        pool.queue().waiting().unwrap().takers > 0
    });
    assert_eq!(pool.submit(|| 8).unwrap().get().unwrap(), 8);
    kit::ends("restricted", &pool);
}

#[test]
fn other_pools_survive_that_the_system_gives_them_no_more_threads() {
    let Some(role) = child_role() else {
        let test = "other_pools_survive_that_the_system_gives_them_no_more_threads";
        // A process each: the stacks of threads that have just ended still take address space.
        for role in ["scheduled", "fork-join"] {
            assert!(in_child(test, role).success(), "{role}");
        }
        return;
    };
    restrict_address_space();
    let threads = DefaultThreadFactory::new().stack_size(32 << 20);
    let pool: Arc<dyn ExecutorService> = if role == "scheduled" {
        let builder = ScheduledThreadPoolExecutor::builder().core_pool_size(40);
        Arc::new(builder.thread_factory(threads).build())
    } else {
        let builder = ForkJoinPool::builder().parallelism(40);
        Arc::new(builder.thread_factory(threads).build().unwrap())
    };
    let latch = Latch::new(TASKS);
    for _ in 0..TASKS {
        let latch = latch.clone();
        pool.execute(move || latch.count_down()).unwrap();
    }
    latch.wait();
    goes_on_and_ends(&role, &*pool);
}
