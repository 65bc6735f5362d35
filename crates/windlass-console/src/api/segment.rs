//! A segment of the path that names something.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::failure::Failure;

/// The one variable segment of a path, decoded.
#[derive(Debug)]
pub(crate) struct Segment(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path(name) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Failure::invalid("the path is not UTF-8"))?;
        Ok(Self(name))
    }
}
