//! The arguments and the outcomes of the transitions of a task's [`State`](super::state::State).

/// The effect of a cancel on a body that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CancelMode {
    /// It keeps running, undisturbed; its result is dropped.
    LetRun,
    /// The thread that runs it is interrupted.
    Interrupt,
}

/// The kind of result that a task ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultKind {
    Value,
    Failure,
}

impl ResultKind {
    pub(super) const fn of<T, E>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Value,
            Err(_) => Self::Failure,
        }
    }
}

/// The use that a runner makes of its reference to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunnerRef {
    /// It keeps the reference.
    Keep,
    /// It releases the reference as it publishes the result, unless it has waiters to wake.
    Release,
}

/// The outcome of [`State::start`](super::state::State::start).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Started {
    /// The caller is the runner and owns the body.
    Won,
    /// The task has another runner, or is done or claimed.
    Lost,
}

/// The outcome of [`State::finish`](super::state::State::finish).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Finished {
    /// The result stands.
    Won { awaited: bool },
    /// The result stands, and the runner's reference is gone; if it was the last, so is the task.
    Released { last: bool },
    /// The task was cancelled or completed meanwhile: the runner still owns its result.
    Lost,
}

/// The outcome of [`State::claim`](super::state::State::claim).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Claimed {
    /// The caller may complete the task, and owns the body, which has not started.
    Unstarted,
    /// The caller may complete the task, whose body is running.
    Running,
    /// The task is done, or claimed by another thread.
    Lost,
}

/// The outcome of [`State::publish`](super::state::State::publish).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) struct Published {
    pub(super) awaited: bool,
}

/// The outcome of [`State::reset`](super::state::State::reset).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Reset {
    /// The task can be run again.
    Queued,
    /// The task was cancelled or completed meanwhile: the runner still owns the body.
    Lost,
}

/// The outcome of [`State::cancel`](super::state::State::cancel).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Cancelled {
    /// It was done, or claimed.
    TooLate,
    /// It had not started; the caller owns the body.
    Unstarted { awaited: bool },
    /// It runs, and keeps running, on the thread whose context has this number.
    Running { awaited: bool, runner: u32 },
}

/// The outcome of [`State::withdraw`](super::state::State::withdraw).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Withdrawn {
    /// It had not started, and is cancelled; the caller owns the body.
    Won { awaited: bool },
    /// It has started, or is done or claimed.
    Lost,
}

/// The outcome of [`State::announce_wait`](super::state::State::announce_wait).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Announced {
    /// The thread that completes the task will see the waiters.
    Pending,
    /// The task is done.
    Done,
}
