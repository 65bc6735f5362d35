//! W1: empty tasks from outside into an unbounded queue.

use super::{JDK_POOLS, pools, stream};
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, participants, points};
use crate::instruments::tally::RAN;
use crate::peers::{Boxed, Pool};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W1",
        title: "empty tasks from outside",
        about: "Producers send empty tasks into an unbounded queue; the time from the first send \
                until all have run, per task. Tasks capture nothing, 24 or 64 bytes; \
                `windlass+box` boxes each, to see what closures in the slots are worth.",
        points: grid,
        participants: |_| [participants![sample; Boxed], pools!(sample)].concat(),
        jdk: |_| JDK_POOLS.to_vec(),
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Throughput,
    }
}

fn grid(size: Size) -> Vec<Point> {
    let tasks = size.pick(500, 50_000, 500_000);
    // Producers, workers, captured bytes. Captures vary on a part of the grid only.
    let every = [1, 2, 4].map(|p| [1, 2, 4].map(|w| (p, w, 0))).concat();
    let captures =
        [24, 64].map(|bytes| [(1, 1), (1, 2), (2, 2), (4, 2), (4, 4)].map(|(p, w)| (p, w, bytes)));
    let chosen = match size {
        Size::Tiny => vec![(2, 2, 24)],
        Size::Quick => vec![(1, 1, 0), (2, 2, 24), (4, 4, 64)],
        Size::Full => [every, captures.concat()].concat(),
    };
    points(chosen.into_iter().map(|(producers, workers, bytes)| {
        format!("producers={producers},workers={workers},captured={bytes},tasks={tasks}")
    }))
}

fn sample<P: Pool>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    let (producers, tasks) = (point.size("producers"), point.number("tasks"));
    stream::warm_up(&pool, tasks);
    let elapsed = match point.number("captured") {
        0 => stream::time(producers, tasks, || pool.execute(|| RAN.count())),
        24 => stream::time(producers, tasks, || stream::send_capturing::<P, 3>(&pool)),
        _ => stream::time(producers, tasks, || stream::send_capturing::<P, 8>(&pool)),
    };
    vec![Figure::per("per task", elapsed, tasks)]
}
