//! A PostgreSQL server for a tool: a free port, data in a temporary folder, ended with the tool.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use windlass_remote::engine::PostgresEngine;

pub(crate) struct Postgres {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

/// Returns the folder of the programs: the newest of Debian's, or the one of `initdb` on the path.
fn programs() -> PathBuf {
    let installed = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut installed: Vec<_> = installed.flatten().map(|e| e.path().join("bin")).collect();
    installed.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = installed
        .into_iter()
        .rev()
        .chain(std::env::split_paths(&path));
    let mut all = all.filter(|folder| folder.join("initdb").is_file());
    all.next()
        .expect("PostgreSQL is not installed (package postgresql)")
}

/// Creates a command of the server. It refuses to run as root, so root runs it as the user `postgres`.
fn command(program: &str) -> Command {
    let mut command = Command::new(programs().join(program));
    if let Some((uid, gid)) = user() {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/").stdout(Stdio::null());
    command
}

fn user() -> Option<(u32, u32)> {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let line = line.filter(|_| is_root)?;
    let mut ids = line.split(':').skip(2).filter_map(|id| id.parse().ok());
    Some((ids.next()?, ids.next()?))
}

impl Postgres {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        if let Some((uid, gid)) = user() {
            chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        let made = command("initdb")
            .args([
                "-A", "trust", "-U", "windlass", "-E", "UTF8", "--locale", "C", "-D",
            ])
            .arg(folder.path().join("data"))
            .status();
        assert!(made.unwrap().success(), "initdb failed");
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = spawn(&folder, port);
        let server = Self {
            child,
            port,
            folder,
        };
        server.wait();
        server.engine().migrate().unwrap();
        server
    }

    fn wait(&self) {
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() || self.engine().is_starting() {
            windlass::interrupt::sleep(Duration::from_millis(10)).unwrap();
        }
    }

    pub(crate) fn address(&self) -> String {
        format!("postgres://windlass@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn engine(&self) -> PostgresEngine {
        PostgresEngine::builder(&self.address()).build().unwrap()
    }

    /// Kills the server with all its processes. It starts no more of them once it is stopped.
    fn kill(&mut self) {
        let pid = self.child.id().to_string();
        let send = |signal: &str, pids: &[&str]| {
            let _ = Command::new("kill")
                .arg(signal)
                .args(pids)
                .stderr(Stdio::null())
                .status();
        };
        send("-STOP", &[&pid]);
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        let mut all: Vec<&str> = children.split_whitespace().collect();
        all.push(&pid);
        send("-9", &all);
        let _ = self.child.wait();
    }

    /// Kills the server, and starts it again on its port and with its data.
    #[expect(clippy::allow_attributes, reason = "not every tool kills its server")]
    #[allow(dead_code)]
    pub(crate) fn restart(&mut self) {
        self.kill();
        windlass::interrupt::sleep(Duration::from_millis(200)).unwrap();
        self.child = spawn(&self.folder, self.port);
        self.wait();
    }
}

fn spawn(folder: &tempfile::TempDir, port: u16) -> Child {
    let child = command("postgres")
        .arg("-D")
        .arg(folder.path().join("data"))
        .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"])
        .args([
            "-c",
            "unix_socket_directories=",
            "-c",
            "max_connections=300",
        ])
        .stderr(Stdio::null())
        .spawn();
    child.unwrap()
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a server that accepts connections is still starting.
trait Starting {
    fn is_starting(&self) -> bool;
}

impl Starting for PostgresEngine {
    fn is_starting(&self) -> bool {
        matches!(self.check(), Err(error) if error.is_transient())
    }
}
