//! When the tasks were submitted whose outcome this process waits for.

use crate::id::TaskId;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// How many submissions are remembered.
const MOST: usize = 10_000;
/// A submission without an outcome for so long makes room for another: nobody may wait for it any longer.
const LONG: Duration = Duration::from_secs(3600);

/// Submissions without an outcome. One that does not fit is not remembered: to forget the oldest instead would leave
/// out the long round trips and keep the short ones.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    by_id: HashMap<TaskId, (u64, Instant)>,
    by_age: BTreeMap<u64, TaskId>,
    next: u64,
}

impl RoundTrips {
    pub(super) fn begin(&mut self, id: &TaskId, now: Instant) {
        if self.by_id.len() >= MOST && !self.forget_one(now) {
            return;
        }
        if self.by_id.contains_key(id) {
            return;
        }
        self.by_id.insert(id.clone(), (self.next, now));
        self.by_age.insert(self.next, id.clone());
        self.next += 1;
    }

    /// Returns how long ago the task was submitted, if that is known.
    pub(super) fn end(&mut self, id: &TaskId, now: Instant) -> Option<Duration> {
        let (number, begun) = self.by_id.remove(id)?;
        self.by_age.remove(&number);
        Some(now.saturating_duration_since(begun))
    }

    /// Forgets the oldest if it is very old; returns whether it was.
    fn forget_one(&mut self, now: Instant) -> bool {
        let Some(oldest) = self.by_age.first_entry() else {
            return true;
        };
        let begun = self.by_id.get(oldest.get()).map(|(_, begun)| *begun);
        let is_old = begun.is_none_or(|begun| now.saturating_duration_since(begun) > LONG);
        if is_old {
            self.by_id.remove(&oldest.remove());
        }
        is_old
    }
}

#[cfg(test)]
mod tests {
    use super::{LONG, MOST, RoundTrips};
    use crate::id::TaskId;
    use std::time::{Duration, Instant};

    #[test]
    fn a_task_is_measured_once() {
        let (mut trips, start) = (RoundTrips::default(), Instant::now());
        let (id, second) = (TaskId::random(), Duration::from_secs(1));
        trips.begin(&id, start);
        trips.begin(&id, start + second);
        assert_eq!(trips.end(&id, start + 3 * second), Some(3 * second));
        assert_eq!(trips.end(&id, start + 4 * second), None);
        assert!(trips.by_age.is_empty());
    }

    #[test]
    fn what_does_not_fit_is_not_measured_until_the_oldest_is_very_old() {
        let (mut trips, start) = (RoundTrips::default(), Instant::now());
        for _ in 0..MOST {
            trips.begin(&TaskId::random(), start);
        }
        let late = TaskId::random();
        trips.begin(&late, start + LONG);
        assert_eq!(trips.end(&late, start + LONG), None);
        let after = start + LONG + Duration::from_secs(1);
        trips.begin(&late, after);
        assert_eq!(trips.end(&late, after), Some(Duration::ZERO));
        assert_eq!(
            (trips.by_id.len(), trips.by_age.len()),
            (MOST - 1, MOST - 1)
        );
    }
}
