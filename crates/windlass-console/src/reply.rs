//! A value as a JSON response.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Returns `value` as JSON, with status 200.
pub(crate) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let mut response = Response::new(Body::from(body));
            response.headers_mut().insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            response
        }
        // Maps with keys that are not strings are what cannot be written; the API has none.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
