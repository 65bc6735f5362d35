//! The builder of tasks with a name, a priority, an attachment, time limits or a handle.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attributes::Attributes;
use super::body::{Body, Call, Once, Repeating, Scoped, UntilResult, WithInput};
use super::cell::Cell;
use super::cell_ref::Ref;
use super::context::Captured;
use super::current::current;
use super::error::Failure;
use super::handle::TaskHandle;
use super::header::Header;
use super::id::TaskId;
use super::limits::{LimitOwner, Limits};
use super::linked::link;
use super::runnable::Runnable;
use super::runnable_task::Task;
use super::timed_task::TimedTask;
use super::timer::{MaybeTimer, Repetition, Timer, TimerService};
use super::token::CancelToken;

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
        let attributes = self.attributes();
        attributes.enters_span |= context.enters_span();
        let place = &mut attributes.context;
        *place = Some(match place.take() {
            None => context,
            Some(outer) => outer.then(context),
        });
        self
    }

    /// Lets the token cancel the task, in addition to others that were set before.
    ///
    /// A task with a handle is cancelled at once, as through its handle. A task without a handle does not
    /// start.
    pub fn cancelled_by(mut self, token: &CancelToken) -> Self {
        self.attributes().tokens.push(token.clone());
        self
    }

    /// Lets the task that this code is part of, if there is one, cancel the new task with it.
    ///
    /// See [`Submission::as_child`](crate::Submission::as_child).
    pub fn as_child(self) -> Self {
        match current() {
            Some(parent) => self.cancelled_by(&parent.token()),
            None => self,
        }
    }

    /// Takes the tokens out.
    #[inline]
    pub(super) fn take_tokens(&mut self) -> Option<Vec<CancelToken>> {
        self.attributes.as_ref()?;
        self.take_tokens_slow()
    }

    #[cold]
    fn take_tokens_slow(&mut self) -> Option<Vec<CancelToken>> {
        let attributes = self.attributes.as_mut()?;
        if attributes.tokens.is_empty() {
            return None;
        }
        let tokens = std::mem::take(&mut Arc::make_mut(attributes).tokens);
        if attributes.is_empty() {
            self.attributes = None;
        }
        Some(tokens)
    }

    /// Takes the context out, for the body.
    #[inline]
    pub(crate) fn take_context(&mut self) -> Option<Captured> {
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

    /// Sets until when the task may start. If it has not started then, it never will: its handle
    /// reports [`Cancellation::Expired`](super::Cancellation::Expired), at once.
    ///
    /// The time is on the clock of the pool that the task is submitted to, or else of the current thread:
    /// the machine's, unless a test has set another. Of a periodic task, no run starts later; one that
    /// runs is not disturbed.
    ///
    /// What is called when a task ends, callbacks and wakers, is called on the timer thread of the
    /// library if the task expires or [times out](Self::run_limit), and so is the drop of its closure.
    /// While that takes its time, and of course while it waits, no other limit comes to bear. If the
    /// system has no thread for the timer, the limits are checked only where a thread is about to start
    /// the task.
    ///
    /// ```
    /// use std::time::Instant;
    /// use windlass::task::{Cancellation, Task};
    ///
    /// let late = Task::builder().deadline(Instant::now());
    /// let (task, handle) = late.build_with_handle(|| unreachable!("it is too late"));
    /// task.run();
    /// assert_eq!(handle.cancellation(), Some(Cancellation::Expired));
    /// # let _: windlass::TaskHandle<()> = handle;
    /// ```
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.limits().deadline = Some(deadline);
        self
    }

    /// Sets how long the task may wait to be started, from now on; a scheduled task, from when it is
    /// due. Then it has expired as at its [`deadline`](Self::deadline), if it has one that is later.
    ///
    /// It does not apply to periodic tasks: see [`MissedRuns`](crate::scheduled::MissedRuns).
    pub fn queue_limit(mut self, limit: Duration) -> Self {
        self.limits().queue_limit = Some(limit);
        self
    }

    /// Sets how long a run of the task may take. One that takes longer is
    /// [interrupted](crate::interrupt), and the handle reports
    /// [`Cancellation::TimedOut`](super::Cancellation::TimedOut), at once.
    ///
    /// A task that ignores the interrupt keeps running, and keeps its worker. A periodic task ends
    /// with such a run.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.limits().run_limit = Some(limit);
        self
    }

    /// Creates the task, without a handle.
    #[inline]
    pub fn build(mut self, body: impl FnOnce() + Send + 'static) -> Task {
        if let Some(tokens) = self.take_tokens() {
            return self.build(unless_cancelled(tokens, body));
        }
        match self.take_context() {
            None => self.without_handle(Call(body)),
            Some(context) => self.build_boxed(boxed(context, body)),
        }
    }

    /// Returns whether the task carries anything but its code.
    #[inline]
    pub(crate) fn has_options(&self) -> bool {
        self.attributes.is_some()
    }

    /// Creates a task that carries nothing but its code, without a handle.
    #[inline]
    pub(crate) fn build_plain(body: impl FnOnce() + Send + 'static) -> Task {
        Task::of_body(TaskId::next(), None, Call(body))
    }

    // Bodies with a context are boxed, so that this is compiled once and not for each closure.
    fn build_boxed(self, body: BoxedBody<()>) -> Task {
        self.without_handle(Call(body))
    }

    /// Creates the task, and the handle to its value.
    #[inline]
    pub fn build_with_handle<T: Send + 'static>(
        self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        if self.attributes.is_none() {
            return plain_halves(Call(body));
        }
        self.build_with_handle_slow(body)
    }

    // Apart from the submitter's code: most tasks carry nothing but their code.
    #[cold]
    #[inline(never)]
    fn build_with_handle_slow<T: Send + 'static>(
        mut self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        match self.take_context() {
            None => self.halves(Call(body)),
            Some(context) => self.halves(Call(boxed(context, body))),
        }
    }

    /// Creates the task, and the handle to its value; an error is the task's failure.
    #[inline]
    pub(crate) fn build_fallible<T: Send + 'static>(
        mut self,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (Task, TaskHandle<T>) {
        match self.take_context() {
            None => self.halves(Once(body)),
            Some(context) => self.halves(Once(boxed(context, body))),
        }
    }

    /// Creates a task that borrows from a scope, which waits for it, and its handle. It is cancelled as
    /// soon as it is returned to a caller.
    pub(crate) fn build_scoped(
        mut self,
        body: impl FnOnce() -> Result<(), Failure> + Send + 'static,
    ) -> (Task, TaskHandle<()>) {
        match self.take_context() {
            None => self.halves(Scoped(body)),
            Some(context) => self.halves(Scoped(boxed(context, body))),
        }
    }

    /// Creates the task, without a handle, with an input that can be taken back until it runs.
    #[inline]
    pub(crate) fn build_with_input<I: Send + 'static>(
        mut self,
        input: I,
        body: impl FnOnce(I) + Send + 'static,
    ) -> Task {
        if let Some(tokens) = self.take_tokens() {
            let body: BoxedWithInput<I, ()> = Box::new(move |input| {
                unless_cancelled(tokens, || body(input))();
            });
            return self.build_with_input(input, body);
        }
        match self.take_context() {
            None => self.without_handle(WithInput::new(input, body)),
            Some(context) => {
                let body = WithInput::new(input, boxed_with_input(context, body));
                self.without_handle(body)
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
            None => self.halves(WithInput::new(input, body)),
            Some(context) => {
                let body = boxed_with_input(context, body);
                self.halves(WithInput::new(input, body))
            }
        }
    }

    /// Creates a task with the timer that is returned, and its handle.
    #[inline]
    pub(crate) fn build_scheduled<T: Send + 'static, S: TimerService + 'static>(
        self,
        timer: impl FnOnce() -> Timer<S>,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (TimedTask, TaskHandle<T>) {
        if self.attributes.is_none() {
            let header = Header::new(TaskId::next(), None);
            let (runs, waits) = Cell::pair(header, Once(body), timer);
            return (TimedTask::of_half(runs), TaskHandle::new(waits.thin()));
        }
        self.build_scheduled_slow(timer, body)
    }

    // Apart from the submitter's code: most timers carry nothing but their code.
    #[cold]
    #[inline(never)]
    fn build_scheduled_slow<T: Send + 'static, S: TimerService + 'static>(
        mut self,
        timer: impl FnOnce() -> Timer<S>,
        body: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> (TimedTask, TaskHandle<T>) {
        let context = self.take_context();
        match context {
            None => self.timed_halves(Once(body), timer),
            Some(context) => self.timed_halves(Once(boxed(context, body)), timer),
        }
    }

    /// Creates a task with a timer, which is cancelled as soon as it is returned to a caller, and its handle.
    pub(crate) fn build_scheduled_scoped<S: TimerService + 'static>(
        mut self,
        timer: impl FnOnce() -> Timer<S>,
        body: impl FnOnce() -> Result<(), Failure> + Send + 'static,
    ) -> (TimedTask, TaskHandle<()>) {
        match self.take_context() {
            None => self.timed_halves(Scoped(body), timer),
            Some(context) => self.timed_halves(Scoped(boxed(context, body)), timer),
        }
    }

    fn timed_halves<T: Send + 'static, S: TimerService + 'static>(
        self,
        body: impl Body<T> + 'static,
        timer: impl FnOnce() -> Timer<S>,
    ) -> (TimedTask, TaskHandle<T>) {
        let (_, runs, handle) = self.cells(body, timer);
        (TimedTask::of_half(runs), handle)
    }

    #[inline]
    fn halves<T: Send + 'static>(self, body: impl Body<T> + 'static) -> (Task, TaskHandle<T>) {
        let (id, runs, handle) = self.cells(body, || ());
        (Task::of_half(id, runs), handle)
    }

    #[inline]
    fn cells<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer>(
        mut self,
        body: B,
        timer: impl FnOnce() -> W,
    ) -> (TaskId, Ref<Cell<T, B, W>>, TaskHandle<T>) {
        let (id, tokens) = (TaskId::next(), self.take_tokens());
        let is_limited = self.has_limits();
        let (runs, waits) = Cell::pair(Header::new(id, self.attributes), body, timer);
        if is_limited {
            runs.limit();
        }
        let handle = TaskHandle::new(waits.thin());
        if let Some(tokens) = tokens {
            link(&handle.control(), tokens);
        }
        (id, runs, handle)
    }

    #[inline]
    fn without_handle(self, body: impl Body<()> + 'static) -> Task {
        let id = TaskId::next();
        if self.has_limits() {
            let inner = Task::of_body(id, None, body);
            return Task::detached(Header::new(id, self.attributes), inner);
        }
        Task::of_body(id, self.attributes, body)
    }

    /// Creates a task that can run any number of times, and its handle.
    pub(crate) fn build_periodic<S: TimerService + 'static>(
        mut self,
        timer: Timer<S, Repetition>,
        mut body: impl FnMut() -> Result<(), Failure> + Send + 'static,
    ) -> (Arc<dyn Runnable>, TaskHandle<()>) {
        let context = self.take_context();
        let body = move || match &context {
            None => body(),
            Some(context) => context.run(&mut body),
        };
        self.repeating(timer, Repeating(body))
    }

    /// Creates a task that runs until it returns a result or fails, and its handle.
    pub(crate) fn build_until_result<T: Send + 'static, S: TimerService + 'static>(
        mut self,
        timer: Timer<S, Repetition>,
        mut body: impl FnMut() -> Result<Option<T>, Failure> + Send + 'static,
    ) -> (Arc<dyn Runnable>, TaskHandle<T>) {
        let context = self.take_context();
        let body = move || match &context {
            None => body(),
            Some(context) => context.run(&mut body),
        };
        self.repeating(timer, UntilResult(body))
    }

    fn repeating<T: Send + 'static, S: TimerService + 'static>(
        mut self,
        timer: Timer<S, Repetition>,
        body: impl Body<T> + 'static,
    ) -> (Arc<dyn Runnable>, TaskHandle<T>) {
        let (tokens, is_limited) = (self.take_tokens(), self.has_limits());
        let header = Header::new(TaskId::next(), self.attributes);
        let (runs, waits) = Cell::pair(header, body, || timer);
        if is_limited {
            runs.limit();
        }
        let handle = TaskHandle::new(waits.thin());
        if let Some(tokens) = tokens {
            link(&handle.control(), tokens);
        }
        (Arc::new(runs), handle)
    }

    pub(super) fn into_attributes(self) -> Option<Arc<Attributes>> {
        self.attributes
    }

    /// Sets who counts the task if its time is up.
    #[cold]
    pub(crate) fn limit_owner(mut self, owner: Option<Arc<dyn LimitOwner>>) -> Self {
        if owner.is_some() {
            self.limits().owner = owner;
        }
        self
    }

    /// Sets the limits that it has not from a builder that has.
    pub(crate) fn default_limits(mut self, defaults: &Self) -> Self {
        let Some(all) = &mut self.attributes else {
            self.attributes.clone_from(&defaults.attributes);
            return self;
        };
        let limits = defaults.attributes.as_ref();
        if let Some(default) = limits.and_then(|all| all.limits.as_ref()) {
            let limits = Arc::make_mut(all).limits.get_or_insert_default();
            limits.queue_limit = limits.queue_limit.or(default.queue_limit);
            limits.run_limit = limits.run_limit.or(default.run_limit);
            limits.owner.clone_from(&default.owner);
        }
        self
    }

    #[inline]
    pub(crate) fn has_limits(&self) -> bool {
        self.attributes
            .as_ref()
            .is_some_and(|all| all.limits.is_some())
    }

    fn limits(&mut self) -> &mut Limits {
        self.attributes().limits.get_or_insert_default()
    }

    fn attributes(&mut self) -> &mut Attributes {
        Arc::make_mut(self.attributes.get_or_insert_default())
    }
}

/// Creates both halves of a task that carries nothing but its code.
#[inline]
fn plain_halves<T: Send + 'static>(body: impl Body<T> + 'static) -> (Task, TaskHandle<T>) {
    let id = TaskId::next();
    let (runs, waits) = Cell::pair(Header::new(id, None), body, || ());
    let task = Task::of_plain_half(id, runs);
    (task, TaskHandle::new(waits.thin()))
}

type BoxedBody<T> = Box<dyn FnOnce() -> T + Send>;
type BoxedWithInput<I, T> = Box<dyn FnOnce(I) -> T + Send>;

/// Wraps a body that nobody can cancel otherwise.
#[cold]
fn unless_cancelled<'a>(
    tokens: Vec<CancelToken>,
    body: impl FnOnce() + Send + 'a,
) -> Box<dyn FnOnce() + Send + 'a> {
    Box::new(move || {
        if !tokens.iter().any(CancelToken::is_cancelled) {
            body();
        }
    })
}

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
