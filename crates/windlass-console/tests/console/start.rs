//! How a console starts, stops, and stands beside another.

use std::error::Error;
use std::fs;

use windlass::ExecutorService;
use windlass::monitor::Registry;
use windlass_console::{Console, StartError, TokenError};

use crate::kit::http::Request;
use crate::kit::stage::Stage;

fn quiet() -> windlass_console::Builder {
    Console::builder().bind("127.0.0.1:0").announce(false)
}

#[test]
fn an_address_that_is_in_use_is_a_typed_error() {
    let first = quiet().start().unwrap();
    let address = first.local_addr().to_string();
    let error = quiet().bind(&*address).start().unwrap_err();
    let StartError::Bind {
        address: named,
        source,
    } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!(*named, address);
    assert_eq!(source.kind(), std::io::ErrorKind::AddrInUse);
    assert!(error.source().is_some());
    // The port is free again when the first is gone.
    first.shutdown();
    quiet().bind(&*address).start().unwrap().shutdown();
}

#[test]
fn an_address_that_is_none_is_a_typed_error() {
    for address in ["", "127.0.0.1", "127.0.0.1:99999", "nonsense:0:0"] {
        let error = quiet().bind(address).start().unwrap_err();
        assert!(
            matches!(error, StartError::Bind { .. }),
            "{address}: {error:?}"
        );
    }
}

#[test]
fn a_token_can_come_from_a_file() {
    let folder = std::env::temp_dir().join(format!("windlass-console-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("token");
    fs::write(&path, "a-token-from-a-file\n").unwrap();
    let console = quiet().token_from_file(&path).start().unwrap();
    assert_eq!(console.token(), "a-token-from-a-file");
    fs::write(&path, "short").unwrap();
    let error = quiet().token_from_file(&path).start().unwrap_err();
    assert!(
        matches!(error, StartError::Token(TokenError::TooShort)),
        "{error:?}"
    );
    fs::remove_dir_all(&folder).unwrap();
    let error = quiet().token_from_file(&path).start().unwrap_err();
    assert!(matches!(error, StartError::TokenFile { .. }), "{error:?}");
}

#[test]
fn a_token_can_come_from_the_environment() {
    // Cargo sets it for every test.
    if let Ok(value) = std::env::var("CARGO_PKG_REPOSITORY") {
        let console = quiet()
            .token_from_env("CARGO_PKG_REPOSITORY")
            .start()
            .unwrap();
        assert_eq!(console.token(), value);
    }
    let error = quiet()
        .token_from_env("WINDLASS_NO_SUCH_VARIABLE")
        .start()
        .unwrap_err();
    assert!(
        matches!(error, StartError::TokenVariable { .. }),
        "{error:?}"
    );
}

#[test]
fn a_random_token_is_another_each_time() {
    let (one, other) = (quiet().start().unwrap(), quiet().start().unwrap());
    assert_ne!(one.token(), other.token());
    assert_eq!(one.token().len(), 64);
}

#[test]
fn two_consoles_of_one_monitor_show_and_change_the_same_pools() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let second = quiet().monitor(&stage.monitor).start().unwrap();
    let read = Request::new(second.local_addr(), "GET", "/api/v1/pools/web")
        .send()
        .expect(200);
    let version = read.json()["version"].as_u64().unwrap();
    stage.patch("web", version, r#"{"core":3}"#).expect(200);
    // What the one changes makes the version stale in the other.
    let patch = |version: u64| {
        Request::new(second.local_addr(), "PATCH", "/api/v1/pools/web/config")
            .bearer(second.token())
            .header("If-Match", &format!("\"{version}\""))
            .json(r#"{"core":4}"#)
            .send()
    };
    patch(version).expect(409);
    patch(version + 1).expect(200);
    assert_eq!(pool.core_pool_size(), 4);
    // The token of the one is not that of the other.
    let foreign = Request::new(second.local_addr(), "GET", "/api/v1/session");
    foreign.bearer(stage.console.token()).send().expect(401);
    second.shutdown();
    stage.get("/api/v1/pools/web").expect(200);
}

#[test]
fn a_console_without_a_monitor_shows_the_global_registry() {
    let pool = windlass::ThreadPoolExecutor::builder()
        .name("everywhere")
        .core_pool_size(1)
        .build()
        .unwrap();
    let name = Registry::global().register(&pool);
    let console = quiet().start().unwrap();
    let path = format!("/api/v1/pools/{name}");
    Request::new(console.local_addr(), "GET", &path)
        .send()
        .expect(200);
    pool.close();
    Request::new(console.local_addr(), "GET", &path)
        .send()
        .expect(404);
}

#[test]
fn requests_that_are_under_way_are_answered_when_the_console_stops() {
    use std::io::{Read, Write};

    let stage = Stage::new();
    let pool = stage.pool("web");
    let bytes = stage.post_bytes("/api/v1/pools/web/prestart", b"{}");
    let (all_but_one, last) = bytes.split_at(bytes.len() - 1);
    let mut stream = crate::kit::http::connect(stage.console.local_addr());
    stream.write_all(all_but_one).unwrap();
    // A later request is answered, so the earlier one has been taken up.
    stage.get("/healthz").expect(200);
    let console = stage.console;
    let stop = std::thread::spawn(move || console.shutdown());
    stream.write_all(last).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(pool.pool_size(), 2);
    stop.join().unwrap();
}
