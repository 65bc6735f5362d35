//! Encrypted connections.

use crate::support::LONG;
use crate::support::postgres::{PostgresServer, command};
use crate::support::tasks::Add;
use crate::world::{executor, new_queue, worker};
use std::process::Stdio;
use windlass_remote::TaskExecutorService;
use windlass_remote::engine::{EngineError, PostgresEngine};

/// Has the server's user make a key and a certificate; returns whether that was possible.
fn make_certificate(server: &PostgresServer) -> bool {
    let made = command("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args(["-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(server.folder.join("key"))
        .arg("-out")
        .arg(server.folder.join("cert"))
        .stderr(Stdio::null())
        .status();
    made.is_ok_and(|status| status.success())
}

#[test]
fn tasks_go_through_tls() {
    let Some(server) = PostgresServer::start(&[]) else {
        return;
    };
    if !make_certificate(&server) {
        crate::support::say_skipped("tasks through TLS", "Debian's package openssl");
        return;
    }
    let set = |name: &str, value: &str| format!("ALTER SYSTEM SET {name} = '{value}'");
    let file = |name: &str| server.folder.join(name).display().to_string();
    let statements = [
        set("ssl_cert_file", &file("cert")),
        set("ssl_key_file", &file("key")),
        set("ssl", "on"),
        "SELECT pg_reload_conf()".into(),
    ];
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    server.administer("postgres", &statements).unwrap();
    let pem = std::fs::read(server.folder.join("cert")).unwrap();
    let address = format!("{}?sslmode=require", server.url());
    let make = || {
        PostgresEngine::builder(&address)
            .root_certificate(&pem)
            .connect()
    };
    crate::support::eventually("the server has read its settings", || make().is_ok());
    let (engine, queue) = (make().unwrap(), new_queue());
    let _worker = worker(&engine, &queue, 1);
    let future = executor(&engine, &queue).submit_task(Add(1, 2)).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(3));
    let encrypted = "DO $$ BEGIN IF EXISTS (SELECT FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
        WHERE application_name = 'windlass' AND NOT ssl) THEN RAISE 'in the clear'; END IF; END $$";
    server.administer("postgres", &[encrypted]).unwrap();
    let stranger = PostgresEngine::builder(&address).connect().unwrap_err();
    assert!(
        matches!(stranger, EngineError::Unavailable(_)),
        "an unknown certificate: {stranger}"
    );
    let nonsense = PostgresEngine::builder(&address)
        .root_certificate(b"none")
        .build();
    assert!(matches!(nonsense, Err(EngineError::Protocol(_))));
}
