//! W15: the processor time that a pool takes where there is little to do.

use std::time::{Duration, Instant};

use super::memory::run_on_each;
use super::{pools, stream};
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, participants, points};
use crate::instruments::tally::RAN;
use crate::instruments::{pace, process};
use crate::peers::{CondvarPool, NoPool, Pool};

/// The quiet before a measurement, by whose end all workers sleep.
const SETTLE: Duration = Duration::from_millis(30);
/// Shorter steps are spun through, as a sleep would not end in time.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W15",
        title: "processor time of a trickle, and of an idle pool",
        about: "One thread sends an empty task every 10, 100 or 1,000 µs to four workers. The \
                figure is the processor time per task, user and system, of all threads but the \
                sender, plus the time that the sender spends in the call; how it waits for the \
                next step, asleep or (at 10 µs) spinning, is not part of it. The second figure has \
                that too: it is all that the process took. `no-pool` runs each task on the sender \
                and so shows what measuring costs. An idle pool of 64 workers has run a task on \
                each and is then left alone: the processor time of its threads per second. On the \
                JDK all threads of the process count, so `jdk-no-pool` shows what it takes anyway.",
        points: grid,
        participants: |point| match point.word("what") {
            "trickle" => [pools!(trickle), participants![trickle; CondvarPool, NoPool]].concat(),
            _ => pools!(idle),
        },
        jdk: |_| {
            vec![
                "jdk-linked",
                "jdk-fork-join",
                "jdk-scheduled",
                "jdk-no-pool",
            ]
        },
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Scale(&["every"]),
    }
}

fn grid(size: Size) -> Vec<Point> {
    let micros = size.pick(2_000, 50_000, 300_000);
    let (idle, millis) = size.pick((4, 10), (64, 50), (64, 300));
    let trickle = [10, 100, 1_000].map(|every| {
        let tasks = micros / every;
        format!("what=trickle,workers=4,every={every},tasks={tasks}")
    });
    let idle = format!("what=idle,workers={idle},millis={millis}");
    points(trickle.into_iter().chain([idle]))
}

/// Processor time from some moment on.
struct Spent {
    by_all: Duration,
    by_this_thread: Duration,
}

impl Spent {
    fn so_far() -> Self {
        Self {
            by_all: process::cpu_time(),
            by_this_thread: process::own_cpu_time(),
        }
    }

    fn since(earlier: &Self) -> Self {
        let now = Self::so_far();
        Self {
            by_all: now.by_all - earlier.by_all,
            by_this_thread: now.by_this_thread - earlier.by_this_thread,
        }
    }

    fn by_others(&self) -> Duration {
        self.by_all.saturating_sub(self.by_this_thread)
    }
}

fn trickle<P: Pool>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    stream::warm_up(&pool, 1_000);
    let every = Duration::from_micros(point.number("every"));
    let tasks = u32::try_from(point.number("tasks")).expect("a trickle is short");
    let wait = if every < SHORTEST_SLEEP {
        pace::spin_until
    } else {
        pace::sleep_until
    };
    pace::sleep_until(Instant::now() + SETTLE);
    let all = RAN.expect(u64::from(tasks));
    let mut submitting = Duration::ZERO;
    let before = Spent::so_far();
    let first = Instant::now();
    for step in 1..=tasks {
        wait(first + every * step);
        let begun = Instant::now();
        pool.execute(|| RAN.count());
        submitting += begun.elapsed();
    }
    all.wait();
    let spent = Spent::since(&before);
    vec![
        Figure::micros("CPU per task", (spent.by_others() + submitting) / tasks),
        Figure::micros("CPU per task with its pacing", spent.by_all / tasks),
    ]
}

fn idle<P: Pool>(point: &Point) -> Vec<Figure> {
    let workers = point.size("workers");
    let pool = P::with_workers(workers);
    run_on_each(&pool, workers);
    pace::sleep_until(Instant::now() + SETTLE);
    let span = Duration::from_millis(point.number("millis"));
    let before = Spent::so_far();
    pace::sleep_until(Instant::now() + span);
    let spent = Spent::since(&before).by_others();
    let each_second = spent.mul_f64(1.0 / span.as_secs_f64());
    std::mem::forget(pool);
    vec![Figure::millis("CPU per idle second", each_second)]
}
