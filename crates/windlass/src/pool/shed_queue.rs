//! The queue of a pool that sheds tasks: another queue, and the control law of CoDel at its head.

use std::sync::Arc;
use std::time::Duration;

use super::codel::{Codel, ControlLaw, Verdict};
use super::limits::LimitCounts;
use super::work_queue::WorkQueue;
use crate::interrupt::Interrupted;
use crate::queue::{BlockingQueue, CapacityError, PutError, Waiting};
use crate::sync::{Deadline, Mutex};
use crate::task::{Cancellation, Task};

/// A queue that sheds tasks while they wait too long.
///
/// Whoever takes a task from it to run it judges the task. What is removed otherwise, by a drain or a
/// purge, is not judged.
pub(super) struct ShedQueue {
    inner: WorkQueue,
    law: Mutex<ControlLaw>,
    counts: Arc<LimitCounts>,
}

impl ShedQueue {
    pub(super) fn new(inner: WorkQueue, codel: Codel, counts: &Arc<LimitCounts>) -> Self {
        Self {
            inner,
            law: Mutex::new(ControlLaw::new(codel)),
            counts: Arc::clone(counts),
        }
    }

    fn stamped(&self, task: Task) -> Task {
        task.set_queued_at(self.counts.clock().now(), 1)
    }

    /// Returns the task, unless it is shed.
    fn judged(&self, task: Task) -> Option<Task> {
        let Some(queued_at) = task.queued_at().filter(|_| !task.is_cancelled()) else {
            return Some(task);
        };
        let has_others = !self.inner.is_empty();
        let now = self.counts.clock().now();
        let waited = now.saturating_duration_since(queued_at);
        let verdict = self.law.lock().judge(now, waited, has_others);
        if verdict == Verdict::Keep {
            return Some(task);
        }
        // Counted before it can be seen. Its owner may cancel it meanwhile, or its time may be up.
        self.counts.count_shed();
        if task.withdraw(Cancellation::Shed) {
            return None;
        }
        self.counts.uncount_shed();
        Some(task)
    }
}

impl BlockingQueue<Task> for ShedQueue {
    fn offer(&self, task: Task) -> Result<(), PutError<Task>> {
        self.inner.offer(self.stamped(task))
    }

    fn offer_timeout(&self, task: Task, timeout: Duration) -> Result<(), PutError<Task>> {
        self.inner.offer_timeout(self.stamped(task), timeout)
    }

    fn put(&self, task: Task) -> Result<(), PutError<Task>> {
        self.inner.put(self.stamped(task))
    }

    fn poll(&self) -> Option<Task> {
        loop {
            if let Some(task) = self.judged(self.inner.poll()?) {
                return Some(task);
            }
        }
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<Task>, Interrupted> {
        let deadline = Deadline::after(timeout);
        let mut left = timeout;
        loop {
            let Some(task) = self.inner.poll_timeout(left)? else {
                return Ok(None);
            };
            if let Some(task) = self.judged(task) {
                return Ok(Some(task));
            }
            left = deadline.remaining().unwrap_or(timeout);
        }
    }

    fn take(&self) -> Result<Task, Interrupted> {
        loop {
            if let Some(task) = self.judged(self.inner.take()?) {
                return Ok(task);
            }
        }
    }

    fn drain(&self, max: usize) -> Vec<Task> {
        self.inner.drain(max)
    }

    fn drain_all(&self) -> Vec<Task> {
        self.inner.drain_all()
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
        self.inner.remove_first(wanted)
    }

    fn retain(&self, keep: &mut dyn FnMut(&Task) -> bool) -> Vec<Task> {
        self.inner.retain(keep)
    }

    fn for_each(&self, f: &mut dyn FnMut(&Task)) {
        self.inner.for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&Task)) {
        self.inner.peek(f);
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn remaining_capacity(&self) -> Option<usize> {
        self.inner.remaining_capacity()
    }

    fn capacity(&self) -> Option<usize> {
        self.inner.capacity()
    }

    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        self.inner.set_capacity(capacity)
    }

    fn waiting(&self) -> Option<Waiting> {
        self.inner.waiting()
    }

    fn is_interruptible(&self) -> bool {
        self.inner.is_interruptible()
    }
}

#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod models {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::executor::ExecutorService;
    use crate::pool::{Codel, ThreadPoolExecutor};
    use crate::submit::Submit;
    use crate::sync::clock::TestClock;
    use crate::sync::{Condvar, Mutex, model, thread};
    use crate::task::{Cancellation, TaskHandle};

    /// Three tasks in the queue of a pool that sheds whatever it may, and whose worker was busy for longer than
    /// they may wait. Before the worker goes on, `meanwhile` is called with the handles.
    fn pool_that_sheds(
        meanwhile: impl FnOnce(&[TaskHandle<i32>; 3]),
    ) -> (ThreadPoolExecutor, [TaskHandle<i32>; 3]) {
        let clock = TestClock::new();
        let builder = ThreadPoolExecutor::builder().core_pool_size(1);
        let builder = builder.shed(Codel::new(Duration::ZERO, Duration::ZERO));
        let pool = clock.enter(|| builder.build().unwrap());
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&gate);
        let busy = pool.submit(move || {
            let mut is_open = theirs.0.lock();
            while !*is_open {
                is_open = theirs.1.wait(is_open);
            }
        });
        let handles = [1, 2, 3].map(|number| pool.submit(move || number).unwrap());
        clock.advance(Duration::from_secs(1));
        meanwhile(&handles);
        *gate.0.lock() = true;
        gate.1.notify_all();
        busy.unwrap().join().unwrap();
        (pool, handles)
    }

    /// WL-502
    #[test]
    fn a_task_that_its_owner_cancels_while_it_is_shed_is_counted_as_it_has_ended() {
        model(|| {
            let mut canceller = None;
            let (pool, handles) = pool_that_sheds(|handles| {
                let control = handles[0].control();
                let body = move || control.cancel();
                canceller = Some(thread::Builder::new().spawn(body).unwrap());
            });
            pool.close();
            let _ = canceller.unwrap().join().unwrap();
            let reasons = handles.iter().filter_map(|handle| handle.cancellation());
            let shed = reasons.filter(|reason| *reason == Cancellation::Shed);
            assert_eq!(pool.stats().shed_task_count, shed.count() as u64);
        });
    }

    /// WL-191
    #[test]
    fn each_task_is_served_or_shed_and_the_last_one_is_served() {
        model(|| {
            let (pool, handles) = pool_that_sheds(|_| ());
            pool.close();
            let shed = handles.iter().filter_map(|handle| handle.cancellation());
            let shed: Vec<_> = shed.collect();
            assert!(shed.iter().all(|reason| *reason == Cancellation::Shed));
            assert_eq!(pool.stats().shed_task_count, shed.len() as u64);
            assert!(!shed.is_empty(), "{:?} {handles:?}", pool.stats());
            let [_, _, last] = handles;
            assert_eq!(last.join().unwrap(), 3);
        });
    }
}
