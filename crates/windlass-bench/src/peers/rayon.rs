//! Rayon: `spawn` from outside and inside, `join`. Its pools are those of `rayon-core`.

use super::family::{ForkJoin, Peer, Pool};

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
