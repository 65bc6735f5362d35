//! W13: what statistics, hooks, named threads, a monitor and a console cost.

use super::stream;
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Workload, participants, points};
use crate::instruments::tally::RAN;
use crate::peers::{Consoled, Hooked, Monitored, Named, Pool, Untimed, Watched, Windlass};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W13",
        title: "cost of statistics, hooks, names and a console",
        about: "Empty tasks as in W1, on plain Windlass, on one that takes no times, with a thread that reads its statistics a \
                thousand times a second, with hooks that do nothing, with a thread factory that \
                names its threads. A monitor takes a sample once a second, so batches of tasks one after the other \
                show what it costs, alone and with a console whose events a client reads. The ratio is to plain Windlass.",
        points: |size| {
            let tasks = size.pick(500, 50_000, 10_000_000);
            let batches = size.pick(2, 10, 60);
            points([
                format!("producers=1,workers=2,tasks={tasks}"),
                format!("producers=1,workers=2,tasks={tasks},batches={batches}"),
            ])
        },
        participants: |point| match point.get("batches") {
            None => participants![sample; Windlass, Untimed, Watched, Hooked, Named],
            Some(_) => participants![sample; Windlass, Monitored, Consoled],
        },
        jdk: |point| match point.get("batches") {
            None => vec!["jdk-linked", "jdk-hooks"],
            Some(_) => vec![],
        },
        baseline: Baseline::Plain,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

fn sample<P: Pool>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    let tasks = point.number("tasks");
    let batches = point.get("batches").map_or(1, |_| point.number("batches"));
    stream::warm_up(&pool, tasks);
    let send = || pool.execute(|| RAN.count());
    let batch = |_| stream::time(point.size("producers"), tasks, send);
    let elapsed = (0..batches).map(batch).sum();
    vec![Figure::per("per task", elapsed, tasks * batches)]
}
