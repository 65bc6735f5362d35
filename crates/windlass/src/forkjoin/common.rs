//! The common pool, and the free function `join`, which uses it outside of other pools.

use std::sync::OnceLock;

use super::executor::ForkJoinPool;
use super::join::join_here;
use super::local::Local;
use super::parallelism::{MAX_WORKERS, available_parallelism};

/// The variable for the parallelism of the common pool; read once, on first use.
const PARALLELISM: &str = "WINDLASS_COMMON_PARALLELISM";
/// The variable for how many threads may replace its blocked workers; read at the same time.
const MAXIMUM_SPARES: &str = "WINDLASS_COMMON_MAXIMUM_SPARES";

static COMMON: OnceLock<ForkJoinPool> = OnceLock::new();

impl ForkJoinPool {
    /// Returns the pool that the whole process shares; creates it on first use.
    ///
    /// It has one worker fewer than the machine runs threads, and at least one;
    /// `WINDLASS_COMMON_PARALLELISM` in the environment sets another number, and
    /// `WINDLASS_COMMON_MAXIMUM_SPARES` how many threads may replace blocked workers. It cannot be
    /// shut down.
    #[must_use]
    #[doc(alias = "commonPool")]
    pub fn common() -> &'static Self {
        COMMON.get_or_init(create)
    }
}

fn create() -> ForkJoinPool {
    let asked = setting(PARALLELISM).filter(|asked| *asked <= MAX_WORKERS);
    let default = available_parallelism().saturating_sub(1).max(1);
    let mut builder = ForkJoinPool::builder()
        .name("ForkJoinPool.common")
        .parallelism(asked.unwrap_or(default));
    if let Some(spares) = setting(MAXIMUM_SPARES).filter(|spares| *spares <= MAX_WORKERS) {
        builder = builder.maximum_spares(spares);
    }
    builder.build_unchecked().into_common()
}

/// Returns a number from the environment; anything else counts as not set.
fn setting(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs both closures, potentially in parallel, and returns both results.
///
/// On a worker of a pool it runs in that pool; elsewhere in the [common pool](ForkJoinPool::common).
///
/// # Panics
///
/// If a closure panics, after both have ended.
///
/// ```
/// use windlass::forkjoin::join;
///
/// fn fib(n: u32) -> u64 {
///     if n < 2 {
///         return u64::from(n);
///     }
///     let (a, b) = join(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
///
/// assert_eq!(fib(20), 6765);
/// ```
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match join_here(a, b) {
        Ok(both) => both,
        Err((a, b)) => join_in_common(a, b),
    }
}

#[cold]
#[inline(never)]
fn join_in_common<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    ForkJoinPool::common().join(a, b)
}

/// Runs `f` with the parallelism of the pool that it runs in: that of the worker that this is called on, or
/// the common pool.
pub(super) fn install<R: Send>(f: impl FnOnce(usize) -> R + Send) -> R {
    let here = Local::with(|local| local.map(|local| local.shared.parallelism()));
    match here {
        Some(parallelism) => f(parallelism),
        None => {
            let common = ForkJoinPool::common();
            common.install(|| f(common.parallelism()))
        }
    }
}
