//! All pools and the process that they are in.

use serde::Serialize;
use windlass::monitor::PoolView;

use crate::json::{self, milliseconds};
use crate::shared::Shared;

/// The body of `GET pools` and of the event `hello`.
#[derive(Serialize)]
pub(crate) struct Overview<'a> {
    windlass: &'static str,
    host: &'a str,
    pid: u32,
    started_ms: u64,
    now_ms: u64,
    read_only: bool,
    allow_shutdown: bool,
    remote: bool,
    pools: Vec<json::Pool<'a>>,
}

/// The body of the event `pools`.
#[derive(Serialize)]
pub(crate) struct Figures<'a> {
    now_ms: u64,
    pools: Vec<json::Pool<'a>>,
}

impl<'a> Overview<'a> {
    pub(crate) fn new(shared: &'a Shared, views: &'a [PoolView]) -> Self {
        Self {
            windlass: env!("CARGO_PKG_VERSION"),
            host: &shared.host,
            pid: std::process::id(),
            started_ms: milliseconds(shared.monitor.started()),
            now_ms: milliseconds(shared.monitor.now()),
            read_only: shared.options.read_only,
            allow_shutdown: shared.options.allow_shutdown,
            remote: shared.options.remote.is_some(),
            pools: views.iter().map(json::Pool::from).collect(),
        }
    }
}

impl<'a> Figures<'a> {
    pub(crate) fn new(shared: &Shared, views: &'a [PoolView]) -> Self {
        Self {
            now_ms: milliseconds(shared.monitor.now()),
            pools: views.iter().map(json::Pool::from).collect(),
        }
    }
}
