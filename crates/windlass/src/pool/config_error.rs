//! Why a configuration is invalid.

use std::error::Error;
use std::fmt;

use super::no_effect::ConfigWarning;

/// The error of an invalid configuration. The former one stays in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The maximum size is zero.
    ZeroMaximum,
    /// The core size exceeds the maximum size.
    CoreExceedsMaximum {
        /// The core size, requested or in effect.
        core: usize,
        /// The maximum size, requested or in effect.
        maximum: usize,
    },
    /// Core workers may time out, and the keep-alive time is zero: they would be started and ended
    /// without pause.
    ZeroKeepAlive,
    /// A setting can have no effect; returned by [`Builder::build_strict`](super::Builder::build_strict).
    NoEffect(ConfigWarning),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroMaximum => f.write_str("the maximum pool size must be at least 1"),
            Self::CoreExceedsMaximum { core, maximum } => {
                write!(
                    f,
                    "the core pool size {core} exceeds the maximum pool size {maximum}"
                )
            }
            Self::ZeroKeepAlive => {
                f.write_str("core threads that may time out need a keep-alive above zero")
            }
            Self::NoEffect(warning) => warning.fmt(f),
        }
    }
}

impl Error for ConfigError {}

impl ConfigError {
    /// Returns whether the maximum size is zero.
    #[must_use]
    pub const fn is_zero_maximum(&self) -> bool {
        matches!(self, Self::ZeroMaximum)
    }

    /// Returns whether the core size exceeds the maximum size.
    #[must_use]
    pub const fn is_core_exceeds_maximum(&self) -> bool {
        matches!(self, Self::CoreExceedsMaximum { .. })
    }

    /// Returns whether core workers may time out with a keep-alive time of zero.
    #[must_use]
    pub const fn is_zero_keep_alive(&self) -> bool {
        matches!(self, Self::ZeroKeepAlive)
    }

    /// Returns whether a setting can have no effect.
    #[must_use]
    pub const fn is_no_effect(&self) -> bool {
        matches!(self, Self::NoEffect(_))
    }
}
