//! Joins of more than two closures.

use super::common::join;
use super::slice::split_and_run;

/// Runs three closures, potentially in parallel, and returns all results.
///
/// As [`join`](fn@join), with one more closure.
///
/// # Panics
///
/// If a closure panics, after all have ended; if several do, with the panic of the first of them.
///
/// ```
/// use windlass::forkjoin::join3;
///
/// let text = String::from("to be or not to be");
/// let (words, letters, longest) = join3(
///     || text.split(' ').count(),
///     || text.chars().filter(|c| c.is_alphabetic()).count(),
///     || text.split(' ').max_by_key(|word| word.len()),
/// );
/// assert_eq!((words, letters, longest), (6, 13, Some("not")));
/// ```
#[doc(alias = "invokeAll")]
pub fn join3<A, B, C, RA, RB, RC>(a: A, b: B, c: C) -> (RA, RB, RC)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    C: FnOnce() -> RC + Send,
    RA: Send,
    RB: Send,
    RC: Send,
{
    let (ra, (rb, rc)) = join(a, || join(b, c));
    (ra, rb, rc)
}

/// Runs four closures, potentially in parallel, and returns all results.
///
/// As [`join`](fn@join), with two more closures.
///
/// # Panics
///
/// If a closure panics, after all have ended; if several do, with the panic of the first of them.
///
/// ```
/// use windlass::forkjoin::join4;
///
/// let numbers = [3, 1, 2];
/// let (sum, product, least, greatest) = join4(
///     || numbers.iter().sum::<i32>(),
///     || numbers.iter().product::<i32>(),
///     || numbers.iter().min(),
///     || numbers.iter().max(),
/// );
/// assert_eq!((sum, product, least, greatest), (6, 6, Some(&1), Some(&3)));
/// ```
#[doc(alias = "invokeAll")]
pub fn join4<A, B, C, D, RA, RB, RC, RD>(a: A, b: B, c: C, d: D) -> (RA, RB, RC, RD)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    C: FnOnce() -> RC + Send,
    D: FnOnce() -> RD + Send,
    RA: Send,
    RB: Send,
    RC: Send,
    RD: Send,
{
    let ((ra, rb), (rc, rd)) = join(|| join(a, b), || join(c, d));
    (ra, rb, rc, rd)
}

/// Runs any number of closures of one type, potentially in parallel, and returns all results in order.
///
/// On a worker of a pool it runs in that pool; elsewhere in the
/// [common pool](super::ForkJoinPool::common).
///
/// # Panics
///
/// If a closure panics, after all have ended; if several do, with the panic of the first of them.
///
/// ```
/// use windlass::forkjoin::join_all;
///
/// let words = ["one", "two", "three"];
/// let lengths = join_all(words.iter().map(|word| || word.len()));
/// assert_eq!(lengths, [3, 3, 5]);
/// ```
#[doc(alias = "invokeAll")]
pub fn join_all<F, R>(closures: impl IntoIterator<Item = F>) -> Vec<R>
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let mut slots: Vec<Slot<F, R>> = closures.into_iter().map(Slot::Closure).collect();
    split_and_run(&mut slots, &|slot: &mut Slot<F, R>| slot.run());
    slots.into_iter().filter_map(Slot::into_result).collect()
}

/// A closure, and then its result.
enum Slot<F, R> {
    Closure(F),
    Result(R),
    /// It runs, or has panicked.
    Neither,
}

impl<F: FnOnce() -> R, R> Slot<F, R> {
    fn run(&mut self) {
        if let Self::Closure(closure) = std::mem::replace(self, Self::Neither) {
            *self = Self::Result(closure());
        }
    }

    fn into_result(self) -> Option<R> {
        match self {
            Self::Result(result) => Some(result),
            Self::Closure(_) | Self::Neither => None,
        }
    }
}
