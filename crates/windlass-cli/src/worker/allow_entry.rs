//! One command of an allow-list, and what it becomes with the arguments of a client.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// Marks an argument in a word: no line of an allow-list contains it otherwise.
pub(super) const MARK: u8 = 1;

/// What may run, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A program with any arguments.
    Program(PathBuf),
    /// These words, with arguments of the client where a [`MARK`] stands: `MARK 1` for the first one,
    /// `MARK @` for all of them.
    Words { file: PathBuf, words: Vec<Vec<u8>> },
    /// A script of a shell, whose positional parameters are the arguments of the client.
    Script { shell: PathBuf, script: Vec<u8> },
}

/// What is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// The file of the program.
    pub file: PathBuf,
    /// The words, the name of the program first.
    pub argv: Vec<OsString>,
}

/// Why a command does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// The allow-list has no such name.
    Name(OsString),
    /// The allow-list has it with another number of arguments.
    Arguments {
        /// The name.
        name: OsString,
        /// How many arguments it takes.
        takes: usize,
        /// How many there were.
        given: usize,
    },
    /// There is no word in it.
    Empty,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "its allow-list has no {:?}", name.display()),
            Self::Arguments { name, takes, given } => write!(
                f,
                "its allow-list has {:?} with {takes} arguments, not with {given}",
                name.display()
            ),
            Self::Empty => f.write_str("the command is empty"),
        }
    }
}

impl std::error::Error for Denied {}

impl Entry {
    /// Returns what is executed for a command, of which the first word is the name of this entry.
    pub(super) fn apply(&self, name: OsString, given: &[OsString]) -> Result<Allowed, Denied> {
        match self {
            Self::Program(file) => {
                let argv = [name].into_iter().chain(given.iter().cloned());
                Ok(Allowed {
                    file: file.clone(),
                    argv: argv.collect(),
                })
            }
            Self::Script { shell, script } => {
                let script = OsString::from_vec(script.clone());
                let first = ["sh".into(), "-c".into(), script, name];
                Ok(Allowed {
                    file: shell.clone(),
                    argv: first.into_iter().chain(given.iter().cloned()).collect(),
                })
            }
            Self::Words { file, words } => {
                let takes = arguments_of(words);
                if takes.is_some_and(|takes| takes != given.len()) {
                    return Err(Denied::Arguments {
                        name,
                        takes: takes.unwrap_or_default(),
                        given: given.len(),
                    });
                }
                let argv = words.iter().flat_map(|word| fill(word, given)).collect();
                Ok(Allowed {
                    file: file.clone(),
                    argv,
                })
            }
        }
    }
}

/// Returns how many arguments the words take; `None` for any number.
pub(super) fn arguments_of(words: &[Vec<u8>]) -> Option<usize> {
    let marks = words
        .iter()
        .flat_map(|word| word.windows(2))
        .filter(|pair| pair[0] == MARK)
        .map(|pair| pair[1]);
    let mut most = 0;
    for mark in marks {
        if mark == b'@' {
            return None;
        }
        most = most.max(usize::from(mark - b'0'));
    }
    Some(most)
}

/// Returns the words that a word becomes: as many as there are arguments if it stands for all of them, else one.
fn fill(word: &[u8], given: &[OsString]) -> Vec<OsString> {
    if word == [MARK, b'@'] {
        return given.to_vec();
    }
    let mut filled = OsString::new();
    let mut parts = word.split(|byte| *byte == MARK);
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    filled.push(text(parts.next().unwrap_or_default()));
    for part in parts {
        let (number, rest) = part.split_at(part.len().min(1));
        let at = number.first().map_or(0, |digit| usize::from(digit - b'1'));
        if let Some(argument) = given.get(at) {
            filled.push(argument);
        }
        filled.push(text(rest));
    }
    vec![filled]
}
