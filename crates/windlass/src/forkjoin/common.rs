//! The pool that everybody shares.

use std::sync::{Arc, OnceLock};

use super::core::MOST_WORKERS;
use super::pool::ForkJoinPool;
use crate::thread_factory::DefaultThreadFactory;

/// How many workers the common pool has; read once, when it is first used.
const PARALLELISM: &str = "WINDLASS_COMMON_PARALLELISM";

static COMMON: OnceLock<ForkJoinPool> = OnceLock::new();

/// Makes the common pool on first use.
pub(super) fn common() -> &'static ForkJoinPool {
    COMMON.get_or_init(|| {
        let asked = std::env::var(PARALLELISM)
            .ok()
            .and_then(|value| value.parse().ok())
            .filter(|asked| *asked <= MOST_WORKERS);
        let default = super::builder::available_parallelism()
            .saturating_sub(1)
            .max(1);
        let factory = Arc::new(DefaultThreadFactory::named("ForkJoinPool.common"));
        ForkJoinPool::builder()
            .parallelism(asked.unwrap_or(default))
            .thread_factory(factory)
            .build_unchecked()
            .into_common()
    })
}
