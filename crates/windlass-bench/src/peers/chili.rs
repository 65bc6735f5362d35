//! Chili, which only joins. It counts the calling thread as one of its workers.

use std::num::NonZero;

use super::family::{ForkJoin, Peer};

pub(crate) struct Chili(chili::ThreadPool);

impl Peer for Chili {
    const NAME: &'static str = "chili";
}

impl ForkJoin for Chili {
    type Scope<'s> = chili::Scope<'s>;
    const SECOND_FIRST: bool = true;

    fn with_parallelism(workers: usize) -> Self {
        Self(chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(workers),
            ..chili::Config::default()
        }))
    }

    fn enter<R: Send>(&self, body: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> R + Send) -> R {
        body(&mut self.0.scope())
    }

    #[inline]
    fn join<A: Send, B: Send>(
        scope: &mut chili::Scope<'_>,
        left: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> A + Send,
        right: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> B + Send,
    ) -> (A, B) {
        scope.join(left, right)
    }
}
