//! One thread that acts when a time is up, for any number of times of which most never come.
//!
//! Each [clock](crate::sync::clock) has at most one such thread. It starts with the first entry, sleeps
//! until the earliest one, and ends after it had none for a second or two: while it sleeps it looks every
//! second whether the entry is still there, so that a removal need not wake it. An entry that is removed
//! in time leaves nothing behind: entries are in a B-tree by time, so those of equal limits are appended at one
//! end and removed at the other, in nodes that stay in the cache.
//!
//! Under one lock are the entries and what the thread does. So an entry is seen by the thread before it
//! sleeps or ends, or its inserter sees that the thread sleeps too long, or is gone, and wakes or starts
//! it. Entries act without the lock.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::clock::{Clock, MAX_TIMEOUT};
use crate::sync::{Deadline, Mutex, ParkResult, Parker, park, reduce_timer_slack, thread};
use crate::unwind::ignore_panic;

/// What is done when a time is up.
pub(crate) trait Expires: Send + 'static {
    /// Called on the timer thread, without a lock. A panic is discarded.
    fn expire(self);
}

/// The place of an entry: its time, and a number that no other entry has at the same time.
pub(crate) type Key = (Instant, u64);

/// The entries of one clock, and the thread that acts on them.
pub(crate) struct Expiry<E> {
    state: Mutex<State<E>>,
    /// The thread parks here; there is never more than one.
    parker: Arc<Parker>,
    spawn: Spawn,
}

/// Starts the timer thread.
type Spawn = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

struct State<E> {
    entries: BTreeMap<Key, E>,
    thread: TimerThread,
}

/// What the timer thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimerThread {
    /// There is none.
    None,
    /// It has started, or was woken, and reads the entries before it sleeps.
    Busy,
    /// It sleeps until this time.
    Asleep(Instant),
    /// It waits for an entry.
    Idle,
}

/// What the thread does next.
enum Next {
    Act,
    SleepUntil(Instant),
    Idle,
}

/// How long the thread waits for an entry before it ends, in real time on every clock; and how long it
/// sleeps at most on the machine's.
const IDLE: Duration = Duration::from_secs(1);

/// How many entries it takes at a time.
const BATCH: usize = 64;

impl<E: Expires> Expiry<E> {
    pub(crate) fn new() -> Self {
        Self::with_spawn(|body| {
            let thread = thread::Builder::new().name(String::from("windlass-expiry"));
            thread.spawn(body).map(drop)
        })
    }

    fn with_spawn(spawn: Spawn) -> Self {
        Self {
            state: Mutex::new(State {
                entries: BTreeMap::new(),
                thread: TimerThread::None,
            }),
            parker: Arc::new(Parker::new()),
            spawn,
        }
    }

    /// Adds an entry, whose time is on this clock, always the same one.
    ///
    /// # Errors
    ///
    /// That of the system, if there is no timer thread and none can be created. The entry stays, and
    /// the next call tries again.
    pub(crate) fn insert(self: &Arc<Self>, key: Key, entry: E, clock: &Clock) -> io::Result<()> {
        let former = {
            let mut state = self.state.lock();
            state.entries.insert(key, entry);
            let former = state.thread;
            let is_late = match former {
                TimerThread::None | TimerThread::Idle => true,
                TimerThread::Asleep(until) => key.0 < until,
                TimerThread::Busy => false,
            };
            if !is_late {
                return Ok(());
            }
            state.thread = TimerThread::Busy;
            former
        };
        if former != TimerThread::None {
            self.parker.unpark();
            return Ok(());
        }
        let (this, clock) = (Arc::clone(self), clock.clone());
        let started = (self.spawn)(Box::new(move || this.serve(&clock)));
        if started.is_err() {
            self.state.lock().thread = TimerThread::None;
        }
        started
    }

    /// Removes an entry, unless it was removed or its time has come.
    pub(crate) fn remove(&self, key: Key, clock: &Clock) -> Option<E> {
        let (removed, is_empty) = {
            let mut state = self.state.lock();
            let removed = state.entries.remove(&key);
            (removed, state.entries.is_empty())
        };
        // On a clock that stands still the thread does not look by itself.
        if is_empty && !matches!(clock, Clock::System) {
            self.parker.unpark();
        }
        removed
    }

    /// The loop of the timer thread.
    fn serve(&self, clock: &Clock) {
        clock.adopt();
        reduce_timer_slack();
        let mut due = Vec::new();
        loop {
            match self.next(clock, &mut due) {
                Next::Act => {
                    for entry in due.drain(..) {
                        ignore_panic(|| entry.expire());
                    }
                }
                Next::SleepUntil(at) => {
                    let _ = park(&self.parker, Deadline::At(at));
                }
                Next::Idle => {
                    let woken = self.wait_idle();
                    if woken == ParkResult::TimedOut && self.try_end() {
                        return;
                    }
                }
            }
        }
    }

    /// Waits for an entry, in real time on every clock.
    fn wait_idle(&self) -> ParkResult {
        // There a timed wait may last forever, and no model of a task with a limit would end.
        if cfg!(shuttle) {
            return ParkResult::TimedOut;
        }
        Clock::System.enter(|| park(&self.parker, Deadline::after(IDLE)))
    }

    /// Takes the entries whose time has come, or records how long the thread will sleep.
    fn next(&self, clock: &Clock, due: &mut Vec<E>) -> Next {
        let now = clock.now();
        let latest = match clock {
            Clock::System => now + IDLE,
            Clock::Test(_) => now + MAX_TIMEOUT,
        };
        let mut state = self.state.lock();
        while due.len() < BATCH {
            match state.entries.first_entry() {
                Some(first) if first.key().0 <= now => due.push(first.remove()),
                _ => break,
            }
        }
        if !due.is_empty() {
            state.thread = TimerThread::Busy;
            return Next::Act;
        }
        let first = state.entries.first_key_value().map(|((at, _), _)| *at);
        let (thread, next) = match first.map(|at| at.min(latest)) {
            Some(at) => (TimerThread::Asleep(at), Next::SleepUntil(at)),
            None => (TimerThread::Idle, Next::Idle),
        };
        state.thread = thread;
        next
    }

    /// Ends the thread, unless there is an entry.
    fn try_end(&self) -> bool {
        let mut state = self.state.lock();
        let ends = state.entries.is_empty();
        if ends {
            state.thread = TimerThread::None;
        }
        ends
    }
}

impl<E> fmt::Debug for Expiry<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Expiry")
            .field("entries", &state.entries.len())
            .field("thread", &state.thread)
            .finish_non_exhaustive()
    }
}

// Not under shuttle, where a sleep until an entry is due may last forever.
#[cfg(all(test, not(shuttle)))]
mod models {
    use std::sync::Arc;

    use super::{Expires, Expiry};
    use crate::sync::clock::{Clock, system_now};
    use crate::sync::{Parker, model, thread};

    /// An entry that unparks.
    struct Unpark(Arc<Parker>);

    impl Expires for Unpark {
        fn expire(self) {
            self.0.unpark();
        }
    }

    /// The thread may time out and end at any point, and two entries come meanwhile.
    #[test]
    fn every_entry_acts_though_the_thread_ends_when_it_is_idle() {
        model(|| {
            let expiry = Arc::new(Expiry::new());
            let insert = |number, expiry: &Arc<Expiry<Unpark>>| {
                let parker = Arc::new(Parker::new());
                let entry = Unpark(Arc::clone(&parker));
                let started = expiry.insert((system_now(), number), entry, &Clock::System);
                started.unwrap();
                parker
            };
            let theirs = Arc::clone(&expiry);
            let other = thread::Builder::new().spawn(move || insert(1, &theirs).park());
            insert(2, &expiry).park();
            other.unwrap().join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use super::{Expires, Expiry, Next, TimerThread};
    use crate::sync::clock::{Clock, TestClock, system_now};
    use crate::sync::yield_now;

    const PATIENCE: Duration = Duration::from_secs(30);
    const SECOND: Duration = Duration::from_secs(1);

    struct Send(u32, Sender<u32>);

    impl Expires for Send {
        fn expire(self) {
            assert!(self.0 != 0, "the entry panics");
            let _ = self.1.send(self.0);
        }
    }

    #[test]
    fn entries_act_in_the_order_of_time_and_not_before() {
        let (clock, expiry) = (TestClock::new(), Arc::new(Expiry::new()));
        let (sender, acted) = channel();
        for number in [3, 1, 2] {
            let at = clock.now() + number * SECOND;
            let entry = Send(number, sender.clone());
            let clock = Clock::Test(clock.clone());
            expiry.insert((at, 0), entry, &clock).unwrap();
        }
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(2 * SECOND);
        assert_eq!(acted.recv_timeout(PATIENCE), Ok(1));
        assert_eq!(acted.recv_timeout(PATIENCE), Ok(2));
        assert!(clock.await_sleepers(1, PATIENCE));
        assert_eq!(clock.next_wake_up(), Some(SECOND));
        clock.advance(SECOND);
        assert_eq!(acted.recv_timeout(PATIENCE), Ok(3));
    }

    #[test]
    fn an_earlier_entry_wakes_the_thread_and_a_removed_one_does_nothing() {
        let (clock, expiry) = (TestClock::new(), Arc::new(Expiry::new()));
        let (sender, acted) = channel();
        let test = Clock::Test(clock.clone());
        let key = |number: u32| (clock.now() + number * SECOND, 0);
        let (late, early) = (key(9), key(5));
        expiry.insert(late, Send(9, sender.clone()), &test).unwrap();
        assert!(clock.await_sleepers(1, PATIENCE));
        expiry.insert(early, Send(5, sender), &test).unwrap();
        let patience = system_now() + PATIENCE;
        while clock.next_wake_up() != Some(5 * SECOND) {
            assert!(system_now() < patience, "the earlier entry wakes nobody");
            yield_now();
        }
        assert!(expiry.remove(early, &test).is_some());
        assert!(expiry.remove(early, &test).is_none());
        clock.advance(9 * SECOND);
        assert_eq!(acted.recv_timeout(PATIENCE), Ok(9));
    }

    #[test]
    fn an_entry_that_panics_does_not_end_the_thread() {
        let (expiry, now) = (Arc::new(Expiry::new()), system_now());
        let (sender, acted) = channel();
        for number in [0, 1] {
            let entry = Send(number, sender.clone());
            let key = (now, u64::from(number));
            expiry.insert(key, entry, &Clock::System).unwrap();
        }
        assert_eq!(acted.recv_timeout(PATIENCE), Ok(1));
    }

    #[test]
    fn an_entry_whose_thread_was_refused_acts_when_the_next_one_gets_a_thread() {
        let refused = |_| Err(io::ErrorKind::WouldBlock.into());
        let mut expiry = Expiry::with_spawn(refused);
        let (sender, acted) = channel();
        let key = |number| (system_now(), number);
        let insert = |expiry: Expiry<Send>, number: u32| {
            let expiry = Arc::new(expiry);
            let entry = Send(number, sender.clone());
            let inserted = expiry.insert(key(u64::from(number)), entry, &Clock::System);
            (inserted, expiry)
        };
        let (inserted, unserved) = insert(expiry, 1);
        assert_eq!(inserted.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(unserved.state.lock().thread, TimerThread::None);
        expiry = Arc::into_inner(unserved).unwrap();
        expiry.spawn = Expiry::<Send>::new().spawn;
        let (inserted, _served) = insert(expiry, 2);
        inserted.unwrap();
        assert_eq!(acted.recv_timeout(PATIENCE), Ok(1));
        assert_eq!(acted.recv_timeout(PATIENCE), Ok(2));
    }

    #[test]
    fn the_thread_ends_when_it_has_nothing_to_wait_for() {
        let expiry = Expiry::<Send>::new();
        assert!(matches!(
            expiry.next(&Clock::System, &mut Vec::new()),
            Next::Idle
        ));
        assert!(expiry.try_end());
        let entry = Send(1, channel().0);
        let key = (system_now() + PATIENCE, 0);
        expiry.state.lock().entries.insert(key, entry);
        assert!(!expiry.try_end());
    }
}
