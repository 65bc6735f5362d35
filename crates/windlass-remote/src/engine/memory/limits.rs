//! The limits of one task type: how many run, and how often one starts.

use super::super::TypeLimit;
use super::clock::millis;
use crate::id::TaskId;
use std::collections::VecDeque;

/// Whether a task may start now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Start,
    /// Its type runs as often as it may; it waits for an end.
    Park,
    /// A start at this time (in milliseconds) is reserved for it.
    At(u64),
}

/// The state of the limits of one task type in one queue.
#[derive(Debug, Default)]
pub(super) struct TypeState {
    pub(super) limit: TypeLimit,
    pub(super) running: u32,
    /// Tasks that wait for an end, in order.
    pub(super) parked: VecDeque<TaskId>,
    /// When the next start would be on time, in microseconds (the "theoretical arrival time" of GCRA).
    next_start: u64,
}

impl TypeState {
    /// Decides about a start at `now` milliseconds, and reserves one if it is later.
    pub(super) fn admit(&mut self, now: u64, rate_paid: bool) -> Admission {
        if let (Some(interval), false) = (self.limit.interval, rate_paid) {
            let now = now * 1000;
            let interval = 1000 * millis(interval) + u64::from(interval.subsec_micros() % 1000);
            let slack = interval.saturating_mul(u64::from(self.limit.burst.max(1) - 1));
            let start = self.next_start.saturating_sub(slack);
            self.next_start = self.next_start.max(now).saturating_add(interval);
            if start > now {
                return Admission::At(start.div_ceil(1000));
            }
        }
        if self
            .limit
            .concurrency
            .is_some_and(|most| self.running >= most)
        {
            return Admission::Park;
        }
        Admission::Start
    }

    /// Returns how many more may run.
    pub(super) fn room(&self) -> usize {
        let most = self.limit.concurrency.unwrap_or(u32::MAX);
        most.saturating_sub(self.running) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{Admission, TypeLimit, TypeState};
    use std::time::Duration;

    #[test]
    fn starts_beyond_the_burst_are_spread_over_time() {
        let interval = Some(Duration::from_millis(10));
        let limit = TypeLimit {
            concurrency: None,
            interval,
            burst: 2,
        };
        let mut state = TypeState {
            limit,
            ..TypeState::default()
        };
        let starts: Vec<_> = (0..4).map(|_| state.admit(1_000, false)).collect();
        let expected = [
            Admission::Start,
            Admission::Start,
            Admission::At(1_010),
            Admission::At(1_020),
        ];
        assert_eq!(starts, expected);
        assert_eq!(state.admit(1_010, true), Admission::Start);
        assert_eq!(state.admit(2_000, false), Admission::Start);
    }

    #[test]
    fn the_longest_interval_lets_the_burst_start_and_no_more() {
        let limit = TypeLimit {
            concurrency: None,
            interval: Some(Duration::MAX),
            burst: 2,
        };
        let mut state = TypeState {
            limit,
            ..TypeState::default()
        };
        let started = (0..50).filter(|_| state.admit(1_000, false) == Admission::Start);
        assert_eq!(started.count(), 2);
    }
}
