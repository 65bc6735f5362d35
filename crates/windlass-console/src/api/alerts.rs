//! Alerts, their thresholds and their silence.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use windlass::monitor::Thresholds;

use super::pools::unknown;
use super::segment::Segment;
use crate::body::Fields;
use crate::failure::Failure;
use crate::json;
use crate::reply;
use crate::server::Peer;
use crate::shared::Shared;

/// How long an alert is silenced unless it is told otherwise.
const SILENCE: Duration = Duration::from_secs(120);

/// The longest silence: an alert must not be forgotten.
const LONGEST_SILENCE: Duration = Duration::from_secs(86_400);

pub(crate) async fn all(State(shared): State<Arc<Shared>>) -> Response {
    let alerts = shared.monitor.alerts();
    let thresholds = shared.monitor.all_thresholds();
    reply::json(&json::Alerts::new(&alerts, &thresholds))
}

pub(crate) async fn set_thresholds(
    State(shared): State<Arc<Shared>>,
    Segment(pool): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    let mut fields = Fields::read(body).await?;
    let mut thresholds = shared.monitor.thresholds(&pool).ok_or_else(unknown)?;
    update(&mut thresholds, &mut fields)?;
    fields.end()?;
    let json = json::Thresholds::from(&thresholds);
    let actor = peer.0.to_string();
    // The thresholds are no settings of the pool: those may be changed in the same second.
    let key = format!("{pool} alerts");
    shared.writes.make(&key, Instant::now(), || {
        let monitor = &shared.monitor;
        let is_set = monitor.set_thresholds_as(&pool, thresholds, Some(&actor));
        is_set.then_some(()).ok_or_else(unknown)
    })?;
    shared.changed.notify_one();
    Ok(reply::json(&json))
}

fn update(thresholds: &mut Thresholds, fields: &mut Fields) -> Result<(), Failure> {
    update_fraction(&mut thresholds.activity, fields, "activity")?;
    update_fraction(&mut thresholds.capacity, fields, "capacity")?;
    update_time(&mut thresholds.queue_age, fields, "queue_age_seconds")?;
    update_limit(&mut thresholds.run_timeout, fields, "run_timeout_seconds")?;
    update_limit(
        &mut thresholds.queue_timeout,
        fields,
        "queue_timeout_seconds",
    )?;
    update_time(&mut thresholds.stuck, fields, "stuck_seconds")?;
    if let Some(threads) = fields.count("churn_per_minute")? {
        thresholds.churn_per_minute = u64::try_from(threads).unwrap_or(u64::MAX);
    }
    Ok(())
}

fn update_fraction(
    fraction: &mut f64,
    fields: &mut Fields,
    name: &'static str,
) -> Result<(), Failure> {
    match fields.number(name)? {
        Some(new) if new > 0.0 && new <= 1.0 => *fraction = new,
        Some(_) => {
            let message = format!("{name} is a fraction: above 0, at most 1");
            return Err(Failure::invalid(message).in_field(name));
        }
        None => {}
    }
    Ok(())
}

fn update_time(
    time: &mut Duration,
    fields: &mut Fields,
    name: &'static str,
) -> Result<(), Failure> {
    if let Some(new) = positive(fields, name)? {
        *time = new;
    }
    Ok(())
}

/// A limit that is null is not watched.
fn update_limit(
    limit: &mut Option<Duration>,
    fields: &mut Fields,
    name: &'static str,
) -> Result<(), Failure> {
    if fields.is_null(name) {
        *limit = None;
    } else if let Some(new) = positive(fields, name)? {
        *limit = Some(new);
    }
    Ok(())
}

fn positive(fields: &mut Fields, name: &'static str) -> Result<Option<Duration>, Failure> {
    let time = fields.seconds(name)?;
    if time.is_some_and(|time| time.is_zero()) {
        return Err(Failure::invalid(format!("{name} is not zero")).in_field(name));
    }
    Ok(time)
}

pub(crate) async fn silence(
    State(shared): State<Arc<Shared>>,
    Segment(id): Segment,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    let mut fields = Fields::read(body).await?;
    let time = positive(&mut fields, "seconds")?.unwrap_or(SILENCE);
    fields.end()?;
    if time > LONGEST_SILENCE {
        return Err(Failure::invalid("an alert is silenced for a day at most").in_field("seconds"));
    }
    let actor = peer.0.to_string();
    let alert = shared.monitor.silence_as(&id, time, Some(&actor));
    let alert = alert.ok_or_else(|| Failure::not_found("there is no such alert"))?;
    shared.changed.notify_one();
    Ok(reply::json(&json::Alert::from(&alert)))
}
