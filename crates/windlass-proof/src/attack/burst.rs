//! Memory that a pool keeps after a burst of two million tasks.

use std::alloc::System;
use std::time::Duration;

use cap::Cap;
use windlass::executors;
use windlass::prelude::*;
use windlass::queue::{
    LinkedBlockingDeque, LinkedBlockingQueue, LinkedTransferQueue, PriorityBlockingQueue,
};
use windlass::task::Task;
use windlass::testing::Gate;

use super::{Attack, Verdict, attack};

const TASKS: u64 = 2_000_000;
/// What may stay, of some 100 MiB at the peak.
const KEPT: usize = 1024 * 1024;

/// Counts what is allocated. What the allocator keeps of it after it was freed is not the pool's, so
/// the resident memory of the process would not tell.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

pub(super) fn attacks() -> Vec<Attack> {
    let claim = |name, claim, run| attack(name, claim, run).within(120);
    vec![
        claim(
            "burst-linked",
            "a linked queue shrinks after a burst",
            || thread_pool(LinkedBlockingQueue::new()),
        ),
        claim("burst-deque", "a deque shrinks after a burst", || {
            thread_pool(LinkedBlockingDeque::new())
        }),
        claim(
            "burst-transfer",
            "a transfer queue shrinks after a burst",
            || thread_pool(LinkedTransferQueue::new()),
        ),
        claim(
            "burst-priority",
            "a priority queue shrinks after a burst",
            || thread_pool(PriorityBlockingQueue::by_key(Task::priority)),
        ),
        claim(
            "burst-fork-join",
            "a fork-join pool shrinks after a burst",
            fork_join,
        ),
        claim(
            "burst-timers",
            "a scheduled pool shrinks after a burst of timers that are cancelled",
            timers,
        ),
    ]
}

/// Compares what is allocated now with what was allocated before the burst, and at its peak.
fn kept(before: usize, peak: usize) -> Verdict {
    let kept = ALLOCATOR.allocated().saturating_sub(before);
    let at_peak = peak.saturating_sub(before);
    let seen = format!("{} KiB at the peak, {} kept", at_peak / 1024, kept / 1024);
    Verdict::new(kept < KEPT, seen)
}

/// Queues the burst in a pool of one worker, lets it run, and waits for its end with `await_end`.
fn burst<P: ExecutorService>(pool: &P, await_end: impl FnOnce(&P)) -> Verdict {
    let (gate, before) = (Gate::new(), ALLOCATOR.allocated());
    let waits = gate.clone();
    pool.execute(move || waits.pass_uninterruptibly())
        .expect("it runs");
    for _ in 0..TASKS {
        pool.execute(|| ()).expect("it runs");
    }
    let peak = ALLOCATOR.allocated();
    gate.open();
    await_end(pool);
    let verdict = kept(before, peak);
    pool.close();
    verdict
}

fn thread_pool(queue: impl BlockingQueue<Task> + 'static) -> Verdict {
    let builder = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(queue);
    burst(&builder.build().expect("the sizes fit"), |pool| {
        let last = pool.submit(|| ()).expect("it runs");
        last.join().expect("it ends");
    })
}

fn fork_join() -> Verdict {
    let pool = ForkJoinPool::new(1).expect("one worker is allowed");
    burst(&pool, |pool| {
        while !pool.await_quiescence(Duration::from_secs(1)) {}
    })
}

fn timers() -> Verdict {
    let pool = executors::scheduled_thread_pool(1);
    pool.set_remove_on_cancel(true);
    let before = ALLOCATOR.allocated();
    let schedule = |_| pool.schedule(Duration::from_secs(3600), || ());
    let handles: Vec<_> = (0..TASKS).filter_map(|at| schedule(at).ok()).collect();
    let peak = ALLOCATOR.allocated();
    for handle in &handles {
        handle.cancel();
    }
    drop(handles);
    let verdict = kept(before, peak);
    drop(pool.shutdown_now());
    pool.close();
    verdict
}
