//! The pool that is simulated: admission, workers, and the thread that submits.
//!
//! It takes a task as `ThreadPoolExecutor` does: a new worker while there are fewer than core, then the
//! queue, then a worker beyond core, then the rejection policy. A worker beyond core retires when it was
//! idle for the keep-alive. Time is a number that the caller passes in.
//!
//! One thread submits. With `block` it waits for room, with `caller-runs` it runs the task itself;
//! meanwhile what arrives waits behind it, as connections do in front of a busy acceptor.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use clap::ValueEnum;

/// What happens to a task that a saturated pool cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnSaturation {
    /// It is rejected
    Abort,
    /// It is dropped
    Discard,
    /// The task that has waited longest is dropped for it
    DiscardOldest,
    /// The submitter waits for room
    Block,
    /// The submitter runs it
    CallerRuns,
}

/// The settings of a pool that is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolModel {
    /// Workers that are kept.
    pub core: usize,
    /// Workers at most.
    pub max: usize,
    /// The bound of the queue; zero hands over directly, `None` is no bound.
    pub queue: Option<usize>,
    /// What happens when it is saturated.
    pub policy: OnSaturation,
    /// How long a worker beyond core is idle before it retires.
    pub keep_alive: f64,
}

/// A task: when it arrived and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Task {
    pub(super) arrived: f64,
    pub(super) takes: f64,
}

/// What becomes of a task, as the model tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Event {
    Started { task: Task, at: f64 },
    Rejected { at: f64 },
}

/// Who ends a task at a time; the earliest is the greatest, as the heap wants it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct End {
    at: f64,
    by_caller: bool,
}

impl Eq for End {}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for End {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at)
    }
}

/// A pool at a moment of its virtual time.
#[derive(Debug)]
pub(super) struct Pool {
    settings: PoolModel,
    queue: VecDeque<Task>,
    /// Since when each idle worker is idle, the longest first.
    idle: VecDeque<f64>,
    active: usize,
    ends: BinaryHeap<End>,
    /// What has arrived and was not submitted yet, because the submitter is busy.
    behind: VecDeque<Task>,
    submitter_runs: bool,
}

impl Pool {
    pub(super) fn new(settings: PoolModel) -> Self {
        Self {
            settings,
            queue: VecDeque::new(),
            idle: VecDeque::new(),
            active: 0,
            ends: BinaryHeap::new(),
            behind: VecDeque::new(),
            submitter_runs: false,
        }
    }

    /// When the next task ends.
    pub(super) fn next_end(&self) -> Option<f64> {
        self.ends.peek().map(|end| end.at)
    }

    /// Tasks in the queue and behind the submitter.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.behind.len()
    }

    /// Workers that run a task.
    pub(super) const fn active(&self) -> usize {
        self.active
    }

    /// Workers.
    pub(super) fn size(&self) -> usize {
        self.active + self.idle.len()
    }

    /// A task arrives.
    pub(super) fn arrive(&mut self, task: Task, events: &mut Vec<Event>) {
        self.behind.push_back(task);
        self.submit_all(task.arrived, events);
    }

    /// The task that ends next has ended.
    pub(super) fn end_next(&mut self, events: &mut Vec<Event>) {
        let Some(end) = self.ends.pop() else {
            return;
        };
        if end.by_caller {
            self.submitter_runs = false;
        } else {
            self.active -= 1;
            match self.queue.pop_front() {
                Some(task) => self.start(task, end.at, events),
                None => self.idle.push_back(end.at),
            }
        }
        self.submit_all(end.at, events);
    }

    /// Submits what has arrived, until the submitter is held up.
    fn submit_all(&mut self, now: f64, events: &mut Vec<Event>) {
        self.retire(now);
        while !self.submitter_runs
            && let Some(task) = self.behind.pop_front()
        {
            if self.admit(task, now, events) {
                continue;
            }
            match self.settings.policy {
                OnSaturation::Abort | OnSaturation::Discard => {
                    events.push(Event::Rejected { at: now });
                }
                OnSaturation::DiscardOldest => {
                    events.push(Event::Rejected { at: now });
                    if self.queue.pop_front().is_some() {
                        self.queue.push_back(task);
                    }
                }
                OnSaturation::Block => {
                    self.behind.push_front(task);
                    return;
                }
                OnSaturation::CallerRuns => {
                    self.submitter_runs = true;
                    self.run(task, now, true, events);
                }
            }
        }
    }

    /// The three steps of `execute`. Returns whether the pool has taken the task.
    fn admit(&mut self, task: Task, now: f64, events: &mut Vec<Event>) -> bool {
        let has_room = self
            .settings
            .queue
            .is_none_or(|bound| self.queue.len() < bound);
        if self.size() < self.settings.core {
            self.start(task, now, events);
        } else if self.idle.pop_front().is_some() {
            // The queue passes it on to the worker that has waited longest; none waits while tasks are queued.
            self.start(task, now, events);
        } else if has_room {
            self.queue.push_back(task);
        } else if self.size() < self.settings.max {
            self.start(task, now, events);
        } else {
            return false;
        }
        true
    }

    fn start(&mut self, task: Task, now: f64, events: &mut Vec<Event>) {
        self.active += 1;
        self.run(task, now, false, events);
    }

    fn run(&mut self, task: Task, now: f64, by_caller: bool, events: &mut Vec<Event>) {
        events.push(Event::Started { task, at: now });
        self.ends.push(End {
            at: now + task.takes,
            by_caller,
        });
    }

    /// Workers beyond core that were idle for the keep-alive are gone by now.
    fn retire(&mut self, now: f64) {
        while self.size() > self.settings.core
            && self
                .idle
                .front()
                .is_some_and(|since| since + self.settings.keep_alive <= now)
        {
            self.idle.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, OnSaturation, Pool, PoolModel, Task};

    fn pool(core: usize, max: usize, queue: Option<usize>, policy: OnSaturation) -> Pool {
        Pool::new(PoolModel {
            core,
            max,
            queue,
            policy,
            keep_alive: 60.0,
        })
    }

    /// Tasks of one second arrive at once; returns when each started, and how many were rejected.
    fn burst(mut pool: Pool, count: usize) -> (Vec<f64>, usize) {
        let mut events = Vec::new();
        for _ in 0..count {
            let task = Task {
                arrived: 0.0,
                takes: 1.0,
            };
            pool.arrive(task, &mut events);
        }
        while pool.next_end().is_some() {
            pool.end_next(&mut events);
        }
        let starts = events.iter().filter_map(|event| match event {
            Event::Started { at, .. } => Some(*at),
            Event::Rejected { .. } => None,
        });
        let starts: Vec<f64> = starts.collect();
        let rejected = events.len() - starts.len();
        (starts, rejected)
    }

    #[test]
    fn a_task_takes_the_three_steps_of_execute() {
        // One core worker, two in the queue, a second worker, then rejection.
        let (starts, rejected) = burst(pool(1, 2, Some(2), OnSaturation::Abort), 6);
        assert_eq!((starts, rejected), (vec![0.0, 0.0, 1.0, 1.0], 2));
    }

    #[test]
    fn a_pool_with_an_unbounded_queue_never_grows_beyond_core() {
        let (starts, rejected) = burst(pool(1, 8, None, OnSaturation::Abort), 4);
        assert_eq!((starts, rejected), (vec![0.0, 1.0, 2.0, 3.0], 0));
    }

    #[test]
    fn a_blocked_submitter_submits_in_order_when_there_is_room() {
        let (starts, rejected) = burst(pool(1, 1, Some(1), OnSaturation::Block), 4);
        assert_eq!((starts, rejected), (vec![0.0, 1.0, 2.0, 3.0], 0));
    }

    #[test]
    fn a_submitter_that_runs_a_task_holds_up_the_next() {
        // Worker, queue, submitter; the fourth waits behind the submitter, then in the queue.
        let (starts, rejected) = burst(pool(1, 1, Some(1), OnSaturation::CallerRuns), 4);
        assert_eq!((starts, rejected), (vec![0.0, 0.0, 1.0, 2.0], 0));
    }

    #[test]
    fn without_a_queue_a_task_needs_a_worker() {
        let (starts, rejected) = burst(pool(0, 2, Some(0), OnSaturation::Discard), 3);
        assert_eq!((starts, rejected), (vec![0.0, 0.0], 1));
    }

    #[test]
    fn a_worker_beyond_core_retires_when_it_is_idle() {
        let mut pool = pool(1, 2, Some(0), OnSaturation::Abort);
        let mut events = Vec::new();
        let task = |arrived| Task {
            arrived,
            takes: 1.0,
        };
        pool.arrive(task(0.0), &mut events);
        pool.arrive(task(0.0), &mut events);
        pool.end_next(&mut events);
        pool.end_next(&mut events);
        assert_eq!(pool.size(), 2);
        pool.arrive(task(62.0), &mut events);
        assert_eq!((pool.size(), pool.active()), (1, 1));
    }
}
