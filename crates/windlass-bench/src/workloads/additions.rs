//! W13: what statistics, hooks and named threads cost.

use super::stream;
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Workload, participants, points};
use crate::instruments::tally::RAN;
use crate::peers::{Hooked, Named, Pool, Untimed, Watched, Windlass};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W13",
        title: "cost of statistics, hooks and names",
        about: "Empty tasks as in W1, on plain Windlass, on one that takes no times, with a thread that reads its statistics a \
                thousand times a second, with hooks that do nothing, with a thread factory that \
                names its threads. The ratio is to plain Windlass.",
        points: |size| {
            let tasks = size.pick(500, 50_000, 1_000_000);
            points([format!("producers=1,workers=2,tasks={tasks}")])
        },
        participants: |_| participants![sample; Windlass, Untimed, Watched, Hooked, Named],
        jdk: |_| vec!["jdk-linked", "jdk-hooks"],
        baseline: Baseline::Plain,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

fn sample<P: Pool>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    let tasks = point.number("tasks");
    stream::warm_up(&pool, tasks);
    let send = || pool.execute(|| RAN.count());
    let elapsed = stream::time(point.size("producers"), tasks, send);
    vec![Figure::per("per task", elapsed, tasks)]
}
