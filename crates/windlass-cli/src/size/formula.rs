//! The sizing formula, with its explanation.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::Reset;
use windlass::executors::optimal_pool_size;

use crate::count::counted;
use crate::duration::Short;
use crate::style;

/// How long a task waits and computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    pub(super) wait: Duration,
    pub(super) compute: Duration,
}

/// What the formula is applied to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Formula {
    pub(super) cores: usize,
    pub(super) utilisation: f64,
    pub(super) times: Times,
}

impl Formula {
    fn ratio(&self) -> f64 {
        self.times.wait.as_secs_f64() / self.times.compute.as_secs_f64()
    }

    /// Returns how many threads the formula asks for.
    pub(super) fn threads(&self) -> usize {
        optimal_pool_size(self.cores, self.utilisation, self.ratio())
    }

    /// Returns how many tasks a second these threads finish at most.
    fn capacity(&self) -> f64 {
        self.cores as f64 * self.utilisation / self.times.compute.as_secs_f64()
    }

    /// Returns the formula, what it says, and why.
    pub(super) fn explain(&self) -> String {
        let (title, good, dim, reset) = (style::TITLE, style::GOOD, style::DIM, Reset);
        let (cores, used, ratio) = (self.cores, self.utilisation, self.ratio());
        let (wait, compute) = (Short(self.times.wait), Short(self.times.compute));
        let threads = counted(self.threads(), "thread");
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{good}{threads}{reset}   {title}N · U · (1 + W/C){reset} = \
             {cores} · {used} · (1 + {wait} / {compute}) = {cores} · {used} · {:.2}",
            1.0 + ratio
        );
        let _ = writeln!(
            text,
            "{dim}A task keeps a processor busy for {compute} and waits for {wait}. While it waits, \
             others can compute:\nso each processor has work for {:.1} threads. More threads only wait \
             for a processor; fewer leave it idle.\nThey finish {:.1} tasks a second at most.{reset}",
            1.0 + ratio,
            self.capacity()
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Formula, Times};

    #[test]
    fn the_formula_is_explained_with_its_numbers() {
        let formula = Formula {
            cores: 8,
            utilisation: 0.5,
            times: Times {
                wait: Duration::from_millis(90),
                compute: Duration::from_millis(10),
            },
        };
        assert_eq!(formula.threads(), 40);
        let text = anstream::adapter::strip_str(&formula.explain()).to_string();
        assert!(text.starts_with("40 threads"), "{text}");
        assert!(text.contains("8 · 0.5 · (1 + 90.0 ms / 10.0 ms)"), "{text}");
        assert!(text.contains("400.0 tasks a second"), "{text}");
    }

    #[test]
    fn one_thread_is_no_threads() {
        let formula = Formula {
            cores: 1,
            utilisation: 1.0,
            times: Times {
                wait: Duration::ZERO,
                compute: Duration::from_millis(10),
            },
        };
        let text = anstream::adapter::strip_str(&formula.explain()).to_string();
        assert!(text.starts_with("1 thread  "), "{text}");
    }
}
