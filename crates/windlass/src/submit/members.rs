//! The tasks of one scope: counted, cancelled and awaited together.
//!
//! Two things end separately. A *task* is done as soon as it has a result or is cancelled. Its *closure*
//! may exist for longer: that of a task that was cancelled while it ran keeps running, and that of one
//! that was cancelled in the queue is dropped by the canceller. A scope whose tasks are done must therefore
//! still wait until its closures are gone, because these borrow.
//!
//! A closure of a task that is done may still spawn others, and the thread that waits for the closures may be the only
//! one that can run them. So it announces that it waits, under the lock of the list, and who adds a task to
//! the list then wakes it: it waits for the new task, and in this way runs it.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Deadline, Mutex};
use crate::task::{
    Alarm, CancelMode, Cancellation, ExecutionError, Failure, Handle, Helpers, TaskControl,
    TaskState, TimeUp,
};
use crate::unwind::ignore_panic;

/// How many tasks a scope has, and how they ended.
///
/// ```
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let words = ["one", "two"];
/// let counts = pool.scope(|s| {
///     let lengths = words.each_ref().map(|word| s.spawn(|| word.len()).unwrap());
///     lengths.map(|length| length.join().unwrap());
///     s.counts()
/// });
/// assert_eq!((counts.submitted, counts.completed, counts.pending()), (2, 2, 0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScopeCounts {
    /// Tasks that were submitted; those that the executor rejected are not among them.
    pub submitted: u64,
    /// Tasks that ended with a value.
    pub completed: u64,
    /// Tasks that panicked or returned an error.
    pub failed: u64,
    /// Tasks that were cancelled, or will never run.
    pub cancelled: u64,
}

impl ScopeCounts {
    /// Returns how many tasks are not done.
    #[must_use]
    pub const fn pending(&self) -> u64 {
        self.submitted - self.completed - self.failed - self.cancelled
    }

    fn add(&mut self, end: TaskState) {
        match end {
            TaskState::Completed => self.completed += 1,
            TaskState::Failed => self.failed += 1,
            TaskState::Cancelled => self.cancelled += 1,
            TaskState::Queued | TaskState::Running => {}
        }
    }
}

/// What the end of one task means for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum JoinPolicy {
    /// Nothing.
    #[default]
    All,
    /// The first failure cancels them.
    FailFast,
    /// The first value cancels them.
    FirstSuccess,
}

/// What ends a wait for the tasks of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitUntil {
    /// The end of the tasks, and nothing else: if they wait for the scope, one of their waits is told.
    Done,
    /// Also a circle of waits.
    DoneOrCircle,
}

/// The number of a task in its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member(u64);

/// The tasks of one scope.
pub(super) struct Members {
    /// The number of closures that exist: the body of the scope, and those of its tasks.
    closures: AtomicUsize,
    /// The thread that waits until there are none.
    owner: Arc<ThreadContext>,
    policy: JoinPolicy,
    deadline: Deadline,
    /// The number of the next task.
    next: AtomicU64,
    tasks: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    /// Those that are not done, and some that are; in order of their numbers.
    open: Vec<(Member, TaskControl)>,
    /// The length of `open` at which those that are done are removed from it.
    tidy_at: usize,
    /// Of those that are not in `open`; `submitted` is of all.
    counts: ScopeCounts,
    /// Panics that nobody has seen and, if there is a policy, all failures; in order of time.
    failures: Vec<KeptFailure>,
    /// Why all of them were cancelled; later ones are cancelled at once.
    cancelled: Option<(CancelMode, Cancellation)>,
    /// Whether the thread of the scope waits for closures, and wants to know of new tasks.
    awaits_closures: bool,
}

struct KeptFailure {
    member: Member,
    failure: Failure,
    is_seen: bool,
}

/// The fewest entries that are worth to be tidied.
const TIDY: usize = 64;

impl Tasks {
    /// Returns where the task is in `open`, or where it would be.
    fn find(&self, member: Member) -> Result<usize, usize> {
        self.open.binary_search_by_key(&member, |(other, _)| *other)
    }

    /// Removes the tasks that are done and counts them. The caller drops them after the lock is released:
    /// an attachment is dropped with its task.
    #[must_use]
    fn tidy(&mut self) -> Vec<(Member, TaskControl)> {
        let (done, open) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|(_, task)| task.is_done());
        self.open = open;
        self.tidy_at = (2 * self.open.len()).max(TIDY);
        for (member, task) in &done {
            self.count(*member, task.state());
        }
        done
    }

    fn count(&mut self, member: Member, end: TaskState) {
        self.counts.add(end);
        if end != TaskState::Failed {
            // It was cancelled while it failed: that is its end.
            self.failures.retain(|kept| kept.member != member);
        }
    }
}

impl Members {
    /// Creates the state of a scope of the current thread, whose body is the first closure.
    pub(super) fn new(policy: JoinPolicy, deadline: Deadline) -> Arc<Self> {
        Arc::new(Self {
            closures: AtomicUsize::new(1),
            owner: ThreadContext::current(),
            policy,
            deadline,
            next: AtomicU64::new(0),
            tasks: Mutex::new(Tasks::default()),
        })
    }

    pub(super) fn policy(&self) -> JoinPolicy {
        self.policy
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Lets the deadline, if there is one, cancel the tasks until the result is dropped.
    pub(super) fn set_alarm(self: &Arc<Self>) -> Option<Alarm> {
        let Deadline::At(at) = self.deadline else {
            return None;
        };
        let members: Weak<Self> = Arc::downgrade(self);
        Some(Alarm::set(at, members))
    }

    /// Counts a closure that is about to exist.
    pub(super) fn closure_created(&self) {
        // Relaxed: the caller is a closure of the scope itself, so the count is not zero meanwhile.
        self.closures.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a closure that is gone. The caller touches nothing that the scope borrows from then on.
    pub(super) fn closure_gone(&self) {
        // Release: what the closure did happens before the scope returns.
        if self.closures.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.owner.unpark();
        }
    }

    /// Returns a number for a task that is about to be created.
    pub(super) fn number(&self) -> Member {
        Member(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Adds a task, which has not been submitted. It is cancelled at once if the others were.
    pub(super) fn add(self: &Arc<Self>, member: Member, task: &TaskControl) {
        let (tidied, cancelled, is_awaited) = {
            let mut tasks = self.tasks.lock();
            tasks.counts.submitted += 1;
            let at = tasks.find(member).unwrap_or_else(|at| at);
            tasks.open.insert(at, (member, task.clone()));
            let is_long = tasks.open.len() >= tasks.tidy_at.max(TIDY);
            let tidied = if is_long { tasks.tidy() } else { Vec::new() };
            (tidied, tasks.cancelled, tasks.awaits_closures)
        };
        drop(tidied);
        if is_awaited {
            self.owner.unpark();
        }
        if self.policy != JoinPolicy::All {
            let members = Arc::clone(self);
            task.on_done(move |end| members.ended(end));
        }
        if let Some((mode, reason)) = cancelled {
            ignore_panic(|| {
                task.cancel_for(mode, reason);
            });
        }
    }

    /// Removes a task that the executor has rejected, as if it had never been added.
    pub(super) fn remove(&self, member: Member) {
        let removed = {
            let mut tasks = self.tasks.lock();
            tasks.find(member).ok().map(|at| {
                tasks.counts.submitted -= 1;
                tasks.open.remove(at)
            })
        };
        drop(removed);
    }

    /// Keeps the failure of a task that is about to fail, unless it was cancelled.
    pub(super) fn keep_failure(&self, member: Member, failure: &Failure) {
        if !failure.is_panic() && self.policy == JoinPolicy::All {
            return;
        }
        let mut tasks = self.tasks.lock();
        // If it is cancelled later, `count` forgets the failure.
        let is_open = |at: usize| !tasks.open[at].1.is_done();
        if tasks.find(member).is_ok_and(is_open) {
            tasks.failures.push(KeptFailure {
                member,
                failure: failure.clone(),
                is_seen: false,
            });
        }
    }

    /// Notes that somebody has seen the failure of a task.
    pub(super) fn failure_seen(&self, member: Member) {
        let seen = {
            let mut tasks = self.tasks.lock();
            let at = tasks.failures.iter().position(|kept| kept.member == member);
            at.and_then(|at| {
                tasks.failures[at].is_seen = true;
                (self.policy == JoinPolicy::All).then(|| tasks.failures.remove(at))
            })
        };
        drop(seen);
    }

    /// Applies the policy to the end of a task. Called at least once for each, by any thread.
    fn ended(&self, end: TaskState) {
        let reason = match (self.policy, end) {
            (JoinPolicy::FailFast, TaskState::Failed) => Cancellation::Sibling,
            (JoinPolicy::FirstSuccess, TaskState::Completed) => Cancellation::Superseded,
            _ => return,
        };
        self.cancel(CancelMode::Interrupt, reason);
    }

    /// Cancels all tasks that are not done, and those that are added later. The newest first: a worker
    /// whose task is interrupted takes the next one at once, and that one must already be cancelled.
    pub(super) fn cancel(&self, mode: CancelMode, reason: Cancellation) {
        let open: Vec<_> = {
            let mut tasks = self.tasks.lock();
            tasks.cancelled.get_or_insert((mode, reason));
            tasks.open.iter().map(|(_, task)| task.clone()).collect()
        };
        for task in open.iter().rev() {
            ignore_panic(|| {
                task.cancel_for(mode, reason);
            });
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.tasks.lock().cancelled.is_some()
    }

    pub(super) fn counts(&self) -> ScopeCounts {
        let tasks = self.tasks.lock();
        let mut counts = tasks.counts;
        for (_, task) in &tasks.open {
            counts.add(task.state());
        }
        counts
    }

    /// Returns the newest task that is not done; removes those that are from the end of the list.
    fn newest_open(&self) -> Option<TaskControl> {
        loop {
            let mut tasks = self.tasks.lock();
            let (member, newest) = tasks.open.last()?;
            if !newest.is_done() {
                return Some(newest.clone());
            }
            let (member, end) = (*member, newest.state());
            tasks.count(member, end);
            let done = tasks.open.pop();
            drop(tasks);
            drop(done);
            self.ended(end);
        }
    }

    /// Waits until the task is done. If the deadline of the scope passes before, all tasks are cancelled, also
    /// if there is no timer thread.
    fn wait_for(&self, task: &TaskControl, until: WaitUntil) -> Result<(), ExecutionError> {
        let done = match until {
            WaitUntil::Done => task.wait_to_the_end(self.deadline),
            WaitUntil::DoneOrCircle => task.wait_uninterruptibly_by(self.deadline)?,
        };
        if !done {
            self.cancel(CancelMode::Interrupt, Cancellation::TimedOut);
        }
        Ok(())
    }

    /// Waits until all tasks are done. A worker that waits runs them, or is replaced meanwhile.
    ///
    /// # Errors
    ///
    /// A circle of waits, if that ends the wait.
    pub(super) fn wait_for_tasks(&self, until: WaitUntil) -> Result<(), ExecutionError> {
        // Where the oldest task is found first: to search a long queue for the newest each time would take
        // long.
        if Helpers::current(None).is_some_and(|helpers| !helpers.find_newest_first()) {
            let open = self.tasks.lock().open.clone();
            open.iter()
                .try_for_each(|(_, task)| self.wait_for(task, until))?;
        }
        while let Some(task) = self.newest_open() {
            self.wait_for(&task, until)?;
        }
        Ok(())
    }

    /// Returns whether a task is not done. Until this is called again or the wait ends, new ones unpark the
    /// thread of the scope.
    fn announce_wait(&self) -> bool {
        let mut tasks = self.tasks.lock();
        tasks.awaits_closures = true;
        tasks.open.iter().any(|(_, task)| !task.is_done())
    }

    /// Waits until no closure exists, or a task that was added meanwhile is to be waited for.
    fn wait_for_closures(&self) {
        let mut wait = || {
            while self.has_closures() && !self.announce_wait() {
                let _ = self.owner.park_uninterruptibly(Deadline::Never);
            }
        };
        if !self.has_closures() {
            return;
        }
        match Helpers::current(None) {
            Some(helpers) => helpers.while_blocked(&mut wait),
            None => wait(),
        }
        self.tasks.lock().awaits_closures = false;
    }

    fn has_closures(&self) -> bool {
        self.closures.load(Ordering::Acquire) != 0
    }

    /// Waits, on the thread of the scope, until all tasks are done and no closure exists.
    pub(super) fn wait_for_all(&self) {
        // Not the other way round: when no closure exists, nobody can add a task any more, and those that
        // closures have added are done, since their closures are gone.
        while {
            self.wait_to_the_end();
            self.has_closures()
        } {
            self.wait_for_closures();
        }
        self.wait_to_the_end();
    }

    /// Waits until all tasks are done, though another wait may have to be told of a circle.
    fn wait_to_the_end(&self) {
        let ended = self.wait_for_tasks(WaitUntil::Done);
        debug_assert!(ended.is_ok(), "nothing but their end ends it");
    }

    /// Takes the payload of the first panic that nobody has seen, after all tasks are done.
    pub(super) fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        let kept = std::mem::take(&mut self.tasks.lock().failures);
        let unseen = kept.into_iter().map(|kept| (kept.failure, kept.is_seen));
        let mut panics = unseen.filter(|(failure, is_seen)| failure.is_panic() && !is_seen);
        panics.next().map(|(failure, _)| {
            let payload = failure.take_payload();
            payload.unwrap_or_else(|| Box::new(failure.to_string()))
        })
    }

    /// Returns what the policy makes of the tasks, which are done.
    pub(super) fn verdict(&self) -> Result<(), ExecutionError> {
        let mut tasks = self.tasks.lock();
        let counts = tasks.counts;
        let failure = match self.policy {
            JoinPolicy::FailFast => tasks.failures.first_mut(),
            JoinPolicy::FirstSuccess if counts.completed == 0 => tasks.failures.last_mut(),
            JoinPolicy::All | JoinPolicy::FirstSuccess => None,
        };
        if let Some(kept) = failure {
            kept.is_seen = true;
            return Err(ExecutionError::Failed(kept.failure.clone()));
        }
        let has_none = self.policy == JoinPolicy::FirstSuccess && counts.completed == 0;
        match tasks.cancelled {
            _ if counts.cancelled == 0 => Ok(()),
            None if has_none => Err(ExecutionError::Cancelled(Cancellation::Requested)),
            None | Some((_, Cancellation::Superseded)) => Ok(()),
            Some((_, reason)) => Err(ExecutionError::Cancelled(reason)),
        }
    }
}

impl TimeUp for Members {
    fn time_up(&self) {
        self.cancel(CancelMode::Interrupt, Cancellation::TimedOut);
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members")
            .field("counts", &self.counts())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
