//! The commands to pools.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
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

impl Command {
    fn new(shared: Arc<Shared>, pool: String, peer: Peer) -> Self {
        Self {
            shared,
            pool,
            actor: peer.0.to_string(),
        }
    }

    /// Carries the command out, unless the pool was changed less than a second ago.
    fn run<T>(
        &self,
        command: impl FnOnce(&Monitor, &str, Option<&str>) -> Result<T, ChangeError>,
    ) -> Result<T, Failure> {
        self.shared
            .writes
            .make(&self.pool, Instant::now(), || self.run_at_once(command))
    }

    fn run_at_once<T>(
        &self,
        command: impl FnOnce(&Monitor, &str, Option<&str>) -> Result<T, ChangeError>,
    ) -> Result<T, Failure> {
        let done = command(&self.shared.monitor, &self.pool, Some(&self.actor));
        self.shared.changed.notify_one();
        done.map_err(refusal::failure)
    }
}

/// Confirming changes nothing in the pool, so it may follow the change at once.
pub(crate) async fn confirm(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let command = Command::new(shared, pool, peer);
    let version = command.run_at_once(|monitor, pool, actor| monitor.confirm(pool, actor))?;
    Ok(reply::json(&Version { version }))
}

pub(crate) async fn revert(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let command = Command::new(shared, pool, peer);
    let changed = command.run(|monitor, pool, actor| monitor.revert(pool, actor))?;
    Ok(reply::json(&json::Reverted::from(&changed)))
}

pub(crate) async fn pause(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    let mut fields = Fields::read(body).await?;
    let time = fields.seconds("seconds")?.unwrap_or(PAUSE);
    fields.end()?;
    let command = Command::new(shared, pool, peer);
    let until = command.run(|monitor, pool, actor| monitor.pause(pool, time, actor))?;
    Ok(reply::json(&Paused {
        paused_until_ms: Some(milliseconds(until)),
    }))
}

pub(crate) async fn resume(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let command = Command::new(shared, pool, peer);
    command.run(|monitor, pool, actor| monitor.resume(pool, actor))?;
    Ok(reply::json(&Paused {
        paused_until_ms: None,
    }))
}

pub(crate) async fn purge(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let command = Command::new(shared, pool, peer);
    let removed = command.run(|monitor, pool, actor| monitor.purge(pool, actor))?;
    Ok(reply::json(&Removed { removed }))
}

pub(crate) async fn prestart(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let command = Command::new(shared, pool, peer);
    let started = command.run(|monitor, pool, actor| monitor.prestart(pool, actor))?;
    Ok(reply::json(&Started { started }))
}

pub(crate) async fn shutdown(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    if !shared.options.allow_shutdown {
        return Err(Failure::forbidden("the console was not told to allow this"));
    }
    Fields::read(body).await?.end()?;
    let command = Command::new(shared, pool, peer);
    command.run(|monitor, pool, actor| monitor.shutdown(pool, actor))?;
    Ok(reply::json(&Done { ok: true }))
}
