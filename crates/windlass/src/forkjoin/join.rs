//! Two closures, perhaps side by side, on borrowed data.
//!
//! The first closure is a job on the stack of the worker while the second runs. It is shared only if
//! somebody is wakeable, and then the worker's oldest job is: the largest piece. Otherwise nobody ever
//! sees it, and the join costs a push and a pop on a private list; or not even that, when enough jobs
//! are on it.
//!
//! A worker takes a job that was shared back if nobody has it, wherever in its deque it lies. If
//! another has taken it, the worker helps this thief, with jobs of joins that the thief has entered
//! since: they are parts of what it waits for. Else it lets another worker take its place, and sleeps.
//! It never runs unrelated work, not even its own. What the thief has forked, spawned or submitted is
//! unrelated: nothing says that it ends before the job does.

use std::sync::Arc;
use std::{panic, thread};

use super::job::{StackJob, Work};
use super::latch::Latch;
use super::local::Local;
use super::shared::Shared;
use super::spawn;
use crate::interrupt::ThreadContext;
use crate::sync::{Deadline, mutant};
use crate::unwind::{catch, discard_payload};

/// With so many jobs within reach of others and nobody wakeable, one more would be of no use.
const ENOUGH: usize = 3;

/// Runs both closures and gives both results.
pub(super) fn join<A, B, RA, RB>(shared: &Arc<Shared>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Local::with(|local| match local {
        Some(local) if local.is_of(shared) => join_on(local, a, b),
        _ => in_pool(shared, move || {
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
    if local.private_len() >= ENOUGH && !local.shared.has_wakeable() {
        return one_after_the_other(a, b);
    }
    side_by_side(local, a, b)
}

/// Offers the first closure to others while the second runs here.
#[inline(never)]
fn side_by_side<A, B, RA, RB>(local: &Local, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let job = StackJob::new(a);
    local.push_job(job.as_ref());
    if local.shared.has_wakeable() {
        local.share_job();
    }
    let rb = catch(b);
    let is_mine = local.take_back(job.address()) || await_job(local, &job) == Awaited::TakenBack;
    if is_mine {
        return then(job.into_body(), rb);
    }
    both(job.into_outcome(), rb)
}

#[inline]
fn one_after_the_other<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    then(a, catch(b))
}

/// Runs what is left. Its panic needs to be caught only if the other side has panicked too.
#[inline]
fn then<A, RA, RB>(a: A, rb: thread::Result<RB>) -> (RA, RB)
where
    A: FnOnce() -> RA,
{
    match rb {
        Ok(rb) => (a(), rb),
        rb => both(catch(a), rb),
    }
}

/// Both have run, whatever became of either; now the first panic goes on.
#[cold]
fn both<RA, RB>(ra: thread::Result<RA>, rb: thread::Result<RB>) -> (RA, RB) {
    match (ra, rb) {
        (Ok(ra), Ok(rb)) => (ra, rb),
        (Err(first), Err(second)) => {
            discard_payload(second);
            panic::resume_unwind(first)
        }
        (Err(payload), Ok(_)) | (Ok(_), Err(payload)) => panic::resume_unwind(payload),
    }
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
    let address = job.address();
    let shared = local.take_of(address);
    let mine = shared.or_else(|| local.shared.take_moved(address));
    if mine.is_some() {
        return Awaited::TakenBack;
    }
    while !job.latch.is_set() {
        if !help(local, || job.thief().filter(|_| !job.latch.is_set())) {
            local.while_blocked(|| sleep(&job.latch, &local.context));
        }
    }
    if job.was_given_back() {
        Awaited::TakenBack
    } else {
        Awaited::Done
    }
}

/// Helps the worker that runs what this one waits for, with a part of it; says whether there was one.
///
/// `runner` says who that is, as long as it is at it.
pub(super) fn help(local: &Local, runner: impl Fn() -> Option<usize>) -> bool {
    let Some(number) = runner() else { return false };
    let Some(part) = local.shared.steal_join_job(number) else {
        return false;
    };
    // Mutant: the runner may have been at something else already.
    if mutant!("help_asks_once") || runner() == Some(number) {
        local.run(Work::Job(part));
        local.info.count_steal();
    } else {
        local.give_back(part);
    }
    true
}

/// Sleeps until the latch is set.
pub(super) fn sleep(latch: &Latch, me: &Arc<ThreadContext>) {
    if latch.announce(me) {
        while !latch.is_set() {
            let _ = me.park_uninterruptibly(Deadline::Never);
        }
    }
}

/// Has a thread that is no worker of the pool sleep until the latch is set, whatever interrupts come;
/// if the pool has no worker, this one does what it waits for.
pub(super) fn await_outside(shared: &Arc<Shared>, latch: &Latch, waiter: usize) {
    let me = ThreadContext::current();
    let _caller = shared.add_caller(&me);
    let wait = || {
        while !latch.is_set() {
            if !shared.stand_in(waiter) && latch.announce(&me) {
                let _ = me.park_uninterruptibly(Deadline::Never);
            }
        }
    };
    // A worker of another pool that waits here is blocked as far as its own pool is concerned.
    Local::with(|local| match local {
        Some(local) => local.while_blocked(wait),
        None => wait(),
    });
}

/// Runs the closure on a worker of the pool while this thread waits; on this thread if the pool takes
/// nothing any more.
pub(super) fn in_pool<F, R>(shared: &Arc<Shared>, body: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let job = StackJob::new(body);
    if spawn::submit(shared, Work::Job(job.as_ref())).is_err() {
        let body = job.into_body();
        return shared.as_helper(|_| body());
    }
    await_outside(shared, &job.latch, job.address());
    match job.into_outcome() {
        Ok(value) => value,
        Err(payload) => panic::resume_unwind(payload),
    }
}
