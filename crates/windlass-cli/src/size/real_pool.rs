//! The model beside a real `ThreadPoolExecutor`, task by task (tests only).
//!
//! The same tasks are given to both. Those of the real pool last until they are told to end, and a driver tells
//! them so at the virtual time at which they would: it makes one thing happen, waits until the pool has done all that
//! follows from it, and goes on to the next. No real time is measured, and every run has the same course.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use windlass::clock::TestClock;
use windlass::pool::{
    AbortPolicy, BlockPolicy, Builder, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy,
    ThreadPoolExecutor,
};
use windlass::prelude::*;
use windlass::queue::{ArrayBlockingQueue, LinkedBlockingQueue, SynchronousQueue};

use super::load::{Arrivals, Load, Service};
use super::model::{Event, OnSaturation, Pool, PoolModel, Task};

/// When tasks were started and rejected, and how many workers there were at most.
#[derive(Debug, Default, PartialEq)]
struct Course {
    /// The start of each task, by its number; those that are not here were rejected.
    starts: BTreeMap<usize, f64>,
    rejections: Vec<f64>,
    largest_size: usize,
}

/// Times are whole microseconds, so that the clock of the real pool has the same.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

fn tasks_of(load: &Load, count: usize, seed: u64) -> Vec<Task> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut now = 0.0;
    let mut next = || {
        now = rounded(now + load.next_gap(&mut random).max(1e-6));
        Task {
            arrived: now,
            takes: rounded(load.next_time(&mut random).max(1e-6)),
        }
    };
    (0..count).map(|_| next()).collect()
}

/// What the model makes of the tasks.
fn modelled(settings: &PoolModel, tasks: &[Task]) -> Course {
    let number: HashMap<u64, usize> = tasks
        .iter()
        .enumerate()
        .map(|(number, task)| (task.arrived.to_bits(), number))
        .collect();
    let (mut pool, mut course) = (Pool::new(*settings), Course::default());
    let mut note = |pool: &Pool, events: &mut Vec<Event>| {
        course.largest_size = course.largest_size.max(pool.size());
        for event in events.drain(..) {
            match event {
                Event::Started { task, at } => {
                    course.starts.insert(number[&task.arrived.to_bits()], at);
                }
                Event::Rejected { at } => course.rejections.push(at),
            }
        }
    };
    let mut events = Vec::new();
    for task in tasks {
        while pool.next_end().is_some_and(|at| at <= task.arrived) {
            pool.end_next(&mut events);
            note(&pool, &mut events);
        }
        pool.arrive(*task, &mut events);
        note(&pool, &mut events);
    }
    while pool.next_end().is_some() {
        pool.end_next(&mut events);
        note(&pool, &mut events);
    }
    course
}

/// What the tasks and the submitter of the real pool tell the driver, and the driver them.
#[derive(Default)]
struct Told {
    started: Vec<(usize, ThreadId)>,
    dropped: usize,
    /// Submissions that have returned.
    returned: usize,
    may_end: HashSet<usize>,
}

#[derive(Default)]
struct Shared {
    told: Mutex<Told>,
    changed: Condvar,
}

impl Shared {
    fn tell(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told());
        self.changed.notify_all();
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap()
    }
}

/// A task of the real pool; it tells if it is dropped before it ran.
struct Ticket {
    number: usize,
    shared: Arc<Shared>,
    ran: bool,
}

impl Ticket {
    fn run(mut self) {
        self.ran = true;
        let thread = std::thread::current().id();
        self.shared
            .tell(|told| told.started.push((self.number, thread)));
        let told = self.shared.told();
        let waits = |told: &mut Told| !told.may_end.contains(&self.number);
        drop(self.shared.changed.wait_while(told, waits).unwrap());
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ran {
            self.shared.tell(|told| told.dropped += 1);
        }
    }
}

/// A worker that waits for a task.
#[derive(Debug, Clone, Copy)]
struct Idle {
    since: f64,
    /// Whether it ends if none comes: it began to wait when there were more workers than core.
    is_surplus: bool,
}

/// A task that runs, and where.
#[derive(Debug, Clone, Copy)]
struct Run {
    ends: f64,
    number: usize,
    thread: ThreadId,
}

struct Driver<'a> {
    settings: PoolModel,
    pool: &'a ThreadPoolExecutor,
    clock: &'a TestClock,
    shared: Arc<Shared>,
    submitter: (Sender<usize>, ThreadId),
    tasks: &'a [Task],
    now: f64,
    /// Tasks that have arrived and were not given to the submitter yet: it gets one after the other, since a burst finds
    /// workers that have not taken their tasks yet, and what becomes of it depends on the machine.
    behind: VecDeque<usize>,
    submitted: usize,
    seen_starts: usize,
    seen_drops: usize,
    ended_by_workers: u64,
    running: Vec<Run>,
    idle: HashMap<ThreadId, Idle>,
    course: Course,
}

impl Driver<'_> {
    fn drive(mut self) -> Course {
        let mut arrivals: VecDeque<(usize, Task)> =
            self.tasks.iter().copied().enumerate().collect();
        loop {
            let end = self
                .running
                .iter()
                .copied()
                .min_by(|a, b| a.ends.total_cmp(&b.ends));
            let arrival = arrivals.front().map(|(_, task)| task.arrived);
            match (end, arrival) {
                (Some(run), _) if arrival.is_none_or(|at| run.ends <= at) => {
                    self.pass_to(run.ends);
                    self.end(run);
                }
                (_, Some(at)) => {
                    self.pass_to(at);
                    self.behind
                        .extend(arrivals.pop_front().map(|(number, _)| number));
                }
                (_, None) => return self.course,
            }
            self.settle();
            while self.shared.told().returned == self.submitted
                && let Some(number) = self.behind.pop_front()
            {
                self.submitter.0.send(number).unwrap();
                self.submitted += 1;
                self.settle();
            }
        }
    }

    /// Advances the clock. Workers that have waited too long end one after the other, at their times.
    fn pass_to(&mut self, until: f64) {
        let keep_alive = self.settings.keep_alive;
        loop {
            let next = self.idle.iter().filter(|(_, idle)| idle.is_surplus);
            let next = next.min_by(|a, b| a.1.since.total_cmp(&b.1.since));
            let Some((&thread, idle)) = next.filter(|(_, idle)| idle.since + keep_alive <= until)
            else {
                break;
            };
            self.advance_to(idle.since + keep_alive);
            if self.size() > self.settings.core {
                self.idle.remove(&thread);
            } else if let Some(idle) = self.idle.get_mut(&thread) {
                idle.is_surplus = false;
            }
            self.settle();
        }
        self.advance_to(until);
    }

    fn advance_to(&mut self, at: f64) {
        let elapsed = Duration::from_micros((at * 1e6).round() as u64);
        self.clock
            .advance(elapsed.saturating_sub(self.clock.elapsed()));
        self.now = at;
    }

    fn end(&mut self, run: Run) {
        self.running.retain(|other| other.number != run.number);
        if run.thread != self.submitter.1 {
            self.ended_by_workers += 1;
            let is_surplus = self.size() + 1 > self.settings.core;
            let since = self.now;
            self.idle.insert(run.thread, Idle { since, is_surplus });
        }
        self.shared.tell(|told| {
            told.may_end.insert(run.number);
        });
    }

    /// Workers, as far as is known.
    fn size(&self) -> usize {
        self.busy() + self.idle.len()
    }

    fn busy(&self) -> usize {
        let by_submitter = usize::from(self.submitter_runs());
        self.running.len() - by_submitter
    }

    fn submitter_runs(&self) -> bool {
        self.running
            .iter()
            .any(|run| run.thread == self.submitter.1)
    }

    /// Waits until the pool has done all that follows from what has happened.
    fn settle(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.is_settled() {
            assert!(
                Instant::now() < deadline,
                "the pool does not come to rest: {:?}, idle {:?}, running {:?} at {}",
                self.pool,
                self.idle,
                self.running,
                self.now
            );
            std::thread::yield_now();
        }
        self.course.largest_size = self.course.largest_size.max(self.size());
    }

    fn is_settled(&mut self) -> bool {
        self.take_note();
        let queued = self.pool.queue().len();
        let stats = self.pool.stats();
        let asleep = self.idle.values().filter(|idle| idle.is_surplus).count();
        let returned = self.shared.told().returned;
        // Each task is where the driver thinks it is, each worker does what the driver thinks it does ...
        let is_known = stats.completed_task_count == self.ended_by_workers
            && stats.pool_size == self.size()
            && self.clock.sleepers() == asleep
            && returned + usize::from(self.submitter_runs())
                == self.seen_starts + self.seen_drops + queued;
        // ... no worker waits while a task does, and the submitter waits only for what it has to wait for.
        let is_full = self.settings.policy == OnSaturation::Block
            && self.settings.queue.is_some_and(|bound| queued >= bound)
            && self.busy() == self.settings.max;
        is_known
            && (queued == 0 || self.idle.is_empty())
            && (returned == self.submitted || self.submitter_runs() || is_full)
    }

    fn take_note(&mut self) {
        let shared = Arc::clone(&self.shared);
        let told = shared.told();
        for &(number, thread) in &told.started[self.seen_starts..] {
            self.idle.remove(&thread);
            self.course.starts.insert(number, self.now);
            self.running.push(Run {
                ends: self.now + self.tasks[number].takes,
                number,
                thread,
            });
        }
        self.seen_starts = told.started.len();
        for _ in self.seen_drops..told.dropped {
            self.course.rejections.push(self.now);
        }
        self.seen_drops = told.dropped;
    }
}

fn builder(settings: &PoolModel) -> Builder {
    let builder = ThreadPoolExecutor::builder()
        .core_pool_size(settings.core)
        .maximum_pool_size(settings.max)
        .keep_alive(Duration::from_secs_f64(settings.keep_alive));
    let builder = match settings.queue {
        None => builder.work_queue(LinkedBlockingQueue::new()),
        Some(0) => builder.work_queue(SynchronousQueue::new()),
        Some(bound) => builder.work_queue(ArrayBlockingQueue::new(bound).unwrap()),
    };
    match settings.policy {
        OnSaturation::Abort => builder.rejection_handler(AbortPolicy),
        OnSaturation::Discard => builder.rejection_handler(DiscardPolicy),
        OnSaturation::DiscardOldest => builder.rejection_handler(DiscardOldestPolicy),
        OnSaturation::Block => builder.rejection_handler(BlockPolicy::new()),
        OnSaturation::CallerRuns => builder.rejection_handler(CallerRunsPolicy),
    }
}

/// The one thread that submits.
fn submit_all(pool: &ThreadPoolExecutor, shared: &Arc<Shared>, numbers: &Receiver<usize>) {
    for number in numbers {
        let ticket = Ticket {
            number,
            shared: Arc::clone(shared),
            ran: false,
        };
        // A task that comes back is dropped, and so counted.
        drop(pool.execute(move || ticket.run()));
        shared.tell(|told| told.returned += 1);
    }
}

/// What the real pool makes of the tasks.
fn real(settings: &PoolModel, tasks: &[Task]) -> Course {
    let clock = TestClock::new();
    let pool = clock.enter(|| builder(settings).build().unwrap());
    let shared = Arc::new(Shared::default());
    let (sender, numbers) = channel();
    let course = std::thread::scope(|scope| {
        let (pool, shared) = (&pool, &shared);
        let submitter = scope.spawn(move || submit_all(pool, shared, &numbers));
        let driver = Driver {
            settings: *settings,
            pool,
            clock: &clock,
            shared: Arc::clone(shared),
            submitter: (sender, submitter.thread().id()),
            tasks,
            now: 0.0,
            behind: VecDeque::new(),
            submitted: 0,
            seen_starts: 0,
            seen_drops: 0,
            ended_by_workers: 0,
            running: Vec::new(),
            idle: HashMap::new(),
            course: Course::default(),
        };
        driver.drive()
    });
    pool.close();
    course
}

/// Gives the same tasks to both, at loads from light to too much.
#[track_caller]
fn compare(settings: PoolModel) {
    for (share, seed) in [(0.4, 1), (0.9, 2), (2.5, 3)] {
        let load = Load {
            per_second: share * 100.0 * settings.max as f64,
            arrivals: Arrivals::Poisson,
            mean_seconds: 0.01,
            service: Service::Exponential,
            variation: 1.0,
        };
        let tasks = tasks_of(&load, 300, seed);
        let (expected, found) = (modelled(&settings, &tasks), real(&settings, &tasks));
        assert_eq!(
            found.starts.len() + found.rejections.len(),
            tasks.len(),
            "{settings:?}"
        );
        let different = |number: &usize| found.starts.get(number) != expected.starts.get(number);
        if let Some(number) = (0..tasks.len()).find(different) {
            panic!(
                "task {number} of {settings:?} at {share}: {:?} starts at {:?}, in the model at {:?}",
                tasks[number],
                found.starts.get(&number),
                expected.starts.get(&number)
            );
        }
        assert_eq!(found, expected, "{settings:?} at {share}");
    }
}

const POLICIES: [OnSaturation; 5] = [
    OnSaturation::Abort,
    OnSaturation::Discard,
    OnSaturation::DiscardOldest,
    OnSaturation::Block,
    OnSaturation::CallerRuns,
];

#[test]
fn a_fixed_pool_with_a_bound_does_what_the_model_says() {
    for policy in POLICIES {
        compare(PoolModel {
            core: 3,
            max: 3,
            queue: Some(4),
            policy,
            keep_alive: 60.0,
        });
    }
}

#[test]
fn a_pool_that_grows_and_shrinks_does_what_the_model_says() {
    for policy in POLICIES {
        compare(PoolModel {
            core: 1,
            max: 4,
            queue: Some(2),
            policy,
            keep_alive: 0.015,
        });
    }
}

#[test]
fn a_pool_without_a_bound_does_what_the_model_says() {
    compare(PoolModel {
        core: 2,
        max: 2,
        queue: None,
        policy: OnSaturation::Abort,
        keep_alive: 60.0,
    });
}

#[test]
fn a_pool_that_hands_over_does_what_the_model_says() {
    for policy in [OnSaturation::Abort, OnSaturation::CallerRuns] {
        compare(PoolModel {
            core: 0,
            max: 3,
            queue: Some(0),
            policy,
            keep_alive: 0.02,
        });
    }
}
