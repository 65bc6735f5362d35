//! A real Prometheus reads the metrics.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use windlass::prelude::*;

use crate::kit::await_that;
use crate::kit::http::Request;
use crate::kit::stage::Stage;

/// A server that ends with the test.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Prometheus {
    /// Starts a server that reads `target` each second; `None` if there is none on this machine.
    fn start(folder: &Path, address: SocketAddr, target: SocketAddr) -> Option<Self> {
        let configuration = folder.join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: windlass\n    \
             static_configs: [{{targets: [\"{target}\"]}}]\n"
        );
        fs::write(&configuration, text).unwrap();
        let server = Command::new("prometheus")
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        server.ok().map(Self)
    }
}

/// Returns the value that the server has for a query, which has a single one.
fn value(server: SocketAddr, query: &str) -> Option<f64> {
    TcpStream::connect(server).ok()?;
    let response = Request::new(server, "GET", &format!("/api/v1/query?query={query}")).send();
    let answer = (response.status == 200).then(|| response.json())?;
    let sample = answer["data"]["result"][0]["value"][1].as_str()?;
    sample.parse().ok()
}

#[test]
fn a_prometheus_server_reads_the_figures_of_a_pool() {
    let stage = Stage::new();
    let pool = stage.pool("web");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scrape");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = free.local_addr().unwrap();
    drop(free);
    let target = stage.console.local_addr();
    let Some(_prometheus) = Prometheus::start(&folder, server, target) else {
        // Not by a macro: what those write is not shown when a test passes.
        let text = "left out: needs Prometheus; on Debian, apt-get install prometheus";
        let _ = writeln!(
            std::io::stderr(),
            "a_prometheus_server_reads_the_figures_of_a_pool: {text}"
        );
        return;
    };
    await_that("the target is up", || value(server, "up") == Some(1.0));
    for _ in 0..3 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    // A worker counts a task after it has completed the handle.
    await_that("the tasks are counted", || {
        stage.monitor.sample();
        let query = "windlass_pool_tasks_completed_total%7Boutcome=%22ok%22%7D";
        value(server, query) == Some(3.0)
    });
    let maximum = value(server, "windlass_pool_threads_max%7Bpool=%22web%22%7D");
    assert_eq!(maximum, Some(4.0));
    pool.close();
}
