//! A plot of ratios on a logarithmic axis: for each line its range and its median.

use std::cmp::Ordering;

use super::svg::{Anchor, Canvas};

const AHEAD: &str = "#1b7f4d";
const LEVEL: &str = "#6b7280";
const BEHIND: &str = "#c0392b";
const GRID: &str = "#dddddd";
const ONE: &str = "#555555";
const WIDTH: f64 = 820.0;
const LEFT: f64 = 270.0;
const RIGHT: f64 = 750.0;
const TOP: f64 = 70.0;
const STEP: f64 = 20.0;
/// The axis reaches at least so far to both sides of one.
const SPAN: f64 = 10.0;

/// One line of the plot.
pub(super) struct Range {
    pub(super) name: String,
    pub(super) low: f64,
    pub(super) middle: f64,
    pub(super) high: f64,
    /// How the middle compares: less if it is ahead.
    pub(super) standing: Ordering,
}

pub(super) fn draw(title: &str, (left, right): (&str, &str), ranges: &[Range]) -> String {
    let least = ranges
        .iter()
        .map(|range| range.low)
        .fold(1.0 / SPAN, f64::min);
    let most = ranges.iter().map(|range| range.high).fold(SPAN, f64::max);
    let (low, high) = (least.log10(), most.log10());
    let place = |ratio: f64| LEFT + (ratio.log10() - low) / (high - low) * (RIGHT - LEFT);
    let bottom = TOP + STEP * ranges.len() as f64;
    let mut canvas = Canvas::new(WIDTH, bottom + 34.0);
    canvas.text((12.0, 22.0), Anchor::Start, title);
    let marks = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0];
    for mark in marks
        .into_iter()
        .filter(|mark| (least..=most).contains(mark))
    {
        let colour = if mark == 1.0 { ONE } else { GRID };
        canvas.line(
            &[(place(mark), TOP - 8.0), (place(mark), bottom)],
            colour,
            1.0,
        );
        canvas.text(
            (place(mark), bottom + 18.0),
            Anchor::Middle,
            &mark.to_string(),
        );
    }
    canvas.text((place(1.0) - 8.0, TOP - 16.0), Anchor::End, left);
    canvas.text((place(1.0) + 8.0, TOP - 16.0), Anchor::Start, right);
    for (at, range) in ranges.iter().enumerate() {
        let y = TOP + STEP * (at as f64 + 0.5);
        let colour = match range.standing {
            Ordering::Less => AHEAD,
            Ordering::Equal => LEVEL,
            Ordering::Greater => BEHIND,
        };
        canvas.text((LEFT - 12.0, y + 4.0), Anchor::End, &range.name);
        canvas.line(
            &[(place(range.low), y), (place(range.high), y)],
            colour,
            2.0,
        );
        canvas.dot((place(range.middle), y), 4.5, colour);
    }
    canvas.finish()
}
