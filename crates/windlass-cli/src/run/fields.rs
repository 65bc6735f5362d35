//! What a placeholder stands for: `{}` and friends.

use std::borrow::Cow;

/// What is put in place of a placeholder.
///
/// ```
/// use windlass_cli::run::Field;
///
/// assert_eq!(Field::BaseStem.of(b"logs/web.log", 1, 1).as_ref(), b"web");
/// assert_eq!(Field::Parent.of(b"web.log", 1, 1).as_ref(), b".");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `{}`: the input.
    Whole,
    /// `{.}`: the input without its extension.
    Stem,
    /// `{/}`: the last component of the path.
    Base,
    /// `{//}`: the folder of the path, `.` if it has none.
    Parent,
    /// `{/.}`: the last component without its extension.
    BaseStem,
    /// `{#}`: the number of the input, from 1.
    Seq,
    /// `{%}`: the slot that the job runs in, from 1 to the number of threads.
    Slot,
}

/// The placeholders, longest first so that each is found whole.
const PLACEHOLDERS: [(&[u8], Field); 7] = [
    (b"{//}", Field::Parent),
    (b"{/.}", Field::BaseStem),
    (b"{/}", Field::Base),
    (b"{.}", Field::Stem),
    (b"{#}", Field::Seq),
    (b"{%}", Field::Slot),
    (b"{}", Field::Whole),
];

impl Field {
    /// Returns the placeholder at the start of the text, with its length. `replace` is the string of
    /// `-I`, which takes the place of `{}`.
    #[must_use]
    pub fn at_start_of(text: &[u8], replace: Option<&[u8]>) -> Option<(Self, usize)> {
        if let Some(own) = replace
            // An empty string stands everywhere, so it stands for nothing.
            && !own.is_empty()
            && text.starts_with(own)
        {
            return Some((Self::Whole, own.len()));
        }
        PLACEHOLDERS
            .iter()
            .filter(|(_, field)| replace.is_none() || *field != Self::Whole)
            .find(|(placeholder, _)| text.starts_with(placeholder))
            .map(|(placeholder, field)| (*field, placeholder.len()))
    }

    /// Returns the value for an input, its number and the slot of its job.
    #[must_use]
    pub fn of(self, input: &[u8], seq: u64, slot: usize) -> Cow<'_, [u8]> {
        match self {
            Self::Whole => Cow::Borrowed(input),
            Self::Stem => Cow::Borrowed(stem(input)),
            Self::Base => Cow::Borrowed(base(input)),
            Self::Parent => Cow::Borrowed(parent(input)),
            Self::BaseStem => Cow::Borrowed(stem(base(input))),
            Self::Seq => Cow::Owned(seq.to_string().into_bytes()),
            Self::Slot => Cow::Owned(slot.to_string().into_bytes()),
        }
    }
}

fn without_trailing_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    end.map_or(&path[..path.len().min(1)], |end| &path[..=end])
}

fn base(path: &[u8]) -> &[u8] {
    let path = without_trailing_slashes(path);
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) if slash + 1 < path.len() => &path[slash + 1..],
        _ => path,
    }
}

fn parent(path: &[u8]) -> &[u8] {
    let path = without_trailing_slashes(path);
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => without_trailing_slashes(&path[..slash.max(1)]),
        None => b".",
    }
}

/// The path without the extension of its last component; a leading dot starts no extension.
fn stem(path: &[u8]) -> &[u8] {
    let start = path
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    match path[start..].iter().rposition(|byte| *byte == b'.') {
        Some(dot) if dot > 0 && path[start..] != *b".." => &path[..start + dot],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::Field;

    fn value(field: Field, input: &str) -> String {
        String::from_utf8(field.of(input.as_bytes(), 7, 3).into_owned()).unwrap()
    }

    #[test]
    fn the_parts_of_a_path_are_those_of_basename_and_dirname() {
        let paths = [
            "a/b.tar.gz",
            "b.log",
            "/b",
            "/",
            "a//b/",
            ".bashrc",
            "a.d/b",
            "..",
            "",
        ];
        let of = |field| paths.map(|path| value(field, path));
        assert_eq!(
            of(Field::Base),
            ["b.tar.gz", "b.log", "b", "/", "b", ".bashrc", "b", "..", ""]
        );
        assert_eq!(
            of(Field::Parent),
            ["a", ".", "/", "/", "a", ".", "a.d", ".", "."]
        );
        assert_eq!(
            of(Field::Stem),
            [
                "a/b.tar", "b", "/b", "/", "a//b/", ".bashrc", "a.d/b", "..", ""
            ]
        );
        assert_eq!(
            of(Field::BaseStem),
            ["b.tar", "b", "b", "/", "b", ".bashrc", "b", "..", ""]
        );
    }

    #[test]
    fn numbers_of_input_and_slot_are_decimal() {
        assert_eq!(
            (value(Field::Seq, "x"), value(Field::Slot, "x")),
            ("7".into(), "3".into())
        );
    }

    #[test]
    fn the_longest_placeholder_is_found() {
        assert_eq!(Field::at_start_of(b"{//}x", None), Some((Field::Parent, 4)));
        assert_eq!(Field::at_start_of(b"{/}", None), Some((Field::Base, 3)));
        assert_eq!(Field::at_start_of(b"{x}", None), None);
    }

    #[test]
    fn an_empty_replacement_string_is_found_nowhere() {
        assert_eq!(Field::at_start_of(b"x", Some(b"")), None);
        assert_eq!(Field::at_start_of(b"{}", Some(b"")), None);
    }

    #[test]
    fn a_replacement_string_takes_the_place_of_braces_only() {
        assert_eq!(
            Field::at_start_of(b"@@", Some(b"@@")),
            Some((Field::Whole, 2))
        );
        assert_eq!(Field::at_start_of(b"{}", Some(b"@@")), None);
        assert_eq!(
            Field::at_start_of(b"{#}", Some(b"@@")),
            Some((Field::Seq, 3))
        );
    }
}
