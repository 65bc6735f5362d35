//! No pool at all: what the same algorithm costs on one thread.

use super::family::{ForkJoin, Peer, Slices};

pub(crate) struct Sequential;

impl Peer for Sequential {
    const NAME: &'static str = "sequential";
}

impl ForkJoin for Sequential {
    type Scope<'s> = ();

    fn with_parallelism(_workers: usize) -> Self {
        Self
    }

    fn enter<R: Send>(&self, body: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> R + Send) -> R {
        body(&mut ())
    }

    #[inline]
    fn join<A: Send, B: Send>(
        (): &mut (),
        left: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> A + Send,
        right: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> B + Send,
    ) -> (A, B) {
        (left(&mut ()), right(&mut ()))
    }
}

impl Slices for Sequential {
    fn for_each_mut(items: &mut [u64], f: impl Fn(&mut u64) + Sync + Send) {
        items.iter_mut().for_each(f);
    }

    fn map_reduce(
        items: &[u64],
        map: impl Fn(u64) -> u64 + Sync + Send,
        reduce: impl Fn(u64, u64) -> u64 + Sync + Send,
    ) -> u64 {
        let mapped = items.iter().map(|item| map(*item));
        mapped.reduce(reduce).unwrap_or_default()
    }

    fn sort_unstable(items: &mut [u64]) {
        items.sort_unstable();
    }

    fn sort_stable(items: &mut [u64]) {
        items.sort();
    }
}
