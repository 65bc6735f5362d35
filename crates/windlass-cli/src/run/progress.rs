//! The progress bar, on a terminal.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar, or none.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Shows a bar on standard error. Without the number of inputs it has no end.
    pub(super) fn shown(total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        let text = match total {
            Some(_) => {
                "{bar:24.cyan} {percent:>3}%  {human_pos}/{human_len}  {per_sec}  {eta} left  {msg:.red}"
            }
            None => "{spinner:.cyan} {human_pos} done  {per_sec}  {elapsed}  {msg:.red}",
        };
        if let Ok(style) = ProgressStyle::with_template(text) {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    pub(super) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// Returns whether a bar can be shown at all.
    pub(super) fn is_possible() -> bool {
        std::io::stderr().is_terminal()
    }

    /// Counts an input that is dealt with, and shows how many have failed.
    pub(super) fn step(&self, failed: u64) {
        if self.0.is_hidden() {
            return;
        }
        self.0.inc(1);
        if failed > 0 {
            self.0.set_message(format!("{failed} failed"));
        }
    }

    /// Runs what writes to the terminal, with the bar out of its way.
    pub(super) fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        if self.0.is_hidden() {
            return write();
        }
        self.0.suspend(write)
    }

    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
