//! The queue of a pool that forwards due tasks instead of running them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::timers::Timers;
use crate::interrupt::Interrupted;
use crate::queue::{BlockingQueue, PutError, Waiting};
use crate::task::Task;

/// A function that takes each task that is due.
pub(super) type Forward = Arc<dyn Fn(Task) + Send + Sync>;

/// The queue of timers, whose tasks a worker receives wrapped: what it runs forwards the task.
pub(super) struct Forwarding {
    timers: Arc<Timers>,
    forward: Forward,
}

impl Forwarding {
    pub(super) fn new(timers: Arc<Timers>, forward: Forward) -> Self {
        Self { timers, forward }
    }

    /// If what this returns is dropped instead of run, the task is dropped, and so cancelled.
    fn wrapped(&self, task: Task) -> Task {
        let forward = Arc::clone(&self.forward);
        Task::new(move || forward(task))
    }
}

/// Takers receive wrapped tasks; whoever drains or inspects the queue sees the tasks themselves.
impl BlockingQueue<Task> for Forwarding {
    fn offer(&self, task: Task) -> Result<(), PutError<Task>> {
        self.timers.offer(task)
    }

    fn offer_timeout(&self, task: Task, timeout: Duration) -> Result<(), PutError<Task>> {
        self.timers.offer_timeout(task, timeout)
    }

    fn put(&self, task: Task) -> Result<(), PutError<Task>> {
        self.timers.put(task)
    }

    fn poll(&self) -> Option<Task> {
        self.timers.poll().map(|task| self.wrapped(task))
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<Task>, Interrupted> {
        let polled = self.timers.poll_timeout(timeout)?;
        Ok(polled.map(|task| self.wrapped(task)))
    }

    fn take(&self) -> Result<Task, Interrupted> {
        self.timers.take().map(|task| self.wrapped(task))
    }

    fn drain(&self, max: usize) -> Vec<Task> {
        self.timers.drain(max)
    }

    fn drain_all(&self) -> Vec<Task> {
        self.timers.drain_all()
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
        self.timers.remove_first(wanted)
    }

    fn retain(&self, keep: &mut dyn FnMut(&Task) -> bool) -> Vec<Task> {
        self.timers.retain(keep)
    }

    fn for_each(&self, f: &mut dyn FnMut(&Task)) {
        self.timers.for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&Task)) {
        self.timers.peek(f);
    }

    fn len(&self) -> usize {
        self.timers.len()
    }

    fn remaining_capacity(&self) -> Option<usize> {
        self.timers.remaining_capacity()
    }

    fn waiting(&self) -> Option<Waiting> {
        self.timers.waiting()
    }
}

impl fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarding")
            .field("timers", &self.timers)
            .finish_non_exhaustive()
    }
}
