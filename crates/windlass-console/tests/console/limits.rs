//! What one peer can make the console do, and hold.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use windlass::monitor::{Monitor, Registry};
use windlass_console::Console;

use crate::kit::await_that;
use crate::kit::http::{Events, Request, connect, exchange};
use crate::kit::stage::Stage;

#[test]
fn a_body_of_more_than_16_kib_is_refused() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let body = format!("{{{}}}", " ".repeat(16 * 1024));
    let response = stage.post("/api/v1/pools/web/prestart", &body).expect(413);
    assert_eq!(response.code(), "invalid");
    // Nor in chunks, which do not say how long it is.
    let head = stage
        .request("POST", "/api/v1/pools/web/prestart")
        .bearer(stage.console.token())
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked")
        .bytes();
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
    let chunked = [
        head,
        chunk.repeat(5).into_bytes(),
        b"2\r\n{}\r\n0\r\n\r\n".to_vec(),
    ]
    .concat();
    exchange(stage.console.local_addr(), &chunked)
        .unwrap()
        .expect(413);
    assert_eq!(pool.pool_size(), 0);
    // The largest that fits.
    let body = format!("{{{}}}", " ".repeat(16 * 1024 - 2));
    stage.post("/api/v1/pools/web/prestart", &body).expect(200);
}

#[test]
fn a_peer_that_sends_its_headers_slowly_is_cut_off() {
    let stage = Stage::new();
    let mut stream = connect(stage.console.local_addr());
    stream
        .set_read_timeout(Some(Duration::from_millis(250)))
        .unwrap();
    // Well before the limit that the server would have by itself, 30 s.
    let deadline = Instant::now() + Duration::from_secs(15);
    let mut header = b"GET / HTTP/1.1\r\nHost: "
        .iter()
        .chain(std::iter::repeat(&b'x'));
    loop {
        assert!(Instant::now() < deadline, "the connection is still open");
        let is_sent = stream.write_all(&[*header.next().unwrap()]).is_ok();
        // The wait for an answer sets the pace.
        match stream.read(&mut [0; 64]) {
            Ok(0) => break,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            _ if !is_sent => break,
            _ => {}
        }
    }
    stage.get("/healthz").expect(200);
}

#[test]
fn a_peer_that_sends_its_body_slowly_is_cut_off() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let mut bytes = stage.post_bytes("/api/v1/pools/web/prestart", b"{}");
    bytes.truncate(bytes.len() - 1);
    // Half a body, and then nothing.
    let response = exchange(stage.console.local_addr(), &bytes).unwrap();
    response.expect(408);
    assert_eq!(pool.pool_size(), 0);
}

#[test]
fn a_ninth_client_of_events_is_refused_until_one_leaves() {
    let stage = Stage::new();
    let address = stage.console.local_addr();
    let mut clients: Vec<Events> = (0..8).map(|_| stage.events(None)).collect();
    for client in &mut clients {
        client.next_of("hello");
    }
    let refused = Events::open(address, None).unwrap_err();
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    // The others are served all the same.
    stage.get("/api/v1/pools").expect(200);
    clients.pop();
    await_that("a place is free", || Events::open(address, None).is_ok());
}

#[test]
fn a_peer_that_asks_too_often_is_told_to_wait() {
    let stage = Stage::with(|builder| builder.requests_per_second(2));
    let mut answers: Vec<_> = (0..30).map(|_| stage.get("/api/v1/pools")).collect();
    let refused = answers
        .iter()
        .position(|answer| answer.status == 429)
        .expect("a refusal");
    // A burst is served, so that a page can start.
    assert!(refused >= 10, "{refused}");
    let answer = answers.swap_remove(refused);
    assert_eq!(answer.code(), "too_many");
    assert_eq!(answer.header("retry-after"), Some("1"));
    // Before anything else is looked at: a flood with wrong tokens is a flood.
    while stage.get("/api/v1/pools").status == 200 {}
    stage
        .request("GET", "/api/v1/session")
        .bearer("wrong")
        .send()
        .expect(429);
    // Others are served.
    let other = Request::new(stage.console.local_addr(), "GET", "/api/v1/pools");
    assert_eq!(other.send_from([127, 0, 0, 2]).expect(200).status, 200);
    await_that("the peer is served again", || {
        stage.get("/api/v1/pools").status == 200
    });
}

#[test]
fn a_page_can_be_loaded_twice_in_a_row_within_the_usual_rate() {
    let stage = Stage::with(|builder| builder.requests_per_second(20));
    let page = stage.get("/").text();
    let files = page.matches("assets/").count();
    assert!(files > 4, "{page}");
    for _ in 0..2 {
        stage.get("/").expect(200);
        // Modules load each other: there are more files than the page names.
        for _ in 0..45 {
            stage.get("/assets/app.js").expect(200);
        }
        for path in [
            "/api/v1/session",
            "/api/v1/pools",
            "/api/v1/alerts",
            "/api/v1/audit",
        ] {
            stage.get(path).expect(200);
        }
    }
}

#[test]
fn many_connections_that_do_nothing_do_not_lock_others_out_for_long() {
    let stage = Stage::new();
    let address = stage.console.local_addr();
    let idle: Vec<_> = (0..200).map(|_| connect(address)).collect();
    await_that("a request is answered", || {
        let request = stage.request("GET", "/healthz").bytes();
        exchange(address, &request).is_some_and(|response| response.status == 200)
    });
    drop(idle);
}

#[test]
fn a_connection_beyond_the_128th_is_closed_at_once() {
    let stage = Stage::new();
    let address = stage.console.local_addr();
    let mut idle: Vec<_> = (0..200).map(|_| connect(address)).collect();
    // Before the limit of the headers, of 5 s, would close it.
    let mut last = idle.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    match last.read(&mut [0; 1]) {
        Ok(0) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        other => panic!("the connection is still open: {other:?}"),
    }
}

#[test]
fn by_default_a_peer_makes_twenty_requests_a_second_after_a_burst_of_a_hundred() {
    let registry = Registry::new();
    let monitor = Monitor::builder().registry(&registry).manual(true);
    let monitor = monitor.start().unwrap();
    let builder = Console::builder().bind("127.0.0.1:0").announce(false);
    let console = builder.monitor(&monitor).start().unwrap();
    let begun = Instant::now();
    let served = (0..400).filter(|_| {
        let request = Request::new(console.local_addr(), "GET", "/api/v1/pools");
        request.send().status == 200
    });
    let served = served.count();
    let seconds = usize::try_from(begun.elapsed().as_secs() + 1).unwrap();
    assert!((100..=100 + 20 * seconds).contains(&served), "{served}");
    assert!(served < 400, "nothing was refused in {seconds} s");
}

#[test]
fn what_is_no_http_is_no_harm() {
    let stage = Stage::new();
    let address = stage.console.local_addr();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"\r\n\r\n\r\n\r\n",
    ] {
        let mut stream = connect(address);
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(
            !answer.starts_with(b"HTTP/1.1 2"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    let huge = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    assert_ne!(
        exchange(address, huge.as_bytes()).map(|response| response.status),
        Some(200)
    );
    stage.get("/healthz").expect(200);
}
