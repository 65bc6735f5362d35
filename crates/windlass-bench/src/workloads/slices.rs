//! The part of W7 that loops over slices and sorts them.

use std::time::{Duration, Instant};

use super::fork_join::{last, random_numbers};
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::peers::Slices;

/// What is measured: the name of a point, and the length of its slice.
pub(super) const KINDS: [&str; 5] = [
    "slice-for-each",
    "slice-sum",
    "slice-hash",
    "slice-sort-unstable",
    "slice-sort",
];

/// Returns whether a point is one of these.
pub(super) fn has(point: &Point) -> bool {
    KINDS.contains(&point.word("what"))
}

pub(super) fn sample<P: Slices>(point: &Point) -> Vec<Figure> {
    let pool = P::with_parallelism(point.size("workers"));
    let n = point.size("n");
    let elapsed = match point.word("what") {
        "slice-for-each" => time_for_each(&pool, n),
        "slice-sum" => time_reduce(&pool, n, |item| item),
        "slice-hash" => time_reduce(&pool, n, hash),
        "slice-sort-unstable" => time_sort(&pool, n, P::sort_unstable),
        _ => time_sort(&pool, n, P::sort_stable),
    };
    vec![Figure::millis("time", elapsed)]
}

/// Takes about a microsecond.
fn hash(item: u64) -> u64 {
    (0..1_000).fold(item | 1, |hash, _| {
        hash.wrapping_mul(6_364_136_223_846_793_005).rotate_left(7)
    })
}

fn time_for_each<P: Slices>(pool: &P, n: usize) -> Duration {
    let mut items = random_numbers(n);
    last(|| {
        let begun = Instant::now();
        pool.enter(|_| {
            P::for_each_mut(&mut items, |item| {
                *item = item.wrapping_mul(3) ^ (*item >> 5);
            });
        });
        let elapsed = begun.elapsed();
        std::hint::black_box(&items);
        elapsed
    })
}

fn time_reduce<P: Slices>(
    pool: &P,
    n: usize,
    map: impl Fn(u64) -> u64 + Sync + Send + Copy,
) -> Duration {
    let items = random_numbers(n);
    let expected = items
        .iter()
        .map(|item| map(*item))
        .reduce(u64::wrapping_add);
    last(|| {
        let begun = Instant::now();
        let found = pool.enter(|_| P::map_reduce(&items, map, u64::wrapping_add));
        let elapsed = begun.elapsed();
        assert_eq!(Some(found), expected, "a sum is wrong");
        elapsed
    })
}

fn time_sort<P: Slices>(pool: &P, n: usize, sort: impl Fn(&mut [u64]) + Sync) -> Duration {
    let numbers = random_numbers(n);
    last(|| {
        let mut sorted = numbers.clone();
        let begun = Instant::now();
        pool.enter(|_| sort(&mut sorted));
        let elapsed = begun.elapsed();
        assert!(sorted.is_sorted(), "the order is wrong");
        elapsed
    })
}
