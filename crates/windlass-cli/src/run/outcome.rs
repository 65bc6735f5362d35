//! How a job has ended.

use std::fmt;

/// How a job has ended, after its last attempt.
///
/// ```
/// use windlass_cli::run::Outcome;
///
/// assert_eq!(Outcome::Exit(2).to_string(), "exit:2");
/// assert_eq!("exit:2".parse(), Ok(Outcome::Exit(2)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It succeeded.
    Success,
    /// It exited with this code, which is not zero.
    Exit(i32),
    /// This signal has ended it.
    Signal(i32),
    /// It took longer than its time limit.
    TimedOut,
    /// It could not be started: the exit code that a shell would give, and why.
    NotStarted(u8, String),
    /// It succeeded on a worker, but wrote so many bytes more than a worker sends back.
    Cut(u64),
    /// What became of it on a worker, or what it wrote, is not known, and why.
    Lost(String),
}

impl Outcome {
    /// Returns whether the job did what it should.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Success)
    }

    /// Returns whether another attempt might end otherwise.
    #[must_use]
    pub const fn is_worth_a_retry(&self) -> bool {
        matches!(self, Self::Exit(_) | Self::Signal(_) | Self::TimedOut)
    }

    /// Returns the outcome in words, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Success => "succeeded".to_owned(),
            Self::Exit(code) => format!("exit status {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                Some(name) => format!("ended by {name}"),
                None => format!("ended by signal {signal}"),
            },
            Self::TimedOut => "took too long".to_owned(),
            Self::NotStarted(_, why) => format!("not started: {why}"),
            Self::Cut(bytes) => {
                format!("its output was cut: {bytes} bytes beyond what a worker sends back")
            }
            Self::Lost(why) => format!("lost: {why}"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    signal_hook::low_level::signal_name(signal)
}

/// The short form, which the journal has.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("ok"),
            Self::Exit(code) => write!(f, "exit:{code}"),
            Self::Signal(signal) => write!(f, "signal:{signal}"),
            Self::TimedOut => f.write_str("timeout"),
            Self::NotStarted(code, _) => write!(f, "unstarted:{code}"),
            Self::Cut(bytes) => write!(f, "cut:{bytes}"),
            Self::Lost(_) => f.write_str("lost"),
        }
    }
}

impl std::str::FromStr for Outcome {
    type Err = UnknownOutcome;

    fn from_str(text: &str) -> Result<Self, UnknownOutcome> {
        let outcome = match text.split_once(':') {
            None if text == "ok" => Some(Self::Success),
            None if text == "timeout" => Some(Self::TimedOut),
            None if text == "lost" => Some(Self::Lost(String::new())),
            Some(("cut", bytes)) => bytes.parse().ok().map(Self::Cut),
            Some(("exit", code)) => code.parse().ok().map(Self::Exit),
            Some(("signal", signal)) => signal.parse().ok().map(Self::Signal),
            Some(("unstarted", code)) => code
                .parse()
                .ok()
                .map(|code| Self::NotStarted(code, String::new())),
            _ => None,
        };
        outcome.ok_or(UnknownOutcome)
    }
}

/// A text that is the short form of no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownOutcome;

impl fmt::Display for UnknownOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an outcome")
    }
}

impl std::error::Error for UnknownOutcome {}
