//! Alerts on an attached engine: it is asked once a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};
use windlass::monitor::{AlertKind, Condition, Monitor};

use crate::api::remote;
use crate::remote::{Overview, Queue};
use crate::shared::Shared;

/// How often the engine is asked.
const LOOK: Duration = Duration::from_secs(1);

/// How long there are no new dead letters before the alert on them is cleared.
const QUIET: Duration = Duration::from_secs(60);

/// What the alerts on an engine as a whole are about.
const ENGINE: &str = "remote";

/// Asks the engine and reports what it finds to the monitor.
pub(crate) struct RemoteWatch {
    shared: Arc<Shared>,
    queues: Queues,
}

/// The queues that were seen, by name.
#[derive(Debug, Default)]
struct Queues(BTreeMap<String, Letters>);

/// The dead letters of a queue.
#[derive(Debug, Clone, Copy)]
struct Letters {
    dead: u64,
    /// How many there were before the last ones came.
    before: u64,
    grew: Option<Instant>,
}

impl RemoteWatch {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            queues: Queues::default(),
        }
    }

    /// Asks until the console stops.
    pub(crate) async fn run(mut self) {
        let mut stopping = self.shared.stopping.clone();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = looks.tick() => self.look().await,
                () = stopping.wait() => return,
            }
        }
    }

    async fn look(&mut self) {
        let asked = remote::ask(&self.shared, |source| source.overview()).await;
        let overview = asked.ok().filter(|overview| overview.engine.up);
        let monitor = &self.shared.monitor;
        report_engine(monitor, overview.is_some());
        if let Some(overview) = overview {
            self.queues.report(monitor, &overview, Instant::now());
        }
    }
}

fn report_engine(monitor: &Monitor, is_up: bool) {
    let mut down = Condition::new(ENGINE, AlertKind::EngineDown);
    (down.raises, down.clears) = (!is_up, is_up);
    (down.value, down.threshold) = (f64::from(u8::from(is_up)), 1.0);
    down.message = "the engine does not answer";
    monitor.report(&down);
}

impl Queues {
    /// Reports the queues of an engine that has answered; of one that is gone, that all is well.
    fn report(&mut self, monitor: &Monitor, overview: &Overview, now: Instant) {
        for queue in &overview.queues {
            report_workers(monitor, queue);
            let letters = self.0.entry(queue.name.clone()).or_insert(Letters {
                dead: queue.dead,
                before: queue.dead,
                grew: None,
            });
            letters.update(queue.dead, now);
            letters.report(monitor, &queue.name, now);
        }
        let is_there = |name: &str| overview.queues.iter().any(|queue| queue.name == name);
        self.0.retain(|name, _| {
            let stays = is_there(name);
            if !stays {
                for kind in [AlertKind::RemoteNoWorker, AlertKind::RemoteDead] {
                    let mut gone = Condition::new(name, kind);
                    gone.clears = true;
                    monitor.report(&gone);
                }
            }
            stays
        });
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
fn report_workers(monitor: &Monitor, queue: &Queue) {
    let ready: u64 = queue.ready.iter().sum();
    // A queue that is paused needs no worker.
    let is_alone = ready > 0 && queue.workers == 0 && !queue.paused;
    let mut alone = Condition::new(&queue.name, AlertKind::RemoteNoWorker);
    (alone.raises, alone.clears) = (is_alone, !is_alone);
    alone.value = ready as f64;
    let message = format!("{ready} tasks are ready and no worker serves the queue");
    alone.message = &message;
    monitor.report(&alone);
}

impl Letters {
    fn update(&mut self, dead: u64, now: Instant) {
        if dead > self.dead {
            let lately = self.grew.is_some_and(|at| now.duration_since(at) < QUIET);
            if !lately {
                self.before = self.dead;
            }
            self.grew = Some(now);
        }
        self.dead = dead;
    }

    #[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
    fn report(&self, monitor: &Monitor, queue: &str, now: Instant) {
        let lately = self.grew.is_some_and(|at| now.duration_since(at) < QUIET);
        let mut grew = Condition::new(queue, AlertKind::RemoteDead);
        (grew.raises, grew.clears) = (lately, !lately);
        let more = self.dead.saturating_sub(self.before);
        grew.value = more as f64;
        let message = format!("{more} tasks became dead letters, {} in all", self.dead);
        grew.message = &message;
        monitor.report(&grew);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use windlass::monitor::{Monitor, Registry};

    use super::{QUIET, Queues};
    use crate::remote::{Engine, Overview, Queue};

    fn overview(queues: &[(&str, u64)]) -> Overview {
        let queue = |(name, dead): &(&str, u64)| Queue {
            name: (*name).to_owned(),
            ready: vec![0],
            scheduled: 0,
            running: 0,
            dead: *dead,
            levels: Vec::new(),
            oldest_ready_seconds: None,
            paused: false,
            workers: 0,
            slots: 0,
            slots_free: 0,
            totals: None,
        };
        Overview {
            engine: Engine {
                kind: "memory".to_owned(),
                up: true,
                latency_seconds: None,
            },
            queues: queues.iter().map(queue).collect(),
            workers: Vec::new(),
        }
    }

    #[test]
    fn new_dead_letters_raise_and_clear_after_a_quiet_minute() {
        let registry = Registry::new();
        let monitor = Monitor::builder().registry(&registry).manual(true);
        let monitor = monitor.start().expect("a monitor without a thread");
        let mut queues = Queues::default();
        let start = Instant::now();
        let active = |queues: &mut Queues, of: &[(&str, u64)], at| {
            queues.report(&monitor, &overview(of), start + at);
            let alerts = monitor.alerts().into_iter();
            let active = alerts.filter(|alert| alert.active);
            active.map(|alert| alert.message).collect::<Vec<_>>()
        };
        let second = Duration::from_secs(1);
        // What was dead before is no news.
        assert!(active(&mut queues, &[("mail", 7)], second).is_empty());
        let told = ["2 tasks became dead letters, 9 in all"];
        assert_eq!(active(&mut queues, &[("mail", 9)], 2 * second), told);
        let last = QUIET + second;
        assert_eq!(active(&mut queues, &[("mail", 9)], last), told);
        assert!(active(&mut queues, &[("mail", 9)], last + second).is_empty());
        // A queue that is gone has no alert.
        assert_eq!(
            active(&mut queues, &[("mail", 10)], last + 2 * second).len(),
            1
        );
        assert!(active(&mut queues, &[], last + 3 * second).is_empty());
    }
}
