//! The progress bar, on a terminal.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::bar_terminal::BarTerminal;
use crate::duration::Short;

/// How often in a second the bar is drawn at most.
const DRAWS: u8 = 20;

/// A progress bar, or none.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// Inputs that were dealt with before, and say nothing about the time that others take.
    skipped: Arc<AtomicU64>,
}

impl Progress {
    /// Shows a bar on standard error. Without the number of inputs it has no end.
    pub(super) fn shown(total: Option<u64>) -> Self {
        let target = if Self::is_possible() {
            ProgressDrawTarget::term_like_with_hz(Box::new(BarTerminal::stderr()), DRAWS)
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let text = match total {
            Some(_) => {
                "{bar:24.cyan} {percent:>3}%  {human_pos}/{human_len}  {rate}  {left} left  {msg:.red}"
            }
            None => "{spinner:.cyan} {human_pos} done  {rate}  {elapsed}  {msg:.red}",
        };
        let skipped = Arc::new(AtomicU64::new(0));
        if let Ok(style) = ProgressStyle::with_template(text) {
            let (for_rate, for_left) = (Arc::clone(&skipped), Arc::clone(&skipped));
            let style = style
                .with_key(
                    "rate",
                    move |state: &ProgressState, text: &mut dyn Write| {
                        let done = state.pos().saturating_sub(for_rate.load(Ordering::Relaxed));
                        let _ = text.write_str(&rate(done, state.elapsed()));
                    },
                )
                .with_key(
                    "left",
                    move |state: &ProgressState, text: &mut dyn Write| {
                        let done = state.pos().saturating_sub(for_left.load(Ordering::Relaxed));
                        let open = state.len().unwrap_or(0).saturating_sub(state.pos());
                        let _ = text.write_str(&time_left(done, open, state.elapsed()));
                    },
                );
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, skipped }
    }

    pub(super) fn hidden() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            skipped: Arc::default(),
        }
    }

    /// Returns whether a bar can be shown at all.
    pub(super) fn is_possible() -> bool {
        std::io::stderr().is_terminal()
    }

    /// Counts an input that was dealt with before.
    pub(super) fn skip(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        self.step(0);
    }

    /// Counts an input that is dealt with, and shows how many have failed.
    pub(super) fn step(&self, failed: u64) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.inc(1);
        if failed > 0 {
            self.bar.set_message(format!("{failed} failed"));
        }
    }

    /// Runs what writes to the terminal, with the bar out of its way.
    pub(super) fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        if self.bar.is_hidden() {
            return write();
        }
        self.bar.suspend(write)
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// How many inputs were dealt with in a second; in a minute, if they take long.
fn rate(done: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-3);
    match done as f64 / seconds {
        0.0 => "-/s".to_owned(),
        rate if rate >= 10.0 => format!("{rate:.0}/s"),
        rate if rate >= 1.0 => format!("{rate:.1}/s"),
        rate => format!("{:.1}/min", rate * 60.0),
    }
}

/// How long the rest takes if it goes on like this. Nobody knows before the first input is dealt with.
fn time_left(done: u64, open: u64, elapsed: Duration) -> String {
    if done == 0 {
        return "?".to_owned();
    }
    let seconds = elapsed.as_secs_f64() * open as f64 / done as f64;
    if seconds < 60.0 {
        return format!("{seconds:.0} s");
    }
    Short(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Duration, rate, time_left};

    #[test]
    fn the_rate_has_the_unit_that_it_can_be_read_in() {
        let ten = Duration::from_secs(10);
        let rates = [0, 5, 12, 99, 100, 123_456].map(|done| rate(done, ten));
        assert_eq!(
            rates,
            ["-/s", "30.0/min", "1.2/s", "9.9/s", "10/s", "12346/s"]
        );
    }

    #[test]
    fn the_time_left_is_unknown_at_first() {
        let ten = Duration::from_secs(10);
        assert_eq!(time_left(0, 20, ten), "?");
        assert_eq!(time_left(1, 3, ten), "30 s");
        assert_eq!(time_left(1, 9, ten), "1m 30s");
        assert_eq!(time_left(5, 0, ten), "0 s");
    }
}
