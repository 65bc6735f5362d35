//! The backend that runs a test under many random schedules.
//!
//! shuttle treats every atomic access as sequentially consistent, so it checks no
//! orderings (loom does), but it can run whole pools. A timed wait either waits forever or times
//! out at once, at random.

#![expect(
    clippy::disallowed_methods,
    reason = "this file wraps what the others use through `sync`"
)]

use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

pub(crate) use shuttle::sync::MutexGuard;
pub(crate) use shuttle::thread_local;

/// shuttle's atomics.
pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{
        AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// shuttle's threads.
pub(crate) mod thread {
    pub(crate) use shuttle::thread::{Builder, JoinHandle, Thread, current, yield_now};
}

/// shuttle's mutex, with the interface of the `std` backend.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// shuttle's condition variable.
#[derive(Debug, Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(shuttle::sync::Condvar::new())
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

    /// Waits, or times out at once, at random.
    pub(crate) fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _deadline: Instant,
    ) -> (MutexGuard<'a, T>, bool) {
        use shuttle::rand::Rng;
        if shuttle::rand::thread_rng().gen_bool(0.5) {
            (self.wait(guard), false)
        } else {
            (guard, true)
        }
    }
}

/// A plain cell: shuttle runs one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Does not spin: a model runs the other threads at every point anyway.
pub(crate) fn spin_until(_checks: u32, _pauses: u32, _is_over: impl Fn() -> bool) -> u32 {
    0
}

/// Does nothing: a model runs the other threads at every point anyway.
pub(crate) fn yield_now() -> Duration {
    Duration::ZERO
}

/// Yields: in a model any time may pass.
pub(crate) fn nap(_time: Duration) {
    shuttle::thread::yield_now();
}

/// Only checks: a model runs the other threads at every point anyway.
pub(crate) fn yield_until(is_over: impl Fn() -> bool) -> bool {
    is_over()
}

/// Does not spin.
pub(crate) fn backoff(_round: u32) {}

/// Rounds of backoff before a thread blocks on a lock.
pub(crate) const BACKOFF_ROUNDS: u32 = 0;

/// The round with the longest spin.
pub(crate) const LONG_BACKOFF_ROUND: u32 = 0;

/// How often a thread checks for what it waits for before it parks.
pub(crate) const SPIN_LIMIT: u32 = 1;

/// Reads the machine's clock; models never wait by it.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Reads the machine's time of day.
pub(crate) fn wall_now() -> SystemTime {
    SystemTime::now()
}

/// Does nothing: models never wait by a clock.
pub(crate) fn reduce_timer_slack() {}

/// Runs the body under random and under probabilistic concurrency testing schedules
/// (`SHUTTLE_ITERATIONS` of each, 1,000 unless set).
#[cfg(test)]
pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    let iterations = std::env::var("SHUTTLE_ITERATIONS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000);
    let body = std::sync::Arc::new(body);
    let again = std::sync::Arc::clone(&body);
    shuttle::check_random(move || body(), iterations);
    shuttle::check_pct(move || again(), iterations, 3);
}

/// A thread-local with a constant initial value, where the backend can use that.
macro_rules! const_thread_local {
    ($vis:vis static $name:ident: $kind:ty = $init:expr;) => {
        shuttle::thread_local! { $vis static $name: $kind = $init; }
    };
}
pub(crate) use const_thread_local;

/// A static of this backend: one for the process, or one for each run of a model.
macro_rules! global {
    (static $name:ident: $kind:ty = $init:expr;) => {
        shuttle::lazy_static! { static ref $name: $kind = $init; }
    };
}
pub(crate) use global;
