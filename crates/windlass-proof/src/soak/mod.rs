//! Everything at once, for a long time: the outcome of every task is counted, and none may be missing.
//!
//! Eight producers use several pools of random queues, policies and kinds, and change them while
//! they run; pools are shut down and replaced all the time. At the end of each round all pools have
//! terminated, and their threads must be gone. The outcome of a task is counted when its closure is
//! dropped, whoever drops it.

mod outcomes;
mod producer;
mod subject;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::process::Usage;
use outcomes::OutcomeCounts;
use subject::Subject;

const PRODUCERS: u64 = 8;
const POOLS: usize = 6;
/// How long a pool is used, about.
const LIFE: Duration = Duration::from_millis(50);
/// By how much the memory may have grown since the first round.
const SLACK_KIB: u64 = 48 * 1024;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// For how long.
    pub time: Duration,
    /// How long a round is; a line is printed after each.
    pub round: Duration,
    /// The seed of the random choices; the interleaving of threads is not repeatable.
    pub seed: u64,
    /// Has a queue lose a task, to show that it is noticed.
    pub lose_a_task: bool,
}

/// Runs the plan and reports progress, line by line.
///
/// # Errors
///
/// Returns the first violation.
pub fn run(plan: &Plan, mut report: impl FnMut(&str)) -> Result<(), String> {
    // Forked tasks of other pools use the common one; its threads stay.
    windlass::forkjoin::join(|| (), || ());
    let (begin, mut random) = (Instant::now(), Rng::with_seed(plan.seed));
    let (before, mut baseline) = (Usage::now(), None);
    let (mut all, mut pools) = (OutcomeCounts::default(), 0);
    while begin.elapsed() < plan.time {
        let time = plan.round.min(plan.time.saturating_sub(begin.elapsed()));
        let round = Round::new(&mut random, plan.lose_a_task);
        pools += round.run(time, &mut random, &mut all)?;
        let now = quiet(before.threads);
        let base = *baseline.get_or_insert(now.resident_kib);
        report(&format!(
            "{:>4} s: {pools} pools, {} threads, {} MiB; {all}",
            begin.elapsed().as_secs(),
            now.threads,
            now.resident_kib / 1024,
        ));
        check(before, base, now)?;
    }
    if !all.is_complete() {
        return Err(format!("outcomes are missing: {all}"));
    }
    Ok(())
}

/// Returns the usage, once the threads of the round have ended or a limit is over.
fn quiet(threads: u64) -> Usage {
    let limit = Instant::now() + Duration::from_secs(20);
    loop {
        let now = Usage::now();
        if now.threads <= threads + common_threads() || Instant::now() > limit {
            return now;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns how many threads the common pool may have.
fn common_threads() -> u64 {
    windlass::ForkJoinPool::common().parallelism() as u64
}

fn check(before: Usage, base: u64, now: Usage) -> Result<(), String> {
    if now.threads > before.threads + common_threads() {
        return Err(format!(
            "{} threads, {} at first",
            now.threads, before.threads
        ));
    }
    if now.resident_kib > base + SLACK_KIB {
        return Err(format!(
            "{} KiB, {base} KiB after the first round",
            now.resident_kib
        ));
    }
    Ok(())
}

/// The pools of one round.
struct Round {
    slots: Vec<RwLock<Arc<Subject>>>,
    over: AtomicBool,
}

impl Round {
    fn new(random: &mut Rng, losing: bool) -> Self {
        let subjects = (0..POOLS).map(|_| RwLock::new(Subject::any(random, losing)));
        Self {
            slots: subjects.collect(),
            over: AtomicBool::new(false),
        }
    }

    /// Runs producers on the pools; returns how many pools there were.
    fn run(self, time: Duration, random: &mut Rng, all: &mut OutcomeCounts) -> Result<u64, String> {
        let ended = thread::scope(|scope| {
            for _ in 0..PRODUCERS {
                let random = random.fork();
                scope.spawn(|| self.produce(random));
            }
            let ended = self.replace(time, random, all);
            self.over.store(true, Ordering::SeqCst);
            ended
        });
        let mut pools = ended?;
        for slot in self.slots {
            let subject = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
            all.add(&subject.terminate(random)?);
            pools += 1;
        }
        Ok(pools)
    }

    fn produce(&self, mut random: Rng) {
        while !self.over.load(Ordering::SeqCst) {
            let slot = &self.slots[random.usize(..POOLS)];
            let subject = Arc::clone(&slot.read().unwrap_or_else(PoisonError::into_inner));
            for _ in 0..random.u32(1..64) {
                producer::act(&subject, &mut random);
            }
        }
    }

    /// Shuts down one pool after the other, and replaces them.
    fn replace(
        &self,
        time: Duration,
        random: &mut Rng,
        all: &mut OutcomeCounts,
    ) -> Result<u64, String> {
        let (begin, mut pools) = (Instant::now(), 0);
        while begin.elapsed() < time {
            thread::sleep(LIFE.min(time) / POOLS as u32);
            let slot = &self.slots[random.usize(..POOLS)];
            let subject = Subject::any(random, false);
            let old = std::mem::replace(
                &mut *slot.write().unwrap_or_else(PoisonError::into_inner),
                subject,
            );
            // Half of them are shut down while producers still use them.
            all.add(&old.end_while_used(random)?);
            pools += 1;
        }
        Ok(pools)
    }
}
