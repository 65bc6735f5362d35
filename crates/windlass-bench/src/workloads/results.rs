//! W2: tasks with results, all of them waited for.

use std::time::{Duration, Instant};

use super::{JDK_POOLS, returning, stream};
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, participants, points};
use crate::peers::{Returning, Windlass, WithOneshot};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W2",
        title: "submit with results, get all",
        about: "One producer submits tasks that return a number, then gets all results in order; \
                the time from the first submit to the last result, per task. Pools without \
                handles get a oneshot channel for each task; so does `windlass+oneshot`, to see \
                what the handle's own cell is worth. Before the first points only tasks without \
                results have run; before the last one a quarter as many with results, so that \
                memory is warm.",
        points: grid,
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

fn grid(size: Size) -> Vec<Point> {
    let tasks = size.pick(500, 30_000, 500_000);
    let workers = size.pick(&[2][..], &[2], &[1, 2, 4]);
    let cold = workers.iter().map(|w| format!("workers={w},tasks={tasks}"));
    let (warm, many) = (tasks / 2, 2 * tasks);
    points(cold.chain([format!("workers=2,warm={warm},tasks={many}")]))
}

fn sample<P: Returning>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    let tasks = point.number("tasks");
    match point.get("warm") {
        None => stream::warm_up(&pool, tasks),
        Some(_) => {
            submit_and_get(&pool, point.number("warm"));
        }
    }
    let elapsed = submit_and_get(&pool, tasks);
    vec![Figure::per("per task", elapsed, tasks)]
}

fn submit_and_get<P: Returning>(pool: &P, tasks: u64) -> Duration {
    let mut handles = Vec::with_capacity(usize::try_from(tasks).expect("handles fit the memory"));
    let begun = Instant::now();
    for number in 0..tasks {
        handles.push(pool.submit(move || number));
    }
    let sum = pool.sum(handles);
    let elapsed = begun.elapsed();
    assert_eq!(sum, tasks * (tasks - 1) / 2, "a result is wrong");
    elapsed
}
