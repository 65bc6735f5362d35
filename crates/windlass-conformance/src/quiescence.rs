//! When a pool counts as quiescent.
//!
//! Unchanged for 8 ms, for 20 ms on a scheduled pool, or for three keep-alive times and 40 ms where
//! a finite keep-alive is set, so that a worker due to time out has done so. A state that already
//! equals the expected one is watched just as long: leaving early would miss the worker that ends
//! just after.
//! The pool is on the real clock and nothing signals that it is quiescent: so this polls.

use std::thread;
use std::time::{Duration, Instant};

use crate::format::{KeepAlive, PoolSpec, Setting, Step};
use crate::state::State;
use crate::subject::Subject;

const THREAD_POOL: Duration = Duration::from_millis(8);
const SCHEDULED: Duration = Duration::from_millis(20);

/// So many reads in a row must agree as well: on a busy machine one pause may outlast the quiet time.
const READS: u32 = 5;

/// A state that does not become quiescent within this time, times the patience, is taken as it is.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);

/// How long a state must stay unchanged, as the steps so far have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiescence {
    quiet: Duration,
    patience: u32,
}

impl Quiescence {
    /// The rule for a pool not built yet, with every time multiplied by `patience`.
    #[must_use]
    pub fn new(patience: u32) -> Quiescence {
        Quiescence {
            quiet: THREAD_POOL,
            patience,
        }
    }

    /// Adapts to a step that is about to run.
    pub fn observe(&mut self, step: &Step) {
        match step {
            Step::Pool(PoolSpec::Scheduled(_)) => self.quiet = SCHEDULED,
            Step::Pool(PoolSpec::ThreadPool(spec)) => match spec.keep_alive {
                KeepAlive::After(time) if !time.is_zero() => self.quiet = outlive(time),
                _ => {}
            },
            Step::Set(Setting::KeepAlive(time)) => self.quiet = self.quiet.max(outlive(*time)),
            _ => {}
        }
    }

    /// How long a state must stay unchanged from now on.
    #[must_use]
    pub fn quiet(&self) -> Duration {
        self.quiet * self.patience
    }

    /// Waits until the subject's state is quiescent, and returns it.
    #[must_use]
    pub fn await_quiescence(&self, subject: &dyn Subject) -> State {
        let quiet = self.quiet();
        let pause = (quiet / 20).clamp(Duration::from_micros(500), Duration::from_millis(4));
        let start = Instant::now();
        let mut last = subject.state();
        let mut since = Instant::now();
        let mut reads = 1;
        while reads < READS || since.elapsed() < quiet {
            if start.elapsed() >= LIMIT * self.patience {
                break;
            }
            thread::sleep(pause);
            let now = subject.state();
            reads += 1;
            if now != last {
                last = now;
                since = Instant::now();
                reads = 1;
            }
        }
        last
    }
}

fn outlive(keep_alive: Duration) -> Duration {
    keep_alive * 3 + Duration::from_millis(40)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parse_step;

    fn quiet_after(steps: &[&str]) -> u128 {
        let mut quiescence = Quiescence::new(1);
        for step in steps {
            quiescence.observe(&parse_step(step).unwrap());
        }
        quiescence.quiet().as_millis()
    }

    #[test]
    fn the_quiet_time_follows_the_pool_and_its_keep_alive() {
        let pool = |keep| format!("pool core=1 max=1 keep_alive={keep} queue=sync policy=abort");
        assert_eq!(quiet_after(&[]), 8);
        assert_eq!(quiet_after(&[&pool("never")]), 8);
        assert_eq!(quiet_after(&[&pool("0")]), 8);
        assert_eq!(quiet_after(&[&pool("20")]), 100);
        assert_eq!(quiet_after(&[&pool("20"), "set keep_alive=0"]), 100);
        assert_eq!(quiet_after(&[&pool("never"), "set keep_alive=0"]), 40);
        assert_eq!(
            quiet_after(&["pool kind=scheduled core=1 policy=abort"]),
            20
        );
    }

    #[test]
    fn patience_multiplies_the_quiet_time() {
        assert_eq!(Quiescence::new(10).quiet(), Duration::from_millis(80));
    }
}
