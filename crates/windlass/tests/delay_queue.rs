//! What the delay queue promises beyond the common contract.
//!
//! All times are those of a test clock: nothing here waits for real time to pass.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass::clock::TestClock;
use windlass::interrupt::{Interrupted, JoinHandle, spawn};
use windlass::queue::{BlockingQueue, BlockingQueueExt, DelayQueue, Delayed};
use windlass::testing::{Gate, PATIENCE, await_takers, join, until};

const SECOND: Duration = Duration::from_secs(1);

/// An element with the number of seconds after which it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    seconds: u32,
    at: Instant,
}

impl Delayed for Due {
    fn deadline(&self) -> Instant {
        self.at
    }
}

/// A queue on a clock that stands still.
struct Scene {
    clock: TestClock,
    start: Instant,
    queue: Arc<DelayQueue<Due>>,
}

impl Scene {
    fn with(seconds: impl IntoIterator<Item = u32>) -> Self {
        let clock = TestClock::new();
        let scene = Self {
            start: clock.now(),
            clock,
            queue: Arc::new(DelayQueue::new()),
        };
        seconds.into_iter().for_each(|due| scene.offer(due));
        scene
    }

    fn due(&self, seconds: u32) -> Due {
        let at = self.start + seconds * SECOND;
        Due { seconds, at }
    }

    fn offer(&self, seconds: u32) {
        assert!(self.queue.offer(self.due(seconds)).is_ok());
    }

    fn advance(&self, seconds: u32) {
        self.clock.advance(seconds * SECOND);
    }

    fn poll(&self) -> Option<u32> {
        self.clock
            .enter(|| self.queue.poll())
            .map(|due| due.seconds)
    }

    fn drain(&self, max: usize) -> Vec<u32> {
        let drained = self.clock.enter(|| self.queue.drain(max));
        drained.iter().map(|due| due.seconds).collect()
    }

    fn spawn_take(&self) -> JoinHandle<Result<u32, Interrupted>> {
        let queue = Arc::clone(&self.queue);
        let take = move || queue.take().map(|due| due.seconds);
        self.clock.enter(|| spawn(take))
    }

    fn spawn_poll(&self, timeout: Duration) -> JoinHandle<Result<Option<u32>, Interrupted>> {
        let queue = Arc::clone(&self.queue);
        let poll = move || Ok(queue.poll_timeout(timeout)?.map(|due| due.seconds));
        self.clock.enter(|| spawn(poll))
    }

    /// Waits until a thread is in a timed wait that ends in exactly this time.
    fn await_alarm(&self, after: Duration) {
        until("a sleeper", || self.clock.next_wake_up() == Some(after));
    }
}

/// DLQ-001
#[test]
fn insertion_never_waits_and_there_is_no_bound() {
    let scene = Scene::with([]);
    for seconds in 0..100 {
        scene.offer(seconds);
        scene.queue.put(scene.due(seconds)).unwrap();
        let timed = scene
            .queue
            .offer_timeout(scene.due(seconds), Duration::ZERO);
        assert_eq!(timed, Ok(()));
        assert_eq!(scene.queue.remaining_capacity(), None);
    }
    assert_eq!(scene.queue.len(), 300);
}

/// DLQ-002
#[test]
fn take_gives_elements_when_they_are_due_and_the_earliest_first() {
    let scene = Scene::with((1..=20).rev());
    for seconds in 1..=20 {
        let taker = scene.spawn_take();
        scene.await_alarm(SECOND);
        assert!(!taker.is_finished());
        scene.advance(1);
        assert_eq!(join("taker", taker), Ok(seconds));
    }
}

/// DLQ-003
#[test]
fn poll_finds_nothing_while_the_head_is_not_due() {
    let scene = Scene::with([5, 3, 4]);
    scene.advance(2);
    assert_eq!(scene.poll(), None);
    scene.advance(1);
    assert_eq!((scene.poll(), scene.poll()), (Some(3), None));
}

/// DLQ-004
#[test]
fn a_timed_poll_gives_up_if_the_head_is_due_later() {
    let scene = Scene::with([5]);
    let poller = scene.spawn_poll(2 * SECOND);
    scene.await_alarm(2 * SECOND);
    scene.advance(2);
    assert_eq!(join("poller", poller), Ok(None));
    assert_eq!(scene.queue.len(), 1);
}

/// DLQ-004
#[test]
fn a_timed_poll_gets_the_head_as_soon_as_it_is_due() {
    let scene = Scene::with([2]);
    let poller = scene.spawn_poll(5 * SECOND);
    scene.await_alarm(2 * SECOND);
    scene.advance(2);
    assert_eq!(join("poller", poller), Ok(Some(2)));
}

/// DLQ-005
#[test]
fn peeking_shows_the_next_element_long_before_it_is_due() {
    let scene = Scene::with([7, 5]);
    assert_eq!(scene.queue.peek_cloned(), Some(scene.due(5)));
    assert_eq!(scene.poll(), None);
}

/// DLQ-006
#[test]
fn elements_that_are_not_due_are_members_like_all_others() {
    let scene = Scene::with(1..=4);
    assert_eq!(scene.queue.len(), 4);
    assert!(scene.queue.contains(&mut |due| due.seconds == 3));
    assert_eq!(scene.queue.snapshot().len(), 4);
    let removed = scene.queue.remove_first(&mut |due| due.seconds == 3);
    assert_eq!(removed, Some(scene.due(3)));
    assert_eq!(
        scene.queue.retain(&mut |due| due.seconds != 2),
        [scene.due(2)]
    );
    assert_eq!(scene.queue.len(), 2);
    scene.queue.clear();
    assert!(scene.queue.is_empty());
}

/// DLQ-007
#[test]
fn draining_takes_what_is_due_and_drain_all_takes_everything() {
    let scene = Scene::with([2, 9, 1, 3]);
    scene.advance(3);
    assert_eq!(scene.drain(2), [1, 2]);
    assert_eq!(scene.drain(9), [3]);
    assert_eq!(scene.drain(9), []);
    assert_eq!(scene.queue.drain_all(), [scene.due(9)]);
}

/// DLQ-008
#[test]
fn an_earlier_element_wakes_a_taker_that_waits_for_a_later_one() {
    let scene = Scene::with([60]);
    let taker = scene.spawn_take();
    scene.await_alarm(60 * SECOND);
    scene.offer(1);
    scene.await_alarm(SECOND);
    scene.advance(1);
    assert_eq!(join("taker", taker), Ok(1));
}

/// DLQ-009
#[test]
fn of_many_takers_one_keeps_a_timer() {
    let scene = Scene::with([1, 2, 3]);
    let takers: Vec<_> = (0..20).map(|_| scene.spawn_take()).collect();
    for taken in 0..3 {
        await_takers(&*scene.queue, 20 - taken);
        assert!(scene.clock.await_sleepers(1, PATIENCE));
        assert_eq!(scene.clock.sleepers(), 1);
        scene.advance(1);
        until("one more taken", || scene.queue.len() == 2 - taken);
    }
    await_takers(&*scene.queue, 17);
    takers.iter().for_each(JoinHandle::interrupt);
    let served = takers
        .into_iter()
        .filter_map(|taker| join("taker", taker).ok());
    assert_eq!(served.count(), 3);
}

/// DLQ-010
#[test]
fn a_leader_that_is_interrupted_hands_over() {
    let scene = Scene::with([1]);
    let leader = scene.spawn_take();
    scene.await_alarm(SECOND);
    let other = scene.spawn_take();
    await_takers(&*scene.queue, 2);
    leader.interrupt();
    assert!(join("leader", leader).is_err());
    scene.await_alarm(SECOND);
    scene.advance(1);
    assert_eq!(join("heir", other), Ok(1));
}

/// DLQ-010
#[test]
fn a_leader_that_runs_out_of_time_hands_over() {
    let scene = Scene::with([2]);
    let leader = scene.spawn_poll(SECOND);
    scene.await_alarm(SECOND);
    let other = scene.spawn_take();
    await_takers(&*scene.queue, 2);
    scene.advance(1);
    assert_eq!(join("leader", leader), Ok(None));
    scene.await_alarm(SECOND);
    scene.advance(1);
    assert_eq!(join("heir", other), Ok(2));
}

/// DLQ-010
#[test]
fn a_leader_that_takes_its_element_hands_over() {
    let scene = Scene::with([1, 2]);
    let takers = [(); 2].map(|()| scene.spawn_take());
    await_takers(&*scene.queue, 2);
    scene.await_alarm(SECOND);
    scene.advance(1);
    await_takers(&*scene.queue, 1);
    scene.await_alarm(SECOND);
    scene.advance(1);
    let mut got = takers.map(|taker| join("taker", taker).unwrap());
    got.sort_unstable();
    assert_eq!(got, [1, 2]);
}

/// DLQ-011
#[test]
fn the_longest_delay_neither_overflows_nor_is_over_at_once() {
    let scene = Scene::with([]);
    scene.advance(10);
    let at = scene
        .clock
        .enter(|| DelayQueue::<Due>::after(Duration::MAX));
    scene.queue.offer(Due { seconds: 99, at }).unwrap();
    assert_eq!(scene.poll(), None);
    assert_eq!(scene.queue.peek_cloned().map(|due| due.seconds), Some(99));
    let taker = scene.spawn_take();
    assert!(scene.clock.await_sleepers(1, PATIENCE));
    scene.offer(5);
    assert_eq!(join("taker", taker), Ok(5));
}

/// DLQ-012
#[test]
fn what_is_overdue_is_to_be_had_now_in_order_of_expiry() {
    let scene = Scene::with([]);
    scene.advance(10);
    for seconds in [10, 2, 7] {
        scene.offer(seconds);
    }
    assert_eq!(join("taker", scene.spawn_take()), Ok(2));
    assert_eq!((scene.poll(), scene.poll()), (Some(7), Some(10)));
}

/// DLQ-013
#[test]
fn a_traversal_that_has_begun_outlives_a_clear() {
    let scene = Scene::with([1, 2, 3]);
    let gate = Gate::new();
    let (queue, halt) = (Arc::clone(&scene.queue), gate.clone());
    let visitor = spawn(move || {
        let mut seen = 0;
        queue.for_each(&mut |_| {
            halt.pass_uninterruptibly();
            seen += 1;
        });
        seen
    });
    gate.await_waiting(1);
    let queue = Arc::clone(&scene.queue);
    let clearer = spawn(move || queue.clear());
    gate.open();
    assert_eq!(join("visitor", visitor), 3);
    join("clearer", clearer);
    assert_eq!(scene.queue.len(), 0);
}

/// DLQ-013
#[test]
fn removing_what_is_gone_does_nothing() {
    let scene = Scene::with([1]);
    let mut wanted = |due: &Due| due.seconds == 1;
    assert!(scene.queue.remove_first(&mut wanted).is_some());
    assert_eq!(scene.queue.remove_first(&mut wanted), None);
}
