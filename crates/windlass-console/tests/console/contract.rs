//! Every answer has the shape that the description of the API gives it.

use std::collections::BTreeSet;
use std::time::Duration;

use windlass::forkjoin::ForkJoinPool;
use windlass::monitor::TuneLimits;
use windlass::prelude::*;

use crate::kit::await_that;
use crate::kit::contract::Contract;
use crate::kit::http::Response;
use crate::kit::stage::Stage;
use crate::remote::Memory;

/// Requests of one test, with the operations that were answered well.
struct Checked {
    stage: Stage,
    contract: Contract,
    succeeded: BTreeSet<(String, String)>,
}

impl Checked {
    fn new() -> Self {
        let stage = Stage::with(|builder| builder.remote(Memory::new()).allow_shutdown(true));
        let contract = Contract::new(stage.get("/api/v1/openapi.json").expect(200).json());
        Self {
            stage,
            contract,
            succeeded: BTreeSet::new(),
        }
    }

    #[track_caller]
    fn check(&mut self, method: &str, template: &str, response: Response) -> Response {
        self.contract.check(method, template, &response);
        if response.status == 200 {
            self.succeeded
                .insert((method.to_lowercase(), template.to_owned()));
        }
        response
    }

    /// Sends a request to a path whose parameter has this value.
    #[track_caller]
    fn send(&mut self, method: &str, template: &str, value: &str, body: Option<&str>) -> Response {
        let start = template.find('{').unwrap_or(template.len());
        let end = template.find('}').map_or(start, |end| end + 1);
        let path = format!("{}{value}{}", &template[..start], &template[end..]);
        let response = match body {
            None if method == "GET" => self.stage.get(&path),
            None => self
                .stage
                .request(method, &path)
                .bearer(self.stage.console.token())
                .send(),
            Some(body) => self.stage.write(method, &path, body),
        };
        self.check(method, template, response)
    }

    #[track_caller]
    fn get(&mut self, template: &str, value: &str) -> Response {
        self.send("GET", template, value, None)
    }

    #[track_caller]
    fn patch(&mut self, pool: &str, body: &str) -> Response {
        let response = self.stage.patch(pool, self.stage.version(pool), body);
        self.check("PATCH", "/api/v1/pools/{pool}/config", response)
    }
}

/// Gives a pool a past: tasks that were fast and slow, named and not, and one that failed.
fn work(pool: &impl Executor) {
    let named = pool.task().name("GET /").submit(|| ()).unwrap();
    named.join().unwrap();
    pool.submit(|| panic!("as it should"))
        .unwrap()
        .get()
        .unwrap_err();
    for _ in 0..100 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
}

#[test]
fn every_operation_answers_as_described() {
    let mut checked = Checked::new();
    let web = checked.stage.pool("web");
    let timer = ScheduledThreadPoolExecutor::builder()
        .name("timer")
        .core_pool_size(1)
        .build();
    let forks = ForkJoinPool::builder()
        .name("forks")
        .parallelism(2)
        .build()
        .unwrap();
    checked.stage.registry.register(&timer);
    checked.stage.registry.register(&forks);
    checked
        .stage
        .registry
        .limit("web", TuneLimits::new().core(0..=64).max(1..=64));
    checked.stage.monitor.sample();
    work(&web);
    work(&timer);
    work(&forks);
    let _later = timer.schedule(Duration::from_secs(3600), || ()).unwrap();
    let _often = timer
        .schedule_at_fixed_rate(Duration::from_secs(60), Duration::from_secs(60), || ())
        .unwrap();
    checked.stage.monitor.sample();

    reads(&mut checked);
    writes(&mut checked);
    remote_operations(&mut checked);

    let described: BTreeSet<_> = checked.contract.operations().into_iter().collect();
    let missing: Vec<_> = described.difference(&checked.succeeded).collect();
    assert!(missing.is_empty(), "never seen to succeed: {missing:?}");
}

#[track_caller]
fn reads(checked: &mut Checked) {
    for path in [
        "/healthz",
        "/metrics",
        "/api/v1/openapi.json",
        "/api/v1/session",
    ] {
        checked.get(path, "").expect(200);
    }
    for path in ["/api/v1/pools", "/api/v1/alerts", "/api/v1/audit"] {
        checked.get(path, "").expect(200);
    }
    for pool in ["web", "timer", "forks"] {
        checked.get("/api/v1/pools/{pool}", pool).expect(200);
        checked
            .get("/api/v1/pools/{pool}/threads", pool)
            .expect(200);
        checked.get("/api/v1/pools/{pool}/recent", pool).expect(200);
        for query in [
            "seconds=60",
            "seconds=86400",
            "since=0",
            "since=0&step=7",
            "step=3600",
        ] {
            let path = format!("/api/v1/pools/{pool}/history?{query}");
            let response = checked.stage.get(&path);
            checked
                .check("GET", "/api/v1/pools/{pool}/history", response)
                .expect(200);
        }
    }
    let names = checked.stage.get("/api/v1/pools").json();
    let names: Vec<_> = names["pools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pool| &pool["name"])
        .collect();
    assert_eq!(names, ["forks", "timer", "web"]);
    // The stream is checked event by event elsewhere; here that it answers at all.
    let stream = checked.stage.events(None);
    checked
        .succeeded
        .insert(("get".to_owned(), "/events".to_owned()));
    drop(stream);
}

#[track_caller]
fn writes(checked: &mut Checked) {
    let template = "/api/v1/pools/{pool}/config";
    checked
        .patch("web", r#"{"core":3,"dry_run":true}"#)
        .expect(200);
    let body = r#"{"core":3,"max":6,"keep_alive_seconds":30,"allow_core_timeout":true,"capacity":20,
        "policy":"caller_runs","revert_after_seconds":600}"#;
    checked.patch("web", body).expect(200);
    checked.get("/api/v1/pools/{pool}", "web").expect(200);
    checked
        .send("POST", "/api/v1/pools/{pool}/confirm", "web", Some("{}"))
        .expect(200);
    checked.patch("forks", r#"{"parallelism":3}"#).expect(200);
    // Errors of every kind.
    checked.patch("web", r#"{"core":-1}"#).expect(400);
    checked
        .patch("web", r#"{"core":30,"max":40,"dry_run":true}"#)
        .expect(422);
    checked
        .send("PATCH", template, "web", Some("{}"))
        .expect(428);
    checked.send("PATCH", template, "web", None).expect(415);
    let stale = checked
        .stage
        .patch("web", 0, r#"{"core":4,"dry_run":true}"#);
    checked.check("PATCH", template, stale).expect(409);
    checked
        .send("POST", "/api/v1/pools/{pool}/revert", "none", Some("{}"))
        .expect(404);

    let commands = [
        ("revert", "{}"),
        ("pause", r#"{"seconds":60}"#),
        ("resume", "{}"),
        ("purge", "{}"),
        ("prestart", "{}"),
    ];
    for (command, body) in commands {
        let template = format!("/api/v1/pools/{{pool}}/{command}");
        // At most one a second.
        await_that("the pool may be changed", || {
            checked.send("POST", &template, "web", Some(body)).status == 200
        });
    }
    let body = r#"{"activity":0.9,"run_timeout_seconds":5,"queue_timeout_seconds":null}"#;
    checked
        .send("PATCH", "/api/v1/pools/{pool}/alerts", "web", Some(body))
        .expect(200);
    checked.get("/api/v1/audit", "").expect(200);
    silence(checked);
    await_that("the pool is shut down", || {
        checked
            .send("POST", "/api/v1/pools/{pool}/shutdown", "web", Some("{}"))
            .status
            == 200
    });
}

/// Raises an alert, by a task that is rejected.
#[track_caller]
fn silence(checked: &mut Checked) {
    let full = windlass::ThreadPoolExecutor::builder()
        .name("full")
        .core_pool_size(1)
        .work_queue(windlass::queue::SynchronousQueue::new())
        .build()
        .unwrap();
    checked.stage.registry.register(&full);
    checked.stage.monitor.sample();
    let gate = windlass::testing::Gate::new();
    let wait = gate.clone();
    let running = full.submit(move || wait.pass_uninterruptibly()).unwrap();
    full.submit(|| ()).unwrap_err();
    checked.stage.monitor.sample();
    let alerts = checked.get("/api/v1/alerts", "").expect(200).json();
    let id = alerts["alerts"][0]["id"]
        .as_str()
        .expect("an alert")
        .to_owned();
    checked
        .send(
            "POST",
            "/api/v1/alerts/{id}/silence",
            &id,
            Some(r#"{"seconds":9}"#),
        )
        .expect(200);
    checked
        .send("POST", "/api/v1/alerts/{id}/silence", "none", Some("{}"))
        .expect(404);
    checked
        .send(
            "POST",
            "/api/v1/alerts/{id}/silence",
            &id,
            Some(r#"{"seconds":0}"#),
        )
        .expect(400);
    gate.open();
    running.join().unwrap();
}

#[track_caller]
fn remote_operations(checked: &mut Checked) {
    checked.get("/api/v1/remote", "").expect(200);
    checked.get("/api/v1/remote/tasks/{id}", "t1").expect(200);
    checked.get("/api/v1/remote/tasks/{id}", "none").expect(404);
    checked.get("/api/v1/remote/dead", "").expect(200);
    checked
        .send("POST", "/api/v1/remote/tasks/{id}/cancel", "t1", Some("{}"))
        .expect(200);
    checked
        .send("POST", "/api/v1/remote/tasks/{id}/cancel", "d1", Some("{}"))
        .expect(409);
    checked
        .send("POST", "/api/v1/remote/dead/{id}/retry", "d1", Some("{}"))
        .expect(200);
    checked
        .send("DELETE", "/api/v1/remote/dead/{id}", "d2", None)
        .expect(200);
    checked
        .send("DELETE", "/api/v1/remote/dead/{id}", "d2", None)
        .expect(404);
    for command in ["pause", "resume"] {
        let template = format!("/api/v1/remote/queues/{{queue}}/{command}");
        checked
            .send("POST", &template, "media", Some("{}"))
            .expect(200);
        checked
            .send("POST", &template, "none", Some("{}"))
            .expect(404);
    }
}

#[test]
fn a_field_that_is_wrong_is_named() {
    let stage = Stage::new();
    let _pool = stage.pool("web");
    let version = stage.version("web");
    for (body, field) in [
        (r#"{"core":"four"}"#, "core"),
        (r#"{"corr":4}"#, "corr"),
        (r#"{"max":0,"core":0}"#, "max"),
        (r#"{"keep_alive_seconds":-1}"#, "keep_alive_seconds"),
        (r#"{"policy":"no such policy"}"#, "policy"),
        (r#"{"capacity":0,"force":true}"#, "capacity"),
        (r#"{"parallelism":2}"#, "parallelism"),
        (r#"{"dry_run":1}"#, "dry_run"),
    ] {
        let error = stage.patch("web", version, body).expect(400).json();
        assert_eq!(error["error"]["field"], field, "{body}");
    }
    let error = stage
        .get("/api/v1/pools/web/history?seconds=61")
        .expect(400)
        .json();
    assert_eq!(error["error"]["field"], "seconds");
    for (query, field) in [
        ("since=now", "since"),
        ("since=18446744073709551616", "since"),
        ("step=0", "step"),
        ("step=61", "step"),
        ("step=86460", "step"),
        ("seconds=60&step=1", "seconds"),
    ] {
        let path = format!("/api/v1/pools/web/history?{query}");
        let error = stage.get(&path).expect(400).json();
        assert_eq!(error["error"]["field"], field, "{query}");
    }
    let error = stage.get("/metrics?name=micrometer").expect(400).json();
    assert_eq!(error["error"]["field"], "name");
}

#[test]
fn what_does_not_exist_is_not_found_and_what_has_no_method_says_so() {
    let stage = Stage::new();
    for path in [
        "/nowhere",
        "/api/v1/nowhere",
        "/api/v2/pools",
        "/api/v1/pools/none",
    ] {
        assert_eq!(stage.get(path).expect(404).code(), "not_found");
    }
    let response = stage.write("PUT", "/api/v1/pools", "{}").expect(405);
    assert_eq!(response.code(), "unsupported");
    assert!(response.header("allow").unwrap().contains("GET"));
    // Also for a method that carries no body, and so names no type of it.
    let trace = stage.request("TRACE", "/api/v1/pools");
    let trace = trace.bearer(stage.console.token()).send();
    assert_eq!(trace.expect(405).code(), "unsupported");
    // A HEAD is a GET without its body.
    let head = stage.request("HEAD", "/api/v1/pools").send().expect(200);
    assert!(head.body.is_empty());
}

#[test]
fn a_pool_is_found_by_whatever_name_it_has() {
    let stage = Stage::new();
    for (name, path) in [
        ("a b/c?d", "a%20b%2Fc%3Fd"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("..", "%2E%2E"),
        ("\"<script>", "%22%3Cscript%3E"),
    ] {
        let _pool = stage.pool(name);
        let pool = stage
            .get(&format!("/api/v1/pools/{path}"))
            .expect(200)
            .json();
        assert_eq!(pool["name"], name);
    }
    stage.get("/api/v1/pools/%FF%FE").expect(400);
}

#[test]
fn metrics_have_the_names_of_micrometer_if_they_are_asked_for() {
    let stage = Stage::new();
    let _pool = stage.pool("web");
    let metrics = stage.get("/metrics").expect(200);
    assert_eq!(
        metrics.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert!(
        metrics
            .text()
            .contains("windlass_pool_threads{pool=\"web\"} 0"),
        "{}",
        metrics.text()
    );
    assert!(!metrics.text().contains("executor_"));
    let both = stage.get("/metrics?names=micrometer").expect(200).text();
    assert!(both.contains("windlass_pool_threads{"), "{both}");
    assert!(
        both.contains("executor_pool_size_threads{name=\"web\"} 0"),
        "{both}"
    );
    stage.get("/metrics?names=other").expect(400);
}

#[test]
fn a_client_that_asks_since_its_last_point_gets_each_point_once() {
    let stage = Stage::new();
    let _pool = stage.pool("web");
    let read = |query: &str| {
        let path = format!("/api/v1/pools/web/history?{query}");
        let history = stage.get(&path).expect(200).json();
        let times = history["t_ms"].as_array().unwrap().iter();
        let times: Vec<u64> = times.map(|time| time.as_u64().unwrap()).collect();
        let active = history["series"]["active"].as_array().unwrap().len();
        assert_eq!(active, times.len(), "a column is as long as the times");
        times
    };
    stage.monitor.sample();
    let first = read("since=0");
    assert!(!first.is_empty());
    let last = first.last().unwrap();
    assert_eq!(read(&format!("since={last}")), [0; 0]);
    crate::kit::await_that("a later point is there", || {
        stage.monitor.sample();
        !read(&format!("since={last}")).is_empty()
    });
    let more = read(&format!("since={last}&step=1"));
    assert!(more.iter().all(|time| time > last), "{more:?} after {last}");
}
