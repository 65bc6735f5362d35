//! Which pending joins other workers can reach, and how many threads that takes.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use windlass::Submit;
use windlass::forkjoin::{ForkJoinPool, join};
use windlass::testing::{Gate, Latch, until};
use windlass::thread_factory::{ThreadBody, ThreadFactory};

/// Calls `leaf` for each of `leaves` leaves of a balanced tree of joins.
fn balanced(leaves: usize, leaf: &(impl Fn() + Sync)) {
    if leaves == 1 {
        return leaf();
    }
    let half = leaves / 2;
    join(|| balanced(half, leaf), || balanced(leaves - half, leaf));
}

/// Enters `depth` joins inside each other, each with `pending` as its first closure, and calls `last`
/// inside them.
fn nested(depth: usize, pending: &(impl Fn() + Sync), last: &(impl Fn() + Sync)) {
    if depth == 0 {
        return last();
    }
    join(pending, || nested(depth - 1, pending, last));
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Keeps all but one worker of the pool busy until the returned gate is opened.
fn occupy_all_but_one(pool: &ForkJoinPool) -> Gate {
    let gate = Gate::new();
    for _ in 1..pool.parallelism() {
        let gate = gate.clone();
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(pool.parallelism() - 1);
    gate
}

#[test]
fn eight_leaves_meet_on_eight_workers() {
    let pool = ForkJoinPool::new(8).unwrap();
    for _ in 0..50 {
        let all = Latch::new(8);
        pool.install(|| {
            balanced(8, &|| {
                all.count_down();
                all.wait();
            });
        });
    }
}

#[test]
fn a_worker_that_becomes_idle_later_reaches_the_pending_join() {
    let pool = ForkJoinPool::new(2).unwrap();
    for _ in 0..10 {
        let busy = occupy_all_but_one(&pool);
        let reached = AtomicBool::new(false);
        let reach = || reached.store(true, Ordering::SeqCst);
        let wait = || {
            busy.open();
            until("the first closure runs", || reached.load(Ordering::SeqCst));
        };
        pool.install(|| join(reach, wait));
    }
}

#[test]
fn workers_that_become_idle_later_reach_every_pending_join() {
    let pool = ForkJoinPool::new(8).unwrap();
    for _ in 0..10 {
        let busy = occupy_all_but_one(&pool);
        let all = Latch::new(7);
        let meet = || {
            all.count_down();
            all.wait();
        };
        let last = || {
            busy.open();
            all.wait();
        };
        pool.install(|| nested(7, &meet, &last));
    }
}

#[test]
fn the_oldest_join_is_reached_also_among_many_short_ones() {
    let pool = ForkJoinPool::new(2).unwrap();
    for _ in 0..10 {
        let busy = occupy_all_but_one(&pool);
        let reached = AtomicBool::new(false);
        let reach = || reached.store(true, Ordering::SeqCst);
        let many_and_wait = || {
            assert_eq!(fib(20), 6765);
            busy.open();
            until("the first closure runs", || reached.load(Ordering::SeqCst));
        };
        pool.install(|| join(reach, || join(|| fib(15), many_and_wait)));
    }
}

/// A worker that has made many short joins keeps newer jobs to itself, but only until its next join
/// begins or ends.
#[test]
fn pending_joins_are_reached_once_a_join_among_many_short_ones_has_ended() {
    let pool = ForkJoinPool::new(8).unwrap();
    for _ in 0..10 {
        let busy = occupy_all_but_one(&pool);
        let all = Latch::new(8);
        let meet = || {
            all.count_down();
            all.wait();
        };
        let many = || {
            assert_eq!(fib(20), 6765);
            nested(8, &meet, &|| {
                busy.open();
                until("a worker is idle", || {
                    pool.stats().active_thread_count < 8 || all.count() < 8
                });
            });
        };
        pool.install(many);
    }
}

/// WL-432
#[test]
fn a_join_after_many_short_ones_of_another_task_is_reached() {
    let pool = ForkJoinPool::new(2).unwrap();
    for _ in 0..10 {
        let busy = occupy_all_but_one(&pool);
        let inside = pool.clone();
        let forked = pool.submit(move || {
            // Run newest first; the other worker takes the first one, which then is the only one left.
            inside.execute(|| ()).unwrap();
            let joins = inside.submit(move || {
                let reached = AtomicBool::new(false);
                let reach = || reached.store(true, Ordering::SeqCst);
                let wait = || {
                    busy.open();
                    until("the first closure runs", || reached.load(Ordering::SeqCst));
                };
                join(reach, wait);
            });
            inside.execute(|| assert_eq!(fib(20), 6765)).unwrap();
            joins.unwrap()
        });
        forked.unwrap().join().unwrap().join().unwrap();
    }
}

/// WL-432
#[test]
fn a_join_after_many_short_ones_is_reached_behind_a_task() {
    let pool = ForkJoinPool::new(2).unwrap();
    for _ in 0..10 {
        let busy = occupy_all_but_one(&pool);
        let reached = AtomicBool::new(false);
        let reach = || reached.store(true, Ordering::SeqCst);
        let wait = || {
            busy.open();
            until("the first closure runs", || reached.load(Ordering::SeqCst));
        };
        pool.install(|| {
            assert_eq!(fib(20), 6765);
            pool.execute(|| ()).unwrap();
            join(reach, wait);
        });
    }
}

/// Counts down in first closures, so that each pending join is the rest of the work.
fn leaning(depth: usize, leaf: &(impl Fn() + Sync)) {
    if depth > 0 {
        join(|| leaning(depth - 1, leaf), leaf);
    }
}

/// Starts threads with large stacks, and counts them.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl ThreadFactory for Counting {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let thread = std::thread::Builder::new().stack_size(256 << 20);
        thread.spawn(|| body.run()).map(drop)
    }
}

#[test]
fn a_left_leaning_tree_takes_few_threads() {
    let factory = Arc::new(Counting::default());
    let builder = ForkJoinPool::builder().parallelism(2);
    let pool = builder.thread_factory(Arc::clone(&factory)).build();
    let pool = pool.unwrap();
    let leaf = || (0..200).for_each(|_| std::hint::spin_loop());
    for _ in 0..5 {
        pool.install(|| leaning(5_000, &leaf));
    }
    let started = factory.0.load(Ordering::SeqCst);
    assert!(started <= 2 + 14, "{started} threads");
}

#[test]
fn a_worker_steals_also_while_submissions_are_queued() {
    let pool = Arc::new(ForkJoinPool::new(2).unwrap());
    let occupied = occupy_all_but_one(&pool);
    let has_forked = Latch::new(1);
    let submissions_before = Arc::new(AtomicUsize::new(usize::MAX));
    let submissions_run = Arc::new(AtomicUsize::new(0));
    let forking = {
        let (pool_of_task, has_forked) = (Arc::clone(&pool), has_forked.clone());
        let (before, run) = (
            Arc::clone(&submissions_before),
            Arc::clone(&submissions_run),
        );
        pool.submit(move || {
            let forked = Arc::clone(&before);
            let note = move || forked.store(run.load(Ordering::SeqCst), Ordering::SeqCst);
            pool_of_task.execute(note).unwrap();
            has_forked.count_down();
            until("the fork is stolen", || {
                before.load(Ordering::SeqCst) != usize::MAX
            });
        })
        .unwrap()
    };
    has_forked.wait();
    for _ in 0..10_000 {
        let run = Arc::clone(&submissions_run);
        let submission = move || {
            run.fetch_add(1, Ordering::SeqCst);
        };
        pool.execute(submission).unwrap();
    }
    occupied.open();
    forking.join().unwrap();
    let before = submissions_before.load(Ordering::SeqCst);
    assert!(before <= 64, "{before} submissions were run first");
}
