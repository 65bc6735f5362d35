//! Rayon: `spawn` from outside and inside, `join`, loops and sorts. Its pools are those of `rayon-core`.

use rayon::iter::{IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use super::family::{ForkJoin, Peer, Pool, Slices};

pub(crate) struct Rayon(rayon_core::ThreadPool);

impl Peer for Rayon {
    const NAME: &'static str = "rayon";
}

impl Pool for Rayon {
    fn with_workers(workers: usize) -> Self {
        let pool = rayon_core::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build();
        Self(pool.expect("threads can be started"))
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(body);
    }
}

impl ForkJoin for Rayon {
    type Scope<'s> = ();

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
        rayon_core::join(|| left(&mut ()), || right(&mut ()))
    }
}

impl Slices for Rayon {
    fn for_each_mut(items: &mut [u64], f: impl Fn(&mut u64) + Sync + Send) {
        items.par_iter_mut().for_each(f);
    }

    fn map_reduce(
        items: &[u64],
        map: impl Fn(u64) -> u64 + Sync + Send,
        reduce: impl Fn(u64, u64) -> u64 + Sync + Send,
    ) -> u64 {
        let mapped = items.par_iter().map(|item| map(*item));
        mapped.reduce_with(reduce).unwrap_or_default()
    }

    fn sort_unstable(items: &mut [u64]) {
        items.par_sort_unstable();
    }

    fn sort_stable(items: &mut [u64]) {
        items.par_sort();
    }
}
