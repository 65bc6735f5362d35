//! When tasks arrive and how long they take.

use clap::ValueEnum;

/// How tasks arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    /// Independent of each other, as the requests of many users
    Poisson,
    /// At equal distances
    Constant,
}

/// How the times of tasks are distributed around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// Many short ones, some long ones
    Exponential,
    /// All the same
    Constant,
    /// With a long tail; --variation says how long
    Lognormal,
}

/// A stream of tasks.
///
/// ```
/// use windlass_cli::size::{Arrivals, Load, Service};
///
/// let load = Load {
///     per_second: 500.0,
///     arrivals: Arrivals::Poisson,
///     mean_seconds: 0.015,
///     service: Service::Exponential,
///     variation: 1.0,
/// };
/// assert!((load.offered() - 7.5).abs() < 1e-9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Tasks that arrive in a second, on average.
    pub per_second: f64,
    /// How they arrive.
    pub arrivals: Arrivals,
    /// How long a task takes, on average.
    pub mean_seconds: f64,
    /// How these times are distributed.
    pub service: Service,
    /// The standard deviation of the times as a share of their mean, for [`Service::Lognormal`].
    pub variation: f64,
}

impl Load {
    /// Returns how many threads are busy on average if no task is rejected: Little's law.
    #[must_use]
    pub fn offered(&self) -> f64 {
        self.per_second * self.mean_seconds
    }

    pub(super) fn next_gap(&self, random: &mut fastrand::Rng) -> f64 {
        match self.arrivals {
            Arrivals::Poisson => exponential(random) / self.per_second,
            Arrivals::Constant => 1.0 / self.per_second,
        }
    }

    pub(super) fn next_time(&self, random: &mut fastrand::Rng) -> f64 {
        match self.service {
            Service::Exponential => exponential(random) * self.mean_seconds,
            Service::Constant => self.mean_seconds,
            Service::Lognormal => {
                let sigma_squared = self.variation.mul_add(self.variation, 1.0).ln();
                let centre = self.mean_seconds.ln() - sigma_squared / 2.0;
                normal(random).mul_add(sigma_squared.sqrt(), centre).exp()
            }
        }
    }
}

/// A random number with mean one. `1 - u` is never zero, so its logarithm is finite.
fn exponential(random: &mut fastrand::Rng) -> f64 {
    -(1.0 - random.f64()).ln()
}

/// A random number of the standard normal distribution, by Box and Muller.
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (2.0 * exponential(random)).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Load, Service};

    #[test]
    fn the_times_have_the_mean_and_the_variation_that_were_asked_for() {
        for (service, variation) in [
            (Service::Exponential, 1.0),
            (Service::Constant, 0.0),
            (Service::Lognormal, 0.7),
        ] {
            let load = Load {
                per_second: 100.0,
                arrivals: Arrivals::Poisson,
                mean_seconds: 0.02,
                service,
                variation,
            };
            let mut random = fastrand::Rng::with_seed(7);
            let times: Vec<f64> = (0..200_000).map(|_| load.next_time(&mut random)).collect();
            let mean = times.iter().sum::<f64>() / 200_000.0;
            let spread = times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 200_000.0;
            assert!((mean / 0.02 - 1.0).abs() < 0.02, "{service:?} {mean}");
            assert!(
                (spread.sqrt() / 0.02 - variation).abs() < 0.03,
                "{service:?} {spread}"
            );
            let gaps: f64 = (0..200_000).map(|_| load.next_gap(&mut random)).sum();
            assert!((gaps / 2000.0 - 1.0).abs() < 0.02);
        }
    }
}
