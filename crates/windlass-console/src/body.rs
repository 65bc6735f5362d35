//! The body of a write: a JSON object, read field by field.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use crate::failure::{Code, Failure};

/// The longest body that is read, in bytes.
const LONGEST: usize = 16 * 1024;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest time that a field may name, in seconds: a year. It keeps sums of times far from what
/// the types hold.
const LONGEST_TIME: f64 = 366.0 * 86_400.0;

/// The fields of a body that have not been taken yet.
#[derive(Debug)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// Reads a body to its end.
    pub(crate) async fn read(body: Body) -> Result<Self, Failure> {
        let collected = tokio::time::timeout(PATIENCE, Limited::new(body, LONGEST).collect()).await;
        let bytes = match collected {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let message = "the body is longer than 16 KiB";
                return Err(Failure::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    Code::Invalid,
                    message,
                ));
            }
            Ok(Err(_)) => return Err(Failure::invalid("the body ended early")),
            Err(_) => {
                let message = "the body took longer than 5 s";
                return Err(Failure::new(
                    StatusCode::REQUEST_TIMEOUT,
                    Code::Invalid,
                    message,
                ));
            }
        };
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(Failure::invalid("the body is not a JSON object")),
            Err(error) => Err(Failure::invalid(format!("the body is not JSON: {error}"))),
        }
    }

    /// Takes a number of things.
    pub(crate) fn count(&mut self, field: &'static str) -> Result<Option<usize>, Failure> {
        self.take(field, "a whole number that is not negative", |value| {
            let number = value.as_u64().or_else(|| whole(value.as_f64()?))?;
            usize::try_from(number).ok()
        })
    }

    /// Takes a time in seconds.
    pub(crate) fn seconds(&mut self, field: &'static str) -> Result<Option<Duration>, Failure> {
        self.take(field, "a number of seconds from 0 to one year", |value| {
            let seconds = value
                .as_f64()
                .filter(|seconds| (0.0..=LONGEST_TIME).contains(seconds))?;
            Duration::try_from_secs_f64(seconds).ok()
        })
    }

    /// Takes a number.
    pub(crate) fn number(&mut self, field: &'static str) -> Result<Option<f64>, Failure> {
        self.take(field, "a number", |value| value.as_f64())
    }

    /// Takes a yes or no. It is no if it is absent.
    pub(crate) fn flag(&mut self, field: &'static str) -> Result<Option<bool>, Failure> {
        self.take(field, "true or false", |value| value.as_bool())
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<Option<String>, Failure> {
        self.take(field, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// Returns whether a field is there and null, and takes it if so.
    pub(crate) fn is_null(&mut self, field: &'static str) -> bool {
        let is_null = self.0.get(field).is_some_and(Value::is_null);
        if is_null {
            self.0.remove(field);
        }
        is_null
    }

    /// Refuses what has not been taken: a field that is misspelt must not be ignored.
    pub(crate) fn end(self) -> Result<(), Failure> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((field, _)) => Err(Failure::invalid("there is no such field").in_field(field)),
        }
    }

    fn take<T>(
        &mut self,
        field: &'static str,
        kind: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = self.0.remove(field) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(Failure::invalid(format!("{field} is {kind}")).in_field(field)),
        }
    }
}

/// Returns the whole number that a fraction is: `4.0` is 4 in JSON. Beyond 2^53 it may be a neighbour's.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is whole, not negative and small enough"
)]
fn whole(number: f64) -> Option<u64> {
    let is_exact = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
    is_exact.then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::Fields;
    use std::time::Duration;

    fn fields(text: &str) -> Fields {
        Fields::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn fields_are_taken_by_name_and_type() {
        let mut fields =
            fields(r#"{"core":4,"most":8.0,"wait":0.5,"force":true,"policy":"abort"}"#);
        assert_eq!(fields.count("core").unwrap(), Some(4));
        assert_eq!(fields.count("most").unwrap(), Some(8));
        assert_eq!(fields.count("max").unwrap(), None);
        assert_eq!(
            fields.seconds("wait").unwrap(),
            Some(Duration::from_millis(500))
        );
        assert_eq!(fields.flag("force").unwrap(), Some(true));
        assert_eq!(fields.text("policy").unwrap().as_deref(), Some("abort"));
        assert!(fields.end().is_ok());
    }

    #[test]
    fn a_number_that_is_no_count_or_time_is_refused() {
        for text in [
            "-1",
            "1.5",
            "1e30",
            "\"4\"",
            "null",
            "[4]",
            "99999999999999999999999",
        ] {
            assert!(
                fields(&format!(r#"{{"core":{text}}}"#))
                    .count("core")
                    .is_err(),
                "{text}"
            );
        }
        for text in ["-0.1", "1e300", "1e9", "null", "\"1\""] {
            assert!(
                fields(&format!(r#"{{"wait":{text}}}"#))
                    .seconds("wait")
                    .is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_taken_is_refused() {
        assert!(fields(r#"{"corr":4}"#).end().is_err());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "4", "[]", "null", "{", "{\"a\":1}x", "\u{feff}{}"] {
            assert!(Fields::parse(text.as_bytes()).is_err(), "{text}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(Fields::parse(deep.as_bytes()).is_err());
    }
}
