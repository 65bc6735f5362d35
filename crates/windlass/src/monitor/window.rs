//! Counters of the last two minutes, to tell how much was added in a window of time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The longest window.
const LONGEST: Duration = Duration::from_secs(120);

/// Counters at one time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) rejected: u64,
    pub(super) exits: u64,
    pub(super) run_timeouts: u64,
    pub(super) queue_timeouts: u64,
}

/// The counters of the last two minutes.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<(Instant, Counters)>);

impl Window {
    pub(super) fn push(&mut self, now: Instant, counters: Counters) {
        // One that is older than the longest window is kept, to compare with.
        while self
            .0
            .get(1)
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) >= LONGEST)
        {
            self.0.pop_front();
        }
        self.0.push_back((now, counters));
    }

    /// Returns how much was added to a counter in the last `time`, as far as it was watched.
    pub(super) fn added(&self, time: Duration, counter: fn(&Counters) -> u64) -> u64 {
        let Some((now, last)) = self.0.back() else {
            return 0;
        };
        let is_before = |at: &Instant| now.saturating_duration_since(*at) >= time;
        let before = self.0.iter().rev().find(|(at, _)| is_before(at));
        let before = before.or_else(|| self.0.front());
        before.map_or(0, |(_, before)| {
            counter(last).saturating_sub(counter(before))
        })
    }
}
