//! Which threads wait for which tasks, to find circles of waits.
//!
//! A thread that runs tasks for an executor enters what it waits for before it parks, under one lock,
//! and follows it under the same lock: the awaited task leads to the thread that runs it, by the number in
//! the task's state word, and that thread to what it waits for in turn. If this leads back to the thread
//! itself, its wait cannot end. The last of the threads of a circle to enter sees the entries of the
//! others, and which thread runs a task was decided before that thread began to wait. So no circle is
//! missed.
//!
//! A wait for any of several tasks leads to each of them that can end it. It is in a circle if all of these lead back: those
//! among them that threads of the graph run are counted, and there are no others. A task of such a batch that
//! is submitted later would end the wait, as a cancel would; nobody waits for that.
//!
//! No circle is reported that can end by itself: a wait with a time limit leads nowhere, nor does that of a
//! thread that was interrupted, which leaves before it clears its interrupt; and a thread leaves while it
//! runs a task in place.
//!
//! A thread enters before it looks for what it waits for in queues, and is
//! [woken](WaitGraph::wake_unstarted) when a task may have been queued, or a pool may have stalled, since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cell_ref::Ref;
use super::deadlock::{Deadlock, TaskName};
use super::id::TaskId;
use super::runnable::{Runnable, Untyped};
use super::wait_helper::WaitHelper;
use super::wanted::Batch;
use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, global};

global! {
    static WAITS: WaitGraph = WaitGraph {
        waits: Mutex::new(BTreeMap::new()),
        entered: AtomicUsize::new(0),
    };
}

/// Returns the waits of all threads.
pub(super) fn waits() -> &'static WaitGraph {
    &WAITS
}

/// The waits of threads that run tasks for executors.
pub(super) struct WaitGraph {
    waits: Mutex<BTreeMap<u32, Wait>>,
    /// How many there are; written under the lock. Who queues a task and then finds none here need not wake
    /// anybody: a thread that enters later searches the queue later.
    entered: AtomicUsize,
}

/// The wait of one thread.
pub(super) struct Wait {
    pub(super) thread: Arc<ThreadContext>,
    pub(super) awaited: Awaited,
    /// The tasks that the thread runs in place, inside the one that it was given first.
    pub(super) in_place: Vec<TaskName>,
    /// Those of the executors for which the thread runs tasks.
    pub(super) helpers: Vec<Arc<dyn WaitHelper>>,
    pub(super) on_circle: OnCircle,
    /// The tasks that the thread runs, one inside the other.
    pub(super) runs: Vec<Ref<dyn Untyped>>,
    /// A circle that the thread has not been told of.
    pub(super) report: Option<Deadlock>,
}

/// What a wait does if it is in a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnCircle {
    /// It returns an error.
    Fail,
    /// It goes on, and another wait of the circle returns the error: this one must not end before the
    /// task.
    TellAnother,
}

/// What a thread waits for.
pub(super) enum Awaited {
    /// This task, without a time limit.
    Task(Ref<dyn Untyped>),
    /// This task, no longer than a time limit.
    TaskUntil(Ref<dyn Untyped>),
    /// Any task of this batch, without a time limit.
    AnyTask(Batch),
    /// Any task of a batch, no longer than a time limit.
    AnyTaskUntil,
    /// A piece of work that is no task, and that its own executor wakes the thread for.
    Job,
}

impl Wait {
    /// Returns the tasks that this thread runs inside the one with this id.
    fn inside(&self, id: TaskId) -> &[TaskName] {
        let at = self.in_place.iter().position(|task| task.id == id);
        &self.in_place[at.map_or(0, |at| at + 1)..]
    }

    fn is_unstarted(&self) -> bool {
        match &self.awaited {
            Awaited::Task(task) | Awaited::TaskUntil(task) => {
                let state = task.state();
                !state.is_running() && !state.is_done()
            }
            Awaited::AnyTask(_) | Awaited::AnyTaskUntil => true,
            Awaited::Job => false,
        }
    }

    fn wake(&self) {
        match self.awaited {
            Awaited::Task(_) | Awaited::TaskUntil(_) | Awaited::Job => self.thread.unpark(),
            // It waits in a queue of results, where only a nudge ends the wait.
            Awaited::AnyTask(_) | Awaited::AnyTaskUntil => self.thread.nudge(),
        }
    }
}

impl WaitGraph {
    /// Enters the wait of the current thread; if it closes a circle, leaves again and returns that, or
    /// tells another thread of the circle.
    pub(super) fn enter(&self, wait: Wait) -> Result<(), Deadlock> {
        let number = wait.thread.number();
        // A thread without a number runs no task that leads to it.
        if number == 0 {
            return Ok(());
        }
        let mut waits = self.waits.lock();
        let former = waits.insert(number, wait);
        debug_assert!(former.is_none(), "a thread waits once at a time");
        self.entered.store(waits.len(), Ordering::SeqCst);
        self.resolve(waits, number)
    }

    /// Looks again whether the wait of this thread, which has entered, is in a circle; as [`enter`](Self::enter).
    pub(super) fn check(&self, thread: &ThreadContext) -> Result<(), Deadlock> {
        let waits = self.waits.lock();
        if waits.contains_key(&thread.number()) {
            self.resolve(waits, thread.number())
        } else {
            Ok(())
        }
    }

    /// If the wait of this thread is in a circle, removes it and returns that, or tells another thread.
    fn resolve(
        &self,
        mut waits: MutexGuard<'_, BTreeMap<u32, Wait>>,
        number: u32,
    ) -> Result<(), Deadlock> {
        let Some((tasks, threads)) = circle(&waits, number) else {
            return Ok(());
        };
        let deadlock = Deadlock::new(tasks);
        if waits[&number].on_circle == OnCircle::TellAnother {
            let mut others = threads.into_iter();
            let told = others.find(|other| waits[other].on_circle == OnCircle::Fail);
            if let Some(told) = told.and_then(|told| waits.get_mut(&told)) {
                told.report = Some(deadlock);
                told.wake();
            }
            return Ok(());
        }
        let left = waits.remove(&number);
        self.entered.store(waits.len(), Ordering::SeqCst);
        drop(waits);
        // The last reference to a task may be in there.
        drop(left);
        Err(deadlock)
    }

    /// Returns the circle that another thread has found this one in.
    pub(super) fn take_report(&self, thread: &ThreadContext) -> Option<Deadlock> {
        self.waits.lock().get_mut(&thread.number())?.report.take()
    }

    /// Ends the wait of the thread.
    pub(super) fn leave(&self, thread: &ThreadContext) {
        let mut waits = self.waits.lock();
        let left = waits.remove(&thread.number());
        self.entered.store(waits.len(), Ordering::SeqCst);
        drop(waits);
        drop(left);
    }

    /// Wakes all threads that wait for a task that has not started: they look for it again.
    pub(super) fn wake_unstarted(&self) {
        if self.entered.load(Ordering::SeqCst) == 0 {
            return;
        }
        for wait in self.waits.lock().values() {
            if wait.is_unstarted() {
                wait.wake();
            }
        }
    }

    /// Returns one helper of each executor that has a thread which waits.
    pub(super) fn helpers(&self) -> Vec<Arc<dyn WaitHelper>> {
        let mut helpers = BTreeMap::new();
        for wait in self.waits.lock().values() {
            for helper in &wait.helpers {
                helpers
                    .entry(helper.executor())
                    .or_insert_with(|| Arc::clone(helper));
            }
        }
        helpers.into_values().collect()
    }
}

/// The next step from a wait: a task that it waits for, and the thread that runs it, which waits too.
type Step<'a> = (&'a Ref<dyn Untyped>, u32);

/// Returns all steps from the wait of this thread; `None` if it can end by itself.
fn steps(waits: &BTreeMap<u32, Wait>, thread: u32) -> Option<Vec<Step<'_>>> {
    let wait = waits.get(&thread)?;
    if wait.thread.is_interrupted() {
        return None;
    }
    match &wait.awaited {
        Awaited::Task(task) => {
            let state = task.state();
            let is_led = state.is_running() && !state.is_done();
            (is_led && waits.contains_key(&state.runner())).then(|| vec![(task, state.runner())])
        }
        Awaited::AnyTask(batch) => {
            let untaken = batch.untaken().filter(|count| *count > 0)?;
            let runs = |other: &u32, task: &Ref<dyn Untyped>| {
                let state = task.state();
                !state.is_done() && state.is_running() && state.runner() == *other
            };
            let all = waits
                .iter()
                .flat_map(|(other, wait)| wait.runs.iter().map(move |task| (task, *other)));
            let steps: Vec<_> = all
                .filter(|(task, other)| task.header().is_of_batch(batch.id()) && runs(other, task))
                .collect();
            (steps.len() == untaken).then_some(steps)
        }
        Awaited::TaskUntil(_) | Awaited::AnyTaskUntil | Awaited::Job => None,
    }
}

/// Returns the tasks of the circle that the wait of this thread is in, if it is in one: each waits for
/// the next, and the last for the first; and the threads that wait in it.
///
/// Of several circles through a wait for any of several tasks it is one.
fn circle(waits: &BTreeMap<u32, Wait>, number: u32) -> Option<(Vec<TaskName>, Vec<u32>)> {
    let (mut tasks, mut threads) = (Vec::new(), Vec::new());
    let mut thread = number;
    // A chain of waits that leads into a circle of others does not end.
    for _ in 0..waits.len() {
        let steps = steps(waits, thread)?;
        if steps.len() > 1 && !all_lead_back(waits, thread, number) {
            return None;
        }
        let (task, next) = *steps.first()?;
        thread = next;
        let name = task.head().to_name();
        let inside = waits.get(&thread)?.inside(name.id);
        tasks.push(name);
        tasks.extend_from_slice(inside);
        threads.push(thread);
        if thread == number {
            return Some((tasks, threads));
        }
    }
    None
}

/// Returns whether every way from the wait of `thread` leads to `number`.
fn all_lead_back(waits: &BTreeMap<u32, Wait>, thread: u32, number: u32) -> bool {
    let steps: BTreeMap<u32, Vec<u32>> = waits
        .keys()
        .filter_map(|from| {
            let steps = steps(waits, *from)?;
            Some((*from, steps.into_iter().map(|(_, next)| next).collect()))
        })
        .collect();
    // Those from which every way leads there: found backwards, each in the round after those it leads to.
    let mut lead_back = BTreeSet::new();
    let leads_back = |lead_back: &BTreeSet<u32>, from: u32| {
        let next = steps.get(&from);
        next.is_some_and(|next| {
            next.iter()
                .all(|next| *next == number || lead_back.contains(next))
        })
    };
    while !leads_back(&lead_back, thread) {
        let found: Vec<u32> = steps
            .keys()
            .copied()
            .filter(|from| !lead_back.contains(from) && leads_back(&lead_back, *from))
            .collect();
        if found.is_empty() {
            return false;
        }
        lead_back.extend(found);
    }
    true
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use crate::interrupt::{self, InterruptHandle};
    use crate::sync::{Mutex, model, thread};
    use crate::task::{
        ExecutionError, Helped, SharedHandle, Task, WaitHelper, Wanted, with_wait_helper,
    };

    /// The helper of a thread that runs tasks for an executor which does not help.
    struct Nobody;

    impl WaitHelper for Nobody {
        fn help(&self, _wanted: Wanted) -> Helped {
            Helped::Nothing
        }

        fn while_blocked(&self, wait: &mut dyn FnMut()) {
            wait();
        }

        fn executor(&self) -> usize {
            0
        }
    }

    /// How the wait of a task ended.
    type End = Result<(), ExecutionError>;

    /// Creates two tasks with these bodies, which are called with the handle of the other; runs them on
    /// two threads, and returns how their waits ended.
    fn run_two(
        one: impl FnOnce(SharedHandle<End>) -> End + Send + 'static,
        other: impl FnOnce(SharedHandle<End>) -> End + Send + 'static,
    ) -> (End, End) {
        let slots: Arc<[Mutex<Option<SharedHandle<End>>>; 2]> = Arc::default();
        let (of_one, of_other) = (Arc::clone(&slots), Arc::clone(&slots));
        let take = |slots: &[Mutex<Option<SharedHandle<End>>>; 2], at: usize| {
            slots[at].lock().take().expect("set before the tasks run")
        };
        let (one, one_handle) = Task::with_handle(move || one(take(&of_one, 1)));
        let (other, other_handle) = Task::with_handle(move || other(take(&of_other, 0)));
        let handles = (one_handle.share(), other_handle.share());
        *slots[0].lock() = Some(handles.0.clone());
        *slots[1].lock() = Some(handles.1.clone());
        let run = |task: Task| with_wait_helper(Arc::new(Nobody), || task.run());
        let thread = thread::Builder::new().spawn(move || run(one)).unwrap();
        run(other);
        thread.join().unwrap();
        (handles.0.join().unwrap(), handles.1.join().unwrap())
    }

    #[test]
    fn of_two_tasks_that_wait_for_each_other_one_is_told() {
        model(|| {
            let wait = |other: SharedHandle<End>| other.join().map(drop);
            let (one, other) = run_two(wait, wait);
            let is_told = |end: &End| end.as_ref().is_err_and(ExecutionError::is_deadlock);
            assert!(is_told(&one) != is_told(&other));
            assert!(one.is_ok() || other.is_ok());
        });
    }

    #[test]
    fn the_wait_of_an_interrupted_thread_closes_no_circle() {
        model(|| {
            let target: Arc<Mutex<Option<InterruptHandle>>> = Arc::default();
            let theirs = Arc::clone(&target);
            let is_interrupted = move |other: SharedHandle<End>| {
                *theirs.lock() = Some(interrupt::current());
                other.get().map(drop)
            };
            let interrupts = move |other: SharedHandle<End>| {
                // Without a thread to interrupt there is nothing to wait for.
                let Some(target) = target.lock().take() else {
                    return Ok(());
                };
                target.interrupt();
                other.get().map(drop)
            };
            let (one, other) = run_two(is_interrupted, interrupts);
            assert!(one.is_ok() || one == Err(ExecutionError::Interrupted));
            assert_eq!(other, Ok(()));
        });
    }
}
