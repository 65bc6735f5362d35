//! Runs two closures, potentially in parallel, on borrowed data.
//!
//! While the second closure runs, the first is a job on the worker's stack that others can steal, or, if
//! joins are short, a private one ([`private_jobs`](super::private_jobs)).
//!
//! The worker takes a shared job back if it is still in its deque, at any position. If a thief has taken
//! it, the worker *leapfrogs*: it steals from that thief, and only jobs of joins that the thief has
//! entered since. Those are parts of the job that the worker waits for. If there is none, it yields for a
//! while, since the rest of the job is mostly short. Then another worker replaces it while it sleeps, until
//! the job is done or the thief has entered a further join. It never runs unrelated work, not even its
//! own. What the thief has forked, spawned or submitted is unrelated: nothing guarantees that it ends
//! before the job does.

#![expect(
    unsafe_code,
    reason = "the closure of a job is moved out of it, by whoever runs it"
)]

use std::any::Any;
use std::sync::Arc;
use std::{mem, panic, thread};

use super::context::erased;
use super::job::{StackJob, Work};
use super::latch::Registered;
use super::local::Local;
use super::shared::Shared;
use super::sleep::Sleep;
use crate::sync::yield_until;
use crate::unwind::{catch, discard, discard_payload};

/// Runs both closures on a worker of the pool and returns both results.
pub(super) fn join_in<A, B, RA, RB>(shared: &Arc<Shared>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Local::with(|local| match local {
        Some(local) if local.is_of(shared) => join_on(local, a, b),
        _ => join_elsewhere(shared, a, b),
    })
}

/// Runs both closures on the current thread if it is a worker of the pool and a guest of another; else
/// on a worker.
#[cold]
fn join_elsewhere<A, B, RA, RB>(shared: &Arc<Shared>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let on_worker = move || {
        Local::with(|local| match local {
            Some(local) => join_on(local, a, b),
            None => (a(), b()),
        })
    };
    Local::of(shared, |local| match local {
        Some(_) => on_worker(),
        None => shared.run_on_worker(on_worker),
    })
}

/// Runs both closures on the worker that this is called on; returns them elsewhere.
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

/// Lets others steal the first closure while the second runs here.
#[inline]
fn join_on<A, B, RA, RB>(local: &Local, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    if local.propagates {
        return join_in_context(local, a, b);
    }
    join_plainly(local, a, b)
}

/// Enters the context of this thread around the first closure, which another thread may run.
///
/// On this thread too: whether the closure was stolen makes no difference to it.
#[cold]
fn join_in_context<A, B, RA, RB>(local: &Local, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(context) = local.shared.capture() else {
        return join_plainly(local, a, b);
    };
    let (mut b, mut rb) = (Some(b), None);
    let run_b: &mut (dyn FnMut() + Send) = &mut || rb = b.take().map(|b| b());
    let joined = catch(|| erased(&context, a, |run_a| join_plainly(local, run_a, run_b)));
    match (joined, rb) {
        (Ok((_, a)), Some(rb)) => (a.result(), rb),
        (Ok(_), None) => unreachable!("a join that has returned has run both closures"),
        (Err(payload), surplus) => {
            discard((surplus, b));
            panic::resume_unwind(payload)
        }
    }
}

#[inline]
fn join_plainly<A, B, RA, RB>(local: &Local, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let job = StackJob::new(a, local.newest_private());
    local.offer_join_job(job.as_ref());
    let rb = catch(b);
    if local.take_private(job.as_ref()) {
        // SAFETY: the job was private.
        return then(unsafe { job.take_body() }, rb);
    }
    end_shared(local, &job, rb)
}

/// Ends a join whose job was shared.
#[cold]
#[inline(never)]
fn end_shared<A, RA, RB>(local: &Local, job: &StackJob<A, RA>, rb: thread::Result<RB>) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    RA: Send,
{
    let awaited = await_job(local, job);
    job.drop_reach();
    match awaited {
        // SAFETY: no other thread has run the job, or will.
        Awaited::TakenBack => then(unsafe { job.take_body() }, rb),
        // SAFETY: another thread has run it, and does not touch it any more.
        Awaited::Done => both(unsafe { job.take_outcome() }, rb),
    }
}

/// Runs the first closure after the second. Its panic is caught only where something else remains to
/// be dropped.
#[inline]
fn then<A, RA, RB>(a: A, rb: thread::Result<RB>) -> (RA, RB)
where
    A: FnOnce() -> RA,
{
    match rb {
        // Without a drop, nothing of the second result can panic while that of the first unwinds.
        Ok(rb) if !mem::needs_drop::<RB>() => (a(), rb),
        Ok(rb) => both(catch(a), Ok(rb)),
        Err(payload) => after_panic(a, payload),
    }
}

/// Runs the first closure after the second has panicked.
#[cold]
#[inline(never)]
fn after_panic<A, RA, RB>(a: A, payload: Box<dyn Any + Send>) -> (RA, RB)
where
    A: FnOnce() -> RA,
{
    both(catch(a), Err(payload))
}

/// Returns both results, or resumes the first panic.
#[inline]
fn both<RA, RB>(ra: thread::Result<RA>, rb: thread::Result<RB>) -> (RA, RB) {
    match (ra, rb) {
        (Ok(ra), Ok(rb)) => (ra, rb),
        (Err(first), Err(second)) => {
            discard_payload(second);
            panic::resume_unwind(first)
        }
        // The other result is dropped before the panic goes on: a drop that panics during another
        // panic aborts the process.
        (Err(payload), Ok(surplus)) => {
            discard(surplus);
            panic::resume_unwind(payload)
        }
        (Ok(surplus), Err(payload)) => {
            discard(surplus);
            panic::resume_unwind(payload)
        }
    }
}

/// How the wait for a shared job ended.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
enum Awaited {
    /// No other thread has run it, and this thread has taken it back.
    TakenBack,
    /// Another thread has run it.
    Done,
}

/// Waits for a job that was shared.
#[cold]
fn await_job<F, R>(local: &Local, job: &StackJob<F, R>) -> Awaited
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let own = local.take_shared(job.waiter());
    let own = own.or_else(|| local.shared.take_moved_job(job.waiter()));
    if own.is_some() {
        return Awaited::TakenBack;
    }
    while !job.latch().is_set() {
        let has_run = leapfrog(local, || job.thief().filter(|_| !job.latch().is_set()));
        if !has_run && !yield_until_news(local, job) {
            sleep_until_news(local, job);
        }
    }
    if job.was_returned() {
        Awaited::TakenBack
    } else {
        Awaited::Done
    }
}

/// Yields until the job is done, its thief is known, or the thief has entered a further join, but not for
/// long; returns whether there is news.
///
/// A sleeping joiner is replaced. At the end of a parallel loop the worker that replaces it comes too late:
/// it would be started, find nothing, and retire.
fn yield_until_news<F, R>(local: &Local, job: &StackJob<F, R>) -> bool
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let thief = job.thief();
    let workers = local.shared.roster.snapshot();
    let runner = thief.and_then(|thief| workers.by_index(thief));
    yield_until(|| {
        let has_job = runner.is_some_and(|runner| runner.stealer.has_join_job());
        has_job || job.latch().is_set() || job.thief() != thief
    })
}

/// Sleeps until the job is done, its thief is known, or the thief has entered a further join.
fn sleep_until_news<F, R>(local: &Local, job: &StackJob<F, R>)
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    if job.register(&local.context) == Registered::AlreadySet {
        return;
    }
    let shared = &local.shared;
    let Some(runner) = job.thief() else {
        let has_news = || job.latch().is_set() || job.thief().is_some();
        return Local::while_blocked(|| local.park_until(has_news));
    };
    // Listed before it counts as blocked: then it may itself be recalled to what is queued.
    shared
        .sleep
        .list_joiner(&shared.state, &local.worker, runner);
    let is_recalled = || !Sleep::is_joiner(&shared.state, &local.worker);
    Local::while_blocked(|| local.park_until(|| job.latch().is_set() || is_recalled()));
    shared.sleep.unlist_joiner(&shared.state, &local.worker);
}

/// Steals a join job from the worker that runs what this one waits for, and runs it; returns whether
/// there was one.
///
/// `runner` returns the index of that worker while it runs it. It is called again after the steal:
/// if the runner runs other work by then, the stolen job may belong to that, and is returned.
pub(super) fn leapfrog(local: &Local, runner: impl Fn() -> Option<usize>) -> bool {
    let Some(index) = runner() else { return false };
    let workers = local.shared.roster.snapshot();
    let stolen = workers
        .by_index(index)
        .and_then(|victim| victim.steal_join_job());
    let Some(job) = stolen else { return false };
    // If it was recalled to this, other work may have been queued for which nobody was woken.
    local.shared.notify_more();
    if runner() == Some(index) {
        local.run(Work::Job(job));
        local.worker.count_steal();
    } else {
        Local::return_job(job);
    }
    true
}
