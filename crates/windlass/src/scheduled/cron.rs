//! Calendars written as cron expressions (feature `cron`).

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::parser::{CronParser, Seconds, Year};

use super::handle::ScheduledHandle;
use super::period::Calendar;
use crate::executor::RejectedExecution;

/// A cron expression in a time zone.
///
/// | fields | form |
/// |---|---|
/// | 5 | `minute hour day-of-month month day-of-week` |
/// | 6 | `second minute hour day-of-month month day-of-week` |
/// | 7 | `second minute hour day-of-month month day-of-week year` |
///
/// A field is `*`, a number, a range `1-5`, a step `*/20` or `0-30/10`, or a list of these. Months and
/// days of the week have English names too, `JAN` and `MON`, in upper or lower case; Sunday is 0 or 7.
/// `?` in a day field means `*`.
///
/// A day of the month may be `L`, the last, or `15W`, the weekday nearest to the 15th. A day of the
/// week may be `FRI#2`, the second Friday of the month, or `FRI#L`, the last. Where both day fields are
/// restricted, a day needs to match one of them; with a `+` before the day of the week, both.
///
/// `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily` and `@hourly` are expressions too.
///
/// Where daylight saving skips an hour, a fixed time in it is due when the gap ends; where an hour
/// repeats, a fixed time in it is due the first time only. What is due every hour or more often has
/// the same distance between its runs throughout.
///
/// ```
/// use windlass::scheduled::{Cron, Period};
///
/// let weekdays = Cron::parse("0 9 * * MON-FRI", "Europe/Berlin").unwrap();
/// let period = Period::calendar(weekdays);
/// assert!(Cron::parse("61 * * * *", "UTC").is_err());
/// assert!(Cron::parse("* * * * *", "Atlantis/Capital").is_err());
/// # drop(period);
/// ```
#[derive(Clone)]
pub struct Cron {
    expression: croner::Cron,
    zone: Tz,
}

/// The expression and the zone: what the expression was parsed into is thousands of characters long.
impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expression = self.expression.to_string();
        f.debug_tuple("Cron")
            .field(&expression)
            .field(&self.zone)
            .finish()
    }
}

/// The error of a text that is not a valid [`Cron`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CronError {
    /// The expression is not valid.
    InvalidExpression {
        /// The expression.
        expression: String,
        /// What is wrong with it.
        message: String,
    },
    /// The time zone is not in the IANA database.
    UnknownTimeZone {
        /// The name of the zone.
        zone: String,
    },
}

impl CronError {
    /// Returns whether the expression is not valid.
    #[must_use]
    pub const fn is_invalid_expression(&self) -> bool {
        matches!(self, Self::InvalidExpression { .. })
    }

    /// Returns whether the time zone is unknown.
    #[must_use]
    pub const fn is_unknown_time_zone(&self) -> bool {
        matches!(self, Self::UnknownTimeZone { .. })
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidExpression {
                expression,
                message,
            } => write!(f, "{expression}: {message}"),
            Self::UnknownTimeZone { zone } => write!(f, "{zone}: unknown time zone"),
        }
    }
}

impl Error for CronError {}

/// The error of [`schedule_cron`](super::Schedule::schedule_cron).
#[derive(Debug)]
#[non_exhaustive]
pub enum ScheduleCronError {
    /// The expression or the time zone is not valid; the closure was dropped.
    Invalid(CronError),
    /// The executor rejected the task, which is inside with its handle.
    Rejected(RejectedExecution<ScheduledHandle<()>>),
}

impl ScheduleCronError {
    /// Returns whether the expression or the time zone is not valid.
    #[must_use]
    pub const fn is_invalid(&self) -> bool {
        matches!(self, Self::Invalid(_))
    }

    /// Returns whether the executor rejected the task.
    #[must_use]
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }
}

impl fmt::Display for ScheduleCronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Rejected(rejected) => rejected.fmt(f),
        }
    }
}

impl Error for ScheduleCronError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Invalid(error) => Some(error),
            Self::Rejected(rejected) => Some(rejected),
        }
    }
}

impl From<CronError> for ScheduleCronError {
    fn from(error: CronError) -> Self {
        Self::Invalid(error)
    }
}

impl From<RejectedExecution<ScheduledHandle<()>>> for ScheduleCronError {
    fn from(rejected: RejectedExecution<ScheduledHandle<()>>) -> Self {
        Self::Rejected(rejected)
    }
}

impl Cron {
    /// Parses an expression; the zone is a name of the IANA database, such as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// [`CronError`] if the expression is not valid or the time zone is unknown.
    pub fn parse(expression: &str, zone: &str) -> Result<Self, CronError> {
        let zone = Tz::from_str(zone).map_err(|_| CronError::UnknownTimeZone {
            zone: zone.to_owned(),
        })?;
        Self::parse_in(expression, zone)
    }

    fn parse_in(expression: &str, zone: Tz) -> Result<Self, CronError> {
        let parser = CronParser::builder()
            .seconds(Seconds::Optional)
            .year(Year::Optional)
            .build();
        let parsed = parser.parse(expression);
        let expression = parsed.map_err(|error| CronError::InvalidExpression {
            expression: expression.to_owned(),
            message: error.to_string(),
        })?;
        Ok(Self { expression, zone })
    }
}

/// Parses an expression in UTC.
impl FromStr for Cron {
    type Err = CronError;

    fn from_str(expression: &str) -> Result<Self, CronError> {
        Self::parse_in(expression, Tz::UTC)
    }
}

impl Calendar for Cron {
    fn next_after(&self, now: SystemTime) -> Option<SystemTime> {
        let now = DateTime::<Utc>::from(now).with_timezone(&self.zone);
        let next = self.expression.find_next_occurrence(&now, false).ok()?;
        Some(next.with_timezone(&Utc).into())
    }
}
