//! The half of a task that runs.

use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attributes::Attributes;
use super::body::{Body, Relay, RelayBody};
use super::cell::Cell;
use super::cell_ref::Ref;
use super::deadlock::TaskName;
use super::erased::{Erased, ErasedSink};
use super::error::Cancellation;
use super::header::Header;
use super::id::TaskId;
use super::kinds;
use super::runnable::{RunOutcome, Runnable};
use super::running::suspended;
use super::stamp::Stamp;
use super::timer::{MaybeTimer, TimerView};
use super::transition::CancelMode;
use super::wanted::Wanted;
use crate::sync::timestamp;
use crate::unwind::ignore_panic;

/// The half of a task that runs, at most once.
///
/// A closure of up to three words is kept inline; a larger one, a named one or one with a handle takes
/// one allocation. A task that is dropped unrun cancels its handle, if it has one.
///
/// ```
/// use windlass::task::Task;
///
/// let (task, handle) = Task::with_handle(|| 6 * 7);
/// task.run();
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[must_use = "a task that is dropped is not run"]
// In this order no load of a moved task spans parts of two earlier stores: it would have to wait
// for both.
#[repr(C)]
pub struct Task {
    erased: Erased,
    id: TaskId,
}

/// A consumer of tasks that are passed in registers.
pub(crate) trait TaskSink {
    type Output;

    /// Accepts the task. The implementation calls `task` where the task is to be stored: until then
    /// it is only words in registers, which are leaked on a panic.
    fn accept(self, id: TaskId, task: impl FnOnce() -> Task) -> Self::Output;
}

impl Task {
    /// Creates a task without a handle. It has a header only if there are attributes.
    #[inline]
    pub(super) fn of_body<B: Body<()> + 'static>(
        id: TaskId,
        attributes: Option<Arc<Attributes>>,
        body: B,
    ) -> Self {
        let erased = if attributes.is_some() {
            kinds::erase_headed(Header::new(id, attributes), body)
        } else {
            kinds::erase_body(body)
        };
        Self { erased, id }
    }

    /// Creates the half that runs of a task with a handle.
    #[inline]
    pub(super) fn of_half<T, B, W>(id: TaskId, cell: Ref<Cell<T, B, W>>) -> Self
    where
        T: Send + 'static,
        B: Body<T> + 'static,
        W: MaybeTimer,
    {
        let erased = kinds::erase_half(cell);
        Self { erased, id }
    }

    /// Creates the half that runs of a task with a handle and without attributes.
    #[inline]
    pub(super) fn of_plain_half<T, B>(id: TaskId, cell: Ref<Cell<T, B, ()>>) -> Self
    where
        T: Send + 'static,
        B: Body<T> + 'static,
    {
        let erased = kinds::erase_plain_half(cell);
        Self { erased, id }
    }

    /// Creates a run of a task that its object may run again; if it is dropped, so is the task.
    pub(crate) fn of_runnable(task: impl Runnable + 'static) -> Self {
        Self {
            id: task.header().id(),
            erased: kinds::erase_shared(task),
        }
    }

    #[inline]
    pub(super) const fn of_erased(erased: Erased, id: TaskId) -> Self {
        Self { erased, id }
    }

    #[inline]
    pub(super) fn into_erased(self) -> (Erased, TaskId) {
        (self.erased, self.id)
    }

    /// Creates a runnable half of a task that others can start too.
    pub(super) fn of_one_of_many(half: impl Runnable + 'static) -> Self {
        Self {
            id: half.header().id(),
            erased: kinds::erase_one_of_many(half),
        }
    }

    /// Adds a guard that is dropped when the task has ended, or is dropped unrun.
    pub(crate) fn with_guard(self, guard: impl Send + 'static) -> Self {
        Self {
            erased: kinds::erase_guarded(self.erased, guard),
            id: self.id,
        }
    }

    /// Runs the task on this thread.
    ///
    /// # Panics
    ///
    /// If it has no handle and its code panics, or if a done-callback panics. The panic of a task with
    /// a handle is returned by the handle.
    pub fn run(self) {
        drop(self.run_inside());
    }

    /// Runs the task on a thread that runs no other.
    #[inline]
    pub(crate) fn run_at_top(self) -> RunOutcome {
        self.erased.run()
    }

    /// Runs the task on a thread that may run another.
    #[inline]
    pub(crate) fn run_inside(self) -> RunOutcome {
        suspended(|| self.run_at_top())
    }

    /// Runs the task on this thread without moving it, and empties the slot. A panic of a task without a
    /// handle, or of a done-callback, unwinds.
    #[inline]
    pub(crate) fn run_in(slot: &mut Option<Self>) -> RunOutcome {
        Erased::run_in(slot, |task| &mut task.erased).unwrap_or(RunOutcome::Skipped)
    }

    /// Returns the id of the task; its handle has the same one.
    #[must_use]
    pub const fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the name that the task was built with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.header()?.name()
    }

    /// Returns the name, which can outlive the task.
    #[inline]
    pub(crate) fn shared_name(&self) -> Option<&Arc<str>> {
        if !self.erased.may_have_name() {
            return None;
        }
        self.header()?.shared_name()
    }

    /// Returns the priority that the task was built with; lower is more urgent, zero is the default.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.header().map_or(0, Header::priority)
    }

    /// Returns the value of type `S` that was attached to the task.
    #[must_use]
    pub fn attachment<S: 'static>(&self) -> Option<&S> {
        self.header()?.attachment()?.downcast_ref()
    }

    /// Returns whether the task was cancelled through its handle; if so, it will not run.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.erased
            .cell()
            .is_some_and(|cell| cell.state().is_cancelled())
    }

    /// Returns whether the task has a handle, which receives its value or its failure.
    #[must_use]
    pub fn has_handle(&self) -> bool {
        self.erased.cell().is_some() && !self.erased.is_detached()
    }

    /// Returns whether its time was up before it was started.
    pub(crate) fn is_expired(&self) -> bool {
        let cell = self.erased.cell();
        cell.is_some_and(|cell| cell.state().cancellation() == Some(Cancellation::Expired))
    }

    /// Returns from when on it is too late to start it.
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        self.header()?.limit_times()?.expires_at()
    }

    /// Drops the task unrun; its handle, if it has one, reports the reason.
    pub fn abandon(self, reason: Cancellation) {
        self.set_drop_reason(reason);
    }

    /// Converts the task into the input that it was submitted with; see
    /// [`Submit::submit_with`](crate::Submit::submit_with). Its handle, if it has one, is cancelled.
    ///
    /// # Errors
    ///
    /// The task, if it has no input of this type, or was cancelled.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(1).unwrap();
    /// pool.shutdown();
    /// let rejected = pool.execute_with(String::from("input"), |_| ()).unwrap_err();
    /// let input: String = rejected.into_task().into_input().unwrap();
    /// assert_eq!(input, "input");
    /// ```
    pub fn into_input<I: 'static>(self) -> Result<I, Self> {
        let mut place: Option<I> = None;
        self.take_input(&mut place)?;
        Ok(place.expect("an input that was taken is in its place"))
    }

    /// Moves the input into `place`, an `Option<I>`.
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let Self { erased, id } = self;
        let taken = erased.take_input(place);
        taken.map_err(|erased| Self { erased, id })
    }

    /// Ends the task with this reason, unless it has started or is done; returns whether that is its end. A task
    /// without a handle is to be dropped.
    pub(crate) fn withdraw(&self, reason: Cancellation) -> bool {
        let Some(cell) = self.erased.cell() else {
            return true;
        };
        cell.set_drop_reason(reason);
        ignore_panic(|| cell.abandon());
        cell.state().cancellation() == Some(reason)
    }

    /// Sets the reason that the handle reports if the task is dropped unrun.
    ///
    /// The reasons `Drained` and `Removed` say that a caller owns the task now, for any time: what borrows from
    /// a scope ends at once, this task or what it leads to.
    pub(crate) fn set_drop_reason(&self, reason: Cancellation) {
        match self.erased.cell() {
            Some(cell) => cell.set_drop_reason(reason),
            None if matches!(reason, Cancellation::Drained | Cancellation::Removed) => {
                self.erased.was_taken(reason);
            }
            None => {}
        }
    }

    /// Records when the task was queued, and for how many tasks its wait stands.
    pub(crate) fn set_queued_at(self, at: Instant, weight: u64) -> Self {
        if let Some(timer) = self.timer() {
            timer.set_queued_at(at);
            return self;
        }
        if let Some(stamp) = self.stamp() {
            stamp.set(at, weight);
            return self;
        }
        let Self { erased, id } = self;
        let erased = kinds::erase_stamped(Stamp::new(at, weight), erased);
        Self { erased, id }
    }

    /// Returns when the task was queued, if that was recorded.
    pub(crate) fn queued_at(&self) -> Option<Instant> {
        match self.timer() {
            Some(timer) => timer.queued_at(),
            None => Some(timestamp::instant(self.stamp()?.nanos())),
        }
    }

    /// Returns the stamp of when the task was queued; `None` if that was not recorded, or the task has a
    /// timer.
    pub(crate) fn stamp(&self) -> Option<&Stamp> {
        self.erased.stamp()
    }

    /// Returns the time until the task is due, if it is scheduled; zero if it is due.
    #[must_use]
    #[doc(alias = "getDelay")]
    pub fn delay(&self) -> Option<Duration> {
        self.timer().map(TimerView::delay)
    }

    /// Returns whether this is a run of a periodic task.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.timer().is_some_and(TimerView::is_periodic)
    }

    pub(crate) fn timer(&self) -> Option<TimerView<'_>> {
        self.erased.cell()?.timer()
    }

    /// Cancels the task, if it has a handle.
    pub(crate) fn cancel(&self, reason: Cancellation) -> bool {
        self.erased
            .cell()
            .is_some_and(|cell| cell.cancel(CancelMode::LetRun, reason))
    }

    /// Creates a task that runs another one, which an executor of its own has queued.
    pub(crate) fn relay(relay: impl Relay + 'static) -> Self {
        Self::of_body(TaskId::next(), None, RelayBody(relay))
    }

    /// Returns whether this is what is wanted, or leads to it.
    pub(crate) fn is_wanted(&self, wanted: Wanted) -> bool {
        let is_it = match wanted {
            Wanted::Task(id) => self.id == id,
            Wanted::AnyOf(batch) => self
                .header()
                .is_some_and(|header| header.is_of_batch(batch)),
        };
        is_it || self.erased.leads_to(wanted)
    }

    /// Returns its id and name, to be reported after its end.
    pub(crate) fn to_name(&self) -> TaskName {
        TaskName {
            id: self.id,
            name: self.attributes().and_then(|a| a.name.clone()),
        }
    }

    /// Returns the attributes, which can outlive the task.
    pub(crate) fn attributes(&self) -> Option<&Arc<Attributes>> {
        self.header()?.attributes()
    }

    #[inline]
    fn header(&self) -> Option<&Header> {
        self.erased.header()
    }

    /// Passes the task in registers to a function that is not inlined into the caller; see
    /// [`Erased::pass_in_registers`].
    #[inline]
    pub(crate) fn pass_in_registers<S: TaskSink>(self, sink: S) -> S::Output {
        struct Rebuild<S>(S);
        impl<S: TaskSink> ErasedSink for Rebuild<S> {
            type Output = S::Output;

            #[inline(always)]
            fn accept(self, id: TaskId, erased: impl FnOnce() -> Erased) -> S::Output {
                self.0.accept(id, move || Task {
                    erased: erased(),
                    id,
                })
            }
        }
        self.erased.pass_in_registers(self.id, Rebuild(sink))
    }
}

// User code of a task does not run while it is observed, except by the run that consumes it.
impl UnwindSafe for Task {}
impl RefUnwindSafe for Task {}

impl From<&Task> for TaskId {
    fn from(task: &Task) -> Self {
        task.id()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Task");
        shown.field("id", &self.id.as_u64());
        if let Some(name) = self.name() {
            shown.field("name", &name);
        }
        shown.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use crate::sync::atomic::{AtomicU32, Ordering};
    use crate::sync::{model, thread};
    use crate::task::{TaskBuilder, TaskHandle};

    /// An input that counts its drops.
    struct Input(Arc<AtomicU32>);

    impl Drop for Input {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes the input of a task while another thread uses its handle; returns whether the input was
    /// taken, whether the task ran, and what the other thread returned.
    fn race(other: impl FnOnce(&TaskHandle<()>) -> bool + Send + 'static) -> (bool, bool, bool) {
        let (drops, runs) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (input, ran) = (Input(Arc::clone(&drops)), Arc::clone(&runs));
        let body = move |_: Input| {
            ran.fetch_add(1, Ordering::Relaxed);
        };
        let (task, handle) = TaskBuilder::new().build_with_input_and_handle(input, body);
        let user = thread::Builder::new().spawn(move || {
            let answer = other(&handle);
            (handle, answer)
        });
        let taken = task.into_input::<Input>();
        let was_taken = taken.is_ok();
        let (handle, answer) = user.unwrap().join().unwrap();
        assert!(!was_taken || drops.load(Ordering::Relaxed) == 0);
        drop(taken);
        assert!(handle.is_done());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        (was_taken, runs.load(Ordering::Relaxed) == 1, answer)
    }

    #[test]
    fn an_input_is_taken_back_or_dropped_by_a_canceller_never_both() {
        model(|| {
            let (taken, ran, cancelled) = race(TaskHandle::cancel);
            assert!(taken ^ cancelled && !ran);
        });
    }

    #[test]
    fn an_input_is_taken_back_or_used_by_a_run_never_both() {
        model(|| {
            let (taken, ran, _) = race(|handle| {
                let _ = handle.run_here();
                true
            });
            assert!(taken ^ ran);
        });
    }
}
