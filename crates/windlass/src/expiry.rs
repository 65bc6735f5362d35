//! One thread that acts when a time is up, for any number of times of which most never come.
//!
//! Each [clock](crate::sync::clock) has at most one such thread. It starts with the first entry, sleeps
//! until the earliest one, and ends after it had none for a second or two: while it sleeps it looks every
//! second whether the entry is still there, so that a removal need not wake it. An entry that is removed
//! in time leaves nothing behind: entries are in B-trees by time, so those of equal limits are appended at one
//! end and removed at the other, in nodes that stay in the cache.
//!
//! There are several trees, each under a lock of its own, so that threads which submit and start tasks with
//! limits rarely meet. What the thread does is one word, [`looks_at`](Expiry::looks_at): when it will look at
//! the trees next. Whoever has inserted an entry for an earlier time *claims* the thread: sets the word to
//! [`BUSY`], and wakes or starts the thread. The thread sets the word to [`IDLE`], which every entry claims,
//! then looks at the trees one by one, and lowers it to the earliest time that it has found unless it was
//! claimed meanwhile. So it finds an entry, or the inserter, who takes the lock of the same tree later, finds
//! the word. Entries act without a lock.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::clock::{Clock, MAX_TIMEOUT};
use crate::sync::timestamp::{instant, nanos};
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
    trees: [CachePadded<Mutex<BTreeMap<Key, E>>>; TREES],
    /// When the thread looks at the trees next, as a [timestamp](crate::sync::timestamp); or what it does
    /// instead. Read for each entry, rarely written.
    looks_at: CachePadded<AtomicU64>,
    /// The thread parks here; there is never more than one.
    parker: Arc<Parker>,
    spawn: Spawn,
}

/// Starts the timer thread.
type Spawn = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

/// The thread was started or woken, and looks at the trees before it sleeps.
const BUSY: u64 = 0;

/// The thread waits for an entry, or is about to look at the trees.
const IDLE: u64 = u64::MAX - 1;

/// There is no thread.
const NONE: u64 = u64::MAX;

/// What the thread does next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Act,
    SleepUntil(Instant),
    Idle,
}

/// The number of trees.
const TREES: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

/// How long the thread waits for an entry before it ends, in real time on every clock; and how long it
/// sleeps at most on the machine's.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// How many entries it takes from a tree at a time.
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
            trees: std::array::from_fn(|_| CachePadded::new(Mutex::new(BTreeMap::new()))),
            looks_at: CachePadded::new(AtomicU64::new(NONE)),
            parker: Arc::new(Parker::new()),
            spawn,
        }
    }

    /// Returns the tree of an entry.
    fn tree(&self, key: Key) -> &Mutex<BTreeMap<Key, E>> {
        &self.trees[key.1 as usize % TREES]
    }

    /// Adds an entry, whose time is on this clock, always the same one.
    ///
    /// # Errors
    ///
    /// That of the system, if there is no timer thread and none can be created. The entry stays, and
    /// the next call tries again.
    pub(crate) fn insert(self: &Arc<Self>, key: Key, entry: E, clock: &Clock) -> io::Result<()> {
        self.tree(key).lock().insert(key, entry);
        let at = nanos(key.0);
        // Relaxed: the thread writes before it takes the lock that was released here, or finds the entry.
        let looks_at = self.looks_at.load(Ordering::Relaxed);
        if looks_at <= at {
            return Ok(());
        }
        self.claim(at, looks_at, clock)
    }

    /// Makes the thread look at the trees before this time; starts it if there is none.
    #[cold]
    fn claim(self: &Arc<Self>, at: u64, mut looks_at: u64, clock: &Clock) -> io::Result<()> {
        while at < looks_at {
            let claimed = self.looks_at.compare_exchange_weak(
                looks_at,
                BUSY,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match claimed {
                Ok(NONE) => return self.start(clock),
                Ok(_) => {
                    self.parker.unpark();
                    return Ok(());
                }
                Err(newer) => looks_at = newer,
            }
        }
        Ok(())
    }

    fn start(self: &Arc<Self>, clock: &Clock) -> io::Result<()> {
        let (this, clock) = (Arc::clone(self), clock.clone());
        let started = (self.spawn)(Box::new(move || this.serve(&clock)));
        if started.is_err() {
            self.looks_at.store(NONE, Ordering::Release);
        }
        started
    }

    /// Removes an entry, unless it was removed or its time has come.
    pub(crate) fn remove(&self, key: Key, clock: &Clock) -> Option<E> {
        let removed = self.tree(key).lock().remove(&key);
        // On a clock that stands still the thread does not look by itself.
        if !matches!(clock, Clock::System) && self.len() == 0 {
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
                    for (_, entry) in due.drain(..) {
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
        Clock::System.enter(|| park(&self.parker, Deadline::after(IDLE_TIME)))
    }

    /// Takes the entries whose time has come, in the order of time, or publishes how long the thread will
    /// sleep.
    fn next(&self, clock: &Clock, due: &mut Vec<(Key, E)>) -> Next {
        let now = clock.now();
        self.looks_at.store(IDLE, Ordering::Release);
        let mut first: Option<Instant> = None;
        for tree in &self.trees {
            let mut tree = tree.lock();
            for _ in 0..BATCH {
                match tree.first_entry() {
                    Some(entry) if entry.key().0 <= now => due.push(entry.remove_entry()),
                    _ => break,
                }
            }
            let its_first = tree.first_key_value().map(|((at, _), _)| *at);
            first = first.into_iter().chain(its_first).min();
        }
        if !due.is_empty() {
            due.sort_unstable_by_key(|(key, _)| *key);
            self.looks_at.store(BUSY, Ordering::Release);
            return Next::Act;
        }
        let Some(first) = first else {
            return Next::Idle;
        };
        let latest = match clock {
            Clock::System => now + IDLE_TIME,
            Clock::Test(_) => now + MAX_TIMEOUT,
        };
        // In the precision of what inserters compare.
        let at = nanos(first.min(latest));
        let lowered = self
            .looks_at
            .compare_exchange(IDLE, at, Ordering::AcqRel, Ordering::Relaxed);
        match lowered {
            Ok(_) => Next::SleepUntil(instant(at)),
            // Claimed: it looks again.
            Err(_) => Next::Act,
        }
    }

    /// Ends the thread, unless an entry has come.
    fn try_end(&self) -> bool {
        let ended = self
            .looks_at
            .compare_exchange(IDLE, NONE, Ordering::AcqRel, Ordering::Relaxed);
        ended.is_ok()
    }
}

impl<E> Expiry<E> {
    pub(crate) fn len(&self) -> usize {
        self.trees.iter().map(|tree| tree.lock().len()).sum()
    }
}

impl<E> fmt::Debug for Expiry<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expiry")
            .field("entries", &self.len())
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

    use super::{BUSY, Expires, Expiry, IDLE, NONE, Next};
    use crate::sync::atomic::Ordering;
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
            let key = (at, u64::from(number));
            expiry.insert(key, entry, &clock).unwrap();
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
        let key = |number: u32| (clock.now() + number * SECOND, u64::from(number));
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
        assert_eq!(unserved.looks_at.load(Ordering::Relaxed), NONE);
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
        let next = || expiry.next(&Clock::System, &mut Vec::new());
        assert_eq!(next(), Next::Idle);
        assert!(expiry.try_end());
        assert_eq!(next(), Next::Idle);
        // As one does who has inserted an entry.
        let claimed = expiry.looks_at.swap(BUSY, Ordering::Relaxed);
        assert_eq!(claimed, IDLE);
        assert!(!expiry.try_end());
    }
}
