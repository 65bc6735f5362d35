//! Loops over slices, sorts, and joins of more than two closures.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;
use std::cmp::Ordering as Order;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::forkjoin::{ForkJoinPool, join_all, join3, join4, slice, worker_index};
use windlass::testing::Latch;

/// Lengths around the borders at which slices are split.
const LENGTHS: [usize; 8] = [0, 1, 2, 3, 17, 4_095, 4_097, 20_001];

fn pools() -> [ForkJoinPool; 3] {
    [1, 2, 5].map(|parallelism| ForkJoinPool::new(parallelism).unwrap())
}

fn numbers(count: usize, bound: u64) -> Vec<u64> {
    let mut seed = count as u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % bound
    };
    (0..count).map(|_| next()).collect()
}

/// Runs `f`, which panics with a text, and returns the text.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().unwrap();
    (*payload.downcast::<&str>().unwrap()).to_owned()
}

#[test]
fn each_element_is_visited_once() {
    for pool in pools() {
        for length in LENGTHS {
            let visits: Vec<AtomicUsize> = (0..length).map(|_| AtomicUsize::new(0)).collect();
            let visit = |n: &AtomicUsize| {
                n.fetch_add(1, Ordering::Relaxed);
            };
            pool.install(|| slice::for_each(&visits, visit));
            assert!(visits.iter().all(|n| n.load(Ordering::Relaxed) == 1));
            let mut changed = vec![1_u32; length];
            pool.install(|| slice::for_each_mut(&mut changed, |n| *n += 1));
            assert!(changed.iter().all(|n| *n == 2));
        }
    }
}

#[test]
fn mapped_elements_keep_their_order() {
    for pool in pools() {
        for length in LENGTHS {
            let items = numbers(length, 1_000);
            let expected: Vec<String> = items.iter().map(u64::to_string).collect();
            assert_eq!(
                pool.install(|| slice::map(&items, u64::to_string)),
                expected
            );
        }
    }
}

#[test]
fn neighbours_are_reduced_in_order() {
    for pool in pools() {
        for length in [0, 1, 2, 3, 17, 4_097] {
            let items = numbers(length, 10);
            let expected = items.iter().map(u64::to_string).reduce(|a, b| a + &b);
            let reduce = || slice::map_reduce(&items, u64::to_string, |a, b| a + &b);
            assert_eq!(pool.install(reduce), expected);
        }
    }
}

#[test]
fn slices_are_sorted_as_by_the_standard_library() {
    for pool in pools() {
        for length in LENGTHS {
            for bound in [1, 10, u64::MAX] {
                let items: Vec<(u64, usize)> =
                    numbers(length, bound).into_iter().zip(0..).collect();
                let mut expected = items.clone();
                expected.sort_by_key(|item| item.0);
                let (mut stable, mut unstable) = (items.clone(), items.clone());
                pool.install(|| {
                    slice::sort_by_key(&mut stable, |item| item.0);
                    slice::sort_unstable(&mut unstable);
                });
                assert_eq!(stable, expected, "equal elements keep their order");
                assert_eq!(unstable, expected);
                pool.install(|| slice::sort_by(&mut stable, |a, b| b.cmp(a)));
                assert!(stable.is_sorted_by(|a, b| a >= b));
                pool.install(|| slice::sort_unstable_by(&mut unstable, |a, b| b.cmp(a)));
                assert_eq!(stable, unstable);
            }
        }
    }
}

#[test]
fn slices_with_sorted_parts_are_sorted() {
    let pool = ForkJoinPool::new(2).unwrap();
    let rising: Vec<u64> = (0..40_000).collect();
    let falling: Vec<u64> = (0..40_000).rev().collect();
    for parts in [
        [&rising, &rising],
        [&rising, &falling],
        [&falling, &falling],
    ] {
        let mut stable = parts.map(Vec::as_slice).concat();
        let mut unstable = stable.clone();
        pool.install(|| slice::sort(&mut stable));
        pool.install(|| slice::sort_unstable_by_key(&mut unstable, |n| *n));
        assert!(stable.is_sorted());
        assert_eq!(stable, unstable);
    }
}

#[test]
fn a_comparison_that_panics_loses_no_element() {
    let pool = ForkJoinPool::new(3).unwrap();
    let items = numbers(30_000, u64::MAX);
    let mut expected = items.clone();
    expected.sort_unstable();
    for allowed in [0, 1, 100, 30_000, 100_000, 200_000, 350_000] {
        let calls = AtomicUsize::new(0);
        let compare = |a: &u64, b: &u64| -> Order {
            assert!(calls.fetch_add(1, Ordering::Relaxed) != allowed, "enough");
            a.cmp(b)
        };
        let (mut stable, mut unstable) = (items.clone(), items.clone());
        let sorted = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| slice::sort_by(&mut stable, compare));
        }));
        assert!(sorted.is_err(), "after {allowed} comparisons");
        calls.store(0, Ordering::Relaxed);
        let _ = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| slice::sort_unstable_by(&mut unstable, compare));
        }));
        stable.sort_unstable();
        unstable.sort_unstable();
        assert_eq!(stable, expected);
        assert_eq!(unstable, expected);
    }
}

#[test]
fn values_that_cannot_be_shared_are_sorted() {
    let mut cells: Vec<Cell<u64>> = numbers(20_000, 100).into_iter().map(Cell::new).collect();
    let pool = ForkJoinPool::new(2).unwrap();
    pool.install(|| slice::sort_unstable(&mut cells));
    assert!(cells.is_sorted());
    cells.reverse();
    pool.install(|| slice::sort(&mut cells));
    assert!(cells.is_sorted());
}

#[test]
fn a_panic_of_a_loop_reaches_its_caller() {
    let pool = ForkJoinPool::new(2).unwrap();
    let items = numbers(10_000, 10_000);
    let check = |n: &u64| assert!(*n != items[7_000], "this one");
    assert_eq!(
        panic_of(|| pool.install(|| slice::for_each(&items, check))),
        "this one"
    );
    assert_eq!(
        panic_of(|| pool.install(|| slice::map(&items, check))),
        "this one"
    );
}

/// As many elements as workers: each waits until all are visited.
#[test]
fn few_long_elements_are_visited_side_by_side() {
    let pool = ForkJoinPool::new(8).unwrap();
    for _ in 0..20 {
        let all = Latch::new(8);
        pool.install(|| {
            slice::for_each(&[(); 8], |()| {
                all.count_down();
                all.wait();
            });
        });
    }
}

#[test]
fn loops_run_in_the_pool_that_they_are_called_in_and_else_in_the_common_pool() {
    let pool = ForkJoinPool::new(2).unwrap();
    pool.install(|| slice::for_each(&[(); 100], |()| assert!(pool.is_current())));
    slice::for_each(&[(); 100], |()| {
        assert!(worker_index().is_some() && !pool.is_current());
    });
}

#[test]
fn several_closures_return_their_results_in_order() {
    let text = String::from("abc");
    let pool = ForkJoinPool::new(3).unwrap();
    for inside in [false, true] {
        let three = || join3(|| text.len(), || &text[..1], || 'c');
        let four = || join4(|| 1, || &text, || 2.5, || [4; 4]);
        let many = || join_all((0..100).map(|n| move || n * n));
        let (three, four, many) = if inside {
            (pool.install(three), pool.install(four), pool.install(many))
        } else {
            (three(), four(), many())
        };
        assert_eq!(three, (3, "a", 'c'));
        assert_eq!(four, (1, &text, 2.5, [4; 4]));
        assert_eq!(many, (0..100).map(|n| n * n).collect::<Vec<_>>());
    }
    assert!(join_all(Vec::<fn() -> u8>::new()).is_empty());
}

#[test]
fn several_closures_run_side_by_side() {
    let pool = ForkJoinPool::new(4).unwrap();
    let all = Latch::new(4);
    let meet = || {
        all.count_down();
        all.wait();
    };
    pool.install(|| join4(meet, meet, meet, meet));
    let all = Latch::new(4);
    let meet = || {
        all.count_down();
        all.wait();
    };
    pool.install(|| join_all([meet; 4]));
}

#[test]
fn of_several_panics_the_first_goes_on_when_all_have_ended() {
    let pool = ForkJoinPool::new(2).unwrap();
    let ended = AtomicUsize::new(0);
    let end = || {
        ended.fetch_add(1, Ordering::SeqCst);
    };
    let fail = |text: &'static str| {
        end();
        std::panic::panic_any(text)
    };
    let three = || join3(end, || fail("second"), || fail("third"));
    assert_eq!(panic_of(|| pool.install(three)), "second");
    let four = || join4(|| fail("first"), end, || fail("third"), || fail("fourth"));
    assert_eq!(panic_of(|| pool.install(four)), "first");
    let texts = ["", "", "two", "", "four", "five", ""];
    let each = |text: &'static str| {
        move || {
            if text.is_empty() { end() } else { fail(text) }
        }
    };
    assert_eq!(
        panic_of(|| pool.install(|| join_all(texts.map(each)))),
        "two"
    );
    assert_eq!(ended.load(Ordering::SeqCst), 3 + 4 + 7);
}
