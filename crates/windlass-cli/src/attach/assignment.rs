//! `name=value`, as `windlass set` takes it.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::duration;

/// A setting and its new value.
///
/// ```
/// use windlass_cli::attach::Assignment;
///
/// let assignment: Assignment = "keep-alive=30s".parse().unwrap();
/// assert_eq!(assignment.field(), "keep_alive_seconds");
/// assert!("size=8".parse::<Assignment>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    field: &'static str,
    value: Value,
}

/// Why a text is no assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssignmentError {
    /// There is no `=` in it.
    NoValue,
    /// There is no such setting.
    UnknownName(String),
    /// The value does not fit, and why.
    Value(String),
}

impl fmt::Display for AssignmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue => f.write_str("write name=value, as in core=8"),
            Self::UnknownName(name) => write!(
                f,
                "there is no setting {name:?}; there are core, max, keep-alive, allow-core-timeout, \
                 capacity, policy and parallelism"
            ),
            Self::Value(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for AssignmentError {}

impl Assignment {
    /// Returns the name of the setting, as the console has it.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    pub(super) fn into_parts(self) -> (&'static str, Value) {
        (self.field, self.value)
    }
}

/// Returns the name that `windlass set` takes for a setting of the console.
pub(super) fn name_of(field: &str) -> String {
    match field {
        "keep_alive_seconds" => "keep-alive".to_owned(),
        other => other.replace('_', "-"),
    }
}

impl FromStr for Assignment {
    type Err = AssignmentError;

    fn from_str(text: &str) -> Result<Self, AssignmentError> {
        let (name, value) = text.split_once('=').ok_or(AssignmentError::NoValue)?;
        let count = || {
            let number: Result<u32, _> = value.parse();
            number
                .map(Value::from)
                .map_err(|_| AssignmentError::Value(format!("{name} is a whole number")))
        };
        let (field, value) = match name.replace('_', "-").as_str() {
            "core" => ("core", count()?),
            "max" => ("max", count()?),
            "capacity" | "queue" if value == "unbounded" => ("capacity", Value::Null),
            "capacity" | "queue" => ("capacity", count()?),
            "parallelism" => ("parallelism", count()?),
            "keep-alive" | "keep-alive-seconds" => {
                let time = duration::parse(value).map_err(AssignmentError::Value)?;
                ("keep_alive_seconds", Value::from(time.as_secs_f64()))
            }
            "allow-core-timeout" => {
                let flag: Result<bool, _> = value.parse();
                let flag = flag.map_err(|_| {
                    AssignmentError::Value("allow-core-timeout is true or false".to_owned())
                })?;
                ("allow_core_timeout", Value::from(flag))
            }
            "policy" if !value.is_empty() => ("policy", Value::from(value.replace('-', "_"))),
            "policy" => return Err(AssignmentError::Value("policy needs a name".to_owned())),
            _ => return Err(AssignmentError::UnknownName(name.to_owned())),
        };
        Ok(Self { field, value })
    }
}

#[cfg(test)]
mod tests {
    use super::{Assignment, AssignmentError, Value, name_of};

    #[test]
    fn settings_have_the_names_of_the_console() {
        for (text, field, value) in [
            ("core=8", "core", Value::from(8)),
            ("queue=100", "capacity", Value::from(100)),
            ("capacity=unbounded", "capacity", Value::Null),
            ("keep_alive=1m", "keep_alive_seconds", Value::from(60.0)),
            ("policy=caller-runs", "policy", Value::from("caller_runs")),
            (
                "allow-core-timeout=true",
                "allow_core_timeout",
                Value::from(true),
            ),
        ] {
            assert_eq!(text.parse(), Ok(Assignment { field, value }), "{text}");
        }
    }

    #[test]
    fn a_name_that_is_shown_is_one_that_is_taken() {
        for (field, name, value) in [
            ("core", "core", "8"),
            ("max", "max", "8"),
            ("capacity", "capacity", "8"),
            ("parallelism", "parallelism", "8"),
            ("policy", "policy", "abort"),
            ("keep_alive_seconds", "keep-alive", "8s"),
            ("allow_core_timeout", "allow-core-timeout", "true"),
        ] {
            assert_eq!(name_of(field), name);
            let assignment: Assignment = format!("{name}={value}").parse().unwrap();
            assert_eq!(assignment.field(), field);
        }
    }

    #[test]
    fn what_is_no_setting_is_explained() {
        assert_eq!("core".parse::<Assignment>(), Err(AssignmentError::NoValue));
        for text in [
            "size=1",
            "core=many",
            "core=-1",
            "keep-alive=x",
            "policy=",
            "=",
            "max=",
        ] {
            assert!(text.parse::<Assignment>().is_err(), "{text}");
        }
    }
}
