//! Bytes that travel as text where they are text, so that a person who looks at a queue can read them.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

/// Any bytes. In JSON they are a text, or `{"base64": "..."}` if they are not UTF-8 or a text would be longer.
///
/// ```
/// use windlass_cli::engine::Bytes;
///
/// let written = |bytes: &[u8]| serde_json::to_string(&Bytes::from(bytes)).unwrap();
/// assert_eq!(written(b"a\n"), r#""a\n""#);
/// assert_eq!(written(b"\xff"), r#"{"base64":"/w=="}"#);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct Bytes(Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Base64 { base64: String },
}

impl Bytes {
    /// Returns the bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes as an argument of a command.
    #[must_use]
    pub fn into_os_string(self) -> OsString {
        OsString::from_vec(self.0)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&OsStr> for Bytes {
    fn from(word: &OsStr) -> Self {
        Self::from(word.as_bytes())
    }
}

impl From<Bytes> for Form {
    fn from(bytes: Bytes) -> Self {
        match String::from_utf8(bytes.0) {
            Ok(text) if escapes(&text) <= text.len() / 3 + 16 => Self::Text(text),
            Ok(text) => Self::Base64 {
                base64: BASE64_STANDARD.encode(text),
            },
            Err(error) => Self::Base64 {
                base64: BASE64_STANDARD.encode(error.as_bytes()),
            },
        }
    }
}

impl TryFrom<Form> for Bytes {
    type Error = base64::DecodeError;

    fn try_from(form: Form) -> Result<Self, Self::Error> {
        match form {
            Form::Text(text) => Ok(Self(text.into_bytes())),
            Form::Base64 { base64 } => BASE64_STANDARD.decode(base64).map(Self),
        }
    }
}

/// Returns how many bytes JSON adds to a text.
fn escapes(text: &str) -> usize {
    let added = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..=31 => 5,
        _ => 0,
    };
    text.bytes().map(added).sum()
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    #[test]
    fn bytes_come_back_and_take_little_more_than_a_third() {
        let newlines = vec![b'\n'; 3000];
        let controls: Vec<u8> = (0..3000).map(|n| (n % 32) as u8).collect();
        let any: Vec<u8> = (0..3000).map(|n| (n % 256) as u8).collect();
        for bytes in [
            b"".to_vec(),
            b"plain \"text\"".to_vec(),
            newlines,
            controls,
            any,
        ] {
            let written = serde_json::to_vec(&Bytes::from(bytes.clone())).unwrap();
            assert!(
                written.len() <= bytes.len() * 4 / 3 + 24,
                "{}",
                written.len()
            );
            let back: Bytes = serde_json::from_slice(&written).unwrap();
            assert_eq!(back.as_slice(), bytes);
        }
        assert!(serde_json::from_str::<Bytes>(r#"{"base64":"!"}"#).is_err());
    }
}
