//! Which request is answered by what.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;

use crate::api::{health, openapi, remote, session};
use crate::builder::Options;
use crate::failure::{Code, Failure};
use crate::guard::{self, Guard};
use crate::server::Stopping;
use crate::start_error::StartError;

/// How many questions a remote source is asked at a time.
const REMOTE_PLACES: usize = 2;

/// What the routes of one console share.
pub(crate) struct Shared {
    pub(crate) guard: Arc<Guard>,
    pub(crate) options: Options,
    pub(crate) remote_places: Arc<Semaphore>,
    pub(crate) stopping: Stopping,
}

/// The routes, before they are served.
pub(crate) struct Service(Arc<Shared>);

impl Service {
    pub(crate) fn new(
        guard: Arc<Guard>,
        options: Options,
        stopping: Stopping,
    ) -> Result<Self, StartError> {
        Ok(Self(Arc::new(Shared {
            guard,
            options,
            remote_places: Arc::new(Semaphore::new(REMOTE_PLACES)),
            stopping,
        })))
    }

    /// Returns the routes with the guard around them.
    pub(crate) fn router(&self) -> Router {
        let guard = Arc::clone(&self.0.guard);
        Router::new()
            .merge(public())
            .nest("/api/v1/remote", remote())
            .fallback(async || Failure::not_found("there is no such path"))
            .method_not_allowed_fallback(async || {
                let message = "the path has no such method";
                Failure::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unsupported, message)
            })
            .with_state(Arc::clone(&self.0))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn_with_state(guard, guard::watch))
    }
}

fn public() -> Router<Arc<Shared>> {
    Router::new()
        .route("/healthz", get(health::health))
        .route("/api/v1/openapi.json", get(openapi::openapi))
        .route("/api/v1/session", get(session::session))
}

fn remote() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(remote::overview))
        .route("/tasks/{id}", get(remote::task))
        .route("/tasks/{id}/cancel", post(remote::cancel))
        .route("/dead", get(remote::dead))
        .route("/dead/{id}", delete(remote::delete_dead))
        .route("/dead/{id}/retry", post(remote::retry_dead))
        .route("/queues/{queue}/pause", post(remote::pause))
        .route("/queues/{queue}/resume", post(remote::resume))
}

/// The payload of the panic was written by its hook; it is not for the network.
fn panicked(_payload: Box<dyn std::any::Any + Send>) -> Response {
    Failure::internal().into_response()
}
