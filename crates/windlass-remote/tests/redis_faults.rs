//! What goes wrong with servers, networks and workers, on a real server.
#![cfg(feature = "redis")]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "support/mod.rs"]
mod support;

mod proxy;

use serde::{Deserialize, Serialize};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::server::RedisServer;
use support::tasks::{Add, BOARD, Gated, Note};
use support::{LONG, eventually};
use windlass_remote::engine::{
    CancelMode, Cancelled, Engine, EngineError, FetchRequest, Overlap, RedisEngine, TaskState,
};
use windlass_remote::{
    Priority, QueueName, RejectedReason, RemoteExecutor, RemoteTask, RemoteWorker, Schedule,
    TaskCx, TaskError, TaskExecutorService, TaskId, TaskOptions,
};

/// Takes a while, so that many are under way when something ends.
#[derive(Serialize, Deserialize)]
struct Slow(u32);

impl RemoteTask for Slow {
    const NAME: &'static str = "test.slow";
    type Output = u32;

    fn run(self, _: &TaskCx) -> Result<u32, TaskError> {
        windlass::interrupt::sleep(Duration::from_millis(10))?;
        Ok(self.0)
    }
}

fn worker(engine: &RedisEngine, threads: usize) -> RemoteWorker {
    RemoteWorker::builder(engine.clone())
        .pool(windlass::executors::fixed_thread_pool(threads).unwrap())
        .lease(Duration::from_secs(2))
        .heartbeat(Duration::from_millis(100), Duration::from_secs(1))
        .register::<Slow>()
        .register::<Add>()
        .register::<Gated>()
        .start()
        .unwrap()
}

fn queue() -> QueueName {
    QueueName::default()
}

impl RedisServer {
    /// Ends the server without any warning.
    fn kill(&mut self) {
        self.child.take().into_iter().for_each(support::server::end);
    }

    /// Starts it again, on its port and with its data.
    fn restart(&mut self) {
        eventually("the server starts again", || self.launch());
    }

    /// Sends one command as an administrator would.
    fn command(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let mut connection = redis::Client::open(self.url())?.get_connection()?;
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut connection)
    }
}

/// Submits tasks and expects every result, once and right.
fn expect_all(
    executor: &RemoteExecutor,
    engine: &RedisEngine,
    count: u32,
    meanwhile: impl FnOnce(),
) {
    let futures = executor.submit_all((0..count).map(Slow).collect()).unwrap();
    meanwhile();
    for (n, future) in futures.iter().enumerate() {
        assert_eq!(future.get_timeout(2 * LONG), Ok(n as u32), "task {n}");
    }
    let stats = engine.stats(&queue()).unwrap();
    assert_eq!(
        (stats.submitted, stats.done),
        (u64::from(count), u64::from(count))
    );
    assert_eq!(
        (stats.ready, stats.scheduled, stats.failed, stats.dead),
        (0, 0, 0, 0)
    );
}

/// Not a test by itself: the body of a worker process, started by [`WorkerProcess`].
#[test]
fn worker_process() {
    if let Ok(address) = std::env::var("WINDLASS_TEST_WORKER") {
        let _worker = worker(&RedisEngine::builder(&address).build().unwrap(), 8);
        // It is killed; if its parent is killed first, it ends by itself.
        windlass::interrupt::sleep(2 * LONG).unwrap();
    }
}

struct WorkerProcess(Child);

impl WorkerProcess {
    fn start(address: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker_process"])
            .env("WINDLASS_TEST_WORKER", address)
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn workers_that_are_killed_lose_no_task() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let mut processes = [0; 3].map(|_| WorkerProcess::start(&server.url()));
    eventually("all workers are there", || {
        engine.workers(&queue()).unwrap().len() == 3
    });
    let executor = RemoteExecutor::new(engine.clone());
    expect_all(&executor, &engine, 600, || {
        for process in &mut processes[..2] {
            let done = engine.stats(&queue()).unwrap().done;
            eventually("some are done", || {
                engine.stats(&queue()).unwrap().done > done + 50
            });
            process.kill();
        }
    });
    let stats = engine.stats(&queue()).unwrap();
    assert!(stats.redelivered > 0, "the killed workers had tasks");
    eventually("the dead are forgotten", || {
        engine.workers(&queue()).unwrap().len() == 1
    });
}

#[test]
fn an_engine_that_is_killed_and_comes_back_loses_no_task() {
    let Some(mut server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let worker = worker(&engine, 8);
    let executor = RemoteExecutor::new(engine.clone());
    expect_all(&executor, &engine, 600, || {
        for _ in 0..2 {
            eventually("some are done", || {
                engine.stats(&queue()).is_ok_and(|s| s.done > 50)
            });
            server.kill();
            server.restart();
        }
    });
    assert!(worker.stats().engine_errors > 0 && !worker.is_terminated());
}

#[test]
fn a_submission_waits_for_an_engine_that_comes_back() {
    let Some(mut server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let _worker = worker(&engine, 1);
    let executor = RemoteExecutor::builder(engine.clone())
        .submit_timeout(LONG)
        .build()
        .unwrap();
    server.kill();
    std::thread::scope(|scope| {
        let submitted = scope.spawn(|| executor.submit_task(Add(1, 2)).unwrap().get_timeout(LONG));
        server.restart();
        assert_eq!(submitted.join().unwrap(), Ok(3));
    });
    server.kill();
    let hasty = RemoteExecutor::builder(engine).submit_timeout(Duration::from_millis(100));
    let rejected = hasty.build().unwrap().submit_task(Add(1, 2)).unwrap_err();
    assert!(matches!(
        rejected.reason(),
        RejectedReason::Engine(EngineError::Unavailable(_))
    ));
}

#[test]
fn a_cut_network_loses_no_task_and_hangs_nobody() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let proxy = proxy::Proxy::start(server.port);
    let through = RedisEngine::builder(&proxy.url())
        .call_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let _worker = worker(&through, 8);
    let executor = RemoteExecutor::new(through.clone());
    let direct = server.engine();
    expect_all(&executor, &direct, 400, || {
        for n in 1..=3 {
            eventually("some are done", || {
                direct.stats(&queue()).unwrap().done > n * 50
            });
            proxy.cut();
        }
    });
    assert!(proxy.cuts() > 3, "connections were cut");
}

#[test]
fn a_silent_network_loses_no_task_and_hangs_nobody() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let proxy = proxy::Proxy::start(server.port);
    let through = RedisEngine::builder(&proxy.url())
        .call_timeout(Duration::from_secs(1))
        .build()
        .unwrap();
    let worker = worker(&through, 8);
    let executor = RemoteExecutor::new(through.clone());
    let direct = server.engine();
    expect_all(&executor, &direct, 400, || {
        for n in 1..=2 {
            eventually("some are done", || {
                direct.stats(&queue()).unwrap().done > n * 50
            });
            let before = worker.stats().engine_errors;
            proxy.freeze();
            let silent = through.stats(&queue());
            assert!(
                matches!(silent, Err(EngineError::Unavailable(_))),
                "{silent:?}"
            );
            eventually("the worker notices", || {
                worker.stats().engine_errors > before
            });
            proxy.thaw();
        }
    });
    assert!(!worker.is_terminated());
}

/// The thread that talks to the engine waits for an answer all the time, longer than this test does.
#[test]
fn a_run_limit_ends_a_run_while_the_network_is_silent() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let proxy = proxy::Proxy::start(server.port);
    let through = RedisEngine::builder(&proxy.url())
        .call_timeout(4 * LONG)
        .build()
        .unwrap();
    let _worker = worker(&through, 1);
    let limit = TaskOptions::default().run_timeout(Duration::from_secs(1));
    let task = Gated::new("silent");
    let executor = RemoteExecutor::new(server.engine());
    let future = executor.submit_with(TaskId::random(), task, limit, Duration::ZERO);
    eventually("it runs", || BOARD.starts("silent").len() == 1);
    proxy.freeze();
    eventually("it is told to stop", || {
        BOARD.starts("stopped:silent").len() == 1
    });
    assert!(!future.unwrap().is_done(), "no report came through");
}

#[test]
fn a_slow_link_delays_and_loses_nothing() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let proxy = proxy::Proxy::start(server.port);
    proxy.delay(Duration::from_millis(30));
    let through = RedisEngine::builder(&proxy.url()).build().unwrap();
    let _worker = worker(&through, 8);
    expect_all(&RemoteExecutor::new(through), &server.engine(), 100, || {});
}

#[test]
fn a_server_that_stands_still_for_a_while_loses_no_task() {
    let Some(server) = RedisServer::start(&["--enable-debug-command", "yes"]) else {
        return;
    };
    let engine = server.engine();
    let _worker = worker(&engine, 4);
    expect_all(&RemoteExecutor::new(engine.clone()), &engine, 300, || {
        eventually("some are done", || {
            engine.stats(&queue()).unwrap().done > 50
        });
        server.command(&["DEBUG", "SLEEP", "3"]).unwrap();
    });
}

/// The first worker that is back finds the other one silent for as long as the server was away.
#[test]
fn an_outage_takes_no_task_from_workers_that_come_back() {
    let Some(mut server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let silence = Duration::from_secs(3);
    let _workers = [0, 1].map(|_| {
        let worker = RemoteWorker::builder(engine.clone())
            .pool(windlass::executors::fixed_thread_pool(1).unwrap())
            .heartbeat(Duration::from_millis(100), silence);
        worker.register::<Gated>().start().unwrap()
    });
    let executor = RemoteExecutor::new(engine.clone());
    let gates = ["outage/a", "outage/b"];
    let futures = gates.map(|gate| {
        let once = TaskOptions::default().at_most_once();
        let task = Gated::new(gate);
        executor
            .submit_with(TaskId::random(), task, once, Duration::ZERO)
            .unwrap()
    });
    eventually("each runs one", || BOARD.starts("outage/").len() == 2);
    server.kill();
    let away = Instant::now();
    eventually("it is away for longer than a worker may be silent", || {
        away.elapsed() > silence + Duration::from_secs(1)
    });
    server.restart();
    let back = Instant::now();
    eventually("both workers are back for a while", || {
        let workers = engine.workers(&queue()).unwrap_or_default();
        let soon = Duration::from_secs(1);
        let lively = workers.iter().filter(|w| w.silent_for < soon).count();
        lively == 2 && back.elapsed() > silence + Duration::from_secs(1)
    });
    gates.iter().for_each(|gate| BOARD.open(gate));
    for (future, gate) in futures.iter().zip(gates) {
        assert_eq!(future.get_timeout(LONG).as_deref(), Ok(gate));
    }
    assert_eq!(BOARD.starts("outage/").len(), 2);
}

#[test]
fn the_first_cancellation_after_a_restart_counts() {
    let Some(mut server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let executor = RemoteExecutor::new(engine.clone());
    let future = executor.submit_task(Add(1, 2)).unwrap();
    // Nobody but this test calls the engine: the executor's thread would notice the restart first.
    let id = future.id().clone();
    drop((executor, future));
    assert_eq!(engine.stats(&queue()).unwrap().ready, 1);
    server.kill();
    server.restart();
    eventually("its data are back", || server.command(&["PING"]).is_ok());
    let answers = engine.cancel(&queue(), &[id], CancelMode::Now).unwrap();
    assert_eq!(answers, [Cancelled::BeforeStart]);
}

/// The server does not know that the old connection is gone.
#[test]
fn a_feed_that_connects_again_waits_once() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let proxy = proxy::Proxy::start(server.port);
    let through = RedisEngine::builder(&proxy.url())
        .call_timeout(Duration::from_millis(300))
        .build()
        .unwrap();
    let mut feed = through.tasks(&queue(), "w").unwrap();
    let request = FetchRequest {
        count: 4,
        wait: Duration::from_millis(50),
        lease: LONG,
        first: Priority::Normal,
    };
    assert!(feed.fetch(&request).unwrap().deliveries.is_empty());
    proxy.freeze();
    eventually("the feed notices", || feed.fetch(&request).is_err());
    proxy.thaw();
    assert!(feed.fetch(&request).unwrap().deliveries.is_empty());
    let waits = server.command(&["ZCARD", "wl:{default}:wait"]).unwrap();
    assert_eq!(waits, redis::Value::Int(1));
}

#[test]
fn a_full_server_rejects_and_loses_nothing() {
    let Some(server) = RedisServer::start(&["--maxmemory-policy", "noeviction"]) else {
        return;
    };
    let engine = server.engine();
    let executor = RemoteExecutor::new(engine.clone());
    let worker = worker(&engine, 1);
    let running = executor.submit_task(Gated::new("full")).unwrap();
    eventually("it runs", || BOARD.starts("full").len() == 1);
    server
        .command(&["CONFIG", "SET", "maxmemory", "1"])
        .unwrap();
    let rejected = executor.submit_task(Add(1, 2)).unwrap_err();
    assert!(
        matches!(
            rejected.reason(),
            RejectedReason::Engine(EngineError::Full(_))
        ),
        "{rejected}"
    );
    assert_eq!(rejected.into_task(), Add(1, 2));
    BOARD.open("full");
    assert_eq!(running.get_timeout(LONG).unwrap(), "full", "what ran ends");
    server
        .command(&["CONFIG", "SET", "maxmemory", "0"])
        .unwrap();
    assert_eq!(
        executor.submit_task(Add(1, 2)).unwrap().get_timeout(LONG),
        Ok(3)
    );
    assert!(!worker.is_terminated());
}

#[test]
fn a_read_only_server_rejects_and_workers_go_on_afterwards() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let executor = RemoteExecutor::new(engine.clone());
    let _worker = worker(&engine, 1);
    assert_eq!(
        executor.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
    server
        .command(&["CONFIG", "SET", "min-replicas-to-write", "1"])
        .unwrap();
    let rejected = executor.submit_task(Add(1, 2)).unwrap_err();
    assert!(
        matches!(
            rejected.reason(),
            RejectedReason::Engine(EngineError::ReadOnly(_))
        ),
        "{rejected}"
    );
    server
        .command(&["CONFIG", "SET", "min-replicas-to-write", "0"])
        .unwrap();
    assert_eq!(
        executor.submit_task(Add(1, 2)).unwrap().get_timeout(LONG),
        Ok(3)
    );
}

#[test]
fn a_backlog_is_worked_off_by_one_worker() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let executor = RemoteExecutor::new(engine.clone());
    let count = std::env::var("WINDLASS_BACKLOG").map_or(20_000, |count| count.parse().unwrap());
    let futures = executor
        .submit_all((0..count).map(|n| Add(n, 1)).collect())
        .unwrap();
    assert_eq!(engine.stats(&queue()).unwrap().ready, count as u64);
    let _worker = worker(&engine, 8);
    let until = Instant::now() + 10 * LONG;
    for (n, future) in (0..).zip(&futures) {
        let left = until.saturating_duration_since(Instant::now());
        assert_eq!(future.get_timeout(left), Ok(n + 1));
    }
    assert_eq!(engine.stats(&queue()).unwrap().done, count as u64);
}

/// How long a worker has nothing to do: the seconds of `WINDLASS_IDLE`, or 1.2.
fn idle_time() -> Duration {
    let seconds = std::env::var("WINDLASS_IDLE").map(|seconds| seconds.parse().unwrap());
    Duration::from_secs_f64(seconds.unwrap_or(1.2))
}

#[test]
fn an_idle_worker_takes_what_comes() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let worker = worker(&engine, 1);
    let executor = RemoteExecutor::new(engine);
    for n in 0..3 {
        // Longer than a fetch waits, and than a reply is waited for; `WINDLASS_IDLE=600` is ten minutes.
        windlass::interrupt::sleep(idle_time()).unwrap();
        assert_eq!(
            executor.submit_task(Add(n, 1)).unwrap().get_timeout(LONG),
            Ok(n + 1)
        );
    }
    assert_eq!(worker.stats().engine_errors, 0);
}

/// The rights of the guide, and no others.
const ACL: &str = "~wl:* resetchannels &wl:* -@all +hello +eval +evalsha +script|load +mget +mset +hset +hget +hmget +hgetall \
    +hvals +hdel +hincrby +exists +del +pexpire +set +sadd +srem +smembers +zadd +zrem +zrange +zrevrange \
    +zrangebyscore +zcard +zscore +rpush +lpop +xadd +xlen +xack +xdel +xtrim +xread +xreadgroup +xrange +xrevrange +xpending +xclaim \
    +xgroup|create +xgroup|delconsumer +publish +subscribe +pubsub|numsub +scan +getrange +time +info +ping +multi +exec \
    +wait";

/// Keeps a checkpoint, fails, and goes on from there.
#[derive(Serialize, Deserialize)]
struct Steps;

impl RemoteTask for Steps {
    const NAME: &'static str = "test.steps";
    type Output = u8;

    fn run(self, cx: &TaskCx) -> Result<u8, TaskError> {
        let step = cx.last_checkpoint()?.map_or(0, |kept| kept[0]) + 1;
        cx.checkpoint(&[step])?;
        if step == 1 {
            return Err(TaskError::new("again").retry_after(Duration::ZERO));
        }
        Ok(step)
    }

    fn options() -> TaskOptions {
        TaskOptions::default().max_attempts(2)
    }
}

/// Does what clients and workers do, through an engine that waits for a replica.
fn do_everything(engine: &RedisEngine) {
    let worker = RemoteWorker::builder(engine.clone())
        .pool(windlass::executors::fixed_thread_pool(4).unwrap())
        .lease(Duration::from_secs(2))
        .heartbeat(Duration::from_millis(50), Duration::from_secs(1))
        .unknown_tasks(Duration::from_millis(10), Duration::from_millis(20))
        .register::<Add>()
        .register::<Gated>()
        .register::<Steps>();
    let worker = worker.start().unwrap();
    let executor = RemoteExecutor::new(engine.clone());
    let add = |a, b| executor.submit_task(Add(a, b)).unwrap().get_timeout(LONG);
    assert_eq!(add(1, 2), Ok(3));
    let delayed = executor.schedule(Duration::from_millis(5), Add(2, 2));
    assert_eq!(delayed.unwrap().get_timeout(LONG), Ok(4));
    assert_eq!(
        executor.submit_task(Steps).unwrap().get_timeout(LONG),
        Ok(2),
        "a checkpoint is kept and read"
    );
    let gated = executor.submit_task(Gated::new("acl")).unwrap();
    eventually("it runs", || BOARD.starts("acl").len() == 1);
    assert!(gated.cancel_now().unwrap());
    let admin = windlass_remote::QueueAdmin::new(engine.clone(), queue());
    admin.pause().unwrap();
    admin.resume().unwrap();
    admin.limit_concurrency("test.add", Some(1)).unwrap();
    assert_eq!(add(3, 3), Ok(6));
    admin
        .limit_rate("test.add", Duration::from_millis(5), 1)
        .unwrap();
    let many = executor.invoke_all((0..4).map(|n| Add(n, n)).collect());
    assert_eq!(many.unwrap()[3].get(), Ok(6), "parked and delayed");

    // Nobody knows the type, so it becomes a dead letter.
    let dead = executor.submit_task(Slow(1)).unwrap();
    assert!(dead.get_timeout(LONG).is_err());
    let letter = admin.dead_letters(0, 10).unwrap().pop().unwrap();
    let revived = admin.retry_dead(std::slice::from_ref(&letter.id));
    assert_eq!(revived.unwrap(), 1);
    eventually("it is dead again", || admin.stats().unwrap().dead == 2);
    assert_eq!(admin.drop_dead(&[letter.id]).unwrap(), 1);

    let pause = Duration::from_millis(10);
    let rate = Schedule::at_fixed_rate(pause, pause).overlap(Overlap::Queue);
    let task = Gated::new("acl-schedule");
    let queued = executor.schedule_named("queued", &rate, task).unwrap();
    eventually("it runs", || BOARD.starts("acl-schedule").len() == 1);
    BOARD.open("acl-schedule");
    eventually("those that waited run", || {
        BOARD.starts("acl-schedule").len() >= 3
    });
    assert_eq!(admin.schedules().unwrap().len(), 1);
    assert!(queued.cancel().unwrap());
    let hour = Duration::from_secs(3600);
    let hourly = executor.schedule_at_fixed_rate("hourly", hour, hour, Note("acl-note".into()));
    assert!(hourly.unwrap().cancel().unwrap());
    assert!(admin.workers().is_ok() && admin.queues().is_ok() && engine.backlog(&queue()).is_ok());
    assert!(admin.list(&[TaskState::Done], None, 10).is_ok());
    let stuck = executor.submit_task(Gated::new("acl-leave")).unwrap();
    eventually("it runs", || BOARD.starts("acl-leave").len() == 1);
    assert!(!worker.shutdown(Duration::from_millis(1)));
    assert!(stuck.cancel().unwrap(), "given back, and so not started");
    assert_eq!(worker.stats().last_engine_error, None);
}

#[test]
fn a_user_with_just_the_documented_rights_can_do_everything() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let port = server.port.to_string();
    let _replica = RedisServer::start(&["--replicaof", "127.0.0.1", &port]);
    let mut words = vec!["ACL", "SETUSER", "windlass", "on", ">s3cret"];
    words.extend(ACL.split_whitespace());
    server.command(&words).unwrap();
    let address = format!("redis://windlass:s3cret@127.0.0.1:{}/", server.port);
    let engine = RedisEngine::builder(&address).replicas(1, Duration::from_secs(2));
    do_everything(&engine.connect().unwrap());
    let guide = include_str!("../../../docs/guide/remote.md");
    for right in ACL.split_whitespace() {
        assert!(guide.contains(right), "the guide does not name {right}");
    }
    let mut foreign = redis::Client::open(address.as_str())
        .unwrap()
        .get_connection()
        .unwrap();
    assert!(
        redis::cmd("GET")
            .arg("other")
            .query::<Option<String>>(&mut foreign)
            .is_err()
    );
    assert!(redis::cmd("FLUSHALL").query::<()>(&mut foreign).is_err());
}

#[test]
fn a_password_is_in_no_debug_and_no_error() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let address = format!("redis://windlass:hunter2@127.0.0.1:{}/", server.port);
    let builder = RedisEngine::builder(&address);
    let shown = format!("{builder:?}");
    let engine = builder.build().unwrap();
    let error = engine.check().unwrap_err();
    assert!(matches!(error, EngineError::Denied(_)), "{error}");
    let worker = worker(&engine, 1);
    eventually("it has an error", || {
        worker.stats().last_engine_error.is_some()
    });
    let shown = format!(
        "{shown} {engine:?} {error:?} {error} {worker:?} {:?}",
        worker.stats()
    );
    assert!(!shown.contains("hunter2"), "{shown}");
    let wrong = RedisEngine::builder("redis://:hunter2@[bad")
        .build()
        .unwrap_err();
    assert!(!format!("{wrong:?} {wrong}").contains("hunter2"));
}

#[test]
fn a_server_is_checked() {
    let Some(server) =
        RedisServer::start(&["--maxmemory-policy", "allkeys-lru", "--appendonly", "no"])
    else {
        return;
    };
    let report = server.engine().check().unwrap();
    assert_eq!(report.warnings.len(), 2, "{report:?}");
    server
        .command(&["CONFIG", "SET", "appendfsync", "no"])
        .unwrap();
    let report = server.engine().check().unwrap();
    assert_eq!(report.fsync.as_deref(), Some("no"));
    assert_eq!(report.warnings.len(), 3, "{report:?}");
}

#[test]
fn a_finished_record_is_small() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let engine = server.engine();
    let _worker = worker(&engine, 1);
    let future = RemoteExecutor::new(engine).submit_task(Add(1, 2)).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(3));
    let key = format!("wl:{{default}}:t:{}", future.id());
    let size = server.command(&["MEMORY", "USAGE", &key]).unwrap();
    assert!(matches!(size, redis::Value::Int(1..=250)), "{size:?}");
}

#[cfg(feature = "tls")]
#[test]
fn tasks_go_through_tls() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &file("key"), "-out", &file("cert")])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        support::say_skipped("tasks through TLS", "Debian's package openssl");
        return;
    }
    let port = support::server::free_port().to_string();
    let (cert, key) = (file("cert"), file("key"));
    let tls = [
        "--tls-port",
        &port,
        "--tls-cert-file",
        &cert,
        "--tls-key-file",
        &key,
    ];
    let clients = ["--tls-ca-cert-file", &cert, "--tls-auth-clients", "no"];
    let Some(_server) = RedisServer::start(&[&tls[..], &clients[..]].concat()) else {
        return;
    };
    let pem = std::fs::read(&cert).unwrap();
    let address = format!("rediss://127.0.0.1:{port}/");
    let engine = RedisEngine::builder(&address)
        .root_certificate(&pem)
        .connect()
        .unwrap();
    let _worker = worker(&engine, 1);
    assert_eq!(
        RemoteExecutor::new(engine)
            .submit_task(Add(1, 2))
            .unwrap()
            .get_timeout(LONG),
        Ok(3)
    );
    let stranger = RedisEngine::builder(&address).connect().unwrap_err();
    assert!(
        matches!(stranger, EngineError::Unavailable(_)),
        "an unknown certificate: {stranger}"
    );
}
