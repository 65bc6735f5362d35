//! A fork-join pool gives back the memory that a burst of tasks took.
//!
//! In a binary of its own, since it counts the memory of the process.

use std::alloc::System;

use cap::Cap;
use windlass::Submit;
use windlass::forkjoin::ForkJoinPool;
use windlass::testing::{Gate, Latch, PATIENCE};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const BURST: usize = 100_000;

/// What may stay: a fraction of what the burst took.
const MAY_STAY: usize = 64 * 1024;

fn live() -> usize {
    ALLOCATOR.allocated()
}

/// Checks that `burst`, which queues tasks and lets them run after it was told how much is live, leaves
/// little behind.
///
/// The least of a few bursts counts: in one of them a worker creates its histograms, once, when it first
/// times a run. What a burst leaves behind it leaves each time.
fn assert_gives_back(name: &str, burst: impl Fn(&(dyn Fn() + Sync))) {
    let stays = (0..3).map(|_| {
        let before = live();
        burst(&|| {
            let taken = live().saturating_sub(before);
            assert!(taken > 2_000_000, "{name} take {taken} bytes");
        });
        live().saturating_sub(before)
    });
    let stays = stays.min().unwrap_or_default();
    assert!(stays < MAY_STAY, "{name} keep {stays} bytes");
}

/// One test: the memory of the process is counted, and tests run side by side.
#[test]
fn a_burst_leaves_no_memory_behind() {
    let pool = ForkJoinPool::new(1).unwrap();
    let run_all = |submit: &(dyn Fn(&Latch) + Sync), check: &dyn Fn()| {
        let gate = Gate::new();
        let blocked = gate.clone();
        pool.execute(move || blocked.pass_uninterruptibly())
            .unwrap();
        gate.await_waiting(1);
        let all = Latch::new(BURST);
        submit(&all);
        check();
        gate.open();
        all.wait();
        assert!(pool.await_quiescence(PATIENCE));
    };
    let submit = |all: &Latch| {
        for _ in 0..BURST {
            let all = all.clone();
            pool.execute(move || all.count_down()).unwrap();
        }
    };
    run_all(&submit, &|| ());
    assert_gives_back("submissions", |check| run_all(&submit, check));
    let fork = |check: &(dyn Fn() + Sync)| {
        let all = Latch::new(BURST);
        pool.install(|| {
            submit(&all);
            check();
        });
        all.wait();
        assert!(pool.await_quiescence(PATIENCE));
    };
    fork(&|| ());
    assert_gives_back("forks", fork);
}
