//! When an alert is raised.

use std::time::Duration;

/// The values from which on alerts are raised, for one executor.
///
/// ```
/// use std::time::Duration;
/// use windlass::monitor::Thresholds;
///
/// let mut thresholds = Thresholds::default();
/// thresholds.queue_age = Duration::from_millis(250);
/// thresholds.run_timeout = Some(Duration::from_secs(5));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Thresholds {
    /// The fraction of the maximum of threads that is active for ten seconds: 0.8.
    pub activity: f64,
    /// The fraction of the queue's capacity that is taken for ten seconds: 0.7.
    pub capacity: f64,
    /// How long the next task of the queue has been waiting: one second.
    pub queue_age: Duration,
    /// The run of a task takes too long from this on, and ten of them in two minutes raise an alert.
    pub run_timeout: Option<Duration>,
    /// The wait of a task takes too long from this on, and ten of them in two minutes raise an alert.
    pub queue_timeout: Option<Duration>,
    /// How long one task has been running, if that is also ten times as long as 99 of 100 tasks: 30 s.
    pub stuck: Duration,
    /// How many threads end in a minute: 100.
    pub churn_per_minute: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            activity: 0.8,
            capacity: 0.7,
            queue_age: Duration::from_secs(1),
            run_timeout: None,
            queue_timeout: None,
            stuck: Duration::from_secs(30),
            churn_per_minute: 100,
        }
    }
}

impl Thresholds {
    /// Returns what differs in the newer thresholds, in words.
    pub(super) fn differences(&self, newer: &Self) -> Vec<String> {
        let texts = |of: &Self| {
            let limit = |limit: Option<Duration>| match limit {
                Some(limit) => format!("{limit:?}"),
                None => String::from("none"),
            };
            [
                ("activity", of.activity.to_string()),
                ("capacity", of.capacity.to_string()),
                ("queue_age", format!("{:?}", of.queue_age)),
                ("run_timeout", limit(of.run_timeout)),
                ("queue_timeout", limit(of.queue_timeout)),
                ("stuck", format!("{:?}", of.stuck)),
                ("churn_per_minute", of.churn_per_minute.to_string()),
            ]
        };
        let pairs = texts(self).into_iter().zip(texts(newer));
        let differs = pairs.filter(|((_, old), (_, new))| old != new);
        differs
            .map(|((name, old), (_, new))| format!("{name} {old} -> {new}"))
            .collect()
    }
}
