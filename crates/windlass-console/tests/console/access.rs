//! Who gets in, and who does not.

use windlass_console::{Access, Console, StartError};

use crate::kit::http::exchange;
use crate::kit::stage::Stage;

const TOKEN: &str = "a-token-of-sufficient-length";

/// Everything that can be read.
const READS: [&str; 12] = [
    "/",
    "/assets/app.js",
    "/healthz",
    "/metrics",
    "/events",
    "/api/v1/pools",
    "/api/v1/pools/web",
    "/api/v1/alerts",
    "/api/v1/audit",
    "/api/v1/session",
    "/api/v1/openapi.json",
    "/nowhere",
];

#[test]
fn a_host_of_another_name_gets_nothing() {
    let stage = Stage::new();
    let port = stage.console.local_addr().port();
    for path in READS {
        for host in [
            format!("evil.example:{port}"),
            "evil.example".to_owned(),
            format!("127.0.0.1.evil.example:{port}"),
            "localhost".to_owned(),
            "localhost:1".to_owned(),
            String::new(),
        ] {
            let response = stage.request("GET", path).host(&host).send().expect(403);
            assert_eq!(response.code(), "forbidden", "{path} of {host}");
        }
    }
    let pool = stage.pool("web");
    stage
        .request("POST", "/api/v1/pools/web/prestart")
        .host(&format!("evil.example:{port}"))
        .bearer(stage.console.token())
        .json("{}")
        .send()
        .expect(403);
    assert_eq!(pool.pool_size(), 0);
}

#[test]
fn a_request_names_its_host_once() {
    let stage = Stage::new();
    let own = stage.console.local_addr().to_string();
    stage
        .request("GET", "/healthz")
        .without("Host")
        .send()
        .expect(400);
    stage
        .request("GET", "/healthz")
        .header("Host", "evil.example")
        .send()
        .expect(400);
    // A proxy would go by the address in the request line.
    let absolute = format!("GET http://evil.example/healthz HTTP/1.1\r\nHost: {own}\r\n");
    let absolute = absolute + "Connection: close\r\n\r\n";
    let response = exchange(stage.console.local_addr(), absolute.as_bytes()).unwrap();
    response.expect(403);
}

#[test]
fn loopback_names_and_chosen_names_are_hosts() {
    let stage = Stage::with(|builder| builder.allow_host("pools.example"));
    let port = stage.console.local_addr().port();
    for host in [
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
        "pools.example".to_owned(),
        format!("pools.example:{port}"),
    ] {
        stage
            .request("GET", "/healthz")
            .host(&host)
            .send()
            .expect(200);
    }
}

#[test]
fn a_write_needs_the_token() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let token = stage.console.token().to_owned();
    let prestart = || {
        stage
            .request("POST", "/api/v1/pools/web/prestart")
            .json("{}")
    };
    let response = prestart().send().expect(401);
    assert_eq!(response.code(), "unauthorized");
    assert_eq!(response.header("www-authenticate"), Some("Bearer"));
    for wrong in [
        format!("Bearer {}", &token[1..]),
        format!("Bearer {token}0"),
        format!("Bearer  {token}"),
        format!("Basic {token}"),
        format!("Bearer{token}"),
        token.to_uppercase(),
        token.clone(),
        "Bearer ".to_owned(),
        String::new(),
    ] {
        prestart()
            .header("Authorization", &wrong)
            .send()
            .expect(401);
    }
    // Two tokens, one of which is right, are not one.
    prestart().bearer(&token).bearer("wrong").send().expect(401);
    prestart().bearer("wrong").bearer(&token).send().expect(401);
    // Neither in the query nor in a cookie.
    let path = format!("/api/v1/pools/web/prestart?token={token}");
    stage.request("POST", &path).json("{}").send().expect(401);
    prestart()
        .header("Cookie", &format!("token={token}"))
        .send()
        .expect(401);
    assert_eq!(pool.pool_size(), 0);
    prestart().bearer(&token).send().expect(200);
    assert_eq!(pool.pool_size(), 2);
}

#[test]
fn a_page_of_another_site_cannot_write_even_with_the_token() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let own = format!("http://{}", stage.console.local_addr());
    let prestart = || {
        stage
            .request("POST", "/api/v1/pools/web/prestart")
            .bearer(stage.console.token())
            .json("{}")
    };
    for site in ["cross-site", "same-site", "", "none, cross-site"] {
        prestart().header("Sec-Fetch-Site", site).send().expect(403);
        // An origin that fits does not make up for it.
        prestart()
            .header("Sec-Fetch-Site", site)
            .header("Origin", &own)
            .send()
            .expect(403);
    }
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost",
        "https://127.0.0.1",
    ] {
        prestart().header("Origin", origin).send().expect(403);
    }
    assert_eq!(pool.pool_size(), 0);
    prestart().header("Origin", &own).send().expect(200);
}

#[test]
fn a_page_of_another_site_cannot_read_or_hold_a_stream() {
    let stage = Stage::new();
    for path in ["/events", "/metrics", "/api/v1/pools", "/api/v1/session"] {
        stage
            .request("GET", path)
            .header("Sec-Fetch-Site", "cross-site")
            .send()
            .expect(403);
    }
    // A link from elsewhere to the page is no attack.
    stage
        .request("GET", "/")
        .header("Sec-Fetch-Site", "cross-site")
        .send()
        .expect(200);
}

#[test]
fn a_write_that_is_not_json_is_refused() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let prestart = || {
        stage
            .request("POST", "/api/v1/pools/web/prestart")
            .bearer(stage.console.token())
    };
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/jsonp",
        "",
    ] {
        let request = prestart().header("Content-Type", content_type).body(b"{}");
        assert_eq!(request.send().expect(415).code(), "unsupported");
    }
    prestart().body(b"{}").send().expect(415);
    assert_eq!(pool.pool_size(), 0);
    let request = prestart().header("Content-Type", "Application/JSON; charset=utf-8");
    request.body(b"{}").send().expect(200);
}

#[test]
fn no_answer_lets_another_origin_read_and_all_are_hardened() {
    let stage = Stage::new();
    let mut responses: Vec<_> = READS
        .into_iter()
        .filter(|path| *path != "/events")
        .map(|path| {
            stage
                .request("GET", path)
                .header("Origin", "http://evil.example")
                .send()
        })
        .collect();
    let preflight = stage
        .request("OPTIONS", "/api/v1/pools/web/config")
        .header("Origin", "http://evil.example")
        .header("Access-Control-Request-Method", "PATCH");
    responses.push(preflight.send());
    responses.push(
        preflight
            .without("Origin")
            .bearer(stage.console.token())
            .json("{}")
            .send(),
    );
    for response in responses {
        let has_cors = response
            .headers
            .iter()
            .any(|(name, _)| name.starts_with("access-control"));
        assert!(!has_cors, "{response:?}");
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'self'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(response.header("x-frame-options"), Some("DENY"));
        let caching = response.header("cache-control").unwrap();
        assert!(["no-store", "no-cache"].contains(&caching), "{caching}");
        assert_eq!(response.header("set-cookie"), None);
    }
}

#[test]
fn reads_can_need_the_token_and_metrics_by_themselves() {
    let stage = Stage::with(|builder| builder.reads(Access::Token).metrics(Access::Open));
    for path in [
        "/api/v1/pools",
        "/api/v1/audit",
        "/events",
        "/api/v1/nowhere",
    ] {
        stage.get(path).expect(401);
    }
    for path in [
        "/metrics",
        "/healthz",
        "/",
        "/assets/app.js",
        "/api/v1/openapi.json",
    ] {
        stage.get(path).expect(200);
    }
    let token = stage.console.token();
    stage
        .request("GET", "/api/v1/pools")
        .bearer(token)
        .send()
        .expect(200);
    stage.request("HEAD", "/api/v1/pools").send().expect(401);

    let stage = Stage::with(|builder| builder.metrics(Access::Token));
    stage.get("/api/v1/pools").expect(200);
    stage.get("/metrics").expect(401);
}

#[test]
fn a_session_says_whether_the_token_is_right() {
    let stage = Stage::with(|builder| builder.reads(Access::Token));
    let session = || stage.request("GET", "/api/v1/session");
    assert_eq!(session().send().expect(200).text(), r#"{"write":false}"#);
    session().bearer("wrong").send().expect(401);
    let right = session().bearer(stage.console.token()).send().expect(200);
    assert_eq!(right.text(), r#"{"write":true}"#);

    let stage = Stage::with(|builder| builder.read_only(true));
    let right = stage
        .request("GET", "/api/v1/session")
        .bearer(stage.console.token())
        .send();
    assert_eq!(right.expect(200).text(), r#"{"write":false}"#);
}

#[test]
fn a_console_that_is_read_only_changes_nothing() {
    let stage = Stage::with(|builder| builder.read_only(true));
    let pool = stage.pool("web");
    assert_eq!(
        stage.get("/api/v1/pools").expect(200).json()["read_only"],
        true
    );
    stage.post("/api/v1/pools/web/prestart", "{}").expect(403);
    stage
        .patch("web", stage.version("web"), r#"{"core":3}"#)
        .expect(403);
    assert_eq!((pool.pool_size(), pool.core_pool_size()), (0, 2));
}

#[test]
fn an_address_that_is_not_loopback_needs_a_chosen_token() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Console::builder()
            .bind(address)
            .announce(false)
            .start()
            .unwrap_err();
        assert!(
            matches!(error, StartError::TokenRequired { .. }),
            "{address}: {error:?}"
        );
    }
    let stage = Stage::with(|builder| builder.bind("0.0.0.0:0").token(TOKEN));
    let port = stage.console.local_addr().port();
    let own = format!("127.0.0.1:{port}");
    // Then reads need it too, unless it is told otherwise.
    stage
        .request("GET", "/api/v1/pools")
        .host(&own)
        .send()
        .expect(401);
    stage
        .request("GET", "/metrics")
        .host(&own)
        .send()
        .expect(401);
    stage
        .request("GET", "/api/v1/pools")
        .host(&own)
        .bearer(TOKEN)
        .send()
        .expect(200);
    assert_eq!(stage.console.url(), format!("http://127.0.0.1:{port}/"));
}

#[test]
fn no_secret_shows_in_debug() {
    let builder = Console::builder()
        .bind("127.0.0.1:0")
        .announce(false)
        .token(TOKEN);
    assert!(!format!("{builder:?}").contains(TOKEN));
    let console = builder.start().unwrap();
    assert_eq!(console.token(), TOKEN);
    assert!(!format!("{console:?}").contains(TOKEN));
}

#[test]
fn messages_of_tasks_are_shown_only_if_errors_are() {
    use windlass::prelude::*;

    for shown in [false, true] {
        let stage = Stage::with(|builder| builder.show_errors(shown));
        let pool = stage.pool("web");
        stage.monitor.sample();
        let failed = pool.submit(|| panic!("the password is hunter2")).unwrap();
        failed.join().unwrap_err();
        crate::kit::await_that("the failure is known", || {
            stage.monitor.sample();
            let recent = stage.get("/api/v1/pools/web/recent").expect(200).json();
            recent["failed"].as_array().unwrap().len() == 1
        });
        let recent = stage.get("/api/v1/pools/web/recent").expect(200);
        assert_eq!(
            recent.text().contains("hunter2"),
            shown,
            "{}",
            recent.text()
        );
    }
}
