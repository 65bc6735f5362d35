//! `windlass set`: changes the settings of a pool that runs.

use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use super::address::ConsoleOptions;
use super::assignment::Assignment;
use super::client::{Client, encode};
use super::view::{Changed, Pool};
use crate::duration::{Short, parse_positive};
use crate::exit::Failure;

/// The options of `windlass set`.
#[derive(Debug, Clone, Args)]
pub struct SetOptions {
    /// The pool
    #[arg(value_name = "POOL")]
    pub pool: String,

    /// Settings and their values: core, max, capacity (a number or unbounded), keep-alive,
    /// allow-core-timeout, policy, parallelism
    #[arg(value_name = "NAME=VALUE", required_unless_present_any = ["confirm", "revert"])]
    pub settings: Vec<Assignment>,

    /// Take the change back after this time, unless it is confirmed
    #[arg(long, value_name = "TIME", value_parser = parse_positive)]
    pub revert_after: Option<Duration>,

    /// Say what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Allow a change to more than four times or less than a quarter
    #[arg(long)]
    pub force: bool,

    /// Keep a change that would be taken back
    #[arg(long, conflicts_with_all = ["settings", "revert"])]
    pub confirm: bool,

    /// Take a change back now
    #[arg(long, conflicts_with = "settings")]
    pub revert: bool,

    #[command(flatten)]
    console: ConsoleOptions,
}

/// Changes the settings, and prints what has changed.
///
/// # Errors
///
/// When the console does not answer or does not agree.
pub fn set(options: &SetOptions) -> Result<(), Failure> {
    let client = Client::new(&options.console)?;
    let path = format!("/api/v1/pools/{}", encode(&options.pool));
    let lines = if options.confirm {
        let _: Value = client.post(&format!("{path}/confirm"), &json!({}))?;
        vec!["the change is kept".to_owned()]
    } else if options.revert {
        let changed: Changed = client.post(&format!("{path}/revert"), &json!({}))?;
        changed.describe()
    } else {
        let pool: Pool = client.get(&path)?;
        let changed: Changed =
            client.patch(&format!("{path}/config"), pool.version, &body(options))?;
        lines(options, &changed)
    };
    for line in lines {
        anstream::println!("{line}");
    }
    Ok(())
}

fn body(options: &SetOptions) -> Value {
    let mut body: Map<String, Value> = options
        .settings
        .iter()
        .cloned()
        .map(Assignment::into_parts)
        .map(|(field, value)| (field.to_owned(), value))
        .collect();
    body.insert("dry_run".to_owned(), options.dry_run.into());
    body.insert("force".to_owned(), options.force.into());
    if let Some(time) = options.revert_after {
        body.insert("revert_after_seconds".to_owned(), time.as_secs_f64().into());
    }
    Value::Object(body)
}

fn lines(options: &SetOptions, changed: &Changed) -> Vec<String> {
    let mut lines = changed.describe();
    if lines.is_empty() {
        lines.push("nothing changes".to_owned());
    }
    lines.extend(
        changed
            .warnings
            .iter()
            .map(|warning| format!("warning: {warning}")),
    );
    if !changed.applied {
        lines.push("nothing was changed, this was a dry run".to_owned());
    } else if let (Some(time), Some(_)) = (options.revert_after, changed.revert_at_ms) {
        lines.push(format!(
            "taken back in {}, unless you confirm: windlass set {} --confirm",
            Short(time),
            options.pool
        ));
    }
    lines
}
