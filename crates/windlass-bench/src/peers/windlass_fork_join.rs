//! Windlass's fork-join pool: joins, loops and sorts, and tasks from outside and inside.

use windlass::Submit;
use windlass::forkjoin::{self, ForkJoinPool, slice};

use super::family::{ForkJoin, Peer, Pool, Slices};
use super::windlass::return_by_handles;

pub(crate) struct WindlassForkJoin(ForkJoinPool);

impl Peer for WindlassForkJoin {
    const NAME: &'static str = "windlass-fork-join";
}

impl Pool for WindlassForkJoin {
    fn with_workers(workers: usize) -> Self {
        Self(ForkJoinPool::new(workers).expect("a parallelism that is possible"))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.execute(body).expect("the pool is not shut down");
    }
}

return_by_handles!(WindlassForkJoin);

impl ForkJoin for WindlassForkJoin {
    type Scope<'s> = ();
    const SECOND_FIRST: bool = true;

    fn with_parallelism(workers: usize) -> Self {
        Self::with_workers(workers)
    }

    fn enter<R: Send>(&self, body: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> R + Send) -> R {
        self.0.install(|| body(&mut ()))
    }

    #[inline]
    fn join<A: Send, B: Send>(
        (): &mut (),
        left: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> A + Send,
        right: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> B + Send,
    ) -> (A, B) {
        forkjoin::join(|| left(&mut ()), || right(&mut ()))
    }
}

impl Slices for WindlassForkJoin {
    fn for_each_mut(items: &mut [u64], f: impl Fn(&mut u64) + Sync + Send) {
        slice::for_each_mut(items, f);
    }

    fn map_reduce(
        items: &[u64],
        map: impl Fn(u64) -> u64 + Sync + Send,
        reduce: impl Fn(u64, u64) -> u64 + Sync + Send,
    ) -> u64 {
        slice::map_reduce(items, |item| map(*item), reduce).unwrap_or_default()
    }

    fn sort_unstable(items: &mut [u64]) {
        slice::sort_unstable(items);
    }

    fn sort_stable(items: &mut [u64]) {
        slice::sort(items);
    }
}
