//! The token that a write carries.

use std::fmt;

use subtle::ConstantTimeEq;

/// Shorter tokens of the user can be guessed at the rate that the console admits.
const SHORTEST: usize = 16;

/// A secret. Neither `Debug` nor an error shows it.
pub(crate) struct Token(Box<str>);

/// Why the token of the user was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// It has fewer than 16 characters.
    TooShort,
    /// It has a character that cannot stand in an `Authorization` header: a space, a control
    /// character, or one outside ASCII.
    InvalidCharacter,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => write!(f, "the token has fewer than {SHORTEST} characters"),
            Self::InvalidCharacter => {
                f.write_str("the token has a character that is not visible ASCII")
            }
        }
    }
}

impl std::error::Error for TokenError {}

impl Token {
    /// Creates a random token of 256 bits.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)?;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        Ok(Self(text.into()))
    }

    /// Takes a token of the user. White space around it, as at the end of a file, is no part of it.
    pub(crate) fn chosen(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::InvalidCharacter);
        }
        if text.len() < SHORTEST {
            return Err(TokenError::TooShort);
        }
        Ok(Self(text.into()))
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether `presented` is this token, in a time that depends on its length alone.
    pub(crate) fn matches(&self, presented: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(presented).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, TokenError};

    #[test]
    fn a_random_token_has_256_bits_and_does_not_repeat() {
        let token = Token::random().unwrap();
        assert_eq!(token.reveal().len(), 64);
        assert_ne!(token.reveal(), Token::random().unwrap().reveal());
    }

    #[test]
    fn a_token_matches_itself_only() {
        let token = Token::chosen("correct horse".replace(' ', "-battery-").as_str()).unwrap();
        assert!(token.matches(b"correct-battery-horse"));
        for wrong in [
            "",
            "correct-battery-hors",
            "correct-battery-horse ",
            "Correct-battery-horse",
        ] {
            assert!(!token.matches(wrong.as_bytes()), "{wrong}");
        }
    }

    #[test]
    fn a_short_or_unsendable_token_is_refused() {
        assert_eq!(Token::chosen("hunter2").unwrap_err(), TokenError::TooShort);
        assert_eq!(
            Token::chosen("sixteen chars or\nmore").unwrap_err(),
            TokenError::InvalidCharacter
        );
        assert!(Token::chosen("0123456789abcdef\n").is_ok());
    }

    #[test]
    fn debug_does_not_show_a_token() {
        let token = Token::random().unwrap();
        assert!(!format!("{token:?}").contains(token.reveal()));
    }
}
