//! Whether and when a failed attempt is followed by another.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backoff::{Backoff, Growth, Jitter};
use super::period::after;
use crate::sync::Mutex;
use crate::sync::clock::Clock;
use crate::task::Failure;
use crate::unwind::catch;

/// How often a fallible task is tried, and how long it waits in between.
///
/// By default there are three attempts, half of each wait is random, and a panic is not tried again: only
/// an error that the task returns is. [`Schedule::submit_retry`](crate::Schedule::submit_retry) submits a
/// task with it.
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
/// use windlass::scheduled::Retry;
///
/// let pool = ScheduledThreadPoolExecutor::new(1);
/// let policy = Retry::exponential(Duration::from_millis(1))
///     .attempts(3)
///     .max_wait(Duration::from_secs(1))
///     .time_limit(Duration::from_secs(30))
///     .retry_if(|failure| !failure.is_panic());
/// let handle = pool.submit_retry(&policy, || Err::<(), _>("connection refused")).unwrap();
/// let failure = handle.join().unwrap_err().into_failure().unwrap();
/// assert_eq!(failure.to_string(), "connection refused (after 3 attempts)");
/// ```
#[derive(Clone)]
#[must_use = "a policy does nothing until a task is submitted with it"]
#[doc(alias = "backoff")]
pub struct Retry {
    attempts: u64,
    backoff: Backoff,
    seed: Option<u64>,
    time_limit: Option<Duration>,
    retry_if: Option<RetryIf>,
}

type RetryIf = Arc<dyn Fn(&Failure) -> bool + Send + Sync>;

impl Retry {
    /// Creates a policy that waits for the same time after each attempt.
    pub const fn constant(wait: Duration) -> Self {
        Self::new(wait, Growth::Constant)
    }

    /// Creates a policy that waits twice as long after each attempt as after the one before, at first
    /// for `first`.
    pub const fn exponential(first: Duration) -> Self {
        Self::new(first, Growth::Doubling)
    }

    const fn new(first: Duration, growth: Growth) -> Self {
        Self {
            attempts: 3,
            backoff: Backoff {
                first,
                growth,
                most: Duration::MAX,
                jitter: Jitter::Equal,
            },
            seed: None,
            time_limit: None,
            retry_if: None,
        }
    }

    /// Sets how many attempts there are at most, the first included; zero counts as one. Default: three.
    pub const fn attempts(mut self, attempts: u64) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets how long the wait grows at most.
    pub const fn max_wait(mut self, wait: Duration) -> Self {
        self.backoff.most = wait;
        self
    }

    /// Sets how a random part is mixed into the wait. Default: [`Jitter::Equal`].
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        self.backoff.jitter = jitter;
        self
    }

    /// Sets the seed of the jitter, for tests: each task then has the same waits. By default it differs
    /// from task to task.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets how long the attempts may take together, from the submission on: none but the first starts
    /// later, also where no worker was free in time. The last attempt may take longer.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Sets which failures are tried again. Default: errors, and no panics.
    ///
    /// It is called after each failed attempt but the last. If it panics, the task fails with that panic.
    pub fn retry_if(mut self, retry_if: impl Fn(&Failure) -> bool + Send + Sync + 'static) -> Self {
        self.retry_if = Some(Arc::new(retry_if));
        self
    }

    fn retries(&self, failure: &Failure) -> bool {
        match &self.retry_if {
            None => !failure.is_panic(),
            Some(retry_if) => retry_if(failure),
        }
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("attempts", &self.attempts)
            .field("backoff", &self.backoff)
            .field("time_limit", &self.time_limit)
            .finish_non_exhaustive()
    }
}

/// The attempts at one task.
pub(super) struct Progress {
    policy: Retry,
    seed: u64,
    clock: Clock,
    /// When no attempt may start any more.
    ends: Option<Instant>,
    /// When the next attempt is due, once the last one has failed.
    next: Mutex<Option<Instant>>,
}

impl Progress {
    /// Creates the progress of a task that is submitted now; `salt` is the seed unless the policy has one.
    pub(super) fn new(policy: &Retry, clock: &Clock, salt: u64) -> Self {
        let limit = policy.time_limit;
        Self {
            seed: policy.seed.unwrap_or(salt),
            ends: limit.map(|limit| after(clock.now(), limit)),
            policy: policy.clone(),
            clock: clock.clone(),
            next: Mutex::new(None),
        }
    }

    /// Decides after an attempt that has failed: sets when the next one is due, or returns the failure of
    /// the task.
    pub(super) fn decide(&self, attempts: u64, failure: Failure) -> Result<(), Failure> {
        let wait = self.policy.backoff.wait(attempts, self.seed);
        let due = after(self.clock.now(), wait);
        if attempts >= self.policy.attempts || self.ends.is_some_and(|ends| due > ends) {
            return Err(failure);
        }
        match catch(|| self.policy.retries(&failure)) {
            Ok(true) => {
                *self.next.lock() = Some(due);
                Ok(())
            }
            Ok(false) => Err(failure),
            Err(payload) => Err(Failure::from_panic(payload).after_attempts(attempts)),
        }
    }

    /// Returns whether it is too late to start another attempt.
    pub(super) fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| self.clock.now() > ends)
    }

    /// Returns when the next attempt is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        *self.next.lock()
    }
}
