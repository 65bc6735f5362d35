//! rusty-sidekiq: no records and no results. Its tasks push their sum to a list, which the client waits for; a task that a killed worker has
//! taken is lost.

use async_trait::async_trait;
use redis::Commands;
use serde::{Deserialize, Serialize};
use sidekiq::{Processor, ProcessorConfig, RedisConnectionManager, RedisPool, Worker};
use std::time::Instant;
use windlass_remote_peers::{Role, SLOTS, WINDOW, arguments, print_all, print_trips};

const QUEUE: &str = "bench";
const DONE: &str = "bench:done";

#[derive(Serialize, Deserialize)]
struct Pair {
    a: u64,
    b: u64,
}

#[derive(Clone)]
struct Add(redis::aio::MultiplexedConnection);

#[async_trait]
impl Worker<Pair> for Add {
    fn opts() -> sidekiq::WorkerOpts<Pair, Self> {
        sidekiq::WorkerOpts::new().queue(QUEUE)
    }

    async fn perform(&self, pair: Pair) -> sidekiq::Result<()> {
        let mut connection = self.0.clone();
        let pushed: redis::RedisResult<()> =
            redis::AsyncCommands::rpush(&mut connection, DONE, pair.a + pair.b).await;
        pushed.expect("a result is pushed");
        Ok(())
    }
}

async fn submit(pool: &RedisPool, n: usize) {
    let pair = Pair { a: n as u64, b: 1 };
    Add::perform_async(pool, pair).await.expect("submitted");
}

/// Waits for at least one result; returns how many came.
fn results(connection: &mut redis::Connection) -> usize {
    let _: (String, u64) = connection.blpop(DONE, 30.0).expect("a result");
    let more: Option<Vec<u64>> = redis::cmd("LPOP")
        .arg(DONE)
        .arg(WINDOW)
        .query(connection)
        .expect("a list");
    1 + more.map_or(0, |more| more.len())
}

#[tokio::main]
async fn main() {
    let (role, address) = arguments();
    let client = redis::Client::open(address.as_str()).expect("an address");
    let manager = RedisConnectionManager::new(address).expect("an address");
    let pool = bb8::Pool::builder()
        .max_size(SLOTS as u32 + 8)
        .build(manager)
        .await
        .expect("a server");
    match role {
        Role::Worker => {
            let connection = client
                .get_multiplexed_async_connection()
                .await
                .expect("a server");
            let config = ProcessorConfig::default().num_workers(SLOTS);
            let mut processor = Processor::new(pool, vec![QUEUE.into()]).with_config(config);
            processor.register(Add(connection));
            processor.run().await;
        }
        Role::Trips(count) => {
            let mut connection = client.get_connection().expect("a server");
            let mut times = Vec::new();
            for n in 0..count {
                let begun = Instant::now();
                submit(&pool, n).await;
                results(&mut connection);
                times.push(begun.elapsed());
            }
            print_trips(times);
        }
        Role::All(count) => {
            let mut connection = client.get_connection().expect("a server");
            let begun = Instant::now();
            let (mut sent, mut came) = (0, 0);
            while came < count {
                let room = (count - sent)
                    .min(WINDOW - (sent - came))
                    .min(windlass_remote_peers::BATCH);
                futures_util::future::join_all((0..room).map(|n| submit(&pool, sent + n))).await;
                sent += room;
                if sent == count || sent - came + windlass_remote_peers::BATCH > WINDOW {
                    came += tokio::task::block_in_place(|| results(&mut connection));
                }
            }
            print_all(begun.elapsed());
        }
    }
}
