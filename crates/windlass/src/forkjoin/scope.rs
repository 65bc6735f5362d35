//! Any number of closures on borrowed data, all of which have ended when the scope is left.

#![expect(unsafe_code, reason = "jobs borrow from the frame that waits for them")]

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::core::Core;
use super::job::{HeapJob, JobRef, Work};
use super::latch::Latch;
use super::local::Local;
use crate::containment::{catch, discard_payload};
use crate::interrupt::Record;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Deadline, Mutex};

/// Takes closures that may borrow from around [`ForkJoinPool::scope`](super::ForkJoinPool::scope).
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
    core: Arc<Core>,
    /// The body of the scope, and all that it has spawned and that has not ended.
    pending: AtomicUsize,
    /// Set by the last of them.
    latch: Latch,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Runs the closure some time before the scope is left.
    ///
    /// If it panics, so does the scope, when all have ended.
    pub fn spawn<F>(&'scope self, body: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        self.pending.fetch_add(1, Ordering::Relaxed);
        let job = move |_worker: usize| self.run(body);
        // SAFETY: the scope is left when `pending` is zero, so what the closure borrows, and the scope
        // itself, live until it has run.
        let job = unsafe { HeapJob::boxed(job) };
        self.send(job);
    }

    fn send(&self, job: JobRef) {
        let here = Local::with(|local| match local {
            Some(local) if local.is_of(&self.core) => {
                local.push(Work::Job(job));
                true
            }
            _ => false,
        });
        if !here {
            if let Err(Work::Job(job)) = self.core.submit(Work::Job(job)) {
                // SAFETY: it was refused, so nobody else has it.
                unsafe { job.run(super::job::NOBODY) };
            }
        }
    }

    fn run(&self, body: impl FnOnce()) {
        if let Err(payload) = catch(body) {
            self.keep(payload);
        }
        self.end_one();
    }

    /// Keeps the first panic.
    fn keep(&self, payload: Box<dyn Any + Send>) {
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

    fn end_one(&self) {
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the scope is alive until this is seen; nothing is touched afterwards.
            unsafe { Latch::set(&raw const self.latch) };
        }
    }

    fn wait(&self) {
        Local::with(|local| match local {
            Some(local) if local.is_of(&self.core) => self.wait_on(local),
            _ => self.sleep(&Record::current()),
        });
    }

    /// A worker runs what it has spawned itself; then it lets another take its place, and sleeps.
    fn wait_on(&self, local: &Local) {
        while !self.latch.is_set() {
            match local.deque.pop() {
                Some(work) => local.run(work),
                None => break,
            }
        }
        if !self.latch.is_set() {
            local.core.begin_block();
            self.sleep(&local.record);
            local.core.end_block();
        }
    }

    fn sleep(&self, me: &Arc<Record>) {
        if self.latch.announce(me) {
            while !self.latch.is_set() {
                let _ = me.park_uninterruptibly(Deadline::Never);
            }
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("pending", &self.pending.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// Runs the body on this thread, and what it spawns in the pool; all have ended when this returns.
pub(super) fn scope<'env, F, R>(core: &Arc<Core>, body: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let scope = Scope {
        core: Arc::clone(core),
        pending: AtomicUsize::new(1),
        latch: Latch::new(),
        panic: Mutex::new(None),
        scope: PhantomData,
        env: PhantomData,
    };
    let ended = catch(|| body(&scope));
    scope.end_one();
    scope.wait();
    let panic = scope.panic.lock().take();
    match (ended, panic) {
        (Ok(value), None) => value,
        (Err(payload), _) | (Ok(_), Some(payload)) => std::panic::resume_unwind(payload),
    }
}
