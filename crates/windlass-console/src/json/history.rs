//! The past of a pool in columns, as charts take it.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass::monitor;

use super::units::milliseconds;

#[derive(Serialize)]
pub(crate) struct History<'a> {
    step_seconds: u64,
    t_ms: Vec<u64>,
    series: BTreeMap<&'static str, &'a [Option<f64>]>,
}

impl<'a> From<&'a monitor::History> for History<'a> {
    fn from(history: &'a monitor::History) -> Self {
        Self {
            step_seconds: history.step.as_secs(),
            t_ms: history
                .times
                .iter()
                .map(|&time| milliseconds(time))
                .collect(),
            series: history
                .series
                .iter()
                .map(|(name, values)| (*name, &**values))
                .collect(),
        }
    }
}
