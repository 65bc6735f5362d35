//! Tasks by due time, in a heap from whose middle a cancelled one can be taken at once.
//!
//! The heap holds small keys; the tasks lie still in slots. Each slot knows where its key is, and
//! each scheduled task knows its slot: removal needs no search, and takes `O(log n)`.
//!
//! Equal times are ordered by the sequence in which the tasks were scheduled.
//!
//! Two children to a node and not four, which would be a little faster: what `shutdown_now` hands
//! back before its time comes in the order of the heap, in the JDK too, and there it is binary.

use std::time::Instant;

use crate::queue::Discipline;
use crate::sync::clock::Clock;
use crate::task::{Schedule, Task, TaskId};

/// Children of a node.
const ARITY: usize = 2;

#[derive(Debug, Default)]
pub(super) struct TimerHeap {
    keys: Vec<Key>,
    slots: Vec<Slot>,
    /// The first of the free slots, each of which names the next.
    free: Option<usize>,
    /// Numbers for tasks that bring none, after all that have been handed out.
    next_sequence: u64,
    /// The clock of the pool, for tasks that bring no time.
    clock: Clock,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    due: Instant,
    sequence: u64,
    slot: usize,
}

#[derive(Debug)]
enum Slot {
    Taken { task: Task, at: usize },
    Free { next: Option<usize> },
}

impl Key {
    fn precedes(&self, other: &Self) -> bool {
        (self.due, self.sequence) < (other.due, other.sequence)
    }
}

impl TimerHeap {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    /// A sequence number for a task that is about to be scheduled.
    pub(super) fn next_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence
    }

    /// Takes out a scheduled task, if it is here.
    pub(super) fn remove_scheduled(&mut self, id: TaskId, schedule: &Schedule) -> Option<Task> {
        let slot = schedule.place()?;
        match self.slots.get(slot) {
            Some(Slot::Taken { task, at }) if task.id() == id => Some(self.take(*at)),
            _ => None,
        }
    }

    /// When and in which order the task at this key is due.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Instant, u64, &Task)> {
        self.keys
            .iter()
            .map(|key| (key.due, key.sequence, self.task(key.slot)))
    }

    fn task(&self, slot: usize) -> &Task {
        match &self.slots[slot] {
            Slot::Taken { task, .. } => task,
            Slot::Free { .. } => unreachable!("a key names a slot that is taken"),
        }
    }

    fn put_in_slot(&mut self, task: Task) -> usize {
        let at = self.keys.len();
        match self.free {
            Some(slot) => {
                if let Slot::Free { next } = self.slots[slot] {
                    self.free = next;
                }
                self.slots[slot] = Slot::Taken { task, at };
                slot
            }
            None => {
                self.slots.push(Slot::Taken { task, at });
                self.slots.len() - 1
            }
        }
    }

    /// Takes out the key at this place of the heap, and its task.
    fn take(&mut self, at: usize) -> Task {
        let key = self.keys.swap_remove(at);
        if at < self.keys.len() {
            // The last key has come here; it may have to go either way.
            let at = self.sift_up(at);
            self.sift_down(at);
        }
        self.vacate(key.slot)
    }

    /// Takes the task out of a slot whose key is gone.
    fn vacate(&mut self, slot: usize) -> Task {
        let taken = std::mem::replace(&mut self.slots[slot], Slot::Free { next: self.free });
        self.free = Some(slot);
        match taken {
            Slot::Taken { task, .. } => {
                if let Some(schedule) = task.schedule() {
                    schedule.set_place(None);
                }
                task
            }
            Slot::Free { .. } => unreachable!("a key names a slot that is taken"),
        }
    }

    fn set_place(&mut self, at: usize) {
        let slot = self.keys[at].slot;
        if let Slot::Taken { at: place, .. } = &mut self.slots[slot] {
            *place = at;
        }
    }

    fn sift_up(&mut self, mut at: usize) -> usize {
        let key = self.keys[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if !key.precedes(&self.keys[parent]) {
                break;
            }
            self.keys[at] = self.keys[parent];
            self.set_place(at);
            at = parent;
        }
        self.keys[at] = key;
        self.set_place(at);
        at
    }

    fn sift_down(&mut self, mut at: usize) {
        let key = self.keys[at];
        loop {
            let first = at * ARITY + 1;
            let children = first..(first + ARITY).min(self.keys.len());
            let least = children.reduce(|a, b| {
                if self.keys[b].precedes(&self.keys[a]) {
                    b
                } else {
                    a
                }
            });
            match least {
                Some(child) if self.keys[child].precedes(&key) => {
                    self.keys[at] = self.keys[child];
                    self.set_place(at);
                    at = child;
                }
                _ => break,
            }
        }
        self.keys[at] = key;
        self.set_place(at);
    }
}

impl Discipline for TimerHeap {
    type Item = Task;

    /// Takes a task in; one without a schedule is due now.
    fn push(&mut self, task: Task) {
        let (due, sequence) = match task.schedule() {
            Some(schedule) => (schedule.due(), schedule.sequence()),
            None => (self.clock.now(), self.next_sequence()),
        };
        let at = self.keys.len();
        let slot = self.put_in_slot(task);
        if let Some(schedule) = self.task(slot).schedule() {
            schedule.set_place(Some(slot));
        }
        self.keys.push(Key {
            due,
            sequence,
            slot,
        });
        self.sift_up(at);
    }

    fn pop(&mut self) -> Option<Task> {
        if self.keys.is_empty() {
            None
        } else {
            Some(self.take(0))
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
        self.take(at)
    }

    fn retain(&mut self, keep: &[bool]) -> Vec<Task> {
        // By slot, since places in the heap change with every removal.
        let gone: Vec<usize> = self
            .keys
            .iter()
            .zip(keep)
            .filter(|(_, keep)| !**keep)
            .map(|(key, _)| key.slot)
            .collect();
        let mut removed = Vec::with_capacity(gone.len());
        for slot in gone {
            if let Slot::Taken { at, .. } = self.slots[slot] {
                removed.push(self.take(at));
            }
        }
        removed
    }

    /// What is due in its order, then the rest in the order of the heap.
    fn take_all(&mut self) -> Vec<Task> {
        let now = self.clock.now();
        let mut tasks = Vec::with_capacity(self.keys.len());
        while self.ready_at().is_some_and(|due| due <= now) {
            tasks.extend(self.pop());
        }
        for key in std::mem::take(&mut self.keys) {
            tasks.push(self.vacate(key.slot));
        }
        tasks
    }

    fn ready_at(&self) -> Option<Instant> {
        self.keys.first().map(|key| key.due)
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::sync::{Arc, Weak};
    use std::time::Duration;

    use super::TimerHeap;
    use crate::queue::Discipline;
    use crate::sync::clock::{self, Clock};
    use crate::task::{Home, Schedule, Task, TaskBuilder, TaskId};

    struct Nowhere;
    impl Home for Nowhere {
        fn cancelled(&self, _id: TaskId, _schedule: &Schedule) {}
    }

    fn due_in(heap: &mut TimerHeap, millis: u64) -> (TaskId, Arc<Schedule>) {
        let sequence = heap.next_sequence();
        let due = clock::now() + Duration::from_millis(millis);
        let home: Weak<Nowhere> = Weak::new();
        let schedule = Arc::new(Schedule::new(due, sequence, false, home, Clock::System));
        let builder = TaskBuilder::new().name(format!("{millis}"));
        let (task, _handle) = builder.build_scheduled(Arc::clone(&schedule), || Ok(()));
        let id = task.id();
        heap.push(task);
        (id, schedule)
    }

    fn names(heap: &mut TimerHeap) -> Vec<u64> {
        let next = |task: Task| {
            task.name()
                .and_then(|name| name.parse().ok())
                .expect("a number")
        };
        std::iter::from_fn(|| heap.pop()).map(next).collect()
    }

    #[test]
    fn tasks_leave_by_due_time_and_any_of_them_can_be_removed() {
        // A fixed sequence that has no order.
        let delays: Vec<u64> = (0..500_u64).map(|n| n * 7_919 % 1_009 + 10_000).collect();
        let mut heap = TimerHeap::default();
        let scheduled: Vec<_> = delays
            .iter()
            .map(|delay| due_in(&mut heap, *delay))
            .collect();
        for (id, schedule) in scheduled.iter().step_by(3) {
            assert!(heap.remove_scheduled(*id, schedule).is_some());
            assert!(heap.remove_scheduled(*id, schedule).is_none());
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
        let mut heap = TimerHeap::default();
        for _ in 0..1_000 {
            let (id, schedule) = due_in(&mut heap, 60_000);
            assert!(heap.remove_scheduled(id, &schedule).is_some());
        }
        assert_eq!((heap.len(), heap.slots.len()), (0, 1));
    }

    #[test]
    fn retaining_keeps_the_order_of_the_rest() {
        let mut heap = TimerHeap::default();
        for delay in [50, 10, 40, 20, 30, 60, 5] {
            due_in(&mut heap, delay * 1_000);
        }
        let keep: Vec<bool> = heap
            .iter()
            .map(|task| task.name() != Some("20000") && task.name() != Some("5000"))
            .collect();
        assert_eq!(heap.retain(&keep).len(), 2);
        assert_eq!(names(&mut heap), [10_000, 30_000, 40_000, 50_000, 60_000]);
    }
}
