//! How do a thread pool and an async runtime work together? Both ways, with the same handles.
//!
//! 1. Tokio awaits tasks of a pool, and awaits room in it instead of blocking.
//! 2. The pool runs futures, which are cancelled, counted and named as any task.
//! 3. A tokio runtime is an executor, with the lifecycle of every other one.
//! 4. Completions come as a stream.
//!
//! ```sh
//! cargo run --release -p windlass --all-features --example async_both_ways
//! ```

use std::time::Duration;

use futures_lite::StreamExt;
use windlass::CompletionService;
use windlass::executors::TokioExecutor;
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;

fn checksum(block: u64) -> u64 {
    (0..200_000).fold(block, |sum, n| sum.rotate_left(5) ^ n)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    let pool = ThreadPoolExecutor::builder()
        .name("cpu")
        .core_pool_size(2)
        .work_queue(ArrayBlockingQueue::new(8)?)
        .build()?;

    println!("1. tokio awaits room in a queue of 8, and then 32 results");
    let sum = runtime.block_on(async {
        let mut handles = Vec::new();
        for block in 0..32 {
            let handle = pool.submit_async(move || checksum(block)).await?;
            handles.push(handle);
        }
        let mut sum = 0_u64;
        for handle in handles {
            sum = sum.wrapping_add(handle.await?);
        }
        Ok::<_, Box<dyn std::error::Error>>(sum)
    })?;
    println!("   {sum:016x}, {} rejected", pool.rejected_count());
    let alone = (0..32).fold(0_u64, |sum, block| sum.wrapping_add(checksum(block)));
    assert_eq!((sum, pool.rejected_count()), (alone, 0));

    println!("2. the pool runs futures that await a timer of tokio");
    let sleeps = |time| {
        let _inside = runtime.enter();
        tokio::time::sleep(Duration::from_millis(time))
    };
    let (short, long) = (sleeps(5), sleeps(60_000));
    let answer = pool.task().name("answer").spawn_async(async {
        short.await;
        42
    })?;
    let endless = pool.task().name("endless").spawn_async(long)?;
    let answer = answer.join()?;
    println!("   the answer is {answer}");
    assert_eq!(answer, 42);
    endless.cancel();
    let error = endless.join().expect_err("it was cancelled");
    println!("   the endless one: {error}");

    println!("3. the runtime is an executor service");
    let on_tokio = TokioExecutor::new(runtime.handle().clone());
    let squares = on_tokio.invoke_all((0..5_u32).map(|n| move || n * n))?;
    let squares: Result<Vec<_>, _> = squares.into_iter().map(|handle| handle.join()).collect();
    let squares = squares?;
    println!("   {squares:?}");
    assert_eq!(squares, [0, 1, 4, 9, 16]);
    on_tokio.close();

    stream_completions(&runtime, &pool)?;
    pool.close();
    println!("   {:?}", pool);
    Ok(())
}

fn stream_completions(
    runtime: &tokio::runtime::Runtime,
    pool: &ThreadPoolExecutor,
) -> Result<(), Box<dyn std::error::Error>> {
    println!("4. a stream of completions, in the order in which they come");
    let service = CompletionService::new(pool.clone());
    runtime.block_on(async {
        for block in 0..4 {
            service.submit(move || (block, checksum(block)))?;
        }
        let mut blocks = Vec::new();
        let mut done = service.stream();
        while let Some(handle) = done.next().await {
            let (block, sum) = handle.await?;
            println!("   block {block}: {sum:016x}");
            assert_eq!(sum, checksum(block));
            blocks.push(block);
        }
        blocks.sort_unstable();
        assert_eq!(blocks, [0, 1, 2, 3], "each once, in any order");
        Ok(())
    })
}
