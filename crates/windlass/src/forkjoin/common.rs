//! The pool that everybody shares.

use std::sync::{Arc, OnceLock};

use super::executor::ForkJoinPool;
use super::shared::MAX_WORKERS;
use crate::thread_factory::DefaultThreadFactory;

/// How many workers the common pool has; read once, when it is first used.
const PARALLELISM: &str = "WINDLASS_COMMON_PARALLELISM";
/// How many threads beyond that may stand in for its workers that wait; read at the same time.
const MAXIMUM_SPARES: &str = "WINDLASS_COMMON_MAXIMUM_SPARES";

static COMMON: OnceLock<ForkJoinPool> = OnceLock::new();

/// Makes the common pool on first use.
pub(super) fn common() -> &'static ForkJoinPool {
    COMMON.get_or_init(|| {
        let asked = setting(PARALLELISM).filter(|asked| *asked <= MAX_WORKERS);
        let default = super::builder::available_parallelism()
            .saturating_sub(1)
            .max(1);
        let factory = Arc::new(DefaultThreadFactory::named("ForkJoinPool.common"));
        let mut builder = ForkJoinPool::builder()
            .parallelism(asked.unwrap_or(default))
            .thread_factory(factory);
        if let Some(spares) = setting(MAXIMUM_SPARES).filter(|spares| *spares <= MAX_WORKERS) {
            builder = builder.maximum_spares(spares);
        }
        builder.build_unchecked().into_common()
    })
}

/// A number from the environment; what is none counts as not set.
fn setting(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}
