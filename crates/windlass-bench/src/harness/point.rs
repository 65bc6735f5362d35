//! One setting of a workload's parameters, written `workers=2,producers=1`.

use std::fmt;

/// The parameters of a sample, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point(Vec<(String, String)>);

impl Point {
    pub(crate) fn parse(text: &str) -> Self {
        let pair = |part: &str| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            (key.to_owned(), value.to_owned())
        };
        Self(text.split(',').map(pair).collect())
    }

    /// The value of a parameter, if the point has it.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that is a word.
    ///
    /// # Panics
    ///
    /// Where the point has no such parameter.
    pub(crate) fn word(&self, key: &str) -> &str {
        self.get(key)
            .unwrap_or_else(|| panic!("the point {self} has no {key}"))
    }

    /// A parameter that is a number.
    ///
    /// # Panics
    ///
    /// Where the point has no such parameter, or it is no number.
    pub(crate) fn number(&self, key: &str) -> u64 {
        let word = self.word(key);
        word.parse()
            .unwrap_or_else(|_| panic!("{key}={word} is no number"))
    }

    /// A parameter that counts something in memory.
    pub(crate) fn size(&self, key: &str) -> usize {
        usize::try_from(self.number(key)).expect("sizes fit the machine")
    }

    /// The point without one of its parameters, and that parameter's value, if it is a number.
    pub(crate) fn split_number(&self, key: &str) -> Option<(f64, Self)> {
        let value = self.get(key)?.parse().ok()?;
        let rest = self.0.iter().filter(|(name, _)| name != key);
        Some((value, Self(rest.cloned().collect())))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, value)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Point;

    #[test]
    fn a_point_is_written_as_it_was_read() {
        let text = "what=idle,workers=64";
        assert_eq!(Point::parse(text).to_string(), text);
    }

    #[test]
    fn a_number_can_be_split_off() {
        let (workers, rest) = Point::parse("what=idle,workers=64")
            .split_number("workers")
            .unwrap();
        assert_eq!((workers, rest.to_string().as_str()), (64.0, "what=idle"));
    }
}
