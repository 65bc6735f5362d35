//! Writes an answer: as JSON, or for people.

use serde::Serialize;

use crate::exit::{self, Failure};

/// Writes a value as a line of JSON, or the text that it is for people.
pub(super) fn print<T: Serialize + ?Sized>(
    json: bool,
    value: &T,
    text: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    let text = if json {
        serde_json::to_string(value).unwrap_or_default() + "\n"
    } else {
        text(value)
    };
    exit::print(text.as_bytes())
}
