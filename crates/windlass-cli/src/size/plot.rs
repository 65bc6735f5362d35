//! The figures of a simulation as a picture in the terminal.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Reset};

use super::figures::Figures;
use crate::duration::Short;

/// What stands in front of each row.
const LABEL: usize = 10;
/// What stands behind the row of rejections.
const REMARK: &str = " rejected";
const ROWS: usize = 8;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the waiting tasks over time, with a mark where tasks were rejected, and the waits of tasks
/// from the shortest to the longest; no line is wider than `width` columns.
pub(super) fn plot(figures: &Figures, width: usize) -> String {
    let mut text = String::new();
    let columns = width.saturating_sub(LABEL + REMARK.len()).max(10);
    let waiting: Vec<f64> = figures.stretches.iter().map(|s| s.waiting as f64).collect();
    let rejected: Vec<f64> = figures
        .stretches
        .iter()
        .map(|s| s.rejected as f64)
        .collect();
    let top = waiting.iter().copied().fold(0.0, f64::max);
    let _ = writeln!(
        text,
        "waiting tasks over {}",
        seconds(figures.whole_seconds)
    );
    chart(&mut text, &squeeze(&waiting, columns), &format!("{top:.0}"));
    let marks: String = squeeze(&rejected, columns)
        .iter()
        .map(|rejected| if *rejected > 0.0 { '×' } else { ' ' })
        .collect();
    if rejected.iter().any(|rejected| *rejected > 0.0) {
        let (red, reset) = (AnsiColor::Red.on_default(), Reset);
        let _ = writeln!(text, "{:>9} {red}{}{reset}{REMARK}", "", marks.trim_end());
    }
    let top = figures.wait_curve.last().copied().unwrap_or(0.0);
    let _ = writeln!(
        text,
        "wait of tasks, from the shortest to the longest, in hundredths"
    );
    let curve = squeeze(&figures.wait_curve, columns);
    chart(&mut text, &curve, &seconds(top));
    text
}

/// Makes fewer columns of the values: each shows the largest of those that it stands for.
fn squeeze(values: &[f64], columns: usize) -> Vec<f64> {
    let columns = columns.min(values.len());
    (0..columns)
        .map(|column| {
            let [from, to] = [column, column + 1].map(|at| at * values.len() / columns);
            values[from..to].iter().copied().fold(0.0, f64::max)
        })
        .collect()
}

fn seconds(value: f64) -> String {
    Short(Duration::try_from_secs_f64(value).unwrap_or_default()).to_string()
}

fn chart(text: &mut String, values: &[f64], label: &str) {
    let (colour, reset) = (AnsiColor::Cyan.on_default(), Reset);
    let top = values.iter().copied().fold(0.0, f64::max);
    for row in (0..ROWS).rev() {
        let label = match row {
            0 => "0",
            _ if row + 1 == ROWS => label,
            _ => "",
        };
        let _ = write!(text, "{label:>9} {colour}");
        for value in values {
            let height = if top > 0.0 {
                value / top * (ROWS * 8) as f64
            } else {
                0.0
            };
            // A value above zero is never invisible.
            let height = if *value > 0.0 { height.max(1.0) } else { 0.0 };
            let eighths = (height - (row * 8) as f64).clamp(0.0, 8.0) as usize;
            text.push(BLOCKS[eighths]);
        }
        let _ = writeln!(text, "{reset}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Stretch;
    use super::{Figures, plot};

    #[test]
    fn the_highest_value_fills_its_column() {
        let figures = Figures {
            wait_curve: vec![0.0, 0.5, 1.0],
            whole_seconds: 60.0,
            ..Figures::default()
        };
        let text = anstream::adapter::strip_str(&plot(&figures, 80)).to_string();
        let rows: Vec<&str> = text.lines().rev().take(8).collect();
        assert_eq!(rows[0], "        0  ██");
        assert_eq!(rows[7], "   1.00 s   █");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let stretch = Stretch {
            waiting: 3,
            active: 1,
            rejected: 1,
        };
        let figures = Figures {
            stretches: vec![stretch; 120],
            wait_curve: vec![1.0; 101],
            rejected: 120,
            ..Figures::default()
        };
        for width in [40, 80, 100, 200] {
            let text = anstream::adapter::strip_str(&plot(&figures, width)).to_string();
            let widest = text.lines().skip(1).map(|line| line.chars().count()).max();
            assert!(widest.unwrap() <= width.max(63), "{width}: {widest:?}");
        }
    }

    #[test]
    fn a_peak_is_seen_however_few_columns_there_are() {
        let values = [0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 1.0];
        assert_eq!(super::squeeze(&values, 2), [0.0, 9.0]);
        assert_eq!(super::squeeze(&values, 100), values);
    }
}
