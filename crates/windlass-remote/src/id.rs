//! Checked names: of a task on the wire, of a queue, and of one submission.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A name or an id that the engine cannot take.
///
/// ```
/// use windlass_remote::QueueName;
///
/// assert!("media jobs".parse::<QueueName>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    name: String,
    rule: &'static str,
}

impl InvalidName {
    fn new(name: &str, rule: &'static str) -> Self {
        // A name from the wire may be of any length; an error message may not.
        Self {
            name: name.chars().take(MAX_LEN).collect(),
            rule,
        }
    }
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not {}", self.name, self.rule)
    }
}

impl std::error::Error for InvalidName {}

const MAX_LEN: usize = 100;
const NAME_RULE: &str = "a name of 1 to 100 characters of a-z, 0-9, '.', '_' and '-'";
const ID_RULE: &str = "an id of 1 to 100 characters of A-Z, a-z, 0-9, '.', '_', ':' and '-'";

/// Checks the wire name of a task type, a queue, a schedule or a worker: `[a-z0-9._-]{1,100}`.
///
/// # Errors
///
/// If the name is empty, too long, or has another character.
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
    if (1..=MAX_LEN).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(())
    } else {
        Err(InvalidName::new(name, NAME_RULE))
    }
}

macro_rules! checked_text {
    ($name:ident) => {
        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

/// The name of a queue: tasks of one queue share order, bounds, limits and workers.
///
/// ```
/// use windlass_remote::QueueName;
///
/// let queue: QueueName = "media".parse()?;
/// assert_eq!(queue.as_str(), "media");
/// # Ok::<(), windlass_remote::InvalidName>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueName(Arc<str>);

checked_text!(QueueName);

impl std::str::FromStr for QueueName {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        check_name(name)?;
        Ok(Self(name.into()))
    }
}

impl Default for QueueName {
    fn default() -> Self {
        Self("default".into())
    }
}

/// The id of one submitted task. Submitting an id twice is submitting it once.
///
/// [`TaskId::random`] makes one that sorts by the time of its creation; any text of up to 100
/// characters of `A-Z a-z 0-9 . _ : -` is an id too, such as the number of an order.
///
/// ```
/// use windlass_remote::TaskId;
///
/// let id: TaskId = "order:4711".parse()?;
/// assert_ne!(TaskId::random(), TaskId::random());
/// # Ok::<(), windlass_remote::InvalidName>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(Arc<str>);

checked_text!(TaskId);

impl TaskId {
    /// Creates an id of 48 bits of time and 72 random bits, as 24 characters.
    pub fn random() -> Self {
        const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut bytes = [0u8; 16];
        bytes[1..7].copy_from_slice(&unix_millis().to_be_bytes()[2..]);
        random_bytes(&mut bytes[7..]);
        let mut bits = u128::from_be_bytes(bytes);
        let mut text = [0u8; 24];
        for place in text.iter_mut().rev() {
            *place = DIGITS[(bits & 31) as usize];
            bits >>= 5;
        }
        Self(
            text.iter()
                .map(|&b| char::from(b))
                .collect::<String>()
                .into(),
        )
    }
}

impl std::str::FromStr for TaskId {
    type Err = InvalidName;

    fn from_str(id: &str) -> Result<Self, InvalidName> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
        if (1..=MAX_LEN).contains(&id.len()) && id.bytes().all(allowed) {
            Ok(Self(id.into()))
        } else {
            Err(InvalidName::new(id, ID_RULE))
        }
    }
}

/// Fills `bytes` from the operating system's generator; without one, from the hasher's seeds.
pub(crate) fn random_bytes(bytes: &mut [u8]) {
    if getrandom::fill(bytes).is_err() {
        use std::hash::{BuildHasher, RandomState};
        for byte in bytes {
            *byte = RandomState::new().hash_one(0u8) as u8;
        }
    }
}

/// Returns a random number in `0..bound`; 0 if the bound is 0.
pub(crate) fn random_below(bound: u64) -> u64 {
    let mut bytes = [0u8; 8];
    random_bytes(&mut bytes);
    u64::from_le_bytes(bytes).checked_rem(bound).unwrap_or(0)
}

/// Returns the time of this machine since 1970 in milliseconds. Engines have their own clock; this one
/// is for ids and for display.
pub(crate) fn unix_millis() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::{TaskId, check_name};

    #[test]
    fn a_name_has_small_letters_digits_dots_and_dashes() {
        for good in ["a", "media.thumbnail-2_x", &"a".repeat(100)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "a b", "a:b", "ä", "a\0", &"a".repeat(101)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_random_id_is_an_id() {
        let id = TaskId::random();
        assert_eq!(id.as_str().len(), 24);
        assert_eq!(id.as_str().parse::<TaskId>().unwrap(), id);
    }

    #[test]
    fn an_id_with_a_space_or_a_brace_is_refused() {
        for bad in ["", "a b", "a{b}", "a*", &"a".repeat(101)] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad}");
        }
    }
}
