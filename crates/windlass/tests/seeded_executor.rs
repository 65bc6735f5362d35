//! What the executor with a seed promises: it finds order bugs, and finds them again.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windlass::prelude::*;
use windlass::queue::LinkedBlockingQueue;
use windlass::testing::{SeededExecutor, within_patience};

/// Two deposits, each of which reads in one task and writes in the next.
fn deposits(executor: &SeededExecutor) {
    let balance = Arc::new(AtomicU32::new(0));
    for name in ["first", "second"] {
        let (pool, balance) = (executor.clone(), Arc::clone(&balance));
        let read = move || {
            let seen = balance.load(Ordering::Relaxed);
            let write = move || balance.store(seen + 1, Ordering::Relaxed);
            pool.task()
                .name(format!("{name} writes"))
                .execute(write)
                .unwrap();
        };
        executor
            .task()
            .name(format!("{name} reads"))
            .execute(read)
            .unwrap();
    }
    executor.run_until_idle();
    assert_eq!(balance.load(Ordering::Relaxed), 2, "a deposit is lost");
}

/// A long chain of tasks, at whose end a setting is read that one other task makes.
fn late_setting(executor: &SeededExecutor) {
    fn step(executor: &SeededExecutor, left: u32, setting: Arc<AtomicU32>) {
        let inner = executor.clone();
        let body = move || match left {
            0 => assert_eq!(
                setting.load(Ordering::Relaxed),
                1,
                "read before it was made"
            ),
            _ => step(&inner, left - 1, setting),
        };
        executor.execute(body).unwrap();
    }
    let setting = Arc::new(AtomicU32::new(0));
    step(executor, 15, Arc::clone(&setting));
    executor
        .execute(move || setting.store(1, Ordering::Relaxed))
        .unwrap();
}

/// WL-230
#[test]
fn a_lost_update_is_found_within_a_few_seeds() {
    let failing = SeededExecutor::find(0..20, deposits).expect("it is found");
    assert!(failing.message().contains("a deposit is lost"), "{failing}");
    // Both read before one of them writes.
    let order = failing.order().join(", ");
    assert!(
        order.contains("first reads") && order.contains("second reads"),
        "{order}"
    );
}

/// WL-230
#[test]
fn a_task_that_has_to_come_after_a_long_chain_is_found_by_ranks() {
    let failing = SeededExecutor::find(0..100, late_setting).expect("it is found");
    assert_eq!(failing.seed() % 2, 1, "{failing}");
}

/// WL-231
#[test]
fn a_failing_seed_fails_again_in_the_same_order() {
    for test in [deposits, late_setting] {
        let failing = SeededExecutor::find(0..100, test).expect("it is found");
        for _ in 0..3 {
            let again = SeededExecutor::find([failing.seed()], test);
            assert_eq!(again.as_ref(), Some(&failing));
        }
    }
}

/// WL-231
#[test]
fn a_check_that_fails_names_the_seed_and_the_order() {
    let failing = SeededExecutor::find(0..20, deposits).expect("it is found");
    let checked = catch_unwind(AssertUnwindSafe(|| SeededExecutor::check(0..20, deposits)));
    let payload = checked.expect_err("it fails");
    let message = payload.downcast_ref::<String>().expect("a text");
    assert_eq!(*message, failing.to_string());
    assert!(
        message.starts_with(&format!("fails with seed {}:", failing.seed())),
        "{message}"
    );
}

/// WL-230
#[test]
fn correct_code_passes_with_every_seed() {
    SeededExecutor::check(0..200, |executor| {
        let balance = Arc::new(AtomicU32::new(0));
        for _ in 0..5 {
            let balance = Arc::clone(&balance);
            executor
                .execute(move || drop(balance.fetch_add(1, Ordering::Relaxed).to_string()))
                .unwrap();
        }
        executor.run_until_idle();
        assert_eq!(balance.load(Ordering::Relaxed), 5);
    });
}

/// WL-230
#[test]
fn an_order_in_which_tasks_wait_for_each_other_forever_is_found() {
    let failing = within_patience("the deadlock", || {
        SeededExecutor::find(0..50, |executor| {
            let (slots, inner) = (Arc::new(LinkedBlockingQueue::new()), executor.clone());
            // Each waits for the handle that the other has put: fine, unless both run at once.
            let handles = [0, 1].map(|mine| {
                let (slots, inner) = (Arc::clone(&slots), inner.clone());
                executor
                    .submit(move || {
                        if mine == 0 {
                            inner.run_until_idle();
                        }
                        while let Some(other) = slots.poll() {
                            let other: windlass::task::TaskControl = other;
                            let _ = other.wait();
                        }
                    })
                    .unwrap()
            });
            slots.offer(handles[0].control()).unwrap();
            executor.run_until_idle();
            for handle in handles {
                handle.join().unwrap();
            }
        })
    });
    assert!(failing.expect("it is found").message().contains("deadlock"));
}

/// WL-230
#[test]
fn waits_and_delays_work_with_every_seed() {
    within_patience("all seeds", || {
        SeededExecutor::check(0..50, |executor| {
            let inner = executor.clone();
            let sum = executor.submit(move || {
                let parts: Vec<_> = (1..=4).map(|n| inner.submit(move || n).unwrap()).collect();
                parts
                    .into_iter()
                    .map(|part| part.join().unwrap())
                    .sum::<i32>()
            });
            let hour = Duration::from_secs(3600);
            let later = executor.schedule(hour, || 5).unwrap();
            assert_eq!(sum.unwrap().join().unwrap() + later.join().unwrap(), 15);
            assert_eq!(executor.clock().elapsed(), hour);
        });
    });
}
