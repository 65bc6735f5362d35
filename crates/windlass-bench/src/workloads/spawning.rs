//! W8: each task spawns two more into its own pool.

use std::time::Instant;

use super::pools;
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Workload, points};
use crate::instruments::tally::RAN;
use crate::peers::Pool;

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W8",
        title: "each task spawns two",
        about: "One task starts a tree of tasks, each of which spawns two into its own pool; the \
                time until all have run, per task.",
        points: |size| {
            let depth = size.pick(6, 14, 19);
            let workers = size.pick(&[2][..], &[2], &[1, 2, 4]);
            points(workers.iter().map(|w| format!("workers={w},depth={depth}")))
        },
        participants: |_| pools!(sample),
        jdk: |_| vec!["jdk-linked", "jdk-fork-join", "jdk-fork", "jdk-scheduled"],
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Throughput,
    }
}

fn sample<P: Pool>(point: &Point) -> Vec<Figure> {
    // Leaked, so that tasks hold a plain reference: no count of references is measured.
    let pool: &'static P = Box::leak(Box::new(P::with_workers(point.size("workers"))));
    let depth = point.number("depth");
    grow(pool, depth.saturating_sub(3));
    let begun = Instant::now();
    let tasks = grow(pool, depth);
    vec![Figure::per("per task", begun.elapsed(), tasks)]
}

/// Runs a whole tree; returns the number of its tasks.
fn grow<P: Pool>(pool: &'static P, depth: u64) -> u64 {
    let tasks = (1 << (depth + 1)) - 1;
    let all = RAN.expect(tasks);
    pool.execute(move || node(pool, depth));
    all.wait();
    tasks
}

fn node<P: Pool>(pool: &'static P, depth: u64) {
    if depth > 0 {
        pool.execute(move || node(pool, depth - 1));
        pool.execute(move || node(pool, depth - 1));
    }
    RAN.count();
}
