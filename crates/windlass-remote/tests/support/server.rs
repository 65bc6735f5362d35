//! A Redis or Valkey server of a test: a free port, a temporary folder, killed at the end.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program; `WINDLASS_REDIS_SERVER` names another one, such as `valkey-server`.
fn program() -> String {
    std::env::var("WINDLASS_REDIS_SERVER").unwrap_or_else(|_| "redis-server".into())
}

/// Returns a port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Kills a process and waits for its end.
pub fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

pub struct RedisServer {
    pub child: Option<Child>,
    pub port: u16,
    folder: TempDir,
    arguments: Vec<String>,
}

impl RedisServer {
    /// Starts a server with further arguments; `None`, with a [note](super::say_skipped), if there is no such program.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new(program())
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_err()
        {
            let what = format!("all tests on {}", program());
            super::say_skipped(&what, "Debian's package redis-server or valkey-server");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let mut server = Self {
            child: None,
            port: free_port(),
            folder,
            arguments,
        };
        // Another process may take the free port in between; then another one is tried.
        for _ in 0..5 {
            if server.launch() {
                return Some(server);
            }
            server.port = free_port();
        }
        panic!("{} does not start", program());
    }

    /// Starts the process and waits until it answers; returns whether it does.
    pub fn launch(&mut self) -> bool {
        let spawned = Command::new(program())
            .args([
                "--bind",
                "127.0.0.1",
                "--port",
                &self.port.to_string(),
                "--save",
                "",
            ])
            .args(["--appendonly", "yes", "--appendfsync", "everysec"])
            .arg("--dir")
            .arg(self.folder.path())
            .args(&self.arguments)
            .stdout(Stdio::null())
            .spawn();
        let child = self.child.insert(spawned.unwrap());
        let until = Instant::now() + super::LONG;
        while child.try_wait().unwrap().is_none() && Instant::now() < until {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            windlass::interrupt::sleep(Duration::from_millis(5)).unwrap();
        }
        self.child.take().into_iter().for_each(end);
        false
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub fn engine(&self) -> windlass_remote::engine::RedisEngine {
        windlass_remote::engine::RedisEngine::builder(&self.url())
            .build()
            .unwrap()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.child.take().into_iter().for_each(end);
    }
}
