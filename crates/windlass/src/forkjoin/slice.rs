//! Loops over slices, in parallel: for each element, mapped, reduced, sorted.
//!
//! The functions run in the pool of the worker that they are called on, elsewhere in the
//! [common pool](super::ForkJoinPool::common), as [`join`](fn@super::join) does. To use another pool, call
//! them inside [`ForkJoinPool::install`](super::ForkJoinPool::install).
//!
//! How long an element takes need not be known: a slice is split as long as there are idle workers, down to
//! single elements if these take long.
//! If a closure panics, some of the other elements may not be visited; the panic goes on when all closures
//! that run have ended.
//!
//! ```
//! use windlass::forkjoin::{ForkJoinPool, slice};
//!
//! let mut numbers: Vec<u64> = (0..10_000).rev().collect();
//! let pool = ForkJoinPool::new(2).unwrap();
//! pool.install(|| {
//!     slice::for_each_mut(&mut numbers, |n| *n *= 2);
//!     slice::sort_unstable(&mut numbers);
//!     assert_eq!(slice::map_reduce(&numbers, |n| *n, |a, b| a.max(b)), Some(19_998));
//! });
//! assert!(numbers.is_sorted());
//! ```

use super::common::{install, join};
pub use super::sort::{
    sort, sort_by, sort_by_key, sort_unstable, sort_unstable_by, sort_unstable_by_key,
};
use super::split::Fold;

/// Calls `f` with each element, potentially in parallel.
///
/// # Panics
///
/// If `f` panics.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use windlass::forkjoin::slice;
///
/// let sum = AtomicU64::new(0);
/// slice::for_each(&[1, 2, 3], |n| {
///     sum.fetch_add(*n, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 6);
/// ```
pub fn for_each<T: Sync>(items: &[T], f: impl Fn(&T) + Sync) {
    let each = Fold {
        empty: || (),
        fold: |(), items: &[T]| items.iter().for_each(&f),
        merge: |(), ()| (),
    };
    each.run(items);
}

/// Calls `f` with an exclusive reference to each element, potentially in parallel.
///
/// # Panics
///
/// If `f` panics.
///
/// ```
/// let mut numbers = vec![1, 2, 3];
/// windlass::forkjoin::slice::for_each_mut(&mut numbers, |n| *n += 1);
/// assert_eq!(numbers, [2, 3, 4]);
/// ```
pub fn for_each_mut<T: Send>(items: &mut [T], f: impl Fn(&mut T) + Sync) {
    let each = Fold {
        empty: || (),
        fold: |(), items: &mut [T]| items.iter_mut().for_each(&f),
        merge: |(), ()| (),
    };
    each.run(items);
}

/// Returns what `f` returns for each element, in order.
///
/// # Panics
///
/// If `f` panics.
///
/// ```
/// let squares = windlass::forkjoin::slice::map(&[1, 2, 3], |n| n * n);
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mapped = Fold {
        empty: Vec::new,
        fold: |mut parts: Vec<Vec<R>>, items: &[T]| {
            if parts.is_empty() {
                parts.push(Vec::new());
            }
            if let Some(last) = parts.last_mut() {
                last.extend(items.iter().map(&f));
            }
            parts
        },
        merge: |mut left: Vec<Vec<R>>, mut right| {
            left.append(&mut right);
            left
        },
    };
    let mut all = Vec::with_capacity(items.len());
    for mut part in mapped.run(items) {
        all.append(&mut part);
    }
    all
}

/// Maps each element by `map`, and combines all that it returns by `reduce`; `None` for an empty slice.
///
/// Neighbours are combined, left with right, in any grouping: `reduce` has to be associative, and need not
/// be commutative.
///
/// # Panics
///
/// If `map` or `reduce` panics.
///
/// ```
/// use windlass::forkjoin::slice::map_reduce;
///
/// let words = ["fork", "join"];
/// assert_eq!(map_reduce(&words, |word| word.len(), |a, b| a + b), Some(8));
/// assert_eq!(map_reduce(&words, |word| word.to_string(), |a, b| a + &b), Some("forkjoin".into()));
/// ```
pub fn map_reduce<T: Sync, R: Send>(
    items: &[T],
    map: impl Fn(&T) -> R + Sync,
    reduce: impl Fn(R, R) -> R + Sync,
) -> Option<R> {
    let merge = |left: Option<R>, right: Option<R>| match (left, right) {
        (Some(left), Some(right)) => Some(reduce(left, right)),
        (left, right) => left.or(right),
    };
    let reduced = Fold {
        empty: || None,
        // A block by itself first: the loop over it then has no `Option` in it.
        fold: |left, items: &[T]| merge(left, items.iter().map(&map).reduce(&reduce)),
        merge,
    };
    reduced.run(items)
}

/// Calls `f` with each element, each of which is a piece of its own; all have been visited when this
/// returns or panics.
pub(super) fn split_and_run<T: Send>(items: &mut [T], f: &(impl Fn(&mut T) + Sync)) {
    fn halve<T: Send>(items: &mut [T], f: &(impl Fn(&mut T) + Sync)) {
        match items {
            [] => {}
            [one] => f(one),
            _ => {
                let (left, right) = items.split_at_mut(items.len() / 2);
                join(|| halve(left, f), || halve(right, f));
            }
        }
    }
    install(|_| halve(items, f));
}
