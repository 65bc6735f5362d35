//! The system refuses every thread.

use std::error::Error;
use std::time::Duration;

use windlass::prelude::*;
use windlass::thread_factory::DefaultThreadFactory;

use super::{Attack, Verdict, attack};

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        attack(
            "no-thread",
            "a thread pool that gets no thread refuses with the system's error, and terminates",
            thread_pool,
        ),
        attack("no-thread-scheduled", "so does a scheduled pool", scheduled),
        attack("no-thread-fork-join", "so does a fork-join pool", fork_join),
    ]
}

/// Threads with a stack that no address space has room for.
fn impossible() -> DefaultThreadFactory {
    DefaultThreadFactory::new().stack_size(1 << 46)
}

/// Describes the answer to a submission; a handle of an accepted task must have ended.
fn verdict<H, T, E: Error>(answer: Result<H, E>, outcome: impl FnOnce(H) -> T) -> Verdict {
    match answer {
        Err(refused) => {
            let source = refused.source().map(ToString::to_string);
            Verdict::new(source.is_some(), format!("refused: {source:?}"))
        }
        Ok(handle) => {
            drop(outcome(handle));
            Verdict::new(false, "accepted, and the handle is told")
        }
    }
}

fn thread_pool() -> Verdict {
    let mut verdicts = [1, 0].map(|core| {
        let builder = ThreadPoolExecutor::builder().core_pool_size(core);
        let pool = builder
            .maximum_pool_size(1)
            .thread_factory(impossible())
            .build();
        let pool = pool.expect("the sizes fit");
        let answer = verdict(pool.submit(|| ()), |handle| handle.join());
        pool.close();
        answer
    });
    let bad = verdicts.iter().position(|verdict| !verdict.holds);
    let [first, second] = &mut verdicts;
    let shown = if bad == Some(1) { second } else { first };
    Verdict::new(shown.holds, std::mem::take(&mut shown.seen))
}

fn scheduled() -> Verdict {
    let pool = windlass::executors::scheduled_thread_pool_with(1, impossible());
    let delay = Duration::from_millis(1);
    let answer = verdict(pool.schedule(delay, || ()), |handle| handle.join());
    pool.close();
    answer
}

fn fork_join() -> Verdict {
    let builder = ForkJoinPool::builder()
        .parallelism(1)
        .thread_factory(impossible());
    let pool = builder.build().expect("one worker is allowed");
    assert_eq!(pool.join(|| 1, || 2), (1, 2), "a join runs on the caller");
    let answer = verdict(pool.submit(|| ()), |handle| handle.join());
    pool.close();
    answer
}
