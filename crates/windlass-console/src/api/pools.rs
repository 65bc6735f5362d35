//! What can be read about pools.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::segment::Segment;
use crate::failure::Failure;
use crate::json;
use crate::overview;
use crate::reply;
use crate::shared::Shared;

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
