//! W14: the cost of a task with many workers and long queues.

use std::time::Instant;

use super::{JDK_POOLS, pools, stream};
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, points};
use crate::instruments::gate::Gate;
use crate::instruments::tally::RAN;
use crate::peers::Pool;

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W14",
        title: "many workers, long queues",
        about: "The cost of an empty task as workers go from 1 to 64, and as the queue's standing \
                length goes from 10 to 10^6: there each task sends its successor, so the queue \
                stays as long as it is. Time per task.",
        points: grid,
        participants: |point| match point.word("what") {
            "workers" => pools!(with_workers),
            _ => pools!(with_queued),
        },
        jdk: |_| JDK_POOLS.to_vec(),
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Scale(&["workers", "queued"]),
    }
}

fn grid(size: Size) -> Vec<Point> {
    let tasks = size.pick(500, 20_000, 400_000);
    let (workers, queued) = match size {
        Size::Tiny => (vec![4], vec![10]),
        Size::Quick => (vec![1, 8, 64], vec![10, 10_000]),
        Size::Full => (
            vec![1, 2, 4, 8, 16, 32, 64],
            vec![10, 100, 1_000, 10_000, 100_000, 1_000_000],
        ),
    };
    let workers = workers.iter();
    let queued = queued.iter();
    points(
        workers
            .map(|count| format!("what=workers,workers={count},tasks={tasks}"))
            .chain(queued.map(|length| {
                let tasks = tasks.max(2 * length);
                format!("what=queued,workers=2,queued={length},tasks={tasks}")
            })),
    )
}

fn with_workers<P: Pool>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    let tasks = point.number("tasks");
    stream::warm_up(&pool, tasks);
    let elapsed = stream::time(1, tasks, || pool.execute(|| RAN.count()));
    vec![Figure::per("per task", elapsed, tasks)]
}

fn with_queued<P: Pool>(point: &Point) -> Vec<Figure> {
    let workers = point.size("workers");
    // Leaked, so that tasks hold a plain reference: no count of references is measured.
    let pool: &'static P = Box::leak(Box::new(P::with_workers(workers)));
    let (queued, tasks) = (point.number("queued"), point.number("tasks"));
    let hops = tasks / queued;
    let gate = Gate::default();
    for _ in 0..workers {
        let gate = gate.clone();
        pool.execute(move || gate.pass());
    }
    gate.await_waiting(workers);
    let all = RAN.expect(hops * queued);
    for _ in 0..queued {
        pool.execute(move || hop(pool, hops));
    }
    let begun = Instant::now();
    gate.open();
    all.wait();
    vec![Figure::per("per task", begun.elapsed(), hops * queued)]
}

fn hop<P: Pool>(pool: &'static P, left: u64) {
    if left > 1 {
        pool.execute(move || hop(pool, left - 1));
    }
    RAN.count();
}
