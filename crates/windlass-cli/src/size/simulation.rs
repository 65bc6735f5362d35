//! Runs the model of a pool on its virtual clock.

use super::figures::{Figures, Stretch, waits};
use super::load::Load;
use super::model::{Event, Pool, PoolModel, Task};

/// How many stretches of time a picture has.
const STRETCHES: usize = 120;

/// Simulates a pool under a load until this many tasks have arrived and all of them have started, and returns
/// its figures. The first tenth of the tasks, which find an empty pool, is not counted. How well the threads
/// are used and how many tasks wait is averaged over the time in which tasks arrive.
///
/// The same seed gives the same figures.
///
/// ```
/// use windlass_cli::size::{Arrivals, Load, OnSaturation, PoolModel, Service, simulate};
///
/// let load = Load {
///     per_second: 10.0,
///     arrivals: Arrivals::Constant,
///     mean_seconds: 0.05,
///     service: Service::Constant,
///     variation: 0.0,
/// };
/// let pool = PoolModel {
///     core: 1,
///     max: 1,
///     queue: Some(10),
///     policy: OnSaturation::Abort,
///     keep_alive: 60.0,
/// };
/// let figures = simulate(&pool, &load, 1000, 1);
/// assert_eq!((figures.rejected, figures.wait.max), (0, 0.0));
/// ```
#[must_use]
pub fn simulate(settings: &PoolModel, load: &Load, tasks: u64, seed: u64) -> Figures {
    let mut run = Run {
        pool: Pool::new(*settings),
        recorder: Recorder::new(load, tasks),
        events: Vec::new(),
    };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut now = 0.0;
    for _ in 0..tasks {
        now += load.next_gap(&mut random);
        run.advance(now);
        run.recorder.arrived(now);
        let task = Task {
            arrived: now,
            takes: load.next_time(&mut random),
        };
        run.pool.arrive(task, &mut run.events);
        run.record(now);
    }
    run.start_the_rest();
    run.recorder.finish(now, settings.max)
}

#[derive(Debug)]
struct Run {
    pool: Pool,
    recorder: Recorder,
    events: Vec<Event>,
}

impl Run {
    /// Lets everything happen that happens before a time.
    fn advance(&mut self, until: f64) {
        while let Some(at) = self.pool.next_end().filter(|at| *at <= until) {
            self.recorder.pass(at, &self.pool);
            self.pool.end_next(&mut self.events);
            self.record(at);
        }
        self.recorder.pass(until, &self.pool);
    }

    /// Lets the tasks start that have arrived. Those of an overloaded pool wait longest, and are tasks too.
    fn start_the_rest(&mut self) {
        while self.pool.waiting() > 0 && self.pool.next_end().is_some() {
            self.pool.end_next(&mut self.events);
            for event in self.events.drain(..) {
                self.recorder.event(event);
            }
        }
    }

    fn record(&mut self, now: f64) {
        for event in self.events.drain(..) {
            self.recorder.event(event);
        }
        self.recorder.look(now, &self.pool);
    }
}

/// Adds up what happens after the warm-up.
#[derive(Debug)]
struct Recorder {
    warm: f64,
    end: f64,
    now: f64,
    waits: Vec<f64>,
    delayed: u64,
    busy: f64,
    waiting: f64,
    figures: Figures,
}

impl Recorder {
    fn new(load: &Load, tasks: u64) -> Self {
        let end = tasks as f64 / load.per_second;
        Self {
            warm: end / 10.0,
            end,
            now: 0.0,
            waits: Vec::new(),
            delayed: 0,
            busy: 0.0,
            waiting: 0.0,
            figures: Figures {
                stretches: vec![Stretch::default(); STRETCHES],
                ..Figures::default()
            },
        }
    }

    fn arrived(&mut self, at: f64) {
        self.figures.arrived += u64::from(at >= self.warm);
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Started { task, at } if task.arrived >= self.warm => {
                self.figures.started += 1;
                self.delayed += u64::from(at > task.arrived);
                self.waits.push(at - task.arrived);
            }
            Event::Rejected { at } => {
                self.figures.rejected += u64::from(at >= self.warm);
                if let Some(stretch) = self.stretch(at) {
                    stretch.rejected += 1;
                }
            }
            Event::Started { .. } => {}
        }
    }

    /// The pool stays as it is until this time.
    fn pass(&mut self, until: f64, pool: &Pool) {
        let time = until - self.now.max(self.warm);
        if time > 0.0 {
            self.busy += time * pool.active() as f64;
            self.waiting += time * pool.waiting() as f64;
        }
        self.now = until;
    }

    fn look(&mut self, now: f64, pool: &Pool) {
        self.figures.largest_size = self.figures.largest_size.max(pool.size());
        let (waiting, active) = (pool.waiting(), pool.active());
        if let Some(stretch) = self.stretch(now) {
            stretch.waiting = stretch.waiting.max(waiting);
            stretch.active = stretch.active.max(active);
        }
    }

    fn stretch(&mut self, at: f64) -> Option<&mut Stretch> {
        // The last task may arrive later than on average; the last stretch has what comes then.
        let index = (at / self.end * STRETCHES as f64) as usize;
        let last = STRETCHES - 1;
        self.figures.stretches.get_mut(index.min(last))
    }

    fn finish(mut self, now: f64, max: usize) -> Figures {
        let seconds = now - self.warm;
        let (wait, curve) = waits(&mut self.waits);
        let mut figures = self.figures;
        figures.seconds = seconds;
        figures.whole_seconds = now;
        figures.wait = wait;
        figures.wait_curve = curve;
        if seconds > 0.0 {
            figures.utilisation = self.busy / seconds / max as f64;
            figures.mean_waiting = self.waiting / seconds;
        }
        if figures.started > 0 {
            figures.delayed = self.delayed as f64 / figures.started as f64;
        }
        figures
    }
}
