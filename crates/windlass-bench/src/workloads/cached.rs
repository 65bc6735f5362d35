//! W6: a pool that hands each task to an idle thread or a new one.

use std::time::Instant;

use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, participants, points};
use crate::instruments::busy::Work;
use crate::instruments::tally::{self, RAN};
use crate::peers::{Blocking, Cached, RustyPool, Threadfin, TokioBlocking, Windlass};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W6",
        title: "cached pool, hand-off",
        about: "Bursts of tasks of 1 µs into a pool that grows as needed; the next burst starts \
                when the last one has run. Time per task, and how many threads came to be. The \
                last two points are one burst into a fresh pool.",
        points: grid,
        participants: |_| participants![sample; Windlass, RustyPool, Threadfin, TokioBlocking, Blocking],
        jdk: |_| vec!["jdk-synchronous"],
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

fn grid(size: Size) -> Vec<Point> {
    let (bursts, tasks) = match size {
        Size::Tiny => (vec![4], 40),
        Size::Quick => (vec![1, 4, 1_000], 4_000),
        Size::Full => (vec![1, 4, 1_000], 100_000),
    };
    let bursts = bursts
        .iter()
        .map(|burst| format!("burst={burst},tasks={tasks}"));
    let flood = size.pick(100, 4_000, 200_000);
    let floods = [0, 1].map(|micros| format!("burst={flood},micros={micros},tasks={flood}"));
    points(bursts.chain(floods))
}

fn sample<P: Cached>(point: &Point) -> Vec<Figure> {
    let (burst, tasks) = (point.number("burst"), point.number("tasks"));
    let micros = point.get("micros").map_or(1, |_| point.number("micros"));
    let work = Work::of_micros(micros);
    let pool = P::cached();
    let send = || {
        let all = RAN.expect(burst);
        for _ in 0..burst {
            pool.execute(move || {
                work.run();
                RAN.count();
            });
        }
        all.wait();
    };
    (0..tasks / burst / 10).for_each(|_| send());
    let begun = Instant::now();
    (0..tasks / burst).for_each(|_| send());
    vec![
        Figure::per("per task", begun.elapsed(), tasks),
        Figure::count("threads", tally::threads_seen() as u64),
    ]
}
