//! A plot of lines on logarithmic axes, with the names at the right.

use super::svg::{Anchor, Canvas};
use crate::harness::figure::digits;

const SIZE: (f64, f64) = (760.0, 440.0);
const LEFT: f64 = 70.0;
const RIGHT: f64 = 540.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 390.0;
const GRID: &str = "#dddddd";
const OURS: &str = "#c0392b";
const THEIRS: [&str; 10] = [
    "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#bcbd22", "#7f7f7f", "#ff9f40",
    "#3d5a80", "#e377c2",
];

/// The figures of one peer.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) is_ours: bool,
}

/// Maps a range of values to a range of places, by logarithm.
struct Axis {
    values: (f64, f64),
    places: (f64, f64),
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, places: (f64, f64)) -> Self {
        let positive = values.filter(|value| *value > 0.0);
        let ends = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) = positive.fold((f64::INFINITY, f64::MIN_POSITIVE), ends);
        Self {
            values: (low.log10().floor(), high.log10().ceil()),
            places,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let share = (value.max(f64::MIN_POSITIVE).log10() - low) / (high - low).max(1.0);
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// The powers of ten.
    fn marks(&self) -> impl Iterator<Item = f64> {
        let (low, high) = self.values;
        (low as i32..=high as i32).map(|power| 10_f64.powi(power))
    }
}

pub(super) fn draw(title: &str, key: &str, mut series: Vec<Series>) -> String {
    for one in &mut series {
        one.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let all = || series.iter().flat_map(|one| one.points.iter());
    let across = Axis::over(all().map(|(x, _)| *x), (LEFT, RIGHT));
    let up = Axis::over(all().map(|(_, y)| *y), (BOTTOM, TOP));
    let mut canvas = Canvas::new(SIZE.0, SIZE.1);
    canvas.text((12.0, 22.0), Anchor::Start, title);
    canvas.text(((LEFT + RIGHT) / 2.0, BOTTOM + 38.0), Anchor::Middle, key);
    grid(&mut canvas, &across, &up);
    let last = |one: &Series| one.points.last().map_or(0.0, |(_, y)| *y);
    series.sort_by(|a, b| last(b).total_cmp(&last(a)));
    for (at, one) in series.iter().enumerate() {
        let (colour, width) = if one.is_ours {
            (OURS, 3.0)
        } else {
            (THEIRS[at % THEIRS.len()], 1.4)
        };
        let places: Vec<_> = one
            .points
            .iter()
            .map(|(x, y)| (across.place(*x), up.place(*y)))
            .collect();
        canvas.line(&places, colour, width);
        let row = TOP + 18.0 * at as f64;
        canvas.bar((RIGHT + 16.0, row - 8.0), (18.0, width), colour);
        let label = format!("{} {}", one.name, digits(last(one)));
        canvas.text((RIGHT + 40.0, row - 4.0), Anchor::Start, &label);
    }
    canvas.finish()
}

fn grid(canvas: &mut Canvas, across: &Axis, up: &Axis) {
    for mark in across.marks() {
        let x = across.place(mark);
        canvas.line(&[(x, TOP), (x, BOTTOM)], GRID, 1.0);
        canvas.text((x, BOTTOM + 18.0), Anchor::Middle, &mark.to_string());
    }
    for mark in up.marks() {
        let y = up.place(mark);
        canvas.line(&[(LEFT, y), (RIGHT, y)], GRID, 1.0);
        canvas.text((LEFT - 8.0, y + 4.0), Anchor::End, &mark.to_string());
    }
}
