//! Joins, scopes, and what a worker runs while it waits.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use windlass::forkjoin::{self, ForkJoinPool, join, worker_index};
use windlass::testing::{DropCounter, Gate, Latch, PATIENCE, until, within_patience};
use windlass::{ExecutorService, Submit};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn sort<T: Ord + Send>(values: &mut [T]) {
    if values.len() < 2 {
        return;
    }
    let last = values.len() - 1;
    let mut border = 0;
    for at in 0..last {
        if values[at] <= values[last] {
            values.swap(at, border);
            border += 1;
        }
    }
    values.swap(border, last);
    let (low, high) = values.split_at_mut(border);
    join(|| sort(low), || sort(&mut high[1..]));
}

fn numbers(count: usize) -> Vec<u64> {
    let mut seed = 7_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 33
    };
    (0..count).map(|_| next()).collect()
}

/// Whether a queen in this column of the next row is safe.
fn is_safe(queens: &[usize], column: usize) -> bool {
    let row = queens.len();
    let meets =
        |(at, queen): (usize, &usize)| *queen == column || queen.abs_diff(column) == row - at;
    !queens.iter().enumerate().any(meets)
}

fn queens(size: usize, placed: &[usize]) -> usize {
    if placed.len() == size {
        return 1;
    }
    let count = AtomicUsize::new(0);
    let count_with = |column: usize| {
        let mut placed = placed.to_vec();
        placed.push(column);
        count.fetch_add(queens(size, &placed), Ordering::Relaxed);
    };
    each(0, size, &|column| {
        if is_safe(placed, column) {
            count_with(column);
        }
    });
    count.into_inner()
}

/// Calls `visit` for each number of the range, splitting it down to single ones.
fn each(from: usize, to: usize, visit: &(impl Fn(usize) + Sync)) {
    match to - from {
        0 => {}
        1 => visit(from),
        width => {
            let middle = from + width / 2;
            join(|| each(from, middle, visit), || each(middle, to, visit));
        }
    }
}

/// FJP-051
#[test]
fn larger_computations_are_right_at_every_parallelism() {
    let values = numbers(1007);
    let mut sorted = values.clone();
    sorted.sort_unstable();
    for parallelism in 1..=16 {
        let pool = ForkJoinPool::new(parallelism).unwrap();
        assert_eq!(pool.install(|| fib(17)), 1597);
        let mut values = values.clone();
        pool.install(|| sort(&mut values));
        assert_eq!(values, sorted);
        assert_eq!(pool.install(|| queens(7, &[])), 40);
        pool.close();
        assert!(pool.is_terminated());
    }
}

/// FJP-046
#[test]
fn one_worker_suffices_for_any_join_without_extra_threads() {
    let pool = ForkJoinPool::new(1).unwrap();
    assert_eq!(pool.install(|| fib(20)), 6765);
    assert_eq!(pool.stats().pool_size, 1);
}

/// FJP-046
#[test]
fn closures_of_a_join_borrow_what_is_around_it() {
    let pool = ForkJoinPool::new(2).unwrap();
    let mut left = vec![1, 2];
    let right = String::from("right");
    let (length, ()) = pool.join(|| right.len(), || left.push(3));
    assert_eq!((length, left.len()), (5, 3));
}

/// FJT-009
#[test]
fn a_panic_goes_on_when_both_sides_have_ended() {
    let pool = ForkJoinPool::new(2).unwrap();
    let ended = AtomicBool::new(false);
    let drops = DropCounter::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        pool.join(
            || std::panic::panic_any(7_u32),
            || {
                let _token = drops.token();
                ended.store(true, Ordering::SeqCst);
            },
        )
    }));
    assert_eq!(panic.unwrap_err().downcast_ref::<u32>(), Some(&7));
    assert!(ended.into_inner());
    assert_eq!(drops.count(), 1);
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

/// FJT-009
#[test]
fn of_two_panics_the_first_goes_on() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("the payload of the second");
        }
    }
    let pool = ForkJoinPool::new(2).unwrap();
    let both = || -> ((), ()) { pool.join(|| panic!("first"), || std::panic::panic_any(Loud)) };
    let panic = catch_unwind(AssertUnwindSafe(both)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"first"));
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

/// A value whose drop panics.
struct LoudValue;

impl Drop for LoudValue {
    fn drop(&mut self) {
        panic!("the drop of a result");
    }
}

/// WL-002
#[test]
fn a_result_whose_drop_panics_does_not_replace_the_panic_of_the_other_side() {
    let pool = ForkJoinPool::new(2).unwrap();
    let started = Gate::new();
    let stolen = |fails: bool| {
        // Each side waits for the other to start, so that both run on workers of their own.
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.join(
                || {
                    started.open();
                    assert!(fails, "planned");
                    LoudValue
                },
                || {
                    started.pass_uninterruptibly();
                    assert!(!fails, "planned");
                    LoudValue
                },
            )
        }));
        assert_eq!(
            panic.map(std::mem::forget).unwrap_err().downcast_ref(),
            Some(&"planned")
        );
    };
    stolen(true);
    stolen(false);
    // On one worker the first side runs after the second, whose result is waiting meanwhile.
    let alone = ForkJoinPool::new(1).unwrap();
    let sides = || -> (LoudValue, LoudValue) { alone.join(|| panic!("planned"), || LoudValue) };
    let panic = catch_unwind(AssertUnwindSafe(sides)).map(std::mem::forget);
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"planned"));
    let scoped = || {
        pool.scope(|scope| {
            scope.spawn(|| panic!("planned"));
            LoudValue
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(scoped)).map(std::mem::forget);
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"planned"));
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

/// Holds a lock across a join on a worker, while a task that wants the lock is queued where the worker
/// could take it.
fn hold_a_lock_across_a_join(async_mode: bool) {
    let pool = ForkJoinPool::builder()
        .parallelism(2)
        .async_mode(async_mode)
        .build()
        .unwrap();
    let lock = Arc::new(Mutex::new(0));
    let wanted = Latch::new(4);
    let held = Gate::new();
    pool.install(|| {
        let mine = lock.lock().unwrap();
        let (a, b) = pool.join(
            || {
                for _ in 0..4 {
                    let (lock, wanted) = (Arc::clone(&lock), wanted.clone());
                    pool.execute(move || {
                        *lock.lock().unwrap() += 1;
                        wanted.count_down();
                    })
                    .unwrap();
                }
                1
            },
            || {
                // The other side ends only after this one was stolen or taken back.
                held.open();
                2
            },
        );
        assert_eq!(a + b, 3);
        drop(mine);
    });
    wanted.wait();
    assert_eq!(*lock.lock().unwrap(), 4);
    pool.close();
}

/// rayon #592: a joiner that runs whatever it finds meets the lock that it holds.
#[test]
fn a_lock_held_across_a_join_never_meets_unrelated_work() {
    within_patience("joins under a lock", || {
        for _ in 0..200 {
            hold_a_lock_across_a_join(false);
            hold_a_lock_across_a_join(true);
        }
    });
}

/// What a task starts and does not wait for.
struct Started {
    gate: Gate,
    done: Latch,
    runners: Mutex<Vec<Option<usize>>>,
}

impl Started {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            gate: Gate::new(),
            done: Latch::new(4),
            runners: Mutex::new(Vec::new()),
        })
    }

    /// Starts four, and runs until others have completed them.
    fn start(self: &Arc<Self>, start_one: impl Fn(Arc<Self>)) {
        (0..4).for_each(|_| start_one(Arc::clone(self)));
        self.gate.open();
        self.done.wait();
    }

    fn do_one(&self) {
        self.runners.lock().unwrap().push(worker_index());
        self.done.count_down();
    }

    /// Waits until another worker has started them; returns the index of this one.
    fn await_start(&self) -> Option<usize> {
        self.gate.pass().unwrap();
        worker_index()
    }

    fn was_done_by(&self, worker: Option<usize>) -> bool {
        self.runners.lock().unwrap().contains(&worker)
    }
}

/// What one side starts and does not wait for is no part of what the join waits for.
#[test]
fn a_joiner_leaves_alone_what_the_other_side_has_only_started() {
    for async_mode in [false, true] {
        // A new pool each time: its second worker is missing, and so the first side is shared.
        let new_pool = || {
            let builder = ForkJoinPool::builder().parallelism(2);
            builder.async_mode(async_mode).build().unwrap()
        };
        let (pool, executed) = (new_pool(), Started::new());
        let execute = |one: Arc<Started>| {
            pool.execute(move || one.do_one()).unwrap();
        };
        let ((), joiner) = pool.join(|| executed.start(execute), || executed.await_start());
        assert!(!executed.was_done_by(joiner));

        let (pool, spawned) = (new_pool(), Started::new());
        let joiner = pool.install(|| {
            pool.scope(|scope| {
                let spawn = |one: Arc<Started>| scope.spawn(move || one.do_one());
                pool.join(|| spawned.start(spawn), || spawned.await_start())
                    .1
            })
        });
        assert!(!spawned.was_done_by(joiner));
    }
}

/// The same for what was forked before, and for scopes.
#[test]
fn a_lock_held_across_a_scope_never_meets_older_work() {
    within_patience("scopes under a lock", || {
        for round in 0..200 {
            let mode = round % 2 == 0;
            let pool = ForkJoinPool::builder()
                .parallelism(2)
                .async_mode(mode)
                .build()
                .unwrap();
            let lock = Arc::new(Mutex::new(0));
            let sum = AtomicUsize::new(0);
            pool.install(|| {
                let theirs = Arc::clone(&lock);
                pool.execute(move || *theirs.lock().unwrap() += 1).unwrap();
                let mine = lock.lock().unwrap();
                pool.scope(|scope| {
                    for part in 0..8 {
                        let sum = &sum;
                        scope.spawn(move || {
                            sum.fetch_add(part, Ordering::Relaxed);
                        });
                    }
                });
                drop(mine);
            });
            assert_eq!(sum.into_inner(), 28);
            pool.close();
            assert_eq!(*lock.lock().unwrap(), 1);
        }
    });
}

#[test]
fn a_scope_is_left_when_all_that_it_spawned_have_ended() {
    for parallelism in [1, 2, 8] {
        let pool = ForkJoinPool::new(parallelism).unwrap();
        let mut cells = vec![0_u32; 500];
        let fill = |cells: &mut [u32]| {
            pool.scope(|scope| {
                for part in cells.chunks_mut(7) {
                    scope.spawn(move || part.iter_mut().for_each(|cell| *cell += 1));
                }
            });
        };
        fill(&mut cells);
        pool.install(|| fill(&mut cells));
        assert!(cells.iter().all(|cell| *cell == 2));
    }
}

#[test]
fn scopes_nest_and_what_they_spawn_may_spawn() {
    let pool = ForkJoinPool::new(2).unwrap();
    let count = AtomicUsize::new(0);
    pool.scope(|outer| {
        for _ in 0..4 {
            outer.spawn(|| {
                outer.spawn(|| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
                pool.scope(|inner| {
                    inner.spawn(|| {
                        count.fetch_add(10, Ordering::Relaxed);
                    });
                });
            });
        }
    });
    assert_eq!(count.into_inner(), 44);
}

#[test]
fn the_first_panic_in_a_scope_goes_on_when_all_have_ended() {
    let pool = ForkJoinPool::new(2).unwrap();
    let count = AtomicUsize::new(0);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| {
            scope.spawn(|| panic!("spawned"));
            for _ in 0..10 {
                scope.spawn(|| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    }));
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"spawned"));
    assert_eq!(count.into_inner(), 10);
}

/// FJP-021: whoever waits with a job on the stack is served even so.
#[test]
fn joins_and_scopes_end_although_the_pool_is_stopped_meanwhile() {
    within_patience("joins across shutdown_now", || {
        for parallelism in [1, 2, 4] {
            for _ in 0..50 {
                let pool = ForkJoinPool::new(parallelism).unwrap();
                let stopper = pool.clone();
                let sum = AtomicUsize::new(0);
                let value = pool.install(|| {
                    let (value, ()) = join(|| fib(10), || drop(stopper.shutdown_now()));
                    pool.scope(|scope| {
                        for _ in 0..4 {
                            scope.spawn(|| {
                                sum.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    });
                    value + fib(10)
                });
                assert_eq!((value, sum.into_inner()), (110, 4));
                assert_eq!(pool.await_termination(PATIENCE), Ok(true));
            }
        }
    });
}

/// In a pool that is shut down the caller runs it.
#[test]
fn a_join_after_the_end_of_the_pool_runs_in_the_caller() {
    let pool = ForkJoinPool::new(2).unwrap();
    pool.close();
    let me = std::thread::current().id();
    let here = || std::thread::current().id() == me;
    assert_eq!(pool.join(here, here), (true, true));
    assert!(pool.is_terminated());
}

/// Waits inside waits count once; otherwise more workers would count as blocked than there are.
#[test]
fn a_join_inside_a_blocking_call_is_one_wait() {
    let pool = ForkJoinPool::new(2).unwrap();
    let nested = || forkjoin::blocking(|| forkjoin::blocking(|| join(|| fib(12), || fib(12))));
    assert_eq!(pool.install(nested), (144, 144));
    until("rest", || pool.is_quiescent());
    assert_eq!(pool.stats().running_thread_count, 0);
}
