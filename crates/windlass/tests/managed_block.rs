//! Blocking inside a worker: another worker replaces it meanwhile.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};

use windlass::forkjoin::{ForkJoinPool, ManagedBlocker, blocking, join, managed_block};
use windlass::interrupt::{self, Interrupted};
use windlass::testing::{Gate, PATIENCE, until, within_patience};
use windlass::{ExecutorService, Submit};

/// Passes a gate.
struct Pass(Gate, bool);

impl ManagedBlocker for Pass {
    fn is_releasable(&mut self) -> bool {
        self.1
    }
    fn block(&mut self) -> Result<bool, Interrupted> {
        self.0.pass()?;
        self.1 = true;
        Ok(true)
    }
}

/// Takes a lock.
struct Take<'a>(&'a Mutex<()>, Option<MutexGuard<'a, ()>>);

impl ManagedBlocker for Take<'_> {
    fn is_releasable(&mut self) -> bool {
        self.1 = self.1.take().or_else(|| self.0.try_lock().ok());
        self.1.is_some()
    }
    fn block(&mut self) -> Result<bool, Interrupted> {
        self.1 = Some(self.0.lock().unwrap());
        Ok(true)
    }
}

/// FJP-010
#[test]
fn managed_blocking_adds_spare_threads_so_queued_work_goes_on() {
    let pool = ForkJoinPool::new(2).unwrap();
    let gate = Gate::new();
    let block = || {
        let gate = gate.clone();
        move || managed_block(&mut Pass(gate, false)).unwrap()
    };
    let waiting: Vec<_> = (0..6).map(|_| pool.submit(block()).unwrap()).collect();
    gate.await_waiting(6);
    assert_eq!(pool.submit(|| 1).unwrap().get().unwrap(), 1);
    let stats = pool.stats();
    assert!(stats.pool_size >= 7, "{stats:?}");
    gate.open();
    for mut waiting in waiting {
        waiting.get().unwrap();
    }
    until("the spares' end", || pool.stats().pool_size <= 2);
}

fn fib(n: u32, lock: &Mutex<()>) -> u32 {
    let mut take = Take(lock, None);
    managed_block(&mut take).unwrap();
    drop(take);
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1, lock), || fib(n - 2, lock));
    a + b
}

/// FJP-010
#[test]
fn a_computation_that_blocks_at_every_node_finishes() {
    within_patience("fib with a lock", || {
        let pool = ForkJoinPool::new(4).unwrap();
        let lock = Mutex::new(());
        assert_eq!(pool.install(|| fib(14, &lock)), 377);
        pool.close();
    });
}

/// FJP-044
#[test]
fn replacing_blocked_workers_respects_the_maximum() {
    let builder = ForkJoinPool::builder().parallelism(2).maximum_spares(1);
    let pool = builder.build().unwrap();
    let gate = Gate::new();
    for _ in 0..5 {
        let gate = gate.clone();
        pool.execute(move || blocking(|| gate.pass_uninterruptibly()))
            .unwrap();
    }
    gate.await_waiting(3);
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.queued_submission_count), (3, 2));
    assert_eq!(stats.running_thread_count, 0);
    gate.open();
    pool.close();
}

/// FJP-045
#[test]
fn blocking_that_the_pool_does_not_know_of_starves_it() {
    let pool = ForkJoinPool::new(2).unwrap();
    let gate = Gate::new();
    for _ in 0..2 {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(2);
    let mut third = pool.submit(|| 3).unwrap();
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.queued_submission_count), (2, 1));
    gate.open();
    assert_eq!(third.get_timeout(PATIENCE).unwrap(), 3);
}

#[test]
fn an_interrupt_ends_a_managed_wait_and_the_count_of_blocked_workers() {
    let pool = ForkJoinPool::new(1).unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    let mut waiting = pool
        .submit(move || managed_block(&mut Pass(theirs, false)))
        .unwrap();
    gate.await_waiting(1);
    assert!(pool.shutdown_now().is_empty());
    assert!(waiting.get().unwrap().is_err());
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

#[test]
fn a_panic_in_a_blocking_call_leaves_nobody_blocked() {
    let pool = ForkJoinPool::new(1).unwrap();
    let panics = || pool.install(|| blocking(|| panic!("while waiting")));
    let panic: Result<(), _> = catch_unwind(AssertUnwindSafe(panics));
    let panic = panic.unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"while waiting"));
    pool.install(|| assert_eq!(pool.stats().running_thread_count, 1));
}

/// Outside a pool there is nothing to replace.
#[test]
fn outside_a_pool_managed_block_just_waits() {
    let gate = Gate::new();
    let theirs = gate.clone();
    let waiter = interrupt::spawn(move || managed_block(&mut Pass(theirs, false)).is_ok());
    gate.await_waiting(1);
    gate.open();
    assert!(windlass::testing::join("the waiter", waiter));
    let mut passed = Pass(Gate::new(), true);
    managed_block(&mut passed).unwrap();
}
