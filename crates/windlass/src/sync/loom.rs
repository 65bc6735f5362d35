//! The backend that explores every interleaving and every ordering the memory model allows.
//!
//! loom has no clock. A timed wait yields once and then times out, which is always legal; so a lost
//! wake-up shows on untimed waits, as a deadlock.

#![expect(
    clippy::disallowed_methods,
    reason = "this file wraps what the others use through `sync`"
)]

use std::time::{Duration, Instant, SystemTime};

pub(crate) use loom::sync::MutexGuard;
pub(crate) use loom::thread_local;

/// loom's atomics.
pub(crate) mod atomic {
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// loom's threads.
pub(crate) mod thread {
    pub(crate) use loom::thread::{Builder, JoinHandle, Thread, current, yield_now};
}

/// loom's mutex, with the interface of the `std` backend.
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// loom's condition variable.
#[derive(Debug)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0
            .wait(guard)
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Yields once, and times out.
    pub(crate) fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _deadline: Instant,
    ) -> (MutexGuard<'a, T>, bool) {
        loom::thread::yield_now();
        (guard, true)
    }
}

/// loom's cell, which reports accesses that race.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.0.with(f)
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(f)
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
    loom::thread::yield_now();
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

/// Explores the body exhaustively, up to three preemptions (`LOOM_MAX_PREEMPTIONS` overrides).
#[cfg(test)]
pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    if builder.preemption_bound.is_none() {
        builder.preemption_bound = Some(3);
    }
    builder.check(body);
}

/// A thread-local with a constant initial value, where the backend can use that.
macro_rules! const_thread_local {
    ($vis:vis static $name:ident: $kind:ty = $init:expr;) => {
        loom::thread_local! { $vis static $name: $kind = $init; }
    };
}
pub(crate) use const_thread_local;

/// A static of this backend: one for the process, or one for each run of a model.
macro_rules! global {
    (static $name:ident: $kind:ty = $init:expr;) => {
        loom::lazy_static! { static ref $name: $kind = $init; }
    };
}
pub(crate) use global;
