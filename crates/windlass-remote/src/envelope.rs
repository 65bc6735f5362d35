//! What surrounds a payload or a result on the wire: format, codec, and a signature on request.
//!
//! Byte 0 is the format (1), byte 1 the codec, byte 2 the flags (1 = signed). A signed envelope has the 32
//! bytes of an HMAC-SHA256 next, then the body. The signature covers codec, body, and the [`Subject`] that
//! the body belongs to, each with its length: who can write to the engine but does not know the key
//! can neither make up a task nor move a signed body to another task, version or id.

use crate::codec::Codec;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use std::sync::Arc;

const FORMAT: u8 = 1;
const SIGNED: u8 = 1;
const MAC_LEN: usize = 32;

/// The key that signs and verifies envelopes. Clients and workers of a queue share it.
///
/// `Debug` does not show the key.
///
/// ```
/// let key = windlass_remote::SigningKey::new(b"from the secret store");
/// assert_eq!(format!("{key:?}"), "SigningKey(..)");
/// ```
#[derive(Clone)]
pub struct SigningKey(Arc<[u8]>);

impl SigningKey {
    /// Creates a key from bytes; use at least 32 random ones.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    fn mac(&self) -> Hmac<Sha256> {
        // HMAC takes keys of any length, so the error cannot occur; an empty key is a key like others.
        <Hmac<Sha256> as Mac>::new_from_slice(&self.0)
            .unwrap_or_else(|_| <Hmac<Sha256> as Mac>::new(&Default::default()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

/// What a body belongs to; part of what is signed.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// `task` or `result`: one cannot be passed off as the other.
    pub role: &'a str,
    /// The id of the task.
    pub id: &'a str,
    /// The wire name of the task type.
    pub name: &'a str,
    /// The version of the task type.
    pub version: u16,
}

/// Why an envelope was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// It ends before its header does.
    TooShort,
    /// Its format, codec or flags are of another build.
    Unsupported,
    /// It has no signature, and this side requires one.
    Unsigned,
    /// Its signature is not that of this body, task and key.
    BadSignature,
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the envelope is too short",
            Self::Unsupported => "the envelope has a format or codec that this build does not know",
            Self::Unsigned => "the envelope is not signed",
            Self::BadSignature => "the signature of the envelope is wrong",
        })
    }
}

impl std::error::Error for EnvelopeError {}

fn feed(mac: &mut Hmac<Sha256>, subject: Subject<'_>, codec: u8, body: &[u8]) {
    for part in [subject.role, subject.id, subject.name] {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    mac.update(&subject.version.to_be_bytes());
    mac.update(&[FORMAT, codec]);
    mac.update(body);
}

/// Puts a body into an envelope, signed if there is a key.
pub fn seal(codec: Codec, body: &[u8], subject: Subject<'_>, key: Option<&SigningKey>) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(3 + MAC_LEN + body.len());
    sealed.extend([
        FORMAT,
        codec.number(),
        if key.is_some() { SIGNED } else { 0 },
    ]);
    if let Some(key) = key {
        let mut mac = key.mac();
        feed(&mut mac, subject, codec.number(), body);
        sealed.extend(mac.finalize().into_bytes());
    }
    sealed.extend_from_slice(body);
    sealed
}

/// Returns codec and body of an envelope. With a key, only correctly signed ones are opened; without one, a
/// signature is skipped, since nothing is there to check it with.
///
/// # Errors
///
/// See [`EnvelopeError`]. No input panics.
pub fn open<'a>(
    sealed: &'a [u8],
    subject: Subject<'_>,
    key: Option<&SigningKey>,
) -> Result<(Codec, &'a [u8]), EnvelopeError> {
    let (&[format, codec, flags], rest) = sealed
        .split_first_chunk::<3>()
        .ok_or(EnvelopeError::TooShort)?;
    if format != FORMAT || flags > SIGNED {
        return Err(EnvelopeError::Unsupported);
    }
    let known = Codec::from_number(codec).ok_or(EnvelopeError::Unsupported)?;
    let (mac, body) = if flags == SIGNED {
        let (mac, body) = rest
            .split_first_chunk::<MAC_LEN>()
            .ok_or(EnvelopeError::TooShort)?;
        (Some(mac), body)
    } else {
        (None, rest)
    };
    if let Some(key) = key {
        let claimed = mac.ok_or(EnvelopeError::Unsigned)?;
        let mut mac = key.mac();
        feed(&mut mac, subject, codec, body);
        mac.verify_slice(claimed)
            .map_err(|_| EnvelopeError::BadSignature)?;
    }
    Ok((known, body))
}

#[cfg(test)]
mod tests {
    use super::{EnvelopeError, SigningKey, Subject, open, seal};
    use crate::codec::Codec;

    const SUBJECT: Subject<'_> = Subject {
        role: "task",
        id: "7",
        name: "sum",
        version: 1,
    };

    #[test]
    fn a_body_comes_back() {
        let sealed = seal(Codec::Json, b"[1]", SUBJECT, None);
        assert_eq!(open(&sealed, SUBJECT, None), Ok((Codec::Json, &b"[1]"[..])));
    }

    #[test]
    fn a_signed_body_cannot_be_moved_to_another_task_version_or_role() {
        let key = SigningKey::new(b"secret");
        let sealed = seal(Codec::Json, b"[1]", SUBJECT, Some(&key));
        assert!(open(&sealed, SUBJECT, Some(&key)).is_ok());
        let others = [
            Subject { id: "8", ..SUBJECT },
            Subject {
                name: "drop",
                ..SUBJECT
            },
            Subject {
                version: 2,
                ..SUBJECT
            },
            Subject {
                role: "result",
                ..SUBJECT
            },
        ];
        for other in others {
            assert_eq!(
                open(&sealed, other, Some(&key)),
                Err(EnvelopeError::BadSignature)
            );
        }
    }

    #[test]
    fn a_changed_byte_or_another_key_is_noticed() {
        let key = SigningKey::new(b"secret");
        let sealed = seal(Codec::Json, b"[1]", SUBJECT, Some(&key));
        for at in 1..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&changed, SUBJECT, Some(&key)).is_err(), "byte {at}");
        }
        let other = SigningKey::new(b"other");
        assert_eq!(
            open(&sealed, SUBJECT, Some(&other)),
            Err(EnvelopeError::BadSignature)
        );
    }

    #[test]
    fn an_unsigned_envelope_is_refused_where_a_key_is_set() {
        let sealed = seal(Codec::Json, b"[1]", SUBJECT, None);
        let key = SigningKey::new(b"secret");
        assert_eq!(
            open(&sealed, SUBJECT, Some(&key)),
            Err(EnvelopeError::Unsigned)
        );
    }
}
