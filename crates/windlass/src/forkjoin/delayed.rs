//! Tasks that are due: how timers, which are in a module above, submit to the pool.

use std::fmt;
use std::sync::Arc;

use super::job::Work;
use super::shared::{Accepted, Refused, Shared};
use super::state::RunState;
use super::timer_service::PoolTimers;
use crate::sync::clock::Clock;
use crate::task::{Cancellation, Task};
use crate::unwind::ignore_panic;

impl Shared {
    /// Returns the timers of the pool; calls `create` for the first.
    ///
    /// If the pool is shut down, so are the timers.
    pub(super) fn timers(
        self: &Arc<Self>,
        create: impl FnOnce(DueTasks) -> Box<dyn PoolTimers>,
    ) -> &dyn PoolTimers {
        let timers = &**self.timers.get_or_init(|| {
            self.lock().awaits_timers = true;
            create(DueTasks(Arc::clone(self)))
        });
        // A shutdown that came before they were there has not found them.
        match self.run_state() {
            RunState::Running => {}
            RunState::Shutdown => timers.pool_shut_down(),
            RunState::Stop | RunState::Terminated => timers.pool_stopped(),
        }
        timers
    }
}

/// The entrance of a pool for tasks that are due. It stays open after a shutdown, until it is closed.
#[derive(Clone)]
pub(crate) struct DueTasks(Arc<Shared>);

impl DueTasks {
    /// Submits a task to the pool; cancels it if the pool is stopped, or has no worker and no thread can be
    /// created.
    pub(crate) fn submit(&self, task: Task) {
        let id = task.id();
        let accepted = self.0.inject_until(RunState::Shutdown, Work::task(task));
        let submitted = accepted.and_then(|accepted| {
            self.0.notify_submitted(id)?;
            Ok(accepted)
        });
        match submitted {
            Ok(Accepted::ByWorkers) => {}
            Ok(Accepted::WithoutWorkers) => self.0.run_submissions(),
            Err(refused) => self.cancel(refused),
        }
    }

    fn cancel(&self, refused: Refused) {
        let reason = refused.cancellation();
        if let Some(task) = refused.work.into_task() {
            ignore_panic(|| {
                let cancelled = task.cancel(reason);
                let cancels = &self.0.cancels;
                cancels.add_if(cancelled && reason == Cancellation::Shutdown);
                task.abandon(reason);
            });
        }
    }

    /// Lets the pool terminate: no more tasks will be due.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.awaits_timers = false;
        self.0.try_terminate(state);
    }

    /// Returns the clock of the pool.
    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

impl fmt::Debug for DueTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DueTasks(..)")
    }
}

impl Refused {
    /// Returns the reason for a task that is cancelled instead of returned.
    fn cancellation(&self) -> Cancellation {
        if self.is_for_want_of_a_thread() {
            Cancellation::NoThread
        } else {
            Cancellation::Shutdown
        }
    }
}
