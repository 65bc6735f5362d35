//! How values become bytes and bytes become values.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// The format of payloads and results. It travels with each payload, so that a worker reads what
/// the client wrote whatever its own setting is.
///
/// ```
/// use windlass_remote::Codec;
///
/// let bytes = Codec::Json.encode(&[1, 2, 3])?;
/// let back: Vec<u8> = Codec::Json.decode(&bytes)?;
/// assert_eq!(back, [1, 2, 3]);
/// # Ok::<(), windlass_remote::CodecError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// JSON: readable where a person looks at a queue. The default.
    #[default]
    Json,
    /// MessagePack, with the names of fields.
    #[cfg(feature = "messagepack")]
    MessagePack,
    /// postcard: the smallest, without names of fields; every change of a type is a new version.
    #[cfg(feature = "postcard")]
    Postcard,
}

/// A value that has no bytes, or bytes that are not of the expected type.
#[derive(Debug)]
pub struct CodecError(Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for CodecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

fn boxed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CodecError {
    CodecError(error.into())
}

impl Codec {
    /// Returns the byte that names this format in an envelope.
    pub const fn number(self) -> u8 {
        match self {
            Self::Json => 1,
            #[cfg(feature = "messagepack")]
            Self::MessagePack => 2,
            #[cfg(feature = "postcard")]
            Self::Postcard => 3,
        }
    }

    /// Returns the format with this number, if this build has it.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Json),
            #[cfg(feature = "messagepack")]
            2 => Some(Self::MessagePack),
            #[cfg(feature = "postcard")]
            3 => Some(Self::Postcard),
            _ => None,
        }
    }

    /// Returns the bytes of a value.
    ///
    /// # Errors
    ///
    /// If the value has no form in this format, for example a map with keys that are not text in JSON.
    pub fn encode<T: Serialize>(self, value: &T) -> Result<Vec<u8>, CodecError> {
        match self {
            Self::Json => serde_json::to_vec(value).map_err(boxed),
            #[cfg(feature = "messagepack")]
            Self::MessagePack => rmp_serde::to_vec_named(value).map_err(boxed),
            #[cfg(feature = "postcard")]
            Self::Postcard => postcard::to_stdvec(value).map_err(boxed),
        }
    }

    /// Returns the value of some bytes. Bytes left over are an error.
    ///
    /// # Errors
    ///
    /// If the bytes are not a value of this type.
    pub fn decode<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, CodecError> {
        match self {
            Self::Json => serde_json::from_slice(bytes).map_err(boxed),
            #[cfg(feature = "messagepack")]
            Self::MessagePack => {
                let mut rest = bytes;
                let value = rmp_serde::from_read(&mut rest).map_err(boxed)?;
                if rest.is_empty() {
                    Ok(value)
                } else {
                    Err(boxed("bytes after the value"))
                }
            }
            #[cfg(feature = "postcard")]
            Self::Postcard => match postcard::take_from_bytes(bytes).map_err(boxed)? {
                (value, []) => Ok(value),
                _ => Err(boxed("bytes after the value")),
            },
        }
    }
}
