//! apalis-redis: results are kept; the client asks for them every 100 ms.

use apalis::layers::WorkerBuilderExt;
use apalis::prelude::{
    BackendExt, BoxDynError, TaskBuilder, TaskId, TaskSink, WaitForCompletion, WorkerBuilder,
};
use apalis_redis::{Config, RedisStorage};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use windlass_remote_peers::{Role, SLOTS, WINDOW, arguments, print_all, print_trips};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Add(u64, u64);

async fn add(task: Add) -> Result<u64, BoxDynError> {
    Ok(task.0 + task.1)
}

/// Ids that no other run has.
fn next_id() -> TaskId {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    TaskId::from_string(format!("{process}-{number}"))
}

async fn run_all(storage: &mut RedisStorage<Add>, count: usize) {
    let ids: Vec<TaskId> = (0..count).map(|_| next_id()).collect();
    let tasks = (0..)
        .zip(&ids)
        .map(|(n, id)| TaskBuilder::new(Add(n, 1)).task_id(id.clone()).build());
    let tasks: Vec<_> = tasks.collect();
    storage
        .push_all(stream::iter(tasks))
        .await
        .expect("submitted");
    let results = WaitForCompletion::<u64>::wait_for(storage, ids);
    assert_eq!(results.count().await, count);
}

#[tokio::main]
async fn main() {
    let (role, address) = arguments();
    let connection = apalis_redis::connect(address).await.expect("a server");
    // As in the example of apalis-redis. With leases of tasks, the default, its worker ends at its first heartbeat.
    let config = Config::default()
        .queue("bench")
        .lock_tasks(false)
        .heartbeat_interval(Duration::from_secs(1))
        .batch_size(SLOTS);
    let mut storage = RedisStorage::<Add>::new(connection).with_config(config);
    match role {
        Role::Worker => {
            let worker = WorkerBuilder::new(format!("bench-{}", std::process::id()))
                // Without this it looks for tasks only now and then.
                .backend(storage.poll_with_interval(Duration::from_millis(5)))
                .concurrency(SLOTS)
                .build(add);
            worker.run().await.expect("a worker that lives");
        }
        Role::Trips(count) => {
            let mut times = Vec::new();
            for _ in 0..count {
                let begun = Instant::now();
                run_all(&mut storage, 1).await;
                times.push(begun.elapsed());
            }
            print_trips(times);
        }
        Role::All(count) => {
            let begun = Instant::now();
            let mut left = count;
            while left > 0 {
                let part = left.min(WINDOW);
                let limit = Duration::from_secs(60);
                let done = tokio::time::timeout(limit, run_all(&mut storage, part)).await;
                done.expect("results within a minute");
                left -= part;
            }
            print_all(begun.elapsed());
        }
    }
}
