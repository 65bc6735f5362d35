//! A drawing made of a few shapes, as text.

use std::fmt::Write;

/// A drawing on white ground.
pub(super) struct Canvas {
    width: f64,
    height: f64,
    shapes: String,
}

/// How a text stands to its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            shapes: String::new(),
        }
    }

    fn add(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.shapes, "{shape}");
    }

    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.add(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    pub(super) fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
        self.add(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
        ));
    }

    pub(super) fn dot(&mut self, (x, y): (f64, f64), radius: f64, colour: &str) {
        self.add(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{colour}"/>"#
        ));
    }

    pub(super) fn line(&mut self, points: &[(f64, f64)], colour: &str, width: f64) {
        let points: Vec<_> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let points = points.join(" ");
        self.add(format_args!(
            r#"<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>"#
        ));
    }

    pub(super) fn finish(self) -> String {
        let Self {
            width,
            height,
            shapes,
        } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{shapes}</svg>\n"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Anchor, Canvas};

    #[test]
    fn what_is_written_cannot_break_the_drawing() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text((0.0, 0.0), Anchor::Start, "a<b & c");
        assert!(canvas.finish().contains("a&lt;b &amp; c"));
    }
}
