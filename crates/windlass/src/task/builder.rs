//! The builder of tasks with a name, a priority, an attachment or a handle.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::attributes::Attributes;
use super::body::{Body, Call, Once, Repeating, Scoped, WithInput};
use super::cell::Cell;
use super::context::Captured;
use super::error::Failure;
use super::handle::TaskHandle;
use super::header::Header;
use super::id::TaskId;
use super::runnable::Runnable;
use super::runnable_task::Task;
use super::timer::{MaybeTimer, Repetition, Timer, TimerService};

/// A builder for a task that carries more than its code.
///
/// A name shows in hooks, in logs and in `Debug`; a priority orders a
/// [`PriorityBlockingQueue`](crate::queue::PriorityBlockingQueue); an attachment is any value of the
/// user's, which can be read from the task wherever the task is accessible: in a queue, in a hook,
/// among the tasks that `shutdown_now` returns.
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
#[must_use = "a builder creates nothing until it is given a closure"]
pub struct TaskBuilder {
    attributes: Option<Arc<Attributes>>,
}

impl Task {
    /// Creates a task without a handle.
    pub fn new(body: impl FnOnce() + Send + 'static) -> Self {
        TaskBuilder::new().build(body)
    }

    /// Creates a task, and the handle to its value.
    #[inline]
    pub fn with_handle<T: Send + 'static>(
        body: impl FnOnce() -> T + Send + 'static,
    ) -> (Self, TaskHandle<T>) {
        TaskBuilder::new().build_with_handle(body)
    }

    /// Returns a builder for a task with a name, a priority or an attachment.
    pub fn builder() -> TaskBuilder {
        TaskBuilder::new()
    }
}

impl TaskBuilder {
    /// Creates a builder of a task that carries nothing but its code.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.attributes().name = Some(name.into());
        self
    }

    /// Sets the priority: lower is more urgent, zero is the default.
    pub fn priority(mut self, priority: i32) -> Self {
        self.attributes().priority = priority;
        self
    }

    /// Attaches a value, in place of one that was attached before.
    pub fn attach(mut self, value: impl Any + Send + Sync) -> Self {
        self.attributes().attachment = Some(Arc::new(value));
        self
    }

    /// Sets a context in which the task runs, inside of one that was set before.
    ///
    /// Pools do this with what their builder's `propagate` has registered; see
    /// [`Propagate`](crate::context::Propagate).
    pub fn context(mut self, context: Captured) -> Self {
        let place = &mut self.attributes().context;
        *place = Some(match place.take() {
            None => context,
            Some(outer) => outer.then(context),
        });
        self
    }

    /// Takes the context out, for the body.
    #[inline]
    pub(super) fn take_context(&mut self) -> Option<Captured> {
        self.attributes.as_ref()?;
        self.take_context_slow()
    }

    #[cold]
    fn take_context_slow(&mut self) -> Option<Captured> {
        let attributes = self.attributes.as_mut()?;
        attributes.context.as_ref()?;
        let context = Arc::make_mut(attributes).context.take();
        if attributes.is_empty() {
            self.attributes = None;
        }
        context
    }

    /// Creates the task, without a handle.
    #[inline]
    pub fn build(mut self, body: impl FnOnce() + Send + 'static) -> Task {
        match self.take_context() {
            None => Task::of_body(TaskId::next(), self.attributes, Call(body)),
            Some(context) => self.build_boxed(boxed(context, body)),
        }
    }

    // Bodies with a context are boxed, so that this is compiled once and not for each closure.
    fn build_boxed(self, body: BoxedBody<()>) -> Task {
        Task::of_body(TaskId::next(), self.attributes, Call(body))
    }

    /// Creates the task, and the handle to its value.
    #[inline]
    pub fn build_with_handle<T: Send + 'static>(
        mut self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        match self.take_context() {
            None => self.halves(Call(body), ()),
            Some(context) => self.halves(Call(boxed(context, body)), ()),
        }
    }

    /// Creates the task, and the handle to its value; an error is the task's failure.
    #[inline]
    pub(crate) fn build_fallible<T: Send + 'static>(
        mut self,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        match self.take_context() {
            None => self.halves(Once(body), ()),
            Some(context) => self.halves(Once(boxed(context, body)), ()),
        }
    }

    /// Creates a task that borrows from a scope, which waits for it, and its handle. It is cancelled as
    /// soon as it is returned to a caller.
    pub(crate) fn build_scoped(
        mut self,
        body: impl FnOnce() -> Result<(), Failure> + Send + 'static,
    ) -> (Task, TaskHandle<()>) {
        match self.take_context() {
            None => self.halves(Scoped(body), ()),
            Some(context) => self.halves(Scoped(boxed(context, body)), ()),
        }
    }

    /// Creates the task, without a handle, with an input that can be taken back until it runs.
    #[inline]
    pub(crate) fn build_with_input<I: Send + 'static>(
        mut self,
        input: I,
        body: impl FnOnce(I) + Send + 'static,
    ) -> Task {
        let (id, context) = (TaskId::next(), self.take_context());
        match context {
            None => Task::of_body(id, self.attributes, WithInput::new(input, body)),
            Some(context) => {
                let body = WithInput::new(input, boxed_with_input(context, body));
                Task::of_body(id, self.attributes, body)
            }
        }
    }

    /// Creates the task, and the handle to its value, with an input that can be taken back until it
    /// runs.
    #[inline]
    pub(crate) fn build_with_input_and_handle<I: Send + 'static, T: Send + 'static>(
        mut self,
        input: I,
        body: impl FnOnce(I) -> T + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        match self.take_context() {
            None => self.halves(WithInput::new(input, body), ()),
            Some(context) => {
                let body = boxed_with_input(context, body);
                self.halves(WithInput::new(input, body), ())
            }
        }
    }

    /// Creates a task with a timer, and its handle.
    #[inline]
    pub(crate) fn build_scheduled<T: Send + 'static, S: TimerService + 'static>(
        mut self,
        timer: Timer<S>,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        match self.take_context() {
            None => self.halves(Once(body), timer),
            Some(context) => self.halves(Once(boxed(context, body)), timer),
        }
    }

    #[inline]
    fn halves<T: Send + 'static>(
        self,
        body: impl Body<T> + 'static,
        timer: impl MaybeTimer,
    ) -> (Task, TaskHandle<T>) {
        let id = TaskId::next();
        let (runs, waits) = Cell::pair(Header::new(id, self.attributes), body, timer);
        (Task::of_half(id, runs), TaskHandle::new(waits.thin()))
    }

    /// Creates a task that can run any number of times, and its handle.
    pub(crate) fn build_periodic<S: TimerService + 'static>(
        mut self,
        timer: Timer<S, Repetition>,
        mut body: impl FnMut() -> Result<(), Failure> + Send + 'static,
    ) -> (Arc<dyn Runnable>, TaskHandle<()>) {
        let context = self.take_context();
        let header = Header::new(TaskId::next(), self.attributes);
        let body = move || match &context {
            None => body(),
            Some(context) => context.run(&mut body),
        };
        let (runs, waits) = Cell::pair(header, Repeating(body), timer);
        (Arc::new(runs), TaskHandle::new(waits.thin()))
    }

    pub(super) fn into_attributes(self) -> Option<Arc<Attributes>> {
        self.attributes
    }

    fn attributes(&mut self) -> &mut Attributes {
        Arc::make_mut(self.attributes.get_or_insert_default())
    }
}

type BoxedBody<T> = Box<dyn FnOnce() -> T + Send>;
type BoxedWithInput<I, T> = Box<dyn FnOnce(I) -> T + Send>;

/// Wraps a body with the context that it runs in.
#[cold]
fn boxed<T: 'static>(context: Captured, body: impl FnOnce() -> T + Send + 'static) -> BoxedBody<T> {
    Box::new(move || context.run(body))
}

/// Wraps a body with the context that it runs in.
#[cold]
fn boxed_with_input<I: 'static, T: 'static>(
    context: Captured,
    body: impl FnOnce(I) -> T + Send + 'static,
) -> BoxedWithInput<I, T> {
    Box::new(move |input| context.run(|| body(input)))
}

impl fmt::Debug for TaskBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBuilder")
            .field("attributes", &self.attributes)
            .finish()
    }
}
