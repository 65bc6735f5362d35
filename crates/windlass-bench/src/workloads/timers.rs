//! W9: timers, set, cancelled, and how late they are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::harness::figure::{Figure, Unit};
use crate::harness::point::Point;
use crate::harness::workload::{
    Baseline, Jvm, Participant, Plot, Size, Workload, participants, points,
};
use crate::instruments::quantile::quantile;
use crate::instruments::random::Random;
use crate::instruments::tally::{GONE, RAN, SET};
use crate::peers::{ScheduledPool, Timers, TokioDelayQueue, TokioSleep, WindlassScheduled};

/// So many timers are set and cancelled in a sample, however few at a time.
const AT_LEAST: u64 = 50_000;
/// The first timer of a sample of lateness is due so long after the first is set.
const LEAD: Duration = Duration::from_millis(50);

pub(crate) fn workload() -> Workload {
    Workload {
        id: "W9",
        title: "timers",
        about: "Timers due in one to two minutes (far), or within a second (near), are set and \
                then cancelled, so many at a time: time per timer, for the call and until the \
                closure is freed, where a cancelled timer is freed at once (scheduled-thread-pool \
                only marks it, and keeps it until it is due). The closures capture nothing, so that a box for one takes no \
                memory, or 24 bytes. Lateness is by how \
                much timers spread over a span run after they are due.",
        points: grid,
        participants,
        jdk: |point| match point.get("captured") {
            None => vec!["jdk-scheduled"],
            Some(_) => vec![],
        },
        baseline: Baseline::BestPeer,
        jvm: Jvm::Persistent,
        plot: Plot::Scale(&["timers"]),
    }
}

fn grid(size: Size) -> Vec<Point> {
    let far = match size {
        Size::Tiny => vec![100],
        Size::Quick => vec![1_000, 100_000],
        Size::Full => vec![1_000, 10_000, 100_000, 1_000_000],
    };
    let near = size.pick(100, 10_000, 100_000);
    let (timers, millis) = size.pick((100, 20), (2_000, 400), (10_000, 2_000));
    let far = far.iter();
    let mut texts: Vec<_> = far.map(|n| format!("what=far,timers={n}")).collect();
    texts.push(format!("what=near,timers={near}"));
    texts.push(format!("what=far,timers={near},captured=24"));
    texts.push(format!("what=lateness,timers={timers},millis={millis}"));
    points(texts)
}

fn participants(point: &Point) -> Vec<Participant> {
    match point.word("what") {
        "lateness" => {
            participants![lateness; WindlassScheduled, ScheduledPool, TokioSleep, TokioDelayQueue]
        }
        _ => participants![churn; WindlassScheduled, ScheduledPool, TokioSleep, TokioDelayQueue],
    }
}

/// Counts when the closure that has it is freed.
struct Freed;

impl Drop for Freed {
    fn drop(&mut self) {
        GONE.count();
    }
}

/// What one turn of setting and cancelling took.
#[derive(Default)]
struct Spent {
    insert: Duration,
    cancel: Duration,
    free: Duration,
}

fn churn<P: Timers>(point: &Point) -> Vec<Figure> {
    let timers = P::start();
    let delays = delays(point.number("timers"), point.word("what"));
    let count = delays.len() as u64;
    let turns = (AT_LEAST / count).clamp(1, 50);
    let turn = match point.get("captured") {
        None => turn::<P, ()>,
        Some(_) => turn::<P, [u64; 3]>,
    };
    turn(
        &timers,
        &delays[..delays.len().min(1_000)],
        &mut Spent::default(),
    );
    let mut spent = Spent::default();
    (0..turns).for_each(|_| turn(&timers, &delays, &mut spent));
    let all = count * turns;
    let mut figures = vec![
        Figure::per("insert", spent.insert, all),
        Figure::per("cancel", spent.cancel, all),
    ];
    if P::FREES {
        figures.push(Figure::per("cancel and free", spent.free, all));
    }
    // Left as it is: some would wait for what is pending.
    std::mem::forget(timers);
    figures
}

fn delays(count: u64, what: &str) -> Vec<Duration> {
    let mut random = Random::new(42);
    let mut delay = |_| {
        let micros = random.below(1_000_000);
        Duration::from_micros(match what {
            "near" => micros,
            _ => 60_000_000 + 60 * micros,
        })
    };
    (0..count).map(&mut delay).collect()
}

/// Sets and cancels all timers; the closure of each captures a value of the second type.
fn turn<P: Timers, C: Default + Send + 'static>(
    timers: &P,
    delays: &[Duration],
    spent: &mut Spent,
) {
    let count = delays.len() as u64;
    let (all_set, freed) = (SET.expect(count), GONE.expect(count));
    let mut tokens = Vec::with_capacity(delays.len());
    let begun = Instant::now();
    for delay in delays {
        let captured = (Freed, C::default());
        tokens.push(timers.schedule(*delay, move || drop(std::hint::black_box(captured))));
    }
    timers.await_set(&all_set);
    spent.insert += begun.elapsed();
    let begun = Instant::now();
    for token in tokens {
        timers.cancel(token);
    }
    spent.cancel += begun.elapsed();
    if P::FREES {
        freed.wait();
        spent.free += begun.elapsed();
    }
}

fn lateness<P: Timers>(point: &Point) -> Vec<Figure> {
    let (count, span) = (point.number("timers"), point.number("millis") * 1_000);
    let timers = P::start();
    let late: &'static [AtomicU64] = (0..count)
        .map(|_| AtomicU64::new(0))
        .collect::<Vec<_>>()
        .leak();
    let mut random = Random::new(7);
    let all = RAN.expect(count);
    let first = Instant::now() + LEAD;
    let mut tokens = Vec::with_capacity(late.len());
    for place in late {
        let due = first + Duration::from_micros(random.below(span));
        let delay = due.saturating_duration_since(Instant::now());
        tokens.push(timers.schedule(delay, move || {
            let by = Instant::now().saturating_duration_since(due);
            place.store(
                u64::try_from(by.as_nanos()).unwrap_or(u64::MAX),
                Ordering::Release,
            );
            RAN.count();
        }));
    }
    all.wait();
    let micros = |place: &AtomicU64| place.load(Ordering::Acquire) as f64 / 1e3;
    let mut late: Vec<f64> = late.iter().map(micros).collect();
    std::mem::forget((tokens, timers));
    vec![
        Figure::new("late p50", quantile(&mut late, 0.50), Unit::Micros),
        Figure::new("late p99", quantile(&mut late, 0.99), Unit::Micros),
    ]
}
