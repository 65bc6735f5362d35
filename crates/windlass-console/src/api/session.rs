//! Whether a token is right, so that the page can say so before anything is changed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;

use crate::failure::Failure;
use crate::guard::Presented;
use crate::reply;
use crate::shared::Shared;

#[derive(Serialize)]
struct Session {
    /// Whether the bearer of the token may change anything.
    write: bool,
}

pub(crate) async fn session(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let write = match shared.guard.presented(&headers) {
        Presented::Nothing => false,
        Presented::Right => !shared.guard.read_only,
        Presented::Wrong => return Err(Failure::unauthorized("the token is wrong")),
    };
    Ok(reply::json(&Session { write }))
}
