//! A command line that is parsed: words to execute, or a script for a shell.

use super::fields::Field;

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Bytes as they are.
    Text(Vec<u8>),
    /// The value of a placeholder.
    Value(Field),
}

/// A word of a command: pieces without space between them.
pub type Word = Vec<Part>;

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// Words that can be executed without a shell.
    Words(Vec<Word>),
    /// A script for a shell, whose positional parameters are the values of `fields`.
    Shell {
        /// The script.
        script: Vec<u8>,
        /// What `$1`, `$2`… stand for.
        fields: Vec<Field>,
    },
}

/// Why a command line cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandLineError {
    /// A quote, or something like it, is opened and not closed.
    Unclosed(&'static str),
    /// There is no word in it.
    Empty,
}

impl std::fmt::Display for CommandLineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unclosed(what) => write!(f, "{what} is opened and never closed"),
            Self::Empty => f.write_str("it is empty"),
        }
    }
}

impl std::error::Error for CommandLineError {}
