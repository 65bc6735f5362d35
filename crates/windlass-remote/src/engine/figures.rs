//! What was measured of the calls to an engine.

use crate::id::QueueName;

/// What a [`MeasuredEngine`](super::MeasuredEngine) has measured since it was made, in this process alone.
///
/// ```
/// use windlass_remote::QueueAdmin;
/// use windlass_remote::engine::{Engine, MeasuredEngine, MemoryEngine};
///
/// let engine = MeasuredEngine::new(MemoryEngine::new());
/// QueueAdmin::new(engine.clone(), "media".parse()?).stats()?;
/// let figures = engine.figures().expect("it is measured");
/// let stats = figures.operations.iter().find(|of| of.operation == "stats").expect("it was called");
/// assert_eq!((stats.seconds.count, stats.errors), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EngineFigures {
    /// The operations that were called so far, by name.
    pub operations: Vec<OperationFigures>,
    /// The queues that tasks were submitted to or taken from, by name.
    pub queues: Vec<QueueFigures>,
}

/// The calls of one operation of an engine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OperationFigures {
    /// Its name: that of the method, and `fetch`, `reply` and `message` for the feeds.
    pub operation: &'static str,
    /// How long the calls took, also those that failed. Calls of a feed are not in it: most of their time they wait for something to
    /// happen.
    pub seconds: Distribution,
    /// How many failed.
    pub errors: u64,
}

/// The tasks of one queue, as this process sees them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueueFigures {
    /// The queue.
    pub queue: QueueName,
    /// From the submission of a task to its outcome, in seconds, for tasks that were submitted here and without a delay. Of
    /// 10,000 that wait at a time, further ones are not measured.
    pub round_trips: Distribution,
    /// The sizes of payloads and results that left this process, sealed, in bytes.
    pub sent: Distribution,
    /// The sizes of payloads and results that came into this process, sealed, in bytes.
    pub received: Distribution,
}

/// How often a measured value was in which range.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Distribution {
    /// Upper bounds, in order, each with how many values were at most that and above the bound before.
    pub buckets: Vec<(f64, u64)>,
    /// How many values there were, also those above the last bound.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl Distribution {
    /// Creates one from its parts.
    pub const fn new(buckets: Vec<(f64, u64)>, count: u64, sum: f64) -> Self {
        Self {
            buckets,
            count,
            sum,
        }
    }
}
