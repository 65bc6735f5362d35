//! Windlass's fork-join pool: joins, and tasks from outside and inside.

use windlass::Submit;
use windlass::forkjoin::{self, ForkJoinPool};

use super::family::{ForkJoin, Peer, Pool};
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
