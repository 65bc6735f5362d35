//! What the console says about pools: the part of its answers that is shown.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::assignment::name_of;
use crate::duration::Short;

/// All pools of a program.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Overview {
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) started_ms: u64,
    pub(crate) now_ms: u64,
    pub(crate) read_only: bool,
    pub(crate) pools: Vec<Pool>,
}

/// One pool.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) state: String,
    pub(crate) version: u64,
    pub(crate) threads: Threads,
    pub(crate) queue: Queue,
    pub(crate) tasks: Tasks,
    pub(crate) rates: Rates,
    pub(crate) wait: Option<Quantiles>,
    pub(crate) run: Option<Quantiles>,
    pub(crate) config: Config,
    #[serde(default)]
    pub(crate) tunable: Vec<String>,
    pub(crate) pending_revert: Option<PendingRevert>,
    pub(crate) paused_until_ms: Option<u64>,
    #[serde(default)]
    pub(crate) alerts: Vec<String>,
    #[serde(default)]
    pub(crate) spark: Spark,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Threads {
    pub(crate) size: u64,
    pub(crate) active: u64,
    pub(crate) core: u64,
    /// A scheduled pool has none.
    pub(crate) max: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Queue {
    pub(crate) len: u64,
    pub(crate) capacity: Option<u64>,
    pub(crate) oldest_seconds: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tasks {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) rejected: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Rates {
    pub(crate) completed: f64,
    pub(crate) rejected: f64,
}

/// Percentiles of the last seconds, in seconds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Quantiles {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Config {
    pub(crate) policy: Option<String>,
    /// Those that it can have.
    #[serde(default)]
    pub(crate) policies: Vec<String>,
    pub(crate) capacity: Option<u64>,
    pub(crate) keep_alive_seconds: Option<f64>,
    pub(crate) parallelism: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PendingRevert {
    pub(crate) at_ms: u64,
}

/// The last minute, in points of a second.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Spark {
    pub(crate) active: Vec<u64>,
    pub(crate) queue: Vec<u64>,
}

/// The workers of a pool.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Workers {
    pub(crate) threads: Vec<Worker>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) task: Option<RunningTask>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RunningTask {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) since_seconds: f64,
}

/// The answer to a change.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Changed {
    #[serde(default)]
    pub(crate) changes: Vec<FieldChange>,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    #[serde(default)]
    pub(crate) applied: bool,
    pub(crate) revert_at_ms: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct FieldChange {
    pub(crate) field: String,
    pub(crate) old: Value,
    pub(crate) new: Value,
}

impl Threads {
    /// The threads at most, or a dash.
    pub(crate) fn shown_max(&self) -> String {
        self.max
            .map_or_else(|| "-".to_owned(), |max| max.to_string())
    }
}

impl Pool {
    /// Whether the console lets this field be changed.
    pub(crate) fn is_tunable(&self, field: &str) -> bool {
        self.tunable.iter().any(|tunable| tunable == field)
    }
}

impl Changed {
    /// Returns each change as `core 4 -> 8`, with what comes after them.
    pub(crate) fn describe(&self) -> Vec<String> {
        let describe = |change: &FieldChange| {
            let name = name_of(&change.field);
            let [old, new] = [&change.old, &change.new].map(|value| shown(&change.field, value));
            format!("{name} {old} -> {new}")
        };
        self.changes.iter().map(describe).collect()
    }
}

/// The value of a setting, as `windlass set` takes it.
fn shown(field: &str, value: &Value) -> String {
    match value {
        Value::Number(seconds) if field == "keep_alive_seconds" => {
            let time = Duration::try_from_secs_f64(seconds.as_f64().unwrap_or_default());
            Short(time.unwrap_or(Duration::MAX)).to_string()
        }
        Value::String(text) => text.clone(),
        Value::Null => "unbounded".to_owned(),
        other => other.to_string(),
    }
}
