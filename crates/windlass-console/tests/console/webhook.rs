//! Alerts for a program elsewhere.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;
use windlass::monitor::AlertKind;
use windlass::prelude::*;
use windlass_console::{Console, StartError, WebhookError};

use crate::kit::stage::Stage;

/// Reads one request and answers it; returns its body.
fn answer(mut stream: &TcpStream, status: &str) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Rejects a task, which raises an alert.
fn raise_alert(stage: &Stage) {
    let pool = stage.pool("web");
    let gate = windlass::testing::Gate::new();
    loop {
        let wait = gate.clone();
        if pool.submit(move || wait.pass_uninterruptibly()).is_err() {
            break;
        }
    }
    stage.monitor.sample();
    gate.open();
}

#[test]
fn an_alert_is_posted_and_once_more_if_it_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/alerts", listener.local_addr().unwrap());
    let stage = Stage::with(|builder| builder.webhook(address));
    raise_alert(&stage);
    let (stream, _) = listener.accept().unwrap();
    let first = answer(&stream, "500 Internal Server Error");
    assert_eq!(
        (&first["id"], &first["active"]),
        (&"web:reject".into(), &true.into())
    );
    let (stream, _) = listener.accept().unwrap();
    assert_eq!(answer(&stream, "204 No Content"), first);
}

#[test]
fn a_redirect_is_not_followed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let stage = Stage::with(|builder| builder.webhook(address));
    raise_alert(&stage);
    let target = elsewhere.local_addr().unwrap();
    for _ in 0..2 {
        let (stream, _) = listener.accept().unwrap();
        answer(
            &stream,
            &format!("307 Temporary Redirect\r\nLocation: http://{target}/"),
        );
    }
    stage.console.shutdown();
    assert!(elsewhere.accept().is_err());
}

#[test]
fn an_end_that_never_answers_does_not_hold_up_the_console() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let stage = Stage::with(|builder| builder.webhook(address));
    raise_alert(&stage);
    let (_first, _) = listener.accept().unwrap();
    stage.get("/api/v1/alerts").expect(200);
    // It is asked once more.
    let (_second, _) = listener.accept().unwrap();
    stage.console.shutdown();
}

#[test]
fn an_address_that_others_could_read_along_is_refused() {
    let builder = Console::builder().bind("127.0.0.1:0").announce(false);
    let error = builder
        .webhook("http://192.0.2.1/secret-path")
        .start()
        .unwrap_err();
    assert!(
        matches!(error, StartError::Webhook(WebhookError::NotLoopback)),
        "{error:?}"
    );
    assert!(!format!("{error:?} {error}").contains("secret-path"));
}

#[test]
fn an_alert_that_comes_and_goes_is_posted_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let stage = Stage::with(|builder| builder.webhook(address));
    let report = |is_dead: bool| {
        let mut condition = windlass::monitor::Condition::new("mail", AlertKind::RemoteDead);
        (condition.raises, condition.clears) = (is_dead, !is_dead);
        stage.monitor.report(&condition);
    };
    let mut posted = Vec::new();
    for is_dead in [true, false, true, false, true, false] {
        report(is_dead);
    }
    // Another one, to know when all are posted.
    let mut last = windlass::monitor::Condition::new("last", AlertKind::RemoteDead);
    last.raises = true;
    stage.monitor.report(&last);
    loop {
        let (stream, _) = listener.accept().unwrap();
        let alert = answer(&stream, "204 No Content");
        if alert["pool"] == "last" {
            break;
        }
        posted.push(alert["active"].as_bool().unwrap());
    }
    assert_eq!(posted, [true, false]);
}
