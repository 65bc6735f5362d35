//! A plot of horizontal bars, longest first.

use super::svg::{Anchor, Canvas};
use crate::harness::figure::digits;

const OURS: &str = "#c0392b";
const THEIRS: &str = "#7f8c9a";
const WIDTH: f64 = 760.0;
const LEFT: f64 = 190.0;
const TOP: f64 = 40.0;
const STEP: f64 = 22.0;
const LONGEST: f64 = 490.0;

/// One peer.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) is_ours: bool,
}

pub(super) fn draw(title: &str, bars: &[Bar]) -> String {
    let height = TOP + STEP * bars.len() as f64 + 12.0;
    let mut canvas = Canvas::new(WIDTH, height);
    canvas.text((12.0, 22.0), Anchor::Start, title);
    let most = bars
        .iter()
        .map(|bar| bar.value)
        .fold(f64::MIN_POSITIVE, f64::max);
    for (at, bar) in bars.iter().enumerate() {
        let top = TOP + STEP * at as f64;
        let length = LONGEST * bar.value / most;
        let colour = if bar.is_ours { OURS } else { THEIRS };
        canvas.text((LEFT - 8.0, top + 13.0), Anchor::End, &bar.name);
        canvas.bar((LEFT, top), (length, STEP - 5.0), colour);
        canvas.text(
            (LEFT + length + 6.0, top + 13.0),
            Anchor::Start,
            &digits(bar.value),
        );
    }
    canvas.finish()
}
