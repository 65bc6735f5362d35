//! W5: a queue of bounded length, with producers that wait or run tasks themselves.

use super::stream;
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Size, Workload, participants, points};
use crate::instruments::busy::Work;
use crate::instruments::tally::RAN;
use crate::peers::{
    Bounded, ChannelPool, Crossbeam, Kanal, Threadfin, Tokio, WhenFull, Windlass, WindlassArray,
    WindlassFairArray,
};

const CAPACITY: usize = 1_024;

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W5",
        title: "bounded queue of 1,024",
        about: "Producers send empty tasks into a queue that holds 1,024; one that finds it full \
                waits (block), or runs the task itself (caller-runs). Time per task; with one \
                producer also how many tasks it ran itself, which is cheap and no merit: a pool \
                whose workers do little leaves more to the caller. Those of the last table serve \
                whoever waits in the order of arrival: the fair array queues, and tokio, whose \
                semaphore is fair.",
        points: grid,
        participants: |point| match point.get("fair") {
            None => participants![
                sample;
                Windlass, WindlassArray, Threadfin, Tokio, ChannelPool<Crossbeam>,
                ChannelPool<Kanal>,
            ],
            Some(_) => participants![sample; WindlassFairArray, Tokio],
        },
        jdk: |point| match point.get("fair") {
            None => vec!["jdk-linked", "jdk-array"],
            Some(_) => vec!["jdk-array-fair"],
        },
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Throughput,
    }
}

fn grid(size: Size) -> Vec<Point> {
    let tasks = size.pick(3_000, 50_000, 1_000_000);
    let shapes = match size {
        Size::Tiny | Size::Quick => vec![(1, 2)],
        Size::Full => vec![(1, 1), (1, 2), (2, 2), (4, 2), (4, 4)],
    };
    let of = |policy| {
        let shapes = shapes.iter();
        shapes.map(move |(producers, workers)| {
            format!("policy={policy},producers={producers},workers={workers},tasks={tasks}")
        })
    };
    // An empty task is cheaper to run than to queue, so a pool whose workers get nothing is the fastest
    // there. With tasks of a microsecond it pays to keep the workers busy.
    let busy = [(1, 1), (1, 2)].map(|(producers, workers)| {
        let tasks = tasks / 5;
        format!("policy=caller-runs,micros=1,producers={producers},workers={workers},tasks={tasks}")
    });
    // A hand-over to the one who waits longest costs a switch of threads, so fewer of them.
    let fair = [1, 4].map(|producers| {
        let tasks = tasks / 50;
        format!("policy=block,fair=yes,producers={producers},workers=8,tasks={tasks}")
    });
    points(of("block").chain(of("caller-runs")).chain(busy).chain(fair))
}

fn sample<P: Bounded>(point: &Point) -> Vec<Figure> {
    let when_full = match point.word("policy") {
        "block" => WhenFull::Block,
        _ => WhenFull::CallerRuns,
    };
    let pool = P::with_capacity(point.size("workers"), CAPACITY, when_full);
    let tasks = point.number("tasks");
    let work = point
        .get("micros")
        .map(|_| Work::of_micros(point.number("micros")));
    let time = |producers, tasks| match work {
        None => stream::time(producers, tasks, || pool.execute_bounded(|| RAN.count())),
        Some(work) => stream::time(producers, tasks, || {
            pool.execute_bounded(move || {
                work.run();
                RAN.count();
            });
        }),
    };
    time(1, tasks / 10);
    let producers = point.size("producers");
    let before = RAN.own();
    let elapsed = time(producers, tasks);
    let mut figures = vec![Figure::per("per task", elapsed, tasks)];
    if when_full == WhenFull::CallerRuns && producers == 1 {
        // The producer is this thread.
        figures.push(Figure::count("run by the caller", RAN.own() - before));
    }
    figures
}
