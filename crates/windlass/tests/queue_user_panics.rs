//! User code under a queue's lock may panic at any call: afterwards the queue is as it was, and
//! threads that wait are served.
//!
//! Each test runs an operation once for every call of user code that it makes, and has that call
//! panic.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use windlass::queue::{
    AgingQueue, Blocking, BlockingQueue, BlockingQueueExt, CapacityError, DelayQueue, Delayed,
    Discipline, FairShareQueue, Fairness, LinkedBlockingDeque, LinkedBlockingQueue,
    LinkedTransferQueue, PriorityBlockingQueue,
};
use windlass::testing::{Gate, PATIENCE, until};
use windlass::{ExecutorService, Submit, ThreadPoolExecutor};

/// Panics at one of the calls that burn it.
#[derive(Clone, Default)]
struct Fuse(Arc<AtomicIsize>);

impl Fuse {
    /// Lets the next `calls` pass, and the one after them panic.
    fn light(&self, calls: usize) {
        self.0
            .store(isize::try_from(calls).unwrap() + 1, Ordering::SeqCst);
    }

    fn is_burnt(&self) -> bool {
        self.0.load(Ordering::SeqCst) <= 0
    }

    fn put_out(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    fn burn(&self) {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Not `panic!`, which prints a message.
            resume_unwind(Box::new("the fuse"));
        }
    }
}

/// Whether `call` panicked.
fn panics(call: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// First in, first out, with a bound; every method burns the fuse.
struct Brittle {
    items: VecDeque<u32>,
    capacity: usize,
    fuse: Fuse,
}

impl Discipline for Brittle {
    type Item = u32;

    fn push(&mut self, item: u32) {
        self.fuse.burn();
        self.items.push_back(item);
    }

    fn pop(&mut self) -> Option<u32> {
        self.fuse.burn();
        self.items.pop_front()
    }

    fn len(&self) -> usize {
        self.fuse.burn();
        self.items.len()
    }

    fn peek(&self) -> Option<&u32> {
        self.fuse.burn();
        self.items.front()
    }

    fn iter(&self) -> Box<dyn Iterator<Item = &u32> + '_> {
        self.fuse.burn();
        Box::new(self.items.iter())
    }

    fn remove(&mut self, index: usize) -> u32 {
        self.fuse.burn();
        self.items.remove(index).unwrap()
    }

    fn is_empty(&self) -> bool {
        self.fuse.burn();
        self.items.is_empty()
    }

    fn capacity(&self) -> Option<usize> {
        self.fuse.burn();
        Some(self.capacity)
    }

    fn set_capacity(&mut self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        self.fuse.burn();
        Ok(Some(std::mem::replace(&mut self.capacity, capacity)))
    }

    fn admits(&self, _item: &u32) -> bool {
        self.fuse.burn();
        true
    }

    fn ready_at(&self) -> Option<Instant> {
        self.fuse.burn();
        None
    }
}

type Queue = Blocking<Brittle>;

fn queue(capacity: usize, items: &[u32], fairness: Fairness) -> (Arc<Queue>, Fuse) {
    let fuse = Fuse::default();
    let discipline = Brittle {
        items: items.iter().copied().collect(),
        capacity,
        fuse: fuse.clone(),
    };
    let queue = Blocking::with_fairness(discipline, fairness);
    (Arc::new(queue), fuse)
}

/// An operation, and what it delivers.
type Call<Q, T> = (&'static str, fn(&Q) -> Vec<T>);

const HOUR: Duration = Duration::from_secs(3600);

fn nothing<T, R>(_answer: R) -> Vec<T> {
    Vec::new()
}

/// Every operation that ends at a queue with both elements and room.
const CALLS: [Call<Queue, u32>; 14] = [
    ("offer", |queue| nothing(queue.offer(9))),
    ("put", |queue| nothing(queue.put(9))),
    ("offer_timeout", |queue| {
        nothing(queue.offer_timeout(9, HOUR))
    }),
    ("poll", |queue| queue.poll().into_iter().collect()),
    ("take", |queue| vec![queue.take().unwrap()]),
    ("poll_timeout", |queue| {
        Vec::from_iter(queue.poll_timeout(HOUR).unwrap())
    }),
    ("drain", |queue| queue.drain(2)),
    ("drain_all", |queue| queue.drain_all()),
    ("remove_first", |queue| {
        Vec::from_iter(queue.remove_first(&mut |item| *item == 2))
    }),
    ("retain", |queue| queue.retain(&mut |item| *item == 2)),
    ("retain none", |queue| queue.retain(&mut |_| false)),
    ("for_each", |queue| {
        queue.for_each(&mut |_| ());
        Vec::new()
    }),
    ("peek", |queue| {
        queue.peek(&mut |_| ());
        Vec::new()
    }),
    ("set_capacity", |queue| nothing(queue.set_capacity(5))),
];

/// The calls whose defaults in `Discipline` push again what they have removed.
const REORDERS: [&str; 3] = ["drain_all", "retain", "retain none"];

/// The calls that deliver what they have removed, and discard a panic that comes later.
const DELIVERS: [&str; 4] = ["drain_all", "retain", "retain none", "remove_first"];

#[test]
fn a_discipline_that_panics_changes_nothing() {
    for fairness in [Fairness::Unfair, Fairness::Fair] {
        for (name, call) in CALLS {
            let mut calls = 0;
            loop {
                let (queue, fuse) = queue(5, &[1, 2, 3], fairness);
                fuse.light(calls);
                let delivered = catch_unwind(AssertUnwindSafe(|| call(&queue)));
                if !fuse.is_burnt() {
                    break;
                }
                fuse.put_out();
                calls += 1;
                let what = format!("{name} at call {calls}, {fairness:?}");
                assert!(delivered.is_err() || DELIVERS.contains(&name), "{what}");
                for item in delivered.unwrap_or_default() {
                    queue.offer(item).unwrap();
                }
                assert_is_whole(&queue, name, &what);
            }
            assert!(calls > 0, "{name} calls no user code");
        }
    }
}

/// Checks a queue that held 1, 2 and 3, when an operation on it has panicked, and what was
/// delivered nevertheless is back.
fn assert_is_whole(queue: &Queue, name: &str, what: &str) {
    let is_insertion = ["offer", "put", "offer_timeout"].contains(&name);
    let in_order = !REORDERS.contains(&name) && !DELIVERS.contains(&name);
    let ordered = |mut items: Vec<u32>| {
        if !in_order {
            items.sort_unstable();
        }
        items
    };
    if is_insertion && queue.len() == 4 {
        assert_eq!(queue.remove_first(&mut |item| *item == 9), Some(9));
    }
    assert_eq!(ordered(queue.snapshot()), [1, 2, 3], "{what}");
    assert_eq!(queue.len(), 3, "{what}");
    assert_eq!(queue.remaining_capacity(), Some(2), "{what}");
    // Neither an element nor a place is granted to somebody who is gone.
    queue.offer(4).unwrap();
    queue.offer(5).unwrap();
    assert!(queue.offer(6).unwrap_err().is_full(), "{what}");
    let left = std::iter::from_fn(|| queue.poll()).collect();
    assert_eq!(ordered(left), [1, 2, 3, 4, 5], "{what}");
    assert_eq!((queue.len(), queue.remaining_capacity()), (0, Some(5)));
}

/// A thread that calls `call` once; `None` if that panicked.
fn spawn<R: Send + 'static>(
    queue: &Arc<Queue>,
    call: impl FnOnce(&Queue) -> R + Send + 'static,
) -> JoinHandle<Option<R>> {
    let queue = Arc::clone(queue);
    std::thread::spawn(move || catch_unwind(AssertUnwindSafe(|| call(&queue))).ok())
}

fn ended<R>(threads: &[JoinHandle<R>]) -> usize {
    threads.iter().filter(|thread| thread.is_finished()).count()
}

/// Of three takers that wait one at most panics, and the others get two elements. Returns whether
/// the fuse burnt down.
fn two_elements_reach_takers(calls: usize, fairness: Fairness) -> bool {
    let what = format!("takers, call {calls}, {fairness:?}");
    let (queue, fuse) = queue(5, &[], fairness);
    let mut takers = Vec::new();
    for waiting in 1..=3 {
        takers.push(spawn(&queue, |queue| queue.take().unwrap()));
        until(&what, || queue.waiting().unwrap().takers == waiting);
    }
    fuse.light(calls);
    let mut sent = Vec::new();
    for item in [1, 2] {
        let panicked = panics(|| queue.offer(item).unwrap());
        // The element of an offer that panicked may be there or not.
        sent.push((item, panicked));
    }
    // No element stays beside a taker that sleeps.
    until(&what, || queue.is_empty());
    until(&what, || {
        queue.waiting().unwrap().takers + ended(&takers) == 3
    });
    let burnt = fuse.is_burnt();
    fuse.put_out();
    for item in 10..10 + u32::try_from(queue.waiting().unwrap().takers).unwrap() {
        queue.offer(item).unwrap();
        sent.push((item, false));
    }
    let mut taken: Vec<u32> = takers
        .into_iter()
        .filter_map(|taker| taker.join().unwrap())
        .collect();
    taken.extend(queue.drain_all());
    assert_conserved(taken, &sent, &what);
    burnt
}

/// What was sent without a panic came out once, and the rest at most once.
fn assert_conserved(mut out: Vec<u32>, sent: &[(u32, bool)], what: &str) {
    out.sort_unstable();
    let distinct = out.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(distinct, "{what}: {out:?} has doubles");
    for (item, panicked) in sent {
        let came = out.binary_search(item).is_ok();
        assert!(came || *panicked, "{what}: {item} is missing in {out:?}");
    }
    assert!(
        out.iter()
            .all(|item| sent.iter().any(|(sent, _)| sent == item)),
        "{what}: {out:?}"
    );
}

#[test]
fn takers_that_wait_get_the_elements_that_a_panic_left() {
    for fairness in [Fairness::Unfair, Fairness::Fair] {
        let mut calls = 0;
        while two_elements_reach_takers(calls, fairness) {
            calls += 1;
            assert!(calls < 1000, "the fuse burns forever");
        }
        assert!(calls > 10);
    }
}

/// Three putters wait at a full queue of two, and `removal` makes room. Returns whether the fuse
/// burnt down.
fn freed_places_reach_putters(
    calls: usize,
    (name, removal): Call<Queue, u32>,
    fairness: Fairness,
) -> bool {
    let what = format!("putters, {name} at call {calls}, {fairness:?}");
    let (queue, fuse) = queue(2, &[1, 2], fairness);
    let mut putters = Vec::new();
    for waiting in 1..=3 {
        let item = 10 + u32::try_from(waiting).unwrap();
        putters.push(spawn(&queue, move |queue| queue.put(item).unwrap()));
        until(&what, || queue.waiting().unwrap().putters == waiting);
    }
    fuse.light(calls);
    let delivered = catch_unwind(AssertUnwindSafe(|| removal(&queue)));
    // No place stays free beside a putter that sleeps.
    until(&what, || {
        queue.waiting().unwrap().putters == 0 || queue.remaining_capacity() == Some(0)
    });
    let burnt = fuse.is_burnt();
    fuse.put_out();
    let mut out = delivered.unwrap_or_default();
    until(&what, || {
        out.extend(queue.drain(1));
        ended(&putters) == 3
    });
    out.extend(queue.drain_all());
    let mut sent = vec![(1, false), (2, false)];
    for (putter, item) in putters.into_iter().zip(11..) {
        sent.push((item, putter.join().unwrap().is_none()));
    }
    assert_conserved(out, &sent, &what);
    burnt
}

#[test]
fn putters_that_wait_get_the_places_that_a_panic_left() {
    let removes = |name| name != "put" && !str::contains(name, "offer");
    for fairness in [Fairness::Unfair, Fairness::Fair] {
        for removal in CALLS.into_iter().filter(|(name, _)| removes(*name)) {
            let mut calls = 0;
            while freed_places_reach_putters(calls, removal, fairness) {
                calls += 1;
                assert!(calls < 1000, "the fuse burns forever");
            }
            assert!(calls > 0);
        }
    }
}

/// An element of the ordered queues, equal to others with its key.
#[derive(Clone)]
struct Keyed {
    key: u32,
    number: u32,
    fuse: Fuse,
    epoch: Instant,
}

impl Delayed for Keyed {
    fn deadline(&self) -> Instant {
        self.fuse.burn();
        self.epoch + Duration::from_nanos(u64::from(self.key))
    }
}

const KEYS: [u32; 9] = [5, 3, 5, 1, 9, 3, 7, 3, 0];

type Ordered = dyn BlockingQueue<Keyed>;

const ORDERED_CALLS: [Call<Ordered, Keyed>; 12] = [
    ("offer", |queue| {
        let mut like = None;
        queue.peek(&mut |item| like = Some(item.clone()));
        let mut item = like.unwrap();
        (item.key, item.number) = (2, 99);
        nothing(queue.offer(item))
    }),
    ("poll", |queue| queue.poll().into_iter().collect()),
    ("take", |queue| queue.take().into_iter().collect()),
    ("poll_timeout", |queue| {
        Vec::from_iter(queue.poll_timeout(HOUR).unwrap())
    }),
    ("drain", |queue| queue.drain(4)),
    ("drain_all", |queue| queue.drain_all()),
    ("drain everything", |queue| queue.drain(usize::MAX)),
    ("remove_first", |queue| {
        Vec::from_iter(queue.remove_first(&mut |item| item.key == 3))
    }),
    ("retain", |queue| queue.retain(&mut |item| item.key != 3)),
    ("retain some", |queue| {
        queue.retain(&mut |item| item.key == 3)
    }),
    ("for_each", |queue| {
        queue.for_each(&mut |_| ());
        Vec::new()
    }),
    ("peek", |queue| {
        queue.peek(&mut |_| ());
        Vec::new()
    }),
];

fn a_comparison_that_panics_changes_nothing(make: impl Fn(Fuse) -> Box<Ordered>) {
    for (name, call) in ORDERED_CALLS {
        let mut calls = 0;
        loop {
            let fuse = Fuse::default();
            let queue = make(fuse.clone());
            let epoch = DelayQueue::<Keyed>::after(Duration::ZERO);
            for (key, number) in KEYS.into_iter().zip(0..) {
                let fuse = fuse.clone();
                let item = Keyed {
                    key,
                    number,
                    fuse,
                    epoch,
                };
                queue.offer(item).unwrap();
            }
            fuse.light(calls);
            let panicked = panics(|| drop(call(&*queue)));
            if !fuse.is_burnt() {
                break;
            }
            fuse.put_out();
            calls += 1;
            assert!(panicked, "{name} at call {calls}");
            let mut expected: Vec<_> = KEYS.into_iter().zip(0..).collect();
            expected.sort_by_key(|(key, _)| *key);
            // An element that was inserted when the panic came stays.
            let inserted = queue.remove_first(&mut |item| item.number == 99);
            assert!(inserted.is_none() || name == "offer");
            assert_eq!(queue.len(), 9, "{name} at call {calls}");
            let left: Vec<_> = queue.drain(9);
            let left: Vec<_> = left.iter().map(|item| (item.key, item.number)).collect();
            assert_eq!(left, expected, "{name} at call {calls}");
            assert_eq!(queue.len(), 0);
        }
    }
}

#[test]
fn a_priority_that_panics_changes_nothing() {
    a_comparison_that_panics_changes_nothing(|fuse| {
        let compare = move |a: &Keyed, b: &Keyed| {
            fuse.burn();
            a.key.cmp(&b.key)
        };
        Box::new(PriorityBlockingQueue::with_comparator(compare))
    });
}

/// An element that looks at its queue when it is dropped, and whose order panics if it is armed.
struct Looks {
    queue: Weak<dyn BlockingQueue<Looks>>,
    is_armed: bool,
    /// Whether it could look.
    looked: Arc<AtomicBool>,
}

impl Looks {
    fn order(&self) -> u64 {
        if self.is_armed {
            resume_unwind(Box::new("armed"));
        }
        1
    }
}

impl Delayed for Looks {
    fn deadline(&self) -> Instant {
        self.order();
        DelayQueue::<Self>::after(Duration::ZERO)
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        let look = |queue: Arc<dyn BlockingQueue<Self>>| queue.peek(&mut |_| ());
        let failed = panics(|| self.queue.upgrade().map(look).unwrap_or(()));
        self.looked.store(!failed, Ordering::SeqCst);
    }
}

/// WL-435
#[test]
fn an_element_whose_order_panics_is_dropped_outside_the_lock() {
    let order = |a: &Looks, b: &Looks| b.order().cmp(&a.order());
    let priority = |item: &Looks| i32::try_from(item.order()).unwrap();
    let queues: [Arc<dyn BlockingQueue<Looks>>; 4] = [
        Arc::new(PriorityBlockingQueue::with_comparator(order)),
        Arc::new(DelayQueue::new()),
        Arc::new(AgingQueue::new(Duration::from_secs(1), priority)),
        Arc::new(FairShareQueue::new(Looks::order)),
    ];
    for queue in queues {
        let looked = Arc::new(AtomicBool::new(false));
        let item = |is_armed| Looks {
            queue: Arc::downgrade(&queue),
            is_armed,
            looked: Arc::clone(&looked),
        };
        queue.offer(item(false)).unwrap();
        for put in [
            |queue: &dyn BlockingQueue<Looks>, item| drop(queue.offer(item)),
            |queue: &dyn BlockingQueue<Looks>, item| drop(queue.put(item)),
            |queue: &dyn BlockingQueue<Looks>, item| drop(queue.offer_timeout(item, HOUR)),
        ] {
            looked.store(false, Ordering::SeqCst);
            assert!(panics(|| put(&*queue, item(true))));
            assert!(looked.load(Ordering::SeqCst));
            assert_eq!(queue.len(), 1);
        }
    }
}

#[test]
fn a_deadline_that_panics_changes_nothing() {
    a_comparison_that_panics_changes_nothing(|_fuse| Box::new(DelayQueue::new()));
}

/// With a taker that waits, the queue asks for the time of the next element after a removal.
#[test]
fn a_deadline_that_panics_beside_a_waiting_taker_changes_nothing() {
    let fuse = Fuse::default();
    let epoch = DelayQueue::<Keyed>::after(Duration::ZERO);
    let item = |key, number| Keyed {
        key,
        number,
        fuse: fuse.clone(),
        epoch,
    };
    let mut calls = 0;
    loop {
        let queue: Arc<DelayQueue<Keyed>> = Arc::new(DelayQueue::new());
        for number in [1, 3] {
            let mut late = item(0, number);
            late.epoch += HOUR;
            queue.offer(late).unwrap();
        }
        let theirs = Arc::clone(&queue);
        let taker = std::thread::spawn(move || {
            // One that panics tries again: this is about who waits when another panics.
            loop {
                if let Ok(taken) = catch_unwind(AssertUnwindSafe(|| theirs.take())) {
                    return taken.unwrap().number;
                }
            }
        });
        until("a taker", || queue.waiting().unwrap().takers == 1);
        fuse.light(calls);
        let removed = queue.remove_first(&mut |item| item.number == 1);
        let burnt = fuse.is_burnt();
        fuse.put_out();
        // The panic, if any, came when it was removed.
        assert_eq!(removed.unwrap().number, 1);
        assert_eq!(queue.len(), 1);
        queue.offer(item(0, 2)).unwrap();
        assert_eq!(taker.join().unwrap(), 2);
        if !burnt {
            break;
        }
        calls += 1;
    }
    assert!(calls > 0);
}

/// Predicates are all the user code that the other queues run.
#[test]
fn a_predicate_that_panics_beside_waiting_threads_changes_nothing() {
    let queues: [Arc<dyn BlockingQueue<u32>>; 3] = [
        Arc::new(LinkedBlockingQueue::new()),
        Arc::new(LinkedBlockingDeque::new()),
        Arc::new(LinkedTransferQueue::new()),
    ];
    for queue in queues {
        queue.offer_all(0..5).unwrap();
        for bearable in 0..5 {
            let fuse = Fuse::default();
            fuse.light(bearable);
            let asks = |_: &u32| {
                fuse.burn();
                false
            };
            assert!(panics(|| drop(queue.retain(&mut { asks }))));
            fuse.light(bearable);
            assert!(panics(|| assert_eq!(
                queue.remove_first(&mut { asks }),
                None
            )));
            assert_eq!((queue.len(), queue.snapshot()), (5, vec![0, 1, 2, 3, 4]));
        }
        let theirs = Arc::clone(&queue);
        let taker = std::thread::spawn(move || [(); 6].map(|()| theirs.take().unwrap()));
        until("a taker", || queue.waiting().unwrap().takers == 1);
        queue.offer(7).unwrap();
        assert_eq!(taker.join().unwrap(), [0, 1, 2, 3, 4, 7]);
    }
}

/// A queue whose comparison panics while the flag is set.
fn panics_when_armed() -> (PriorityBlockingQueue<windlass::Task>, Arc<AtomicBool>) {
    let armed = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&armed);
    let queue = PriorityBlockingQueue::by_key(move |task: &windlass::Task| {
        if theirs.load(Ordering::SeqCst) {
            resume_unwind(Box::new("no order"));
        }
        task.priority()
    });
    (queue, armed)
}

/// A pool whose comparison panics once loses no task.
#[test]
fn a_stop_whose_comparison_panics_hands_everything_back_the_second_time() {
    let (queue, armed) = panics_when_armed();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(0)
        .maximum_pool_size(1)
        .keep_alive(Duration::ZERO)
        .work_queue(queue)
        .build()
        .unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    for _ in 0..9 {
        pool.execute(|| ()).unwrap();
    }
    armed.store(true, Ordering::SeqCst);
    assert!(panics(|| drop(pool.shutdown_now())));
    armed.store(false, Ordering::SeqCst);
    assert_eq!(pool.queue().len(), 9);
    assert_eq!(pool.shutdown_now().len(), 9);
    gate.open();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// Without a worker nobody else would notice that the pool has ended.
#[test]
fn a_stop_whose_comparison_panics_ends_a_pool_without_workers() {
    let (queue, armed) = panics_when_armed();
    for number in 0..3 {
        let task = windlass::Task::new(move || assert!(number < 3));
        queue.offer(task).unwrap();
    }
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(0)
        .maximum_pool_size(1)
        .work_queue(queue)
        .build()
        .unwrap();
    armed.store(true, Ordering::SeqCst);
    assert!(panics(|| drop(pool.shutdown_now())));
    assert!(pool.is_terminated());
    armed.store(false, Ordering::SeqCst);
    assert_eq!(pool.shutdown_now().len(), 3);
}
