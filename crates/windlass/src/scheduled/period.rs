//! The period of a periodic task: when it is due next.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::sync::clock::{self, Clock};

/// How a periodic task repeats.
///
/// Runs of one task never overlap, whatever its period.
///
/// ```
/// use std::time::Duration;
/// use windlass::scheduled::{MissedRuns, Period};
///
/// let heartbeat = Period::fixed_rate(Duration::from_secs(10))
///     .starting_in(Duration::from_secs(1))
///     .on_missed(MissedRuns::Skip)
///     .with_jitter(Duration::from_millis(500));
/// # drop(heartbeat);
/// ```
#[derive(Clone)]
#[must_use = "a period does nothing until a task is scheduled with it"]
pub struct Period {
    kind: Kind,
    initial: Duration,
    missed: MissedRuns,
    jitter: Duration,
}

/// One due time of a period, without jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tick {
    pub(super) at: Instant,
    /// The time of day that the calendar returned.
    wall: Option<SystemTime>,
}

impl Tick {
    const fn at(at: Instant) -> Self {
        Self { at, wall: None }
    }
}

/// How far the system clock may be set back without repeating times of a calendar, as in cron; more
/// than that counts as the correction of a wrong clock.
const SET_BACK: Duration = Duration::from_secs(3 * 60 * 60);

#[derive(Clone)]
enum Kind {
    Rate(Duration),
    Delay(Duration),
    Calendar(Arc<dyn Calendar>),
}

/// What happens to missed runs of a fixed rate: an earlier run took longer than the period, or no
/// worker was free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MissedRuns {
    /// They run late, one after the other without a pause, as in the JDK.
    #[default]
    Burst,
    /// They are skipped; the next run is on the next tick of the original period.
    Skip,
    /// They are skipped; the next run is one period from now, and further ticks count from there.
    Delay,
}

/// A sequence of times of day at which a periodic task is due.
///
/// With the feature `cron`, `scheduled::Cron` implements it.
pub trait Calendar: Send + Sync {
    /// Returns the first time after `now`; `None` ends the task.
    ///
    /// Called without a lock, on the thread that schedules and then, after each run, on the worker.
    /// A panic after a run is the failure of the task.
    fn next_after(&self, now: SystemTime) -> Option<SystemTime>;
}

impl Period {
    /// Creates a period that is due at the start and then every `period`, however long the runs take.
    pub fn fixed_rate(period: Duration) -> Self {
        Self::of(Kind::Rate(period))
    }

    /// Creates a period that is due at the start and then `delay` after the end of each run.
    pub fn fixed_delay(delay: Duration) -> Self {
        Self::of(Kind::Delay(delay))
    }

    /// Creates a period that is due at the times of a calendar. Times that pass during a run are
    /// skipped.
    pub fn calendar(calendar: impl Calendar + 'static) -> Self {
        Self::of(Kind::Calendar(Arc::new(calendar)))
    }

    fn of(kind: Kind) -> Self {
        Self {
            kind,
            initial: Duration::ZERO,
            missed: MissedRuns::Burst,
            jitter: Duration::ZERO,
        }
    }

    /// Sets the delay of the first run; a calendar ignores it.
    pub fn starting_in(mut self, delay: Duration) -> Self {
        self.initial = delay;
        self
    }

    /// Sets what happens to missed runs of a fixed rate.
    pub fn on_missed(mut self, missed: MissedRuns) -> Self {
        self.missed = missed;
        self
    }

    /// Delays each run by a random time of less than `jitter`, so that many tasks with the same period
    /// are not due at once. The period itself does not drift.
    pub fn with_jitter(mut self, jitter: Duration) -> Self {
        self.jitter = jitter;
        self
    }

    /// Returns whether the period is zero, which would run without a pause.
    pub(super) fn is_zero(&self) -> bool {
        match &self.kind {
            Kind::Rate(period) | Kind::Delay(period) => period.is_zero(),
            Kind::Calendar(_) => false,
        }
    }

    /// Returns the tick of the first run; `None` if there is none.
    pub(super) fn first(&self, clock: &Clock) -> Option<Tick> {
        match &self.kind {
            Kind::Rate(_) | Kind::Delay(_) => Some(Tick::at(after(clock.now(), self.initial))),
            Kind::Calendar(calendar) => next_in(&**calendar, None, clock),
        }
    }

    /// Returns the tick of the next run, after the run of `last` has ended now.
    pub(super) fn next(&self, last: Tick, clock: &Clock) -> Option<Tick> {
        let now = clock.now();
        match &self.kind {
            Kind::Delay(delay) => Some(Tick::at(after(now, *delay))),
            Kind::Rate(period) => Some(Tick::at(next_tick(last.at, now, *period, self.missed))),
            Kind::Calendar(calendar) => next_in(&**calendar, last.wall, clock),
        }
    }

    /// Returns whether a task of a fixed rate whose run of `last` has ended now is already due again.
    pub(super) fn is_overrun(&self, last: Tick, clock: &Clock) -> bool {
        match &self.kind {
            Kind::Rate(period) => after(last.at, *period) < clock.now(),
            Kind::Delay(_) | Kind::Calendar(_) => false,
        }
    }

    /// Returns the time of the tick plus jitter, which differs for each `salt`.
    pub(super) fn jittered(&self, tick: Tick, salt: u64) -> Instant {
        let most = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
        if most == 0 {
            return tick.at;
        }
        after(tick.at, Duration::from_nanos(mix(salt) % most))
    }
}

fn next_tick(due: Instant, now: Instant, period: Duration, missed: MissedRuns) -> Instant {
    let next = after(due, period);
    if next >= now || missed == MissedRuns::Burst {
        return next;
    }
    match missed {
        MissedRuns::Delay => after(now, period),
        _ => {
            let late = now.saturating_duration_since(due).as_nanos();
            let into_tick = late % period.as_nanos().max(1);
            let into_tick = Duration::from_nanos(u64::try_from(into_tick).unwrap_or(0));
            after(
                now,
                if into_tick.is_zero() {
                    Duration::ZERO
                } else {
                    period - into_tick
                },
            )
        }
    }
}

/// Returns the next time of a calendar, and none twice: a timer runs on the monotonic clock, and may
/// fire slightly before the system clock reaches the time of `last`.
fn next_in(calendar: &dyn Calendar, last: Option<SystemTime>, clock: &Clock) -> Option<Tick> {
    let (now, wall) = (clock.now(), clock.wall_now());
    let ahead = |last: &SystemTime| {
        last.duration_since(wall)
            .is_ok_and(|ahead| ahead < SET_BACK)
    };
    let next = calendar.next_after(last.filter(ahead).unwrap_or(wall))?;
    Some(Tick {
        at: after(now, next.duration_since(wall).unwrap_or_default()),
        wall: Some(next),
    })
}

/// Returns the time `delay` after `from`, no further ahead than any timer reaches.
pub(super) fn after(from: Instant, delay: Duration) -> Instant {
    let delay = delay.min(clock::MAX_TIMEOUT);
    from.checked_add(delay).unwrap_or(from)
}

/// Returns a pseudo-random number for each number (the finaliser of splitmix64).
pub(super) const fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl fmt::Debug for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Period");
        match &self.kind {
            Kind::Rate(period) => shown.field("fixed_rate", period),
            Kind::Delay(delay) => shown.field("fixed_delay", delay),
            Kind::Calendar(_) => shown.field("calendar", &".."),
        };
        shown
            .field("missed", &self.missed)
            .field("jitter", &self.jitter)
            .finish()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{Calendar, MissedRuns, Period, SET_BACK, Tick, mix, next_in, next_tick};
    use crate::sync::clock::{self, Clock, TestClock};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn missed_ticks_are_made_up_for_skipped_or_delayed() {
        let due = clock::now();
        let now = due + SECOND * 7 / 2;
        assert_eq!(next_tick(due, now, SECOND, MissedRuns::Burst), due + SECOND);
        assert_eq!(
            next_tick(due, now, SECOND, MissedRuns::Skip),
            due + SECOND * 4
        );
        assert_eq!(next_tick(due, now, SECOND, MissedRuns::Delay), now + SECOND);
    }

    #[test]
    fn a_tick_that_was_not_missed_is_the_same_for_all() {
        let due = clock::now();
        for missed in [MissedRuns::Burst, MissedRuns::Skip, MissedRuns::Delay] {
            assert_eq!(
                next_tick(due, due + SECOND / 2, SECOND, missed),
                due + SECOND
            );
            assert_eq!(next_tick(due, due + SECOND, SECOND, missed), due + SECOND);
        }
    }

    #[test]
    fn a_run_that_ends_on_a_tick_skips_to_that_tick() {
        let due = clock::now();
        let now = due + SECOND * 3;
        assert_eq!(next_tick(due, now, SECOND, MissedRuns::Skip), now);
    }

    #[test]
    fn only_a_rate_or_a_delay_of_nothing_never_rests() {
        assert!(Period::fixed_rate(Duration::ZERO).is_zero());
        assert!(Period::fixed_delay(Duration::ZERO).is_zero());
        assert!(!Period::fixed_rate(SECOND).is_zero());
        assert!(!Period::calendar(Hourly).is_zero());
    }

    #[test]
    fn the_first_tick_is_after_the_initial_delay_and_the_next_after_the_period() {
        let test = TestClock::new();
        let clock = Clock::Test(test.clone());
        let start = test.now();
        let rate = Period::fixed_rate(SECOND * 10).starting_in(SECOND);
        let delay = Period::fixed_delay(SECOND * 10).starting_in(SECOND);
        let first = Tick::at(start + SECOND);
        assert_eq!(rate.first(&clock), Some(first));
        assert_eq!(delay.first(&clock), Some(first));
        test.advance(SECOND * 5);
        assert_eq!(
            rate.next(first, &clock),
            Some(Tick::at(first.at + SECOND * 10))
        );
        assert_eq!(
            delay.next(first, &clock),
            Some(Tick::at(start + SECOND * 15))
        );
    }

    #[test]
    fn a_debug_text_says_how_it_repeats() {
        let rate = Period::fixed_rate(SECOND).on_missed(MissedRuns::Skip);
        assert_eq!(
            format!("{rate:?}"),
            "Period { fixed_rate: 1s, missed: Skip, jitter: 0ns }"
        );
    }

    #[test]
    fn without_jitter_a_tick_is_kept_to_the_nanosecond() {
        let tick = Tick::at(clock::now());
        assert_eq!(Period::fixed_rate(SECOND).jittered(tick, 1), tick.at);
    }

    #[test]
    fn jitter_is_drawn_from_splitmix64() {
        // The first outputs of the published generator for these seeds.
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn jitter_stays_within_its_bound_and_varies() {
        let tick = clock::now();
        let period = Period::fixed_rate(SECOND).with_jitter(Duration::from_millis(10));
        let times = (0..100).map(|salt| period.jittered(Tick::at(tick), salt));
        let mut times: Vec<_> = times.collect();
        assert!(
            times
                .iter()
                .all(|at| *at >= tick && *at < tick + Duration::from_millis(10))
        );
        times.dedup();
        assert!(times.len() > 50);
    }

    /// Whole hours since 1970.
    struct Hourly;

    impl Calendar for Hourly {
        fn next_after(&self, now: SystemTime) -> Option<SystemTime> {
            let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
            Some(hour(since / 3600 + 1))
        }
    }

    fn hour(number: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(number * 3600)
    }

    #[test]
    fn a_timer_that_is_early_by_the_time_of_day_does_not_bring_a_time_twice() {
        let early = TestClock::starting_at(hour(10) - Duration::from_millis(1));
        let next = next_in(&Hourly, Some(hour(10)), &Clock::Test(early.clone())).unwrap();
        assert_eq!(next.wall, Some(hour(11)));
        let delay = next.at.saturating_duration_since(early.now());
        assert_eq!(delay, Duration::from_millis(3_600_001));
    }

    #[test]
    fn a_clock_that_was_days_ahead_is_believed_when_it_is_set_right() {
        let right = Clock::Test(TestClock::starting_at(hour(10)));
        let next = next_in(&Hourly, Some(hour(100)), &right).unwrap();
        assert_eq!(next.wall, Some(hour(11)));
    }

    #[test]
    fn a_time_of_day_set_back_by_less_than_three_hours_repeats_nothing() {
        assert_eq!(SET_BACK, Duration::from_secs(10_800));
        let set_back = Clock::Test(TestClock::starting_at(hour(10)));
        let next_after = |last| next_in(&Hourly, Some(last), &set_back).unwrap().wall;
        let nanosecond = Duration::from_nanos(1);
        assert_eq!(next_after(hour(13) - nanosecond), Some(hour(13)));
        assert_eq!(next_after(hour(13)), Some(hour(11)));
    }
}
