//! Streams of tasks from several producers into one pool, which several workloads time.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::instruments::tally::RAN;
use crate::peers::Pool;

/// Runs one task for every ten of the sample, so that threads run and memory is mapped.
pub(crate) fn warm_up<P: Pool>(pool: &P, tasks: u64) {
    let all = RAN.expect(tasks / 10);
    for _ in 0..tasks / 10 {
        pool.execute(|| RAN.count());
    }
    all.wait();
}

/// The time from the first of `tasks` calls to `send` until all tasks have run.
pub(crate) fn time(producers: usize, tasks: u64, send: impl Fn() + Sync) -> Duration {
    let each = tasks / producers as u64;
    let all = RAN.expect(each * producers as u64);
    if producers == 1 {
        let begun = Instant::now();
        (0..each).for_each(|_| send());
        all.wait();
        return begun.elapsed();
    }
    // The producers report when they started: this thread may get a core long after they did.
    let together = Barrier::new(producers);
    std::thread::scope(|scope| {
        let produce = || {
            together.wait();
            let begun = Instant::now();
            (0..each).for_each(|_| send());
            begun
        };
        let threads: Vec<_> = (0..producers).map(|_| scope.spawn(produce)).collect();
        all.wait();
        let ended = Instant::now();
        let begun = threads
            .into_iter()
            .map(|thread| thread.join().expect("a producer does not panic"))
            .min();
        begun.map_or(Duration::ZERO, |begun| ended - begun)
    })
}

/// Sends an empty task that captures so many words.
#[inline]
pub(crate) fn send_capturing<P: Pool, const WORDS: usize>(pool: &P) {
    let captured = black_box([7_u64; WORDS]);
    pool.execute(move || {
        black_box(captured);
        RAN.count();
    });
}
