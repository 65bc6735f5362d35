//! Time as the current thread sees it: the machine's, or a test's.
//!
//! Which clock a thread reads is a property of the thread. Timed waits, keep-alives, delays and
//! schedules all read the clock of the thread that waits, so a test whose workers have a
//! [`TestClock`] drives all of them. A pool passes the clock of the thread that built it to its
//! workers.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use super::backend;
use super::{Condvar, Mutex, ParkResult, Parker, thread_local};

/// The longest time-out: about 146 years, half of what a signed count of nanoseconds
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
    /// Returns the clock of the current thread.
    pub(crate) fn current() -> Self {
        // While a thread's locals are being dropped only the machine's clock is left.
        CURRENT
            .try_with(|clock| clock.borrow().clone())
            .unwrap_or_default()
    }

    /// Returns whether the current thread has the machine's clock.
    pub(crate) fn is_system() -> bool {
        matches!(Self::current(), Self::System)
    }

    /// Returns whether this is the clock of the current thread.
    pub(crate) fn is_current(&self) -> bool {
        match (self, Self::current()) {
            (Self::System, Self::System) => true,
            (Self::Test(this), Self::Test(current)) => Arc::ptr_eq(&this.0, &current.0),
            _ => false,
        }
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

    /// Returns the time on this clock.
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::System => backend::now(),
            Self::Test(clock) => clock.now(),
        }
    }

    /// Returns what the layers above keep for this clock; `init` creates it on first use.
    pub(crate) fn service<S: Any + Send + Sync>(&self, init: fn() -> Arc<S>) -> &Arc<S> {
        static OF_SYSTEM: Service = Service::new();
        let service = match self {
            Self::System => &OF_SYSTEM,
            Self::Test(clock) => &clock.0.service,
        };
        let service = service.get_or_init(|| Box::new(init()));
        let Some(service) = service.downcast_ref() else {
            unreachable!("a clock has one kind of service")
        };
        service
    }

    /// Returns the time of day on this clock.
    pub(crate) fn wall_now(&self) -> SystemTime {
        match self {
            Self::System => backend::wall_now(),
            Self::Test(clock) => clock.wall_now(),
        }
    }
}

/// Returns the time on the current thread's clock: the machine's, or the [`TestClock`] that the thread has.
///
/// Code that reads the time by this can be tested without waiting.
///
/// ```
/// use std::time::Duration;
/// use windlass::clock::{self, TestClock};
///
/// let test = TestClock::new();
/// test.enter(|| {
///     let start = clock::now();
///     test.advance(Duration::from_secs(3_600));
///     assert_eq!(clock::now() - start, Duration::from_secs(3_600));
/// });
/// ```
#[must_use]
pub fn now() -> Instant {
    Clock::current().now()
}

/// Returns the time on the machine's clock, whatever clock the thread has.
pub(crate) fn system_now() -> Instant {
    backend::now()
}

/// A clock that stands still until a test advances it.
///
/// Every timed wait of Windlass on a thread that has this clock (timed gets and
/// polls, keep-alive of workers, delays, schedules, [`interrupt::sleep`](crate::interrupt::sleep))
/// ends when the test has advanced the clock far enough, and not before. A schedule of days runs in
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

// What others keep for it is behind locks that no user code runs under.
impl UnwindSafe for TestClock {}
impl RefUnwindSafe for TestClock {}

/// A place for what a layer above keeps for a clock.
type Service = OnceLock<Box<dyn Any + Send + Sync>>;

#[derive(Debug)]
struct Shared {
    service: Service,
    /// The time at which this clock starts; only differences to it matter.
    origin: Instant,
    /// The time of day at which it starts.
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
    /// Creates a clock that stands still at the current time of day.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(backend::wall_now())
    }

    /// Creates a clock that stands still at this time of day.
    #[must_use]
    pub fn starting_at(wall: SystemTime) -> Self {
        Self(Arc::new(Shared {
            service: Service::new(),
            origin: backend::now(),
            wall_origin: wall,
            time: Mutex::new(Time::default()),
            asleep: Condvar::new(),
        }))
    }

    /// Returns the time on this clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.0.origin + self.0.time.lock().elapsed
    }

    /// Returns the time of day on this clock.
    #[must_use]
    pub fn wall_now(&self) -> SystemTime {
        self.0.wall_origin + self.0.time.lock().elapsed
    }

    /// Returns how far this clock has been advanced since it was created.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.time.lock().elapsed
    }

    /// Advances the clock and wakes every thread whose deadline has passed.
    ///
    /// It does not wait for them to run: wait for the state that they produce. The clock stops
    /// about 146 years after its start.
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

    /// Returns how many threads are in a timed wait on this clock.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        self.0.time.lock().sleepers.len()
    }

    /// Returns the time until the earliest deadline of the sleepers; `None` if there are none.
    #[must_use]
    pub fn next_wake_up(&self) -> Option<Duration> {
        let time = self.0.time.lock();
        let now = self.0.origin + time.elapsed;
        let first = time.sleepers.iter().map(|sleeper| sleeper.until).min();
        first.map(|until| until.saturating_duration_since(now))
    }

    /// Parks until there is a token or this clock has reached `until`.
    pub(super) fn park(&self, parker: &Arc<Parker>, until: Instant) -> ParkResult {
        let Some(ticket) = self.add_sleeper(parker, until) else {
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

    /// Adds the thread to the sleepers, unless its time has come already.
    fn add_sleeper(&self, parker: &Arc<Parker>, until: Instant) -> Option<u64> {
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
    use super::{Clock, TestClock};

    #[test]
    fn entering_a_clock_is_undone_even_by_a_panic() {
        let clock = TestClock::new();
        let result = std::panic::catch_unwind(|| clock.enter(|| panic!("out")));
        assert!(result.is_err());
        assert!(matches!(Clock::current(), Clock::System));
    }
}
