//! When a state counts as settled.
//!
//! Unchanged for 8 ms, for 20 ms on a scheduled pool, or for three keep-alive times and 40 ms where
//! a finite keep-alive is set, so that a worker due to time out has done so. A state that already
//! equals the expected one is watched just as long: leaving early would miss the worker that dies
//! one moment later.
//! What is watched is a pool on the real clock, and nothing tells when it is at rest: so this polls.

use std::thread;
use std::time::{Duration, Instant};

use crate::format::{KeepAlive, PoolSpec, Setting, Step};
use crate::state::State;
use crate::subject::Subject;

const THREAD_POOL: Duration = Duration::from_millis(8);
const SCHEDULED: Duration = Duration::from_millis(20);

/// So many looks in a row must agree as well: on a busy machine one pause may outlast the quiet time.
const LOOKS: u32 = 5;

/// A state that does not come to rest within this time, times the patience, is taken as it is.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);

/// How long a state must stay unchanged, as the steps so far have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    quiet: Duration,
    patience: u32,
}

impl Settling {
    /// The rule for a pool not built yet, with every time multiplied by `patience`.
    #[must_use]
    pub fn new(patience: u32) -> Settling {
        Settling {
            quiet: THREAD_POOL,
            patience,
        }
    }

    /// Takes note of a step that is about to be carried out.
    pub fn note(&mut self, step: &Step) {
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

    /// Waits for the subject's state to settle.
    #[must_use]
    pub fn settled(&self, subject: &dyn Subject) -> State {
        let quiet = self.quiet();
        let pause = (quiet / 20).clamp(Duration::from_micros(500), Duration::from_millis(4));
        let start = Instant::now();
        let mut last = subject.state();
        let mut since = Instant::now();
        let mut looks = 1;
        while looks < LOOKS || since.elapsed() < quiet {
            if start.elapsed() >= LIMIT * self.patience {
                break;
            }
            thread::sleep(pause);
            let now = subject.state();
            looks += 1;
            if now != last {
                last = now;
                since = Instant::now();
                looks = 1;
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
        let mut settling = Settling::new(1);
        for step in steps {
            settling.note(&parse_step(step).unwrap());
        }
        settling.quiet().as_millis()
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
        assert_eq!(Settling::new(10).quiet(), Duration::from_millis(80));
    }
}
