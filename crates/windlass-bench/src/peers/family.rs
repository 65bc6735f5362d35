//! What workloads need of peers, by family.
//!
//! All is generic: a peer pays for what its own interface makes it pay, and for nothing of ours.

use std::time::Duration;

use crate::instruments::tally::Expected;

/// A pool, runtime or channel that takes part.
pub(crate) trait Peer {
    const NAME: &'static str;

    fn name() -> String {
        Self::NAME.to_owned()
    }
}

/// Runs tasks that nobody waits for.
pub(crate) trait Pool: Peer + Send + Sync + Sized + 'static {
    /// A pool of so many workers over an unbounded queue, its threads started if it can.
    fn with_workers(workers: usize) -> Self;

    fn execute(&self, body: impl FnOnce() + Send + 'static);

    /// Shuts the pool down in order, and waits for it if it offers that.
    fn close(self) {}
}

/// Runs tasks that return a result.
pub(crate) trait Returning: Pool {
    type Handle<T: Send + 'static>: Send;

    fn submit<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Self::Handle<T>;

    fn get<T: Send + 'static>(&self, handle: Self::Handle<T>) -> T;

    /// The sum of many results; for peers with a cheaper way to wait for many.
    fn sum(&self, handles: Vec<Self::Handle<u64>>) -> u64 {
        handles.into_iter().map(|handle| self.get(handle)).sum()
    }
}

/// What happens to a task for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    Block,
    CallerRuns,
}

/// Holds no more than so many tasks.
pub(crate) trait Bounded: Pool {
    fn with_capacity(workers: usize, capacity: usize, when_full: WhenFull) -> Self;

    /// Executes with the policy for a full queue.
    fn execute_bounded(&self, body: impl FnOnce() + Send + 'static) {
        self.execute(body);
    }
}

/// Starts a thread when no idle one takes the task.
pub(crate) trait Cached: Pool {
    fn cached() -> Self;
}

/// Stops without running what is queued.
pub(crate) trait StopsAtOnce: Pool {
    /// Stops the pool without waiting for its threads; returns how many tasks it handed back,
    /// if it hands any back.
    fn stop_at_once(self) -> u64;
}

/// Splits work in two and joins the halves.
pub(crate) trait ForkJoin: Peer {
    /// What the pool hands to a closure so that it can split again.
    type Scope<'s>;

    /// Whether the thread that joins runs the second closure first, while another may take the first one.
    const SECOND_FIRST: bool = false;

    fn with_parallelism(workers: usize) -> Self;

    fn enter<R: Send>(&self, body: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> R + Send) -> R;

    fn join<A: Send, B: Send>(
        scope: &mut Self::Scope<'_>,
        left: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> A + Send,
        right: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> B + Send,
    ) -> (A, B);

    /// Joins so that a thread whom nobody helps runs `first` first, whatever the pool's own order: all peers
    /// then visit memory in the same order.
    #[inline]
    fn join_in_order<A: Send, B: Send>(
        scope: &mut Self::Scope<'_>,
        first: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> A + Send,
        second: impl for<'s> FnOnce(&mut Self::Scope<'s>) -> B + Send,
    ) -> (A, B) {
        if Self::SECOND_FIRST {
            let (second, first) = Self::join(scope, second, first);
            (first, second)
        } else {
            Self::join(scope, first, second)
        }
    }
}

/// Loops over slices, and sorts them, inside [`ForkJoin::enter`].
pub(crate) trait Slices: ForkJoin {
    fn for_each_mut(items: &mut [u64], f: impl Fn(&mut u64) + Sync + Send);

    fn map_reduce(
        items: &[u64],
        map: impl Fn(u64) -> u64 + Sync + Send,
        reduce: impl Fn(u64, u64) -> u64 + Sync + Send,
    ) -> u64;

    fn sort_unstable(items: &mut [u64]);

    fn sort_stable(items: &mut [u64]);
}

/// Runs tasks later.
pub(crate) trait Timers: Peer + Sized {
    type Token;
    /// Whether a cancelled timer is taken out at once, or stays until it is due.
    const FREES: bool;

    /// With two workers, or as many as such timers have.
    fn start() -> Self;

    fn schedule(&self, delay: Duration, body: impl FnOnce() + Send + 'static) -> Self::Token;

    fn cancel(&self, token: Self::Token);

    /// Waits until all timers are set, where they are set in the background;
    /// `all` then counts in [`SET`](crate::instruments::tally::SET).
    fn await_set(&self, all: &Expected) {
        let _ = all;
    }
}
