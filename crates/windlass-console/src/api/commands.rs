//! The commands to pools.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use serde::Serialize;
use windlass::monitor::{ChangeError, Monitor};

use super::refusal;
use super::segment::Segment;
use crate::body::Fields;
use crate::failure::Failure;
use crate::json::{self, milliseconds};
use crate::reply;
use crate::server::Peer;
use crate::shared::Shared;

/// How long a pause lasts unless it is told otherwise: a pool must not stay paused because its page was
/// closed.
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Serialize)]
struct Version {
    version: u64,
}

#[derive(Serialize)]
struct Paused {
    paused_until_ms: Option<u64>,
}

#[derive(Serialize)]
struct Removed {
    removed: usize,
}

#[derive(Serialize)]
struct Started {
    started: usize,
}

#[derive(Serialize)]
struct Done {
    ok: bool,
}

/// A command to one pool, from somebody.
pub(crate) struct Command {
    shared: Arc<Shared>,
    pool: String,
    actor: String,
}

impl FromRequestParts<Arc<Shared>> for Command {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Failure> {
        let Segment(pool) = Segment::from_request_parts(parts, shared).await?;
        // The server names the peer of each request.
        let peer = parts.extensions.get::<Peer>();
        Ok(Self {
            shared: Arc::clone(shared),
            pool,
            actor: peer.map(|peer| peer.0.to_string()).unwrap_or_default(),
        })
    }
}

impl Command {
    /// Carries the command out, unless the pool was changed less than a second ago.
    async fn run<T: Send + 'static>(
        self,
        command: impl FnOnce(&Monitor, &str, Option<&str>) -> Result<T, ChangeError> + Send + 'static,
    ) -> Result<T, Failure> {
        aside(move || {
            let writes = &self.shared.writes;
            writes.make(&self.pool, Instant::now(), || self.carry_out(command))
        })
        .await
    }

    async fn run_at_once<T: Send + 'static>(
        self,
        command: impl FnOnce(&Monitor, &str, Option<&str>) -> Result<T, ChangeError> + Send + 'static,
    ) -> Result<T, Failure> {
        aside(move || self.carry_out(command)).await
    }

    fn carry_out<T>(
        &self,
        command: impl FnOnce(&Monitor, &str, Option<&str>) -> Result<T, ChangeError>,
    ) -> Result<T, Failure> {
        let done = command(&self.shared.monitor, &self.pool, Some(&self.actor));
        self.shared.changed.notify_one();
        done.map_err(refusal::failure)
    }
}

/// Changes a pool on a thread that may block: its queue and its thread factory may be the user's, and the
/// console goes on meanwhile.
pub(super) async fn aside<T: Send + 'static>(
    change: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(change).await;
    done.unwrap_or_else(|_panicked| Err(Failure::internal()))
}

/// Confirming changes nothing in the pool, so it may follow the change at once.
pub(crate) async fn confirm(command: Command, body: Body) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let version = command
        .run_at_once(|monitor, pool, actor| monitor.confirm(pool, actor))
        .await?;
    Ok(reply::json(&Version { version }))
}

pub(crate) async fn revert(command: Command, body: Body) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let changed = command
        .run(|monitor, pool, actor| monitor.revert(pool, actor))
        .await?;
    Ok(reply::json(&json::Reverted::from(&changed)))
}

pub(crate) async fn pause(command: Command, body: Body) -> Result<Response, Failure> {
    let mut fields = Fields::read(body).await?;
    let time = fields.seconds("seconds")?.unwrap_or(PAUSE);
    fields.end()?;
    let until = command
        .run(move |monitor, pool, actor| monitor.pause(pool, time, actor))
        .await?;
    Ok(reply::json(&Paused {
        paused_until_ms: Some(milliseconds(until)),
    }))
}

pub(crate) async fn resume(command: Command, body: Body) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    command
        .run(|monitor, pool, actor| monitor.resume(pool, actor))
        .await?;
    Ok(reply::json(&Paused {
        paused_until_ms: None,
    }))
}

pub(crate) async fn purge(command: Command, body: Body) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let removed = command
        .run(|monitor, pool, actor| monitor.purge(pool, actor))
        .await?;
    Ok(reply::json(&Removed { removed }))
}

pub(crate) async fn prestart(command: Command, body: Body) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let started = command
        .run(|monitor, pool, actor| monitor.prestart(pool, actor))
        .await?;
    Ok(reply::json(&Started { started }))
}

pub(crate) async fn shutdown(command: Command, body: Body) -> Result<Response, Failure> {
    if !command.shared.options.allow_shutdown {
        return Err(Failure::forbidden("the console was not told to allow this"));
    }
    Fields::read(body).await?.end()?;
    command
        .run(|monitor, pool, actor| monitor.shutdown(pool, actor))
        .await?;
    Ok(reply::json(&Done { ok: true }))
}
