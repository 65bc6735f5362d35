//! Work within reach of idle workers, and how many threads are made for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass::executors;
use windlass::forkjoin::{ForkJoinPool, join};
use windlass::prelude::*;
use windlass::thread_factory::DefaultThreadFactory;

use super::{Attack, Verdict, attack};

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        attack(
            "leaves",
            "eight leaves of 200 ms on eight idle workers take less than 400 ms, in three runs",
            leaves,
        ),
        attack(
            "late-thief",
            "a worker that is busy for 5 ms takes half of a join that began meanwhile, 10 of 10 times",
            late_thief,
        ),
        attack(
            "left-leaning",
            "a left-leaning tree of 2,000 joins on two workers makes at most 16 threads",
            left_leaning,
        ),
        attack(
            "cached",
            "200,000 tasks of 0 and 1 µs from one thread make at most 64 threads in a cached pool",
            cached,
        )
        .within(60),
        attack(
            "cached-busy",
            "100 tasks that block get 100 threads of a cached pool at once",
            cached_busy,
        ),
    ]
}

/// Threads that are counted when they start.
fn counted() -> (DefaultThreadFactory, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&made);
    let count = move || {
        counter.fetch_add(1, Ordering::Relaxed);
    };
    (DefaultThreadFactory::new().on_start(count), made)
}

fn spin_for(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn split(leaves: usize, leaf: &(impl Fn() + Sync)) {
    if leaves == 1 {
        return leaf();
    }
    let half = leaves / 2;
    join(|| split(half, leaf), || split(leaves - half, leaf));
}

fn leaves() -> Verdict {
    const LEAF: Duration = Duration::from_millis(200);
    let pool = ForkJoinPool::new(8).expect("eight workers are allowed");
    let mut times = [(); 3].map(|()| {
        let begin = Instant::now();
        pool.install(|| split(8, &|| thread::sleep(LEAF)));
        begin.elapsed()
    });
    times.sort_unstable();
    Verdict::new(times[2] < 2 * LEAF, format!("{times:.0?}"))
}

fn late_thief() -> Verdict {
    const SIDE: Duration = Duration::from_millis(50);
    let pool = ForkJoinPool::new(2).expect("two workers are allowed");
    let mut parallel = 0;
    for _ in 0..10 {
        let busy = pool.submit(|| spin_for(Duration::from_millis(5)));
        let begin = Instant::now();
        pool.join(|| thread::sleep(SIDE), || thread::sleep(SIDE));
        parallel += usize::from(begin.elapsed() < 2 * SIDE);
        drop(busy.expect("it runs").join());
    }
    Verdict::new(parallel == 10, format!("{parallel} of 10 in parallel"))
}

fn lean(depth: usize) {
    let leaf = || spin_for(Duration::from_micros(50));
    if depth == 0 {
        return leaf();
    }
    join(|| lean(depth - 1), leaf);
}

fn left_leaning() -> Verdict {
    let (factory, made) = counted();
    let builder = ForkJoinPool::builder()
        .parallelism(2)
        .thread_factory(factory);
    let pool = builder.build().expect("two workers are allowed");
    pool.install(|| lean(2_000));
    let made = made.load(Ordering::Relaxed);
    Verdict::new(made <= 16, format!("{made} threads"))
}

fn cached() -> Verdict {
    const TASKS: u32 = 200_000;
    let most = [0, 1].map(|micros| {
        let (factory, made) = counted();
        let pool = executors::cached_thread_pool_with(factory);
        let begin = Instant::now();
        for _ in 0..TASKS {
            let task = move || spin_for(Duration::from_micros(micros));
            pool.execute(task).expect("it runs");
        }
        pool.close();
        (made.load(Ordering::Relaxed), begin.elapsed() / TASKS)
    });
    let holds = most.iter().all(|(made, _)| *made <= 64);
    let [(none, fast), (some, slow)] = most;
    let seen = format!("{none} threads, {fast:?} a task; {some} threads, {slow:?} a task");
    Verdict::new(holds, seen)
}

fn cached_busy() -> Verdict {
    let (factory, made) = counted();
    let pool = executors::cached_thread_pool_with(factory);
    // Short tasks before: their worker is expected back soon, those that block are not.
    for _ in 0..1_000 {
        pool.execute(|| ()).expect("it runs");
    }
    let gate = windlass::testing::Gate::new();
    let begin = Instant::now();
    for _ in 0..100 {
        let waits = gate.clone();
        pool.execute(move || waits.pass_uninterruptibly())
            .expect("it runs");
    }
    gate.await_waiting(100);
    let time = begin.elapsed();
    gate.open();
    pool.close();
    let made = made.load(Ordering::Relaxed);
    // One thread each, and none of them after a wait for another to return.
    let holds = made >= 100 && time < Duration::from_millis(200);
    Verdict::new(holds, format!("all wait after {time:.1?}, {made} threads"))
}
