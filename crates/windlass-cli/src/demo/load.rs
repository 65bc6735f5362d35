//! How much there is to do at a moment: waves, and now and then a burst.

use std::time::Duration;

/// The waves come and go in this time.
const WAVE: f64 = 40.0;
/// A burst comes this often, and lasts this long.
const BURST_EVERY: f64 = 25.0;
const BURST_LASTS: f64 = 4.0;

/// Returns how many requests a second arrive after this time.
pub(super) fn requests_per_second(elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    let wave = (seconds / WAVE * std::f64::consts::TAU).sin();
    let calm = wave.mul_add(110.0, 150.0);
    // The first burst comes early enough to be seen by who watches for half a minute.
    let is_burst = (seconds + BURST_EVERY / 2.0) % BURST_EVERY < BURST_LASTS;
    if is_burst { calm + 420.0 } else { calm }
}

#[cfg(test)]
mod tests {
    use super::{Duration, requests_per_second};

    #[test]
    fn the_load_changes_and_never_ends() {
        let loads: Vec<f64> = (0..300)
            .map(|n| requests_per_second(Duration::from_millis(n * 200)))
            .collect();
        assert!(loads.iter().all(|load| *load > 20.0));
        let (least, most) = (
            loads.iter().copied().fold(f64::MAX, f64::min),
            loads.iter().copied().fold(0.0, f64::max),
        );
        assert!(most > 10.0 * least, "{least} to {most}");
    }
}
