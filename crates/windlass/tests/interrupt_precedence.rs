//! What an interrupt that is pending on entry does to a call that need not wait, queue by queue.
//!
//! The queues differ, as those of the JDK do; the table below is the one measured there. A call
//! that ends with `Interrupted` clears the flag, a call that succeeds keeps it.

#![expect(clippy::unwrap_used, reason = "a test that fails may do so by a panic")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass::clock::TestClock;
use windlass::interrupt;
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, DelayQueue, Delayed, Fairness, LinkedBlockingDeque,
    LinkedBlockingQueue, LinkedTransferQueue, PriorityBlockingQueue, PutError,
    ResizableBlockingQueue, SynchronousQueue,
};
use windlass::testing::{await_putters, await_takers, join};

const TEN_SECONDS: Duration = Duration::from_secs(10);

/// An element that every queue can hold; it is due already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item(Instant);

impl Delayed for Item {
    fn deadline(&self) -> Instant {
        self.0
    }
}

type Queue = Arc<dyn BlockingQueue<Item>>;

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It does what it should, and the flag is still set.
    Goes,
    /// It ends with `Interrupted`, and the flag is clear.
    Ends,
}
use Fate::{Ends, Goes};

type Call = fn(&dyn BlockingQueue<Item>, Item) -> Fate;

fn removal(result: Result<Option<Item>, interrupt::Interrupted>) -> Fate {
    match result {
        Ok(Some(_)) => Goes,
        Ok(None) => panic!("an element was there"),
        Err(_) => Ends,
    }
}

fn insertion(result: Result<(), PutError<Item>>) -> Fate {
    match result {
        Ok(()) => Goes,
        Err(PutError::Interrupted(_)) => Ends,
        Err(other) => panic!("there was room: {other}"),
    }
}

/// The columns of the table. The queue holds one element and has room for another.
const CALLS: [(&str, Call); 8] = [
    ("take", |queue, _| removal(queue.take().map(Some))),
    ("poll(10 s)", |queue, _| {
        removal(queue.poll_timeout(TEN_SECONDS))
    }),
    ("poll(0)", |queue, _| {
        removal(queue.poll_timeout(Duration::ZERO))
    }),
    ("poll(0), empty", |queue, _| {
        queue.drain_all();
        let empty = queue.poll_timeout(Duration::ZERO);
        empty.map_or(Ends, |_| Goes)
    }),
    ("put", |queue, item| insertion(queue.put(item))),
    ("offer(10 s)", |queue, item| {
        insertion(queue.offer_timeout(item, TEN_SECONDS))
    }),
    ("poll", |queue, _| removal(Ok(queue.poll()))),
    ("offer", |queue, item| insertion(queue.offer(item))),
];

type Row = (&'static str, fn() -> Queue, [Fate; 8]);

const TABLE: [Row; 9] = [
    (
        "LinkedBlockingQueue",
        || Arc::new(LinkedBlockingQueue::new()),
        [Ends, Ends, Ends, Ends, Ends, Ends, Goes, Goes],
    ),
    (
        "ResizableBlockingQueue",
        || Arc::new(ResizableBlockingQueue::with_capacity(9).unwrap()),
        [Ends, Ends, Ends, Ends, Ends, Ends, Goes, Goes],
    ),
    (
        "ArrayBlockingQueue",
        || Arc::new(ArrayBlockingQueue::new(9).unwrap()),
        [Ends, Ends, Ends, Ends, Ends, Ends, Goes, Goes],
    ),
    (
        "ArrayBlockingQueue, fair",
        || Arc::new(ArrayBlockingQueue::with_fairness(9, Fairness::Fair).unwrap()),
        [Ends, Ends, Ends, Ends, Ends, Ends, Goes, Goes],
    ),
    (
        "PriorityBlockingQueue",
        || Arc::new(PriorityBlockingQueue::new()),
        [Ends, Ends, Ends, Ends, Goes, Goes, Goes, Goes],
    ),
    (
        "DelayQueue",
        || Arc::new(DelayQueue::new()),
        [Ends, Ends, Ends, Ends, Goes, Goes, Goes, Goes],
    ),
    (
        "LinkedBlockingDeque",
        || Arc::new(LinkedBlockingDeque::new()),
        [Goes, Ends, Ends, Ends, Goes, Ends, Goes, Goes],
    ),
    (
        "LinkedBlockingDeque, bounded",
        || Arc::new(LinkedBlockingDeque::with_capacity(9).unwrap()),
        [Goes, Ends, Ends, Ends, Goes, Ends, Goes, Goes],
    ),
    (
        "LinkedTransferQueue",
        || Arc::new(LinkedTransferQueue::new()),
        [Goes, Goes, Goes, Ends, Goes, Goes, Goes, Goes],
    ),
];

/// Runs the call with the flag set. Returns the outcome of both.
fn fate_of(call: Call, queue: &dyn BlockingQueue<Item>, item: Item) -> Fate {
    interrupt::current().interrupt();
    let fate = call(queue, item);
    let kept = interrupt::interrupted();
    assert_eq!(
        kept,
        fate == Goes,
        "the flag is kept exactly if the call goes ahead"
    );
    fate
}

/// BQ-046
#[test]
fn a_pending_interrupt_does_what_the_table_says() {
    let item = Item(TestClock::new().now());
    for (name, make, row) in TABLE {
        for ((column, call), expected) in CALLS.into_iter().zip(row) {
            let queue = make();
            queue.offer(item).unwrap();
            assert_eq!(fate_of(call, &*queue, item), expected, "{name}: {column}");
        }
    }
}

fn synchronous() -> [Queue; 2] {
    [Fairness::Unfair, Fairness::Fair]
        .map(|fairness| Arc::new(SynchronousQueue::with_fairness(fairness)) as Queue)
}

/// BQ-046, SQ-012
#[test]
fn a_synchronous_queue_goes_ahead_if_a_partner_waits() {
    let item = Item(TestClock::new().now());
    for queue in synchronous() {
        for (column, call) in CALLS {
            let theirs = Arc::clone(&queue);
            let partner = match column {
                "poll(0), empty" => continue,
                "put" | "offer(10 s)" | "offer" => interrupt::spawn(move || theirs.take().is_ok()),
                _ => interrupt::spawn(move || theirs.put(item).is_ok()),
            };
            match column {
                "put" | "offer(10 s)" | "offer" => await_takers(&*queue, 1),
                _ => await_putters(&*queue, 1),
            }
            assert_eq!(fate_of(call, &*queue, item), Goes, "{column}");
            assert!(join("partner", partner));
        }
    }
}

/// BQ-046, SQ-012
#[test]
fn a_synchronous_queue_ends_a_call_that_finds_no_partner() {
    let item = Item(TestClock::new().now());
    for queue in synchronous() {
        for (column, call) in &CALLS[..6] {
            assert_eq!(fate_of(*call, &*queue, item), Ends, "{column}");
        }
    }
}
