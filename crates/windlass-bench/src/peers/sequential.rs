//! No pool at all: what the same algorithm costs on one thread.

use super::family::{ForkJoin, Peer};

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
