//! Tasks and their handles.
//!
//! A task has two halves with two owners. The [`Task`] is the half that runs: it is moved by value
//! from the submitter to the queue to the worker, and running it consumes it, so that it runs at
//! most once is a fact of its type. The [`TaskHandle`] is the half that waits: it gets the value,
//! or learns why there is none.
//!
//! Whatever becomes of the runnable half, the handle completes. If the task is dropped instead of
//! run (refused, discarded, drained, removed, lost with its queue), the handle reports
//! [`ExecutionError::Cancelled`] with the reason. There is no path on which a getter waits for
//! ever.
//!
//! [`FutureTask`] is both halves in one shared object, for those who run tasks themselves.

mod body;
mod builder;
mod cell;
mod control;
mod erased;
mod error;
mod future_task;
mod handle;
mod handle_methods;
mod header;
mod id;
mod recycled_box;
mod recycler;
mod runnable;
mod shared;
mod state;
mod task_state;
mod timer;
mod waiters;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use builder::TaskBuilder;
pub use control::TaskControl;
pub use error::{Cancellation, ExecutionError, Failure};
pub use future_task::FutureTask;
pub use handle::TaskHandle;
pub use id::TaskId;
pub use shared::SharedHandle;
pub use task_state::TaskState;

use body::Body;
use cell::Cell;
pub(crate) use cell::{Head, Ref};
pub(crate) use erased::TaskSink;
use erased::{Erase, Erased};
pub(crate) use handle_methods::{
    Handle, OwningHandle, ReadingHandle, handle_methods, owning_handle_methods,
    reading_handle_methods,
};
pub(crate) use header::{Attributes, Header, instant, nanos};
use recycled_box::RecycledBox;
pub(crate) use runnable::{Awaitable, RunOutcome, Runnable, Untyped};
pub(crate) use state::{CancelMode, Snapshot};
use timer::MaybeTimer;
pub(crate) use timer::{RunCount, Timer, TimerService};

use crate::unwind::{discard, ignore_panic};

/// Work that is to be done once: the half of a task that runs.
///
/// A closure of up to three words is kept inline; a larger one, a named one or one with a handle
/// takes one allocation. A task dropped unrun completes its handle, if it has one, as cancelled.
///
/// ```
/// use windlass::task::Task;
///
/// let (task, mut handle) = Task::with_handle(|| 6 * 7);
/// task.run();
/// assert_eq!(handle.get().unwrap(), 42);
/// ```
#[must_use = "a task that is dropped is not run"]
// In this order the parts of a task that are moved one after the other do not straddle: a load that
// wants parts of two earlier stores has to wait for both.
#[repr(C)]
pub struct Task {
    erased: Erased,
    id: TaskId,
}

impl Task {
    /// Makes a task without a handle.
    pub fn new(body: impl FnOnce() + Send + 'static) -> Self {
        Self::plain(TaskId::next(), None, body)
    }

    /// Makes a task, and the handle to what it returns.
    #[inline]
    pub fn with_handle<T: Send + 'static>(
        body: impl FnOnce() -> T + Send + 'static,
    ) -> (Self, TaskHandle<T>) {
        TaskBuilder::new().build_with_handle(body)
    }

    /// Returns a builder for a task with a name, a priority or a value attached.
    pub fn builder() -> TaskBuilder {
        TaskBuilder::new()
    }

    #[inline]
    fn plain<F>(id: TaskId, attributes: Option<Arc<Attributes>>, body: F) -> Self
    where
        F: FnOnce() + Send + 'static,
    {
        if attributes.is_some() {
            return Self::headed(id, attributes, body);
        }
        let erased = Erased::new(Inline(body)).unwrap_or_else(|Inline(body)| Self::outside(body));
        Self { id, erased }
    }

    /// Keeps a closure that is too large for a task, in a block that is used again or in a box.
    #[inline]
    fn outside<F: FnOnce() + Send + 'static>(body: F) -> Erased {
        match RecycledBox::new(body) {
            Ok(boxed) => fitting(Erased::new(Inline(move || boxed.into_inner()()))),
            Err(body) => fitting(Erased::new(Inline(Box::new(body)))),
        }
    }

    fn headed<F>(id: TaskId, attributes: Option<Arc<Attributes>>, body: F) -> Self
    where
        F: FnOnce() + Send + 'static,
    {
        let boxed = Boxed(Box::new(Headed {
            header: Header::new(id, attributes),
            body,
        }));
        Self {
            id,
            erased: fitting(Erased::new(boxed)),
        }
    }

    /// The half that runs of a task that has another half.
    #[inline]
    fn half<T, B, W>(id: TaskId, cell: Ref<Cell<T, B, W>>) -> Self
    where
        T: Send + 'static,
        B: Body<T> + 'static,
        W: MaybeTimer,
    {
        Self {
            id,
            erased: fitting(Erased::new(Half(cell))),
        }
    }

    pub(crate) fn of_cell(cell: impl Runnable + 'static) -> Self {
        Self {
            id: cell.header().id(),
            erased: fitting(Erased::new(Handled(cell))),
        }
    }

    /// Runs the task on this thread.
    ///
    /// # Panics
    ///
    /// If it has no handle and its code panics; the failure of a task with a handle goes there. A
    /// done-callback of the handle that panics does so out of this call.
    pub fn run(self) {
        self.erased.run();
    }

    /// Runs the task on this thread, where it lies, and says what came of it; the slot is empty
    /// afterwards. A panic of a task without a handle, or of a done-callback, unwinds.
    #[inline]
    pub(crate) fn run_in(slot: &mut Option<Self>) -> RunOutcome {
        Erased::run_in(slot, |task| &mut task.erased).unwrap_or(RunOutcome::Skipped)
    }

    /// Identifies the task; its handle has the same id.
    #[must_use]
    pub const fn id(&self) -> TaskId {
        self.id
    }

    /// The name it was built with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.header()?.name()
    }

    /// The priority it was built with; less is more urgent, zero is usual.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.header().map_or(0, Header::priority)
    }

    /// Returns the value of type `S` that was attached to it.
    #[must_use]
    pub fn attachment<S: 'static>(&self) -> Option<&S> {
        self.header()?.attachment()?.downcast_ref()
    }

    /// Whether it has a handle through which it was cancelled; it would not run any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.erased
            .cell()
            .is_some_and(|cell| cell.state().is_cancelled())
    }

    /// Whether it has a handle, to which its result or its failure goes.
    #[must_use]
    pub fn has_handle(&self) -> bool {
        self.erased.cell().is_some()
    }

    /// Drops the task unrun; its handle, if it has one, says why.
    pub fn abandon(self, why: Cancellation) {
        self.set_drop_reason(why);
    }

    /// Says what its handle will report if it is dropped unrun.
    pub(crate) fn set_drop_reason(&self, reason: Cancellation) {
        if let Some(cell) = self.erased.cell() {
            cell.set_drop_reason(reason);
        }
    }

    /// Notes when it was queued. An inline task is moved into a box for that.
    pub(crate) fn set_queued_at(self, at: Instant) -> Self {
        let task = if self.header().is_some() {
            self
        } else {
            Self::headed(self.id, None, move || self.run())
        };
        if let Some(header) = task.header() {
            header.set_queued_at(at);
        }
        task
    }

    /// When it was queued, where that was noted.
    pub(crate) fn queued_at(&self) -> Option<Instant> {
        self.header()?.queued_at()
    }

    /// How long it is until the task is due, where it is scheduled; zero if it is due.
    #[must_use]
    #[doc(alias = "getDelay")]
    pub fn delay(&self) -> Option<Duration> {
        self.timer().map(Timer::delay)
    }

    /// Whether it is a turn of a task that runs again and again.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        self.timer().is_some_and(Timer::is_periodic)
    }

    pub(crate) fn timer(&self) -> Option<&Timer> {
        self.erased.cell()?.timer()
    }

    /// Cancels the task through its handle's cell, where it has one.
    pub(crate) fn cancel(&self, reason: Cancellation) -> bool {
        self.erased
            .cell()
            .is_some_and(|cell| cell.cancel(CancelMode::LetRun, reason))
    }

    /// What the user has attached, to outlive the task.
    pub(crate) fn attributes(&self) -> Option<&Arc<Attributes>> {
        self.header()?.attributes()
    }

    fn header(&self) -> Option<&Header> {
        self.erased.header()
    }
}

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

/// A closure that is small enough to be kept in the task itself.
struct Inline<F>(F);

/// A box or a counted reference, which is two words at most.
fn fitting<R>(erased: Result<Erased, R>) -> Erased {
    match erased {
        Ok(erased) => erased,
        Err(_) => unreachable!("two words fit into three"),
    }
}

impl<F: FnOnce() + Send + 'static> Erase for Inline<F> {
    fn run(self) -> RunOutcome {
        (self.0)();
        RunOutcome::Completed
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        None
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        None
    }
}

/// A closure with a header.
struct Headed<F> {
    header: Header,
    body: F,
}

struct Boxed<F>(Box<Headed<F>>);

impl<F: FnOnce() + Send + 'static> Erase for Boxed<F> {
    fn run(self) -> RunOutcome {
        (self.0.body)();
        RunOutcome::Completed
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        Some(&self.0.header)
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        None
    }
}

/// The half that runs of a task with a handle.
struct Half<T, B, W>(Ref<Cell<T, B, W>>);

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Erase for Half<T, B, W> {
    fn run(self) -> RunOutcome {
        self.0.run_and_leave()
    }
    fn abandon(self) {
        abandon(&*self.0);
    }
    fn header(&self) -> Option<&Header> {
        Some(self.0.header())
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        Some(&*self.0)
    }
}

/// A task that others may run too.
struct Handled<R>(R);

impl<R: Runnable + 'static> Erase for Handled<R> {
    fn run(self) -> RunOutcome {
        self.0.run()
    }
    fn abandon(self) {
        abandon(&self.0);
    }
    fn header(&self) -> Option<&Header> {
        Some(self.0.header())
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        Some(&self.0)
    }
}

/// Lets go of a task unrun, in the middle of a drop, perhaps during a panic: callbacks that panic
/// end here. A task that runs, by another half of the same `FutureTask`, is not disturbed.
fn abandon(task: &impl Runnable) {
    let state = task.state();
    if !state.is_running() && !state.is_done() {
        ignore_panic(|| {
            task.cancel(CancelMode::LetRun, state.drop_reason());
        });
    }
}

#[cfg(test)]
mod models;
