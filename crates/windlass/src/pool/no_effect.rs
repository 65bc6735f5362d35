//! Settings that can have no effect.

use std::fmt;
use std::time::Duration;

/// A setting that can have no effect, or one that no machine can honour.
///
/// [`Builder::warnings`](super::Builder::warnings) and the result of
/// [`reconfigure`](super::ThreadPoolExecutor::reconfigure) have them;
/// [`Builder::build_strict`](super::Builder::build_strict) refuses to build a pool with one.
///
/// ```
/// use windlass::pool::ConfigWarning;
/// use windlass::prelude::*;
///
/// // The queue is unbounded, so it never is full, and no worker beyond core is ever started.
/// let builder = ThreadPoolExecutor::builder().core_pool_size(4).maximum_pool_size(16);
/// let expected = ConfigWarning::MaximumUnreachable { core: 4, maximum: 16 };
/// assert_eq!(builder.warnings(), [expected]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// The queue is unbounded, so it never refuses a task, and no worker beyond core is started: bound the
    /// queue, let the pool grow eagerly, or raise the core size.
    MaximumUnreachable {
        /// The core size.
        core: usize,
        /// The maximum size.
        maximum: usize,
    },
    /// There is never a worker beyond core, and core workers do not time out: nobody waits for the
    /// keep-alive time.
    KeepAliveUnused {
        /// The keep-alive time.
        keep_alive: Duration,
    },
    /// Tasks that fill the queue do not fit into the memory of the machine: the bound protects against
    /// nothing.
    QueueExceedsMemory {
        /// The bound of the queue.
        capacity: usize,
        /// How many queued tasks fill the memory, if they capture nothing.
        most: usize,
    },
    /// The queue is unbounded: the rejection handler is called after a shutdown only, or if no thread can
    /// be created.
    RejectionHandlerUnused,
    /// All workers are core workers: there is none to start before a task is queued.
    EagerGrowthUnused {
        /// Core size and maximum.
        size: usize,
    },
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaximumUnreachable { core, maximum } => write!(
                f,
                "the maximum of {maximum} workers has no effect: the queue is unbounded, and there are \
                 never more than {core}"
            ),
            Self::KeepAliveUnused { keep_alive } => write!(
                f,
                "the keep-alive time of {keep_alive:?} has no effect: there is no worker that may time out"
            ),
            Self::QueueExceedsMemory { capacity, most } => write!(
                f,
                "the queue's bound of {capacity} tasks has no effect: {most} of them fill the memory"
            ),
            Self::RejectionHandlerUnused => f.write_str(
                "the rejection handler has no effect before the shutdown: the queue is unbounded",
            ),
            Self::EagerGrowthUnused { size } => write!(
                f,
                "eager growth has no effect: all {size} workers are core workers"
            ),
        }
    }
}

impl std::error::Error for ConfigWarning {}
