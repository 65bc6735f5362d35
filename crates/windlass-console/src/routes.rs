//! Which request is answered by what.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, patch, post};
use tower_http::catch_panic::CatchPanicLayer;

use crate::api::{
    alerts, commands, config, events, health, history, metrics, openapi, pools, remote, session,
};
use crate::assets;
use crate::failure::{Code, Failure};
use crate::guard;
use crate::shared::Shared;

/// Returns the routes with the guard around them.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let guard = Arc::clone(&shared.guard);
    Router::new()
        .merge(page())
        .merge(general())
        .nest("/api/v1/pools", pools())
        .nest("/api/v1/remote", remote())
        .fallback(async || Failure::not_found("there is no such path"))
        .method_not_allowed_fallback(async || {
            let message = "the path has no such method";
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unsupported, message)
        })
        .with_state(shared)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(guard, guard::watch))
}

fn page() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(assets::index))
        .route("/assets/{name}", get(assets::file))
}

fn general() -> Router<Arc<Shared>> {
    Router::new()
        .route("/healthz", get(health::health))
        .route("/metrics", get(metrics::metrics))
        .route("/events", get(events::events))
        .route("/api/v1/openapi.json", get(openapi::openapi))
        .route("/api/v1/session", get(session::session))
        .route("/api/v1/audit", get(pools::audit))
        .route("/api/v1/alerts", get(alerts::all))
        .route("/api/v1/alerts/{id}/silence", post(alerts::silence))
}

fn pools() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(pools::all))
        .route("/{pool}", get(pools::one))
        .route("/{pool}/history", get(history::history))
        .route("/{pool}/threads", get(pools::threads))
        .route("/{pool}/recent", get(pools::recent))
        .route("/{pool}/config", patch(config::patch))
        .route("/{pool}/alerts", patch(alerts::set_thresholds))
        .route("/{pool}/confirm", post(commands::confirm))
        .route("/{pool}/revert", post(commands::revert))
        .route("/{pool}/pause", post(commands::pause))
        .route("/{pool}/resume", post(commands::resume))
        .route("/{pool}/purge", post(commands::purge))
        .route("/{pool}/prestart", post(commands::prestart))
        .route("/{pool}/shutdown", post(commands::shutdown))
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
