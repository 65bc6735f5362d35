//! Programs that a hostile or unlucky user could write, and what must hold when they run.
//!
//! Each attack states its claim and reports a figure. Those that wait for something are given a time, and
//! count as hanging beyond it. They measure time, threads and memory of the whole process, so they
//! run one after the other, and are no tests: the tests of `windlass` show the same without a clock.

mod additions;
mod burst;
mod counts;
mod refused;
mod visible;
mod waits;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A program that has to end, and what it has to show.
#[derive(Debug)]
pub struct Attack {
    /// The name, for the command line.
    pub name: &'static str,
    /// What must hold.
    pub claim: &'static str,
    /// How long it may take.
    limit: Duration,
    run: fn() -> Verdict,
}

/// What an attack has seen.
#[derive(Debug)]
pub struct Verdict {
    /// Whether the claim holds.
    pub holds: bool,
    /// The figure, or what was seen.
    pub seen: String,
}

impl Verdict {
    fn new(holds: bool, seen: impl Into<String>) -> Self {
        let seen = seen.into();
        Self { holds, seen }
    }
}

/// An attack that counts as hanging after ten seconds.
const fn attack(name: &'static str, claim: &'static str, run: fn() -> Verdict) -> Attack {
    let limit = Duration::from_secs(10);
    Attack {
        name,
        claim,
        limit,
        run,
    }
}

impl Attack {
    const fn within(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Runs the attack on a thread of its own, which is left behind if it hangs.
    #[must_use]
    pub fn run(&self) -> Verdict {
        let (told, answer) = mpsc::channel();
        let run = self.run;
        thread::spawn(move || {
            let verdict = catch_unwind(AssertUnwindSafe(run));
            let _ = told.send(verdict.unwrap_or_else(|_| Verdict::new(false, "panicked")));
        });
        let verdict = answer.recv_timeout(self.limit);
        verdict.unwrap_or_else(|_| Verdict::new(false, format!("hangs after {:?}", self.limit)))
    }
}

/// Returns all attacks.
#[must_use]
pub fn all() -> Vec<Attack> {
    let families = [
        waits::attacks(),
        refused::attacks(),
        counts::attacks(),
        visible::attacks(),
        burst::attacks(),
        additions::attacks(),
    ];
    families.into_iter().flatten().collect()
}
