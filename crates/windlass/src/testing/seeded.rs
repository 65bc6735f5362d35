//! An executor that runs its tasks in an order that depends on a seed.

use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use super::choice::Choice;
use super::manual::stepping;
use super::stepper::Stepper;
use crate::clock::TestClock;
use crate::executor::{Executor, ExecutorService, RejectedExecution, ShutdownCancels};
use crate::interrupt::Interrupted;
use crate::task::{LimitOwner, Task, TaskHandle, TaskId};
use crate::unwind::{catch, discard_payload};

/// An executor that runs its tasks one after the other, in an order that depends on a seed alone.
///
/// A pool may run its tasks in any order, and mostly runs them in the same. [`check`](Self::check)
/// runs a test with many seeds and so in many orders, and names the first seed that fails; with that
/// seed the failure comes back each time. One task runs at a time, to its end: this finds bugs that
/// depend on the order of tasks, not data races inside of them.
///
/// For even seeds each queued task is next with the same probability. For odd ones tasks have random
/// ranks, which the tasks that they submit inherit, and which change at random steps: so a chain of
/// tasks can run to its end before another task starts. Otherwise the executor is a
/// [`ManualExecutor`](super::ManualExecutor), with its clock and its waits.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use windlass::prelude::*;
/// use windlass::testing::SeededExecutor;
///
/// // Each task reads the balance, and a second one writes it back: an update can be lost.
/// let deposit_twice = |executor: &SeededExecutor| {
///     let balance = Arc::new(AtomicU32::new(0));
///     for _ in 0..2 {
///         let (pool, balance) = (executor.clone(), Arc::clone(&balance));
///         executor.execute(move || {
///             let read = balance.load(Ordering::Relaxed);
///             pool.execute(move || balance.store(read + 1, Ordering::Relaxed)).unwrap();
///         }).unwrap();
///     }
///     executor.run_until_idle();
///     assert_eq!(balance.load(Ordering::Relaxed), 2);
/// };
/// let failure = SeededExecutor::find(0..100, deposit_twice).expect("a lost update");
/// assert_eq!(SeededExecutor::find([failure.seed()], deposit_twice), Some(failure));
/// ```
#[derive(Debug, Clone)]
pub struct SeededExecutor {
    stepper: Arc<Stepper>,
    seed: u64,
}

/// Its state is behind a lock that no user code runs under.
impl UnwindSafe for SeededExecutor {}
impl RefUnwindSafe for SeededExecutor {}

impl SeededExecutor {
    /// Creates an executor with this seed and a clock of its own. Clones of it are the same executor.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            stepper: Stepper::new(Choice::seeded(seed), TestClock::new()),
            seed,
        }
    }

    /// Returns the seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs the next task, by the seed. Returns whether there was one.
    pub fn run_next(&self) -> bool {
        self.stepper.run_next()
    }

    /// Runs the test with each seed, on this thread; `None` if it passes with all of them.
    ///
    /// A test fails by a panic: of its own, of a task without a handle, or of a wait that nothing can
    /// end. It runs inside of [`enter`](Self::enter), and what it leaves queued runs after it.
    pub fn find(seeds: impl IntoIterator<Item = u64>, test: impl Fn(&Self)) -> Option<FailingSeed> {
        seeds.into_iter().find_map(|seed| {
            let executor = Self::new(seed);
            let run = || {
                executor.enter(|| test(&executor));
                executor.run_until_idle();
            };
            let payload = catch(run).err()?;
            let message = message_of(&*payload);
            discard_payload(payload);
            let order = executor.stepper.started();
            drop(executor.shutdown_now());
            Some(FailingSeed {
                seed,
                message,
                order,
            })
        })
    }

    /// Runs the test with each seed, on this thread.
    ///
    /// # Panics
    ///
    /// If it fails with one of them; the message has the seed, the failure, and the order of the tasks.
    /// See [`find`](Self::find).
    pub fn check(seeds: impl IntoIterator<Item = u64>, test: impl Fn(&Self)) {
        if let Some(failing) = Self::find(seeds, test) {
            panic!("{failing}");
        }
    }
}

stepping!(SeededExecutor, |executor| executor.stepper);

/// A seed with which a test fails, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingSeed {
    seed: u64,
    message: String,
    order: Vec<String>,
}

impl FailingSeed {
    /// Returns the seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the message of the panic.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the tasks in the order in which they started: for each its number in the order of
    /// submission, and its name.
    #[must_use]
    pub fn order(&self) -> &[String] {
        &self.order
    }
}

impl fmt::Display for FailingSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, message, .. } = self;
        let order = self.order.join(", ");
        write!(
            f,
            "fails with seed {seed}: {message}; order of the tasks: {order}"
        )
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
