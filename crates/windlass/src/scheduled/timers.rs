//! What a scheduled pool adds to a pool: the queue of what is to come, and the policies.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::heap::TimerHeap;
use crate::executor::RejectedExecution;
use crate::pool::{Annex, RunState, Shared};
use crate::queue::{Blocking, BlockingQueue, Fairness, Precedence};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::clock::Clock;
use crate::sync::reduce_timer_slack;
use crate::task::{Cancellation, Failure, Task, TaskId, Timer, nanos};
use crate::unwind::catch;

/// Wraps each run of a scheduled task.
pub(super) type Decorate = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// Told of a periodic task that failed and so ended.
pub(super) type OnFailure = Arc<dyn Fn(TaskId, Option<&str>, &Failure) + Send + Sync>;

pub(super) struct Timers {
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

/// What the decision whether a task may run depends on.
#[derive(Clone, Copy)]
struct Eligibility {
    is_periodic: bool,
    /// When it is due, in the nanoseconds of [`nanos`], if that is not now.
    due: Option<u64>,
}

impl Eligibility {
    fn of(task: &Task) -> Self {
        let timer = task.timer();
        Self {
            is_periodic: timer.is_some_and(Timer::is_periodic),
            due: timer.map(Timer::due_nanos),
        }
    }
}

impl Timers {
    pub(super) fn new(decorate: Option<Decorate>, on_failure: Option<OnFailure>) -> Self {
        let clock = Clock::current();
        let heap = TimerHeap::new(clock.clone());
        Self {
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

    /// A number of its own for each run of each task, for jitter.
    pub(super) fn salt(&self, id: TaskId, runs: u64) -> u64 {
        self.seed ^ id.as_u64().rotate_left(32) ^ runs
    }

    /// Queues a task that is due now or later, and makes sure that there is a worker for it.
    pub(super) fn submit(&self, pool: &Arc<Shared>, task: Task) -> Result<(), RejectedExecution> {
        if pool.is_shutdown() {
            return pool.reject(task);
        }
        match self.enqueue(pool, pool.record_submission_time(task)) {
            None => Ok(()),
            Some(task) => pool.reject(task),
        }
    }

    /// Queues the next turn of a periodic task, or ends it if the pool does not go on with it.
    pub(super) fn resubmit(&self, pool: &Arc<Shared>, task: Task) {
        let refused = if self.may_run(pool, Eligibility::of(&task)) {
            self.enqueue(pool, pool.record_submission_time(task))
        } else {
            Some(task)
        };
        if let Some(task) = refused {
            task.cancel(Cancellation::Requested);
        }
    }

    /// Queues a task, and gives it back if the pool was shut down meanwhile and will not run it.
    fn enqueue(&self, pool: &Arc<Shared>, task: Task) -> Option<Task> {
        let (id, eligibility) = (task.id(), Eligibility::of(&task));
        self.queue.push(task);
        // The second look: a shutdown that came in between has not seen this task. The third: one that
        // found neither a worker nor, just before, this task has ended the pool, and there is no worker.
        if self.may_run(pool, eligibility) {
            pool.ensure_worker();
            if self.may_run(pool, eligibility) {
                return None;
            }
        }
        let task = self.queue.remove_first(&mut |task| task.id() == id)?;
        pool.task_count.invalidate();
        pool.try_terminate();
        Some(task)
    }

    /// Takes a task out of the queue.
    pub(super) fn remove(&self, pool: &Shared, id: TaskId, timer: &Timer) -> Option<Task> {
        let removed = self.queue.remove_with(|heap| heap.remove_task(id, timer));
        pool.task_count.invalidate();
        removed
    }

    /// Whether a task may run in the pool's present state.
    fn may_run(&self, pool: &Shared, eligibility: Eligibility) -> bool {
        match pool.ctl.load().state() {
            RunState::Running => true,
            RunState::Shutdown if eligibility.is_periodic => self.continues_periodic(),
            RunState::Shutdown => {
                self.runs_delayed()
                    || eligibility
                        .due
                        .is_none_or(|due| due <= nanos(self.clock.now()))
            }
            _ => false,
        }
    }

    /// Whether the pool's state lets periodic tasks go on.
    pub(super) fn may_go_on(&self, pool: &Shared) -> bool {
        let eligibility = Eligibility {
            is_periodic: true,
            due: None,
        };
        self.may_run(pool, eligibility)
    }

    /// Throws out what is not to run any more after a shutdown; what is due stays.
    pub(super) fn cancel_ineligible(&self, pool: &Shared) {
        let (periodic, delayed) = (self.continues_periodic(), self.runs_delayed());
        let now = self.clock.now();
        let gone = self.queue.retain(&mut |task| {
            let stays = match task.timer() {
                Some(timer) if timer.is_periodic() => periodic,
                Some(timer) => delayed || timer.due() <= now,
                None => true,
            };
            stays && !task.is_cancelled()
        });
        pool.task_count.invalidate();
        for task in gone {
            task.cancel(Cancellation::Requested);
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
    }

    pub(super) fn set_run_delayed(&self, yes: bool) {
        self.policies.run_delayed.store(yes, Ordering::SeqCst);
    }

    pub(super) fn set_remove_on_cancel(&self, yes: bool) {
        self.policies.remove_on_cancel.store(yes, Ordering::SeqCst);
    }
}

impl Annex for Timers {
    /// Two of the workers sleep until a task is due, and each may be one of them.
    fn on_start(&self) {
        reduce_timer_slack();
    }

    fn on_shutdown(&self, pool: &Shared) {
        self.cancel_ineligible(pool);
    }

    fn on_cancel(&self, pool: &Shared, id: TaskId, timer: &Timer) {
        // Not by a look at its slot without the lock: it may be on its way into the queue, and then
        // either this finds it there, or whoever queues it finds it cancelled.
        if !self.removes_on_cancel() {
            return;
        }
        drop(self.remove(pool, id, timer));
        // A cancel contains what the pool's last hook does, so it is reported here.
        if pool.is_shutdown() {
            if let Err(payload) = catch(|| pool.try_terminate()) {
                pool.report(&Failure::from_panic(payload));
            }
        }
    }
}

impl fmt::Debug for Timers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers")
            .field("queued", &self.queue.len())
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}
