//! The description of the API.

use axum::http::header;
use axum::response::IntoResponse;

const DESCRIPTION: &str = include_str!("../../openapi.json");

pub(crate) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION)
}
