//! Submissions that await room in the pool, in order of arrival.
//!
//! Each keeps its task here. Whoever makes room (a thread that has taken a task, a task that has expired, a
//! larger bound, a worker that has ended) *serves* them: it moves the tasks of the first ones into the pool,
//! until one is not admitted; if the queue has bounds for some tasks only, it tries those behind that one
//! too. A submission whose task has ended meanwhile, cancelled or expired, leaves the line. So nobody is
//! woken in vain, a place that becomes free is filled at once, and a submission that is given up has no
//! wake-up to pass on.
//!
//! One thread serves at a time, so that tasks enter in order. It holds no lock meanwhile: the queue of a
//! pool may run code of users. A thread that finds another one serving asks it for another round.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use crate::executor::RejectedExecution;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::task::Task;
use crate::unwind::{discard, ignore_panic};

/// The pool, as far as it moves waiting tasks into itself.
pub(crate) trait ServeRoom: Send + Sync {
    /// Admits the tasks of the first submissions, until one is not admitted.
    fn serve_room(self: Arc<Self>);
}

/// The submissions that await room.
#[derive(Default)]
pub(crate) struct Room {
    /// Whether there are any. Written under the lock, and read without it for each task that a worker
    /// takes. A submission enlists and then tries under the locks of the queue under which places become
    /// free: so it finds the place, or the worker that made it reads true.
    is_awaited: AtomicBool,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    /// By number, from one on, in the order of arrival.
    waiters: VecDeque<(u64, Arc<Waiter>)>,
    last_number: u64,
    /// Whether a thread serves.
    is_served: bool,
    /// Whether it is asked for another round.
    again: bool,
}

/// One submission that awaits room.
pub(crate) struct Waiter {
    pool: Arc<dyn ServeRoom>,
    place: Mutex<Place>,
}

/// Where the task of a submission is.
enum Place {
    Waiting(Task, Waker),
    /// A thread tries to admit it.
    Tried(Waker),
    /// It is in the pool, or has ended.
    Admitted,
    Rejected(RejectedExecution),
    /// The submission has seen its end, or was given up.
    Gone,
}

/// The state of a submission, for its future.
#[must_use]
pub(crate) enum Progress {
    Waits,
    Admitted,
    Rejected(RejectedExecution),
}

impl Waiter {
    pub(crate) fn new(pool: Arc<dyn ServeRoom>, task: Task, waker: Waker) -> Arc<Self> {
        Arc::new(Self {
            pool,
            place: Mutex::new(Place::Waiting(task, waker)),
        })
    }

    /// Returns the state; while it waits, `waker` is the one that is woken.
    pub(crate) fn poll(&self, waker: &Waker) -> Progress {
        let new = waker.clone();
        let mut place = self.place.lock();
        match &mut *place {
            Place::Waiting(_, old) | Place::Tried(old) => {
                let old = std::mem::replace(old, new);
                drop(place);
                discard(old);
                Progress::Waits
            }
            Place::Admitted | Place::Rejected(_) | Place::Gone => {
                let ended = std::mem::replace(&mut *place, Place::Gone);
                drop(place);
                match ended {
                    Place::Rejected(rejected) => Progress::Rejected(rejected),
                    _ => Progress::Admitted,
                }
            }
        }
    }

    /// Takes the task, to try to admit it.
    pub(crate) fn begin_trial(&self) -> Option<Task> {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::Gone) {
            Place::Waiting(task, waker) => {
                *place = Place::Tried(waker);
                Some(task)
            }
            other => {
                *place = other;
                None
            }
        }
    }

    /// Puts a task back that was not admitted; drops it if it has ended meanwhile, or the submission was given
    /// up. Returns whether the submission still waits.
    pub(crate) fn put_back(&self, task: Task) -> bool {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::Gone) {
            // Read under the lock: either this or `task_ended`, which comes after the end, sees both.
            Place::Tried(waker) if task.is_cancelled() => {
                *place = Place::Admitted;
                drop(place);
                drop(task);
                ignore_panic(|| waker.wake());
                false
            }
            Place::Tried(waker) => {
                *place = Place::Waiting(task, waker);
                true
            }
            other => {
                *place = other;
                drop(place);
                drop(task);
                false
            }
        }
    }

    /// Ends the wait after the task was cancelled or has expired. Returns false if the submission does not
    /// wait, or a thread tries to admit the task, which then notices.
    pub(crate) fn task_ended(&self) -> bool {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::Gone) {
            Place::Waiting(task, waker) => {
                *place = Place::Admitted;
                drop(place);
                drop(task);
                ignore_panic(|| waker.wake());
                true
            }
            other => {
                *place = other;
                false
            }
        }
    }

    /// Records that the task was admitted, or that it never will be, and wakes the submission.
    pub(crate) fn end(&self, rejected: Option<RejectedExecution>) {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, Place::Gone) {
            Place::Tried(waker) => {
                *place = rejected.map_or(Place::Admitted, Place::Rejected);
                drop(place);
                ignore_panic(|| waker.wake());
            }
            other => {
                *place = other;
                drop(place);
                drop(rejected);
            }
        }
    }

    fn give_up(&self) {
        let place = std::mem::replace(&mut *self.place.lock(), Place::Gone);
        discard(place);
    }
}

impl Room {
    /// Returns whether any submission awaits room.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.is_awaited.load(Ordering::Relaxed)
    }

    /// Adds a submission at the end.
    pub(crate) fn enlist(&self, waiter: &Arc<Waiter>) {
        let mut line = self.line.lock();
        line.last_number += 1;
        let number = line.last_number;
        line.waiters.push_back((number, Arc::clone(waiter)));
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// Lets the pool serve, after it has made room.
    #[cold]
    pub(crate) fn serve(&self) {
        let first = self.first();
        if let Some(first) = first {
            Arc::clone(&first.pool).serve_room();
        }
    }

    pub(crate) fn first(&self) -> Option<Arc<Waiter>> {
        self.next_after(0).map(|(_, first)| first)
    }

    /// Returns the first submission whose number is greater, with its number.
    pub(crate) fn next_after(&self, number: u64) -> Option<(u64, Arc<Waiter>)> {
        let line = self.line.lock();
        let at = line.waiters.partition_point(|(other, _)| *other <= number);
        line.waiters.get(at).cloned()
    }

    /// Begins to serve; returns false if another thread does, which then goes through the line again.
    #[must_use]
    pub(crate) fn begin_serving(&self) -> bool {
        let mut line = self.line.lock();
        line.again = line.is_served;
        !std::mem::replace(&mut line.is_served, true)
    }

    /// Ends to serve; returns false, and serving goes on, if another round was asked for.
    #[must_use]
    pub(crate) fn end_serving(&self) -> bool {
        let mut line = self.line.lock();
        line.is_served = std::mem::take(&mut line.again);
        !line.is_served
    }

    /// Takes the first task, for a worker that has nothing else to do. Returns `None` while another thread
    /// serves.
    #[cold]
    pub(crate) fn take_first(&self) -> Option<Task> {
        if !self.begin_serving() {
            return None;
        }
        let mut taken = None;
        while let Some(first) = self.first() {
            self.remove(&first);
            taken = first.begin_trial();
            if taken.is_some() {
                first.end(None);
                break;
            }
        }
        let mut asked = false;
        while !self.end_serving() {
            asked = true;
        }
        if asked {
            self.serve();
        }
        taken
    }

    /// Removes a submission; returns whether it was the first.
    pub(crate) fn remove(&self, waiter: &Arc<Waiter>) -> bool {
        let mut line = self.line.lock();
        let mut waiters = line.waiters.iter();
        let at = waiters.position(|(_, other)| Arc::ptr_eq(other, waiter));
        let removed = at.and_then(|at| line.waiters.remove(at));
        self.is_awaited
            .store(!line.waiters.is_empty(), Ordering::Relaxed);
        drop(line);
        drop(removed);
        at == Some(0)
    }

    /// Removes a submission whose future is dropped, and drops its task, if no thread has admitted it.
    pub(crate) fn give_up(&self, waiter: &Arc<Waiter>) {
        let was_first = self.remove(waiter);
        waiter.give_up();
        self.go_on(was_first);
    }

    /// Removes a submission whose task has ended.
    pub(crate) fn leave(&self, waiter: &Arc<Waiter>) {
        let was_first = self.remove(waiter);
        self.go_on(was_first);
    }

    /// Serves those behind a submission that has left the line.
    fn go_on(&self, was_first: bool) {
        if was_first && self.is_awaited() {
            // The queue may have refused this one task only.
            self.serve();
        }
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room")
            .field("is_awaited", &self.is_awaited())
            .finish_non_exhaustive()
    }
}
