//! How long the workers of a pool have been running their tasks.

use std::time::Duration;

use super::activity::Activity;
use super::sampler::Sampler;

/// A run of this length is long. To time each task costs those that are no shorter nothing that shows.
const LONG: Duration = Duration::from_millis(10);

/// Returns how long each worker that runs a task has been running it; `now` is a timestamp.
///
/// The time of a run counts from the last time that was read before it. If that was long ago, either the run
/// is long or tasks before it were not timed: from now on all are, until the rate is adapted again. So a
/// reader that comes back has exact times, and workers with short tasks are left alone.
pub(crate) fn times_of_runs<'a>(
    activities: impl Iterator<Item = &'a Activity>,
    sampler: &Sampler,
    now: u64,
) -> Vec<Duration> {
    let running = activities.filter_map(|activity| {
        let running = activity.running()?;
        let since = match running.since {
            0 => activity.first_seen(&running, now),
            since => since,
        };
        Some(Duration::from_nanos(now.saturating_sub(since)))
    });
    let times: Vec<_> = running.collect();
    if times.iter().any(|time| *time >= LONG) {
        sampler.time_all(now);
    }
    times
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use crossbeam_utils::CachePadded;

    use super::{LONG, times_of_runs};
    use crate::task::TaskId;
    use crate::times::activity::{Activity, Writer};
    use crate::times::sampler::{Rate, Sampler};

    /// A sampler that times few tasks.
    fn slow_sampler() -> Sampler {
        let sampler = Sampler::new(Rate::Adaptive);
        for now in 1..=100 {
            sampler.record(now);
        }
        assert!(sampler.every() > 1);
        sampler
    }

    /// WL-486
    #[test]
    fn reading_short_runs_times_no_more_tasks_and_reading_a_long_one_does() {
        let sampler = slow_sampler();
        let every = sampler.every();
        let activity = Arc::new(CachePadded::new(Activity::default()));
        let writer = Writer::new(&activity);
        let now = 1_000_000_000;
        assert_eq!(times_of_runs([&**activity].into_iter(), &sampler, now), []);
        writer.set_since(now);
        writer.begin(TaskId::next());
        let later = |time: Duration| now + u64::try_from(time.as_nanos()).unwrap_or_default();
        let short = LONG - Duration::from_nanos(1);
        let read = |time| times_of_runs([&**activity].into_iter(), &sampler, later(time));
        assert_eq!((read(short), sampler.every()), (vec![short], every));
        assert_eq!((read(LONG), sampler.every()), (vec![LONG], 1));
    }
}
