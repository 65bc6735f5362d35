//! A task that is due later: its cell and its schedule, in one allocation.

use std::sync::Arc;

use super::body::Body;
use super::cell::{Cell, Core};
use super::error::{Cancellation, Failure};
use super::header::Header;
use super::runnable::{Awaitable, Ran, Runnable};
use super::schedule::Schedule;
use super::state::{Snapshot, State};
use crate::containment::contain;

pub(super) struct Timed<T, B> {
    cell: Cell<T, B>,
    schedule: Schedule,
}

impl<T: Send, B: Body<T>> Timed<T, B> {
    pub(super) fn new(header: Header, body: B, schedule: Schedule) -> Arc<Self> {
        Arc::new(Self {
            cell: Cell::unshared(header, State::new(), body),
            schedule,
        })
    }
}

impl<T: Send, B: Body<T>> Runnable for Timed<T, B> {
    fn run(&self) -> Ran {
        self.cell.run()
    }

    fn run_and_reset(&self) -> Ran {
        self.cell.run_and_reset()
    }

    fn cancel(&self, interrupt: bool, why: Cancellation) -> bool {
        let id = self.cell.header().id();
        self.cell.cancel_and(interrupt, why, || {
            contain(|| self.schedule.cancelled(id));
        })
    }

    fn fail(&self, failure: Failure) -> bool {
        self.cell.fail(failure)
    }

    fn state(&self) -> Snapshot {
        self.cell.state()
    }

    fn header(&self) -> &Header {
        self.cell.header()
    }

    fn schedule(&self) -> Option<&Schedule> {
        Some(&self.schedule)
    }
}

impl<T: Send + 'static, B: Body<T> + 'static> Awaitable<T> for Timed<T, B> {
    fn core(&self) -> &Core<T> {
        self.cell.core()
    }

    fn complete(&self, outcome: Result<T, Failure>) -> bool {
        self.cell.complete(outcome)
    }

    fn as_runnable(self: Arc<Self>) -> Arc<dyn Runnable> {
        self
    }
}
