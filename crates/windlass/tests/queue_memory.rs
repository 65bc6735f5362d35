//! Queues give back the memory that a burst of elements took.
//!
//! In a binary of its own, since it counts the memory of the process.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::alloc::System;
use std::time::{Duration, Instant};

use cap::Cap;
use windlass::pool::Times;
use windlass::queue::{
    BlockingQueue, DelayQueue, Delayed, LinkedBlockingDeque, LinkedBlockingQueue,
    LinkedTransferQueue, PriorityBlockingQueue, ResizableBlockingQueue,
};
use windlass::testing::{Gate, PATIENCE};
use windlass::{ExecutorService, Submit, Task, ThreadPoolExecutor};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const BURST: u64 = 100_000;

/// What it takes at least.
const BURST_BYTES: usize = 800_000;

/// What may stay: a fraction of what the burst took.
const MAY_STAY: usize = 64 * 1024;

fn live() -> usize {
    ALLOCATOR.allocated()
}

/// An element that is due at once.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due(u64, Instant);

impl Delayed for Due {
    fn deadline(&self) -> Instant {
        self.1
    }
}

/// Fills the queue, empties it with `empty`, and checks what stays.
fn assert_gives_back<T: Send>(
    name: &str,
    queue: &dyn BlockingQueue<T>,
    element: &dyn Fn(u64) -> T,
    empty: &dyn Fn(&dyn BlockingQueue<T>),
) {
    let before = live();
    for number in 0..BURST {
        assert!(queue.offer(element(number)).is_ok());
    }
    let full = live();
    assert!(full - before > BURST_BYTES, "{name}");
    empty(queue);
    assert!(queue.is_empty());
    let stays = live().saturating_sub(before);
    assert!(stays < MAY_STAY, "{name}: {stays} bytes stay");
    // It goes on with what it has.
    for number in 0..1000 {
        assert!(queue.offer(element(number)).is_ok());
        assert!(queue.poll().is_some());
    }
}

fn poll_all<T: Send>(queue: &dyn BlockingQueue<T>) {
    while queue.poll().is_some() {}
}

fn for_each_queue(empty: impl Fn(&dyn BlockingQueue<u64>) + Copy) {
    let number = |number| number;
    let queues: [(&str, Box<dyn BlockingQueue<u64>>); 6] = [
        ("linked", Box::new(LinkedBlockingQueue::new())),
        ("resizable", Box::new(ResizableBlockingQueue::new())),
        ("deque", Box::new(LinkedBlockingDeque::new())),
        (
            "bounded deque",
            Box::new(LinkedBlockingDeque::with_capacity(1 << 20).unwrap()),
        ),
        ("transfer", Box::new(LinkedTransferQueue::new())),
        ("priority", Box::new(PriorityBlockingQueue::new())),
    ];
    for (name, queue) in queues {
        assert_gives_back(name, &*queue, &number, &empty);
    }
}

/// One test, since others would be counted too.
#[test]
fn a_burst_leaves_no_memory_behind() {
    for_each_queue(poll_all);
    for_each_queue(|queue| drop(queue.drain_all()));
    for_each_queue(|queue| drop(queue.drain(usize::MAX)));
    for_each_queue(|queue| drop(queue.retain(&mut |_| false)));
    for_each_queue(|queue| {
        drop(queue.retain(&mut |number| number % 1000 == 0));
        poll_all(queue);
    });
    let epoch = DelayQueue::<Due>::after(Duration::ZERO);
    let due = move |number| Due(number, epoch);
    assert_gives_back("delay", &DelayQueue::new(), &due, &poll_all);
    from_the_tail();
    a_size_hint_stays();
    a_level_that_moves_little_moves_no_memory();
    in_a_pool();
}

fn from_the_tail() {
    let deque = LinkedBlockingDeque::new();
    let before = live();
    (0..BURST).for_each(|number| deque.offer_first(number).unwrap());
    while deque.poll_last().is_some() {}
    let stays = live().saturating_sub(before);
    assert!(stays < MAY_STAY, "{stays} bytes stay");
}

fn a_size_hint_stays() {
    let hint = 100_000;
    let queue = PriorityBlockingQueue::with_size_hint(hint);
    let before = live();
    for number in 0..1000_u64 {
        queue.offer(number).unwrap();
    }
    poll_all(&queue);
    assert_eq!(live(), before);
}

/// A queue whose length goes up and down by a third neither grows nor shrinks each time.
fn a_level_that_moves_little_moves_no_memory() {
    let queues: [Box<dyn BlockingQueue<u64>>; 2] = [
        Box::new(LinkedBlockingDeque::new()),
        Box::new(PriorityBlockingQueue::by_key(|_| 0)),
    ];
    for queue in queues {
        (0..30_000).for_each(|number| queue.offer(number).unwrap());
        for _ in 0..3 {
            let before = live();
            queue.drain(10_000);
            assert_eq!(live(), before);
            (0..10_000).for_each(|number| queue.offer(number).unwrap());
            assert_eq!(live(), before);
        }
    }
}

fn in_a_pool() {
    fn burst(name: &str, queue: impl BlockingQueue<Task> + 'static) {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(1)
            .work_queue(queue)
            // The time of submission lies in recycled blocks, some of which are kept for later tasks.
            .times(Times::Off)
            .build()
            .unwrap();
        pool.submit(|| ()).unwrap().get().unwrap();
        let before = live();
        let gate = Gate::new();
        let theirs = gate.clone();
        pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
        for _ in 0..BURST {
            pool.execute(|| ()).unwrap();
        }
        gate.open();
        pool.submit(|| ()).unwrap().get_timeout(PATIENCE).unwrap();
        let stays = live().saturating_sub(before);
        assert!(stays < 2 * MAY_STAY, "{name}: {stays} bytes stay");
        pool.shutdown();
        assert_eq!(pool.await_termination(Duration::from_secs(30)), Ok(true));
    }
    burst("linked", LinkedBlockingQueue::new());
    burst("deque", LinkedBlockingDeque::new());
    burst("transfer", LinkedTransferQueue::new());
    burst("priority", PriorityBlockingQueue::by_key(Task::priority));
}
