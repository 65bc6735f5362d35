//! What a process measures of its own calls to an engine.

/// The calls of this process to an engine, and the tasks that it sends there and gets from there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// The operations of the engine.
    pub operations: Vec<Operation>,
    /// The queues.
    pub traffic: Vec<Traffic>,
}

/// One operation of an engine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operation {
    /// Its name. It is the value of a label, so there are few of them.
    pub name: String,
    /// How long the calls took, in seconds.
    pub seconds: Distribution,
    /// How many calls failed.
    pub errors: u64,
}

/// The tasks of one queue that this process has submitted or run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traffic {
    /// The queue.
    pub queue: String,
    /// From the submission of a task to its outcome, in seconds.
    pub round_trips: Distribution,
    /// Bytes of payloads and results that left this process.
    pub sent: Distribution,
    /// Bytes of payloads and results that came into this process.
    pub received: Distribution,
}

/// How often a measured value was in which range.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// Upper bounds, in order, each with how many values were at most that and above the bound before.
    pub buckets: Vec<(f64, u64)>,
    /// How many values there were, also those above the last bound.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}
