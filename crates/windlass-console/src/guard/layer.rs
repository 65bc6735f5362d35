//! The guard as a layer around all routes, those that do not exist included.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::access::Guard;
use super::headers;
use crate::server::Peer;

/// Lets a request through to its route, or answers it; then adds the headers of every response.
pub(crate) async fn watch(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    // The server puts it there for every connection.
    let Some(&peer) = parts.extensions.get::<Peer>() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = match guard.check(&parts, peer, Instant::now()) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(failure) => failure.into_response(),
    };
    headers::add(response.headers_mut());
    response
}
