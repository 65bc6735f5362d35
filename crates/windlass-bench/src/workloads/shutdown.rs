//! W12: how long a shutdown takes.

use std::cell::RefCell;
use std::time::Instant;

use super::pools;
use crate::harness::figure::Figure;
use crate::harness::point::Point;
use crate::harness::workload::{
    Baseline, Jvm, Participant, Plot, Size, Workload, participants, points,
};
use crate::instruments::gate::Gate;
use crate::instruments::tally::{GONE, RAN};
use crate::peers::Blocking;
use crate::peers::{
    AsyncExecutor, ExecutorsStealing, Peer, Pool, ScheduledPool, StopsAtOnce, Tokio, TokioBlocking,
    Windlass, WindlassScheduled,
};

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W12",
        title: "shutdown",
        about: "Orderly shutdown of a pool of idle threads, and abrupt shutdown of one with tasks \
                in its queue and busy workers; until the last thread is about to end. Queued tasks \
                may be handed back, dropped, or run all the same.",
        points: |size: Size| {
            let (idle, queued) = size.pick((4, 100), (64, 50_000), (64, 1_000_000));
            points([
                format!("what=idle,workers={idle}"),
                format!("what=now,workers=2,queued={queued}"),
            ])
        },
        participants: |point| match point.word("what") {
            "idle" => with_an_end(),
            _ => participants![
                stop_full;
                Windlass, WindlassScheduled, Tokio, TokioBlocking, AsyncExecutor,
                ExecutorsStealing, ScheduledPool,
            ],
        },
        jdk: |_| vec!["jdk-linked", "jdk-fork-join", "jdk-scheduled"],
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

/// All but the one whose threads never end on demand.
fn with_an_end() -> Vec<Participant> {
    let mut participants = pools!(close_idle);
    participants.retain(|participant| participant.name != Blocking::NAME);
    participants
}

/// Counts when the thread that has it ends.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        GONE.count();
    }
}

thread_local! {
    static LEAVING: RefCell<Option<Leaving>> = const { RefCell::new(None) };
}

/// Blocks all workers at a gate, each with a guard that counts its end.
fn gather<P: Pool>(pool: &P, workers: usize) -> Gate {
    let gate = Gate::default();
    for _ in 0..workers {
        let gate = gate.clone();
        pool.execute(move || {
            LEAVING.set(Some(Leaving));
            gate.pass();
            RAN.count();
        });
    }
    gate.await_waiting(workers);
    gate
}

fn close_idle<P: Pool>(point: &Point) -> Vec<Figure> {
    let workers = point.size("workers");
    let pool = P::with_workers(workers);
    let ran = RAN.expect(workers as u64);
    let gone = GONE.expect(workers as u64);
    gather(&pool, workers).open();
    ran.wait();
    let begun = Instant::now();
    pool.close();
    gone.wait();
    vec![Figure::micros("threads gone", begun.elapsed())]
}

fn stop_full<P: StopsAtOnce>(point: &Point) -> Vec<Figure> {
    let workers = point.size("workers");
    let pool = P::with_workers(workers);
    let gone = GONE.expect(workers as u64);
    let gate = gather(&pool, workers);
    for _ in 0..point.number("queued") {
        pool.execute(|| RAN.count());
    }
    let begun = Instant::now();
    let given_back = pool.stop_at_once();
    gate.open();
    gone.wait();
    let elapsed = begun.elapsed();
    vec![
        Figure::micros("threads gone", elapsed),
        Figure::count("ran anyway", RAN.total() - workers as u64),
        Figure::count("given back", given_back),
    ]
}
