//! An error of the API, in the form that every client reads.

use std::borrow::Cow;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::reply;

/// What went wrong, in a word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    Invalid,
    Unauthorized,
    Forbidden,
    NotFound,
    Conflict,
    OutsideLimits,
    TooMany,
    Unsupported,
    /// The engine of the attached remote source did not answer.
    Unavailable,
    Internal,
}

/// The refusal of a request. Its body is `{"error":{"code","message","field"}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    status: StatusCode,
    code: Code,
    message: Cow<'static, str>,
    field: Option<Cow<'static, str>>,
    retry_after: Option<u64>,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: Content<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    code: Code,
    message: &'a str,
    field: Option<&'a str>,
}

impl Failure {
    pub(crate) fn new(
        status: StatusCode,
        code: Code,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            field: None,
            retry_after: None,
        }
    }

    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::Invalid, message)
    }

    pub(crate) fn unauthorized(message: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, Code::Unauthorized, message)
    }

    pub(crate) fn forbidden(message: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, Code::Forbidden, message)
    }

    pub(crate) fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound, message)
    }

    pub(crate) fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, Code::Conflict, message)
    }

    /// `wait` is when it is worth trying again; it is rounded up to seconds.
    pub(crate) fn too_many(message: &'static str, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Self {
            retry_after: Some(seconds.max(1)),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, Code::TooMany, message)
        }
    }

    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::Internal,
            "the request panicked",
        )
    }

    /// Names the field of the body, or the parameter, that the error is about.
    pub(crate) fn in_field(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    #[cfg(test)]
    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let content = Content {
            code: self.code,
            message: &self.message,
            field: self.field.as_deref(),
        };
        let mut response = reply::json(&Envelope { error: content });
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
