//! What the routes of one console share.

use std::sync::Arc;

use tokio::sync::{Notify, Semaphore};
use windlass::monitor::Monitor;

use crate::builder::Options;
use crate::events::Journal;
use crate::guard::{Guard, Writes};
use crate::server::Stopping;

/// How many questions a remote source is asked at a time.
const REMOTE_PLACES: usize = 2;

/// How many clients read events at a time.
const STREAMS: usize = 8;

pub(crate) struct Shared {
    pub(crate) monitor: Monitor,
    pub(crate) guard: Arc<Guard>,
    pub(crate) options: Options,
    pub(crate) writes: Writes,
    pub(crate) journal: Arc<Journal>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) remote_places: Arc<Semaphore>,
    /// Notified when something was changed, so that the clients hear of it at once.
    pub(crate) changed: Notify,
    pub(crate) stopping: Stopping,
    pub(crate) host: String,
}

impl Shared {
    pub(crate) fn new(
        monitor: Monitor,
        guard: Arc<Guard>,
        options: Options,
        stopping: Stopping,
    ) -> Self {
        let started_ms = crate::json::milliseconds(std::time::SystemTime::now());
        Self {
            monitor,
            guard,
            options,
            writes: Writes::default(),
            journal: Arc::new(Journal::new(started_ms)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            remote_places: Arc::new(Semaphore::new(REMOTE_PLACES)),
            changed: Notify::new(),
            stopping,
            host: gethostname::gethostname().to_string_lossy().into_owned(),
        }
    }
}
