//! Time as the current thread sees it: the machine's, or a test's.
//!
//! Which clock a thread reads is a property of the thread. Timed waits, keep-alives, delays and
//! schedules all ask the clock of the thread that waits, so a test that hands its workers a
//! [`TestClock`] drives all of them without any of them knowing. A pool takes the clock of the
//! thread that built it and gives it to its workers.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::backend;
use super::{Condvar, Mutex, ParkResult, Parker, thread_local};

/// As far ahead as a wait can reach: about 146 years, half of what a signed count of nanoseconds
/// holds, so that no sum or difference of two such times overflows.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(i64::MAX as u64 / 2 / 1_000_000_000);

thread_local! {
    static CURRENT: RefCell<Clock> = RefCell::default();
}

/// The clock that a thread reads.
#[derive(Debug, Clone, Default)]
pub(crate) enum Clock {
    /// The machine's monotonic clock.
    #[default]
    System,
    /// A clock that a test drives.
    Test(TestClock),
}

impl Clock {
    /// The clock of the current thread.
    pub(crate) fn current() -> Self {
        // While a thread's locals are being dropped the machine's clock is the only one left.
        CURRENT
            .try_with(|clock| clock.borrow().clone())
            .unwrap_or_default()
    }

    /// Makes this the clock of the current thread from now on.
    pub(crate) fn adopt(&self) {
        CURRENT.with(|clock| *clock.borrow_mut() = self.clone());
    }

    /// Runs `f` with this as the clock of the current thread.
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore(Clock);
        impl Drop for Restore {
            fn drop(&mut self) {
                self.0.adopt();
            }
        }
        let _restore = Restore(Self::current());
        self.adopt();
        f()
    }

    /// The time on this clock.
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::System => backend::now(),
            Self::Test(clock) => clock.now(),
        }
    }

    /// The time of day on this clock.
    pub(crate) fn wall_now(&self) -> SystemTime {
        match self {
            Self::System => backend::wall_now(),
            Self::Test(clock) => clock.wall_now(),
        }
    }
}

/// The time on the current thread's clock.
pub(crate) fn now() -> Instant {
    Clock::current().now()
}

/// The time on the machine's clock, whatever clock the thread has.
pub(crate) fn system_now() -> Instant {
    backend::now()
}

/// When a wait must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// Not before what is waited for has come.
    Never,
    /// At this time of the waiting thread's clock.
    At(Instant),
}

impl Deadline {
    /// The moment `timeout` from now; never, where that is further away than any clock reaches.
    pub(crate) fn after(timeout: Duration) -> Self {
        if timeout >= MAX_TIMEOUT {
            return Self::Never;
        }
        now().checked_add(timeout).map_or(Self::Never, Self::At)
    }

    /// The earlier of the two.
    pub(crate) fn min(self, at: Instant) -> Self {
        match self {
            Self::Never => Self::At(at),
            Self::At(mine) => Self::At(mine.min(at)),
        }
    }

    /// Whether it is this moment or an earlier one.
    pub(crate) fn is_at_or_before(self, at: Instant) -> bool {
        matches!(self, Self::At(mine) if mine <= at)
    }

    /// Whether it is a later moment than the other.
    pub(crate) fn is_after(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Never) => false,
            (Self::Never, Self::At(_)) => true,
            (Self::At(mine), Self::At(other)) => mine > other,
        }
    }

    pub(crate) fn has_passed(self) -> bool {
        match self {
            Self::Never => false,
            Self::At(at) => now() >= at,
        }
    }

    /// What is left of the time; `None` for an endless wait.
    pub(crate) fn remaining(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::At(at) => Some(at.saturating_duration_since(now())),
        }
    }
}

/// Parks on the current thread's clock until a token or the deadline.
///
/// The caller looks at what it waits for again in either case.
pub(crate) fn park(parker: &Arc<Parker>, deadline: Deadline) -> ParkResult {
    match (deadline, Clock::current()) {
        (Deadline::Never, _) => {
            parker.park();
            ParkResult::Unparked
        }
        (Deadline::At(at), Clock::System) => parker.park_until(at),
        (Deadline::At(at), Clock::Test(clock)) => clock.park(parker, at),
    }
}

/// A clock that stands still until a test moves it.
///
/// Whatever Windlass waits for with a time limit on a thread that has this clock (timed gets and
/// polls, keep-alive of workers, delays, schedules, [`interrupt::sleep`](crate::interrupt::sleep))
/// ends when the test has moved the clock far enough, and not before. A schedule of days runs in
/// microseconds, and a test never sleeps.
///
/// A pool that is built inside [`enter`](TestClock::enter) runs on this clock.
///
/// ```
/// use std::time::Duration;
/// use windlass::{clock::TestClock, interrupt};
///
/// let clock = TestClock::new();
/// let sleeper = std::thread::spawn({
///     let clock = clock.clone();
///     move || clock.enter(|| interrupt::sleep(Duration::from_secs(3600)))
/// });
/// assert!(clock.await_sleepers(1, Duration::from_secs(10)));
/// clock.advance(Duration::from_secs(3600));
/// assert!(sleeper.join().unwrap().is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct TestClock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The moment from which this clock counts; it only gives its times a form.
    origin: Instant,
    /// The time of day at that moment.
    wall_origin: SystemTime,
    time: Mutex<Time>,
    asleep: Condvar,
}

#[derive(Debug, Default)]
struct Time {
    elapsed: Duration,
    next_ticket: u64,
    sleepers: Vec<Sleeper>,
}

#[derive(Debug)]
struct Sleeper {
    ticket: u64,
    until: Instant,
    parker: Arc<Parker>,
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl TestClock {
    /// Makes a clock that stands still, at the present time of day.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(backend::wall_now())
    }

    /// Makes a clock that stands still at this time of day.
    #[must_use]
    pub fn starting_at(wall: SystemTime) -> Self {
        Self(Arc::new(Shared {
            origin: backend::now(),
            wall_origin: wall,
            time: Mutex::new(Time::default()),
            asleep: Condvar::new(),
        }))
    }

    /// The time on this clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.0.origin + self.0.time.lock().elapsed
    }

    /// The time of day on this clock.
    #[must_use]
    pub fn wall_now(&self) -> SystemTime {
        self.0.wall_origin + self.0.time.lock().elapsed
    }

    /// How far this clock has been moved since it was made.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.time.lock().elapsed
    }

    /// Moves the clock forward and wakes every thread whose time has come.
    ///
    /// It does not wait for them to run: wait for the state that they bring about.
    pub fn advance(&self, by: Duration) {
        let due: Vec<Arc<Parker>> = {
            let mut time = self.0.time.lock();
            time.elapsed = time.elapsed.saturating_add(by).min(MAX_TIMEOUT);
            let now = self.0.origin + time.elapsed;
            let due = time.sleepers.iter().filter(|sleeper| sleeper.until <= now);
            due.map(|sleeper| Arc::clone(&sleeper.parker)).collect()
        };
        for parker in due {
            parker.unpark();
        }
    }

    /// Runs `f` with this clock as the current thread's clock.
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        Clock::Test(self.clone()).enter(f)
    }

    /// Waits until at least `count` threads are in a timed wait on this clock.
    ///
    /// Returns false if they are not within `patience`, which is measured in real time: it is the
    /// limit after which a test fails, not something that a test relies on.
    #[must_use]
    pub fn await_sleepers(&self, count: usize, patience: Duration) -> bool {
        let limit = backend::now() + patience;
        let mut time = self.0.time.lock();
        while time.sleepers.len() < count {
            let (relocked, late) = self.0.asleep.wait_until(time, limit);
            time = relocked;
            if late {
                return time.sleepers.len() >= count;
            }
        }
        true
    }

    /// How many threads are in a timed wait on this clock.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.0.time.lock().sleepers.len()
    }

    /// When the first of the sleepers is to be woken, counted from now.
    #[must_use]
    pub fn next_wake_up(&self) -> Option<Duration> {
        let time = self.0.time.lock();
        let now = self.0.origin + time.elapsed;
        let first = time.sleepers.iter().map(|sleeper| sleeper.until).min();
        first.map(|until| until.saturating_duration_since(now))
    }

    fn park(&self, parker: &Arc<Parker>, until: Instant) -> ParkResult {
        let Some(ticket) = self.announce(parker, until) else {
            return ParkResult::TimedOut;
        };
        parker.park();
        let mut time = self.0.time.lock();
        time.sleepers.retain(|sleeper| sleeper.ticket != ticket);
        if self.0.origin + time.elapsed >= until {
            ParkResult::TimedOut
        } else {
            ParkResult::Unparked
        }
    }

    /// Enters the list of sleepers, unless the time has come already.
    fn announce(&self, parker: &Arc<Parker>, until: Instant) -> Option<u64> {
        let mut time = self.0.time.lock();
        if self.0.origin + time.elapsed >= until {
            return None;
        }
        let ticket = time.next_ticket;
        time.next_ticket += 1;
        time.sleepers.push(Sleeper {
            ticket,
            until,
            parker: Arc::clone(parker),
        });
        self.0.asleep.notify_all();
        Some(ticket)
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Clock, Deadline, MAX_TIMEOUT, TestClock, now, park};
    use crate::sync::{ParkResult, Parker};

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn a_timed_wait_ends_when_the_clock_has_been_moved_far_enough_and_not_before() {
        let clock = TestClock::new();
        let sleeper = std::thread::spawn({
            let clock = clock.clone();
            move || {
                clock.enter(|| {
                    let parker = Arc::new(Parker::new());
                    let deadline = Deadline::after(Duration::from_secs(10));
                    while park(&parker, deadline) != ParkResult::TimedOut {}
                    clock.elapsed()
                })
            }
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(Duration::from_secs(9));
        assert_eq!(clock.next_wake_up(), Some(Duration::from_secs(1)));
        assert!(!sleeper.is_finished());
        clock.advance(Duration::from_secs(1));
        assert_eq!(sleeper.join().unwrap(), Duration::from_secs(10));
        assert_eq!(clock.sleepers(), 0);
    }

    #[test]
    fn entering_a_clock_is_undone_even_by_a_panic() {
        let clock = TestClock::new();
        let result = std::panic::catch_unwind(|| clock.enter(|| panic!("out")));
        assert!(result.is_err());
        assert!(matches!(Clock::current(), Clock::System));
    }

    #[test]
    fn enormous_timeouts_neither_overflow_nor_end() {
        assert_eq!(Deadline::after(Duration::MAX), Deadline::Never);
        assert_eq!(Deadline::after(MAX_TIMEOUT), Deadline::Never);
        assert!(matches!(
            Deadline::after(MAX_TIMEOUT - Duration::from_secs(1)),
            Deadline::At(_)
        ));
        let clock = TestClock::new();
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        clock.enter(|| assert!(!Deadline::after(Duration::from_secs(1)).has_passed()));
    }

    #[test]
    fn a_deadline_of_zero_has_passed_at_once() {
        assert!(Deadline::after(Duration::ZERO).has_passed());
        assert!(!Deadline::Never.has_passed());
        assert_eq!(Deadline::Never.remaining(), None);
        let soon = now() + Duration::from_secs(5);
        assert_eq!(Deadline::Never.min(soon), Deadline::At(soon));
    }
}
