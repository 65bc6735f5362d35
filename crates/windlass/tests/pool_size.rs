//! The size that a pool should have, and the controller that follows it.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::pool::{SizeAdvice, SizeChange, SizeController};
use windlass::prelude::*;
use windlass::testing::until;

const SECOND: Duration = Duration::from_secs(1);
const PROCESSORS: usize = 8;

fn advice(ratio: f64) -> SizeAdvice {
    let compute = Duration::from_micros(1_000);
    SizeAdvice::new(PROCESSORS, 1.0, compute.mul_f64(ratio), compute)
}

/// The changes of the size of a pool whose load is this over time, in seconds, observed each second on a
/// virtual clock for five minutes; and the size at the end.
fn simulate(load: impl Fn(f64) -> f64 + Send + 'static) -> (Vec<(u64, SizeChange)>, usize) {
    let clock = TestClock::new();
    let scheduler = clock.enter(|| ScheduledThreadPoolExecutor::new(1));
    let changes = Arc::new(Mutex::new(Vec::new()));
    let (size, ticks) = (
        Arc::new(AtomicUsize::new(PROCESSORS)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut controller = SizeController::new(2..=100, 1.0);
    let observe = {
        let (clock, changes) = (clock.clone(), Arc::clone(&changes));
        let (size, ticks) = (Arc::clone(&size), Arc::clone(&ticks));
        move || {
            let now = clock.elapsed().as_secs_f64();
            let change = controller.observe(size.load(Ordering::Relaxed), advice(load(now)));
            if let Some(change) = change {
                size.store(change.to, Ordering::Relaxed);
                changes
                    .lock()
                    .unwrap()
                    .push((clock.elapsed().as_secs(), change));
            }
            ticks.fetch_add(1, Ordering::SeqCst);
        }
    };
    let observing = scheduler
        .schedule_at_fixed_rate(SECOND, SECOND, observe)
        .unwrap();
    for tick in 1..=300 {
        clock.advance(SECOND);
        until("the controller has observed", || {
            ticks.load(Ordering::SeqCst) == tick
        });
    }
    observing.cancel();
    drop(scheduler.shutdown_now());
    let changes = std::mem::take(&mut *changes.lock().unwrap());
    (changes, size.load(Ordering::Relaxed))
}

/// How often the direction of the changes turned.
fn turns<'a>(changes: impl IntoIterator<Item = &'a SizeChange>) -> usize {
    let directions: Vec<_> = changes
        .into_iter()
        .map(|change| change.to > change.from)
        .collect();
    directions
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .count()
}

fn sizes(changes: &[(u64, SizeChange)]) -> impl Iterator<Item = &SizeChange> {
    changes.iter().map(|(_, change)| change)
}

fn is_near(size: usize, expected: usize) -> bool {
    size.abs_diff(expected) * 6 <= size.max(expected) + 6
}

/// A sequence of numbers from -1 to 1 that looks random.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

/// WL-261
#[test]
fn a_step_is_followed_in_bounded_steps_and_then_nothing_changes() {
    // Tasks begin to wait nine tenths of their time, and stop it.
    let (changes, size) = simulate(|now| {
        if (50.0..150.0).contains(&now) {
            9.0
        } else {
            0.0
        }
    });
    assert!(is_near(size, 8), "{size}: {changes:?}");
    assert_eq!(turns(sizes(&changes)), 1, "{changes:?}");
    let largest = sizes(&changes).map(|change| change.to).max().unwrap();
    assert!(is_near(largest, 80), "{changes:?}");
    for (at, change) in &changes {
        assert!(
            (50..110).contains(at) || (150..250).contains(at),
            "{changes:?}"
        );
        assert!(change.to <= change.from + change.from / 2);
        assert!(change.to >= change.from - change.from / 4);
    }
}

/// WL-261
#[test]
fn a_ramp_is_followed_in_one_direction() {
    let (changes, size) = simulate(|now| (now / 30.0).min(6.0));
    assert!(is_near(size, 56), "{size}: {changes:?}");
    assert_eq!(turns(sizes(&changes)), 0, "{changes:?}");
    assert!(changes.len() > 4, "{changes:?}");
}

/// WL-261
#[test]
fn noise_alone_changes_next_to_nothing() {
    let noise = Mutex::new(noise(7));
    let (changes, size) = simulate(move |_| (4.0 + 0.8 * (noise.lock().unwrap())()).max(0.0));
    assert!(is_near(size, 40), "{size}: {changes:?}");
    assert_eq!(turns(sizes(&changes)), 0, "{changes:?}");
}

/// WL-261
#[test]
fn no_seed_makes_it_swing() {
    for seed in 1..=500 {
        let mut noise = noise(seed);
        let mut controller = SizeController::new(2..=100, 1.0);
        let (mut size, mut changes) = (PROCESSORS, Vec::new());
        let mut settled = 0;
        for tick in 0..600 {
            // Up to a fifth off, and one in twenty is an outlier.
            let base = if tick < 300 { 1.0 } else { 5.0 };
            let factor = 1.0 + 0.2 * noise();
            let outlier = if noise() > 0.9 { 4.0 } else { 1.0 };
            let ratio = ((1.0 + base) * factor * outlier - 1.0).max(0.0);
            if let Some(change) = controller.observe(size, advice(ratio)) {
                size = change.to;
                changes.push(change);
                settled = tick;
            }
            assert!((2..=100).contains(&size));
        }
        assert_eq!(turns(&changes), 0, "seed {seed}: {changes:?}");
        assert!(
            is_near(size, 48) || size.abs_diff(48) <= 14,
            "seed {seed}: {size}"
        );
        assert!(changes.len() <= 12, "seed {seed}, {settled}: {changes:?}");
    }
}

/// What a pool of `workers` measures as W/C on [`PROCESSORS`] that it shares with nobody: its tasks wait
/// `waits` times as long as they compute, and come so fast that, were there workers enough, they would keep
/// the processors busy to `load`.
///
/// A task that waits for a processor waits too, so the size of the pool is part of what it measures: whoever
/// follows the measurement changes it.
fn measured(workers: usize, waits: f64, load: f64) -> f64 {
    let processors = PROCESSORS as f64;
    let throughput_of_workers = workers as f64 / (1.0 + waits);
    if load * processors < processors.min(throughput_of_workers) {
        // Now and then all processors are taken.
        return waits + load.powi(PROCESSORS as i32) / (1.0 - load);
    }
    let throughput = processors.min(throughput_of_workers);
    workers as f64 / throughput - 1.0
}

/// The changes of the size of a pool whose tasks are those of `load` at each second, the ratio of waiting to
/// computing and the load of the processors, and the size at the end.
fn follow(
    seconds: u32,
    mut noise: impl FnMut() -> f64,
    load: impl Fn(u32) -> (f64, f64),
) -> (Vec<SizeChange>, usize) {
    let mut controller = SizeController::new(2..=200, 1.0);
    let (mut size, mut changes) = (PROCESSORS, Vec::new());
    for now in 0..seconds {
        let (waits, load) = load(now);
        let ratio = (1.0 + measured(size, waits, load)) * (1.0 + 0.1 * noise()) - 1.0;
        if let Some(change) = controller.observe(size, advice(ratio.max(0.0))) {
            size = change.to;
            changes.push(change);
        }
    }
    (changes, size)
}

const SATURATED: f64 = 10.0;

/// WL-261
#[test]
fn a_pool_that_follows_what_it_measures_itself_settles() {
    for seed in 1..=200 {
        let tell = |changes: &[SizeChange]| format!("seed {seed}: {changes:?}");
        // More tasks than workers, and a wait that comes and goes: a saturated pool of computing tasks is told
        // the size that it has, so it grows once and stays.
        let (changes, size) = follow(600, noise(seed), |now| {
            (if now < 100 { 0.0 } else { 4.0 }, SATURATED)
        });
        assert_eq!(turns(&changes), 0, "{}", tell(&changes));
        assert!(is_near(size, 40), "{size}, {}", tell(&changes));
        let (changes, size) = follow(600, noise(seed), |now| {
            (if now < 300 { 4.0 } else { 0.0 }, SATURATED)
        });
        assert_eq!(turns(&changes), 0, "{}", tell(&changes));
        assert!(is_near(size, 40), "{size}, {}", tell(&changes));
        // Fewer tasks than the processors can take: it shrinks again.
        let (changes, size) = follow(600, noise(seed), |now| {
            (if now < 300 { 4.0 } else { 0.0 }, 0.5)
        });
        assert!(turns(&changes) <= 1, "{}", tell(&changes));
        assert!(size <= 12, "{size}, {}", tell(&changes));
        // The wait grows for five minutes.
        let (changes, size) = follow(600, noise(seed), |now| {
            (f64::from(now.min(300)) / 50.0, SATURATED)
        });
        assert_eq!(turns(&changes), 0, "{}", tell(&changes));
        assert!(is_near(size, 56), "{size}, {}", tell(&changes));
    }
}

/// WL-261
#[test]
fn the_bounds_are_kept_and_each_change_is_explained() {
    let mut controller = SizeController::new(4..=10, 1.0);
    let mut size = 2;
    for _ in 0..100 {
        if let Some(change) = controller.observe(size, advice(50.0)) {
            let text = change.to_string();
            let expected = format!(
                "from {} to {} workers, towards 10: ",
                change.from, change.to
            );
            assert!(
                text.starts_with(&expected) && text.contains("tasks wait 50.00ms"),
                "{text}"
            );
            size = change.to;
        }
    }
    assert!((9..=10).contains(&size), "{size}");
}

/// WL-261
#[test]
fn a_small_pool_grows_by_one_and_does_not_go_back_and_forth() {
    for size in 1..=5 {
        let mut controller = SizeController::new(1..=size + 1, 1.0);
        let mut changes = |size, recommended| {
            let compute = Duration::from_micros(1_000);
            let advice = SizeAdvice::new(recommended, 1.0, Duration::ZERO, compute);
            let changes = (0..20).filter_map(|_| controller.observe(size, advice));
            changes.map(|change| change.to).next()
        };
        assert_eq!(changes(size, size + 1), Some(size + 1));
        assert_eq!(changes(size + 1, size), None);
    }
}

/// WL-261
#[test]
fn sizes_without_an_end_do_not_overflow() {
    let mut controller = SizeController::new(1..=usize::MAX, 1.0);
    let second = |size| {
        let wait = if size == 1 {
            Duration::MAX
        } else {
            Duration::ZERO
        };
        SizeAdvice::new(1, 1.0, wait, Duration::from_nanos(1))
    };
    assert_eq!(second(1).recommended, Some(usize::MAX));
    let mut follow = |size| (0..5).find_map(|_| controller.observe(size, second(size)));
    assert_eq!(follow(1).unwrap().to, 2);
    let shrunk = follow(usize::MAX).unwrap();
    assert_eq!(shrunk.to, usize::MAX - usize::MAX / 4);
}

/// WL-260
#[test]
fn without_a_measurement_there_is_no_recommendation() {
    let pool = executors::fixed_thread_pool(2).unwrap();
    let advice = pool.size_advice(1.0);
    assert_eq!(advice.recommended, None);
    assert!(advice.to_string().starts_with("no recommendation: "));
    assert_eq!(SizeController::new(1..=9, 1.0).adjust(&pool), Ok(None));
}

/// WL-260
#[cfg(all(feature = "cpu-time", target_os = "linux"))]
#[test]
fn a_pool_whose_tasks_wait_is_recommended_more_workers_and_follows() {
    use windlass::interrupt;
    use windlass::pool::Times;

    let builder = ThreadPoolExecutor::builder().core_pool_size(2);
    let pool = builder.times(Times::Every).build().unwrap();
    let mut controller = SizeController::new(1..=16, 1.0);
    until("the pool has grown", || {
        let waits = (0..4).map(|_| pool.submit(|| interrupt::sleep(Duration::from_millis(2))));
        for wait in waits.collect::<Vec<_>>() {
            wait.unwrap().join().unwrap().unwrap();
        }
        controller.adjust(&pool).unwrap().is_some() && pool.core_pool_size() > 2
    });
    let advice = pool.size_advice(1.0);
    assert!(advice.wait > advice.compute, "{advice}");
    assert!(advice.recommended.unwrap() > advice.processors, "{advice}");
    pool.close();
}
