//! The methods that all handles have in common, written once.
//!
//! A handle implements [`Handle`], and [`OwningHandle`] or [`ReadingHandle`] if it provides access
//! to the value. The macros then add the inherent methods: `handle_methods!` to every handle,
//! `owning_handle_methods!` to those that move the value out, `reading_handle_methods!` to those
//! that clone it. They are inherent, so that no trait has to be imported to call them.

use std::fmt;

use super::cell_ref::Ref;
use super::error::{Cancellation, ExecutionError, Failure, WaitError};
use super::head::Head;
use super::helped_wait::Helpers;
use super::runnable::{Awaitable, Untyped};
use super::task_state::TaskState;
use super::transition::CancelMode;
use super::wait_helper::WaitHelper;
use crate::interrupt;
use crate::sync::Deadline;

/// The operations on which the methods of every handle are built.
pub(crate) trait Handle {
    /// Returns the untyped part of the task.
    fn head(&self) -> &Head;

    /// Returns a reference to the task, without the type of its result.
    fn to_untyped(&self) -> Ref<dyn Untyped>;

    /// Cancels the task unless it is done; returns false if it is.
    fn cancel_for(&self, mode: CancelMode, reason: Cancellation) -> bool;

    /// Waits until the task is done; returns false if the deadline passes before.
    fn wait_by(&self, deadline: Deadline) -> Result<bool, WaitError> {
        self.wait_with_help(deadline, None)
    }

    /// As [`wait_by`](Self::wait_by); `own` is asked for help before the executors of this thread.
    fn wait_with_help(
        &self,
        deadline: Deadline,
        own: Option<&dyn WaitHelper>,
    ) -> Result<bool, WaitError> {
        if self.head().state().is_done() {
            return Ok(true);
        }
        match Helpers::current(own) {
            None => Ok(self.head().wait(deadline)?),
            Some(helpers) => helpers.wait(self.head(), deadline, &|| self.to_untyped()),
        }
    }

    /// As [`wait_by`](Self::wait_by), but interrupts do not end the wait and stay pending.
    fn wait_uninterruptibly_by(&self, deadline: Deadline) -> Result<bool, ExecutionError> {
        let mut interrupted = false;
        let ended = loop {
            match self.wait_by(deadline) {
                Ok(done) => break Ok(done),
                Err(WaitError::Interrupted) => interrupted = true,
                Err(deadlock) => break Err(deadlock.into()),
            }
        };
        if interrupted {
            interrupt::current().interrupt();
        }
        ended
    }

    /// As [`wait_uninterruptibly_by`](Self::wait_uninterruptibly_by), but a circle of waits does not end it
    /// either: another wait of the circle returns the error.
    fn wait_to_the_end(&self, deadline: Deadline) -> bool {
        let mut interrupted = false;
        let done = loop {
            if self.head().state().is_done() {
                break true;
            }
            let ended = match Helpers::current(None) {
                None => self.head().wait(deadline).map_err(WaitError::from),
                Some(helpers) => {
                    let helpers = helpers.tell_another();
                    helpers.wait(self.head(), deadline, &|| self.to_untyped())
                }
            };
            match ended {
                Ok(done) => break done,
                Err(WaitError::Interrupted) => interrupted = true,
                Err(WaitError::Deadlock(_)) => {}
            }
        };
        if interrupted {
            interrupt::current().interrupt();
        }
        done
    }

    /// Writes the handle with the JDK's words for the state of a future.
    fn describe(
        &self,
        kind: &str,
        cause: Option<&Failure>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let header = self.head().header();
        write!(f, "{kind}[")?;
        match TaskState::from(self.head().state()) {
            TaskState::Queued | TaskState::Running => {
                let name = header.name().unwrap_or("closure");
                write!(f, "Not completed, task = {name}")?;
            }
            TaskState::Completed => f.write_str("Completed normally")?,
            TaskState::Failed => {
                f.write_str("Completed exceptionally")?;
                if let Some(cause) = cause {
                    write!(f, ": {cause}")?;
                }
            }
            TaskState::Cancelled => f.write_str("Cancelled")?,
        }
        write!(f, ", id = {}]", header.id().as_u64())
    }
}

/// A handle that moves the value out: one for each task.
pub(crate) trait OwningHandle<T>: Handle {
    /// Moves the value out, if that needs no more than a look at the state; `None` says nothing.
    #[inline]
    fn take_value(&mut self) -> Option<T> {
        None
    }

    /// Moves the outcome out, if the task is done.
    fn take_outcome(&mut self) -> Option<Result<T, ExecutionError>>;

    /// Waits until the task is done, and moves its outcome out.
    #[inline]
    fn take_by(&mut self, deadline: Deadline) -> Result<T, ExecutionError> {
        match self.take_value() {
            Some(value) => Ok(value),
            None => self.take_by_slow(deadline),
        }
    }

    // Apart from the caller's code, as who takes one result after the other seldom waits.
    #[cold]
    #[inline(never)]
    fn take_by_slow(&mut self, deadline: Deadline) -> Result<T, ExecutionError> {
        loop {
            if let Some(outcome) = self.take_outcome() {
                return outcome;
            }
            if !self.wait_by(deadline)? {
                return Err(ExecutionError::TimedOut);
            }
        }
    }
}

/// A handle that moves the value out, or can be converted into one that reads it.
pub(crate) trait ShareableHandle<T>: OwningHandle<T> {
    /// Converts the handle into a reference for any number of readers; the task is no longer cancelled
    /// when a handle is dropped.
    fn into_shareable(self) -> Ref<dyn Awaitable<T>>;
}

/// A handle that reads the value in place: one of any number.
pub(crate) trait ReadingHandle<T>: Handle {
    /// Returns the outcome, if the task is done.
    fn outcome_ref(&self) -> Option<Result<&T, ExecutionError>>;

    /// Returns a reference for another reader.
    fn to_shareable(&self) -> Ref<dyn Awaitable<T>>;

    /// Waits until the task is done, and clones its outcome.
    fn clone_by(&self, deadline: Deadline) -> Result<T, ExecutionError>
    where
        T: Clone,
    {
        if !self.wait_by(deadline)? {
            return Err(ExecutionError::TimedOut);
        }
        let outcome = self.outcome_ref();
        outcome.unwrap_or(Err(ExecutionError::Taken)).cloned()
    }
}

/// Adds the methods that every handle has, and the conversion into a `TaskId`.
///
/// `handle_methods!([generics] Type, control = TaskControl)`; the type implements [`Handle`]. The types of
/// other handles are arguments, so that this file does not depend on them.
macro_rules! handle_methods {
    ([$($generics:tt)*] $Handle:ty, control = $Control:ty) => {
        impl<$($generics)*> $Handle {
            /// Returns the id of the task; its runnable half has the same one.
            #[must_use]
            pub fn id(&self) -> $crate::task::TaskId {
                $crate::task::Handle::head(self).header().id()
            }

            /// Returns the name that the task was built with.
            #[must_use]
            pub fn name(&self) -> Option<&str> {
                $crate::task::Handle::head(self).header().name()
            }

            /// Returns the value of type `S` that was attached to the task.
            #[must_use]
            pub fn attachment<S: 'static>(&self) -> Option<&S> {
                let header = $crate::task::Handle::head(self).header();
                header.attachment()?.downcast_ref()
            }

            /// Returns the current state of the task.
            #[must_use]
            pub fn state(&self) -> $crate::task::TaskState {
                $crate::task::Handle::head(self).state().into()
            }

            /// Returns whether the task has ended, in whatever way.
            #[must_use]
            pub fn is_done(&self) -> bool {
                $crate::task::Handle::head(self).state().is_done()
            }

            /// Returns whether the task was cancelled or will never run.
            #[must_use]
            pub fn is_cancelled(&self) -> bool {
                $crate::task::Handle::head(self).state().is_cancelled()
            }

            /// Returns why the task was cancelled, if it was.
            #[must_use]
            pub fn cancellation(&self) -> Option<$crate::task::Cancellation> {
                $crate::task::Handle::head(self).state().cancellation()
            }

            /// Cancels the task unless it is done; a run under way is not interrupted.
            ///
            /// The task is done at once, and the value of a run under way is dropped. Returns false
            /// if the task was done before.
            ///
            /// # Panics
            ///
            /// If a done-callback panics.
            pub fn cancel(&self) -> bool {
                let mode = $crate::task::CancelMode::LetRun;
                $crate::task::Handle::cancel_for(
                    self,
                    mode,
                    $crate::task::Cancellation::Requested,
                )
            }

            /// Cancels the task unless it is done; the thread that runs it is interrupted.
            ///
            /// The interrupt reaches that thread while it runs this task, and never a later one.
            /// Returns false if the task was done before.
            ///
            /// # Panics
            ///
            /// If a done-callback panics.
            #[doc(alias = "cancel")]
            pub fn cancel_now(&self) -> bool {
                let mode = $crate::task::CancelMode::Interrupt;
                $crate::task::Handle::cancel_for(
                    self,
                    mode,
                    $crate::task::Cancellation::Requested,
                )
            }

            /// Waits until the task is done, in whatever way.
            ///
            /// Returns at once if the task is done, whatever the thread's interrupt flag.
            ///
            /// Inside a task it may run the awaited task in place, as [`get`] does.
            ///
            /// # Errors
            ///
            /// [`Interrupted`](crate::interrupt::Interrupted) if the waiting thread is interrupted, or if
            /// its wait closes a circle of waits; `get` and `join` of a handle tell the two apart.
            ///
            /// [`get`]: crate::TaskHandle::get
            pub fn wait(&self) -> Result<(), $crate::interrupt::Interrupted> {
                $crate::task::Handle::wait_by(self, $crate::sync::Deadline::Never)
                    .map(drop)
                    .map_err($crate::task::WaitError::into_interrupted)
            }

            /// Waits until the task is done, in whatever way, but no longer than `timeout`; returns
            /// whether it is done.
            ///
            /// # Errors
            ///
            /// [`Interrupted`](crate::interrupt::Interrupted) if the waiting thread is interrupted.
            pub fn wait_timeout(
                &self,
                timeout: ::std::time::Duration,
            ) -> Result<bool, $crate::interrupt::Interrupted> {
                let deadline = $crate::sync::Deadline::after(timeout);
                $crate::task::Handle::wait_by(self, deadline)
                    .map_err($crate::task::WaitError::into_interrupted)
            }

            /// Calls `callback` with the final state when the task is done, at once if it is.
            ///
            /// It runs on the thread that completes the task, after all waiting threads have been
            /// woken. If it panics, so does the call that completed the task.
            ///
            /// # Panics
            ///
            /// If the task is done already and `callback` panics.
            #[doc(alias = "done")]
            pub fn on_done(&self, callback: impl FnOnce($crate::task::TaskState) + Send + 'static) {
                $crate::task::Handle::head(self)
                    .on_done(Box::new(move |end| callback(end.into())));
            }

            /// Returns the token of the task, which is cancelled, and interrupts, when the task is cancelled.
            ///
            /// What the task starts can be cancelled with it: see
            /// [`Submission::as_child`](crate::Submission::as_child). If the token is cancelled, the task is
            /// not.
            #[must_use]
            pub fn token(&self) -> $crate::task::CancelToken {
                $crate::task::Handle::head(self).token()
            }

            /// Returns a handle that watches and cancels the task, without access to its value.
            #[must_use]
            pub fn control(&self) -> $Control {
                <$Control>::new($crate::task::Handle::to_untyped(self))
            }
        }

        // The state of a task is consistent whenever user code can panic: no run leaves it half changed.
        impl<$($generics)*> ::std::panic::UnwindSafe for $Handle {}
        impl<$($generics)*> ::std::panic::RefUnwindSafe for $Handle {}

        impl<$($generics)*> From<&$Handle> for $crate::task::TaskId {
            fn from(handle: &$Handle) -> Self {
                handle.id()
            }
        }
    };
}

/// Adds the methods of handles that move the value out.
///
/// `owning_handle_methods!([generics] Type, value = T)`; the type implements [`OwningHandle`]. With
/// `shared = SharedHandle<T>` it implements [`ShareableHandle`] and can be shared.
macro_rules! owning_handle_methods {
    ([$($generics:tt)*] $Handle:ty, value = $T:ty, shared = $Shared:ty) => {
        $crate::task::owning_handle_methods!([$($generics)*] $Handle, value = $T);

        impl<$($generics)*> $Handle {
            /// Converts the handle into one that can be cloned, for any number of readers.
            ///
            /// If the value has been taken out of this handle, `get` and `join` of the shared one
            /// return [`Taken`](crate::task::ExecutionError::Taken). A shared handle detaches the
            /// task when it is dropped, even if this one was set to cancel it.
            pub fn share(self) -> $Shared
            where
                $T: Sync,
            {
                <$Shared>::new($crate::task::ShareableHandle::into_shareable(self))
            }
        }
    };
    ([$($generics:tt)*] $Handle:ty, value = $T:ty) => {
        impl<$($generics)*> $Handle {
            /// Waits until the task is done, and returns its value.
            ///
            /// Unlike [`join`](Self::join), an interrupt ends the wait, and the handle can be used
            /// again. Returns at once if the task is done, whatever the thread's interrupt flag.
            ///
            /// # Errors
            ///
            /// [`Failed`](crate::task::ExecutionError::Failed),
            /// [`Cancelled`](crate::task::ExecutionError::Cancelled),
            /// [`Interrupted`](crate::task::ExecutionError::Interrupted) if the waiting thread is
            /// interrupted, [`Taken`](crate::task::ExecutionError::Taken) if an earlier call returned
            /// the value, or [`Deadlock`](crate::task::ExecutionError::Deadlock) if the wait closes a
            /// circle: the task waits, perhaps through others, for the task that calls this.
            ///
            /// # Deadlocks
            ///
            /// None among the tasks of pools: inside a task, a task that is still queued in the same pool
            /// runs in place, on this thread. See
            /// [`nested_waits`](crate::pool::Builder::nested_waits), which can turn that off; then a
            /// worker that waits for a task behind it in the queue of its own pool can wait forever. So
            /// can one that waits for a task which waits for something else than a task.
            pub fn get(&mut self) -> Result<$T, $crate::task::ExecutionError> {
                $crate::task::OwningHandle::take_by(self, $crate::sync::Deadline::Never)
            }

            /// Waits until the task is done, but no longer than `timeout`, and returns its value.
            ///
            /// Inside a task of the same pool it may run the task in place, and then returns when that has
            /// ended. A circle of waits ends at the limit.
            ///
            /// # Errors
            ///
            /// As [`get`](Self::get), or [`TimedOut`](crate::task::ExecutionError::TimedOut): a later
            /// call can still return the value.
            #[doc(alias = "get")]
            pub fn get_timeout(
                &mut self,
                timeout: ::std::time::Duration,
            ) -> Result<$T, $crate::task::ExecutionError> {
                let deadline = $crate::sync::Deadline::after(timeout);
                $crate::task::OwningHandle::take_by(self, deadline)
            }

            /// Returns the outcome if the task is done, without waiting; `None` if it is not.
            #[doc(alias = "resultNow")]
            #[doc(alias = "exceptionNow")]
            pub fn try_get(&mut self) -> Option<Result<$T, $crate::task::ExecutionError>> {
                $crate::task::OwningHandle::take_outcome(self)
            }

            /// Waits until the task is done, and returns its value.
            ///
            /// Unlike [`get`](Self::get), an interrupt does not end the wait; it stays pending.
            ///
            /// # Errors
            ///
            /// [`Failed`](crate::task::ExecutionError::Failed),
            /// [`Cancelled`](crate::task::ExecutionError::Cancelled),
            /// [`Taken`](crate::task::ExecutionError::Taken) if an earlier call returned the value, or
            /// [`Deadlock`](crate::task::ExecutionError::Deadlock) if the wait closes a circle of waits;
            /// the task then goes on.
            ///
            /// # Deadlocks
            ///
            /// As [`get`](Self::get).
            pub fn join(mut self) -> Result<$T, $crate::task::ExecutionError> {
                if let Some(value) = $crate::task::OwningHandle::take_value(&mut self) {
                    return Ok(value);
                }
                $crate::task::Handle::wait_uninterruptibly_by(
                    &self,
                    $crate::sync::Deadline::Never,
                )?;
                $crate::task::OwningHandle::take_outcome(&mut self)
                    .unwrap_or(Err($crate::task::ExecutionError::Taken))
            }

            /// Makes the drop of this handle cancel the task, and interrupt the thread that runs it.
            pub fn cancel_on_drop(self) -> Self {
                $crate::task::Handle::head(&self).set_cancel_on_drop(true);
                self
            }
        }
    };
}

/// Adds the methods of handles that clone the value.
///
/// `reading_handle_methods!([generics] Type, value = T, shared = SharedHandle<T>)`; the type implements [`ReadingHandle`].
macro_rules! reading_handle_methods {
    ([$($generics:tt)*] $Handle:ty, value = $T:ty, shared = $Shared:ty) => {
        impl<$($generics)*> $Handle {
            /// Waits until the task is done, and returns a clone of its value.
            ///
            /// Unlike [`join`](Self::join), an interrupt ends the wait. Returns at once if the task is
            /// done, whatever the thread's interrupt flag.
            ///
            /// # Errors
            ///
            /// [`Failed`](crate::task::ExecutionError::Failed),
            /// [`Cancelled`](crate::task::ExecutionError::Cancelled),
            /// [`Interrupted`](crate::task::ExecutionError::Interrupted) if the waiting thread is
            /// interrupted, or [`Deadlock`](crate::task::ExecutionError::Deadlock) if the wait closes a
            /// circle of waits.
            ///
            /// # Deadlocks
            ///
            /// As [`TaskHandle::get`](crate::TaskHandle::get).
            pub fn get(&self) -> Result<$T, $crate::task::ExecutionError>
            where
                $T: Clone,
            {
                $crate::task::ReadingHandle::clone_by(self, $crate::sync::Deadline::Never)
            }

            /// Waits until the task is done, but no longer than `timeout`, and returns a clone of its
            /// value.
            ///
            /// # Errors
            ///
            /// As [`get`](Self::get), or [`TimedOut`](crate::task::ExecutionError::TimedOut).
            #[doc(alias = "get")]
            pub fn get_timeout(
                &self,
                timeout: ::std::time::Duration,
            ) -> Result<$T, $crate::task::ExecutionError>
            where
                $T: Clone,
            {
                let deadline = $crate::sync::Deadline::after(timeout);
                $crate::task::ReadingHandle::clone_by(self, deadline)
            }

            /// Returns a clone of the outcome if the task is done, without waiting; `None` if it is
            /// not.
            #[must_use]
            pub fn try_get(&self) -> Option<Result<$T, $crate::task::ExecutionError>>
            where
                $T: Clone,
            {
                self.outcome().map(|outcome| outcome.cloned())
            }

            /// Waits until the task is done, and returns a clone of its value.
            ///
            /// Unlike [`get`](Self::get), an interrupt does not end the wait; it stays pending.
            ///
            /// # Errors
            ///
            /// [`Failed`](crate::task::ExecutionError::Failed),
            /// [`Cancelled`](crate::task::ExecutionError::Cancelled), or
            /// [`Deadlock`](crate::task::ExecutionError::Deadlock) if the wait closes a circle of waits.
            ///
            /// # Deadlocks
            ///
            /// As [`get`](Self::get).
            pub fn join(self) -> Result<$T, $crate::task::ExecutionError>
            where
                $T: Clone,
            {
                let never = $crate::sync::Deadline::Never;
                $crate::task::Handle::wait_uninterruptibly_by(&self, never)?;
                self.try_get().unwrap_or(Err($crate::task::ExecutionError::Taken))
            }

            /// Returns the outcome in place if the task is done; `None` if it is not.
            #[must_use]
            pub fn outcome(&self) -> Option<Result<&$T, $crate::task::ExecutionError>> {
                // In this order: a task that completes in between has an outcome, not a value that was taken.
                let outcome = || $crate::task::ReadingHandle::outcome_ref(self);
                let taken = Err($crate::task::ExecutionError::Taken);
                self.is_done().then(|| outcome().unwrap_or(taken))
            }

            /// Returns the value, if the task is done and has one.
            #[must_use]
            #[doc(alias = "resultNow")]
            pub fn result_now(&self) -> Option<&$T> {
                self.outcome()?.ok()
            }

            /// Returns the failure, if the task is done and has failed.
            #[must_use]
            #[doc(alias = "exceptionNow")]
            pub fn failure_now(&self) -> Option<$crate::task::Failure> {
                self.outcome()?.err()?.into_failure()
            }

            /// Converts the handle into a plain shared one.
            pub fn share(self) -> $Shared {
                <$Shared>::new($crate::task::ReadingHandle::to_shareable(&self))
            }
        }
    };
}

pub(crate) use {handle_methods, owning_handle_methods, reading_handle_methods};
