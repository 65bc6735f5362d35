//! A first look at Windlass, with a real workload.
//!
//! Two hundred images are created, blurred and hashed on a thread pool. It shows a bounded queue,
//! results, a cancelled task, a panic that affects only its own task, a pool that is resized under
//! load, its statistics, and an orderly shutdown. Every step prints what it does and checks the outcome.
//!
//! Run it with `cargo run --release -p windlass --example tour`.

use std::error::Error;
use std::panic;
use std::time::Duration;

use windlass::interrupt;
use windlass::pool::CallerRunsPolicy;
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;
use windlass::task::TaskHandle;

type Outcome = Result<(), Box<dyn Error>>;

const IMAGES: u32 = 200;
const SIDE: usize = 32;

/// A grey picture, the same for the same seed.
struct Image(Vec<u8>);

impl Image {
    fn make(seed: u32) -> Self {
        let mut noise = seed.wrapping_mul(0x9e37_79b9) | 1;
        let pixel = |_| {
            noise ^= noise << 13;
            noise ^= noise >> 17;
            noise ^= noise << 5;
            noise.to_be_bytes()[0]
        };
        Self((0..SIDE * SIDE).map(pixel).collect())
    }

    /// Replaces every pixel by the mean of itself and its row neighbours.
    fn blur(&self) -> Self {
        let mean = |three: &[u8]| {
            let sum: u16 = three.iter().map(|&pixel| u16::from(pixel)).sum();
            (sum / 3) as u8
        };
        let row = |row: &[u8]| {
            let padded = [&row[..1], row, &row[SIDE - 1..]].concat();
            padded.windows(3).map(mean).collect::<Vec<_>>()
        };
        Self(self.0.chunks(SIDE).flat_map(row).collect())
    }

    fn hash(&self) -> u64 {
        self.0.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &pixel| {
            (hash ^ u64::from(pixel)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// Creates, blurs and hashes one image.
fn process(seed: u32) -> u64 {
    (0..6)
        .fold(Image::make(seed), |image, _| image.blur())
        .hash()
}

fn main() -> Outcome {
    println!("1. A pool of 2 workers, up to 4 under load, with room for 50 waiting tasks.");
    let pool = ThreadPoolExecutor::builder()
        .name("images")
        .core_pool_size(2)
        .maximum_pool_size(4)
        .keep_alive(Duration::from_secs(1))
        .work_queue(ResizableBlockingQueue::with_capacity(50)?)
        .rejection_handler(CallerRunsPolicy)
        .build()?;
    println!("   {pool:?}");

    let total = process_all(&pool)?;
    cancel_one(&pool)?;
    contain_a_panic(&pool)?;
    resize_under_load(&pool, total)?;
    end(&pool)
}

/// Submits every image and adds up the results.
fn process_all(pool: &ThreadPoolExecutor) -> Result<u64, Box<dyn Error>> {
    println!("2. {IMAGES} images are submitted. When the queue is full, this thread helps.");
    let mut handles = Vec::new();
    for seed in 0..IMAGES {
        handles.push(pool.submit(move || process(seed))?);
    }
    let total = sum(handles)?;
    let expected = (0..IMAGES).map(process).fold(0, u64::wrapping_add);
    assert_eq!(total, expected);
    println!("   All done, and the sum of the hashes is right: {total:016x}");
    let stats = pool.stats();
    println!(
        "   {} tasks on up to {} workers; {} were run by this thread instead",
        stats.task_count, stats.largest_pool_size, stats.rejected_count
    );
    Ok(total)
}

fn sum(handles: Vec<TaskHandle<u64>>) -> Result<u64, Box<dyn Error>> {
    let mut total = 0_u64;
    for handle in handles {
        total = total.wrapping_add(handle.join()?);
    }
    Ok(total)
}

/// Cancels a task that would run forever.
fn cancel_one(pool: &ThreadPoolExecutor) -> Outcome {
    println!("3. A task that never ends is given 20 ms, and then cancelled.");
    let mut endless = pool.submit(|| {
        let mut rounds = 0_u64;
        while interrupt::check().is_ok() {
            rounds += process(0) & 1;
        }
        rounds
    })?;
    let late = endless.get_timeout(Duration::from_millis(20));
    println!("   timed get: {}", late.expect_err("it never ends"));
    assert!(endless.cancel_now());
    let error = endless.join().expect_err("it has no value any more");
    println!("   join after cancel_now: {error}");
    Ok(())
}

/// Shows that a panic is reported by the task's handle and affects nothing else.
fn contain_a_panic(pool: &ThreadPoolExecutor) -> Outcome {
    println!("4. A task panics. Its handle has the message, and the pool keeps working.");
    // The default panic hook prints to standard error even if the panic is caught later. That would
    // look like a crash of this program, so this hook prints one line instead.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| println!("   (a task panics, on purpose)")));
    let broken = pool.submit(|| -> u64 { panic!("this image is broken") })?;
    let error = broken.join().expect_err("it panicked");
    panic::set_hook(usual);
    println!("   join: {error}");
    assert_eq!(pool.submit(|| process(7))?.join()?, process(7));
    println!("   the next task ran as if nothing had happened");
    Ok(())
}

/// Enlarges the pool while it works, and shrinks it again.
fn resize_under_load(pool: &ThreadPoolExecutor, expected: u64) -> Outcome {
    println!("5. The same images again; meanwhile the pool gets 6 workers and a longer queue.");
    let mut handles = Vec::new();
    for seed in 0..IMAGES {
        if seed == IMAGES / 4 {
            pool.set_maximum_pool_size(6)?;
            pool.set_core_pool_size(6)?;
            let former = pool.set_queue_capacity(500)?;
            let former = former.map_or("no limit".to_owned(), |former| former.to_string());
            println!("   now core 6, room for 500 (it was {former})");
        }
        handles.push(pool.submit(move || process(seed))?);
    }
    println!("   {pool:?}");
    assert_eq!(sum(handles)?, expected);
    pool.set_core_pool_size(1)?;
    pool.retire_idle();
    println!("   the same sum; core is 1 again, and idle workers retire");
    Ok(())
}

/// Shuts the pool down: accepted tasks finish, later ones are rejected.
fn end(pool: &ThreadPoolExecutor) -> Outcome {
    println!("6. Ten last tasks, then shutdown: they are finished, new ones are rejected.");
    let mut last = Vec::new();
    for seed in 0..10 {
        last.push(pool.submit(move || process(seed))?);
    }
    pool.shutdown();
    // The handler decides what happens to a rejected task; this one discards it after a shutdown.
    let late = pool.submit(|| process(0))?;
    println!("   a late task: {}", late.join().expect_err("too late"));
    pool.close();
    assert!(last.iter().all(TaskHandle::is_done));
    let expected = (0..10).map(process).fold(0, u64::wrapping_add);
    assert_eq!(sum(last)?, expected);
    println!("   {pool:?}");
    println!("Done.");
    Ok(())
}
