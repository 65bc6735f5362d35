//! The stream of events, and what a client gets that was away.

use crate::kit::contract::Contract;
use crate::kit::stage::Stage;

#[test]
fn a_client_is_greeted_with_all_pools_and_then_gets_every_sample() {
    let stage = Stage::new();
    let _pool = stage.pool("web");
    let mut contract = Contract::new(stage.get("/api/v1/openapi.json").json());
    let mut events = stage.events(None);
    let hello = events.next().unwrap();
    assert_eq!(hello.name, "hello");
    contract.check_named("Pools", &hello.data);
    assert_eq!(hello.data["pools"][0]["name"], "web");
    let mut last = hello.id;
    for _ in 0..3 {
        stage.monitor.sample();
        let event = events.next_of("pools");
        assert!(event.id > last, "{} after {last}", event.id);
        last = event.id;
        contract.check_named("Pool", &event.data["pools"][0]);
        assert!(event.data["now_ms"].is_u64());
    }
}

#[test]
fn changes_are_told_at_once_and_alerts_when_they_are_raised() {
    use windlass::prelude::*;

    let stage = Stage::new();
    let pool = stage.pool("web");
    let mut contract = Contract::new(stage.get("/api/v1/openapi.json").json());
    let mut events = stage.events(None);
    events.next_of("hello");
    // No sample is needed for it.
    stage
        .patch("web", stage.version("web"), r#"{"core":3}"#)
        .expect(200);
    let audit = events.next_of("audit").data;
    contract.check_named("AuditEntry", &audit);
    assert_eq!(audit["changes"][0]["new"], 3);
    assert!(
        audit["actor"].as_str().unwrap().starts_with("127.0.0.1:"),
        "{audit}"
    );

    let gate = windlass::testing::Gate::new();
    let mut handles = Vec::new();
    loop {
        let wait = gate.clone();
        match pool.submit(move || wait.pass_uninterruptibly()) {
            Ok(handle) => handles.push(handle),
            Err(_) => break,
        }
    }
    stage.monitor.sample();
    let alert = events.next_of("alert").data;
    contract.check_named("Alert", &alert);
    assert_eq!(
        (&alert["id"], &alert["active"]),
        (&"web:reject".into(), &true.into())
    );
    gate.open();
}

#[test]
fn a_client_that_comes_back_misses_nothing() {
    let stage = Stage::new();
    let _pool = stage.pool("web");
    let mut events = stage.events(None);
    let mut last = events.next_of("hello").id;
    let mut seen = Vec::new();
    for round in 0..4 {
        stage.monitor.sample();
        loop {
            let event = events.next().unwrap();
            seen.push(event.id);
            last = event.id;
            if event.name == "pools" {
                break;
            }
        }
        drop(events);
        // Something happens while nobody listens: figures, and once an entry of the audit.
        stage.monitor.sample();
        if round == 0 {
            let path = "/api/v1/pools/web/alerts";
            stage
                .write("PATCH", path, r#"{"activity":0.5}"#)
                .expect(200);
        }
        events = stage.events(Some(last));
        loop {
            let event = events.next().unwrap();
            seen.push(event.id);
            if event.name == "pools" {
                break;
            }
        }
    }
    let first = seen[0];
    let expected: Vec<u64> = (first..).take(seen.len()).collect();
    assert_eq!(seen, expected, "after {last}");
}

#[test]
fn a_number_that_is_not_of_this_console_begins_anew() {
    let stage = Stage::new();
    let _pool = stage.pool("web");
    let id = stage.events(None).next().unwrap().id;
    // Of a console before this one, and of one that never was.
    for other in [1, id - 10_000, id + 10_000, u64::MAX] {
        assert_eq!(
            stage.events(Some(other)).next().unwrap().name,
            "hello",
            "{other}"
        );
    }
    let request = stage
        .request("GET", "/events")
        .header("Last-Event-ID", "nonsense");
    let mut stream = crate::kit::http::connect(stage.console.local_addr());
    std::io::Write::write_all(&mut stream, &request.bytes()).unwrap();
    let mut start = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
}

#[test]
fn a_stream_ends_when_the_console_does() {
    let stage = Stage::new();
    let mut events = stage.events(None);
    events.next_of("hello");
    stage.console.shutdown();
    assert!(events.next().is_none());
}
