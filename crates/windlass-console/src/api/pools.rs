//! What can be read about pools.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use windlass::monitor::HistorySpan;

use super::parameters::Parameters;
use super::segment::Segment;
use crate::failure::Failure;
use crate::json;
use crate::overview;
use crate::reply;
use crate::shared::Shared;

/// How far back the history goes unless it is told otherwise, in seconds.
const HISTORY: &str = "300";

pub(crate) async fn all(State(shared): State<Arc<Shared>>) -> Response {
    let views = shared.monitor.pools();
    reply::json(&overview::Overview::new(&shared, &views))
}

pub(crate) async fn one(
    State(shared): State<Arc<Shared>>,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let view = shared.monitor.pool(&name).ok_or_else(unknown)?;
    Ok(reply::json(&json::Pool::from(&view)))
}

pub(crate) async fn history(
    State(shared): State<Arc<Shared>>,
    Segment(name): Segment,
    mut parameters: Parameters,
) -> Result<Response, Failure> {
    let seconds = parameters.take("seconds");
    parameters.end()?;
    let span = match seconds.as_deref().unwrap_or(HISTORY) {
        "60" => HistorySpan::Seconds(60),
        "300" => HistorySpan::Seconds(300),
        "900" => HistorySpan::Seconds(900),
        "86400" => HistorySpan::Minutes(1440),
        _ => {
            let message = "seconds is 60, 300, 900 or 86400";
            return Err(Failure::invalid(message).in_field("seconds"));
        }
    };
    let history = shared.monitor.history(&name, span).ok_or_else(unknown)?;
    Ok(reply::json(&json::History::from(&history)))
}

pub(crate) async fn threads(
    State(shared): State<Arc<Shared>>,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let threads = shared.monitor.threads(&name).ok_or_else(unknown)?;
    Ok(reply::json(&json::Threads::from(&*threads)))
}

pub(crate) async fn recent(
    State(shared): State<Arc<Shared>>,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let recent = shared.monitor.recent(&name).ok_or_else(unknown)?;
    Ok(reply::json(&json::Recent::new(
        &recent,
        shared.options.show_errors,
    )))
}

pub(crate) async fn audit(State(shared): State<Arc<Shared>>) -> Response {
    reply::json(&json::Audit::from(&*shared.monitor.audit()))
}

pub(super) fn unknown() -> Failure {
    Failure::not_found("there is no such pool")
}
