//! Calendars written as cron expressions (feature `cron`).

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::period::Calendar;

/// A cron expression in a time zone.
///
/// Five fields, or six with seconds first; `L`, `#` and `W` as croner has them. Where daylight saving
/// leaves an hour out, a fixed time in it comes when the gap ends; where an hour comes twice, the first
/// time. What runs every hour or more often has the same pause between its runs all the time.
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
#[derive(Debug, Clone)]
pub struct Cron {
    expression: croner::Cron,
    zone: Tz,
}

/// A cron expression or time zone that is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronError(String);

impl Cron {
    /// Reads an expression; the zone is a name of the IANA database, such as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// [`CronError`], which says what is wrong.
    pub fn parse(expression: &str, zone: &str) -> Result<Self, CronError> {
        let zone = Tz::from_str(zone).map_err(|error| CronError(format!("{zone}: {error}")))?;
        let parser = croner::parser::CronParser::builder()
            .seconds(croner::parser::Seconds::Optional)
            .build();
        let expression = parser
            .parse(expression)
            .map_err(|error| CronError(format!("{expression}: {error}")))?;
        Ok(Self { expression, zone })
    }
}

impl Calendar for Cron {
    fn next_after(&self, now: SystemTime) -> Option<SystemTime> {
        let now = DateTime::<Utc>::from(now).with_timezone(&self.zone);
        let next = self.expression.find_next_occurrence(&now, false).ok()?;
        Some(next.with_timezone(&Utc).into())
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for CronError {}
