//! How does a service survive that one of its suppliers hangs? With bulkheads and a circuit breaker.
//!
//! 1. One pool for all suppliers: those that hang take all workers, and the healthy one is not served either.
//! 2. A pool for each supplier, its bulkhead: the damage stays in one of them.
//! 3. A circuit breaker in front of that one: after a few failures it does not even try, and answers at once with a fallback;
//!    after a pause it lets one call through, and closes if that succeeds.
//!
//! `cargo run --release -p windlass --example bulkheads`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass::pool::ThreadPoolExecutor;
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::{clock, interrupt};

/// Far more than a healthy supplier takes, also on a busy machine.
const LIMIT: Duration = Duration::from_millis(100);

fn pool(name: &str, workers: usize) -> Result<ThreadPoolExecutor, Box<dyn Error>> {
    let builder = ThreadPoolExecutor::builder()
        .name(name)
        .core_pool_size(workers);
    Ok(builder.work_queue(ArrayBlockingQueue::new(4)?).build()?)
}

/// A supplier that can be made to hang.
#[derive(Clone, Default)]
struct Supplier(Arc<AtomicBool>);

impl Supplier {
    fn hang(&self, hangs: bool) {
        self.0.store(hangs, Ordering::SeqCst);
    }

    fn ask(&self) -> Result<&'static str, interrupt::Interrupted> {
        let hangs = self.0.load(Ordering::SeqCst);
        interrupt::sleep(if hangs {
            Duration::from_secs(3_600)
        } else {
            Duration::from_millis(1)
        })?;
        Ok("an answer")
    }
}

/// Asks a supplier on a pool, no longer than the limit. Returns whether it has answered.
fn call(pool: &ThreadPoolExecutor, supplier: &Supplier) -> bool {
    let supplier = supplier.clone();
    // A full bulkhead refuses at once.
    let Ok(mut answer) = pool.submit(move || supplier.ask()) else {
        return false;
    };
    // Not interrupted after the limit: a call that hangs in a foreign library could not be.
    matches!(answer.get_timeout(LIMIT), Ok(Ok(_)))
}

/// Calls both suppliers in turn. Returns how many calls of each were answered.
fn calls(
    stock: &ThreadPoolExecutor,
    payment: &ThreadPoolExecutor,
    hangs: &Supplier,
) -> (usize, usize) {
    let healthy = Supplier::default();
    let mut answered = (0, 0);
    for _ in 0..20 {
        answered.0 += usize::from(call(stock, &healthy));
        answered.1 += usize::from(call(payment, hangs));
    }
    answered
}

/// Stops calling a supplier that has failed several times in a row.
struct CircuitBreaker {
    failures: AtomicU32,
    allowed: u32,
    pause: Duration,
    start: Instant,
    /// When a call may be tried again, in microseconds from `start`.
    retry_at: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Real,
    Failed,
    Fallback,
}

impl CircuitBreaker {
    fn new(allowed: u32, pause: Duration) -> Self {
        let (failures, retry_at) = (AtomicU32::new(0), AtomicU64::new(0));
        Self {
            failures,
            allowed,
            pause,
            start: clock::now(),
            retry_at,
        }
    }

    fn micros(&self) -> u64 {
        u64::try_from((clock::now() - self.start).as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns whether this call may go through: always while closed, one at a time after the pause.
    fn lets_through(&self) -> bool {
        if self.failures.load(Ordering::SeqCst) < self.allowed {
            return true;
        }
        let (now, retry_at) = (self.micros(), self.retry_at.load(Ordering::SeqCst));
        let next = now + u64::try_from(self.pause.as_micros()).unwrap_or(u64::MAX);
        // Who moves the time on is the one that tries.
        now >= retry_at
            && self
                .retry_at
                .compare_exchange(retry_at, next, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
    }

    fn call(&self, pool: &ThreadPoolExecutor, supplier: &Supplier) -> Answer {
        if !self.lets_through() {
            return Answer::Fallback;
        }
        if call(pool, supplier) {
            self.failures.store(0, Ordering::SeqCst);
            return Answer::Real;
        }
        let failures = self.failures.fetch_add(1, Ordering::SeqCst) + 1;
        if failures >= self.allowed {
            let next = self.micros() + u64::try_from(self.pause.as_micros()).unwrap_or(u64::MAX);
            self.retry_at.store(next, Ordering::SeqCst);
        }
        Answer::Failed
    }
}

fn breaker(payment: &ThreadPoolExecutor, supplier: &Supplier) -> Result<(), Box<dyn Error>> {
    let breaker = CircuitBreaker::new(3, Duration::from_millis(500));
    let mut answers = Vec::new();
    for number in 0..40 {
        // It recovers in the middle; the calls that hang are interrupted by somebody who looks after it.
        if number == 20 {
            supplier.hang(false);
            interrupt::sleep(Duration::from_millis(550))?;
        }
        answers.push(breaker.call(payment, supplier));
    }
    let line: String = answers
        .iter()
        .map(|answer| match answer {
            Answer::Real => '✓',
            Answer::Failed => '✗',
            Answer::Fallback => '·',
        })
        .collect();
    println!("3. with a breaker:  {line}");
    println!("                    (✓ answer, ✗ waited in vain, · fallback at once)");
    assert_eq!(
        answers[..4],
        [
            Answer::Failed,
            Answer::Failed,
            Answer::Failed,
            Answer::Fallback
        ]
    );
    assert_eq!(answers.last(), Some(&Answer::Real));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let hangs = Supplier::default();
    hangs.hang(true);

    let shared = pool("all suppliers", 4)?;
    let (stock, payment) = calls(&shared, &shared, &hangs);
    println!("1. one pool:        {stock:>2} of 20 stock calls answered, {payment} of 20 payments");
    drop(shared.shutdown_now());

    let (stock_pool, payment_pool) = (pool("stock", 2)?, pool("payment", 2)?);
    let (guarded, payment) = calls(&stock_pool, &payment_pool, &hangs);
    println!(
        "2. with bulkheads:  {guarded:>2} of 20 stock calls answered, {payment} of 20 payments"
    );
    drop(payment_pool.shutdown_now());
    assert!(stock < 20 && guarded > stock);

    let payment_pool = pool("payment", 8)?;
    breaker(&payment_pool, &hangs)?;
    drop(payment_pool.shutdown_now());
    for pool in [shared, stock_pool, payment_pool] {
        pool.close();
    }
    Ok(())
}
