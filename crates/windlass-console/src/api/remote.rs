//! The routes of the attached remote source.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tokio::time::timeout;
use windlass::monitor::Action;

use super::parameters::Parameters;
use super::segment::Segment;
use crate::body::Fields;
use crate::failure::{Code, Failure};
use crate::remote::{RemoteError, RemoteSource, RemoteTask};
use crate::reply;
use crate::server::Peer;
use crate::shared::Shared;

/// How long the engine may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the audit calls the engine, where it names a pool otherwise.
const SUBJECT: &str = "remote";

#[derive(Serialize)]
struct Done {
    ok: bool,
}

pub(crate) async fn overview(State(shared): State<Arc<Shared>>) -> Result<Response, Failure> {
    let overview = ask(&shared, |source| source.overview()).await?;
    Ok(reply::json(&overview))
}

pub(crate) async fn task(
    State(shared): State<Arc<Shared>>,
    Segment(id): Segment,
    mut parameters: Parameters,
) -> Result<Response, Failure> {
    let queue = parameters.take("queue");
    parameters.end()?;
    let task = ask(&shared, move |source| source.task(queue.as_deref(), &id)).await?;
    Ok(reply::json(&redacted(&shared, task)))
}

pub(crate) async fn dead(
    State(shared): State<Arc<Shared>>,
    mut parameters: Parameters,
) -> Result<Response, Failure> {
    let queue = parameters.take("queue");
    let cursor = parameters
        .take("cursor")
        .filter(|cursor| !cursor.is_empty());
    parameters.end()?;
    let read = move |source: &dyn RemoteSource| source.dead(queue.as_deref(), cursor.as_deref());
    let mut page = ask(&shared, read).await?;
    page.tasks = page
        .tasks
        .into_iter()
        .map(|task| redacted(&shared, task))
        .collect();
    Ok(reply::json(&page))
}

pub(crate) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Segment(id): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let asked = Asked::new(Action::RemoteCancel, format!("task {id}"), peer);
    command(&shared, asked, move |source| source.cancel(&id)).await
}

pub(crate) async fn retry_dead(
    State(shared): State<Arc<Shared>>,
    Segment(id): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let asked = Asked::new(Action::RemoteRetry, format!("task {id}"), peer);
    command(&shared, asked, move |source| source.retry_dead(&id)).await
}

pub(crate) async fn delete_dead(
    State(shared): State<Arc<Shared>>,
    Segment(id): Segment,
    Extension(peer): Extension<Peer>,
) -> Result<Response, Failure> {
    let asked = Asked::new(Action::RemoteDelete, format!("task {id}"), peer);
    command(&shared, asked, move |source| source.delete_dead(&id)).await
}

pub(crate) async fn pause(
    State(shared): State<Arc<Shared>>,
    Segment(queue): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let asked = Asked::new(Action::RemotePause, format!("queue {queue}"), peer);
    command(&shared, asked, move |source| source.pause(&queue)).await
}

pub(crate) async fn resume(
    State(shared): State<Arc<Shared>>,
    Segment(queue): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    Fields::read(body).await?.end()?;
    let asked = Asked::new(Action::RemoteResume, format!("queue {queue}"), peer);
    command(&shared, asked, move |source| source.resume(&queue)).await
}

/// What the audit says of a command.
struct Asked {
    action: Action,
    detail: String,
    actor: String,
}

impl Asked {
    fn new(action: Action, detail: String, peer: Peer) -> Self {
        Self {
            action,
            detail,
            actor: peer.0.to_string(),
        }
    }
}

async fn command(
    shared: &Shared,
    asked: Asked,
    command: impl FnOnce(&dyn RemoteSource) -> Result<(), RemoteError> + Send + 'static,
) -> Result<Response, Failure> {
    ask(shared, command).await?;
    let monitor = &shared.monitor;
    monitor.record(SUBJECT, asked.action, Some(&asked.actor), &asked.detail);
    shared.changed.notify_one();
    Ok(reply::json(&Done { ok: true }))
}

/// Asks the source, on a thread that may block.
pub(crate) async fn ask<T: Send + 'static>(
    shared: &Shared,
    question: impl FnOnce(&dyn RemoteSource) -> Result<T, RemoteError> + Send + 'static,
) -> Result<T, Failure> {
    let Some(source) = shared.options.remote.clone() else {
        return Err(Failure::not_found("no remote source is attached"));
    };
    let places = Arc::clone(&shared.remote_places);
    let answer = timeout(PATIENCE, async move {
        let place = places.acquire_owned().await;
        tokio::task::spawn_blocking(move || {
            // A question that nobody waits for any longer still holds its place.
            let _place = place;
            question(&*source)
        })
        .await
    });
    match answer.await {
        Ok(Ok(Ok(answer))) => Ok(answer),
        Ok(Ok(Err(error))) => Err(failure(shared, error)),
        Ok(Err(_)) => Err(Failure::internal()),
        Err(_) => Err(unavailable("the engine did not answer in 2 s")),
    }
}

fn failure(shared: &Shared, error: RemoteError) -> Failure {
    match error {
        RemoteError::NotFound => Failure::not_found("there is no such task or queue"),
        RemoteError::Refused(why) => Failure::conflict(why),
        RemoteError::Unavailable(why) if shared.options.show_errors => unavailable(why),
        RemoteError::Unavailable(_) => unavailable("the engine did not answer"),
    }
}

fn unavailable(message: impl Into<std::borrow::Cow<'static, str>>) -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
}

fn redacted(shared: &Shared, mut task: RemoteTask) -> RemoteTask {
    if !shared.options.show_errors {
        task.error = None;
    }
    task
}
