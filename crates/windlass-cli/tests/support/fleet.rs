//! A Redis server with workers of the real binary; nothing of it outlives the test.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::server::RedisServer;
use super::{Process, output_of, wait_until, windlass};

/// The workers are dropped first; their guards end what they run.
pub(crate) struct Fleet {
    workers: Vec<Process>,
    pub(crate) server: RedisServer,
    folder: TempDir,
}

impl Fleet {
    /// Starts the server; `None`, with a note on the terminal, if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Some(Self {
            server: RedisServer::start(&[])?,
            folder: tempfile::tempdir().unwrap(),
            workers: Vec::new(),
        })
    }

    /// A server, and one worker with two slots that allows these commands.
    pub(crate) fn with_worker(allowed: &str) -> Option<Self> {
        let mut fleet = Self::start()?;
        fleet.add_worker(allowed, &["-j", "2"]);
        Some(fleet)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command of a worker that runs in the folder of the test.
    pub(crate) fn worker(&self, allowed: &str, arguments: &[&str]) -> Command {
        let list = self.file(&format!("allow-{}", fastrand::u64(..)));
        std::fs::write(&list, allowed).unwrap();
        let mut command = windlass();
        command
            .args(["worker", "--allow"])
            .arg(list)
            .args(arguments)
            .env("WINDLASS_ENGINE", self.server.url())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a worker and waits until the engine knows it; returns its process.
    pub(crate) fn add_worker(&mut self, allowed: &str, arguments: &[&str]) -> u32 {
        let worker = Process::from(self.worker(allowed, arguments).spawn().unwrap());
        let pid = worker.id();
        self.workers.push(worker);
        wait_until("the worker is there", || self.knows_worker(pid));
        pid
    }

    pub(crate) fn knows_worker(&self, pid: u32) -> bool {
        let workers = self.queue(["workers", "--json"]);
        let workers: Value = serde_json::from_slice(&workers.stdout).unwrap_or_default();
        let mut workers = workers.as_array().into_iter().flatten();
        workers.any(|worker| worker["pid"] == pid)
    }

    /// Takes a worker out, to be waited for.
    pub(crate) fn take_worker(&mut self, pid: u32) -> Process {
        let at = self.workers.iter().position(|child| child.id() == pid);
        self.workers.remove(at.unwrap())
    }

    /// The command of a run through the server.
    pub(crate) fn run_command<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = windlass();
        command
            .args(["run", "--engine", &self.server.url()])
            .args(arguments);
        command
    }

    /// Starts a run through the server.
    pub(crate) fn start_run(&self, arguments: &[&str]) -> Process {
        self.run_command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .into()
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        output_of(&mut self.run_command(arguments), b"")
    }

    pub(crate) fn queue<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Output {
        let mut command = windlass();
        command
            .arg("queue")
            .args(arguments)
            .env("WINDLASS_ENGINE", self.server.url());
        output_of(&mut command, b"")
    }

    /// What `windlass queue ... --json` prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.queue(arguments.iter().chain(&["--json"]));
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
