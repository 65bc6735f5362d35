//! Why the monitor refused a change, as a failure of the request.

use axum::http::StatusCode;
use windlass::monitor::{ChangeError, Field};
use windlass::queue::CapacityError;

use super::pools::unknown;
use crate::failure::{Code, Failure};

pub(super) fn failure(error: ChangeError) -> Failure {
    let (status, code) = match &error {
        ChangeError::UnknownPool => return unknown(),
        ChangeError::Panicked => return Failure::internal(),
        ChangeError::Conflict { .. }
        | ChangeError::Busy
        | ChangeError::NotTunable(Field::Capacity)
        | ChangeError::Capacity(CapacityError::NotResizable)
        | ChangeError::NothingPending
        | ChangeError::Unsupported(_) => (StatusCode::CONFLICT, Code::Conflict),
        ChangeError::OutsideLimits { .. } | ChangeError::TooLarge(_) => {
            (StatusCode::UNPROCESSABLE_ENTITY, Code::OutsideLimits)
        }
        _ => (StatusCode::BAD_REQUEST, Code::Invalid),
    };
    let failure = Failure::new(status, code, error.to_string());
    match error.field() {
        Some(field) => failure.in_field(field.as_str()),
        None => failure,
    }
}
