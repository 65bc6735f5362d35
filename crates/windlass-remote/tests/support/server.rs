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

pub struct RedisServer {
    child: Child,
    pub port: u16,
    folder: TempDir,
    arguments: Vec<String>,
}

impl RedisServer {
    /// Starts a server with further arguments; `None`, with a note on the terminal, if there is no such program.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new(program())
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_err()
        {
            eprintln!(
                "skipped: {} is not installed (package redis-server or valkey-server)",
                program()
            );
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        // Another process may take the free port in between; then another one is tried.
        for _ in 0..5 {
            let port = free_port();
            let mut child = Self::spawn(port, &folder, &arguments);
            if Self::is_up(&mut child, port) {
                return Some(Self {
                    child,
                    port,
                    folder,
                    arguments,
                });
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("{} does not start", program());
    }

    fn spawn(port: u16, folder: &TempDir, arguments: &[String]) -> Child {
        Command::new(program())
            .args([
                "--bind",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "--save",
                "",
            ])
            .args(["--appendonly", "yes", "--appendfsync", "everysec"])
            .arg("--dir")
            .arg(folder.path())
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn is_up(child: &mut Child, port: u16) -> bool {
        let until = Instant::now() + super::LONG;
        while child.try_wait().unwrap().is_none() && Instant::now() < until {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return true;
            }
            windlass::interrupt::sleep(Duration::from_millis(5)).unwrap();
        }
        false
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    #[cfg(feature = "redis")]
    pub fn engine(&self) -> windlass_remote::engine::RedisEngine {
        windlass_remote::engine::RedisEngine::builder(&self.url())
            .build()
            .unwrap()
    }

    /// Ends the server without any warning.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, on its port and with its data.
    pub fn restart(&mut self) {
        for _ in 0..50 {
            self.child = Self::spawn(self.port, &self.folder, &self.arguments);
            if Self::is_up(&mut self.child, self.port) {
                return;
            }
            windlass::interrupt::sleep(Duration::from_millis(50)).unwrap();
        }
        panic!("the server does not start again");
    }

    /// Sends one command as an administrator would.
    #[cfg(feature = "redis")]
    pub fn command(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let mut connection = redis::Client::open(self.url())?.get_connection()?;
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut connection)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
