//! Counts what many threads have done, and wakes one thread when all of it is done.
//!
//! A shared counter would cost more than an empty task, so each thread counts in a cache line of
//! its own. The waiter polls rarely while much is left. Once little is left it asks the counting
//! threads to check the total, so the end is seen at once and not at the next poll. A count may slip
//! between the request and the waiter's own check: the waiter then sleeps for one more
//! [`CHECK_AGAIN`], no longer.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// So many threads have a line of their own; those that come later share the last one.
const LINES: usize = 1024;
/// With so few left the counting threads check for the end themselves.
const NEARLY_DONE: u64 = 256;
/// How long the waiter sleeps before it checks the total again.
const CHECK_AGAIN: Duration = Duration::from_millis(1);
/// The shortest and the longest pause between two polls.
const PAUSE: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(5));

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A number on a pair of cache lines of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// A count that many threads share.
pub(crate) struct Tally {
    lines: [Line; LINES],
    end: AtomicU64,
    is_near: AtomicBool,
    waiter: Mutex<Option<Thread>>,
}

/// The tasks of a sample that have run.
pub(crate) static RAN: Tally = Tally::new();
/// The timers that have been set, where that goes on in the background.
pub(crate) static SET: Tally = Tally::new();
/// The closures, or threads, that are no more.
pub(crate) static GONE: Tally = Tally::new();

impl Tally {
    pub(crate) const fn new() -> Self {
        Self {
            lines: [const { Line(AtomicU64::new(0)) }; LINES],
            end: AtomicU64::new(u64::MAX),
            is_near: AtomicBool::new(false),
            waiter: Mutex::new(None),
        }
    }

    /// Counts one.
    #[inline]
    pub(crate) fn count(&self) {
        let line = LINE.get();
        if line < LINES - 1 {
            let own = &self.lines[line].0;
            own.store(own.load(Ordering::Relaxed) + 1, Ordering::Release);
        } else {
            self.count_slow();
        }
        if self.is_near.load(Ordering::Relaxed) {
            self.check();
        }
    }

    #[cold]
    fn count_slow(&self) {
        if LINE.get() == usize::MAX {
            LINE.set(THREADS.fetch_add(1, Ordering::Relaxed).min(LINES - 1));
        }
        self.lines[LINE.get()].0.fetch_add(1, Ordering::Release);
    }

    #[cold]
    fn check(&self) {
        fence(Ordering::SeqCst);
        if self.total() >= self.end.load(Ordering::Relaxed) {
            let waiter = self.waiter.lock().expect("nobody panics with it");
            if let Some(thread) = waiter.as_ref() {
                thread.unpark();
            }
        }
    }

    /// All that has been counted so far.
    pub(crate) fn total(&self) -> u64 {
        let threads = THREADS.load(Ordering::Relaxed).min(LINES);
        let lines = self.lines[..threads].iter();
        lines.map(|line| line.0.load(Ordering::Acquire)).sum()
    }

    /// What this thread has counted so far.
    pub(crate) fn own(&self) -> u64 {
        let line = self.lines.get(LINE.get());
        line.map_or(0, |line| line.0.load(Ordering::Relaxed))
    }

    /// From now on `more` are to come.
    pub(crate) fn expect(&'static self, more: u64) -> Expected {
        Expected {
            tally: self,
            start: self.total(),
            end: self.total() + more,
        }
    }
}

/// The number of threads that have counted anything in this process.
pub(crate) fn threads_seen() -> usize {
    THREADS.load(Ordering::Relaxed)
}

/// What is to come; see [`Tally::expect`].
pub(crate) struct Expected {
    tally: &'static Tally,
    start: u64,
    end: u64,
}

impl Expected {
    /// Waits until all of it has come.
    pub(crate) fn wait(&self) {
        let tally = self.tally;
        tally.end.store(self.end, Ordering::SeqCst);
        *tally.waiter.lock().expect("nobody panics with it") = Some(std::thread::current());
        let begun = Instant::now();
        let mut total = tally.total();
        while total < self.end {
            let left = self.end - total;
            if left > NEARLY_DONE {
                std::thread::park_timeout(self.pause(begun.elapsed(), total));
            } else if tally.is_near.swap(true, Ordering::SeqCst) {
                std::thread::park_timeout(CHECK_AGAIN);
            }
            total = tally.total();
        }
        tally.is_near.store(false, Ordering::SeqCst);
        *tally.waiter.lock().expect("nobody panics with it") = None;
    }

    /// Half of what the rest will take at the pace so far.
    fn pause(&self, elapsed: Duration, total: u64) -> Duration {
        let done = (total - self.start).max(1) as f64;
        let left = (self.end - total) as f64;
        elapsed.mul_f64(left / done / 2.0).clamp(PAUSE.0, PAUSE.1)
    }
}
