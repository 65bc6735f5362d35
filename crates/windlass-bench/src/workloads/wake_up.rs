//! W4: how soon an idle pool starts a task.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{JDK_POOLS, pools, stream};
use crate::harness::figure::{Figure, Unit};
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Workload, participants, points};
use crate::instruments::pace;
use crate::instruments::quantile::quantile;
use crate::instruments::tally::RAN;
use crate::peers::{CondvarPool, Pool};

/// The quiet before each task; all workers are parked by then.
const QUIET: Duration = Duration::from_millis(2);

static BEGUN_AT: AtomicU64 = AtomicU64::new(0);

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W4",
        title: "wake-up from idle",
        about: "After 2 ms of quiet one task is sent; the time from before the send until the \
                task runs, median and 99th percentile. `condvar` is a queue under a lock with a \
                condition variable, and nothing else.",
        points: |size| {
            let wakes = size.pick(5, 50, 300);
            let workers = size.pick(&[2][..], &[2], &[1, 2, 4]);
            points(workers.iter().map(|w| format!("workers={w},wakes={wakes}")))
        },
        participants: |_| [pools!(sample), participants![sample; CondvarPool]].concat(),
        jdk: |_| JDK_POOLS.to_vec(),
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

fn sample<P: Pool>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    stream::warm_up(&pool, 1_000);
    let zero = Instant::now();
    let mut times: Vec<f64> = (0..point.number("wakes"))
        .map(|_| wake(&pool, zero))
        .collect();
    vec![
        Figure::new("wake-up p50", quantile(&mut times, 0.50), Unit::Micros),
        Figure::new("wake-up p99", quantile(&mut times, 0.99), Unit::Micros),
    ]
}

fn wake<P: Pool>(pool: &P, zero: Instant) -> f64 {
    pace::sleep_until(Instant::now() + QUIET);
    let all = RAN.expect(1);
    let sent = zero.elapsed();
    pool.execute(move || {
        BEGUN_AT.store(nanos(zero.elapsed()), Ordering::Release);
        RAN.count();
    });
    all.wait();
    let begun = BEGUN_AT.load(Ordering::Acquire);
    begun.saturating_sub(nanos(sent)) as f64 / 1e3
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
