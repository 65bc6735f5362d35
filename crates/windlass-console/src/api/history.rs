//! The past of a pool: how far back, and in which steps.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::response::Response;
use windlass::monitor::{History, HistorySpan};

use super::parameters::Parameters;
use super::pools::unknown;
use super::segment::Segment;
use crate::failure::Failure;
use crate::history_steps;
use crate::json;
use crate::reply;
use crate::shared::Shared;

/// How far back the history goes unless it is told otherwise, in seconds.
const HISTORY: &str = "300";

/// What is asked for.
struct Wanted {
    span: HistorySpan,
    since: Option<SystemTime>,
    /// How many points become one.
    merged: u64,
}

pub(crate) async fn history(
    State(shared): State<Arc<Shared>>,
    Segment(name): Segment,
    mut parameters: Parameters,
) -> Result<Response, Failure> {
    let [seconds, since, step] = ["seconds", "since", "step"].map(|name| parameters.take(name));
    parameters.end()?;
    let wanted = match (seconds, since, step) {
        (seconds, None, None) => last(seconds.as_deref().unwrap_or(HISTORY))?,
        (None, since, step) => steps(since.as_deref(), step.as_deref())?,
        _ => {
            let message = "seconds does not go with since and step";
            return Err(Failure::invalid(message).in_field("seconds"));
        }
    };
    let history = shared.monitor.history(&name, wanted.span);
    let mut history = history.ok_or_else(unknown)?;
    wanted.cut(&mut history);
    Ok(reply::json(&json::History::from(&history)))
}

/// The last of the ranges that the page offers.
fn last(seconds: &str) -> Result<Wanted, Failure> {
    let span = match seconds {
        "60" => HistorySpan::Seconds(60),
        "300" => HistorySpan::Seconds(300),
        "900" => HistorySpan::Seconds(900),
        "86400" => HistorySpan::Minutes(1440),
        _ => {
            let message = "seconds is 60, 300, 900 or 86400";
            return Err(Failure::invalid(message).in_field("seconds"));
        }
    };
    Ok(Wanted {
        span,
        since: None,
        merged: 1,
    })
}

/// All later than a time, in steps of some seconds or minutes.
fn steps(since: Option<&str>, step: Option<&str>) -> Result<Wanted, Failure> {
    let since = match since {
        None => None,
        Some(text) => Some(time(text).ok_or_else(|| {
            Failure::invalid("since is a time in Unix milliseconds").in_field("since")
        })?),
    };
    let (span, merged) = match step.map_or(Ok(1), str::parse::<u64>) {
        Ok(seconds @ 1..60) => (HistorySpan::Seconds(usize::MAX), seconds),
        Ok(seconds @ 60..=86400) if seconds % 60 == 0 => {
            (HistorySpan::Minutes(usize::MAX), seconds / 60)
        }
        _ => {
            let message = "step is 1 to 59 seconds, or a multiple of 60 up to 86400";
            return Err(Failure::invalid(message).in_field("step"));
        }
    };
    Ok(Wanted {
        span,
        since,
        merged,
    })
}

fn time(milliseconds: &str) -> Option<SystemTime> {
    let since_epoch = Duration::from_millis(milliseconds.parse().ok()?);
    UNIX_EPOCH.checked_add(since_epoch)
}

impl Wanted {
    fn cut(&self, history: &mut History) {
        if let Some(since) = self.since {
            history_steps::keep_after(history, since);
        }
        if self.merged > 1 {
            let ring_step = history.step;
            let merged = u32::try_from(self.merged).unwrap_or(u32::MAX);
            history_steps::merge(history, ring_step * merged);
        }
    }
}
