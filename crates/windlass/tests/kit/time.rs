//! Scheduled pools on a test clock, and a log of what ran when.

use std::sync::Arc;
use std::time::Duration;

use windlass::ScheduledThreadPoolExecutor;
use windlass::clock::TestClock;
use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
use windlass::testing::{Gate, PATIENCE, until};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// Creates a pool whose workers read this clock.
pub(crate) fn pool_on(clock: &TestClock, core: usize) -> ScheduledThreadPoolExecutor {
    clock.enter(|| ScheduledThreadPoolExecutor::new(core))
}

/// A log of what tasks have recorded, in order; shared by cloning.
#[derive(Debug)]
pub(crate) struct Log<T: Send + 'static>(Arc<LinkedBlockingQueue<T>>);

impl<T: Send + 'static> Log<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(LinkedBlockingQueue::new()))
    }

    pub(crate) fn record(&self, what: T) {
        self.0.offer(what).expect("there is no bound");
    }

    /// Waits for the next entry.
    pub(crate) fn next(&self) -> T {
        let next = self.0.poll_timeout(PATIENCE).expect("not interrupted");
        next.expect("waited in vain for an entry")
    }

    /// Waits for this many entries.
    pub(crate) fn take(&self, count: usize) -> Vec<T> {
        (0..count).map(|_| self.next()).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Send + 'static> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Waits until a thread sleeps on the clock, and moves the clock to where it wakes up.
pub(crate) fn step(clock: &TestClock) -> Duration {
    let mut next = Duration::ZERO;
    until("a sleeper", || {
        next = clock.next_wake_up().unwrap_or_default();
        !next.is_zero()
    });
    clock.advance(next);
    next
}

/// Waits until the next thread that sleeps on the clock has exactly that long to sleep.
pub(crate) fn await_wake_up_in(clock: &TestClock, time: Duration) {
    until(&format!("a sleeper for {time:?}"), || {
        clock.next_wake_up() == Some(time)
    });
}

/// Keeps one worker busy until the gate is opened.
pub(crate) fn occupy(pool: &ScheduledThreadPoolExecutor) -> Gate {
    use windlass::Submit;
    let gate = Gate::new();
    let inside = gate.clone();
    pool.execute(move || inside.pass_uninterruptibly())
        .expect("a pool that runs");
    gate.await_waiting(1);
    gate
}

/// Waits until no worker is busy and this many wait for a task.
pub(crate) fn await_idle(pool: &ScheduledThreadPoolExecutor, count: usize) {
    until(&format!("{count} idle workers"), || {
        let waiting = pool.queue().waiting().unwrap_or_default();
        waiting.takers == count && pool.stats().active_count == 0
    });
}

/// Also keeps what one test file does not use from being called dead.
#[test]
fn the_kit_drives_a_pool_on_a_clock() {
    use windlass::{ExecutorService, Schedule};
    let (clock, log) = (TestClock::new(), Log::new());
    let pool = pool_on(&clock, 1);
    let gate = occupy(&pool);
    let notes = log.clone();
    drop(pool.schedule(HOUR + SECOND, move || notes.record(1)));
    gate.open();
    await_idle(&pool, 1);
    assert!(log.is_empty());
    await_wake_up_in(&clock, HOUR + SECOND);
    assert_eq!(step(&clock), HOUR + SECOND);
    assert_eq!(log.take(1), [1]);
    pool.close();
}
