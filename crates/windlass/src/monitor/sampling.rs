//! The sample that a monitor takes once a second.

use super::registry::RegisteredPool;
use super::shared::Shared;
use super::sinks::Event;
use crate::sync::atomic::Ordering;

impl Shared {
    /// Takes a sample of all executors, and undoes what is to be undone by now.
    pub(super) fn sample(&self) {
        let pools = self.registry.pools();
        // Before the others are read: one of them may have the name, and so the alerts, of one that is gone.
        self.forget_others(&pools);
        for pool in &pools {
            self.sample_one(pool);
        }
        self.revert_due(&pools);
        self.samples.fetch_add(1, Ordering::Relaxed);
        self.sinks.send(Event::Sampled);
    }

    /// Forgets executors that are not among these, and tells that their alerts have ended with them.
    fn forget_others(&self, pools: &[RegisteredPool]) {
        let wall = self.clock.wall_now();
        for track in self.with(|state| state.keep_only(pools)) {
            for alert in track.alerts.end(wall) {
                self.sinks.send(Event::Alert(alert));
            }
        }
    }

    fn sample_one(&self, pool: &RegisteredPool) {
        // The settings are compared only if no change began or ended since they were read.
        let version = self.with(|state| state.known(pool).map(|track| track.tuning.version));
        if version.is_none() {
            // From now on it keeps what is asked for below.
            let _ = self.call(|| pool.call(|executor| executor.keep_records()));
        }
        let Ok(snapshot) = self.call(|| pool.snapshot()) else {
            return;
        };
        let records = self.call(|| pool.call(|executor| executor.take_records()));
        let now = self.now();
        let (alerts, audit) = self.with(|state| {
            let track = state.track(pool, &snapshot, &self.thresholds);
            let alerts = track.sample(now, &snapshot, records.unwrap_or_default());
            let tuning = &mut track.tuning;
            let is_current = version == Some(tuning.version) && !tuning.is_busy;
            let changed = is_current
                .then(|| tuning.observe(pool.name(), now.1, &snapshot.settings))
                .flatten();
            (alerts, changed.map(|entry| state.audit.add(entry)))
        });
        for alert in alerts {
            self.sinks.send(Event::Alert(alert));
        }
        self.tell(audit);
    }
}
