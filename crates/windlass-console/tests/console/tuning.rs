//! Changes through the console take effect on real pools.

use std::time::Duration;

use windlass::monitor::TuneLimits;
use windlass::prelude::*;
use windlass::testing::Gate;

use crate::kit::await_that;
use crate::kit::stage::Stage;

#[test]
fn a_change_takes_effect_on_the_pool() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let version = stage.version("web");
    let body = r#"{"core":3,"max":6,"keep_alive_seconds":30.5,"allow_core_timeout":true,
        "capacity":15,"policy":"discard"}"#;
    let changed = stage.patch("web", version, body).expect(200).json();
    assert_eq!(changed["applied"], true);
    assert_eq!(changed["version"], version + 1);
    assert_eq!(changed["changes"].as_array().unwrap().len(), 6);
    assert_eq!((pool.core_pool_size(), pool.maximum_pool_size()), (3, 6));
    assert_eq!(pool.keep_alive(), Duration::from_millis(30_500));
    assert!(pool.allows_core_thread_timeout());
    assert_eq!(pool.queue().remaining_capacity(), Some(15));
    let shown = stage.get("/api/v1/pools/web").expect(200).json();
    assert_eq!(shown["config"]["policy"], "discard");
    assert_eq!(shown["config"]["keep_alive_seconds"], 30.5);
    assert_eq!(shown["version"], version + 1);
}

#[test]
fn threads_follow_the_change_while_tasks_run() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let gate = Gate::new();
    let handles: Vec<_> = (0..8)
        .map(|_| {
            let wait = gate.clone();
            pool.submit(move || wait.pass_uninterruptibly()).unwrap()
        })
        .collect();
    await_that("two run", || pool.active_count() == 2);
    stage
        .patch("web", stage.version("web"), r#"{"core":4}"#)
        .expect(200);
    await_that("four run", || pool.active_count() == 4);
    let threads = stage.get("/api/v1/pools/web/threads").expect(200).json();
    assert_eq!(threads["threads"].as_array().unwrap().len(), 4);
    gate.open();
    for handle in handles {
        handle.join().unwrap();
    }
}

#[test]
fn a_stale_version_changes_nothing() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let version = stage.version("web");
    for stale in [version + 1, version.wrapping_sub(1).min(1 << 40)] {
        let refused = stage.patch("web", stale, r#"{"core":3}"#).expect(409);
        assert_eq!(refused.code(), "conflict");
    }
    // A change by the program makes the version stale too.
    pool.set_core_pool_size(1).unwrap();
    stage.patch("web", version, r#"{"core":3}"#).expect(409);
    assert_eq!(pool.core_pool_size(), 1);
}

#[test]
fn a_change_names_a_version() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let patch = || {
        let request = stage.request("PATCH", "/api/v1/pools/web/config");
        request.bearer(stage.console.token()).json(r#"{"core":3}"#)
    };
    patch().send().expect(428);
    for malformed in [
        "*",
        "\"\"",
        "\"+1\"",
        "W/\"1\"",
        "\"1",
        "one",
        "\"99999999999999999999999\"",
    ] {
        patch().header("If-Match", malformed).send().expect(400);
    }
    assert_eq!(pool.core_pool_size(), 2);
    patch()
        .header("If-Match", &stage.version("web").to_string())
        .send()
        .expect(200);
}

#[test]
fn a_dry_run_changes_nothing_and_may_follow_another_at_once() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let version = stage.version("web");
    for core in [3, 4, 3] {
        let body = format!(r#"{{"core":{core},"dry_run":true}}"#);
        let checked = stage.patch("web", version, &body).expect(200).json();
        assert_eq!(checked["applied"], false);
        assert_eq!(checked["version"], version);
        assert_eq!(checked["changes"][0]["new"], core);
    }
    assert_eq!(pool.core_pool_size(), 2);
    assert_eq!(stage.version("web"), version);
    assert!(
        stage.get("/api/v1/audit").json()["entries"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_change_that_contradicts_itself_changes_nothing() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let version = stage.version("web");
    // Core is right by itself, but not with this maximum.
    stage
        .patch("web", version, r#"{"core":3,"max":2}"#)
        .expect(400);
    stage
        .patch("web", version, r#"{"core":3,"policy":"none"}"#)
        .expect(400);
    assert_eq!((pool.core_pool_size(), pool.maximum_pool_size()), (2, 4));
}

#[test]
fn limits_of_the_program_hold_and_a_leap_needs_force() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    stage
        .registry
        .limit("web", TuneLimits::new().core(1..=20).max(1..=20));
    let version = stage.version("web");
    let refused = stage
        .patch("web", version, r#"{"core":0}"#)
        .expect(422)
        .json();
    assert_eq!(refused["error"]["code"], "outside_limits");
    assert_eq!(refused["error"]["field"], "core");
    // No force helps.
    stage
        .patch("web", version, r#"{"max":21,"force":true}"#)
        .expect(422);
    stage.patch("web", version, r#"{"max":17}"#).expect(422);
    assert_eq!(pool.maximum_pool_size(), 4);
    stage
        .patch("web", version, r#"{"max":17,"force":true}"#)
        .expect(200);
    assert_eq!(pool.maximum_pool_size(), 17);
    let limits = stage.get("/api/v1/pools/web").json()["limits"].clone();
    assert_eq!(limits["core"], serde_json::json!([1, 20]));
}

#[test]
fn the_bound_of_a_queue_is_taken_away_with_null_and_force() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let version = stage.version("web");
    for body in [
        r#"{"capacity":null}"#,
        r#"{"capacity":18446744073709551615}"#,
    ] {
        let refused = stage.patch("web", version, body).expect(422).json();
        assert_eq!(refused["error"]["code"], "outside_limits");
    }
    assert!(pool.queue().capacity().is_some());
    let body = r#"{"capacity":null,"force":true}"#;
    let changed = stage.patch("web", version, body).expect(200).json();
    assert!(changed["changes"][0]["new"].is_null(), "{changed}");
    assert_eq!(pool.queue().capacity(), None);
    // No other setting has no value.
    let refused = stage.patch("web", version + 1, r#"{"core":null}"#);
    assert_eq!(refused.expect(400).json()["error"]["field"], "core");
}

#[test]
fn a_queue_that_cannot_be_resized_is_a_conflict() {
    let stage = Stage::new();
    let pool = windlass::ThreadPoolExecutor::builder()
        .name("fixed")
        .core_pool_size(1)
        .work_queue(windlass::queue::ArrayBlockingQueue::new(4).unwrap())
        .build()
        .unwrap();
    stage.registry.register(&pool);
    stage.monitor.sample();
    assert_eq!(
        stage.get("/api/v1/pools/fixed").json()["config"]["capacity_resizable"],
        false
    );
    let refused = stage
        .patch("fixed", stage.version("fixed"), r#"{"capacity":8}"#)
        .expect(409);
    assert_eq!(refused.json()["error"]["field"], "capacity");
}

#[test]
fn a_change_is_reverted_unless_it_is_confirmed() {
    // Two pools, because a pool is changed once a second.
    let stage = Stage::new();
    let (kept, reverted) = (stage.pool("kept"), stage.pool("reverted"));
    for name in ["kept", "reverted"] {
        let body = r#"{"core":3,"revert_after_seconds":0.5}"#;
        let changed = stage
            .patch(name, stage.version(name), body)
            .expect(200)
            .json();
        assert!(changed["revert_at_ms"].is_u64(), "{changed}");
    }
    assert!(stage.get("/api/v1/pools/kept").json()["pending_revert"].is_object());
    stage.post("/api/v1/pools/kept/confirm", "{}").expect(200);
    assert!(stage.get("/api/v1/pools/kept").json()["pending_revert"].is_null());
    assert_eq!(reverted.core_pool_size(), 3);
    await_that("the change is reverted", || {
        stage.monitor.sample();
        reverted.core_pool_size() == 2
    });
    assert_eq!(kept.core_pool_size(), 3);
    // There is nothing more to confirm.
    stage.post("/api/v1/pools/kept/confirm", "{}").expect(409);
    let audit = stage.get("/api/v1/audit").expect(200).json();
    assert_eq!(audit["entries"][0]["source"], "revert");
    assert_eq!(audit["entries"][0]["pool"], "reverted");
}

#[test]
fn the_last_change_is_reverted_on_request() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    stage
        .patch("web", stage.version("web"), r#"{"core":3,"capacity":20}"#)
        .expect(200);
    await_that("the pool may be changed again", || {
        stage.post("/api/v1/pools/web/revert", "{}").status == 200
    });
    assert_eq!(pool.core_pool_size(), 2);
    assert_eq!(pool.queue().remaining_capacity(), Some(10));
}

#[test]
fn a_pool_is_changed_once_a_second() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let _other = stage.pool("other");
    stage
        .patch("web", stage.version("web"), r#"{"core":3}"#)
        .expect(200);
    let refused = stage
        .patch("web", stage.version("web"), r#"{"core":4}"#)
        .expect(429);
    assert_eq!(refused.code(), "too_many");
    assert_eq!(refused.header("retry-after"), Some("1"));
    stage.post("/api/v1/pools/web/prestart", "{}").expect(429);
    assert_eq!((pool.core_pool_size(), pool.pool_size()), (3, 0));
    // Another pool is another matter.
    stage
        .patch("other", stage.version("other"), r#"{"core":3}"#)
        .expect(200);
    await_that("it may be changed again", || {
        stage
            .patch("web", stage.version("web"), r#"{"core":4}"#)
            .status
            == 200
    });
}

#[test]
fn a_paused_pool_takes_no_tasks_until_it_is_resumed() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let paused = stage
        .post("/api/v1/pools/web/pause", r#"{"seconds":3600}"#)
        .expect(200)
        .json();
    assert!(paused["paused_until_ms"].is_u64());
    assert!(stage.get("/api/v1/pools/web").json()["paused_until_ms"].is_u64());
    let handle = pool.submit(|| 1).unwrap();
    await_that("it may be changed again", || {
        stage.post("/api/v1/pools/web/resume", "{}").status == 200
    });
    assert_eq!(handle.join().unwrap(), 1);
    assert!(stage.get("/api/v1/pools/web").json()["paused_until_ms"].is_null());
    // A pause without an end is none.
    stage
        .post("/api/v1/pools/web/pause", r#"{"seconds":null}"#)
        .expect(400);
}

#[test]
fn core_threads_are_started_and_cancelled_tasks_purged() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let started = stage
        .post("/api/v1/pools/web/prestart", "{}")
        .expect(200)
        .json();
    assert_eq!(started["started"], 2);
    assert_eq!(pool.pool_size(), 2);
    let other = stage.pool("other");
    let gate = Gate::new();
    let mut handles: Vec<_> = (0..5)
        .map(|_| {
            let wait = gate.clone();
            other.submit(move || wait.pass_uninterruptibly()).unwrap()
        })
        .collect();
    await_that("three are queued", || other.queue().len() == 3);
    let cancelled = handles.split_off(3);
    for handle in &cancelled {
        handle.cancel();
    }
    let removed = stage
        .post("/api/v1/pools/other/purge", "{}")
        .expect(200)
        .json();
    assert_eq!(removed["removed"], 2);
    gate.open();
}

#[test]
fn a_pool_is_shut_down_only_if_that_was_allowed() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    stage.post("/api/v1/pools/web/shutdown", "{}").expect(403);
    assert!(!pool.is_shutdown());

    let stage = Stage::with(|builder| builder.allow_shutdown(true));
    let pool = stage.pool("web");
    stage.post("/api/v1/pools/web/shutdown", "{}").expect(200);
    assert!(pool.is_shutdown());
}

#[test]
fn a_pool_that_ends_vanishes() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let mut events = stage.events(None);
    assert_eq!(
        events.next_of("hello").data["pools"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    pool.close();
    stage.monitor.sample();
    // The sample that was taken when the pool was added may come after the greeting.
    let mut shown = || {
        let pools = &events.next_of("pools").data["pools"];
        pools.as_array().unwrap().len()
    };
    while shown() > 0 {}
    stage.get("/api/v1/pools/web").expect(404);
    stage.get("/api/v1/pools/web/history").expect(404);
    stage.patch("web", 1, r#"{"core":3}"#).expect(404);
    stage.post("/api/v1/pools/web/prestart", "{}").expect(404);
    assert!(!stage.get("/metrics").text().contains("pool=\"web\""));
}

#[test]
fn thresholds_are_set_and_what_makes_no_sense_is_refused() {
    let stage = Stage::new();
    let _pool = stage.pool("web");
    let path = "/api/v1/pools/web/alerts";
    let set = stage
        .write(
            "PATCH",
            path,
            r#"{"activity":0.5,"run_timeout_seconds":2,"churn_per_minute":7}"#,
        )
        .expect(200)
        .json();
    assert_eq!(
        (&set["activity"], &set["churn_per_minute"]),
        (&0.5.into(), &7.into())
    );
    let known = stage.get("/api/v1/alerts").expect(200).json()["thresholds"]["web"].clone();
    assert_eq!(known, set);
    // As often as a pool, and beside it.
    let again = stage.write("PATCH", path, r#"{"run_timeout_seconds":null}"#);
    assert_eq!(again.expect(429).code(), "too_many");
    stage
        .patch("web", stage.version("web"), r#"{"core":3}"#)
        .expect(200);
    let mut unset = serde_json::Value::Null;
    await_that("they may be changed again", || {
        let answer = stage.write("PATCH", path, r#"{"run_timeout_seconds":null}"#);
        let is_set = answer.status == 200;
        if is_set {
            unset = answer.json();
        }
        is_set
    });
    assert!(unset["run_timeout_seconds"].is_null());
    let audit = stage.get("/api/v1/audit").json()["entries"].clone();
    let (newest, oldest) = (&audit[0], &audit[2]);
    assert_eq!(newest["detail"], "run_timeout 2s -> none");
    assert_eq!(
        (&oldest["action"], &oldest["pool"]),
        (&"thresholds".into(), &"web".into())
    );
    assert_eq!(
        oldest["detail"],
        "activity 0.8 -> 0.5, run_timeout none -> 2s, churn_per_minute 100 -> 7"
    );
    assert!(oldest["actor"].as_str().unwrap().starts_with("127.0.0.1:"));
    for body in [
        r#"{"activity":0}"#,
        r#"{"activity":1.5}"#,
        r#"{"activity":null}"#,
        r#"{"stuck_seconds":0}"#,
        r#"{"queue_age_seconds":-1}"#,
        r#"{"nothing":1}"#,
    ] {
        stage.write("PATCH", path, body).expect(400);
    }
    stage
        .write("PATCH", "/api/v1/pools/none/alerts", "{}")
        .expect(404);
}

#[test]
fn a_change_that_is_undone_is_told_again_with_its_end() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let mut events = stage.events(None);
    events.next_of("hello");
    let body = r#"{"core":3,"revert_after_seconds":0.5}"#;
    stage.patch("web", stage.version("web"), body).expect(200);
    let told = events.next_of("audit").data;
    assert!(told["revert_at_ms"].is_u64() && told["reverted_ms"].is_null());
    await_that("the change is undone", || {
        stage.monitor.sample();
        pool.core_pool_size() == 2
    });
    let told_again = loop {
        let entry = events.next_of("audit").data;
        if entry["id"] == told["id"] {
            break entry;
        }
    };
    assert!(told_again["reverted_ms"].is_u64(), "{told_again}");
}

#[test]
fn a_thread_factory_that_hangs_does_not_hold_up_the_console() {
    use windlass::thread_factory::{ThreadBody, ThreadFactory};

    #[derive(Debug)]
    struct Slow(Gate);
    impl ThreadFactory for Slow {
        fn new_thread(&self, body: ThreadBody) -> std::io::Result<()> {
            self.0.pass_uninterruptibly();
            let thread = std::thread::Builder::new().spawn(move || body.run());
            thread.map(drop)
        }
    }

    let stage = Stage::new();
    let gate = Gate::new();
    let pool = windlass::ThreadPoolExecutor::builder()
        .name("slow")
        .core_pool_size(1)
        .thread_factory(Slow(gate.clone()))
        .build()
        .unwrap();
    stage.registry.register(&pool);
    stage.monitor.sample();
    std::thread::scope(|scope| {
        let started = scope.spawn(|| stage.post("/api/v1/pools/slow/prestart", "{}"));
        gate.await_waiting(1);
        stage.get("/healthz").expect(200);
        stage.get("/api/v1/pools/slow").expect(200);
        gate.open();
        let answer = started.join().unwrap().expect(200).json();
        assert_eq!(answer["started"], 1);
    });
}
