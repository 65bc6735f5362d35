//! What a simulation has shown.

use serde::Serialize;

/// Percentiles of the time that tasks waited before they started, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Waits {
    /// Half of the tasks waited no longer.
    pub p50: f64,
    /// Nine of ten waited no longer.
    pub p90: f64,
    /// All but one in a hundred waited no longer.
    pub p99: f64,
    /// All but one in a thousand waited no longer.
    pub p999: f64,
    /// The longest wait.
    pub max: f64,
    /// The average.
    pub mean: f64,
}

/// A stretch of the simulated time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Stretch {
    /// The most tasks that waited.
    pub waiting: usize,
    /// The most workers that ran a task.
    pub active: usize,
    /// Tasks that were rejected.
    pub rejected: u64,
}

/// The figures of a simulated pool, without those of the time in which it filled up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Tasks that arrived.
    pub arrived: u64,
    /// Tasks that were started.
    pub started: u64,
    /// Tasks that were rejected or dropped.
    pub rejected: u64,
    /// The simulated time that is counted.
    pub seconds: f64,
    /// The time in which tasks arrived, that in which the pool filled up included: the stretches cover it.
    pub whole_seconds: f64,
    /// The share of the workers' time, at the maximum of workers, in which they ran tasks.
    pub utilisation: f64,
    /// How many tasks waited, on average over time.
    pub mean_waiting: f64,
    /// The share of started tasks that had to wait.
    pub delayed: f64,
    /// How long tasks waited.
    pub wait: Waits,
    /// The most workers there were.
    pub largest_size: usize,
    /// Equal stretches of the time, for a picture.
    pub stretches: Vec<Stretch>,
    /// The wait of each of a hundred equal groups of tasks, from short to long, for a picture.
    pub wait_curve: Vec<f64>,
}

impl Figures {
    /// Returns the share of tasks that were rejected.
    #[must_use]
    pub fn rejection(&self) -> f64 {
        if self.arrived == 0 {
            return 0.0;
        }
        self.rejected as f64 / self.arrived as f64
    }
}

/// Summarises waits; they are sorted on the way.
pub(super) fn waits(all: &mut [f64]) -> (Waits, Vec<f64>) {
    all.sort_unstable_by(f64::total_cmp);
    let Some(max) = all.last().copied() else {
        return (Waits::default(), Vec::new());
    };
    let last = all.len() - 1;
    // The smallest wait that this share of tasks does not exceed.
    let at = |share: f64| all[((share * all.len() as f64).ceil() as usize).clamp(1, last + 1) - 1];
    let waits = Waits {
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max,
        mean: all.iter().sum::<f64>() / all.len() as f64,
    };
    let curve = (0..=100)
        .map(|percent| at(f64::from(percent) / 100.0))
        .collect();
    (waits, curve)
}

#[cfg(test)]
mod tests {
    #[test]
    fn percentiles_are_those_of_the_sorted_waits() {
        let mut all: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        let (waits, curve) = super::waits(&mut all);
        assert_eq!(
            (waits.p50, waits.p99, waits.p999, waits.max),
            (500.0, 990.0, 999.0, 1000.0)
        );
        assert_eq!((curve[0], curve[100]), (1.0, 1000.0));
        assert_eq!(super::waits(&mut []).0, super::Waits::default());
    }
}
