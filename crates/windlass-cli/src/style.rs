//! The few colours of the program; `anstream` drops them where they do not belong.

use anstyle::{AnsiColor, Effects, Style};

/// What is wrong.
pub const ERROR: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
/// What to do next.
pub const HINT: Style = AnsiColor::Cyan.on_default();
/// What went well.
pub const GOOD: Style = AnsiColor::Green.on_default().effects(Effects::BOLD);
/// What needs attention.
pub const WARN: Style = AnsiColor::Yellow.on_default();
/// Titles and names.
pub const TITLE: Style = Style::new().effects(Effects::BOLD);
/// What matters less.
pub const DIM: Style = Style::new().effects(Effects::DIMMED);

/// The colours of `--help`.
#[must_use]
pub const fn help() -> clap::builder::Styles {
    clap::builder::Styles::styled()
        .header(TITLE)
        .usage(TITLE)
        .literal(AnsiColor::Cyan.on_default())
        .placeholder(Style::new())
}
