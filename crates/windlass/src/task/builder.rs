//! A task with a name, a priority or a value attached.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::Task;
use super::body::{Once, Repeating};
use super::cell::Cell;
use super::error::Failure;
use super::handle::TaskHandle;
use super::header::{Attributes, Header};
use super::id::TaskId;
use super::runnable::Runnable;
use super::timer::{MaybeTimer, Timer};

/// What a task is to carry besides its code.
///
/// A name shows in hooks, in logs and in `Debug`; a priority orders a
/// [`PriorityBlockingQueue`](crate::queue::PriorityBlockingQueue); an attachment is any value of the
/// user's, which can be read from the task wherever it turns up: in a queue, in a hook, among the
/// tasks that `shutdown_now` returns.
///
/// ```
/// use windlass::task::Task;
///
/// struct Tenant(&'static str);
///
/// let task = Task::builder().name("nightly report").attach(Tenant("acme")).build(|| ());
/// assert_eq!(task.name(), Some("nightly report"));
/// assert_eq!(task.attachment::<Tenant>().unwrap().0, "acme");
/// ```
#[derive(Default, Clone)]
#[must_use = "a builder makes nothing until it is given a closure"]
pub struct TaskBuilder {
    attributes: Option<Arc<Attributes>>,
}

impl TaskBuilder {
    /// A task with nothing but its code, so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives it a name.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.attributes().name = Some(name.into());
        self
    }

    /// Gives it a priority: less is more urgent, zero is usual.
    pub fn priority(mut self, priority: i32) -> Self {
        self.attributes().priority = priority;
        self
    }

    /// Attaches a value, in the place of one that was attached before.
    pub fn attach(mut self, value: impl Any + Send + Sync) -> Self {
        self.attributes().attachment = Some(Arc::new(value));
        self
    }

    /// Makes the task, without a handle.
    #[inline]
    pub fn build(self, body: impl FnOnce() + Send + 'static) -> Task {
        Task::plain(TaskId::next(), self.attributes, body)
    }

    /// Makes the task, and the handle to what it returns.
    #[inline]
    pub fn build_with_handle<T: Send + 'static>(
        self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        self.build_fallible(move || Ok(body()))
    }

    /// Makes the task, and the handle to what it returns; an error is the task's failure.
    #[inline]
    pub(crate) fn build_fallible<T: Send + 'static>(
        self,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        self.halves(body, ())
    }

    /// Makes a task that is due later, and its handle.
    pub(crate) fn build_scheduled<T: Send + 'static>(
        self,
        timer: Timer,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        self.halves(body, timer)
    }

    #[inline]
    fn halves<T: Send + 'static>(
        self,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
        timer: impl MaybeTimer,
    ) -> (Task, TaskHandle<T>) {
        let id = TaskId::next();
        let (runs, waits) = Cell::pair(Header::new(id, self.attributes), Once(body), timer);
        (Task::half(id, runs), TaskHandle::new(waits.awaitable()))
    }

    /// Makes a task that can run again and again, and its handle.
    pub(crate) fn build_periodic(
        self,
        timer: Timer,
        body: impl FnMut() -> Result<(), Failure> + Send + 'static,
    ) -> (Arc<dyn Runnable>, TaskHandle<()>) {
        let header = Header::new(TaskId::next(), self.attributes);
        let (runs, waits) = Cell::pair(header, Repeating(body), timer);
        (Arc::new(runs), TaskHandle::new(waits.awaitable()))
    }

    pub(super) fn into_attributes(self) -> Option<Arc<Attributes>> {
        self.attributes
    }

    fn attributes(&mut self) -> &mut Attributes {
        Arc::make_mut(self.attributes.get_or_insert_default())
    }
}

impl fmt::Debug for TaskBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBuilder")
            .field("attributes", &self.attributes)
            .finish()
    }
}
