//! The accepted tasks that the shutdown of an executor cancels: how many there were, and which futures are
//! among them.
//!
//! A queued task still runs after a shutdown, or `shutdown_now` returns it. A future that is suspended is in no queue: nobody
//! would find it, and the executor takes no further poll. So each future is registered here while it lives.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::task::{Cancellation, Task};
use crate::unwind::ignore_panic;

/// So many free places are kept.
const KEPT: usize = 64;

/// The tasks that the shutdown of an executor cancels. Shared by the executor and its futures.
#[derive(Default)]
#[expect(
    unnameable_types,
    reason = "a part of `Executor` that users neither call nor implement"
)]
pub struct ShutdownCancels {
    count: AtomicU64,
    /// Whether the executor takes no more polls.
    ///
    /// A future that is suspended meanwhile is cancelled by one of two threads. The one that shuts down sets this, and then
    /// asks each future under its lock whether it is suspended; the one that has polled it says so under that lock, and then
    /// reads this.
    is_shut_down: AtomicBool,
    registry: Mutex<Registry>,
}

/// The futures of an executor.
#[derive(Default)]
struct Registry {
    /// The reason of the first shutdown.
    reason: Option<Cancellation>,
    /// Futures by their number; `None` for numbers that are free.
    futures: Vec<Option<Weak<dyn Suspend>>>,
    free: Vec<usize>,
}

/// A future, as the registry sees it.
pub(crate) trait Suspend: Send + Sync {
    /// Cancels the future if no poll of it is queued or runs; returns whether this call has cancelled it.
    fn cancel_if_suspended(&self, reason: Cancellation) -> bool;
}

impl ShutdownCancels {
    /// Returns how many tasks were cancelled.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts tasks that the shutdown has cancelled.
    pub(crate) fn add(&self, tasks: u64) {
        self.count.fetch_add(tasks, Ordering::Relaxed);
    }

    /// Counts a task if the shutdown was what has cancelled it.
    pub(crate) fn add_if(&self, cancelled: bool) {
        self.add(u64::from(cancelled));
    }

    /// Counts those of the tasks that are about to be cancelled by the shutdown, and were not before.
    pub(crate) fn add_tasks<'a>(&self, tasks: impl Iterator<Item = &'a Task>) {
        self.add(tasks.filter(|task| !task.is_cancelled()).count() as u64);
    }

    /// Adds a future; it is removed when the result is dropped.
    pub(crate) fn register(self: &Arc<Self>, future: Weak<dyn Suspend>) -> Registration {
        let mut registry = self.registry.lock();
        let number = registry.free.pop().unwrap_or(registry.futures.len());
        match registry.futures.get_mut(number) {
            Some(place) => *place = Some(future),
            None => registry.futures.push(Some(future)),
        }
        Registration {
            cancels: Arc::clone(self),
            number,
        }
    }

    /// Returns the reason for futures that are suspended, if the executor takes no more polls.
    pub(crate) fn reason(&self) -> Option<Cancellation> {
        if !self.is_shut_down.load(Ordering::Acquire) {
            return None;
        }
        self.registry.lock().reason
    }

    /// Called when the executor takes no more polls: cancels the futures that are suspended, and counts them.
    ///
    /// The panics of their done-callbacks and drops end here.
    pub(crate) fn shut_down(&self, reason: Cancellation) {
        let futures: Vec<_> = {
            let mut registry = self.registry.lock();
            registry.reason.get_or_insert(reason);
            self.is_shut_down.store(true, Ordering::Release);
            let futures = registry.futures.iter().flatten();
            futures.filter_map(Weak::upgrade).collect()
        };
        for future in futures {
            ignore_panic(|| self.add_if(future.cancel_if_suspended(reason)));
        }
    }
}

impl fmt::Debug for ShutdownCancels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShutdownCancels")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

/// The place of a future in the registry.
pub(crate) struct Registration {
    cancels: Arc<ShutdownCancels>,
    number: usize,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut registry = self.cancels.registry.lock();
        let former = registry.futures[self.number].take();
        registry.free.push(self.number);
        // A burst of futures leaves no memory behind.
        if registry.free.len() == registry.futures.len() && registry.free.len() > KEPT {
            registry.free = Vec::new();
            registry.futures = Vec::new();
        }
        drop(registry);
        drop(former);
    }
}

#[cfg(test)]
mod models {
    use std::sync::{Arc, Weak};

    use super::{ShutdownCancels, Suspend};
    use crate::sync::{Mutex, model, thread};
    use crate::task::Cancellation;

    /// A future whose poll is under way.
    struct Polled(Mutex<Polling>);

    struct Polling {
        is_polled: bool,
        cancels: u32,
    }

    impl Suspend for Polled {
        fn cancel_if_suspended(&self, _: Cancellation) -> bool {
            let mut polling = self.0.lock();
            let first = !polling.is_polled && polling.cancels == 0;
            polling.cancels += u32::from(first);
            first
        }
    }

    /// WL-500
    #[test]
    fn a_future_that_is_suspended_while_its_executor_shuts_down_is_cancelled_once() {
        model(|| {
            let cancels = Arc::new(ShutdownCancels::default());
            let future = Arc::new(Polled(Mutex::new(Polling {
                is_polled: true,
                cancels: 0,
            })));
            let seen: Weak<Polled> = Arc::downgrade(&future);
            let registration = cancels.register(seen);
            let theirs = Arc::clone(&cancels);
            let shutdown = thread::Builder::new()
                .spawn(move || theirs.shut_down(Cancellation::Shutdown))
                .unwrap();
            // The poll ends, as in `spawn_async`.
            future.0.lock().is_polled = false;
            if let Some(reason) = cancels.reason() {
                cancels.add_if(future.cancel_if_suspended(reason));
            }
            shutdown.join().unwrap();
            assert_eq!((future.0.lock().cancels, cancels.count()), (1, 1));
            drop(registration);
        });
    }
}
