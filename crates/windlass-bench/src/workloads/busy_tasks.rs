//! W11: tasks of a known length, and the share of the machine that they use.

use super::{JDK_POOLS, pools, stream};
use crate::harness::figure::{Figure, Unit};
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, points};
use crate::instruments::busy::Work;
use crate::instruments::process;
use crate::instruments::tally::RAN;
use crate::peers::Pool;

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W11",
        title: "tasks of 1, 10 and 100 µs",
        about: "Tasks of a known length on as many workers as there are cores. Efficiency is the \
                ideal time, all work divided by the cores, in parts of the time it took; the one \
                producer shares the cores.",
        points: grid,
        participants: |_| pools!(sample),
        jdk: |_| JDK_POOLS.to_vec(),
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

fn grid(size: Size) -> Vec<Point> {
    let total = size.pick(2_000, 30_000, 600_000);
    let workers = process::cores();
    points([1, 10, 100].map(|micros| {
        let tasks = total / micros;
        format!("workers={workers},micros={micros},tasks={tasks}")
    }))
}

fn sample<P: Pool>(point: &Point) -> Vec<Figure> {
    let (workers, tasks) = (point.size("workers"), point.number("tasks"));
    let work = Work::of_micros(point.number("micros"));
    let each = work.nanos((tasks / 100).max(10));
    let pool = P::with_workers(workers);
    stream::warm_up(&pool, 10_000);
    let elapsed = stream::time(1, tasks, || {
        pool.execute(move || {
            work.run();
            RAN.count();
        });
    });
    let ideal = each * tasks as f64 / workers as f64;
    let share = 100.0 * ideal / elapsed.as_nanos() as f64;
    vec![Figure::new("efficiency", share, Unit::Percent)]
}
