//! W2: tasks with results, all of them waited for.

use std::time::Instant;

use super::{JDK_POOLS, returning, stream};
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Workload, participants, points};
use crate::peers::{Returning, Windlass, WithOneshot};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W2",
        title: "submit with results, get all",
        about: "One producer submits tasks that return a number, then gets all results in order; \
                the time from the first submit to the last result, per task. Pools without \
                handles get a oneshot channel for each task; so does `windlass+oneshot`, to see \
                what the handle's own cell is worth.",
        points: |size| {
            let tasks = size.pick(500, 30_000, 500_000);
            let workers = size.pick(&[2][..], &[2], &[1, 2, 4]);
            points(workers.iter().map(|w| format!("workers={w},tasks={tasks}")))
        },
        participants: |_| {
            [
                participants![sample; WithOneshot<Windlass>],
                returning!(sample),
            ]
            .concat()
        },
        jdk: |_| JDK_POOLS.to_vec(),
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Throughput,
    }
}

fn sample<P: Returning>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    let tasks = point.number("tasks");
    stream::warm_up(&pool, tasks);
    let mut handles = Vec::with_capacity(point.size("tasks"));
    let begun = Instant::now();
    for number in 0..tasks {
        handles.push(pool.submit(move || number));
    }
    let sum = pool.sum(handles);
    let elapsed = begun.elapsed();
    assert_eq!(sum, tasks * (tasks - 1) / 2, "a result is wrong");
    vec![Figure::per("per task", elapsed, tasks)]
}
