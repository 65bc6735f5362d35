//! Scopes: any number of closures on borrowed data, all of which have ended when the scope returns.

#![expect(unsafe_code, reason = "jobs borrow from the frame that waits for them")]

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::job::{HeapJob, JobRef, WaiterId, Work};
use super::latch::{Latch, Registered};
use super::local::Local;
use super::shared::Shared;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Deadline, Mutex};
use crate::unwind::{catch, discard, discard_payload};

/// A scope that spawns closures which may borrow from around [`ForkJoinPool::scope`](super::ForkJoinPool::scope).
///
/// ```
/// use windlass::forkjoin::ForkJoinPool;
///
/// let pool = ForkJoinPool::new(2).unwrap();
/// let mut halves = [0_u64; 2];
/// let (left, right) = halves.split_at_mut(1);
/// pool.scope(|scope| {
///     scope.spawn(|| left[0] = (1..=50).sum());
///     scope.spawn(|| right[0] = (51..=100).sum());
/// });
/// assert_eq!(halves.iter().sum::<u64>(), 5050);
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    state: Arc<ScopeState>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The state that the jobs of a scope share. The last job may still use it when the scope has returned.
struct ScopeState {
    shared: Arc<Shared>,
    /// The number of closures that have not ended: the body of the scope and the spawned ones.
    pending: AtomicUsize,
    /// Set by the last of them.
    latch: Latch,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'scope> Scope<'scope, '_> {
    /// Runs the closure at some time before the scope returns.
    ///
    /// If it panics, the scope panics when all closures have ended.
    pub fn spawn<F>(&'scope self, body: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        match self.state.shared.capture() {
            None => self.spawn_plainly(body),
            Some(context) => {
                let body: Box<dyn FnOnce() + Send> = Box::new(move || context.run(body));
                self.spawn_plainly(body);
            }
        }
    }

    fn spawn_plainly<F>(&'scope self, body: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        self.state.pending.fetch_add(1, Ordering::Relaxed);
        let state = Arc::clone(&self.state);
        let job = move || state.run(body);
        // SAFETY: the scope returns only when `pending` is zero, so what the closure borrows lives until
        // it has run. It does not unwind, and touches nothing borrowed after the decrement.
        let job = unsafe { HeapJob::boxed(job, self.state.waiter()) };
        self.state.push(job);
    }
}

impl ScopeState {
    fn waiter(&self) -> WaiterId {
        WaiterId::of(self)
    }

    /// Queues the job; runs it here if the pool is shut down.
    fn push(&self, job: JobRef) {
        if let Err(refused) = self.shared.push_or_submit(Work::Job(job)) {
            self.shared.as_helper(|local| local.run(refused.work));
        }
    }

    fn run(&self, body: impl FnOnce()) {
        if let Err(payload) = catch(body) {
            self.keep_first(payload);
        }
        self.complete_one();
    }

    /// Keeps the payload if it is the first, and discards it otherwise.
    fn keep_first(&self, payload: Box<dyn Any + Send>) {
        let surplus = {
            let mut first = self.panic.lock();
            if first.is_none() {
                *first = Some(payload);
                None
            } else {
                Some(payload)
            }
        };
        if let Some(payload) = surplus {
            discard_payload(payload);
        }
    }

    fn complete_one(&self) {
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the latch is part of `self`, which the caller keeps alive by an `Arc`.
            unsafe { Latch::set(&raw const self.latch) };
        }
    }

    fn wait(&self) {
        Local::of(&self.shared, |local| match local {
            Some(local) => self.wait_on(local),
            None => self.shared.wait_outside(&self.latch, self.waiter()),
        });
    }

    /// Runs what the scope has spawned on this worker; then sleeps, while another worker replaces it.
    fn wait_on(&self, local: &Local) {
        while !self.latch.is_set() {
            let waiter = self.waiter();
            let own = local.take_for(waiter);
            match own.or_else(|| self.shared.take_moved_job(waiter)) {
                Some(own) => local.run(own),
                None => self.block_on(local),
            }
        }
    }

    /// Sleeps until the scope has ended or something has changed, while another worker replaces this
    /// one. If none does, runs what other threads have spawned.
    fn block_on(&self, local: &Local) {
        let wait = || {
            let is_own = |work: &Work| work.is_for(self.waiter());
            if let Some(own) = self.shared.take_if_stalled(Some(local), is_own) {
                return local.run_awaited(own);
            }
            if self.latch.register(&local.context) == Registered::Awaited {
                let _ = local.context.park_uninterruptibly(Deadline::Never);
            }
        };
        let me = &local.context;
        self.shared.as_waiter(me, || Local::while_blocked(wait));
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("pending", &self.state.pending.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// Runs the body on this thread and what it spawns in the pool; all have ended when this returns.
pub(super) fn scope<'env, F, R>(shared: &Arc<Shared>, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let state = Arc::new(ScopeState {
        shared: Arc::clone(shared),
        pending: AtomicUsize::new(1),
        latch: Latch::new(),
        panic: Mutex::new(None),
    });
    let scope = Scope {
        state: Arc::clone(&state),
        scope: PhantomData,
        env: PhantomData,
    };
    let ended = catch(|| body(&scope));
    state.complete_one();
    state.wait();
    let panic = state.panic.lock().take();
    match (ended, panic) {
        (Ok(value), None) => value,
        (Ok(surplus), Some(payload)) => {
            discard(surplus);
            std::panic::resume_unwind(payload)
        }
        (Err(payload), surplus) => {
            if let Some(surplus) = surplus {
                discard_payload(surplus);
            }
            std::panic::resume_unwind(payload)
        }
    }
}
