//! How is a task stopped, and how long does one wait for it?
//!
//! Three tools: `get_timeout` stops waiting and leaves the task running; `cancel` discards the
//! result; `cancel_now` also interrupts the running code. Interruption is cooperative: it ends waits
//! of Windlass, and code that computes has to call `interrupt::check`.
//!
//! `cargo run --release -p windlass --example cancel_and_timeout`

use std::error::Error;
use std::time::Duration;

use windlass::prelude::*;
use windlass::{InvokeError, interrupt};

/// Counts primes until it is done or interrupted.
fn primes_below(bound: u32) -> Result<usize, interrupt::Interrupted> {
    let mut count = 0;
    for n in 2..bound {
        interrupt::check()?;
        if (2..n)
            .take_while(|divisor| divisor * divisor <= n)
            .all(|divisor| n % divisor != 0)
        {
            count += 1;
        }
    }
    Ok(count)
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(2)?;

    println!("1. A timed get leaves the task running; a later join returns the value.");
    let mut slow = pool.submit(|| primes_below(60_000))?;
    if let Err(error) = slow.get_timeout(Duration::from_micros(1)) {
        println!("   after 1 us: {error}");
    }
    println!("   after all: {:?} primes", slow.join()??);

    println!("2. cancel_now interrupts a computation that would take forever.");
    let endless = pool.submit(|| primes_below(u32::MAX))?;
    let _ = endless.wait_timeout(Duration::from_millis(10));
    assert!(endless.cancel_now());
    println!("   {}", endless.join().expect_err("cancelled"));

    println!("3. A dropped handle detaches its task, unless it cancels on drop.");
    let guarded = pool.submit(|| primes_below(u32::MAX))?.cancel_on_drop();
    let control = guarded.control();
    drop(guarded);
    println!("   the task is {:?}", control.state());

    println!(
        "4. invoke_all with a deadline: late tasks are cancelled, the others keep their values."
    );
    let bounds = [100, u32::MAX, 1_000];
    let bodies = bounds.map(|bound| move || primes_below(bound));
    for (bound, handle) in bounds
        .into_iter()
        .zip(pool.invoke_all_timeout(bodies, Duration::from_millis(50))?)
    {
        match handle.join() {
            Ok(count) => println!("   below {bound}: {:?}", count?),
            Err(error) => println!("   below {bound}: {error}"),
        }
    }

    println!("5. invoke_any with a deadline: the first success, or none in time.");
    let none =
        pool.invoke_any_fallible_timeout([|| primes_below(u32::MAX)], Duration::from_millis(10));
    assert!(matches!(none, Err(InvokeError::TimedOut)));
    println!("   {}", none.expect_err("it takes forever"));

    pool.close();
    println!("Nothing is left running: {pool:?}");
    Ok(())
}
