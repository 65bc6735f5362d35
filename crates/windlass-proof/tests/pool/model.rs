//! A pool as numbers and lists: its state once it is quiescent.

use windlass::error::CapacityError;
use windlass::pool::PoolState;
use windlass::task::Cancellation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueKind {
    Linked(Option<usize>),
    Resizable(usize),
    Array(usize),
    Deque(usize),
    Priority,
    Synchronous,
    Transfer,
}

impl QueueKind {
    const fn capacity(self) -> Option<usize> {
        match self {
            Self::Linked(capacity) => capacity,
            Self::Resizable(capacity) | Self::Array(capacity) | Self::Deque(capacity) => {
                Some(capacity)
            }
            Self::Synchronous => Some(0),
            Self::Priority | Self::Transfer => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Abort,
    CallerRuns,
    Discard,
    DiscardOldest,
    /// Waits, for no time.
    Block,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) queue: QueueKind,
    pub(crate) policy: Policy,
    pub(crate) core: usize,
    pub(crate) maximum: usize,
    pub(crate) eager: bool,
}

/// What a task is, and what it will do when its gate is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) priority: i32,
    pub(crate) has_handle: bool,
    pub(crate) panics: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Execute(Plan),
    /// Opens the gate of a task that runs.
    Finish(usize),
    Cancel(usize),
    CancelNow(usize),
    Remove(usize),
    Purge,
    SetCore(usize),
    SetMaximum(usize),
    SetCapacity(usize),
    Prestart,
    RetireIdle,
    Shutdown,
    ShutdownNow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskOutcome {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled(Cancellation),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskModel {
    pub(crate) plan: Plan,
    pub(crate) outcome: TaskOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    Taken,
    HandedBack,
    PanickedInCaller,
    Yes(bool),
    Count(usize),
    Tasks(Vec<usize>),
    Capacity(Result<Option<usize>, CapacityError>),
}

/// A quiescent pool: each worker is idle or waits at a closed gate.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) setup: Setup,
    pub(crate) state: PoolState,
    capacity: Option<usize>,
    pub(crate) workers: usize,
    pub(crate) largest: usize,
    /// Threads started so far.
    pub(crate) made: usize,
    pub(crate) running: Vec<usize>,
    pub(crate) queued: Vec<usize>,
    pub(crate) tasks: Vec<TaskModel>,
    pub(crate) completed: u64,
    pub(crate) rejected: u64,
    pub(crate) answer: Answer,
}

impl Model {
    pub(crate) const fn new(setup: Setup) -> Self {
        Self {
            setup,
            state: PoolState::Running,
            capacity: setup.queue.capacity(),
            workers: 0,
            largest: 0,
            made: 0,
            running: Vec::new(),
            queued: Vec::new(),
            tasks: Vec::new(),
            completed: 0,
            rejected: 0,
            answer: Answer::Nothing,
        }
    }

    pub(crate) fn idle(&self) -> usize {
        self.workers - self.running.len()
    }

    pub(crate) fn remaining(&self) -> Option<usize> {
        let capacity = self.capacity?;
        Some(capacity.saturating_sub(self.queued.len()))
    }

    fn is_cancelled(&self, task: usize) -> bool {
        matches!(self.tasks[task].outcome, TaskOutcome::Cancelled(_))
    }

    fn is_running(&self) -> bool {
        self.state == PoolState::Running
    }

    fn add_worker(&mut self, first: Option<usize>, limit: usize) -> bool {
        let allowed = self.is_running() || (first.is_none() && !self.queued.is_empty());
        if !allowed || self.workers >= limit {
            return false;
        }
        self.workers += 1;
        self.made += 1;
        self.largest = self.largest.max(self.workers);
        if let Some(task) = first {
            self.begin(task);
        }
        true
    }

    fn begin(&mut self, task: usize) {
        self.tasks[task].outcome = TaskOutcome::Running;
        self.running.push(task);
    }

    fn enqueue(&mut self, task: usize) {
        let priority = self.tasks[task].plan.priority;
        let before = |&other: &usize| self.tasks[other].plan.priority <= priority;
        let at = match self.setup.queue {
            QueueKind::Priority => self.queued.partition_point(before),
            _ => self.queued.len(),
        };
        self.queued.insert(at, task);
    }

    /// The three steps.
    fn admit(&mut self, task: usize) -> bool {
        let Setup {
            core,
            maximum,
            eager,
            ..
        } = self.setup;
        if self.add_worker(Some(task), core) {
            return true;
        }
        if eager && self.idle() == 0 && self.add_worker(Some(task), maximum) {
            return true;
        }
        let room = match self.setup.queue {
            QueueKind::Synchronous => self.idle() > 0,
            _ => self.remaining() != Some(0),
        };
        if self.is_running() && room {
            self.enqueue(task);
            if self.workers == 0 {
                self.add_worker(None, maximum);
            }
            return true;
        }
        self.add_worker(Some(task), maximum)
    }

    fn cancel_for(&mut self, task: usize, why: Cancellation) {
        if !self.is_cancelled(task) {
            self.tasks[task].outcome = TaskOutcome::Cancelled(why);
        }
    }

    fn reject(&mut self, task: usize) -> Answer {
        self.rejected += 1;
        match self.setup.policy {
            Policy::Abort | Policy::Block => {
                self.cancel_for(task, Cancellation::Rejected);
                return Answer::HandedBack;
            }
            Policy::CallerRuns if self.is_running() => {
                let Plan {
                    panics, has_handle, ..
                } = self.tasks[task].plan;
                self.tasks[task].outcome = if panics {
                    TaskOutcome::Failed
                } else {
                    TaskOutcome::Completed
                };
                if panics && !has_handle {
                    return Answer::PanickedInCaller;
                }
            }
            Policy::CallerRuns => self.cancel_for(task, Cancellation::Shutdown),
            Policy::Discard => self.cancel_for(task, Cancellation::Discarded),
            Policy::DiscardOldest => loop {
                if !self.is_running() {
                    self.cancel_for(task, Cancellation::Shutdown);
                    break;
                }
                if self.queued.is_empty() {
                    self.cancel_for(task, Cancellation::Discarded);
                    break;
                }
                let oldest = self.queued.remove(0);
                self.cancel_for(oldest, Cancellation::Evicted);
                if self.admit(task) {
                    break;
                }
            },
        }
        Answer::Taken
    }

    /// The task has ended, and its worker goes on or retires.
    fn finish(&mut self, at: usize, interrupted: bool) {
        let task = self.running.remove(at);
        self.completed += 1;
        let TaskModel { plan, outcome } = self.tasks[task];
        let panics = plan.panics && !interrupted;
        if outcome == TaskOutcome::Running {
            self.tasks[task].outcome = if panics {
                TaskOutcome::Failed
            } else {
                TaskOutcome::Completed
            };
        }
        if panics && !plan.has_handle {
            self.workers -= 1;
            self.add_worker(None, self.setup.maximum);
        }
    }

    /// Lets idle workers take what is queued, or retire.
    fn run_to_quiescence(&mut self) {
        while self.idle() > 0 {
            let surplus = self.workers > self.setup.maximum;
            if surplus && (self.workers > 1 || self.queued.is_empty()) {
                self.workers -= 1;
            } else if !self.queued.is_empty() {
                let task = self.queued.remove(0);
                if self.is_cancelled(task) {
                    self.completed += 1;
                } else {
                    self.begin(task);
                }
            } else if !self.is_running() {
                self.workers -= 1;
            } else {
                break;
            }
        }
        if !self.is_running() && self.workers == 0 && self.queued.is_empty() {
            self.state = PoolState::Terminated;
        }
    }

    pub(crate) fn apply(&mut self, step: Step) {
        self.answer = self.call(step);
        self.run_to_quiescence();
    }

    fn call(&mut self, step: Step) -> Answer {
        match step {
            Step::Execute(plan) => {
                let task = self.tasks.len();
                self.tasks.push(TaskModel {
                    plan,
                    outcome: TaskOutcome::Queued,
                });
                if self.admit(task) {
                    Answer::Taken
                } else {
                    self.reject(task)
                }
            }
            Step::Finish(at) => {
                self.finish(at, false);
                Answer::Nothing
            }
            Step::Cancel(task) | Step::CancelNow(task) => {
                let pending = matches!(
                    self.tasks[task].outcome,
                    TaskOutcome::Queued | TaskOutcome::Running
                );
                if pending {
                    self.tasks[task].outcome = TaskOutcome::Cancelled(Cancellation::Requested);
                }
                let at = self.running.iter().position(|&running| running == task);
                if let (true, Step::CancelNow(_), Some(at)) = (pending, step, at) {
                    self.finish(at, true);
                }
                Answer::Yes(pending)
            }
            Step::Remove(task) => {
                let at = self.queued.iter().position(|&queued| queued == task);
                if let Some(at) = at {
                    self.queued.remove(at);
                    self.cancel_for(task, Cancellation::Removed);
                }
                Answer::Yes(at.is_some())
            }
            Step::Purge => {
                let before = self.queued.len();
                let tasks = &self.tasks;
                self.queued
                    .retain(|&task| !matches!(tasks[task].outcome, TaskOutcome::Cancelled(_)));
                Answer::Count(before - self.queued.len())
            }
            Step::Shutdown => {
                self.state = self.state.max(PoolState::ShuttingDown);
                Answer::Nothing
            }
            Step::ShutdownNow => self.shutdown_now(),
            step => self.tune(step),
        }
    }

    fn shutdown_now(&mut self) -> Answer {
        self.state = self.state.max(PoolState::ShuttingDown);
        let drained = std::mem::take(&mut self.queued);
        for &task in &drained {
            self.cancel_for(task, Cancellation::Drained);
        }
        while !self.running.is_empty() {
            self.finish(0, true);
        }
        Answer::Tasks(drained)
    }

    fn tune(&mut self, step: Step) -> Answer {
        match step {
            Step::SetCore(size) if size > self.setup.maximum => Answer::Yes(false),
            Step::SetCore(size) => {
                let former = std::mem::replace(&mut self.setup.core, size);
                let wanted = self.queued.len().min(size.saturating_sub(former));
                for _ in 0..wanted {
                    self.add_worker(None, size);
                }
                Answer::Yes(true)
            }
            Step::SetMaximum(size) if size == 0 || size < self.setup.core => Answer::Yes(false),
            Step::SetMaximum(size) => {
                self.setup.maximum = size;
                Answer::Yes(true)
            }
            Step::SetCapacity(size) => Answer::Capacity(match self.setup.queue {
                QueueKind::Resizable(_) if size == 0 => Err(CapacityError::Zero),
                QueueKind::Resizable(_) => Ok(self.capacity.replace(size)),
                _ => Err(CapacityError::NotResizable),
            }),
            Step::Prestart => Answer::Yes(self.add_worker(None, self.setup.core)),
            _ => {
                while self.idle() > 0 && self.workers > self.setup.core {
                    self.workers -= 1;
                }
                Answer::Nothing
            }
        }
    }

    /// Whether the step makes sense here, and has one outcome.
    pub(crate) fn allows(&self, step: Step) -> bool {
        // A worker that is nudged takes no hand-off meanwhile.
        let hand_off = self.setup.queue == QueueKind::Synchronous;
        match step {
            Step::SetCore(size) | Step::SetMaximum(size) if hand_off && self.workers > size => {
                false
            }
            Step::RetireIdle if hand_off && self.workers > 0 => false,
            // Idle workers learn of it one by one. Whom it does not end may do so after the next
            // step, and that may be the one which makes it superfluous.
            Step::RetireIdle => self.idle() <= self.workers.saturating_sub(self.setup.core),
            Step::Finish(at) => at < self.running.len(),
            Step::Cancel(task) | Step::CancelNow(task) => {
                task < self.tasks.len() && self.tasks[task].plan.has_handle
            }
            Step::Remove(task) => task < self.tasks.len(),
            // How many workers are started depends on how fast they pass what was cancelled.
            Step::SetCore(size) => {
                size <= self.setup.core || !self.queued.iter().any(|&task| self.is_cancelled(task))
            }
            _ => true,
        }
    }
}
