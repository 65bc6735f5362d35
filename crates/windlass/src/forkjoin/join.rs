//! Two closures, perhaps side by side, on borrowed data.
//!
//! The second closure is a job on the stack of the worker. It is shared only if somebody is hungry,
//! and then the worker's oldest job is: the largest piece. Otherwise nobody ever sees it, and the
//! join costs a push and a pop on a private list.
//!
//! A worker whose job was taken by another waits in this order: it runs what it has forked itself
//! since; it helps its thief, with work that the thief has forked since, which is part of what it
//! waits for; else it lets another worker take its place, and sleeps. It never runs unrelated work.

use super::core::Core;
use super::job::{NOBODY, StackJob, Work};
use super::local::Local;
use crate::containment::catch;
use crate::interrupt::Record;
use crate::sync::Deadline;
use crate::task::Failure;
use std::sync::Arc;

/// With so many jobs within reach of others and nobody hungry, one more would be of no use.
const ENOUGH: usize = 3;

/// Runs both closures and gives both results.
pub(super) fn join<A, B, RA, RB>(core: &Arc<Core>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Local::with(|local| match local {
        Some(local) if local.is_of(core) => join_on(local, a, b),
        _ => in_pool(core, move || {
            Local::with(|local| match local {
                Some(local) => join_on(local, a, b),
                None => (a(), b()),
            })
        }),
    })
}

/// The same on the worker that this is called on; without a worker one after the other.
pub(super) fn join_here<A, B, RA, RB>(a: A, b: B) -> Result<(RA, RB), (A, B)>
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Local::with(|local| match local {
        Some(local) => Ok(join_on(local, a, b)),
        None => Err((a, b)),
    })
}

#[inline]
fn join_on<A, B, RA, RB>(local: &Local, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let hungry = local.core.is_hungry();
    if !hungry && local.exposed() >= ENOUGH {
        return one_after_the_other(a, b);
    }
    let job = StackJob::new(b);
    local.push_job(job.as_ref());
    if hungry {
        local.share_job();
    }
    let ra = catch(a);
    let is_mine = local.take_back(job.address()) || await_job(local, &job) == Awaited::TakenBack;
    let rb = if is_mine {
        catch(job.into_body())
    } else {
        job.into_outcome()
    };
    both(ra, rb)
}

/// Both run, whatever becomes of the first; then the first panic goes on.
fn both<RA, RB>(ra: std::thread::Result<RA>, rb: std::thread::Result<RB>) -> (RA, RB) {
    match (ra, rb) {
        (Ok(ra), Ok(rb)) => (ra, rb),
        (Err(payload), _) | (_, Err(payload)) => std::panic::resume_unwind(payload),
    }
}

fn one_after_the_other<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    let ra = catch(a);
    let rb = catch(b);
    both(ra, rb)
}

#[derive(Debug, PartialEq, Eq)]
enum Awaited {
    /// It was still there, and is ours again.
    TakenBack,
    /// Somebody has run it.
    Done,
}

/// Waits for a job that was shared.
#[cold]
fn await_job<F, R>(local: &Local, job: &StackJob<F, R>) -> Awaited
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    while !job.latch.is_set() {
        match local.deque.pop() {
            Some(Work::Job(found)) if found.is(job.address()) => return Awaited::TakenBack,
            // Thieves take the oldest first: what is still here was forked after the job.
            Some(younger) => local.run(younger),
            None => break,
        }
    }
    while !job.latch.is_set() {
        let help = job.thief().and_then(|thief| local.core.steal_from(thief));
        match help {
            Some(work) => {
                local.run(work);
                local.member.count_steal();
            }
            None => {
                if job.latch.announce(&local.record) {
                    local.core.begin_block();
                    while !job.latch.is_set() {
                        let _ = local.record.park_uninterruptibly(Deadline::Never);
                    }
                    local.core.end_block();
                }
            }
        }
    }
    Awaited::Done
}

/// Runs work of the pool on a thread that is no worker.
pub(super) fn run_outside(core: &Core, work: Work) {
    match work {
        Work::Job(job) => job.run_elsewhere(NOBODY),
        Work::Task(task) => {
            if let Err(payload) = catch(|| task.run()) {
                core.report(&Failure::from_panic(payload));
            }
        }
    }
}

/// Runs the closure on a worker of the pool while this thread waits, whatever interrupts come; on this
/// thread if the pool takes nothing any more.
pub(super) fn in_pool<F, R>(core: &Arc<Core>, body: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let job = StackJob::new(body);
    if core.submit(Work::Job(job.as_ref())).is_err() {
        return (job.into_body())();
    }
    let me = Record::current();
    // A worker of another pool that waits here is blocked as far as its own pool is concerned.
    Local::with(|local| {
        let own = local.map(|local| &local.core);
        if let Some(own) = own {
            own.begin_block();
        }
        // A pool that could not make a single thread: this one sees to what was submitted.
        while !job.latch.is_set() && core.has_no_workers() {
            match core.take_submission() {
                Some(work) => run_outside(core, work),
                None => break,
            }
        }
        if job.latch.announce(&me) {
            while !job.latch.is_set() {
                let _ = me.park_uninterruptibly(Deadline::Never);
            }
        }
        if let Some(own) = own {
            own.end_block();
        }
    });
    match job.into_outcome() {
        Ok(value) => value,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}
