//! Why a console does not start.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::token::TokenError;
#[cfg(feature = "webhook")]
use crate::webhook::WebhookError;

/// Why a console does not start. Nothing is left behind: no thread, no open port.
///
/// ```
/// use windlass_console::{Console, StartError};
///
/// let error = Console::builder().bind("0.0.0.0:0").start().unwrap_err();
/// assert!(matches!(error, StartError::TokenRequired { .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address is none, or cannot be bound: it is in use, or not one of this machine.
    Bind {
        /// The address as it was given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// Others than this machine could reach the address, and no token was chosen.
    TokenRequired {
        /// The address that is not loopback.
        address: SocketAddr,
    },
    /// The chosen token is not good enough.
    Token(TokenError),
    /// The environment variable that should hold the token is not set, or is no text.
    TokenVariable {
        /// The name of the variable.
        name: String,
    },
    /// The file that should hold the token cannot be read.
    TokenFile {
        /// The path of the file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no randomness for a token.
    Random(io::Error),
    /// The address for alerts is refused.
    #[cfg(feature = "webhook")]
    #[cfg_attr(docsrs, doc(cfg(feature = "webhook")))]
    Webhook(WebhookError),
    /// The thread of the console could not be started.
    Thread(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { address, .. } => write!(f, "the console cannot bind {address}"),
            Self::TokenRequired { address } => {
                write!(
                    f,
                    "{address} is not loopback: choose a token before it is bound"
                )
            }
            Self::Token(_) => f.write_str("the token of the console is refused"),
            Self::TokenVariable { name } => {
                write!(f, "the environment variable {name} holds no token")
            }
            Self::TokenFile { path, .. } => {
                write!(f, "the token cannot be read from {}", path.display())
            }
            Self::Random(_) => f.write_str("there is no randomness for a token"),
            #[cfg(feature = "webhook")]
            Self::Webhook(_) => f.write_str("the address for alerts is refused"),
            Self::Thread(_) => f.write_str("the thread of the console cannot be started"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Bind { source, .. } | Self::TokenFile { source, .. } => Some(source),
            Self::Token(error) => Some(error),
            #[cfg(feature = "webhook")]
            Self::Webhook(error) => Some(error),
            Self::Random(error) | Self::Thread(error) => Some(error),
            Self::TokenRequired { .. } | Self::TokenVariable { .. } => None,
        }
    }
}

impl From<TokenError> for StartError {
    fn from(error: TokenError) -> Self {
        Self::Token(error)
    }
}

#[cfg(feature = "webhook")]
impl From<WebhookError> for StartError {
    fn from(error: WebhookError) -> Self {
        Self::Webhook(error)
    }
}
