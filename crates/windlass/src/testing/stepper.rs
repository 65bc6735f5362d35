//! Tasks that run on the threads that ask for it, one after the other: what the executors for tests
//! share.
//!
//! A thread that runs a task here, or is inside of [`enter`](Stepper::enter), has a wait helper: if
//! it waits for a handle, it runs queued tasks until that is done. So one thread suffices for tasks
//! that wait for each other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::choice::Choice;
use super::patience::{PATIENCE, becomes_true_within, until_within};
use crate::clock::TestClock;
use crate::executor::{RejectedExecution, RejectionReason, ShutdownCancels};
use crate::interrupt::{self, Interrupted, ThreadContext};
use crate::sync::{Deadline, Mutex, clock, const_thread_local};
use crate::task::{
    Cancellation, Helped, LimitOwner, Task, TaskId, WaitHelper, Wanted, with_wait_helper,
};
use crate::termination::Termination;

const_thread_local! {
    // The executors whose tasks the thread runs, the innermost last.
    static ENTERED: RefCell<Vec<Arc<Stepper>>> = RefCell::new(Vec::new());
}

/// The state of an executor for tests.
#[derive(Debug)]
pub(super) struct Stepper {
    state: Mutex<State>,
    termination: Termination,
    clock: TestClock,
    cancels: Arc<ShutdownCancels>,
}

#[derive(Debug)]
struct State {
    choice: Choice,
    /// In order of submission, or of their due times.
    queued: Vec<Queued>,
    delayed: BTreeMap<(Instant, u64), Queued>,
    running: Vec<Running>,
    submitted: u64,
    is_shutdown: bool,
    /// The tasks that have started, in that order.
    started: Vec<String>,
}

#[derive(Debug)]
struct Queued {
    task: Task,
    number: u64,
    rank: u64,
}

#[derive(Debug)]
struct Running {
    id: TaskId,
    number: u64,
    rank: u64,
    thread: Arc<ThreadContext>,
}

impl Stepper {
    pub(super) fn new(choice: Choice, clock: TestClock) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                choice,
                queued: Vec::new(),
                delayed: BTreeMap::new(),
                running: Vec::new(),
                submitted: 0,
                is_shutdown: false,
                started: Vec::new(),
            }),
            termination: Termination::default(),
            clock,
            cancels: Arc::default(),
        })
    }

    pub(super) const fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// Queues a task, after `delay` on the clock.
    pub(super) fn submit(&self, task: Task, delay: Duration) -> Result<(), RejectedExecution> {
        let due = self.now() + delay.min(clock::MAX_TIMEOUT);
        let me = ThreadContext::current();
        let mut state = self.state.lock();
        if state.is_shutdown {
            drop(state);
            return Err(RejectedExecution::new(task, RejectionReason::Shutdown));
        }
        let parent = state.running.iter().rev();
        let parent = parent.filter(|running| Arc::ptr_eq(&running.thread, &me));
        let parent = parent.map(|running| running.rank).next();
        let rank = state.choice.rank(parent);
        state.submitted += 1;
        let number = state.submitted;
        let queued = Queued { task, number, rank };
        if delay.is_zero() {
            state.queued.push(queued);
        } else {
            state.delayed.insert((due, number), queued);
        }
        Ok(())
    }

    /// Runs the next task on this thread. Returns whether there was one.
    pub(super) fn run_next(self: &Arc<Self>) -> bool {
        self.run_chosen(|state| {
            if state.queued.is_empty() {
                return None;
            }
            let mut ranks = state.queued.iter_mut().map(|queued| &mut queued.rank);
            Some(state.choice.next(&mut ranks))
        })
    }

    /// Runs the queued task with this id on this thread. Returns whether there was one.
    pub(super) fn run_task(self: &Arc<Self>, id: TaskId) -> bool {
        self.run_chosen(|state| {
            state
                .queued
                .iter()
                .position(|queued| queued.task.id() == id)
        })
    }

    /// Runs as many tasks as are queued now.
    pub(super) fn run_all(self: &Arc<Self>) -> usize {
        let queued: Vec<_> = self.queued();
        queued.iter().filter(|_| self.run_next()).count()
    }

    /// Runs tasks until none is queued.
    pub(super) fn run_until_idle(self: &Arc<Self>) -> usize {
        let mut count = 0;
        while self.run_next() {
            count += 1;
        }
        count
    }

    /// Advances the clock, and runs what is queued or becomes due, each at its time.
    pub(super) fn advance(self: &Arc<Self>, time: Duration) -> usize {
        let end = self.now() + time.min(clock::MAX_TIMEOUT);
        let mut count = self.run_until_idle();
        while self.advance_to_next(end) {
            count += self.run_until_idle();
        }
        self.clock
            .advance(end.saturating_duration_since(self.now()));
        count
    }

    /// Returns the ids of the queued tasks, in order of submission.
    pub(super) fn queued(&self) -> Vec<TaskId> {
        let state = self.state.lock();
        state.queued.iter().map(|queued| queued.task.id()).collect()
    }

    pub(super) fn delayed_count(&self) -> usize {
        self.state.lock().delayed.len()
    }

    /// Returns the tasks that have started, in that order.
    pub(super) fn started(&self) -> Vec<String> {
        self.state.lock().started.clone()
    }

    /// Runs `f` on the clock of the executor; waits for handles inside of it run queued tasks.
    pub(super) fn enter<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                let _ = ENTERED.try_with(|entered| entered.borrow_mut().pop());
            }
        }
        ENTERED.with(|entered| entered.borrow_mut().push(Arc::clone(self)));
        let _leave = Leave;
        with_wait_helper(Arc::new(RunQueued), || self.clock.enter(f))
    }

    pub(super) fn shutdown(&self) {
        self.state.lock().is_shutdown = true;
        self.cancels.shut_down(Cancellation::Shutdown);
        self.signal_if_terminated();
    }

    pub(super) const fn cancels(&self) -> &Arc<ShutdownCancels> {
        &self.cancels
    }

    pub(super) fn shutdown_now(&self) -> Vec<Task> {
        let (queued, delayed, running) = {
            let mut state = self.state.lock();
            state.is_shutdown = true;
            let running: Vec<_> = state
                .running
                .iter()
                .map(|r| Arc::clone(&r.thread))
                .collect();
            let delayed = std::mem::take(&mut state.delayed);
            (std::mem::take(&mut state.queued), delayed, running)
        };
        for thread in running {
            thread.interrupt();
        }
        let tasks = queued.into_iter().chain(delayed.into_values());
        let tasks: Vec<_> = tasks.map(|queued| queued.task).collect();
        for task in &tasks {
            task.set_drop_reason(Cancellation::Drained);
        }
        self.cancels.shut_down(Cancellation::Shutdown);
        self.signal_if_terminated();
        tasks
    }

    pub(super) fn is_shutdown(&self) -> bool {
        self.state.lock().is_shutdown
    }

    pub(super) fn is_terminated(&self) -> bool {
        self.termination.is_signalled()
    }

    /// Runs what is queued or due within `timeout`, which is time on the clock. Then waits for tasks
    /// that run on other threads.
    pub(super) fn await_termination(
        self: &Arc<Self>,
        timeout: Duration,
    ) -> Result<bool, Interrupted> {
        interrupt::check()?;
        let end = self.now() + timeout.min(clock::MAX_TIMEOUT);
        loop {
            self.run_until_idle();
            if !self.advance_to_next(end) {
                break;
            }
        }
        if !self.is_shutdown() || !self.is_idle() {
            self.clock
                .advance(end.saturating_duration_since(self.now()));
            return Ok(self.is_terminated());
        }
        let me = ThreadContext::current();
        let mine = |running: &Running| Arc::ptr_eq(&running.thread, &me);
        if let Some(running) = self
            .state
            .lock()
            .running
            .iter()
            .find(|running| mine(running))
        {
            panic!(
                "task {} waits for the end of its own executor",
                running.number
            );
        }
        until_within(PATIENCE, "tasks on other threads", || self.is_terminated());
        Ok(true)
    }

    fn now(&self) -> Instant {
        self.clock.enter(clock::now)
    }

    fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.queued.is_empty() && state.delayed.is_empty()
    }

    /// Advances the clock to the next due time, if that is not after `end`.
    fn advance_to_next(&self, end: Instant) -> bool {
        let mut state = self.state.lock();
        let Some((&(due, _), _)) = state.delayed.first_key_value() else {
            return false;
        };
        if due > end {
            return false;
        }
        let later = state.delayed.split_off(&(due, u64::MAX));
        let now_due = std::mem::replace(&mut state.delayed, later);
        state.queued.extend(now_due.into_values());
        drop(state);
        self.clock
            .advance(due.saturating_duration_since(self.now()));
        true
    }

    /// Runs the queued task at the index that `choose` returns.
    fn run_chosen(self: &Arc<Self>, choose: impl FnOnce(&mut State) -> Option<usize>) -> bool {
        let me = ThreadContext::current();
        let (task, number) = {
            let mut state = self.state.lock();
            let Some(index) = choose(&mut state) else {
                return false;
            };
            let Queued { task, number, rank } = state.queued.remove(index);
            let name = task.name().map(|name| format!(" {name}"));
            state
                .started
                .push(format!("{number}{}", name.unwrap_or_default()));
            state.running.push(Running {
                id: task.id(),
                number,
                rank,
                thread: Arc::clone(&me),
            });
            (task, number)
        };
        let _ended = Ended {
            stepper: self,
            number,
        };
        let _nested = Nested::begin(&me);
        self.enter(|| task.run());
        true
    }

    fn signal_if_terminated(&self) {
        let is_terminated = {
            let state = self.state.lock();
            let is_idle = state.queued.is_empty() && state.delayed.is_empty();
            state.is_shutdown && is_idle && state.running.is_empty()
        };
        if is_terminated {
            self.termination.signal();
        }
    }

    /// Does something that may complete the awaited task within this time. Returns false if there is nothing.
    fn help_once(self: &Arc<Self>, awaited: Option<TaskId>, limit: Duration) -> bool {
        awaited.is_some_and(|awaited| self.run_task(awaited))
            || self.run_next()
            || self.advance_to_next(self.now() + limit)
    }

    /// Returns the number of the awaited task if it runs on this thread, below the task that waits.
    fn waits_for_itself(&self, awaited: TaskId) -> Option<u64> {
        let me = ThreadContext::current();
        let state = self.state.lock();
        let mut running = state.running.iter();
        let own =
            running.find(|running| running.id == awaited && Arc::ptr_eq(&running.thread, &me));
        own.map(|running| running.number)
    }
}

/// Its tasks have limits on its clock, whatever the clock of their submitters is. Nobody asks for counts.
impl LimitOwner for Stepper {
    fn test_clock(&self) -> Option<TestClock> {
        Some(self.clock.clone())
    }

    fn expiry_begins(&self) {}

    fn expiry_ends(&self, _expired: bool) {}

    fn task_timed_out(&self) {}
}

/// Counts the end of a task, also when it panics.
struct Ended<'a> {
    stepper: &'a Stepper,
    number: u64,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let number = self.number;
        self.stepper
            .state
            .lock()
            .running
            .retain(|running| running.number != number);
        self.stepper.signal_if_terminated();
    }
}

/// Takes the interrupt of the thread while a task runs, so that the task sees its own only.
struct Nested<'a> {
    me: &'a ThreadContext,
    was_interrupted: bool,
}

impl<'a> Nested<'a> {
    fn begin(me: &'a ThreadContext) -> Self {
        let was_interrupted = me.take_interrupt();
        Self {
            me,
            was_interrupted,
        }
    }
}

impl Drop for Nested<'_> {
    fn drop(&mut self) {
        self.me.take_interrupt();
        if self.was_interrupted {
            self.me.set_interrupted();
        }
    }
}

/// The wait helper of threads that run tasks of these executors.
struct RunQueued;

impl WaitHelper for RunQueued {
    fn run_until(&self, wanted: Wanted, deadline: Deadline, is_done: &dyn Fn() -> bool) {
        let id = match wanted {
            Wanted::Task(id) => Some(id),
            Wanted::AnyOf(_) => None,
        };
        let entered = ENTERED.with(|entered| entered.borrow().clone());
        let is_over = || is_done() || interrupt::is_interrupted() || deadline.has_passed();
        let is_idle = || entered.iter().all(|stepper| stepper.is_idle());
        while !is_over() {
            let limit = deadline.remaining();
            let within = limit.unwrap_or(clock::MAX_TIMEOUT);
            let mut innermost_first = entered.iter().rev();
            if innermost_first.any(|stepper| stepper.help_once(id, within)) {
                continue;
            }
            let own = entered
                .iter()
                .find_map(|stepper| stepper.waits_for_itself(id?));
            // It is queued or runs elsewhere, or something that is submitted here will complete it.
            let may_come = own.is_none() && is_idle();
            if may_come && becomes_true_within(PATIENCE, || is_over() || !is_idle()) {
                continue;
            }
            match (limit, own, entered.last()) {
                // Nothing happens before the wait gives up.
                (Some(limit), _, Some(innermost)) => return innermost.clock.advance(limit),
                (_, Some(number), _) => panic!(
                    "deadlock: a task waits for task {number}, which waits for it on this thread"
                ),
                _ => panic!("waited in vain for: a task that another executor has to run"),
            }
        }
    }

    fn help(&self, _wanted: Wanted) -> Helped {
        Helped::Nothing
    }

    fn while_blocked(&self, wait: &mut dyn FnMut()) {
        wait();
    }

    fn executor(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Stepper;
    use crate::clock::TestClock;
    use crate::sync::{model, thread};
    use crate::task::Task;
    use crate::testing::choice::Choice;

    #[test]
    fn a_task_beside_a_shutdown_is_rejected_or_runs_before_the_end() {
        model(|| {
            let stepper = Stepper::new(Choice::Oldest, TestClock::new());
            let theirs = Arc::clone(&stepper);
            let submitter = thread::Builder::new().spawn(move || {
                let (task, handle) = Task::with_handle(|| ());
                let accepted = theirs.submit(task, Duration::ZERO).is_ok();
                theirs.run_until_idle();
                (accepted, handle)
            });
            stepper.shutdown();
            stepper.run_until_idle();
            let (accepted, handle) = submitter.unwrap().join().unwrap();
            assert!(handle.is_done() && handle.is_cancelled() != accepted);
            assert!(stepper.is_terminated());
        });
    }
}
