//! The terminal of the progress bar, a few columns narrower than it is.
//!
//! The bar is padded to the width of its terminal, and there the cursor stays. The `^C` that a terminal shows when it is
//! typed would then begin the next line, and the line with the bar would not be cleared but stay. With some room at the end of its
//! line it is cleared with the bar.

use std::io;

use console::Term;
use indicatif::TermLike;

/// What a terminal shows for ctrl-c is two columns wide, and the cursor one more.
const ROOM: u16 = 3;

/// Standard error, for a bar.
#[derive(Debug)]
pub(super) struct BarTerminal(Term);

impl BarTerminal {
    pub(super) fn stderr() -> Self {
        Self(Term::buffered_stderr())
    }
}

impl TermLike for BarTerminal {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(ROOM)
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
