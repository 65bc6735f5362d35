//! How the program ends: its exit codes, and errors that say what to do next.

use std::fmt;
use std::process::ExitCode;

use crate::style;

/// Everything succeeded.
pub const OK: u8 = 0;
/// Windlass itself could not go on: input, output, journal or the network failed.
pub const TROUBLE: u8 = 1;
/// The command line is wrong; clap uses the same code.
pub const USAGE: u8 = 2;
/// At least one command failed or was not run, as `xargs` says it.
pub const COMMAND_FAILED: u8 = 123;
/// The command was found, but it cannot be executed, as shells say it.
pub const NOT_EXECUTABLE: u8 = 126;
/// The command was not found, as shells say it.
pub const NOT_FOUND: u8 = 127;
/// The reader of the output has gone away: 128 and the number of `SIGPIPE`.
pub const BROKEN_PIPE: u8 = 141;

/// Returns the exit code of a program that a signal has ended, as shells say it.
///
/// ```
/// assert_eq!(windlass_cli::exit::of_signal(2), 130);
/// ```
#[must_use]
pub fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// An error that ends the program: what went wrong, what to do next, and the exit code.
///
/// ```
/// use windlass_cli::exit::Failure;
///
/// let failure = Failure::new("cannot open inputs.txt").hint("is the path right?");
/// assert_eq!(failure.to_string(), "cannot open inputs.txt");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    /// Creates an error with the exit code [`TROUBLE`].
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
            code: TROUBLE,
        }
    }

    /// Creates an error about the command line, with the exit code [`USAGE`].
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(message).code(USAGE)
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the exit code.
    #[must_use]
    pub const fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Creates the error of a write to standard output.
    #[must_use]
    pub fn of_output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new("").code(BROKEN_PIPE),
            _ => Self::new(format!("cannot write to standard output: {error}")),
        }
    }

    /// Writes the error to standard error and returns its exit code. One without a message is not written.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        if self.message.is_empty() {
            return ExitCode::from(self.code);
        }
        let (error, hint, reset) = (style::ERROR, style::HINT, anstyle::Reset);
        complain(format_args!("{error}error:{reset} {}", self.message));
        if let Some(text) = &self.hint {
            complain(format_args!("{hint}hint:{reset} {text}"));
        }
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Writes a text to standard output, with colours only where they are shown.
///
/// # Errors
///
/// When it cannot be written. A reader that has gone away is no news to anybody: the failure says nothing,
/// and has the exit code [`BROKEN_PIPE`].
pub fn print(text: &[u8]) -> Result<(), Failure> {
    use std::io::Write as _;
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::of_output(&error))
}

/// Writes a line to standard error. If that fails there is nobody left to be told.
pub fn complain(line: fmt::Arguments<'_>) {
    use std::io::Write as _;
    let _ = writeln!(anstream::stderr().lock(), "windlass: {line}");
}
