//! The figures of a simulation as a picture in the terminal.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Reset};

use super::figures::Figures;
use crate::duration::Short;

const ROWS: usize = 8;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the waiting tasks over time, with a mark where tasks were rejected, and the waits of tasks
/// from the shortest to the longest.
pub(super) fn plot(figures: &Figures) -> String {
    let mut text = String::new();
    let waiting: Vec<f64> = figures.stretches.iter().map(|s| s.waiting as f64).collect();
    let top = waiting.iter().copied().fold(0.0, f64::max);
    let _ = writeln!(text, "waiting tasks over {}", seconds(figures.seconds));
    chart(&mut text, &waiting, &format!("{top:.0}"));
    let marks: String = figures
        .stretches
        .iter()
        .map(|stretch| if stretch.rejected > 0 { '×' } else { ' ' })
        .collect();
    if figures.rejected > 0 {
        let (red, reset) = (AnsiColor::Red.on_default(), Reset);
        let _ = writeln!(text, "{:>9} {red}{}{reset} rejected", "", marks.trim_end());
    }
    let top = figures.wait_curve.last().copied().unwrap_or(0.0);
    let _ = writeln!(
        text,
        "wait of tasks, from the shortest to the longest, in hundredths"
    );
    chart(&mut text, &figures.wait_curve, &seconds(top));
    text
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
    use super::{Figures, plot};

    #[test]
    fn the_highest_value_fills_its_column() {
        let figures = Figures {
            wait_curve: vec![0.0, 0.5, 1.0],
            seconds: 60.0,
            ..Figures::default()
        };
        let text = anstream::adapter::strip_str(&plot(&figures)).to_string();
        let rows: Vec<&str> = text.lines().rev().take(8).collect();
        assert_eq!(rows[0], "        0  ██");
        assert_eq!(rows[7], "   1.00 s   █");
    }
}
