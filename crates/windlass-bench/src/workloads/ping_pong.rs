//! W3: one task at a time, sent and waited for.

use std::time::Instant;

use super::{JDK_POOLS, returning};
use crate::harness::figure::{Figure, Unit};
use crate::harness::point::Point;
use crate::harness::workload::{Baseline, Jvm, Plot, Workload, points};
use crate::instruments::quantile::quantile;
use crate::peers::Returning;

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W3",
        title: "ping-pong",
        about: "Submit, wait for the result, again; one at a time. The round trip's median and \
                99th percentile.",
        points: |size| {
            let trips = size.pick(50, 1_000, 20_000);
            let workers = size.pick(&[1][..], &[1, 2], &[1, 2, 4]);
            points(workers.iter().map(|w| format!("workers={w},trips={trips}")))
        },
        participants: |_| returning!(sample),
        jdk: |_| JDK_POOLS.to_vec(),
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Nothing,
    }
}

fn sample<P: Returning>(point: &Point) -> Vec<Figure> {
    let pool = P::with_workers(point.size("workers"));
    let trips = point.number("trips");
    let trip = |number: u64| {
        let begun = Instant::now();
        let answer = pool.get(pool.submit(move || number));
        let elapsed = begun.elapsed();
        assert_eq!(answer, number, "a result is wrong");
        elapsed.as_nanos() as f64 / 1e3
    };
    for number in 0..trips / 10 {
        trip(number);
    }
    let mut times: Vec<f64> = (0..trips).map(trip).collect();
    vec![
        Figure::new("round trip p50", quantile(&mut times, 0.50), Unit::Micros),
        Figure::new("round trip p99", quantile(&mut times, 0.99), Unit::Micros),
    ]
}
