//! The options of a scope: what ends its tasks early.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::invoke::InvokeError;
use super::map::map;
use super::members::{JoinPolicy, Members};
use super::scope::{self, Scope};
use crate::executor::Executor;
use crate::sync::{Deadline, available_parallelism};
use crate::task::{self, CancelToken, Failure, Registration};

/// The options of a [`Scope`]: its tasks are cancelled together, by the first failure, by the first
/// success, or by a time limit.
///
/// [`Submit::group`](crate::Submit::group) creates it, and [`scope`](Self::scope) opens the scope. Without
/// options that is [`Submit::scope`](crate::Submit::scope).
///
/// ```
/// use std::time::Duration;
/// use windlass::prelude::*;
/// use windlass::task::ExecutionError;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let (user, orders) = ("ada", ["keyboard", "lamp"]);
/// let page = pool.group().fail_fast().timeout(Duration::from_secs(30)).scope(|s| {
///     let greeting = s.spawn(|| format!("Hello {user}"))?;
///     let count = s.spawn_fallible(|| orders.len().to_string().parse::<u32>())?;
///     s.join()?; // the first failure, if there is one; the other task is cancelled then
///     Ok::<_, ExecutionError>(format!("{}: {} orders", greeting.join()?, count.join()?))
/// });
/// assert_eq!(page.unwrap(), "Hello ada: 2 orders");
/// ```
#[must_use = "nothing runs until `scope` or `map`"]
#[doc(alias = "StructuredTaskScope")]
pub struct TaskGroup<'env, E: ?Sized> {
    executor: &'env E,
    policy: JoinPolicy,
    timeout: Option<Duration>,
    in_flight: Option<usize>,
    tokens: Vec<CancelToken>,
}

impl<'env, E: Executor + ?Sized> TaskGroup<'env, E> {
    pub(super) const fn new(executor: &'env E) -> Self {
        Self {
            executor,
            policy: JoinPolicy::All,
            timeout: None,
            in_flight: None,
            tokens: Vec::new(),
        }
    }

    /// Lets the first failure cancel all other tasks, as
    /// [`Sibling`](crate::task::Cancellation::Sibling), and interrupt those that run.
    ///
    /// [`Scope::join`] returns the failure. A panic of the body of the scope counts as one.
    #[doc(alias = "ShutdownOnFailure")]
    pub fn fail_fast(mut self) -> Self {
        self.policy = JoinPolicy::FailFast;
        self
    }

    /// Lets the first value cancel all other tasks, as
    /// [`Superseded`](crate::task::Cancellation::Superseded), and interrupt those that run.
    ///
    /// [`Scope::join_first`] returns the value.
    #[doc(alias = "ShutdownOnSuccess")]
    #[doc(alias = "anySuccessfulResultOrThrow")]
    pub fn first_success(mut self) -> Self {
        self.policy = JoinPolicy::FirstSuccess;
        self
    }

    /// Limits the time from the beginning of the scope. After it, all tasks that are not done are cancelled,
    /// as [`TimedOut`](crate::task::Cancellation::TimedOut), and interrupted if they run; later ones are
    /// cancelled at once.
    ///
    /// That happens when the time is up, whatever the body of the scope does meanwhile: a handle that is
    /// awaited ends, too. A task whose turn comes after it does not start. The scope does not end before its
    /// closures do: a task that ignores its interrupt holds it up.
    #[doc(alias = "withTimeout")]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Lets the token cancel the tasks, in addition to others that were set before.
    pub fn cancelled_by(mut self, token: &CancelToken) -> Self {
        self.tokens.push(token.clone());
        self
    }

    /// Lets the task that this code is part of, if there is one, cancel the tasks of the group with it, as
    /// [`Parent`](crate::task::Cancellation::Parent).
    pub fn as_child(self) -> Self {
        match task::current() {
            Some(parent) => self.cancelled_by(&parent.token()),
            None => self,
        }
    }

    /// Sets how many items [`map`](Self::map) submits before it waits for the first of them; zero counts
    /// as one. The default is four for each core.
    pub fn in_flight(mut self, limit: usize) -> Self {
        self.in_flight = Some(limit);
        self
    }

    /// Runs the body on this thread with a scope, in which it can spawn closures that borrow; returns when
    /// none of them exists any more, not running, not queued, nor kept by anyone.
    ///
    /// A task that was returned to a caller unrun, by `shutdown_now` or `remove`, is cancelled. All others
    /// are waited for, also if the body panics.
    ///
    /// # Panics
    ///
    /// If the body panics; or if a closure does and nobody has seen its failure, through its handle or
    /// [`Scope::join`].
    ///
    /// # Deadlocks
    ///
    /// Waits for a task that an executor keeps and neither runs nor drops, until it is cancelled.
    pub fn scope<F, R>(self, body: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        let members = Members::new(self.policy, self.deadline());
        let (_links, _alarm) = (self.link(&members), members.set_alarm());
        scope::run(&self.executor, &members, body)
    }

    /// Calls the closure with every item, in tasks; returns the values in the order of the items.
    ///
    /// Items are taken from the iterator as they are submitted, and no more than
    /// [`in_flight`](Self::in_flight) of them are submitted and not returned at any time. If the executor is
    /// saturated meanwhile, the next item waits until one of them is done. The first panic cancels the rest,
    /// whatever the policy of the group.
    ///
    /// ```
    /// use windlass::prelude::*;
    ///
    /// let pool = executors::fixed_thread_pool(2).unwrap();
    /// let words = ["a", "few", "words"];
    /// let lengths = pool.group().in_flight(2).map(&words, |word| word.len());
    /// assert_eq!(lengths.unwrap(), [1, 3, 5]);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Item`](InvokeError::Item) with the item that panicked or was cancelled,
    /// [`Rejected`](InvokeError::Rejected), [`Interrupted`](InvokeError::Interrupted), or
    /// [`TimedOut`](InvokeError::TimedOut).
    pub fn map<I, R, F>(self, items: I, f: F) -> Result<Vec<R>, InvokeError>
    where
        I: IntoIterator<Item: Send>,
        R: Send,
        F: Fn(I::Item) -> R + Sync,
    {
        self.run_map(items, &|item| Ok(f(item)))
    }

    /// Calls the closure with every item, as [`map`](Self::map); the first error that it returns cancels the
    /// rest too.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    pub fn map_fallible<I, R, X, F>(self, items: I, f: F) -> Result<Vec<R>, InvokeError>
    where
        I: IntoIterator<Item: Send>,
        R: Send,
        X: Into<Box<dyn Error + Send + Sync>>,
        F: Fn(I::Item) -> Result<R, X> + Sync,
    {
        self.run_map(items, &|item| f(item).map_err(Failure::from_error))
    }

    fn run_map<I, R, F>(&self, items: I, f: &F) -> Result<Vec<R>, InvokeError>
    where
        I: IntoIterator<Item: Send>,
        R: Send,
        F: Fn(I::Item) -> Result<R, Failure> + Sync,
    {
        let default = || 4 * available_parallelism();
        let limit = self.in_flight.unwrap_or_else(default).max(1);
        let members = Members::new(JoinPolicy::FailFast, self.deadline());
        let (items, _links) = (items.into_iter(), self.link(&members));
        let _alarm = members.set_alarm();
        scope::run(&self.executor, &members, |s| map(s, items, limit, f))
    }

    /// Lets the tokens cancel the tasks until the result is dropped.
    fn link(&self, members: &Arc<Members>) -> Vec<Registration> {
        let link = |token: &CancelToken| {
            let members = Arc::clone(members);
            token.register(move |signal| members.cancel(signal.mode, signal.reason))
        };
        self.tokens.iter().filter_map(link).collect()
    }

    fn deadline(&self) -> Deadline {
        self.timeout.map_or(Deadline::Never, Deadline::after)
    }
}

impl<E: ?Sized> fmt::Debug for TaskGroup<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskGroup")
            .field("policy", &self.policy)
            .field("timeout", &self.timeout)
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}
