//! The console over a real engine: what it answers is what the engine holds, and what it does happens there.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_console::remote::EngineSource;
use windlass_remote::engine::{
    Engine, MeasuredEngine, MemoryEngine, NewTask, QueuePatch, Submitted, TaskRecord, TaskState,
};
use windlass_remote::{
    Priority, QueueName, RemoteExecutor, RemoteTask, RemoteWorker, TaskCx, TaskError,
    TaskExecutorService, TaskId, TaskOptions,
};

use crate::kit::await_that;
use crate::kit::redis::server::RedisServer;
use crate::kit::stage::Stage;

#[derive(serde::Serialize, serde::Deserialize)]
struct Add(u32, u32);

impl RemoteTask for Add {
    const NAME: &'static str = "test.add";
    type Output = u32;

    fn run(self, _: &TaskCx) -> Result<u32, TaskError> {
        Ok(self.0 + self.1)
    }
}

/// Does the test with an engine in memory, and with Redis if there is a server.
fn with_each_engine(test: impl Fn(&Scene)) {
    test(&Scene::new("memory", Arc::new(MemoryEngine::new())));
    if let Some(server) = RedisServer::start(&[]) {
        test(&Scene::new("redis", Arc::new(server.engine())));
    }
}

/// An engine with a console in front of it.
struct Scene {
    kind: &'static str,
    engine: Arc<dyn Engine>,
    stage: Stage,
    queue: QueueName,
}

impl Scene {
    fn new(kind: &'static str, engine: Arc<dyn Engine>) -> Self {
        let source = EngineSource::new(kind, Arc::clone(&engine));
        let stage = Stage::with(|builder| builder.remote(source).show_errors(true));
        Self {
            kind,
            engine,
            stage,
            queue: "media".parse().unwrap(),
        }
    }

    fn worker(&self) -> RemoteWorker {
        RemoteWorker::builder(Arc::clone(&self.engine))
            .queue(self.queue.as_str())
            .name("press")
            .pool(windlass::executors::fixed_thread_pool(3).unwrap())
            .heartbeat(Duration::from_millis(50), Duration::from_secs(2))
            .register::<Add>()
            .start()
            .unwrap()
    }

    fn set_paused(&self, paused: bool) {
        let patch = QueuePatch {
            paused: Some(paused),
            ..QueuePatch::default()
        };
        self.engine.configure(&self.queue, &patch).unwrap();
    }

    /// Submits a task whose payload no worker can read.
    fn submit_garbage(&self, id: &str) {
        self.submit(id, TaskOptions::default());
    }

    fn submit(&self, id: &str, options: TaskOptions) {
        let task = NewTask {
            id: id.parse().unwrap(),
            name: Add::NAME.into(),
            version: 1,
            payload: vec![0],
            options,
            delay: Duration::ZERO,
            reply_to: None,
        };
        let submitted = self.engine.submit(&self.queue, &[task]).unwrap();
        assert_eq!(submitted, [Submitted::Accepted]);
    }

    /// Leaves one dead letter, one task that waits and one that is scheduled, in a paused queue, and returns the
    /// ids of the last two.
    fn fill(&self) -> [TaskId; 2] {
        self.submit_garbage("broken");
        await_that("the task is dead", || {
            self.state("broken") == Some(TaskState::Dead)
        });
        let executor = RemoteExecutor::builder(Arc::clone(&self.engine));
        let executor = executor.queue(self.queue.as_str()).build().unwrap();
        assert_eq!(executor.submit_task(Add(1, 2)).unwrap().get(), Ok(3));
        self.set_paused(true);
        let waiting = executor.submit_task(Add(3, 4)).unwrap();
        let later = executor.schedule(Duration::from_secs(3600), Add(5, 6));
        [waiting.id().clone(), later.unwrap().id().clone()]
    }

    fn record(&self, id: &str) -> Option<TaskRecord> {
        let id: TaskId = id.parse().unwrap();
        let records = self.engine.look_up(&self.queue, &[id], None);
        records.unwrap().into_iter().flatten().next()
    }

    fn state(&self, id: &str) -> Option<TaskState> {
        self.record(id).map(|record| record.state)
    }

    fn overview(&self) -> Value {
        self.stage.get("/api/v1/remote").expect(200).json()
    }

    fn dead_ids(&self, query: &str) -> Vec<String> {
        let page = self.stage.get(&format!("/api/v1/remote/dead{query}"));
        let page = page.expect(200).json();
        let tasks = page["tasks"].as_array().unwrap().clone();
        tasks
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    }

    fn delete_dead(&self, id: &str) -> crate::kit::http::Response {
        let request = self
            .stage
            .request("DELETE", &format!("/api/v1/remote/dead/{id}"));
        request.bearer(self.stage.console.token()).send()
    }
}

/// Returns the value of a sample, if the text has it.
fn sample(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().parse().expect("a number"))
}

#[test]
fn the_metrics_tell_what_waits_at_each_priority_and_how_long() {
    with_each_engine(|scene| {
        scene.set_paused(true);
        for (id, priority) in [
            ("a", Priority::High),
            ("b", Priority::Low),
            ("c", Priority::Low),
        ] {
            scene.submit(id, TaskOptions::default().priority(priority));
        }
        let age = |text: &str, priority: u8| {
            let labels = format!("{{queue=\"media\",priority=\"{priority}\"}}");
            sample(
                text,
                &format!("windlass_remote_oldest_ready_seconds{labels}"),
            )
        };
        await_that("an age is seen", || {
            let text = scene.stage.get("/metrics").expect(200).text();
            age(&text, 0) > Some(0.0) && age(&text, 2) > Some(0.0)
        });
        let text = scene.stage.get("/metrics").expect(200).text();
        let ready = [0, 1, 2].map(|priority| {
            let labels = format!("{{queue=\"media\",priority=\"{priority}\"}}");
            sample(&text, &format!("windlass_remote_ready{labels}"))
        });
        assert_eq!(ready, [Some(1.0), Some(0.0), Some(2.0)], "{text}");
        assert_eq!(age(&text, 1), Some(0.0), "nothing waits there");
    });
}

#[test]
fn the_metrics_have_round_trips_calls_errors_and_sizes_of_a_measured_engine() {
    with_each_engine(|scene| {
        let engine = MeasuredEngine::new(Arc::clone(&scene.engine));
        let source = EngineSource::new(scene.kind, engine.clone());
        let stage = Stage::with(|builder| builder.remote(source));
        let measured = Scene {
            kind: scene.kind,
            engine: Arc::new(engine),
            stage,
            queue: scene.queue.clone(),
        };
        let _worker = measured.worker();
        let executor = RemoteExecutor::builder(Arc::clone(&measured.engine));
        let executor = executor.queue("media").build().unwrap();
        assert_eq!(executor.submit_task(Add(1, 2)).unwrap().get(), Ok(3));
        let text = measured.stage.get("/metrics").expect(200).text();
        let media = "{queue=\"media\"}";
        let trips = sample(
            &text,
            &format!("windlass_remote_roundtrip_seconds_count{media}"),
        );
        assert_eq!(trips, Some(1.0), "{text}");
        let calls = |op: &str| {
            let name = format!("windlass_remote_engine_op_seconds_count{{op=\"{op}\"}}");
            sample(&text, &name)
        };
        assert_eq!(calls("submit"), Some(1.0), "{text}");
        assert!(calls("report") >= Some(1.0) && calls("stats") >= Some(1.0));
        let failed = "windlass_remote_engine_errors_total{op=\"submit\"}";
        assert_eq!(sample(&text, failed), Some(0.0));
        // The payload and the result, once each way: this process is client and worker.
        for dir in ["in", "out"] {
            let labels = format!("{{queue=\"media\",dir=\"{dir}\"}}");
            let count = sample(
                &text,
                &format!("windlass_remote_payload_bytes_count{labels}"),
            );
            assert_eq!(count, Some(2.0), "{dir}: {text}");
        }
    });
}

#[test]
fn the_queues_and_workers_that_are_shown_are_those_of_the_engine() {
    with_each_engine(|scene| {
        let worker = scene.worker();
        scene.fill();
        await_that("the worker is idle for the engine", || {
            let workers = scene.engine.workers(&scene.queue).unwrap();
            workers.len() == 1 && workers[0].busy == 0
        });
        let (overview, stats) = (scene.overview(), scene.engine.stats(&scene.queue).unwrap());
        assert_eq!(overview["engine"]["kind"], scene.kind);
        assert_eq!(overview["engine"]["up"], true);
        let queue = &overview["queues"][0];
        assert_eq!(queue["name"], "media");
        assert_eq!(queue["paused"], true);
        assert_eq!(queue["ready"], serde_json::json!([stats.ready]));
        let shown = [
            "scheduled",
            "running",
            "dead",
            "workers",
            "slots",
            "slots_free",
        ];
        assert_eq!(
            shown.map(|field| queue[field].as_u64().unwrap()),
            [stats.scheduled, stats.running, stats.dead_letters, 1, 3, 3]
        );
        assert_eq!(
            (stats.ready, stats.scheduled, stats.dead_letters),
            (1, 1, 1)
        );
        let shown = &overview["workers"][0];
        assert_eq!(shown["id"], worker.id());
        assert_eq!(shown["pid"], std::process::id());
    });
}

#[test]
fn the_tasks_that_are_shown_are_those_of_the_engine() {
    with_each_engine(|scene| {
        let _worker = scene.worker();
        for id in scene.fill() {
            let task = scene.stage.get(&format!("/api/v1/remote/tasks/{id}"));
            let task = task.expect(200).json();
            let state = scene.state(id.as_str()).unwrap();
            assert_eq!(task["state"], state.to_string());
            assert_eq!(
                (&task["name"], &task["queue"]),
                (&"test.add".into(), &"media".into())
            );
        }
        let dead = scene.stage.get("/api/v1/remote/tasks/broken?queue=media");
        let (dead, record) = (dead.expect(200).json(), scene.record("broken").unwrap());
        assert_eq!(dead["attempts"], record.deliveries);
        assert_eq!(dead["error"], record.failure.unwrap().to_string());
        for path in ["tasks/nobody", "tasks/broken?queue=no"] {
            scene
                .stage
                .get(&format!("/api/v1/remote/{path}"))
                .expect(404);
        }
        // Nobody's question has made a queue.
        assert_eq!(scene.engine.queues().unwrap().len(), 1);
    });
}

#[test]
fn what_is_done_on_the_console_happens_on_the_engine() {
    with_each_engine(|scene| {
        let worker = scene.worker();
        for id in ["a", "b"] {
            scene.submit_garbage(id);
            await_that("the task is dead", || {
                scene.state(id) == Some(TaskState::Dead)
            });
        }
        let pause = |verb: &str| {
            let path = format!("/api/v1/remote/queues/media/{verb}");
            scene.stage.post(&path, "{}").expect(200);
            let status = scene.engine.configure(&scene.queue, &QueuePatch::default());
            status.unwrap().paused
        };
        assert!(pause("pause"));
        scene
            .stage
            .post("/api/v1/remote/dead/a/retry", "{}")
            .expect(200);
        assert_eq!(scene.state("a"), Some(TaskState::Ready));
        assert_eq!(scene.dead_ids(""), ["b"]);
        let refused = scene
            .stage
            .post("/api/v1/remote/dead/a/retry", "{}")
            .expect(409);
        assert_eq!(refused.json()["error"]["message"], "the task is ready");

        scene.delete_dead("b").expect(200);
        assert_eq!(scene.state("b"), None);
        scene.delete_dead("b").expect(404);

        scene
            .stage
            .post("/api/v1/remote/tasks/a/cancel", "{}")
            .expect(200);
        assert_eq!(scene.state("a"), Some(TaskState::Cancelled));
        let refused = scene
            .stage
            .post("/api/v1/remote/tasks/a/cancel", "{}")
            .expect(409);
        assert_eq!(refused.json()["error"]["message"], "the task is cancelled");

        assert!(!pause("resume"));
        scene
            .stage
            .post("/api/v1/remote/queues/other/pause", "{}")
            .expect(404);
        assert!(worker.shutdown(Duration::from_secs(30)));
    });
}

#[test]
fn dead_letters_of_a_real_engine_come_page_by_page() {
    let scene = Scene::new("memory", Arc::new(MemoryEngine::new()));
    let worker = scene.worker();
    let ids: Vec<String> = (0..120).map(|n| format!("d{n}")).collect();
    ids.iter().for_each(|id| scene.submit_garbage(id));
    await_that("all are dead", || {
        scene.engine.stats(&scene.queue).unwrap().dead_letters == 120
    });
    for queue in ["queue=media&", ""] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        let mut pages = 0;
        loop {
            let page = scene
                .stage
                .get(&format!("/api/v1/remote/dead?{queue}cursor={cursor}"))
                .expect(200)
                .json();
            let tasks = page["tasks"].as_array().unwrap();
            seen.extend(
                tasks
                    .iter()
                    .map(|task| task["id"].as_str().unwrap().to_owned()),
            );
            pages += 1;
            match page["next"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        seen.sort();
        let mut all = ids.clone();
        all.sort();
        assert_eq!((pages, seen), (3, all));
    }
    scene
        .stage
        .get("/api/v1/remote/dead?cursor=nonsense")
        .expect(409);
    assert!(worker.shutdown(Duration::from_secs(30)));
}

#[test]
fn an_engine_that_is_away_is_shown_as_down() {
    let port = crate::kit::redis::server::free_port();
    let engine =
        windlass_remote::engine::RedisEngine::builder(&format!("redis://127.0.0.1:{port}/"));
    let scene = Scene::new("redis", Arc::new(engine.build().unwrap()));
    let overview = scene.overview();
    assert_eq!(overview["engine"]["up"], false);
    assert_eq!(overview["queues"], serde_json::json!([]));
}
