//! How are tasks run later or periodically, and how are they ended?
//!
//! A reminder after a delay, a heartbeat at a fixed rate, a job that fails and is reported, a cancel,
//! and a shutdown that lets delayed tasks run.
//!
//! `cargo run --release -p windlass --example scheduled_job`

use std::error::Error;
use std::time::Duration;

use windlass::prelude::*;

const TICK: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    // A failure ends a periodic task. This handler reports it without anybody waiting for a handle.
    let pool = ScheduledThreadPoolExecutor::builder()
        .name("jobs")
        .core_pool_size(2)
        .on_periodic_failure(|id, _, failure| println!("{id} has ended: {failure}"))
        .build();

    // Between the third and the fourth beat.
    let reminder = pool.schedule(TICK * 11 / 4, || "tea is ready")?;

    let mut beats = 0;
    let heartbeat = pool.schedule_at_fixed_rate(Duration::ZERO, TICK, move || {
        beats += 1;
        println!("beat {beats}");
    })?;

    let mut left = 3;
    let mut fragile = pool.schedule_with_fixed_delay_fallible(TICK / 2, TICK, move || {
        left -= 1;
        println!("{left} left");
        if left > 0 {
            Ok(())
        } else {
            Err("nothing left to do")
        }
    })?;

    println!("the reminder is due in {:.0?}", reminder.delay());
    let says = reminder.join()?;
    println!("the reminder says: {says}");
    assert_eq!(says, "tea is ready");

    let error = fragile.get().expect_err("its third run fails");
    println!("after {} runs: {error}", fragile.runs());
    assert_eq!(fragile.runs(), 3, "and it is not repeated");

    heartbeat.cancel();
    println!("the heart beat {} times", heartbeat.runs());
    assert!(heartbeat.is_cancelled());

    // By default a shutdown lets delayed tasks run, and cancels periodic ones.
    let last = pool.schedule(TICK, || println!("the last task"))?;
    pool.close();
    assert!(last.is_done(), "the shutdown has waited for it");
    last.join()?;
    println!("{}", pool.stats());
    Ok(())
}
