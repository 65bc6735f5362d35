//! How does a service keep one tenant from slowing down all others?
//!
//! With its queue. A `FairShareQueue` shares the workers between tenants by weight, and limits how many
//! tasks of one tenant run at a time; an `AgingQueue` lets urgent tasks pass without starving the
//! others; a `RateLimited` executor keeps to the rate that somebody else's interface allows.
//!
//! `cargo run --release -p windlass --example fair_tenants`

use std::collections::BTreeMap;
use std::error::Error;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use windlass::clock::TestClock;
use windlass::executors::{DirectExecutor, Rate, RateLimited};
use windlass::prelude::*;
use windlass::queue::{AgingQueue, FairShareQueue};
use windlass::task::Task;

/// The tenant that a task belongs to; attached to each task.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Tenant(&'static str);

type Tenants = FairShareQueue<Task, Option<Tenant>>;

fn tenants() -> Tenants {
    FairShareQueue::new(|task: &Task| task.attachment::<Tenant>().copied())
}

fn pool(workers: usize, queue: &Arc<Tenants>) -> Result<ThreadPoolExecutor, Box<dyn Error>> {
    let builder = ThreadPoolExecutor::builder().core_pool_size(workers);
    Ok(builder.work_queue(Arc::clone(queue)).build()?)
}

/// Occupies the one worker until the sender is dropped or sends.
fn hold(pool: &ThreadPoolExecutor) -> Result<Sender<()>, Box<dyn Error>> {
    let (start, started) = channel();
    pool.execute(move || started.recv().unwrap_or(()))?;
    Ok(start)
}

/// Three tenants with weights 3, 2 and 1 flood one worker; the fourth has two tasks.
fn shares() -> Result<(), Box<dyn Error>> {
    let queue = Arc::new(tenants());
    for (tenant, weight) in [("gold", 3), ("silver", 2)] {
        let weight = NonZeroU32::new(weight).ok_or("a weight is above zero")?;
        queue.set_weight(Some(Tenant(tenant)), weight);
    }
    let pool = pool(1, &queue)?;
    let start = hold(&pool)?;
    let (log, order) = channel();
    for (tenant, tasks) in [
        ("gold", 100),
        ("silver", 100),
        ("bronze", 100),
        ("guest", 2),
    ] {
        for _ in 0..tasks {
            let log = log.clone();
            let note = move || log.send(tenant).expect("somebody listens");
            pool.task().attach(Tenant(tenant)).execute(note)?;
        }
    }
    drop(start);
    pool.close();
    let mut served = BTreeMap::new();
    for tenant in order.try_iter().take(62) {
        *served.entry(tenant).or_insert(0) += 1;
    }
    let of = |tenant| format!("{} of {tenant}", served[tenant]);
    let shares = ["gold", "silver", "bronze", "guest"].map(of).join(", ");
    println!("of the first 62 of 302 tasks: {shares}");
    assert_eq!(served["guest"], 2);
    assert_eq!(
        (served["gold"], served["silver"], served["bronze"]),
        (30, 20, 10)
    );
    Ok(())
}

/// A tenant with slow tasks gets two of four workers, however many tasks it has.
fn limits() -> Result<(), Box<dyn Error>> {
    let queue = Arc::new(tenants().limit_per_key(2)?);
    let pool = pool(4, &queue)?;
    let running = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    // The tasks meet in pairs: none ends alone.
    let pair = Arc::new(Barrier::new(2));
    for _ in 0..100 {
        let (running, pair) = (Arc::clone(&running), Arc::clone(&pair));
        pool.task().attach(Tenant("slow")).execute(move || {
            let [now, most] = &*running;
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            pair.wait();
            now.fetch_sub(1, Ordering::SeqCst);
        })?;
    }
    pool.close();
    let most = running[1].load(Ordering::SeqCst);
    println!("100 tasks of one tenant on 4 workers, limit 2: {most} at a time, at most");
    assert_eq!(most, 2);
    Ok(())
}

/// A report of low priority beside an endless stream of clicks.
fn aging() -> Result<(), Box<dyn Error>> {
    let (clock, second) = (TestClock::new(), Duration::from_secs(1));
    clock.enter(|| {
        let queue = AgingQueue::new(second, |job: &(i32, &str)| job.0);
        queue.offer((30, "report"))?;
        let mut waited = 0;
        loop {
            queue.offer((0, "click"))?;
            if queue.poll() == Some((30, "report")) {
                break;
            }
            clock.advance(second);
            waited += 1;
        }
        println!("a report of priority 30 ran after {waited} s of clicks of priority 0");
        assert_eq!(waited, 30);
        Ok(())
    })
}

/// Ten calls at once to an interface that allows five, and then two in a second.
fn rate() -> Result<(), Box<dyn Error>> {
    let clock = TestClock::new();
    let timer = Arc::new(clock.enter(|| executors::scheduled_thread_pool(1)));
    let burst = NonZeroU32::new(5).ok_or("a burst is above zero")?;
    let rate = Rate::every(Duration::from_millis(500)).burst(burst);
    let limited =
        clock.enter(|| RateLimited::delaying(DirectExecutor::new(), rate, Arc::clone(&timer)));
    let (calls, times) = channel();
    for _ in 0..10 {
        let (calls, now) = (calls.clone(), clock.clone());
        limited.execute(move || {
            let passed = calls.send(now.elapsed().as_millis());
            passed.expect("somebody listens");
        })?;
    }
    drop(calls);
    let mut passed: Vec<_> = times.try_iter().collect();
    while passed.len() < 10 {
        assert!(clock.await_sleepers(1, Duration::from_secs(10)));
        clock.advance(clock.next_wake_up().unwrap_or_default());
        passed.push(times.recv()?);
    }
    println!("ten calls at five at once and then two in a second, in ms: {passed:?}");
    assert_eq!(passed, [0, 0, 0, 0, 0, 500, 1000, 1500, 2000, 2500]);
    limited.close();
    timer.close();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    shares()?;
    limits()?;
    aging()?;
    rate()
}
