//! The queue discipline of a scheduled pool: tasks in the order in which they are due.
//!
//! A task without a timer is due when it is queued. Such tasks come in the order of their due times, so
//! they wait in a list of their own.

use std::collections::VecDeque;
use std::fmt;
use std::ptr;
use std::time::Instant;

use super::entry::Entry;
use super::timer_set::TimerSet;
use crate::queue::{Discipline, Shrink};
use crate::sync::clock::Clock;
use crate::task::{Task, TimedTask, TimerView, instant, nanos};

/// The queue discipline of a scheduled pool.
pub(super) struct TimerQueue {
    timers: TimerSet<TimedTask>,
    /// The tasks without a timer, in the order in which they came.
    immediate: VecDeque<Immediate>,
    /// When the first of all is due, in the nanoseconds of [`nanos`] and as a time.
    first_due: Option<(u64, Instant)>,
    /// The clock of the pool, for tasks without a timer.
    clock: Clock,
}

/// A task without a timer.
struct Immediate {
    due: u64,
    sequence: u64,
    task: Task,
}

impl Immediate {
    const fn key(&self) -> (u64, u64) {
        (self.due, self.sequence)
    }
}

impl TimerQueue {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            timers: TimerSet::default(),
            immediate: VecDeque::new(),
            first_due: None,
            clock,
        }
    }

    /// Inserts the timer that is there.
    #[inline]
    pub(super) fn push_timer(&mut self, timer: &mut Option<TimedTask>) {
        let Some(timer) = timer.take() else { return };
        let due = self.timers.push(timer);
        self.note_due(due);
    }

    /// Inserts the timer that is there, which is due then and was never queued.
    #[inline]
    pub(super) fn push_new(&mut self, due: u64, timer: &mut Option<TimedTask>) {
        let Some(timer) = timer.take() else { return };
        self.timers.push_new(due, timer);
        self.note_due(due);
    }

    /// Updates the time of the first after an insertion.
    #[inline]
    fn note_due(&mut self, due: u64) {
        if self.first_due.is_none_or(|(first, _)| due < first) {
            self.first_due = Some((due, instant(due)));
        }
    }

    /// Removes the task with this timer, if it is queued.
    #[inline]
    pub(super) fn remove_timer(&mut self, timer: TimerView<'_>) -> Option<TimedTask> {
        let place = timer.place();
        let is_it = |queued: &TimedTask| ptr::eq(queued.place(), place);
        let removed = self.timers.remove(place.due(), place.position(), is_it)?;
        self.update_first_due();
        Some(removed)
    }

    /// Removes the first task, in the order of [`for_each`](Self::for_each), for which `wanted` returns
    /// true.
    pub(super) fn remove_first(&mut self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
        let mut immediate = self.immediate.iter();
        if let Some(at) = immediate.position(|queued| wanted(&queued.task)) {
            let removed = self.immediate.remove(at);
            self.update_first_due();
            return removed.map(|queued| queued.task);
        }
        let found = self
            .timers
            .iter()
            .find(|timer| timer.with_task(&mut *wanted))?;
        let (due, position) = (found.due(), found.place().position());
        let removed = self.timers.remove(due, position, |_| true);
        self.update_first_due();
        removed.map(TimedTask::into_task)
    }

    /// Calls `f` with every task, in no particular order.
    pub(super) fn for_each(&self, f: &mut dyn FnMut(&Task)) {
        self.immediate.iter().for_each(|queued| f(&queued.task));
        self.timers
            .iter()
            .for_each(|timer| timer.with_task(&mut *f));
    }

    /// Calls `f` with due time, sequence number and task of each element, in no particular order.
    pub(super) fn for_each_entry(&self, mut f: impl FnMut(Instant, u64, &Task)) {
        for queued in &self.immediate {
            f(instant(queued.due), queued.sequence, &queued.task);
        }
        for timer in self.timers.iter() {
            let (due, sequence) = (instant(timer.due()), timer.sequence());
            timer.with_task(|task| f(due, sequence, task));
        }
    }

    /// Calls `f` with the task that is due first.
    pub(super) fn peek(&self, f: &mut dyn FnMut(&Task)) {
        match (self.immediate.front(), self.timers.peek()) {
            (Some(queued), _) if self.immediate_is_first() => f(&queued.task),
            (_, Some(timer)) => timer.with_task(f),
            _ => {}
        }
    }

    /// Returns whether a task without a timer is due first.
    fn immediate_is_first(&self) -> bool {
        let immediate = self.immediate.front().map(Immediate::key);
        immediate.is_some_and(|key| self.timers.first().is_none_or(|timer| key < timer))
    }

    #[inline]
    fn update_first_due(&mut self) {
        let first = if self.immediate_is_first() {
            self.immediate.front().map(|queued| queued.due)
        } else {
            self.timers.first().map(|(due, _)| due)
        };
        if first != self.first_due.map(|(due, _)| due) {
            self.first_due = first.map(|due| (due, instant(due)));
        }
    }
}

impl Discipline for TimerQueue {
    type Item = Task;

    /// Inserts a task; one without a timer is due now.
    #[inline]
    fn push(&mut self, task: Task) {
        match TimedTask::new(task) {
            Ok(timer) => return self.push_timer(&mut Some(timer)),
            Err(task) => {
                // A clock that is set back would break the order.
                let last = self.immediate.back().map_or(0, |last| last.due);
                self.immediate.push_back(Immediate {
                    due: nanos(self.clock.now()).max(last),
                    sequence: self.timers.next_sequence(),
                    task,
                });
            }
        }
        self.update_first_due();
    }

    fn pop(&mut self) -> Option<Task> {
        let next = if self.immediate_is_first() {
            let queued = self.immediate.pop_front();
            self.immediate.shrink_if_mostly_empty(0);
            queued.map(|queued| queued.task)
        } else {
            self.timers.pop().map(TimedTask::into_task)
        };
        self.update_first_due();
        next
    }

    fn len(&self) -> usize {
        self.immediate.len() + self.timers.len()
    }

    fn peek(&self) -> Option<&Task> {
        unreachable!("a timer is shown as a task, and is none in memory: see `Timers`")
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &Task> + '_> {
        unreachable!("a timer is shown as a task, and is none in memory: see `Timers`")
    }

    fn remove(&mut self, _at: usize) -> Task {
        unreachable!("nobody has an index without the iterator")
    }

    /// Keeps the tasks whose verdict is true, in the order of [`for_each`](Self::for_each).
    fn retain(&mut self, verdicts: &[bool]) -> Vec<Task> {
        let (immediate, timers) = verdicts.split_at(self.immediate.len());
        let (mut kept, mut removed) = (VecDeque::new(), Vec::new());
        for (queued, keep) in self.immediate.drain(..).zip(immediate) {
            if *keep {
                kept.push_back(queued);
            } else {
                removed.push(queued.task);
            }
        }
        self.immediate = kept;
        let timers = self.timers.retain(timers);
        removed.extend(timers.into_iter().map(TimedTask::into_task));
        self.update_first_due();
        removed
    }

    /// Returns all in the order in which they are due.
    fn take_all(&mut self) -> Vec<Task> {
        let immediate = std::mem::take(&mut self.immediate).into_iter();
        let mut immediate = immediate.peekable();
        let timers = self.timers.take_all();
        self.first_due = None;
        let mut tasks = Vec::with_capacity(immediate.len() + timers.len());
        for timer in timers {
            let key = (timer.due(), timer.sequence());
            while let Some(queued) = immediate.next_if(|queued| queued.key() < key) {
                tasks.push(queued.task);
            }
            tasks.push(timer.into_task());
        }
        tasks.extend(immediate.map(|queued| queued.task));
        tasks
    }

    fn ready_at(&self) -> Option<Instant> {
        self.first_due.map(|(_, at)| at)
    }

    fn ready_next_at(&self) -> Option<Instant> {
        let mut immediate = self.immediate.iter().map(Immediate::key);
        let mut first: Vec<_> = [immediate.next(), immediate.next()]
            .into_iter()
            .chain([self.timers.first(), self.timers.second()])
            .flatten()
            .collect();
        first.sort_unstable();
        first.get(1).map(|(due, _)| instant(*due))
    }
}

impl fmt::Debug for TimerQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerQueue")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::TimerQueue;
    use crate::queue::Discipline;
    use crate::sync::clock::{self, Clock, TestClock};
    use crate::task::{Task, TaskBuilder, TaskHandle, Timer, TimerService, TimerView, nanos};

    struct NoService;
    impl TimerService for NoService {
        fn now(&self) -> Instant {
            clock::now()
        }

        fn task_cancelled(&self, _timer: TimerView<'_>) {}
    }

    fn due_at(queue: &mut TimerQueue, due: Instant, name: u64) -> TaskHandle<()> {
        let timer = Timer::one_shot(nanos(due), Arc::new(NoService));
        let builder = TaskBuilder::new().name(format!("{name}"));
        let (timer, handle) = builder.build_scheduled(|| timer, || Ok(()));
        queue.push(timer.into_task());
        handle
    }

    fn immediate(queue: &mut TimerQueue, name: u64) {
        queue.push(TaskBuilder::new().name(format!("{name}")).build(|| ()));
    }

    fn number(task: &Task) -> u64 {
        let number = task.name().and_then(|name| name.parse().ok());
        number.expect("a number")
    }

    fn names(queue: &mut TimerQueue) -> Vec<u64> {
        std::iter::from_fn(|| queue.pop())
            .map(|task| number(&task))
            .collect()
    }

    fn shown(queue: &TimerQueue) -> Vec<u64> {
        let mut shown = Vec::new();
        queue.for_each(&mut |task| shown.push(number(task)));
        shown
    }

    /// A queue of tasks that are due at these seconds of its clock, and their handles.
    fn due_at_seconds(clock: &TestClock, seconds: &[u64]) -> (TimerQueue, Vec<TaskHandle<()>>) {
        let start = clock.now();
        let mut queue = TimerQueue::new(Clock::Test(clock.clone()));
        let handles = seconds
            .iter()
            .map(|&name| due_at(&mut queue, start + Duration::from_secs(name), name))
            .collect();
        (queue, handles)
    }

    #[test]
    fn the_times_of_the_first_two_are_known() {
        let clock = TestClock::new();
        let start = clock.now();
        let second = |number| Some(start + Duration::from_secs(number));
        let (mut queue, _handles) = due_at_seconds(&clock, &[30, 10, 40, 20]);
        let mut seen = Vec::new();
        while queue.len() > 0 {
            let mut first = 0;
            queue.peek(&mut |task| first = number(task));
            seen.push((first, queue.ready_at(), queue.ready_next_at()));
            assert_eq!(queue.pop().as_ref().map(number), Some(first));
        }
        let expected = [
            (10, second(10), second(20)),
            (20, second(20), second(30)),
            (30, second(30), second(40)),
            (40, second(40), None),
        ];
        assert_eq!(seen, expected);
        assert_eq!((queue.ready_at(), queue.ready_next_at()), (None, None));
    }

    #[test]
    fn a_task_without_a_timer_is_due_when_it_comes() {
        let clock = TestClock::new();
        let (mut queue, _handles) = due_at_seconds(&clock, &[10, 0]);
        immediate(&mut queue, 1);
        assert_eq!(queue.ready_next_at(), Some(clock.now()));
        clock.advance(Duration::from_secs(20));
        immediate(&mut queue, 2);
        immediate(&mut queue, 3);
        assert_eq!(shown(&queue).len(), 5);
        assert_eq!(names(&mut queue), [0, 1, 10, 2, 3]);
    }

    #[test]
    fn a_handle_finds_its_task_while_it_is_queued() {
        let clock = TestClock::new();
        let (mut queue, handles) = due_at_seconds(&clock, &[10, 30, 20]);
        let remove = |queue: &mut TimerQueue, at: usize| {
            let timer = handles[at].timer().expect("it has one");
            queue
                .remove_timer(timer)
                .map(|timer| number(&timer.into_task()))
        };
        assert_eq!(remove(&mut queue, 0), Some(10));
        assert_eq!(remove(&mut queue, 0), None);
        assert_eq!(
            queue.ready_at(),
            Some(clock.now() + Duration::from_secs(20))
        );
        assert_eq!(queue.pop().as_ref().map(number), Some(20));
        assert_eq!(remove(&mut queue, 2), None);
        assert_eq!(names(&mut queue), [30]);
    }

    #[test]
    fn the_first_that_is_wanted_is_removed_with_a_timer_or_without() {
        let clock = TestClock::new();
        let (mut queue, _handles) = due_at_seconds(&clock, &[10, 30, 20]);
        immediate(&mut queue, 1);
        immediate(&mut queue, 2);
        let remove = |queue: &mut TimerQueue, name| {
            let removed = queue.remove_first(&mut |task| number(task) == name);
            removed.as_ref().map(number)
        };
        assert_eq!(remove(&mut queue, 1), Some(1));
        assert_eq!(remove(&mut queue, 30), Some(30));
        assert_eq!(remove(&mut queue, 30), None);
        assert_eq!(names(&mut queue), [2, 10, 20]);
    }

    #[test]
    fn what_is_kept_stays_in_order() {
        let clock = TestClock::new();
        let (mut queue, _handles) = due_at_seconds(&clock, &[50, 10, 40, 20]);
        immediate(&mut queue, 1);
        immediate(&mut queue, 2);
        let verdicts: Vec<bool> = shown(&queue)
            .iter()
            .map(|name| ![1, 10, 40].contains(name))
            .collect();
        let mut removed: Vec<u64> = queue.retain(&verdicts).iter().map(number).collect();
        removed.sort_unstable();
        assert_eq!(removed, [1, 10, 40]);
        assert_eq!(queue.ready_at(), Some(clock.now()));
        assert_eq!(names(&mut queue), [2, 20, 50]);
    }

    #[test]
    fn all_are_taken_in_the_order_of_time() {
        let clock = TestClock::new();
        let (mut queue, _handles) = due_at_seconds(&clock, &[10, 30, 20, 0]);
        immediate(&mut queue, 1);
        clock.advance(Duration::from_secs(25));
        immediate(&mut queue, 2);
        let taken: Vec<u64> = queue.take_all().iter().map(number).collect();
        assert_eq!(taken, [0, 1, 10, 20, 2, 30]);
        assert_eq!((queue.len(), queue.ready_at()), (0, None));
        immediate(&mut queue, 3);
        assert_eq!(names(&mut queue), [3]);
    }

    #[test]
    fn entries_have_due_time_and_order_of_arrival() {
        let clock = TestClock::new();
        let start = clock.now();
        let (mut queue, _handles) = due_at_seconds(&clock, &[20, 10, 20]);
        immediate(&mut queue, 1);
        let mut entries = Vec::new();
        queue.for_each_entry(|due, sequence, task| entries.push((due, sequence, number(task))));
        entries.sort_unstable();
        let second = |number| start + Duration::from_secs(number);
        let expected = [
            (second(0), 4, 1),
            (second(10), 2, 10),
            (second(20), 1, 20),
            (second(20), 3, 20),
        ];
        assert_eq!(entries, expected);
    }
}
