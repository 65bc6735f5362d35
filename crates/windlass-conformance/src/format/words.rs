//! The words of one line, taken one by one until none may be left.

use std::str::FromStr;
use std::time::Duration;

use super::error::Problem;
use super::step::TaskId;

/// What is left of a line.
pub(super) struct Words<'a> {
    rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn of(line: &'a str) -> Words<'a> {
        Words {
            rest: line.split_whitespace().collect(),
        }
    }

    /// Takes the first word; of a line without words an empty one.
    pub(super) fn verb(&mut self) -> &'a str {
        if self.rest.is_empty() {
            ""
        } else {
            self.rest.remove(0)
        }
    }

    /// Takes the next word as a task's name.
    pub(super) fn task(&mut self) -> Result<TaskId, Problem> {
        match self.rest.first() {
            Some(word) if !word.contains('=') => Ok(TaskId::new(self.rest.remove(0))),
            _ => Err(Problem::MissingTask),
        }
    }

    /// Takes a word that is there or not.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let at = self.rest.iter().position(|word| *word == name);
        at.map(|at| self.rest.remove(at)).is_some()
    }

    /// Takes the text of `name=…`.
    pub(super) fn text(&mut self, name: &str) -> Option<&'a str> {
        let value = |word: &&'a str| word.strip_prefix(name)?.strip_prefix('=');
        let at = self.rest.iter().position(|word| value(word).is_some())?;
        value(&self.rest.remove(at))
    }

    /// Takes `name=…` as whatever `read` makes of it, where it is there.
    pub(super) fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let bad = |text: &str| Problem::BadValue {
            option: name,
            value: text.to_owned(),
        };
        self.text(name)
            .map(|text| read(text).ok_or_else(|| bad(text)))
            .transpose()
    }

    /// Takes `name=…`, which must be there.
    pub(super) fn required<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Problem> {
        self.optional(name, read)?
            .ok_or(Problem::MissingOption(name))
    }

    /// Makes sure that nothing is left.
    pub(super) fn end(self) -> Result<(), Problem> {
        match self.rest.first() {
            Some(word) => Err(Problem::UnexpectedWord((*word).to_owned())),
            None => Ok(()),
        }
    }
}

/// Reads whatever can be read from text: numbers, `true` and `false`.
pub(super) fn plain<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Reads a number of milliseconds.
pub(super) fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}
