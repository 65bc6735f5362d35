//! W10: memory of queued tasks, idle workers and pending timers.

use std::mem;
use std::time::Duration;

use super::{pools, stream};
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{
    Baseline, Jvm, Participant, Plot, Size, Workload, participants, points,
};
use crate::instruments::gate::Gate;
use crate::instruments::process::resident_bytes;
use crate::instruments::random::Random;
use crate::instruments::tally::{RAN, SET};
use crate::peers::{Pool, ScheduledPool, Timers, TokioDelayQueue, TokioSleep, WindlassScheduled};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W10",
        title: "memory",
        about: "The growth of the resident memory of a fresh process, per task in the queue (it \
                captures 8 bytes), per idle worker, per pending timer; on the JDK of the used \
                heap, but for the workers.",
        points: grid,
        participants,
        jdk: |point| match point.word("what") {
            "queued" => vec!["jdk-linked", "jdk-fork-join", "jdk-scheduled"],
            "idle" => vec!["jdk-linked", "jdk-scheduled"],
            _ => vec!["jdk-scheduled"],
        },
        baseline: Baseline::BestPeer,
        jvm: Jvm::Fresh,
        plot: Plot::Nothing,
    }
}

fn grid(size: Size) -> Vec<Point> {
    let (many, idle) = size.pick((5_000, 8), (100_000, 64), (1_000_000, 128));
    points([
        format!("what=queued,workers=1,count={many}"),
        format!("what=idle,workers={idle}"),
        format!("what=timers,count={many}"),
    ])
}

fn participants(point: &Point) -> Vec<Participant> {
    match point.word("what") {
        "queued" => pools!(queued),
        "idle" => pools!(idle),
        _ => participants![pending; WindlassScheduled, ScheduledPool, TokioSleep, TokioDelayQueue],
    }
}

/// What has been added to the process since `before`, for each of `count`.
fn growth(before: u64, count: u64) -> Vec<Figure> {
    let grown = resident_bytes().saturating_sub(before);
    vec![Figure::bytes("bytes each", grown, count)]
}

fn queued<P: Pool>(point: &Point) -> Vec<Figure> {
    let count = point.number("count");
    let pool = P::with_workers(1);
    stream::warm_up(&pool, 1_000);
    let gate = Gate::default();
    let held = gate.clone();
    pool.execute(move || held.pass());
    gate.await_waiting(1);
    let before = resident_bytes();
    for number in 0..count {
        pool.execute(move || {
            std::hint::black_box(number);
        });
    }
    let figures = growth(before, count);
    mem::forget(pool);
    figures
}

/// Runs one task on each worker.
pub(super) fn run_on_each(pool: &impl Pool, workers: usize) {
    let gate = Gate::default();
    let all = RAN.expect(workers as u64);
    // At the gate all at once, because some start their threads only then.
    for _ in 0..workers {
        let gate = gate.clone();
        pool.execute(move || {
            gate.pass();
            RAN.count();
        });
    }
    gate.await_waiting(workers);
    gate.open();
    all.wait();
}

fn idle<P: Pool>(point: &Point) -> Vec<Figure> {
    let workers = point.size("workers");
    let before = resident_bytes();
    let pool = P::with_workers(workers);
    run_on_each(&pool, workers);
    let figures = growth(before, workers as u64);
    mem::forget(pool);
    figures
}

fn pending<P: Timers>(point: &Point) -> Vec<Figure> {
    let count = point.number("count");
    let timers = P::start();
    let mut random = Random::new(42);
    let mut tokens = Vec::with_capacity(point.size("count"));
    let all_set = SET.expect(count);
    let before = resident_bytes();
    for _ in 0..count {
        let delay = Duration::from_millis(600_000 + random.below(600_000));
        tokens.push(timers.schedule(delay, || RAN.count()));
    }
    timers.await_set(&all_set);
    // The tokens' places belong to the caller; what they refer to does not.
    let places = (tokens.len() * size_of::<P::Token>()) as u64;
    let figures = growth(before + places, count);
    mem::forget(tokens);
    mem::forget(timers);
    figures
}
