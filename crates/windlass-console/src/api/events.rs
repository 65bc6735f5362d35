//! The stream of events.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};

use crate::events::Client;
use crate::failure::Failure;
use crate::overview::Overview;
use crate::shared::Shared;

/// After how long a comment is sent if nothing else was.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// When it is worth trying again if there is no place.
const RETRY: Duration = Duration::from_secs(5);

pub(crate) async fn events(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let place = Arc::clone(&shared.streams)
        .try_acquire_owned()
        .map_err(|_| Failure::too_many("there are 8 clients of events already", RETRY))?;
    // What is no number of ours is as good as none: the client starts from a snapshot.
    let last = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let client = Client {
        journal: Arc::clone(&shared.journal),
        last,
        stopping: shared.stopping.clone(),
        _place: place,
        snapshot: move || {
            let views = shared.monitor.pools();
            serde_json::to_string(&Overview::new(&shared, &views)).unwrap_or_default()
        },
    };
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(client.stream())
        .keep_alive(keep_alive)
        .into_response())
}
