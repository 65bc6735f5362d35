//! `windlass demo`, `pools`, `set` and `top` on a real console.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Output, Stdio};

use support::{kill, stderr, stdout, wait_for_end, wait_until_every, windlass};

/// A demo on a free port, with the address and the token that it has printed.
struct Demo {
    child: Child,
    lines: BufReader<ChildStdout>,
    address: String,
    token: String,
}

impl Demo {
    fn start(options: &[&str]) -> Self {
        let mut child = windlass()
            .args(["demo", "--port", "0"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut value = |name: &str| {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            line.strip_prefix(name)
                .unwrap_or_else(|| panic!("{line}"))
                .trim()
                .to_owned()
        };
        let (address, token) = (value("console"), value("token"));
        let address = address
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        Self {
            child,
            lines,
            address,
            token,
        }
    }

    fn windlass(&self, arguments: &[&str]) -> Output {
        windlass()
            .args(arguments)
            .args(["-A", &self.address])
            .env("WINDLASS_TOKEN", &self.token)
            .output()
            .unwrap()
    }

    fn pool(&self, name: &str) -> serde_json::Value {
        let output = self.windlass(&["pools", name, "--json"]);
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    }

    /// Sends ctrl-c, and returns the exit code and the rest of what is printed.
    fn end(mut self) -> (Option<i32>, String) {
        kill(&self.child, "INT");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.lines, &mut rest).unwrap();
        (wait_for_end(self.child).status.code(), rest)
    }
}

#[test]
fn a_demo_is_watched_tuned_and_ended_with_a_report() {
    let demo = Demo::start(&["--quiet"]);
    // The console answers twenty requests a second.
    let pause = std::time::Duration::from_millis(200);
    wait_until_every(pause, "the web pool has finished tasks", || {
        demo.pool("web")["tasks"]["completed"].as_u64().unwrap() > 20
    });
    let table = stdout(&demo.windlass(&["pools"]));
    for pool in ["web", "thumbnails", "housekeeping", "search"] {
        assert!(table.contains(pool), "{table}");
    }
    let text = stdout(&demo.windlass(&["pools", "web"]));
    assert!(
        text.contains("core 4, max 8") && text.contains("caller_runs"),
        "{text}"
    );
    // The names are those that `set` documents.
    assert!(
        text.contains("can be set: core, max, keep-alive, allow-core-timeout, capacity, policy"),
        "{text}"
    );
    let output = demo.windlass(&["set", "web", "keep-alive=90s", "--dry-run"]);
    assert!(
        stdout(&output).starts_with("keep-alive 1m 00s -> 1m 30s\n"),
        "{}",
        stdout(&output)
    );

    let output = demo.windlass(&["set", "web", "core=5", "--dry-run"]);
    assert!(stdout(&output).contains("core 4 -> 5") && stdout(&output).contains("dry run"));
    assert_eq!(demo.pool("web")["threads"]["core"], 4);
    let output = demo.windlass(&["set", "web", "core=6", "--revert-after", "600s"]);
    assert!(
        stdout(&output).contains("--confirm"),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    assert_eq!(demo.pool("web")["threads"]["core"], 6);
    assert!(!demo.pool("web")["pending_revert"].is_null());
    let output = demo.windlass(&["set", "web", "--confirm"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(demo.pool("web")["pending_revert"].is_null());

    let (code, report) = demo.end();
    assert_eq!(code, Some(0));
    for text in ["web", "tasks finished", "handed back", "housekeeping"] {
        assert!(report.contains(text), "{report}");
    }
    // One ctrl-c lets the requests end; only a second one hurries them.
    let web = report.lines().find(|line| line.starts_with("web")).unwrap();
    assert!(
        web.contains("drained") && web.contains("0 handed back") && web.contains("0 cancelled"),
        "{report}"
    );
}

#[test]
fn a_demo_ends_by_itself_and_prints_figures() {
    let output = windlass()
        .args(["demo", "--port", "0", "--for", "6500ms"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("wait p99") && text.contains("the service has ended"),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn what_the_console_refuses_is_explained() {
    let demo = Demo::start(&["--quiet"]);
    let refused = |arguments: &[&str], token: &str, text: &str| {
        let output = windlass()
            .args(arguments)
            .args(["-A", &demo.address])
            .env("WINDLASS_TOKEN", token)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(text), "{}", stderr(&output));
    };
    refused(
        &["pools", "no such pool"],
        &demo.token,
        "windlass pools lists",
    );
    refused(&["set", "web", "core=5"], "", "needs the token");
    refused(&["set", "web", "core=5"], "wrong", "the right one?");
    let hints = |settings: &[&str], hint: &str| {
        let arguments = [&["set", "web"], settings].concat();
        refused(&arguments, &demo.token, &format!("hint: {hint}"));
    };
    // Limits that are set in code hold with --force too; only steps do not.
    hints(&["core=33"], "the program itself sets these limits");
    hints(
        &["core=33", "--force"],
        "the program itself sets these limits",
    );
    hints(&["capacity=2000"], "--force asks");
    hints(&["policy=foo"], "windlass pools POOL lists the policies");
    hints(
        &["parallelism=3"],
        "windlass pools POOL lists the settings that can",
    );
    hints(&["capacity=0"], "windlass pools POOL shows");
    hints(&["--confirm"], "--confirm keeps a change that was made");
    hints(&["--revert"], "--confirm keeps a change that was made");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{}\n", demo.token)).unwrap();
    let path = file.path().to_str().unwrap();
    let output = windlass()
        .args([
            "set",
            "web",
            "core=5",
            "-A",
            &demo.address,
            "--token-file",
            path,
        ])
        .output()
        .unwrap();
    assert_eq!(
        stdout(&output).lines().next(),
        Some("core 4 -> 5"),
        "{}",
        stderr(&output)
    );
    demo.end();
}

#[test]
fn a_proxy_of_the_environment_does_not_get_the_token() {
    let demo = Demo::start(&["--quiet"]);
    // Nothing listens there: what went by the proxy would fail.
    let proxies = [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ];
    let output = windlass()
        .args(["pools", "-A", &demo.address])
        .env("WINDLASS_TOKEN", &demo.token)
        .envs(proxies.map(|name| (name, "http://127.0.0.1:1")))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    demo.end();
}

#[test]
fn without_a_console_the_next_step_is_named() {
    for command in [&["pools"][..], &["set", "web", "core=1"]] {
        let output = windlass()
            .args(command)
            .args(["-A", "127.0.0.1:1"])
            .env("WINDLASS_TOKEN", "x")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains("windlass demo"),
            "{}",
            stderr(&output)
        );
    }
    let output = windlass()
        .args(["top"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("windlass pools"));
    let output = windlass().args(["set", "web", "size=1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("there are core, max"),
        "{}",
        stderr(&output)
    );
}
