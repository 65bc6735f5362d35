//! The rules for one task: priority, repetition, limits of time, how long its record is kept.

use std::time::Duration;

/// Which of the three ready lists of a queue a task waits in.
///
/// Of every eight fetches five look at `High` first, two at `Normal`, one at `Low`, so that none starves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Before the others, usually.
    High,
    /// The default.
    #[default]
    Normal,
    /// After the others, usually.
    Low,
}

impl Priority {
    /// Returns 0 for `High`, 1 for `Normal`, 2 for `Low`.
    pub const fn level(self) -> usize {
        self as usize
    }

    /// Returns the priority of a level; `Low` for all above 1.
    pub const fn from_level(level: usize) -> Self {
        match level {
            0 => Self::High,
            1 => Self::Normal,
            _ => Self::Low,
        }
    }
}

impl Priority {
    /// Returns all three, beginning with this one.
    pub const fn first_of_all(self) -> [Self; 3] {
        match self {
            Self::High => [Self::High, Self::Normal, Self::Low],
            Self::Normal => [Self::Normal, Self::High, Self::Low],
            Self::Low => [Self::Low, Self::High, Self::Normal],
        }
    }

    /// Returns which priority the fetch with this number looks at first.
    pub(crate) const fn of_turn(turn: u64) -> Self {
        match turn % 8 {
            2 | 6 => Self::Normal,
            4 => Self::Low,
            _ => Self::High,
        }
    }
}

/// The rules for a task. By default those of Java: an error is final, and a task has all the time it needs.
///
/// ```
/// use std::time::Duration;
/// use windlass_remote::TaskOptions;
///
/// let options = TaskOptions::default()
///     .max_attempts(5)
///     .backoff(Duration::from_millis(100), Duration::from_secs(10))
///     .run_timeout(Duration::from_secs(60));
/// assert_eq!(options.attempts(), 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct TaskOptions {
    pub(crate) priority: Priority,
    pub(crate) max_attempts: u32,
    pub(crate) backoff_first: Duration,
    pub(crate) backoff_max: Duration,
    pub(crate) at_most_once: bool,
    pub(crate) max_worker_deaths: u32,
    pub(crate) queue_timeout: Option<Duration>,
    pub(crate) run_timeout: Option<Duration>,
    pub(crate) retention: Duration,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self {
            priority: Priority::Normal,
            max_attempts: 1,
            backoff_first: Duration::from_secs(1),
            backoff_max: Duration::from_secs(600),
            at_most_once: false,
            max_worker_deaths: 3,
            queue_timeout: None,
            run_timeout: None,
            retention: Duration::from_secs(600),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    // A limit of half a millisecond is a limit, not the absence of one.
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX)
        .clamp(1, 1 << 50)
}

impl TaskOptions {
    /// Sets the priority.
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sets how often the task may fail before it is final. 1, the default, means no repetition.
    pub const fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = if attempts == 0 { 1 } else { attempts };
        self
    }

    /// Sets the pause before an attempt: a random time up to `first`, doubled with each failure, at most `max`.
    pub const fn backoff(mut self, first: Duration, max: Duration) -> Self {
        self.backoff_first = first;
        self.backoff_max = max;
        self
    }

    /// Makes a task whose worker vanished, or was shut down before the task had ended, fail instead of running again. It then
    /// runs at most once, unless [`max_attempts`](Self::max_attempts) asks for more, or a dead letter is retried.
    ///
    /// On Redis that needs `appendfsync always`: with `everysec` a server that is killed may forget that a task was started.
    pub const fn at_most_once(mut self) -> Self {
        self.at_most_once = true;
        self
    }

    /// Sets how many workers may vanish under the task before it becomes a dead letter. 3 by default.
    pub const fn max_worker_deaths(mut self, deaths: u32) -> Self {
        self.max_worker_deaths = if deaths == 0 { 1 } else { deaths };
        self
    }

    /// Sets how long the task may wait until it starts. It is checked when a worker comes to it.
    pub const fn queue_timeout(mut self, limit: Duration) -> Self {
        self.queue_timeout = Some(limit);
        self
    }

    /// Sets how long one run may take. After that the task has failed, and its run is told to stop.
    pub const fn run_timeout(mut self, limit: Duration) -> Self {
        self.run_timeout = Some(limit);
        self
    }

    /// Sets how long the record with the result is kept after the end. So long the result can be
    /// picked up, and so long the id is known to be a duplicate. 10 minutes by default.
    pub const fn retention(mut self, time: Duration) -> Self {
        self.retention = time;
        self
    }

    /// Returns how often the task may fail before it is final.
    pub const fn attempts(&self) -> u32 {
        self.max_attempts
    }

    /// Returns the priority.
    pub const fn priority_level(&self) -> Priority {
        self.priority
    }

    /// Returns whether the task fails when its worker vanishes.
    pub const fn is_at_most_once(&self) -> bool {
        self.at_most_once
    }

    /// Returns how many workers may vanish under the task.
    pub const fn worker_deaths(&self) -> u32 {
        self.max_worker_deaths
    }

    /// Returns how long the task may wait until it starts.
    pub const fn queue_limit(&self) -> Option<Duration> {
        self.queue_timeout
    }

    /// Returns how long one run may take.
    pub const fn run_limit(&self) -> Option<Duration> {
        self.run_timeout
    }

    /// Returns how long the record is kept after the end.
    pub const fn retention_time(&self) -> Duration {
        self.retention
    }

    /// Returns a random pause before the next attempt, after `failures` failures.
    pub(crate) fn pause_after(&self, failures: u32) -> Duration {
        let doubled = self
            .backoff_first
            .saturating_mul(1 << failures.saturating_sub(1).min(30));
        let cap = millis(doubled.min(self.backoff_max));
        Duration::from_millis(crate::id::random_below(cap + 1))
    }

    /// Returns the form that travels in a record: numbers with commas between, priority, deaths, at most once,
    /// queue limit, retention first, since those are what engines read.
    pub fn to_wire(&self) -> String {
        let limit = |d: Option<Duration>| d.map_or(0, millis);
        format!(
            "{},{},{},{},{},{},{},{},{}",
            self.priority.level(),
            self.max_worker_deaths,
            u8::from(self.at_most_once),
            limit(self.queue_timeout),
            millis(self.retention),
            self.max_attempts,
            millis(self.backoff_first),
            millis(self.backoff_max),
            limit(self.run_timeout),
        )
    }

    /// Reads the form of [`to_wire`](Self::to_wire). What is missing or unreadable has its default.
    pub fn from_wire(text: &str) -> Self {
        let mut numbers = text.split(',').map(|part| part.parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        let small =
            |n: Option<u64>, or: u32| n.map_or(or, |n| u32::try_from(n).unwrap_or(u32::MAX));
        let time = |n: Option<u64>, or: Duration| n.map_or(or, Duration::from_millis);
        let limit = |n: Option<u64>| n.filter(|&n| n > 0).map(Duration::from_millis);
        let usual = Self::default();
        Self {
            priority: next().map_or(usual.priority, |n| Priority::from_level(n.min(2) as usize)),
            max_worker_deaths: small(next(), usual.max_worker_deaths).max(1),
            at_most_once: next().is_some_and(|n| n > 0),
            queue_timeout: limit(next()),
            retention: time(next(), usual.retention),
            max_attempts: small(next(), usual.max_attempts).max(1),
            backoff_first: time(next(), usual.backoff_first),
            backoff_max: time(next(), usual.backoff_max),
            run_timeout: limit(next()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Priority, TaskOptions};
    use std::time::Duration;

    #[test]
    fn options_survive_the_wire() {
        let options = TaskOptions::default()
            .priority(Priority::High)
            .max_attempts(7)
            .at_most_once()
            .max_worker_deaths(2)
            .queue_timeout(Duration::from_secs(3))
            .run_timeout(Duration::from_millis(5))
            .backoff(Duration::from_millis(10), Duration::from_millis(90))
            .retention(Duration::from_secs(9));
        assert_eq!(TaskOptions::from_wire(&options.to_wire()), options);
        assert_eq!(TaskOptions::from_wire(""), TaskOptions::default());
    }

    #[test]
    fn the_pause_doubles_up_to_its_limit() {
        let options =
            TaskOptions::default().backoff(Duration::from_millis(10), Duration::from_millis(45));
        for (failures, most) in [(1, 10), (2, 20), (3, 40), (4, 45), (60, 45)] {
            let longest = (0..200)
                .map(|_| options.pause_after(failures))
                .max()
                .unwrap();
            assert!(
                longest <= Duration::from_millis(most),
                "{failures}: {longest:?}"
            );
            assert!(
                longest > Duration::from_millis(most / 2),
                "{failures}: {longest:?}"
            );
        }
    }
}
