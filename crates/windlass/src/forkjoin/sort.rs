//! Sorting of slices in parallel, with the standard library's sorts at the leaves.
//!
//! Both sorts split a slice into a few pieces for each worker and leave these to the standard library.
//! They are written without `unsafe`, on what the standard library promises: its functions leave each
//! element in the slice exactly once, also if a comparison panics.
//!
//! - Unstable: `select_nth_unstable_by` brings the smaller half of the elements to the left, and both halves
//!   are sorted side by side.
//! - Stable: both halves are sorted side by side and then merged, by the stable sort of the standard library,
//!   which finds two sorted runs and merges them in linear time. Before that, one rotation cuts a long merge
//!   into two that are independent of each other.

use std::cmp::Ordering;

use super::common::{install, join};

/// The pieces for each worker, of a pool with several.
const PIECES: usize = 2;

/// Below this length a slice is sorted, or two runs are merged, at once.
const LEAF: usize = 4_096;

/// Sorts the slice in parallel; equal elements may be reordered.
///
/// # Panics
///
/// If the comparison panics. The slice then has all its elements, in any order.
///
/// ```
/// let mut numbers = vec![3, 1, 2];
/// windlass::forkjoin::slice::sort_unstable(&mut numbers);
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
pub fn sort_unstable<T: Ord + Send>(items: &mut [T]) {
    sort_unstable_by(items, T::cmp);
}

/// Sorts the slice in parallel by a comparison; equal elements may be reordered.
///
/// # Panics
///
/// As [`sort_unstable`]; it may also panic if `compare` is no total order.
///
/// ```
/// let mut numbers = vec![3, 1, 2];
/// windlass::forkjoin::slice::sort_unstable_by(&mut numbers, |a, b| b.cmp(a));
/// assert_eq!(numbers, [3, 2, 1]);
/// ```
pub fn sort_unstable_by<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    if !is_sorted(items, &compare) {
        install(|parallelism| unstable(items, &compare, pieces(parallelism)));
    }
}

/// Sorts the slice in parallel by a key; elements with equal keys may be reordered.
///
/// # Panics
///
/// As [`sort_unstable`].
///
/// ```
/// let mut words = vec!["three", "of", "seven!"];
/// windlass::forkjoin::slice::sort_unstable_by_key(&mut words, |word| word.len());
/// assert_eq!(words, ["of", "three", "seven!"]);
/// ```
pub fn sort_unstable_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    sort_unstable_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts the slice in parallel; equal elements keep their order.
///
/// # Panics
///
/// If the comparison panics. The slice then has all its elements, in any order.
///
/// ```
/// let mut numbers = vec![3, 1, 2];
/// windlass::forkjoin::slice::sort(&mut numbers);
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
pub fn sort<T: Ord + Send>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts the slice in parallel by a comparison; equal elements keep their order.
///
/// # Panics
///
/// As [`sort`]; it may also panic if `compare` is no total order.
///
/// ```
/// let mut pairs = vec![(1, 'b'), (0, 'z'), (1, 'a')];
/// windlass::forkjoin::slice::sort_by(&mut pairs, |a, b| a.0.cmp(&b.0));
/// assert_eq!(pairs, [(0, 'z'), (1, 'b'), (1, 'a')]);
/// ```
pub fn sort_by<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    if !is_sorted(items, &compare) {
        install(|parallelism| stable(items, &compare, pieces(parallelism)));
    }
}

/// Sorts the slice in parallel by a key; elements with equal keys keep their order.
///
/// # Panics
///
/// As [`sort`].
///
/// ```
/// let mut words = vec!["one", "two", "of"];
/// windlass::forkjoin::slice::sort_by_key(&mut words, |word| word.len());
/// assert_eq!(words, ["of", "one", "two"]);
/// ```
pub fn sort_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

fn pieces(parallelism: usize) -> usize {
    if parallelism < 2 {
        return 1;
    }
    (PIECES * parallelism).next_power_of_two()
}

fn is_sorted<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    items.is_sorted_by(|a, b| compare(a, b) != Ordering::Greater)
}

fn unstable<T: Send>(
    items: &mut [T],
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    pieces: usize,
) {
    if pieces < 2 || items.len() <= LEAF {
        return items.sort_unstable_by(compare);
    }
    let middle = items.len() / 2;
    let (low, _, high) = items.select_nth_unstable_by(middle, compare);
    join(
        || unstable(high, compare, pieces / 2),
        || unstable(low, compare, pieces / 2),
    );
}

fn stable<T: Send>(items: &mut [T], compare: &(impl Fn(&T, &T) -> Ordering + Sync), pieces: usize) {
    if pieces < 2 || items.len() <= LEAF {
        return items.sort_by(compare);
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    join(
        || stable(right, compare, pieces / 2),
        || stable(left, compare, pieces / 2),
    );
    merge(items, middle, compare, pieces / 2);
}

/// Merges two sorted runs, the second of which begins at `middle`.
fn merge<T: Send>(
    items: &mut [T],
    middle: usize,
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    pieces: usize,
) {
    if middle == 0 || middle == items.len() {
        return;
    }
    if compare(&items[middle - 1], &items[middle]) != Ordering::Greater {
        return;
    }
    if pieces < 2 || items.len() <= LEAF {
        // It finds the two runs, and merges them.
        return items.sort_by(compare);
    }
    // What belongs before the middle of the first run is brought there, by a rotation of what is in between.
    let cut = middle / 2;
    let (first, second) = items.split_at(middle);
    let less = second.partition_point(|item| compare(item, &first[cut]) == Ordering::Less);
    items[cut..middle + less].rotate_left(middle - cut);
    let (left, right) = items.split_at_mut(cut + less);
    join(
        || merge(right, middle - cut, compare, pieces / 2),
        || merge(left, cut, compare, pieces / 2),
    );
}
