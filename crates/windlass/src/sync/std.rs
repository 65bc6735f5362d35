//! The backend that ships: the standard library, without lock poisoning.
//!
//! A panic in user code never unwinds through a critical section of the library with the data half
//! changed (user code is not called there, or is called before the first change), so poisoning
//! would only turn one failed task into a failed pool.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this file wraps what the others use through `sync`"
)]

use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

pub(crate) use std::thread_local;

/// Atomics, unchanged.
pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Threads, unchanged.
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, JoinHandle, Thread, current, yield_now};
}

/// A mutex whose lock cannot be poisoned.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(std::sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(std::sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until notified or `deadline`. Returns also whether the deadline has passed.
    pub(crate) fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Instant,
    ) -> (MutexGuard<'a, T>, bool) {
        let left = deadline.saturating_duration_since(now());
        let (guard, _) = self
            .0
            .wait_timeout(guard, left)
            .unwrap_or_else(PoisonError::into_inner);
        (guard, now() >= deadline)
    }
}

/// An `UnsafeCell` with loom's interface, so that the models can check every access.
#[derive(Debug, Default)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Checks `is_over` at most `checks` times, each after so many pauses; returns how often it did.
pub(crate) fn spin_until(checks: u32, pauses: u32, is_over: impl Fn() -> bool) -> u32 {
    for made in 1..=checks {
        for _ in 0..pauses {
            std::hint::spin_loop();
        }
        if is_over() {
            return made;
        }
    }
    checks
}

/// Spins four times as long in each round, some microseconds in all; yields in the last rounds,
/// since the owner of the lock may be waiting for this core.
pub(crate) fn backoff(round: u32) {
    if round >= SPINNING_ROUNDS {
        thread::yield_now();
    }
    for _ in 0..4 << (2 * round.min(SPINNING_ROUNDS - 1)) {
        std::hint::spin_loop();
    }
}

const SPINNING_ROUNDS: u32 = 3;

/// Rounds of backoff before a thread blocks on a lock.
pub(crate) const BACKOFF_ROUNDS: u32 = SPINNING_ROUNDS + 2;

/// The round with the longest spin that does not yield yet.
pub(crate) const LONG_BACKOFF_ROUND: u32 = SPINNING_ROUNDS - 1;

/// Yields to other threads that are ready on this core, if there are any. Returns how long that took.
pub(crate) fn yield_now() -> Duration {
    let start = now();
    thread::yield_now();
    now().saturating_duration_since(start)
}

/// Waits for so long, or a little less; nobody ends that.
pub(crate) fn nap(time: Duration) {
    let (mutex, never) = (Mutex::new(()), Condvar::new());
    let _ = never.wait_until(mutex.lock(), now() + time);
}

/// Yields to other threads until `is_over` returns true, for about as long as it takes to fall asleep
/// and be woken; returns whether it did.
///
/// A yield and not a spin: what the caller waits for may be ready on this core. If other programs take
/// the core, one yield uses up the time.
pub(crate) fn yield_until(is_over: impl Fn() -> bool) -> bool {
    const LIMIT: Duration = Duration::from_micros(50);
    let start = now();
    loop {
        if is_over() {
            return true;
        }
        if now().saturating_duration_since(start) > LIMIT {
            return false;
        }
        thread::yield_now();
    }
}

/// How often a thread checks for what it waits for before it parks: some microseconds.
pub(crate) const SPIN_LIMIT: u32 = 600;

/// Reads the machine's monotonic clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Reads the machine's time of day.
pub(crate) fn wall_now() -> SystemTime {
    SystemTime::now()
}

/// Reduces the timer slack of the current thread, so that its timed waits end on time.
///
/// Linux lets a thread sleep 50 microseconds longer than asked, to wake several at once, unless the
/// thread asks for less. A write to a file does what `prctl` does, without a call into C. Where
/// there is no such file, or it cannot be written, nothing changes.
pub(crate) fn reduce_timer_slack() {
    // `pid/task/tid`. The file is in `/proc/tid`, not in the folder that the link leads to.
    let thread = std::fs::read_link("/proc/thread-self");
    if let Some(id) = thread.as_ref().ok().and_then(|thread| thread.file_name()) {
        let slack = std::path::Path::new("/proc").join(id).join("timerslack_ns");
        let _ = std::fs::write(slack, "1");
    }
}

/// Runs a model once, as a plain test.
#[cfg(test)]
pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    body();
}

/// A thread-local with a constant initial value, where the backend can use that.
macro_rules! const_thread_local {
    ($vis:vis static $name:ident: $kind:ty = $init:expr;) => {
        std::thread_local! { $vis static $name: $kind = const { $init }; }
    };
}
pub(crate) use const_thread_local;

/// A static of this backend: one for the process, or one for each run of a model.
macro_rules! global {
    (static $name:ident: $kind:ty = $init:expr;) => {
        static $name: $kind = $init;
    };
}
pub(crate) use global;
