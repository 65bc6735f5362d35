//! The wait of a thread that runs tasks for executors: their helpers keep it from waiting for what only
//! this thread would run, and a circle of waits ends it.
//!
//! The helpers of a thread are a list, since a thread can run tasks for several executors: a worker of one
//! pool that runs a task for another, as its submitter or in place.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::cell_ref::Ref;
use super::deadlock::{Deadlock, TaskName};
use super::error::WaitError;
use super::head::Head;
use super::runnable::Untyped;
use super::running::{self, suspended};
use super::wait_graph::{Awaited, OnCircle, Wait, waits};
use super::wait_helper::{Helped, WaitHelper};
use super::wanted::{Batch, Wanted};
use crate::interrupt::{Interrupted, ThreadContext, WakeReason};
use crate::sync::{Deadline, const_thread_local};

const_thread_local! {
    static LOCAL: RefCell<Local> = RefCell::new(Local::NEW);
}

/// What the current thread runs tasks for.
struct Local {
    /// The innermost last.
    helpers: Vec<Arc<dyn WaitHelper>>,
    /// The tasks that it runs in place, the innermost last.
    in_place: Vec<TaskName>,
    /// How many of the helpers know that it is blocked, while its wait is in the graph; else zero. A helper
    /// that comes later, for a task that it runs in place, has not been told.
    blocked: usize,
}

impl Local {
    const NEW: Self = Self {
        helpers: Vec::new(),
        in_place: Vec::new(),
        blocked: 0,
    };

    /// Runs `f` with the data of the current thread; `None` while its locals are being dropped.
    fn with<R>(f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        LOCAL.try_with(|local| f(&mut local.borrow_mut())).ok()
    }
}

/// Adds a helper to those of the current thread while `f` runs.
pub(crate) fn with_wait_helper<R>(helper: Arc<dyn WaitHelper>, f: impl FnOnce() -> R) -> R {
    struct Remove;
    impl Drop for Remove {
        fn drop(&mut self) {
            // Dropped outside: it may own an executor.
            drop(Local::with(|local| local.helpers.pop()));
        }
    }
    let added = Local::with(|local| local.helpers.push(helper));
    let _remove = added.map(|()| Remove);
    f()
}

/// Runs `f`, which runs a task that the current thread waits for, or another piece of work without a name:
/// meanwhile the thread does not wait.
pub(crate) fn run_in_place<R>(task: Option<TaskName>, f: impl FnOnce() -> R) -> R {
    struct End {
        outer_tasks: usize,
        blocked: Vec<Arc<dyn WaitHelper>>,
    }
    impl Drop for End {
        fn drop(&mut self) {
            Local::with(|local| local.in_place.truncate(self.outer_tasks));
            for helper in &self.blocked {
                helper.block_again();
            }
        }
    }
    let begun = Local::with(|local| {
        let outer_tasks = local.in_place.len();
        local.in_place.extend(task);
        let blocked = std::mem::take(&mut local.blocked);
        (outer_tasks, local.helpers[..blocked].to_vec())
    });
    let (outer_tasks, blocked) = begun.unwrap_or_default();
    if !blocked.is_empty() {
        ThreadContext::with_current(|me| waits().leave(me));
    }
    let end = End {
        outer_tasks,
        blocked,
    };
    for helper in &end.blocked {
        helper.unblock();
    }
    suspended(f)
}

/// Runs `wait`, which waits for work of another executor that is no task, while the helpers of the current
/// thread know that it is blocked, and threads that wait for what is queued with them find them.
///
/// `wait` calls what it is given before each time that it parks: a wait ends when the thread runs something
/// [in place](run_in_place).
pub(crate) fn while_waiting_elsewhere(wait: &mut dyn FnMut(&dyn Fn())) {
    struct Leave<'a>(&'a Helpers<'a>, &'a ThreadContext);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            self.0.leave(self.1);
        }
    }
    let Some(helpers) = Helpers::current(None) else {
        return wait(&|| ());
    };
    let me = ThreadContext::current();
    helpers.while_blocked(&mut || {
        let _leave = Leave(&helpers, &me);
        wait(&|| {
            // It closes no circle: no thread is known to run what it waits for.
            let _ = helpers.enter(&me, || Awaited::Job);
        });
    });
}

/// Makes threads that wait for a task that has not started look for it again.
pub(crate) fn wake_waiters() {
    waits().wake_unstarted();
}

/// The helpers of the current thread.
pub(crate) struct Helpers<'a> {
    /// How many there are in the list.
    count: usize,
    /// The helper of the handle that is waited for.
    own: Option<&'a dyn WaitHelper>,
    on_circle: OnCircle,
}

impl<'a> Helpers<'a> {
    /// Returns the helpers of the current thread, and `own`; `None` if there are none.
    #[inline]
    pub(crate) fn current(own: Option<&'a dyn WaitHelper>) -> Option<Self> {
        let count = Local::with(|local| local.helpers.len()).unwrap_or(0);
        (count > 0 || own.is_some()).then_some(Self {
            count,
            own,
            on_circle: OnCircle::Fail,
        })
    }

    /// Makes another wait of a circle return the error, and not this one.
    pub(crate) fn tell_another(self) -> Self {
        Self {
            on_circle: OnCircle::TellAnother,
            ..self
        }
    }

    /// Returns the helper at this place, counted from the innermost one.
    fn nth(&self, place: usize) -> Option<Arc<dyn WaitHelper>> {
        let at = self.count.checked_sub(place + 1)?;
        Local::with(|local| local.helpers.get(at).cloned()).flatten()
    }

    fn all(&self) -> impl Iterator<Item = Arc<dyn WaitHelper>> {
        (0..self.count).filter_map(|place| self.nth(place))
    }

    /// Returns whether a thread that waits for several tasks begins with the newest.
    pub(crate) fn find_newest_first(&self) -> bool {
        self.nth(0)
            .is_some_and(|helper| helper.finds_newest_first())
    }

    fn run_until(&self, wanted: Wanted, deadline: Deadline, is_over: &dyn Fn() -> bool) {
        for helper in self.all() {
            helper.run_until(wanted, deadline, is_over);
        }
    }

    /// Runs what is wanted, if it is queued with one of the executors of this thread.
    fn help(&self, wanted: Wanted) -> Helped {
        if !self.all().all(|helper| helper.allows_help()) {
            return Helped::Nothing;
        }
        let own = self.own.map_or(Helped::Nothing, |own| own.help(wanted));
        self.all()
            .fold(own, |helped, helper| helped.or_else(|| helper.help(wanted)))
    }

    /// Does the same, and looks into executors all of whose threads are blocked too.
    fn help_everywhere(&self, wanted: Wanted) -> Helped {
        let helped = self.help(wanted);
        if helped != Helped::Nothing || !self.all().all(|helper| helper.allows_help()) {
            return helped;
        }
        let own: Vec<_> = self.all().map(|helper| helper.executor()).collect();
        let others = waits().helpers();
        let strangers = others
            .iter()
            .filter(|other| !own.contains(&other.executor()));
        // What is queued there may be due later, and perhaps no thread of theirs waits for that time.
        strangers.fold(helped, |helped, stranger| {
            helped.or_else(|| stranger.help_stranger(wanted))
        })
    }

    /// Runs `wait` while all helpers know that the thread is blocked.
    pub(crate) fn while_blocked(&self, wait: &mut dyn FnMut()) {
        self.while_blocked_from(0, wait);
    }

    fn while_blocked_from(&self, place: usize, wait: &mut dyn FnMut()) {
        match (self.nth(place), self.own) {
            (Some(helper), _) => {
                helper.while_blocked(&mut || self.while_blocked_from(place + 1, wait));
            }
            (None, Some(own)) => own.while_blocked(wait),
            (None, None) => wait(),
        }
    }

    /// Waits until the task is done; returns false if the deadline passes before.
    pub(super) fn wait(
        &self,
        head: &Head,
        deadline: Deadline,
        to_untyped: &dyn Fn() -> Ref<dyn Untyped>,
    ) -> Result<bool, WaitError> {
        let me = ThreadContext::current();
        if me.take_interrupt() {
            return Err(WaitError::Interrupted);
        }
        if deadline.has_passed() {
            return Ok(false);
        }
        let wanted = Wanted::Task(head.header().id());
        self.run_until(wanted, deadline, &|| head.state().is_done());
        while head.is_unstarted() && self.help(wanted) == Helped::Ran {}
        if head.spin_until_done() {
            return Ok(true);
        }
        let mut ended = Ok(false);
        self.while_blocked(&mut || {
            if !head.enlist(&me) {
                ended = Ok(true);
                return;
            }
            ended = self.park(head, &me, deadline, to_untyped);
            self.leave(&me);
            if !matches!(ended, Ok(true)) {
                head.delist(&me);
            }
        });
        ended
    }

    /// Parks the thread, which is enlisted, until the task is done.
    fn park(
        &self,
        head: &Head,
        me: &Arc<ThreadContext>,
        deadline: Deadline,
        to_untyped: &dyn Fn() -> Ref<dyn Untyped>,
    ) -> Result<bool, WaitError> {
        let wanted = Wanted::Task(head.header().id());
        loop {
            self.enter(me, || match deadline {
                Deadline::Never => Awaited::Task(to_untyped()),
                Deadline::At(_) => Awaited::TaskUntil(to_untyped()),
            })?;
            let helped = if head.is_unstarted() {
                self.help_everywhere(wanted)
            } else {
                Helped::Nothing
            };
            if head.state().is_done() {
                return Ok(true);
            }
            let limit = match helped {
                Helped::Ran => continue,
                Helped::NotBefore(at) => deadline.min(at),
                Helped::Nothing => deadline,
            };
            let woken = me.park(limit);
            if head.state().is_done() {
                return Ok(true);
            }
            if let Some(circle) = waits().take_report(me) {
                return Err(circle.into());
            }
            match woken {
                WakeReason::TimedOut if deadline.has_passed() => return Ok(false),
                WakeReason::Unparked | WakeReason::TimedOut => {}
                WakeReason::Interrupted => {
                    // In this order: an entry whose thread is not interrupted is a wait that goes on.
                    self.leave(me);
                    me.take_interrupt();
                    return Err(WaitError::Interrupted);
                }
            }
        }
    }

    /// Waits until one of the tasks of the batch is done; returns `None` if the deadline passes before.
    ///
    /// `is_ready` returns whether there is a result. `wait` waits for it until a deadline, so that a nudge
    /// ends it too.
    pub(crate) fn wait_any<R>(
        &self,
        batch: &Batch,
        deadline: Deadline,
        is_ready: &dyn Fn() -> bool,
        wait: &mut dyn FnMut(Deadline) -> Result<Option<R>, Interrupted>,
    ) -> Result<Option<R>, WaitError> {
        let me = ThreadContext::current();
        if me.take_interrupt() {
            return Err(WaitError::Interrupted);
        }
        self.run_until(Wanted::AnyOf(batch.id()), deadline, is_ready);
        loop {
            if is_ready() {
                // Another thread may take it first.
                if let polled @ Some(_) = wait(Deadline::after(Duration::ZERO))? {
                    return Ok(polled);
                }
            }
            if self.help(Wanted::AnyOf(batch.id())) != Helped::Ran {
                break;
            }
        }
        let mut ended = Ok(None);
        self.while_blocked(&mut || {
            ended = self.wait_any_blocked(&me, batch, deadline, wait);
            self.leave(&me);
        });
        ended
    }

    fn wait_any_blocked<R>(
        &self,
        me: &Arc<ThreadContext>,
        batch: &Batch,
        deadline: Deadline,
        wait: &mut dyn FnMut(Deadline) -> Result<Option<R>, Interrupted>,
    ) -> Result<Option<R>, WaitError> {
        loop {
            self.enter(me, || match deadline {
                Deadline::Never => Awaited::AnyTask(batch.clone()),
                Deadline::At(_) => Awaited::AnyTaskUntil,
            })?;
            let limit = match self.help_everywhere(Wanted::AnyOf(batch.id())) {
                // Nothing to wait for if that has ended; else the next round helps again.
                Helped::Ran => Deadline::after(Duration::ZERO),
                Helped::NotBefore(at) => deadline.min(at),
                Helped::Nothing => deadline,
            };
            match me.accept_nudges(|| wait(limit)) {
                Ok(None) if deadline.has_passed() => return Ok(None),
                Ok(None) => {}
                Err(Interrupted) if !me.wait_ended_by_interrupt() => {}
                ended => return Ok(ended?),
            }
            if let Some(circle) = waits().take_report(me) {
                return Err(circle.into());
            }
            // Another thread may have taken what would have ended this wait.
            self.check(me)?;
        }
    }

    /// Looks again whether the wait, if it is in the graph, is in a circle.
    fn check(&self, me: &ThreadContext) -> Result<(), Deadlock> {
        let checked = waits().check(me);
        if checked.is_err() {
            Local::with(|local| local.blocked = 0);
        }
        checked
    }

    /// Enters the wait into the graph, unless it is there.
    fn enter(
        &self,
        me: &Arc<ThreadContext>,
        awaited: impl FnOnce() -> Awaited,
    ) -> Result<(), Deadlock> {
        if self.count == 0 {
            return Ok(());
        }
        let entry = Local::with(|local| {
            let enters = std::mem::replace(&mut local.blocked, self.count) == 0;
            enters.then(|| (local.in_place.clone(), local.helpers.clone()))
        });
        let Some((in_place, helpers)) = entry.flatten() else {
            return Ok(());
        };
        let (own, mut runs) = (helpers.clone(), Vec::new());
        running::for_each(|task| runs.push(Ref::of(task)));
        let entered = waits().enter(Wait {
            thread: Arc::clone(me),
            awaited: awaited(),
            in_place,
            helpers,
            runs,
            on_circle: self.on_circle,
            report: None,
        });
        if entered.is_err() {
            Local::with(|local| local.blocked = 0);
        } else if own.iter().any(|helper| helper.is_stalled()) {
            // With this wait, an executor has no thread left that would take what others wait for. Read after
            // the wait was entered: who entered earlier has not found this executor among those that wait,
            // and had queued before what it waits for.
            wake_waiters();
        }
        entered
    }

    fn leave(&self, me: &ThreadContext) {
        let blocked = Local::with(|local| std::mem::take(&mut local.blocked));
        if blocked.is_some_and(|blocked| blocked > 0) {
            waits().leave(me);
        }
    }
}
