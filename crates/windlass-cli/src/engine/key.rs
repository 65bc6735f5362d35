//! The key that signs payloads and results.

use std::path::Path;

use windlass_remote::SigningKey;

use crate::exit::Failure;

/// A shorter key can be guessed.
const MIN_LENGTH: usize = 32;

/// Reads the key of both sides from a file, if one is named.
pub(crate) fn read_key(path: Option<&Path>) -> Result<Option<SigningKey>, Failure> {
    let Some(path) = path else {
        return Ok(None);
    };
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::new(format!(
            "cannot read the key in {}: {error}",
            path.display()
        ))
    })?;
    let key = bytes.trim_ascii();
    if key.len() < MIN_LENGTH {
        let message = format!("the key in {} has less than 32 bytes", path.display());
        return Err(Failure::new(message).hint("head -c 32 /dev/urandom | base64 > FILE makes one"));
    }
    Ok(Some(SigningKey::new(key)))
}
