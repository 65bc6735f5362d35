//! Keeps a worker's place in the queue, and the queue's clock going.

use super::shared::{Shared, Stage};
use crate::engine::{
    Beat, Control, ControlFeed, EngineError, Lease, MAX_BATCH, Renewed, Tick, WorkerRecord,
};
use crate::id::TaskId;
use crate::pace::Backoff;
use crate::schedule;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use windlass::ExecutorService;

/// How long a step waits at most: a worker that drains notices its last task's end after this time.
const STEP: Duration = Duration::from_millis(100);
/// The same while the worker works and nothing is due.
const IDLE_STEP: Duration = Duration::from_millis(250);

/// The keeper's state between its steps.
struct Keeper<'a> {
    shared: &'a Shared,
    feed: Option<Box<dyn ControlFeed>>,
    next_beat: Instant,
    next_renewal: Instant,
    next_tick: Instant,
}

/// The keeper's thread: the last one of a worker to end.
pub(super) fn run(shared: &Shared) {
    let now = Instant::now();
    let mut keeper = Keeper {
        shared,
        feed: None,
        next_beat: now,
        next_renewal: now,
        next_tick: now,
    };
    let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(500));
    loop {
        let stage = shared.life.stage();
        if stage == Stage::Leaving || (stage == Stage::Draining && shared.is_idle()) {
            keeper.leave();
            return;
        }
        match keeper.step() {
            Ok(()) => backoff.reset(),
            Err(error) => {
                shared.counts.engine_failed(error);
                shared.life.wait_change(backoff.next_pause());
            }
        }
    }
}

impl Keeper<'_> {
    fn step(&mut self) -> Result<(), EngineError> {
        let now = Instant::now();
        if now >= self.next_beat {
            self.beat(now)?;
        }
        if now >= self.next_tick {
            self.tick(now)?;
        }
        let wait = self.wait();
        let feed = match &mut self.feed {
            Some(feed) => feed,
            None => self
                .feed
                .insert(self.shared.engine.control(&self.shared.queue)?),
        };
        for message in feed.next(wait)? {
            match message {
                Control::Cancel(id) => self.stop(&id),
                Control::Changed => {
                    self.next_tick = Instant::now();
                    self.shared.life.nudge();
                }
            }
        }
        Ok(())
    }

    /// Returns how long there is nothing to do.
    fn wait(&self) -> Duration {
        let working = self.shared.life.stage() == Stage::Working;
        let next = self.next_beat.min(self.next_tick);
        let longest = if working { IDLE_STEP } else { STEP };
        next.saturating_duration_since(Instant::now())
            .clamp(Duration::from_millis(1), longest)
    }

    fn beat(&mut self, now: Instant) -> Result<(), EngineError> {
        let shared = self.shared;
        let mut leases = Vec::new();
        if now >= self.next_renewal {
            leases = shared.leases();
        }
        let busy = shared.with_running(|running| running.len()) as u32;
        let tasks = shared.registry.list();
        let worker = WorkerRecord {
            busy,
            tasks,
            ..shared.record.clone()
        };
        let (rest, first) = leases.split_at(leases.len().saturating_sub(MAX_BATCH));
        self.renew(&worker, first)?;
        for batch in rest.chunks(MAX_BATCH) {
            self.renew(&worker, batch)?;
        }
        self.next_beat = now + shared.times.beat;
        if now >= self.next_renewal {
            self.next_renewal = now + shared.times.lease / 3;
        }
        self.next_beat = self.next_beat.min(self.next_renewal);
        Ok(())
    }

    fn renew(&self, worker: &WorkerRecord, leases: &[Lease]) -> Result<(), EngineError> {
        let lease = self.shared.times.lease;
        let answers = self.shared.engine.beat(
            &self.shared.queue,
            Beat {
                worker,
                leases,
                lease,
            },
        )?;
        for (lease, answer) in leases.iter().zip(answers) {
            if answer == Renewed::Lost {
                let key = (lease.id.clone(), lease.fence);
                let stop = self
                    .shared
                    .with_running(|all| all.get(&key).map(|r| r.stop.clone()));
                if let Some(stop) = stop {
                    stop.raise();
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, now: Instant) -> Result<(), EngineError> {
        let shared = self.shared;
        let times = &shared.times;
        let Tick {
            now: engine_now,
            next_due,
            due,
        } = shared
            .engine
            .tick(&shared.queue, times.lease, times.silence)?;
        let mut pause = next_due
            .unwrap_or(times.beat)
            .clamp(Duration::from_millis(1), times.beat);
        for due in due {
            match schedule::fire(&due, engine_now) {
                Some(fire) => {
                    shared.engine.fire(&shared.queue, &fire)?;
                }
                // A rule of a later release or of a feature that this build lacks: left to other workers.
                None => pause = times.beat,
            }
        }
        self.next_tick = now + pause;
        Ok(())
    }

    fn stop(&self, id: &TaskId) {
        let stops: Vec<_> = self.shared.with_running(|running| {
            let mine = running.values().filter(|r| r.lease.id == *id);
            mine.map(|r| r.stop.clone()).collect()
        });
        stops.iter().for_each(|stop| stop.raise());
    }

    /// Gives back what still runs, and ends the worker. If the engine is away, its leases end by themselves.
    fn leave(&self) {
        // What the fetcher still brings has to be given back too.
        let until = Instant::now() + Duration::from_secs(2);
        while self.shared.fetching.load(Ordering::SeqCst) && Instant::now() < until {
            self.shared.life.wait_change(STEP);
        }
        if let Err(error) = self
            .shared
            .engine
            .leave(&self.shared.queue, &self.shared.record.id)
        {
            self.shared.counts.engine_failed(error);
        }
        self.shared.life.advance(Stage::Ended);
        self.shared.limits.end();
        // Only now: what a task returns because it was told to stop is no outcome of it, and is stale by now.
        let stops: Vec<_> = self
            .shared
            .with_running(|running| running.values().map(|r| r.stop.clone()).collect());
        stops.iter().for_each(|stop| stop.raise());
        self.shared.pool.shutdown();
    }
}
