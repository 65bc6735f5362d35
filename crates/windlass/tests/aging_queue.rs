//! What the queue of priorities that age promises beyond the common contract.

#[path = "kit/time.rs"]
mod time;

use std::time::Duration;

use time::{HOUR, Log, SECOND};
use windlass::clock::TestClock;
use windlass::prelude::*;
use windlass::queue::AgingQueue;
use windlass::task::Task;
use windlass::testing::Gate;

fn queue() -> AgingQueue<(i32, u64)> {
    AgingQueue::new(SECOND, |element: &(i32, u64)| element.0)
}

/// WL-210
#[test]
fn lower_priorities_leave_first_and_equals_in_order_of_arrival() {
    TestClock::new().enter(|| {
        let queue = queue();
        queue
            .offer_all([(3, 0), (1, 1), (2, 2), (1, 3), (-5, 4)])
            .unwrap();
        assert_eq!(queue.drain(9), [(-5, 4), (1, 1), (1, 3), (2, 2), (3, 0)]);
    });
}

/// WL-210
#[test]
fn an_element_gains_a_level_for_each_step_that_it_waits() {
    let clock = TestClock::new();
    clock.enter(|| {
        let queue = queue();
        queue.offer((3, 0)).unwrap();
        clock.advance(2 * SECOND - Duration::from_nanos(1));
        queue.offer((1, 1)).unwrap();
        assert_eq!(
            queue.poll(),
            Some((1, 1)),
            "the other is a nanosecond too young"
        );
        clock.advance(Duration::from_nanos(1));
        queue.offer((1, 2)).unwrap();
        assert_eq!(queue.poll(), Some((3, 0)));
    });
}

/// WL-211
#[test]
fn no_element_waits_behind_an_endless_stream_of_more_urgent_ones() {
    let clock = TestClock::new();
    clock.enter(|| {
        let queue = queue();
        queue.offer((10, 0)).unwrap();
        let mut seconds = 0;
        let waited = loop {
            queue.offer((0, 1)).unwrap();
            if queue.poll() == Some((10, 0)) {
                break seconds;
            }
            clock.advance(SECOND);
            seconds += 1;
            assert!(seconds < 100, "it starves");
        };
        assert_eq!(waited, 10);
    });
}

/// WL-210
#[test]
fn extremes_of_priority_and_step_do_not_overflow() {
    TestClock::new().enter(|| {
        let queue = AgingQueue::new(Duration::MAX, |&priority: &i32| priority);
        queue.offer_all([i32::MAX, i32::MIN, 0]).unwrap();
        assert_eq!(queue.drain(9), [i32::MIN, 0, i32::MAX]);
        let fifo = AgingQueue::new(Duration::ZERO, |&priority: &i32| priority);
        fifo.offer_all([i32::MAX, i32::MIN, 0]).unwrap();
        assert_eq!(fifo.drain(9), [i32::MAX, i32::MIN, 0]);
    });
}

/// WL-211
#[test]
fn a_pool_runs_old_tasks_of_low_urgency_before_new_ones() {
    let (clock, log, gate) = (TestClock::new(), Log::new(), Gate::new());
    let pool = clock.enter(|| {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(1)
            .work_queue(AgingQueue::new(SECOND, Task::priority))
            .build()
            .unwrap();
        let inside = gate.clone();
        pool.execute(move || inside.pass_uninterruptibly()).unwrap();
        let submit = |name: &'static str, priority| {
            let log = log.clone();
            let task = pool.task().priority(priority);
            task.execute(move || log.record(name)).unwrap();
        };
        submit("old report", 100);
        clock.advance(HOUR);
        submit("report", 100);
        submit("click", 0);
        pool
    });
    gate.open();
    assert_eq!(log.take(3), ["old report", "click", "report"]);
    pool.close();
}
