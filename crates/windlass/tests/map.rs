//! `map`: a closure on every item, in order, with a bounded number in flight.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::executors::DirectExecutor;
use windlass::interrupt;
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::task::Cancellation;
use windlass::testing::{Gate, within_patience};
use windlass::{InvokeError, RejectionReason};

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

/// WL-144
#[test]
fn values_come_in_the_order_of_the_items_on_every_executor() {
    within_patience("maps", || {
        let words: Vec<String> = (0..500).map(|number| "x".repeat(number % 7)).collect();
        let lengths: Vec<usize> = words.iter().map(String::len).collect();
        let executors: [&dyn Executor; 4] = [
            &DirectExecutor::new(),
            &fixed(2),
            &ForkJoinPool::new(2).unwrap(),
            &ScheduledThreadPoolExecutor::new(1),
        ];
        for executor in executors {
            assert_eq!(executor.map(&words, String::len).unwrap(), lengths);
            assert_eq!(executor.map(&words[..0], String::len).unwrap(), [0; 0]);
            let bounded = executor.group().in_flight(0);
            assert_eq!(bounded.map(&words, String::len).unwrap(), lengths);
        }
        // Items may change what they borrow.
        let mut numbers = [1, 2, 3];
        fixed(2).map(&mut numbers, |number| *number *= 2).unwrap();
        assert_eq!(numbers, [2, 4, 6]);
    });
}

/// WL-145
#[test]
fn no_more_items_are_taken_than_may_be_in_flight() {
    within_patience("a map", || {
        let pool = fixed(4);
        let done = AtomicUsize::new(0);
        // An iterator that stays on this thread, and has no end until it is asked too early.
        let taken = Rc::new(AtomicUsize::new(0));
        let most = AtomicUsize::new(0);
        let items = (0..200).inspect(|_| {
            let ahead = taken.fetch_add(1, Ordering::SeqCst) - done.load(Ordering::SeqCst);
            most.fetch_max(ahead, Ordering::SeqCst);
        });
        let squares = pool.group().in_flight(3).map(items, |number| {
            done.fetch_add(1, Ordering::SeqCst);
            number * number
        });
        assert_eq!(squares.unwrap().last(), Some(&(199 * 199)));
        assert!(most.into_inner() <= 3);
    });
}

/// WL-146
#[test]
fn the_first_panic_or_error_stops_the_map() {
    within_patience("maps", || {
        let (pool, gate) = (fixed(2), Gate::new());
        let runs = AtomicUsize::new(0);
        // The item before the one that fails is still running: it is interrupted.
        let failed = pool.group().in_flight(8).map_fallible(0..1000, |number| {
            runs.fetch_add(1, Ordering::SeqCst);
            match number {
                0 => gate.pass().map_err(|_| "interrupted"),
                1 => {
                    gate.await_waiting(1);
                    Err("one")
                }
                _ => Ok(()),
            }
        });
        let InvokeError::Item(1, error) = failed.unwrap_err() else {
            panic!("not the item that failed")
        };
        assert_eq!(error.failure().unwrap().to_string(), "one");
        assert!(runs.into_inner() < 20);
        let panicked = pool.map([1, 0, 3], |divisor| 12 / divisor).unwrap_err();
        assert!(panicked.is_item() && panicked.to_string().starts_with("item 1: "));
    });
}

/// WL-147
#[test]
fn a_saturated_executor_delays_the_next_item() {
    within_patience("a map", || {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(1)
            .work_queue(ArrayBlockingQueue::new(2).unwrap())
            .build()
            .unwrap();
        let squares = pool
            .group()
            .in_flight(64)
            .map(0..300, |number| number * number);
        assert_eq!(
            squares.unwrap(),
            (0..300).map(|n| n * n).collect::<Vec<_>>()
        );
        pool.shutdown();
        let InvokeError::Rejected(rejected) = pool.map(0..3, |number| number).unwrap_err() else {
            panic!("it is shut down")
        };
        assert_eq!(rejected.reason(), RejectionReason::Shutdown);
    });
}

/// WL-148
#[test]
fn an_interrupt_or_a_deadline_ends_a_map() {
    within_patience("maps", || {
        let (pool, gate) = (Arc::new(fixed(1)), Gate::new());
        let theirs = (Arc::clone(&pool), gate.clone());
        let mapper = interrupt::spawn(move || theirs.0.map(0..9, |_| theirs.1.pass().is_ok()));
        gate.await_waiting(1);
        mapper.interrupt();
        let ended = mapper.join().unwrap().unwrap();
        assert!(ended.unwrap_err().is_interrupted());
        let limited = pool.group().timeout(Duration::from_millis(1));
        let late = limited.map(0..9, |_| gate.pass().is_ok());
        assert!(late.unwrap_err().is_timed_out());
    });
}

/// WL-149
#[test]
fn a_map_on_the_only_worker_of_a_pool_ends() {
    within_patience("a map", || {
        fn map_on_a_worker(pool: &(impl Executor + Clone + 'static)) {
            let inner = pool.clone();
            let lengths = pool.submit(move || {
                let words = ["a", "few", "words"];
                inner.map(&words, |word| word.len()).unwrap()
            });
            assert_eq!(lengths.unwrap().join().unwrap(), [1, 3, 5]);
        }
        map_on_a_worker(&Arc::new(ForkJoinPool::new(1).unwrap()));
        map_on_a_worker(&Arc::new(fixed(1)));
    });
}

/// WL-146
#[test]
fn a_task_of_a_map_that_is_drained_is_the_item_s_error() {
    within_patience("a map", || {
        let pool = Arc::new(fixed(1));
        let stopper = Arc::clone(&pool);
        let drained = pool.map(0..4, |number| {
            if number == 0 {
                drop(stopper.shutdown_now());
            }
            number
        });
        match drained.unwrap_err() {
            InvokeError::Item(at, error) => {
                assert!(at > 0);
                assert_eq!(error.cancellation(), Some(Cancellation::Drained));
            }
            InvokeError::Rejected(rejected) => assert!(rejected.is_shutdown()),
            other => panic!("{other}"),
        }
    });
}
