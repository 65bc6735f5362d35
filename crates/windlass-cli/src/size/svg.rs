//! The figures of a simulation as a picture in a file.

use std::fmt::Write as _;
use std::time::Duration;

use super::figures::Figures;
use crate::duration::Short;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 90.0;

/// One of the two charts.
struct Panel<'a> {
    top: f64,
    title: &'a str,
    axis: [String; 2],
    highest: String,
    values: &'a [f64],
}

/// Returns an SVG document with the waiting tasks over time and the waits of tasks.
pub(super) fn svg(figures: &Figures, title: &str) -> String {
    let waiting: Vec<f64> = figures.stretches.iter().map(|s| s.waiting as f64).collect();
    let mut text = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 620\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"880\" height=\"620\" fill=\"#fff\"/>\n",
    );
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{}</text>",
        escape(title)
    );
    let wait = &figures.wait;
    let line = format!(
        "wait p50 {}, p99 {}, max {}; rejected {:.2} %; threads used {:.0} %",
        seconds(wait.p50),
        seconds(wait.p99),
        seconds(wait.max),
        figures.rejection() * 100.0,
        figures.utilisation * 100.0
    );
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"50\" fill=\"#555\">{}</text>",
        escape(&line)
    );
    panel(
        &mut text,
        &Panel {
            top: 90.0,
            title: "waiting tasks over time",
            axis: ["0".to_owned(), seconds(figures.whole_seconds)],
            highest: format!("{:.0}", waiting.iter().copied().fold(0.0, f64::max)),
            values: &waiting,
        },
    );
    rejections(&mut text, figures);
    panel(
        &mut text,
        &Panel {
            top: 370.0,
            title: "wait of tasks, from the shortest to the longest",
            axis: ["0 %".to_owned(), "100 %".to_owned()],
            highest: seconds(wait.max),
            values: &figures.wait_curve,
        },
    );
    text.push_str("</svg>\n");
    text
}

fn panel(text: &mut String, panel: &Panel<'_>) {
    let bottom = panel.top + HEIGHT;
    let highest = panel.values.iter().copied().fold(0.0, f64::max);
    let last = panel.values.len().saturating_sub(1).max(1) as f64;
    let mut points = format!("{LEFT},{bottom}");
    for (index, value) in panel.values.iter().enumerate() {
        let x = LEFT + index as f64 / last * WIDTH;
        let share = if highest > 0.0 { value / highest } else { 0.0 };
        let _ = write!(points, " {x:.1},{:.1}", share.mul_add(-HEIGHT, bottom));
    }
    let right = LEFT + WIDTH;
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{}</text>\n\
         <polygon points=\"{points} {right},{bottom}\" fill=\"#bcd9f2\" stroke=\"#1f6fb2\"/>\n\
         <path d=\"M{LEFT} {} V{bottom} H{right}\" fill=\"none\" stroke=\"#333\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n\
         <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n\
         <text x=\"{LEFT}\" y=\"{}\">{}</text>\n\
         <text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        panel.top - 10.0,
        escape(panel.title),
        panel.top,
        LEFT - 8.0,
        panel.top + 10.0,
        escape(&panel.highest),
        LEFT - 8.0,
        bottom + 18.0,
        escape(&panel.axis[0]),
        bottom + 18.0,
        escape(&panel.axis[1]),
    );
}

/// Marks the stretches in which tasks were rejected, below the first chart.
fn rejections(text: &mut String, figures: &Figures) {
    if figures.stretches.iter().any(|stretch| stretch.rejected > 0) {
        let centre = LEFT + WIDTH / 2.0;
        let _ = writeln!(
            text,
            "<text x=\"{centre}\" y=\"308\" text-anchor=\"middle\" fill=\"#c0392b\">tasks are rejected</text>"
        );
    }
    let width = WIDTH / figures.stretches.len().max(1) as f64;
    for (index, stretch) in figures.stretches.iter().enumerate() {
        if stretch.rejected > 0 {
            let _ = writeln!(
                text,
                "<rect x=\"{:.1}\" y=\"291\" width=\"{width:.1}\" height=\"4\" fill=\"#c0392b\">\
                 <title>{} rejected</title></rect>",
                (index as f64).mul_add(width, LEFT),
                stretch.rejected
            );
        }
    }
}

fn seconds(value: f64) -> String {
    Short(Duration::try_from_secs_f64(value).unwrap_or_default()).to_string()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
