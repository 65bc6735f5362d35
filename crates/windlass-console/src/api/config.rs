//! The change of settings.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use windlass::monitor::{Change, ChangeOptions};

use super::commands::aside;
use super::refusal;
use super::segment::Segment;
use crate::body::Fields;
use crate::failure::{Code, Failure};
use crate::json;
use crate::reply;
use crate::server::Peer;
use crate::shared::Shared;

pub(crate) async fn patch(
    State(shared): State<Arc<Shared>>,
    Segment(name): Segment,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let version = version(&headers)?;
    let mut fields = Fields::read(body).await?;
    let change = change(&mut fields)?;
    let options = options(&mut fields)?
        .version(version)
        .actor(peer.0.to_string());
    fields.end()?;
    let theirs = Arc::clone(&shared);
    let changed = aside(move || {
        let changed = || theirs.monitor.change(&name, &change, &options);
        let apply = || changed().map_err(refusal::failure);
        // Who only asks what would happen may ask as often as a hand moves a slider.
        if options.dry_run {
            apply()
        } else {
            theirs.writes.make(&name, Instant::now(), apply)
        }
    })
    .await?;
    shared.changed.notify_one();
    Ok(reply::json(&json::Changed::from(&changed)))
}

/// Reads the version that the change was made for: `If-Match: "3"`.
fn version(headers: &HeaderMap) -> Result<u64, Failure> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        let message = "a change names the version of the settings that it was made for";
        let failure = Failure::new(StatusCode::PRECONDITION_REQUIRED, Code::Invalid, message);
        return Err(failure.in_field("If-Match"));
    };
    let text = value.to_str().unwrap_or_default();
    let quoted = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let digits = quoted.unwrap_or(text);
    // `parse` would take a sign too.
    let number = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok());
    number
        .flatten()
        .ok_or_else(|| Failure::invalid("If-Match is a version in quotes").in_field("If-Match"))
}

fn change(fields: &mut Fields) -> Result<Change, Failure> {
    let mut change = Change::new();
    change.core = fields.count("core")?;
    change.max = fields.count("max")?;
    change.keep_alive = fields.seconds("keep_alive_seconds")?;
    change.allow_core_timeout = fields.flag("allow_core_timeout")?;
    change.capacity = match fields.is_null("capacity") {
        // As it is shown: no bound.
        true => Some(usize::MAX),
        false => fields.count("capacity")?,
    };
    change.policy = fields.text("policy")?.map(Arc::from);
    change.parallelism = fields.count("parallelism")?;
    Ok(change)
}

fn options(fields: &mut Fields) -> Result<ChangeOptions, Failure> {
    let mut options = ChangeOptions::new()
        .dry_run(fields.flag("dry_run")?.unwrap_or(false))
        .force(fields.flag("force")?.unwrap_or(false));
    options.revert_after = fields.seconds("revert_after_seconds")?;
    Ok(options)
}
