//! Windlass: durable submit, durable result, results pushed to the client.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use windlass_remote::engine::RedisEngine;
use windlass_remote::{
    RemoteExecutor, RemoteTask, RemoteWorker, TaskCx, TaskError, TaskExecutorService,
};
use windlass_remote_peers::{BATCH, Role, SLOTS, WINDOW, arguments, print_all, print_trips};

#[derive(Serialize, Deserialize)]
struct Add(u64, u64);

impl RemoteTask for Add {
    const NAME: &'static str = "bench.add";
    type Output = u64;

    fn run(self, _: &TaskCx) -> Result<u64, TaskError> {
        Ok(self.0 + self.1)
    }
}

fn main() {
    let (role, address) = arguments();
    let engine = RedisEngine::connect(&address).expect("a server");
    match role {
        Role::Worker => {
            let _worker = RemoteWorker::builder(engine)
                .pool(windlass::executors::fixed_thread_pool(SLOTS).expect("a pool"))
                .register::<Add>()
                .start()
                .expect("a worker");
            let _ = windlass::interrupt::sleep(Duration::from_secs(600));
        }
        Role::Trips(count) => trips(&RemoteExecutor::new(engine), count as u64),
        Role::All(count) => all(&RemoteExecutor::new(engine), count as u64),
    }
}

fn trips(executor: &RemoteExecutor, count: u64) {
    let trip = |n| {
        let begun = Instant::now();
        let future = executor.submit_task(Add(n, 1)).expect("submitted");
        assert_eq!(future.get(), Ok(n + 1));
        begun.elapsed()
    };
    for n in 0..count / 10 {
        trip(n);
    }
    print_trips((0..count).map(trip).collect());
}

fn all(executor: &RemoteExecutor, count: u64) {
    let begun = Instant::now();
    let (mut waiting, mut sent) = (VecDeque::new(), 0);
    while sent < count || !waiting.is_empty() {
        if sent < count && waiting.len() + BATCH <= WINDOW {
            let until = count.min(sent + BATCH as u64);
            let tasks = (sent..until).map(|n| Add(n, 1)).collect();
            waiting.extend(executor.submit_all(tasks).expect("submitted"));
            sent = until;
        } else if let Some(future) = waiting.pop_front() {
            future.get().expect("a result");
        }
    }
    print_all(begun.elapsed());
}
