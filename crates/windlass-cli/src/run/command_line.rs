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
    /// It has no placeholder, and at its end a shell would read the input as something else than a word of
    /// its last command.
    NoPlaceAtEnd,
    /// A placeholder stands where a shell would read the input as code, or not at all.
    NoPlaceIn(&'static str),
}

impl CommandLineError {
    /// Returns what to do next.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Unclosed(_) | Self::Empty => {
                "quote it as you would for a shell, or give it as several words"
            }
            Self::NoPlaceAtEnd => "write {} where the input belongs",
            Self::NoPlaceIn(_) => {
                "an input there is not data; pass it as an argument to a program, or as several words: \
                 windlass run bash -c 'SCRIPT WITH \"$1\"' bash {}"
            }
        }
    }
}

impl std::fmt::Display for CommandLineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unclosed(what) => write!(f, "{what} is opened and never closed"),
            Self::Empty => f.write_str("it is empty"),
            Self::NoPlaceAtEnd => f.write_str("the input cannot be added at its end"),
            Self::NoPlaceIn(what) => write!(f, "a placeholder stands in {what}"),
        }
    }
}

impl std::error::Error for CommandLineError {}
