//! What the parts of one scheduled pool share: the queue of what is to come, and the policies.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::heap::TimerHeap;
use crate::containment::catch;
use crate::executor::{RejectedExecution, RejectionReason};
use crate::pool::{RunState, Shared};
use crate::queue::{Blocking, BlockingQueue, Fairness, Precedence};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::clock::Clock;
use crate::task::{Failure, Home, Schedule, Task, TaskId};

/// Wraps each run of a scheduled task.
pub(super) type Decorate = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// Told of a periodic task that failed and so ended.
pub(super) type OnFailure = Arc<dyn Fn(TaskId, Option<&str>, &Failure) + Send + Sync>;

/// Takes tasks that are due later, and sees to them on the threads of a pool.
pub struct Scheduler {
    /// The pool; weak, since the pool holds this.
    pool: Mutex<Weak<Shared>>,
    pub(super) queue: Arc<Blocking<TimerHeap>>,
    policies: Policies,
    /// The clock of the pool, whatever clock a submitter has.
    pub(super) clock: Clock,
    /// Makes the jitter of this pool another than that of all others, on other machines too.
    seed: u64,
    pub(super) decorate: Option<Decorate>,
    pub(super) on_failure: Option<OnFailure>,
}

/// What happens to waiting tasks on shutdown and on cancel.
#[derive(Debug)]
struct Policies {
    continue_periodic: AtomicBool,
    run_delayed: AtomicBool,
    remove_on_cancel: AtomicBool,
}

impl Scheduler {
    pub(super) fn new(decorate: Option<Decorate>, on_failure: Option<OnFailure>) -> Self {
        let clock = Clock::current();
        let heap = TimerHeap::new(clock.clone());
        Self {
            pool: Mutex::new(Weak::new()),
            queue: Arc::new(Blocking::configured(
                heap,
                Fairness::Unfair,
                Precedence::REMOVAL,
            )),
            policies: Policies {
                continue_periodic: AtomicBool::new(false),
                run_delayed: AtomicBool::new(true),
                remove_on_cancel: AtomicBool::new(false),
            },
            clock,
            seed: RandomState::new().hash_one(()),
            decorate,
            on_failure,
        }
    }

    pub(super) fn set_pool(&self, pool: &Arc<Shared>) {
        *self.pool.lock() = Arc::downgrade(pool);
    }

    fn pool(&self) -> Option<Arc<Shared>> {
        self.pool.lock().upgrade()
    }

    /// A schedule for a task of this pool.
    pub(super) fn schedule(self: &Arc<Self>, due: Instant, is_periodic: bool) -> Arc<Schedule> {
        let sequence = self.queue.with(|state| (state.items.next_sequence(), ()));
        let this: Weak<Self> = Arc::downgrade(self);
        Arc::new(Schedule::new(
            due,
            sequence,
            is_periodic,
            this,
            self.clock.clone(),
        ))
    }

    /// A number of its own for each run of each task, for jitter.
    pub(super) fn salt(&self, schedule: &Schedule) -> u64 {
        self.seed ^ schedule.sequence().rotate_left(32) ^ schedule.runs()
    }

    /// Queues a task that is due now or later, and makes sure that there is a worker for it.
    pub(super) fn take(&self, task: Task) -> Result<(), RejectedExecution> {
        let Some(pool) = self.pool() else {
            return Err(RejectedExecution::new(task, RejectionReason::Shutdown));
        };
        if pool.is_shutdown() {
            return pool.reject(task);
        }
        match self.enqueue(&pool, pool.stamp(task)) {
            None => Ok(()),
            Some(task) => pool.reject(task),
        }
    }

    /// Queues the next turn of a periodic task, or ends it if the pool does not go on with it.
    pub(super) fn take_again(&self, task: Task) {
        let refused = match self.pool() {
            Some(pool) if self.may_run(&pool, &task) => self.enqueue(&pool, pool.stamp(task)),
            _ => Some(task),
        };
        if let Some(task) = refused {
            task.cancel();
        }
    }

    /// Queues a task, and gives it back if the pool was shut down meanwhile and will not run it.
    fn enqueue(&self, pool: &Arc<Shared>, task: Task) -> Option<Task> {
        let id = task.id();
        let schedule = task.schedule().cloned();
        let is_periodic = task.is_periodic();
        self.queue
            .offer(task)
            .expect("a queue without a bound takes everything");
        // The second look: a shutdown that came in between has not seen this task. The third: one that
        // found neither a worker nor, just before, this task has ended the pool, and there is no worker.
        let may_run = || self.may_run_by(pool, is_periodic, schedule.as_deref());
        if may_run() {
            pool.ensure_worker();
            if may_run() {
                return None;
            }
        }
        let task = self.remove(id, schedule.as_deref())?;
        pool.try_terminate();
        Some(task)
    }

    /// Takes a task out of the queue.
    pub(super) fn remove(&self, id: TaskId, schedule: Option<&Schedule>) -> Option<Task> {
        let removed = match schedule {
            Some(schedule) => self
                .queue
                .remove_with(|heap| heap.remove_scheduled(id, schedule)),
            None => self.queue.remove_first(&mut |task| task.id() == id),
        };
        if let Some(pool) = self.pool() {
            pool.tally.forget();
        }
        removed
    }

    /// Whether a task may run in the pool's present state.
    pub(super) fn may_run(&self, pool: &Shared, task: &Task) -> bool {
        self.may_run_by(
            pool,
            task.is_periodic(),
            task.schedule().map(|schedule| &**schedule),
        )
    }

    fn may_run_by(&self, pool: &Shared, is_periodic: bool, schedule: Option<&Schedule>) -> bool {
        match pool.ctl.load().state() {
            RunState::Running => true,
            RunState::Shutdown if is_periodic => self.continues_periodic(),
            RunState::Shutdown => self.runs_delayed() || is_due(schedule),
            _ => false,
        }
    }

    /// Whether the pool's state lets periodic tasks go on.
    pub(super) fn may_go_on(&self) -> bool {
        self.pool()
            .is_some_and(|pool| self.may_run_by(&pool, true, None))
    }

    /// Throws out what is not to run any more after a shutdown; what is due stays.
    pub(super) fn on_shutdown(&self, pool: &Shared) {
        let (periodic, delayed) = (self.continues_periodic(), self.runs_delayed());
        let now = self.clock.now();
        let gone = self.queue.retain(&mut |task| {
            let stays = match task.schedule() {
                Some(schedule) if schedule.is_periodic() => periodic,
                Some(schedule) => delayed || schedule.due() <= now,
                None => true,
            };
            stays && !task.is_cancelled()
        });
        pool.tally.forget();
        for task in gone {
            task.cancel();
        }
        pool.try_terminate();
    }

    pub(super) fn continues_periodic(&self) -> bool {
        self.policies.continue_periodic.load(Ordering::SeqCst)
    }

    pub(super) fn runs_delayed(&self) -> bool {
        self.policies.run_delayed.load(Ordering::SeqCst)
    }

    pub(super) fn removes_on_cancel(&self) -> bool {
        self.policies.remove_on_cancel.load(Ordering::SeqCst)
    }

    pub(super) fn set_continue_periodic(&self, yes: bool) {
        self.policies.continue_periodic.store(yes, Ordering::SeqCst);
        self.look_at_policies(yes);
    }

    pub(super) fn set_run_delayed(&self, yes: bool) {
        self.policies.run_delayed.store(yes, Ordering::SeqCst);
        self.look_at_policies(yes);
    }

    pub(super) fn set_remove_on_cancel(&self, yes: bool) {
        self.policies.remove_on_cancel.store(yes, Ordering::SeqCst);
    }

    /// A policy that was switched off after a shutdown takes effect at once.
    fn look_at_policies(&self, yes: bool) {
        if let Some(pool) = self.pool().filter(|pool| !yes && pool.is_shutdown()) {
            self.on_shutdown(&pool);
        }
    }
}

fn is_due(schedule: Option<&Schedule>) -> bool {
    schedule.is_none_or(|schedule| schedule.delay() == Duration::ZERO)
}

impl Home for Scheduler {
    fn cancelled(&self, id: TaskId, schedule: &Schedule) {
        // Not by a look at its place without the lock: it may be on its way into the queue, and then
        // either this finds it there, or whoever queues it finds it cancelled.
        if self.removes_on_cancel() {
            drop(self.remove(id, Some(schedule)));
            if let Some(pool) = self.pool() {
                // A cancel contains what the pool's last hook does, so it is reported here.
                if let Err(payload) = catch(|| pool.try_terminate()) {
                    pool.report(&Failure::from_panic(payload));
                }
            }
        }
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("queued", &self.queue.len())
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}
