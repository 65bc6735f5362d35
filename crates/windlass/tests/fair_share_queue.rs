//! What the queue of fair shares promises beyond the common contract.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

#[path = "kit/threads.rs"]
mod threads;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use threads::Blockers;
use windlass::interrupt::spawn;
use windlass::prelude::*;
use windlass::queue::{CapacityError, FairShareQueue, PutError};
use windlass::task::Task;
use windlass::testing::{await_putters, join};

type Job = (&'static str, u32);

fn queue() -> FairShareQueue<Job, &'static str> {
    FairShareQueue::new(|job: &Job| job.0)
}

fn weight(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn fill(queue: &FairShareQueue<Job, &'static str>, tenant: &'static str, jobs: u32) {
    queue.offer_all((0..jobs).map(|n| (tenant, n))).unwrap();
}

/// Returns how many of the next `count` elements belong to each tenant.
fn shares(queue: &FairShareQueue<Job, &'static str>, count: usize) -> HashMap<&'static str, usize> {
    let mut shares = HashMap::new();
    for (tenant, _) in queue.drain(count) {
        *shares.entry(tenant).or_default() += 1;
    }
    shares
}

/// WL-212
#[test]
fn a_tenant_does_not_wait_behind_the_backlog_of_another() {
    let queue = queue();
    fill(&queue, "big", 1000);
    fill(&queue, "small", 2);
    let first = queue.drain(5);
    assert_eq!(
        first.iter().filter(|job| job.0 == "small").count(),
        2,
        "{first:?}"
    );
}

/// WL-212
#[test]
fn elements_leave_in_proportion_to_the_weights() {
    let queue = queue();
    queue.set_weight("a", weight(3));
    queue.set_weight("b", weight(2));
    for tenant in ["a", "b", "c"] {
        fill(&queue, tenant, 600);
    }
    let shares = shares(&queue, 600);
    assert_eq!((shares["a"], shares["b"], shares["c"]), (300, 200, 100));
}

/// WL-212
#[test]
fn the_elements_of_one_tenant_leave_in_order_of_arrival() {
    let queue = queue();
    for n in 0..50 {
        queue.offer_all([("a", n), ("b", n)]).unwrap();
    }
    let all = queue.drain(100);
    for tenant in ["a", "b"] {
        let own = all.iter().filter(|job| job.0 == tenant).map(|job| job.1);
        assert!(own.eq(0..50), "{tenant}");
    }
}

/// WL-213
#[test]
fn a_weight_that_is_changed_counts_for_the_backlog() {
    let queue = queue();
    fill(&queue, "a", 1000);
    fill(&queue, "b", 1000);
    assert_eq!(shares(&queue, 100)["a"], 50);
    assert_eq!(queue.set_weight("a", weight(9)), weight(1));
    // Each may have had its next turn already.
    let at_nine = shares(&queue, 100)["a"];
    assert!((89..=91).contains(&at_nine), "{at_nine}");
    assert_eq!(queue.set_weight("a", weight(1)), weight(9));
    let at_one = shares(&queue, 100)["a"];
    assert!((49..=51).contains(&at_one), "{at_one}");
}

/// WL-214
#[test]
fn an_idle_tenant_gains_no_credit() {
    let queue = queue();
    fill(&queue, "idle", 1);
    fill(&queue, "busy", 1000);
    drop(queue.drain(500));
    fill(&queue, "idle", 400);
    let shares = shares(&queue, 100);
    assert_eq!((shares["idle"], shares["busy"]), (50, 50));
}

/// WL-214
#[test]
fn a_tenant_with_one_element_at_a_time_gets_its_share_and_no_more() {
    let queue = queue();
    queue.set_weight("heavy", weight(9));
    fill(&queue, "heavy", 1000);
    let mut light = 0;
    queue.offer(("light", 0)).unwrap();
    for _ in 0..500 {
        if queue.poll().unwrap().0 == "light" {
            light += 1;
            queue.offer(("light", light)).unwrap();
        }
    }
    assert!((50..=51).contains(&light), "{light}");
}

/// WL-215
#[test]
fn tenants_that_are_gone_leave_nothing_behind() {
    let queue = FairShareQueue::new(|&tenant: &u32| tenant);
    queue.offer_all(0..10_000).unwrap();
    assert_eq!(queue.key_count(), 10_000);
    assert_eq!(queue.drain(usize::MAX).len(), 10_000);
    assert_eq!((queue.key_count(), queue.len()), (0, 0));
    // Also while one tenant keeps the queue busy.
    for visitor in 1..10_000 {
        queue.offer_all([0, 0, visitor]).unwrap();
        drop(queue.drain(2));
    }
    let mut known = 0;
    while queue.len() > 1 {
        let _ = queue.poll();
        known = queue.key_count();
    }
    assert!(known <= 2, "{known}");
}

/// WL-216
#[test]
fn a_bound_holds_for_the_tenant_that_has_reached_it_only() {
    let queue = queue().bound_per_key(2).unwrap();
    fill(&queue, "a", 2);
    assert_eq!(queue.offer(("a", 2)), Err(PutError::Full(("a", 2))));
    assert!(queue.offer(("b", 0)).is_ok());
    assert_eq!(
        (queue.len_of(&"a"), queue.len_of(&"b"), queue.len()),
        (2, 1, 3)
    );
    let timeout = Duration::from_millis(1);
    assert_eq!(
        queue.offer_timeout(("a", 2), timeout),
        Err(PutError::TimedOut(("a", 2)))
    );
    assert_eq!(bounded(0), Err(CapacityError::Zero));
}

fn bounded(bound: usize) -> Result<(), CapacityError> {
    queue().bound_per_key(bound).map(drop)
}

/// WL-216
#[test]
fn a_submitter_that_waits_for_its_tenant_gets_the_room_of_its_tenant() {
    let queue = Arc::new(queue().bound_per_key(1).unwrap());
    for tenant in ["a", "b"] {
        queue.offer((tenant, 0)).unwrap();
    }
    let putters = ["a", "b"].map(|tenant| {
        let theirs = Arc::clone(&queue);
        let putter = spawn(move || theirs.put((tenant, 1)).unwrap());
        let waiting = if tenant == "a" { 1 } else { 2 };
        await_putters(&*queue, waiting);
        putter
    });
    // The room of b, for which another waits longer.
    assert_eq!(queue.remove_first(&mut |job| job.0 == "b"), Some(("b", 0)));
    let [first, second] = putters;
    join("the submitter of b", second);
    await_putters(&*queue, 1);
    assert_eq!(queue.remove_first(&mut |job| job.0 == "a"), Some(("a", 0)));
    join("the submitter of a", first);
    assert_eq!(queue.len(), 2);
}

/// WL-212
#[test]
fn what_a_shutdown_returns_is_in_order_of_arrival() {
    let queue = queue();
    for n in 0..5 {
        queue.offer_all([("a", n), ("b", n)]).unwrap();
    }
    let expected: Vec<_> = (0..5).flat_map(|n| [("a", n), ("b", n)]).collect();
    assert_eq!(queue.snapshot(), expected);
    assert_eq!(queue.drain_all(), expected);
}

/// WL-217
#[test]
fn a_limit_for_each_tenant_composes_with_shares() {
    let tenant = |task: &Task| task.name().map(str::to_owned);
    let queue = FairShareQueue::new(tenant).limit_per_key(1).unwrap();
    for name in ["a", "a", "b"] {
        let task = Task::builder().name(name).build(|| ());
        assert!(queue.offer(task).is_ok());
    }
    let taken = queue.drain(9);
    let names: Vec<_> = taken.iter().map(|task| task.name().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(queue.poll().is_none());
    drop(taken);
    assert_eq!(queue.poll().unwrap().name(), Some("a"));
    assert_eq!(queue.key_count(), 0);
}

/// WL-212
#[test]
fn a_pool_serves_a_small_tenant_beside_a_large_one() {
    let queue = FairShareQueue::new(|task: &Task| task.name().map(str::to_owned));
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(queue)
        .build()
        .unwrap();
    let gate = Blockers::default();
    pool.execute(gate.body()).unwrap();
    let (log, order) = channel();
    for (tenant, count) in [("large", 50), ("small", 1)] {
        for _ in 0..count {
            let log = log.clone();
            let note = move || log.send(tenant).unwrap();
            pool.task().name(tenant).execute(note).unwrap();
        }
    }
    gate.release();
    pool.close();
    let place = order
        .try_iter()
        .position(|tenant| tenant == "small")
        .unwrap();
    assert!(place <= 2, "the small tenant came at place {place}");
}
