//! The routes of an attached engine.

use std::collections::BTreeMap;
use std::sync::Mutex;

use windlass::testing::Gate;
use windlass_console::remote::{
    DeadPage, Distribution, Engine, Figures, Operation, Overview, Queue, RemoteError, RemoteSource,
    RemoteTask, Traffic, Worker,
};

use crate::kit::stage::Stage;

/// An engine in memory with one queue, a task that runs, and three dead letters.
pub(crate) struct Memory {
    tasks: Mutex<BTreeMap<String, RemoteTask>>,
    paused: Mutex<bool>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let tasks = [
            ("t1", "running"),
            ("d1", "dead"),
            ("d2", "dead"),
            ("d3", "dead"),
        ];
        let tasks = tasks.map(|(id, state)| (id.to_owned(), task(id, state)));
        Self {
            tasks: Mutex::new(tasks.into()),
            paused: Mutex::new(false),
        }
    }

    /// Takes a task out of its state.
    fn change(&self, id: &str, from: &str, to: Option<&str>) -> Result<(), RemoteError> {
        let mut tasks = self.tasks.lock().unwrap();
        let task = tasks.get_mut(id).ok_or(RemoteError::NotFound)?;
        if task.state != from {
            return Err(RemoteError::Refused(format!("the task is {}", task.state)));
        }
        match to {
            Some(state) => state.clone_into(&mut task.state),
            None => drop(tasks.remove(id)),
        }
        Ok(())
    }

    fn set_paused(&self, queue: &str, paused: bool) -> Result<(), RemoteError> {
        if queue != "media" {
            return Err(RemoteError::NotFound);
        }
        *self.paused.lock().unwrap() = paused;
        Ok(())
    }
}

fn task(id: &str, state: &str) -> RemoteTask {
    RemoteTask {
        id: id.to_owned(),
        queue: "media".to_owned(),
        name: "thumbnail".to_owned(),
        state: state.to_owned(),
        attempts: 1,
        worker: None,
        submitted_ms: Some(1),
        started_ms: None,
        ended_ms: None,
        error: Some("the password is hunter2".to_owned()),
    }
}

impl RemoteSource for Memory {
    fn overview(&self) -> Result<Overview, RemoteError> {
        let engine = Engine {
            kind: "memory".to_owned(),
            up: true,
            latency_seconds: Some(0.0003),
        };
        let queue = Queue {
            name: "media".to_owned(),
            ready: vec![0, 12, 3],
            scheduled: 4,
            running: 1,
            dead: 3,
            levels: Vec::new(),
            oldest_ready_seconds: Some(0.5),
            paused: *self.paused.lock().unwrap(),
            workers: 1,
            slots: 16,
            slots_free: 15,
            totals: Some(windlass_console::remote::QueueTotals {
                submitted: 20,
                ..Default::default()
            }),
        };
        let worker = Worker {
            id: "w1".to_owned(),
            queue: "media".to_owned(),
            host: "box".to_owned(),
            pid: 7,
            slots: 16,
            free: 15,
            seen_ms: 1,
        };
        Ok(Overview {
            engine,
            queues: vec![queue],
            workers: vec![worker],
        })
    }

    fn task(&self, queue: Option<&str>, id: &str) -> Result<RemoteTask, RemoteError> {
        let tasks = self.tasks.lock().unwrap();
        let task = tasks
            .get(id)
            .filter(|task| queue.is_none_or(|queue| task.queue == queue));
        task.cloned().ok_or(RemoteError::NotFound)
    }

    /// Two to a page; the cursor is the first id of the page.
    fn dead(&self, _queue: Option<&str>, cursor: Option<&str>) -> Result<DeadPage, RemoteError> {
        let tasks = self.tasks.lock().unwrap();
        let dead: Vec<_> = tasks
            .values()
            .filter(|task| task.state == "dead" && cursor.is_none_or(|first| &*task.id >= first))
            .cloned()
            .collect();
        let next = dead.get(2).map(|task| task.id.clone());
        Ok(DeadPage {
            tasks: dead.into_iter().take(2).collect(),
            next,
        })
    }

    fn cancel(&self, id: &str) -> Result<(), RemoteError> {
        self.change(id, "running", Some("cancelled"))
    }

    fn retry_dead(&self, id: &str) -> Result<(), RemoteError> {
        self.change(id, "dead", Some("ready"))
    }

    fn delete_dead(&self, id: &str) -> Result<(), RemoteError> {
        self.change(id, "dead", None)
    }

    fn pause(&self, queue: &str) -> Result<(), RemoteError> {
        self.set_paused(queue, true)
    }

    fn resume(&self, queue: &str) -> Result<(), RemoteError> {
        self.set_paused(queue, false)
    }

    fn figures(&self) -> Option<Figures> {
        let values = Distribution {
            buckets: vec![(0.001, 2), (1.0, 1)],
            count: 4,
            sum: 12.5,
        };
        let fetch = Operation {
            name: "fetch".to_owned(),
            seconds: values.clone(),
            errors: 1,
        };
        let media = Traffic {
            queue: "media".to_owned(),
            round_trips: values.clone(),
            sent: values,
            received: Distribution::default(),
        };
        Some(Figures {
            operations: vec![fetch],
            traffic: vec![media],
        })
    }
}

/// An engine whose overview does what the test wants, and that knows nothing else.
struct Broken<F>(F);

impl<F: Fn() -> Result<Overview, RemoteError> + Send + Sync + 'static> RemoteSource for Broken<F> {
    fn overview(&self) -> Result<Overview, RemoteError> {
        (self.0)()
    }

    fn task(&self, _queue: Option<&str>, _id: &str) -> Result<RemoteTask, RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn dead(&self, _queue: Option<&str>, _cursor: Option<&str>) -> Result<DeadPage, RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn cancel(&self, _id: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn retry_dead(&self, _id: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn delete_dead(&self, _id: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn pause(&self, _queue: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn resume(&self, _queue: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }
}

#[test]
fn without_a_source_nothing_is_found() {
    let stage = Stage::new();
    assert_eq!(stage.get("/api/v1/pools").json()["remote"], false);
    for path in [
        "/api/v1/remote",
        "/api/v1/remote/dead",
        "/api/v1/remote/tasks/t1",
    ] {
        assert_eq!(stage.get(path).expect(404).code(), "not_found");
    }
    stage
        .post("/api/v1/remote/queues/media/pause", "{}")
        .expect(404);
    assert!(!stage.get("/metrics").text().contains("windlass_remote"));
}

#[test]
fn a_source_is_shown_and_steered() {
    let stage = Stage::with(|builder| builder.remote(Memory::new()));
    assert_eq!(stage.get("/api/v1/pools").json()["remote"], true);
    let queue = |field: &str| stage.get("/api/v1/remote").json()["queues"][0][field].clone();
    assert_eq!(queue("ready"), serde_json::json!([0, 12, 3]));
    stage
        .post("/api/v1/remote/queues/media/pause", "{}")
        .expect(200);
    assert_eq!(queue("paused"), true);
    stage
        .post("/api/v1/remote/queues/media/resume", "{}")
        .expect(200);
    assert_eq!(queue("paused"), false);
    stage
        .post("/api/v1/remote/tasks/t1/cancel", "{}")
        .expect(200);
    let task = stage
        .get("/api/v1/remote/tasks/t1?queue=media")
        .expect(200)
        .json();
    assert_eq!(task["state"], "cancelled");
    stage.get("/api/v1/remote/tasks/t1?queue=other").expect(404);
    let refused = stage
        .post("/api/v1/remote/tasks/t1/cancel", "{}")
        .expect(409)
        .json();
    assert_eq!(refused["error"]["message"], "the task is cancelled");
    // What was done is in the audit; what was refused is not.
    let audit = stage.get("/api/v1/audit").json()["entries"].clone();
    let entries = audit.as_array().unwrap().iter();
    let told: Vec<_> = entries
        .map(|entry| {
            (
                entry["action"].as_str().unwrap(),
                entry["detail"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("remote_cancel", "task t1"),
            ("remote_resume", "queue media"),
            ("remote_pause", "queue media"),
        ]
    );
}

#[test]
fn an_engine_that_is_down_raises_an_alert_and_clears_it_when_it_is_back() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_up = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&is_up);
    let source = Broken(move || {
        if theirs.load(Ordering::SeqCst) {
            Memory::new().overview()
        } else {
            Err(RemoteError::Unavailable("gone".to_owned()))
        }
    });
    let stage = Stage::with(|builder| builder.remote(source));
    let is_active = |active: bool| {
        let alerts = stage.monitor.alerts();
        let mut alerts = alerts.iter();
        alerts.any(|alert| alert.id == "remote:engine_down" && alert.active == active)
    };
    crate::kit::await_that("the engine is down", || is_active(true));
    let alerts = stage.get("/api/v1/alerts").expect(200).json();
    assert_eq!(alerts["alerts"][0]["kind"], "engine_down");
    stage
        .post("/api/v1/alerts/remote:engine_down/silence", "{}")
        .expect(200);
    is_up.store(true, Ordering::SeqCst);
    crate::kit::await_that("the engine is up", || is_active(false));
}

#[test]
fn dead_letters_come_page_by_page() {
    let stage = Stage::with(|builder| builder.remote(Memory::new()));
    let ids = |page: &serde_json::Value| -> Vec<String> {
        let tasks = page["tasks"].as_array().unwrap();
        tasks
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = stage
        .get("/api/v1/remote/dead?queue=media&cursor=")
        .expect(200)
        .json();
    assert_eq!(
        (ids(&first), &first["next"]),
        (vec!["d1".into(), "d2".into()], &"d3".into())
    );
    let second = stage
        .get("/api/v1/remote/dead?queue=media&cursor=d3")
        .expect(200)
        .json();
    assert_eq!(
        (ids(&second), &second["next"]),
        (vec!["d3".into()], &serde_json::Value::Null)
    );
    stage.post("/api/v1/remote/dead/d1/retry", "{}").expect(200);
    let delete = || {
        stage
            .request("DELETE", "/api/v1/remote/dead/d2")
            .bearer(stage.console.token())
    };
    delete().send().expect(200);
    delete().send().expect(404);
    assert_eq!(ids(&stage.get("/api/v1/remote/dead").json()), ["d3"]);
    // Neither without the token.
    stage
        .request("DELETE", "/api/v1/remote/dead/d3")
        .send()
        .expect(401);
}

#[test]
fn errors_of_tasks_are_shown_only_if_errors_are() {
    for shown in [false, true] {
        let stage = Stage::with(|builder| builder.remote(Memory::new()).show_errors(shown));
        for path in ["/api/v1/remote/tasks/d1", "/api/v1/remote/dead"] {
            assert_eq!(
                stage.get(path).expect(200).text().contains("hunter2"),
                shown,
                "{path}"
            );
        }
    }
}

#[test]
fn the_figures_of_an_engine_are_metrics() {
    let stage = Stage::with(|builder| builder.remote(Memory::new()));
    let text = stage.get("/metrics").expect(200).text();
    assert!(text.contains("\nwindlass_remote_engine_up 1\n"), "{text}");
    assert!(
        text.contains("\nwindlass_remote_ready{queue=\"media\",priority=\"1\"} 12\n"),
        "{text}"
    );
    assert!(
        text.contains("\nwindlass_remote_slots_free{queue=\"media\"} 15\n"),
        "{text}"
    );
}

#[test]
fn an_engine_that_does_not_answer_is_unavailable_and_no_reason_is_told() {
    let down = || Err(RemoteError::Unavailable("redis://:hunter2@db".to_owned()));
    let stage = Stage::with(|builder| builder.remote(Broken(down)));
    let answer = stage.get("/api/v1/remote").expect(503);
    assert_eq!(answer.code(), "unavailable");
    assert!(!answer.text().contains("hunter2"), "{}", answer.text());
    assert!(
        stage
            .get("/metrics")
            .expect(200)
            .text()
            .contains("windlass_remote_engine_up 0")
    );
}

#[test]
fn a_source_that_blocks_holds_up_nobody_else() {
    let gate = Gate::new();
    let wait = gate.clone();
    let stage = Stage::with(|builder| {
        builder.remote(Broken(move || {
            wait.pass_uninterruptibly();
            Err(RemoteError::NotFound)
        }))
    });
    // More than there are places.
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| stage.get("/api/v1/remote")))
            .collect();
        stage.get("/api/v1/pools").expect(200);
        for answer in asking {
            answer.join().unwrap().expect(503);
        }
    });
    gate.open();
    crate::kit::await_that("the places are free again", || {
        stage.get("/api/v1/remote").status == 404
    });
}

#[test]
fn a_source_that_panics_fails_its_request_only() {
    let stage = Stage::with(|builder| builder.remote(Broken(|| panic!("the password is hunter2"))));
    let answer = stage.get("/api/v1/remote").expect(500);
    assert!(!answer.text().contains("hunter2"));
    stage.get("/api/v1/pools").expect(200);
}

#[test]
fn promtool_accepts_the_figures_of_an_engine() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let stage = Stage::with(|builder| builder.remote(Memory::new()));
    let _pool = stage.pool("web");
    let text = stage.get("/metrics").expect(200).text();
    assert!(
        text.contains("windlass_remote_submitted_total{queue=\"media\"} 20\n"),
        "{text}"
    );
    let trips = "windlass_remote_roundtrip_seconds_bucket{queue=\"media\",le=\"+Inf\"} 4\n";
    assert!(text.contains(trips), "{text}");
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        // Not by a macro: what those write is not shown when a test passes.
        let text = "left out: needs promtool; on Debian, apt-get install prometheus";
        let name = "promtool_accepts_the_figures_of_an_engine";
        let _ = writeln!(std::io::stderr(), "{name}: {text}");
        return;
    };
    let mut input = promtool.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = promtool.wait_with_output().unwrap();
    let remarks = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*remarks), (Some(0), ""));
}
