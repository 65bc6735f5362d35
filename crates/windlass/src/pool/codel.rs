//! The control law of CoDel: when a queue that stays slow sheds.
//!
//! What counts is how long an element has waited when it is taken. A burst may wait long, and that is
//! what a queue is for; but if even the shortest wait within an interval is above the target, the queue
//! only adds delay. Then an element is shed, and another one ever sooner, by the inverse square root of
//! their number, until one has waited less than the target. Nichols and Jacobson, "Controlling queue
//! delay", 2012; RFC 8289.

use std::time::{Duration, Instant};

/// When a pool sheds tasks: while each one waits longer than a target.
///
/// This is the rule of `CoDel`, from the queues of network routers. A worker that takes a task compares how
/// long it was queued with the *target*. If every task of a whole *interval* was queued for longer, the
/// worker drops one and takes the next. While that stays so, tasks are dropped ever more often: after
/// `interval`, then after `interval / √2`, `interval / √3`, and so on, until a task has waited less than
/// the target. The last queued task is never dropped. A burst that is worked off within an interval sheds
/// nothing.
///
/// The interval is about the longest that a burst may take, and the target a tenth of it or less. For
/// tasks that somebody waits for, 100 ms and 5 ms are a start. While it sheds, a pool serves tasks that
/// are about as old as the target, where a full queue would serve all of them too late.
///
/// The time of submission is recorded on each task; a small one is moved into a box for that.
///
/// ```
/// use std::time::Duration;
/// use windlass::pool::Codel;
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder()
///     .core_pool_size(2)
///     .shed(Codel::new(Duration::from_millis(5), Duration::from_millis(100)))
///     .build()
///     .unwrap();
/// let quick = pool.submit(|| 42).unwrap();
/// assert_eq!(quick.join().unwrap(), 42);
/// assert_eq!(pool.stats().shed_task_count, 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(alias = "load shedding")]
pub struct Codel {
    target: Duration,
    interval: Duration,
}

impl Default for Codel {
    /// A target of 5 ms and an interval of 100 ms.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_millis(100))
    }
}

impl Codel {
    /// Creates the rule: how long a task should wait at most, and for how long it may be more.
    #[must_use]
    pub const fn new(target: Duration, interval: Duration) -> Self {
        Self { target, interval }
    }

    /// Returns how long a task should wait at most.
    #[must_use]
    pub const fn target(&self) -> Duration {
        self.target
    }

    /// Returns for how long tasks may wait longer before one is shed.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }
}

/// What becomes of an element that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Verdict {
    Keep,
    Shed,
}

/// The state of the control law.
#[derive(Debug)]
pub(super) struct ControlLaw {
    codel: Codel,
    /// When the interval ends that began with the first wait above the target.
    above_until: Option<Instant>,
    shedding: Option<Shedding>,
    /// The last time at which something was shed, and how many had been shed then in a row.
    last: Option<Shedding>,
}

/// A series of elements that are shed.
#[derive(Debug, Clone, Copy)]
struct Shedding {
    count: u32,
    next: Instant,
}

/// A series that begins within this many intervals of the last one continues where that was: the load is
/// still too high.
const MEMORY: u32 = 16;

impl ControlLaw {
    pub(super) const fn new(codel: Codel) -> Self {
        Self {
            codel,
            above_until: None,
            shedding: None,
            last: None,
        }
    }

    /// Decides about an element that has waited for this long, and behind which others wait or not.
    pub(super) fn judge(&mut self, now: Instant, waited: Duration, has_others: bool) -> Verdict {
        if waited < self.codel.target || !has_others {
            self.above_until = None;
            self.end_series();
            return Verdict::Keep;
        }
        let above_until = *self
            .above_until
            .get_or_insert_with(|| after(now, self.codel.interval));
        if now < above_until {
            return Verdict::Keep;
        }
        let shedding = match self.shedding {
            None => self.begin_series(now),
            Some(series) if now < series.next => return Verdict::Keep,
            Some(series) => self.shed_next(series.count.saturating_add(1), series.next),
        };
        self.shedding = Some(shedding);
        Verdict::Shed
    }

    fn begin_series(&self, now: Instant) -> Shedding {
        let recent = self
            .last
            .filter(|last| now < after(last.next, self.codel.interval.saturating_mul(MEMORY)));
        let count = recent.map_or(1, |last| last.count.saturating_sub(2).max(1));
        self.shed_next(count, now)
    }

    /// Returns the series after its element number `count` was shed, which was due at `at`.
    fn shed_next(&self, count: u32, at: Instant) -> Shedding {
        let gap = self.codel.interval.div_f64(f64::from(count).sqrt());
        Shedding {
            count,
            next: after(at, gap),
        }
    }

    fn end_series(&mut self) {
        if let Some(series) = self.shedding.take() {
            self.last = Some(series);
        }
    }
}

/// Returns the time after this one; the same where that is beyond the range of clocks.
fn after(at: Instant, by: Duration) -> Instant {
    at.checked_add(by).unwrap_or(at)
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::collections::VecDeque;
    use std::time::{Duration, Instant};

    use super::{Codel, ControlLaw, Verdict};
    use crate::sync::clock::TestClock;

    const MS: Duration = Duration::from_millis(1);

    /// A queue with one server that takes a time per element.
    struct Server {
        law: ControlLaw,
        clock: TestClock,
        queue: VecDeque<Instant>,
        service: Duration,
        shed: u32,
        /// The waits of those that were served.
        waits: Vec<Duration>,
    }

    impl Server {
        fn new(service: Duration) -> Self {
            Self {
                law: ControlLaw::new(Codel::default()),
                clock: TestClock::new(),
                queue: VecDeque::new(),
                service,
                shed: 0,
                waits: Vec::new(),
            }
        }

        /// Serves for this long, while an element comes every `gap`; for no gap none comes.
        fn run(&mut self, time: Duration, gap: Option<Duration>) {
            let end = self.clock.now() + time;
            let mut next = self.clock.now();
            while self.clock.now() < end {
                while let Some(gap) = gap.filter(|_| next <= self.clock.now()) {
                    self.queue.push_back(next);
                    next += gap;
                }
                let Some(since) = self.queue.pop_front() else {
                    self.clock.advance(MS / 10);
                    continue;
                };
                let (now, others) = (self.clock.now(), !self.queue.is_empty());
                let waited = now - since;
                if self.law.judge(now, waited, others) == Verdict::Shed {
                    self.shed += 1;
                    continue;
                }
                self.waits.push(waited);
                self.clock.advance(self.service);
            }
        }
    }

    /// WL-190
    #[test]
    fn nothing_is_shed_at_a_light_load_or_in_a_burst_that_is_worked_off_in_an_interval() {
        let mut server = Server::new(MS);
        server.run(5_000 * MS, Some(MS * 11 / 10));
        assert_eq!(server.shed, 0);
        server.queue.extend(vec![server.clock.now(); 90]);
        server.run(1_000 * MS, None);
        assert_eq!((server.shed, server.queue.len()), (0, 0));
    }

    /// WL-190
    #[test]
    fn an_overload_is_shed_until_the_wait_is_about_the_target_and_not_after_it() {
        let mut server = Server::new(MS);
        // Twenty percent too many, for a minute: without shedding the last would wait ten seconds.
        server.run(60_000 * MS, Some(MS * 5 / 6));
        let steady = &server.waits[server.waits.len() / 2..];
        let sum: Duration = steady.iter().sum();
        let mean = sum / u32::try_from(steady.len()).unwrap();
        assert!(server.shed > 1_000, "{} shed", server.shed);
        assert!(mean < 20 * MS, "{mean:?}");
        server.queue.clear();
        let shed = server.shed;
        server.run(10_000 * MS, Some(2 * MS));
        assert_eq!(server.shed, shed, "the load is light again");
    }

    /// WL-190
    #[test]
    fn one_is_shed_after_an_interval_and_others_ever_sooner() {
        let clock = TestClock::new();
        let mut law = ControlLaw::new(Codel::default());
        let start = clock.now();
        let mut shed = Vec::new();
        while shed.len() < 4 {
            if law.judge(clock.now(), 50 * MS, true) == Verdict::Shed {
                shed.push((clock.now() - start).as_millis());
            }
            clock.advance(MS);
        }
        // An interval, and then the interval by the root of 1, 2 and 3.
        assert_eq!(shed, [100, 200, 271, 329]);
        assert_eq!(law.judge(clock.now(), 4 * MS, true), Verdict::Keep);
        clock.advance(99 * MS);
        assert_eq!(law.judge(clock.now(), 50 * MS, true), Verdict::Keep);
    }

    /// WL-190
    #[test]
    fn the_last_element_is_never_shed() {
        let clock = TestClock::new();
        let mut law = ControlLaw::new(Codel::default());
        for _ in 0..100 {
            clock.advance(100 * MS);
            assert_eq!(law.judge(clock.now(), 9_999 * MS, false), Verdict::Keep);
        }
    }
}
