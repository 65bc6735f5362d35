//! Tasks and their handles.
//!
//! A task has two halves with two owners. The [`Task`] is the half that runs: it is moved by value
//! from the submitter to the queue to the worker, and running it consumes it, so it runs at most once
//! by its type. The [`TaskHandle`] is the half that waits: it returns the value, or why there is none.
//!
//! Whatever becomes of the runnable half, the handle completes. If the task is dropped instead of
//! run (rejected, discarded, drained, removed, dropped with its queue), the handle reports
//! [`ExecutionError::Cancelled`] with the reason. No `get` waits forever for a task that is gone.
//!
//! [`FutureTask`] is both halves in one shared object, for code that runs tasks itself.
//!
//! All handles have the same methods: `id`, `name`, `attachment`, `state`, `is_done`, `is_cancelled`,
//! `cancellation`, `cancel`, `cancel_now`, `wait`, `wait_timeout`, `on_done`, `control`; those with
//! a value also `get`, `get_timeout`, `try_get`, `join`, `share`. Each is a [`Future`].
//!
//! Code inside a task reaches it through [`current()`] and [`check`]. A [`CancelToken`] cancels any number of
//! tasks, and every task has one, `token`, which is cancelled with it.

// The files, lowest first; a file uses only those listed before it.
//
//   id            `TaskId`
//   deadlock      `Deadlock`, a circle of waits
//   wanted        what a waiting thread waits for
//   error         `ExecutionError`, `Cancellation`, `Failure`
//   transition    the arguments and outcomes of the transitions of the state word
//   token         `CancelToken`
//   context       what is captured at submission, and entered around the body
//   tracing_span  the current span of `tracing` as context
//   limits        how late a task may start, and how long it may run
//   attributes    name, priority, attachment, limits, context, tokens
//   stamp         when a task was queued
//   recycler      blocks of memory, recycled between threads
//   recycled_box  a closure in such a block
//   state         the state word: its bits, transitions and reference count
//   task_state    `TaskState`, the public view of it
//   waiters       threads, wakers and callbacks that wait for the end
//   completion    the outcome of a task that was completed from outside
//   header        id, attributes, waiters, completion
//   timer         when a scheduled task is due
//   runnable      the traits through which a cell is used without its types
//   running       the task that the current thread runs
//   body          the code of a task
//   head          the untyped part of a cell: state, runner, waiting
//   cell_ref      a counted reference to a cell
//   limit_timer   the timers of tasks with limits
//   alarm         a time at which something else is told
//   cell          body, then result
//   erased        a runnable value in three words
//   kinds         what a task can be: inline, boxed, half of a cell
//   runnable_task `Task`
//   timed_task    a task with a timer, in two words
//   detached      a task with limits and without a handle
//   wait_helper   what an executor does for a thread of its own that waits
//   wait_graph    which threads wait for which tasks
//   helped_wait   the wait of a thread that runs tasks for executors
//   handle_methods, control, shared, handle    the handles
//   current       the running task, as its own code sees it
//   linked        the link from tokens to a task
//   builder       `TaskBuilder`
//   promise       a task that is completed from outside
//   propagation   the sources of context of a pool
//   future_task   `FutureTask`
//
// The life of a cell: `builder` allocates it with two references, one in the `Task`, one in the
// `TaskHandle`. `Task::run` wins `State::start`, takes the body out, runs it, writes the outcome in its
// place, and publishes it with `State::finish`, which also releases the runner's reference unless
// somebody waits. A cancel that wins over a queued task takes the body out and drops it; over a running
// one the body keeps running, and its outcome is dropped. The last reference frees the cell.

mod alarm;
mod attributes;
mod body;
mod builder;
mod cell;
mod cell_memory;
mod cell_ref;
mod completion;
mod context;
mod control;
mod current;
mod deadlock;
mod detached;
mod erased;
mod error;
mod future_task;
mod handle;
mod handle_methods;
mod head;
mod header;
mod helped_wait;
mod id;
mod kinds;
mod limit_timer;
mod limits;
mod linked;
#[cfg(test)]
mod models;
#[cfg(any(feature = "async", test))]
mod promise;
mod propagation;
mod recycled_box;
mod recycler;
mod runnable;
mod runnable_task;
mod running;
mod shared;
mod stamp;
mod state;
mod task_state;
mod timed_task;
mod timer;
mod token;
#[cfg(feature = "tracing")]
mod tracing_span;
mod transition;
mod wait_graph;
mod wait_helper;
mod waiters;
mod wanted;

pub use builder::TaskBuilder;
pub use context::{Captured, Propagate, cloned, copied};
pub use control::TaskControl;
pub use current::{check, current};
pub use deadlock::Deadlock;
pub use error::{Cancellation, ExecutionError, Failure};
pub use future_task::FutureTask;
pub use handle::TaskHandle;
pub use id::TaskId;
pub use runnable_task::Task;
pub use shared::SharedHandle;
pub use task_state::TaskState;
pub use token::CancelToken;
#[cfg(feature = "tracing")]
pub use tracing_span::TracingSpan;
#[cfg(feature = "tracing")]
pub(crate) use tracing_span::inside_next_span;

pub(crate) use crate::sync::timestamp::{instant, nanos};
pub(crate) use alarm::Alarm;
pub(crate) use attributes::Attributes;
pub(crate) use body::Relay;
pub(crate) use cell_ref::Ref;
pub(crate) use deadlock::TaskName;
pub(crate) use error::WaitError;
pub(crate) use handle_methods::{
    Handle, OwningHandle, ReadingHandle, ShareableHandle, handle_methods, owning_handle_methods,
    reading_handle_methods,
};
pub(crate) use head::Head;
pub(crate) use header::Header;
pub(crate) use helped_wait::{
    Helpers, run_in_place, wake_waiters, while_waiting_elsewhere, with_wait_helper,
};
pub(crate) use limit_timer::TimeUp;
pub(crate) use limits::LimitOwner;
#[cfg(feature = "async")]
pub(crate) use promise::Promise;
pub(crate) use propagation::{Prepare, Sources, with_limits};
#[cfg(feature = "async")]
pub(crate) use runnable::PartOutcome;
pub(crate) use runnable::{Awaitable, RunOutcome, Runnable, Untyped};
pub(crate) use runnable_task::TaskSink;
pub(crate) use running::suspended;
pub(crate) use state::Snapshot;
pub(crate) use timed_task::TimedTask;
pub(crate) use timer::{Place, RunCount, Timer, TimerOwner, TimerService, TimerView};

pub(crate) use token::Registration;
pub(crate) use transition::CancelMode;
pub(crate) use wait_helper::{Helped, WaitHelper};
pub(crate) use wanted::{Batch, Wanted};
