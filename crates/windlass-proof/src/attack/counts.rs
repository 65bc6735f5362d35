//! Figures that a user adds up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windlass::forkjoin::ForkJoinPool;
use windlass::prelude::*;

use super::{Attack, Verdict, attack};

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        attack(
            "panics-counted",
            "after await_termination the uncaught handler has been called once for each panic, in 300 runs",
            panics_counted,
        )
        .within(60),
        attack(
            "stats-agree",
            "no snapshot of a busy pool whose workers come and go contradicts itself, for 3 s",
            stats_agree,
        )
        .within(30),
    ]
}

fn panics_counted() -> Verdict {
    const RUNS: usize = 300;
    const PANICS: u64 = 25;
    let mut wrong = 0;
    for _ in 0..RUNS {
        let seen = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&seen);
        let builder = ThreadPoolExecutor::builder()
            .core_pool_size(2)
            .maximum_pool_size(4);
        let count = move |_: &_| {
            counter.fetch_add(1, Ordering::SeqCst);
        };
        let pool = builder.uncaught_handler(count).build();
        let pool = pool.expect("the sizes fit");
        for _ in 0..PANICS {
            let fails = || std::panic::resume_unwind(Box::new("planned"));
            pool.execute(fails).expect("it runs");
            pool.execute(|| ()).expect("it runs");
        }
        pool.shutdown();
        let ended = pool.await_termination(Duration::from_secs(20));
        wrong += usize::from(ended != Ok(true) || seen.load(Ordering::SeqCst) != PANICS);
    }
    Verdict::new(wrong == 0, format!("wrong in {wrong} of {RUNS} runs"))
}

fn stats_agree() -> Verdict {
    let builder = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(8);
    let builder = builder
        .keep_alive(Duration::from_micros(50))
        .allow_core_thread_timeout(true);
    let pool = builder.build().expect("the sizes fit");
    let stop = Arc::new(AtomicBool::new(false));
    let submitters = [(); 2].map(|()| {
        let (pool, stop) = (pool.clone(), Arc::clone(&stop));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..1_000 {
                    pool.execute(|| ()).expect("it runs");
                }
                thread::sleep(Duration::from_micros(200));
            }
        })
    });
    let (begin, mut snapshots, mut contradicting) = (Instant::now(), 0_u64, 0_u64);
    while begin.elapsed() < Duration::from_secs(3) {
        let stats = pool.stats();
        snapshots += 1;
        let agrees = stats.completed_task_count <= stats.task_count
            && stats.active_count <= stats.pool_size
            && stats.pool_size <= stats.largest_pool_size
            && stats.pool_size <= stats.maximum_pool_size;
        contradicting += u64::from(!agrees);
    }
    stop.store(true, Ordering::Relaxed);
    for submitter in submitters {
        drop(submitter.join());
    }
    pool.close();
    let (of_forks, contradicting_forks) = fork_join_snapshots();
    let seen = format!(
        "{contradicting} of {snapshots} snapshots of a thread pool contradict themselves, \
         {contradicting_forks} of {of_forks} of a fork-join pool"
    );
    Verdict::new(contradicting == 0 && contradicting_forks == 0, seen)
}

/// Takes snapshots of a fork-join pool whose workers fork and steal; returns how many, and how many of
/// them contradict themselves.
fn fork_join_snapshots() -> (u64, u64) {
    let builder = ForkJoinPool::builder().parallelism(2);
    let builder = builder.keep_alive(Duration::from_micros(50));
    let pool = builder.build().expect("two workers are allowed");
    let stop = Arc::new(AtomicBool::new(false));
    let (inside, theirs) = (pool.clone(), Arc::clone(&stop));
    let forks = pool.submit(move || {
        while !theirs.load(Ordering::Relaxed) {
            let forked: Vec<_> = (0..32).map(|_| inside.submit(|| ())).collect();
            for fork in forked {
                drop(fork.expect("it runs").join());
            }
        }
    });
    let (begin, mut snapshots, mut contradicting) = (Instant::now(), 0, 0);
    while begin.elapsed() < Duration::from_secs(3) {
        let stats = pool.stats();
        let workers = &stats.workers;
        snapshots += 1;
        let completed: u64 = workers.iter().map(|one| one.completed_task_count).sum();
        let steals: u64 = workers.iter().map(|one| one.steal_count).sum();
        let queued: usize = workers.iter().map(|one| one.queued_task_count).sum();
        let agrees = completed <= stats.completed_task_count
            && steals <= stats.steal_count
            && queued == stats.queued_task_count
            && stats.running_thread_count <= stats.active_thread_count
            && stats.active_thread_count <= stats.pool_size
            && stats.pool_size <= stats.largest_pool_size;
        contradicting += u64::from(!agrees);
    }
    stop.store(true, Ordering::Relaxed);
    drop(forks.expect("it runs").join());
    pool.close();
    (snapshots, contradicting)
}
