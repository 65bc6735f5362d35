//! An indexed binary heap of tasks by due time, with removal from the middle in `O(log n)`.
//!
//! The heap holds small keys; the tasks stay in slots and do not move. For each slot the position of its
//! key is stored, and each timer stores its slot, so removal needs no search.
//!
//! Equal due times are ordered by the sequence in which the tasks were scheduled. The sequence is not
//! in the key, since it is compared only between equal due times: so four keys fit into a cache line,
//! and sifting touches no memory of a task.
//!
//! The heap is binary because `shutdown_now` returns tasks that are not due in heap order, as the
//! JDK does, whose heap is binary.

use std::time::Instant;

use crate::queue::Discipline;
use crate::sync::clock::Clock;
use crate::task::{Task, TaskId, Timer, instant, nanos};

/// The end of the free list of slots.
const NO_SLOT: u32 = u32::MAX;

/// The queue discipline of a scheduled pool.
#[derive(Debug)]
pub(super) struct TimerHeap {
    keys: Vec<Key>,
    slots: Vec<Slot>,
    /// For each occupied slot the position of its key; for a free one the next free slot.
    positions: Vec<u32>,
    /// The head of the free list of slots.
    free: u32,
    /// The due time of the first key.
    first_due: Option<Instant>,
    last_sequence: u64,
    /// The clock of the pool, for tasks without a timer.
    clock: Clock,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    /// The due time, in the nanoseconds of [`nanos`].
    due: u64,
    slot: u32,
}

#[derive(Debug)]
struct Slot {
    task: Option<Task>,
    sequence: u64,
}

impl TimerHeap {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            keys: Vec::new(),
            slots: Vec::new(),
            positions: Vec::new(),
            free: NO_SLOT,
            first_due: None,
            last_sequence: 0,
            clock,
        }
    }

    /// Removes the task with this id and timer, if it is queued.
    #[inline]
    pub(super) fn remove_task(&mut self, id: TaskId, timer: &Timer) -> Option<Task> {
        let slot = timer.slot();
        match self.slots.get(slot as usize)?.task.as_ref() {
            Some(task) if task.id() == id => {
                Some(self.remove_at(self.positions[slot as usize] as usize))
            }
            _ => None,
        }
    }

    /// Iterates over due time, sequence number and task of each entry, in heap order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Instant, u64, &Task)> {
        self.keys.iter().map(|key| {
            let sequence = self.slots[key.slot as usize].sequence;
            (instant(key.due), sequence, self.task(key.slot))
        })
    }

    fn task(&self, slot: u32) -> &Task {
        let task = self.slots[slot as usize].task.as_ref();
        task.expect("a key refers to an occupied slot")
    }

    fn precedes(&self, a: Key, b: Key) -> bool {
        a.due < b.due || (a.due == b.due && self.is_older(a, b))
    }

    #[cold]
    fn is_older(&self, a: Key, b: Key) -> bool {
        self.slots[a.slot as usize].sequence < self.slots[b.slot as usize].sequence
    }

    /// Returns the slot that [`occupy`](Self::occupy) uses next.
    fn next_slot(&self) -> u32 {
        if self.free != NO_SLOT {
            return self.free;
        }
        let slot = u32::try_from(self.slots.len()).unwrap_or(NO_SLOT);
        assert!(slot != NO_SLOT, "no more than four billion timers");
        slot
    }

    fn occupy(&mut self, slot: u32, task: Task, sequence: u64) {
        let occupied = Slot {
            task: Some(task),
            sequence,
        };
        if slot == self.free {
            self.free = self.positions[slot as usize];
            self.slots[slot as usize] = occupied;
        } else {
            self.slots.push(occupied);
            self.positions.push(0);
        }
    }

    /// Removes the entry at this position, and returns its task.
    #[inline]
    fn remove_at(&mut self, at: usize) -> Task {
        let slot = self.remove_key(at);
        self.vacate(slot)
    }

    /// Removes the key at this position, and returns the slot of its task.
    fn remove_key(&mut self, at: usize) -> u32 {
        let key = self.keys.swap_remove(at);
        if at < self.keys.len() {
            // The last key has moved here; it may belong further up or further down.
            if self.sift_up(at) == at {
                self.sift_down(at);
            }
        }
        if at == 0 {
            self.update_first_due();
        }
        key.slot
    }

    /// Frees a slot whose key is removed, and returns its task.
    #[inline]
    fn vacate(&mut self, slot: u32) -> Task {
        self.positions[slot as usize] = std::mem::replace(&mut self.free, slot);
        let task = self.slots[slot as usize].task.take();
        task.expect("a key refers to an occupied slot")
    }

    fn update_first_due(&mut self) {
        self.first_due = self.keys.first().map(|key| instant(key.due));
    }

    /// Writes the key at this position, and the position for its slot.
    fn place(&mut self, at: usize, key: Key) {
        self.keys[at] = key;
        self.positions[key.slot as usize] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize) -> usize {
        let key = self.keys[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.precedes(key, self.keys[parent]) {
                break;
            }
            self.place(at, self.keys[parent]);
            at = parent;
        }
        self.place(at, key);
        at
    }

    fn sift_down(&mut self, mut at: usize) {
        let key = self.keys[at];
        while let Some(child) = self.lesser_child(at) {
            if !self.precedes(self.keys[child], key) {
                break;
            }
            self.place(at, self.keys[child]);
            at = child;
        }
        self.place(at, key);
    }

    fn lesser_child(&self, at: usize) -> Option<usize> {
        let left = at * 2 + 1;
        let (a, b) = (self.keys.get(left)?, self.keys.get(left + 1));
        let is_right = b.is_some_and(|b| self.precedes(*b, *a));
        Some(left + usize::from(is_right))
    }
}

impl Discipline for TimerHeap {
    type Item = Task;

    /// Inserts a task; one without a timer is due now.
    #[inline]
    fn push(&mut self, task: Task) {
        let slot = self.next_slot();
        let mut next_sequence = || {
            self.last_sequence += 1;
            self.last_sequence
        };
        let (due, sequence) = match task.timer() {
            Some(timer) => {
                timer.set_slot(slot);
                (timer.due_nanos(), timer.sequence_or_init(next_sequence))
            }
            None => (nanos(self.clock.now()), next_sequence()),
        };
        self.occupy(slot, task, sequence);
        self.keys.push(Key { due, slot });
        if self.sift_up(self.keys.len() - 1) == 0 {
            self.update_first_due();
        }
    }

    fn pop(&mut self) -> Option<Task> {
        if self.keys.is_empty() {
            None
        } else {
            Some(self.remove_at(0))
        }
    }

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn peek(&self) -> Option<&Task> {
        self.keys.first().map(|key| self.task(key.slot))
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &Task> + '_> {
        Box::new(self.keys.iter().map(|key| self.task(key.slot)))
    }

    fn remove(&mut self, at: usize) -> Task {
        self.remove_at(at)
    }

    fn retain(&mut self, keep: &[bool]) -> Vec<Task> {
        // By slot, since positions change with every removal.
        let removed: Vec<u32> = self
            .keys
            .iter()
            .zip(keep)
            .filter(|(_, keep)| !**keep)
            .map(|(key, _)| key.slot)
            .collect();
        removed
            .into_iter()
            .map(|slot| self.remove_at(self.positions[slot as usize] as usize))
            .collect()
    }

    /// Returns what is due in the order of due times, then the rest in heap order.
    fn take_all(&mut self) -> Vec<Task> {
        let now = nanos(self.clock.now());
        let mut tasks = Vec::with_capacity(self.keys.len());
        while self.keys.first().is_some_and(|key| key.due <= now) {
            tasks.extend(self.pop());
        }
        let rest = self.keys.drain(..).map(|key| {
            let task = self.slots[key.slot as usize].task.take();
            task.expect("a key refers to an occupied slot")
        });
        tasks.extend(rest);
        self.slots.clear();
        self.positions.clear();
        self.free = NO_SLOT;
        self.first_due = None;
        tasks
    }

    fn ready_at(&self) -> Option<Instant> {
        self.first_due
    }

    fn ready_next_at(&self) -> Option<Instant> {
        let child = self.lesser_child(0)?;
        Some(instant(self.keys[child].due))
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::Weak;
    use std::time::{Duration, Instant};

    use super::TimerHeap;
    use crate::queue::Discipline;
    use crate::sync::clock::{self, Clock, TestClock};
    use crate::task::{Cancellation, Task, TaskBuilder, TaskHandle, TaskId, Timer, TimerService};

    struct NoService;
    impl TimerService for NoService {
        fn now(&self) -> Instant {
            clock::now()
        }

        fn task_cancelled(&self, _id: TaskId, _timer: &Timer) {}

        fn pool_shut_down(&self, _reason: Cancellation) {}
    }

    fn due_at(heap: &mut TimerHeap, due: Instant, name: u64) -> TaskHandle<()> {
        let service: Weak<NoService> = Weak::new();
        let builder = TaskBuilder::new().name(format!("{name}"));
        let (task, handle) = builder.build_scheduled(Timer::one_shot(due, service), || Ok(()));
        heap.push(task);
        handle
    }

    fn due_in(heap: &mut TimerHeap, millis: u64) -> TaskHandle<()> {
        let due = clock::now() + Duration::from_millis(millis);
        due_at(heap, due, millis)
    }

    fn remove(heap: &mut TimerHeap, handle: &TaskHandle<()>) -> Option<Task> {
        let timer = handle.timer().expect("it has one");
        heap.remove_task(handle.id(), timer)
    }

    fn names(heap: &mut TimerHeap) -> Vec<u64> {
        std::iter::from_fn(|| heap.pop())
            .map(|task| number(&task))
            .collect()
    }

    fn number(task: &Task) -> u64 {
        let number = task.name().and_then(|name| name.parse().ok());
        number.expect("a number")
    }

    /// A heap of tasks that are due at these seconds of its clock.
    fn due_at_seconds(clock: &TestClock, seconds: &[u64]) -> TimerHeap {
        let start = clock.now();
        let mut heap = TimerHeap::new(Clock::Test(clock.clone()));
        for &name in seconds {
            drop(due_at(&mut heap, start + Duration::from_secs(name), name));
        }
        heap
    }

    #[test]
    fn tasks_leave_by_due_time_and_any_of_them_can_be_removed() {
        // A fixed sequence without order.
        let delays: Vec<u64> = (0..500_u64).map(|n| n * 7_919 % 1_009 + 10_000).collect();
        let mut heap = TimerHeap::new(Clock::System);
        // One start for all: their order must not depend on how long the pushes take.
        let start = clock::now();
        let due = |delay: u64| start + Duration::from_millis(delay);
        let scheduled: Vec<_> = delays
            .iter()
            .map(|delay| due_at(&mut heap, due(*delay), *delay))
            .collect();
        for handle in scheduled.iter().step_by(3) {
            assert!(remove(&mut heap, handle).is_some());
            assert!(remove(&mut heap, handle).is_none());
        }
        let mut expected: Vec<u64> = delays
            .iter()
            .enumerate()
            .filter(|(at, _)| at % 3 != 0)
            .map(|(_, d)| *d)
            .collect();
        expected.sort_unstable();
        assert_eq!(heap.len(), expected.len());
        assert_eq!(names(&mut heap), expected);
    }

    #[test]
    fn slots_are_used_again() {
        let mut heap = TimerHeap::new(Clock::System);
        for _ in 0..1_000 {
            let handle = due_in(&mut heap, 60_000);
            assert!(remove(&mut heap, &handle).is_some());
        }
        assert_eq!((heap.len(), heap.slots.len()), (0, 1));
    }

    #[test]
    fn equal_times_leave_in_the_order_of_scheduling() {
        let mut heap = TimerHeap::new(Clock::System);
        let due = clock::now() + Duration::from_secs(60);
        let handles: Vec<_> = (0..100).map(|name| due_at(&mut heap, due, name)).collect();
        for handle in handles.iter().step_by(2) {
            assert!(remove(&mut heap, handle).is_some());
        }
        // Into the slots that were freed, in whatever order.
        let later: Vec<_> = (100..150)
            .map(|name| due_at(&mut heap, due, name))
            .collect();
        let expected: Vec<u64> = (0..100)
            .filter(|name| name % 2 == 1)
            .chain(100..150)
            .collect();
        assert_eq!(names(&mut heap), expected);
        drop(later);
    }

    #[test]
    fn a_heap_that_was_emptied_at_once_takes_tasks_again() {
        let mut heap = TimerHeap::new(Clock::System);
        let old: Vec<_> = (0..10).map(|n| due_in(&mut heap, 60_000 + n)).collect();
        assert_eq!(heap.take_all().len(), 10);
        assert!(old.iter().all(|handle| remove(&mut heap, handle).is_none()));
        let new = due_in(&mut heap, 60_000);
        assert!(old.iter().all(|handle| remove(&mut heap, handle).is_none()));
        assert!(remove(&mut heap, &new).is_some());
        assert_eq!(heap.len(), 0);
    }

    #[test]
    fn retaining_keeps_the_order_of_the_rest() {
        let mut heap = TimerHeap::new(Clock::System);
        let handles = [50, 10, 40, 20, 30, 60, 5].map(|delay| due_in(&mut heap, delay * 1_000));
        let keep: Vec<bool> = heap
            .iter()
            .map(|task| task.name() != Some("20000") && task.name() != Some("5000"))
            .collect();
        assert_eq!(heap.retain(&keep).len(), 2);
        assert_eq!(names(&mut heap), [10_000, 30_000, 40_000, 50_000, 60_000]);
        drop(handles);
    }

    #[test]
    fn the_times_of_the_first_two_are_known() {
        let clock = TestClock::new();
        let start = clock.now();
        let second = |number| Some(start + Duration::from_secs(number));
        let mut heap = due_at_seconds(&clock, &[30, 10, 40, 20]);
        let mut seen = Vec::new();
        while let Some(first) = heap.peek().map(number) {
            seen.push((first, heap.ready_at(), heap.ready_next_at()));
            assert_eq!(heap.pop().as_ref().map(number), Some(first));
        }
        let expected = [
            (10, second(10), second(20)),
            (20, second(20), second(30)),
            (30, second(30), second(40)),
            (40, second(40), None),
        ];
        assert_eq!(seen, expected);
        assert_eq!((heap.ready_at(), heap.ready_next_at()), (None, None));
    }

    #[test]
    fn a_task_that_is_due_earlier_becomes_the_first() {
        let clock = TestClock::new();
        let heap = due_at_seconds(&clock, &[20, 30, 10]);
        assert_eq!(heap.ready_at(), Some(clock.now() + Duration::from_secs(10)));
    }

    #[test]
    fn the_time_of_the_first_outlives_what_happens_behind_it() {
        let clock = TestClock::new();
        let start = clock.now();
        let mut heap = due_at_seconds(&clock, &[10, 30, 20, 40]);
        assert_eq!(number(&heap.remove(1)), 30);
        assert_eq!(heap.ready_at(), Some(start + Duration::from_secs(10)));
        assert_eq!(names(&mut heap), [10, 20, 40]);
    }

    #[test]
    fn entries_have_due_time_and_order_of_arrival() {
        let clock = TestClock::new();
        let start = clock.now();
        let heap = due_at_seconds(&clock, &[20, 10, 20]);
        let second = |number| start + Duration::from_secs(number);
        let mut entries: Vec<_> = heap
            .entries()
            .map(|(due, sequence, task)| (due, sequence, number(task)))
            .collect();
        entries.sort_unstable();
        let expected = [
            (second(10), 2, 10),
            (second(20), 1, 20),
            (second(20), 3, 20),
        ];
        assert_eq!(entries, expected);
    }

    #[test]
    fn all_are_taken_by_time_where_due_and_else_in_the_order_of_the_heap() {
        let clock = TestClock::new();
        let take_all = |seconds: &[u64], pass| {
            let mut heap = due_at_seconds(&clock, seconds);
            clock.advance(Duration::from_secs(pass));
            let tasks = heap.take_all();
            assert_eq!((heap.len(), heap.ready_at()), (0, None));
            tasks.iter().map(number).collect::<Vec<_>>()
        };
        assert_eq!(take_all(&[10, 30, 20], 9), [10, 30, 20]);
        assert_eq!(take_all(&[10, 30, 20], 30), [10, 20, 30]);
    }

    #[test]
    fn a_task_without_a_time_is_due_now() {
        let clock = TestClock::new();
        let mut heap = due_at_seconds(&clock, &[10, 0]);
        heap.push(TaskBuilder::new().name("1").build(|| ()));
        assert_eq!(names(&mut heap), [0, 1, 10]);
    }
}
