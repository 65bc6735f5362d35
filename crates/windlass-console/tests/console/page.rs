//! The files of the page.

use crate::kit::stage::Stage;

#[test]
fn the_page_and_its_files_have_their_types() {
    let stage = Stage::new();
    for (path, content_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/assets/app.js", "text/javascript; charset=utf-8"),
        (
            "/assets/uPlot.iife.min.js",
            "text/javascript; charset=utf-8",
        ),
        ("/assets/base.css", "text/css; charset=utf-8"),
        ("/assets/icon.svg", "image/svg+xml"),
    ] {
        let file = stage.get(path).expect(200);
        assert_eq!(file.header("content-type"), Some(content_type), "{path}");
        assert!(!file.body.is_empty());
    }
}

#[test]
fn every_file_that_the_page_names_exists() {
    let stage = Stage::new();
    let page = stage.get("/").expect(200).text();
    let named: Vec<&str> = page
        .split(['"', '\''])
        .filter(|text| text.starts_with("assets/") || text.starts_with("/assets/"))
        .collect();
    assert!(!named.is_empty(), "{page}");
    for file in named {
        stage
            .get(&format!("/{}", file.trim_start_matches('/')))
            .expect(200);
    }
}

#[test]
fn a_file_that_the_browser_has_is_not_sent_again() {
    let stage = Stage::new();
    let file = stage.get("/assets/app.js").expect(200);
    let tag = file.header("etag").unwrap();
    let again = stage
        .request("GET", "/assets/app.js")
        .header("If-None-Match", tag)
        .send();
    assert!(again.expect(304).body.is_empty());
    let other = stage
        .request("GET", "/assets/app.js")
        .header("If-None-Match", "\"0\"")
        .send();
    assert_eq!(other.expect(200).body, file.body);
}

#[test]
fn no_path_leads_out_of_the_page() {
    let stage = Stage::new();
    for path in [
        "/assets/../Cargo.toml",
        "/assets/..%2fCargo.toml",
        "/assets/%2e%2e%2fCargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        "/assets/..\\Cargo.toml",
        "/assets/%2fetc%2fpasswd",
        "/assets//etc/passwd",
        "/assets/app.js%00.html",
        "/assets/./app.js",
        "/assets/",
        "/assets/README.md",
        "/assets/uPlot.LICENSE",
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/assets/%c0%ae%c0%ae%c0%afCargo.toml",
    ] {
        let answer = stage.get(path);
        assert!(
            [400, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
        assert!(!answer.text().contains("windlass-console"), "{path}");
    }
}
