//! Jobs on workers through PostgreSQL. Needs its server, or skips.
#![cfg(all(unix, feature = "postgres"))]
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

#[path = "../../windlass-remote/tests/support/postgres.rs"]
mod postgres_server;

use std::process::Stdio;

use postgres_server::PostgresServer;
use serde_json::Value;
use support::{Process, output_of, stderr, stdout, wait_until, windlass};

#[test]
fn commands_run_on_workers_through_postgres() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let allow = folder.path().join("allow");
    std::fs::write(&allow, "echo\n").unwrap();
    let windlass = |arguments: &[&str]| {
        let mut command = windlass();
        command
            .args(arguments)
            .env("WINDLASS_ENGINE", server.url())
            .stdin(Stdio::null());
        command
    };
    let mut worker = windlass(&["worker", "-j", "2", "--allow"]);
    let worker = worker.arg(&allow).stderr(Stdio::null());
    let _worker = Process::from(worker.spawn().unwrap());
    let queue = |arguments: &[&str]| {
        let output = output_of(&mut windlass(arguments), b"");
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()
    };
    wait_until("the worker is there", || {
        let workers = queue(&["queue", "workers", "--json"]);
        workers.as_array().is_some_and(|all| all.len() == 1)
    });
    let run = ["run", "--engine", "env", "-k", "echo {}", ":::", "a", "b"];
    let output = output_of(&mut windlass(&run), b"");
    assert_eq!(stdout(&output), "a\nb\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
    let stats = queue(&["queue", "stats", "--json"]);
    assert!(stats.to_string().contains("\"done\":2"), "{stats}");
    let done = queue(&["queue", "list", "--state", "done", "--json"]);
    let outcomes = done["tasks"].as_array().into_iter().flatten();
    let outcomes: Vec<_> = outcomes.map(|task| &task["report"]["outcome"]).collect();
    assert_eq!(outcomes, ["ok", "ok"], "{done}");
}
