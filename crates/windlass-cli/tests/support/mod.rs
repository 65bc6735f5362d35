//! What the tests of the binary share: starting it, feeding it, waiting for states with a limit.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    missing_docs,
    reason = "each test binary uses a part of it; helpers of tests may panic"
)]

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) mod fleet;
#[path = "../../../windlass-remote/tests/support/server.rs"]
pub mod server;
#[path = "../../../windlass-remote/tests/support/skipped.rs"]
mod skipped;

pub use skipped::say_skipped;

/// How long a state is awaited, far longer than it takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn windlass() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command
        .env_remove("NO_COLOR")
        .env_remove("WINDLASS_TOKEN")
        .env_remove("WINDLASS_ENGINE");
    command
}

/// Runs `windlass run` with these arguments and nothing to read.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    run_with_input(arguments, b"")
}

/// Runs `windlass run` with these arguments and this input.
pub(crate) fn run_with_input<S: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    input: &[u8],
) -> Output {
    output_of(windlass().arg("run").args(arguments), input)
}

/// Runs a command with this input to its end.
pub(crate) fn output_of(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || {
        // The program may end before it has read everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The lines of standard output, sorted: for jobs that end in any order.
pub(crate) fn sorted_lines(output: &Output) -> Vec<String> {
    let mut lines: Vec<String> = stdout(output).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Waits until the condition holds; fails when it does not for a long time.
pub(crate) fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    wait_until_every(Duration::from_millis(5), what, condition);
}

/// The same for a condition that is not to be asked for more often: a console limits its requests, say.
pub(crate) fn wait_until_every(pause: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::sleep(pause);
    }
}

pub(crate) fn wait_for_file(path: &Path) {
    wait_until(&format!("{} exists", path.display()), || path.exists());
}

/// Waits until the file has a line, and returns what it has. A file exists before it is written to.
pub(crate) fn wait_for_line(path: &Path) -> String {
    let read = || std::fs::read_to_string(path).unwrap_or_default();
    wait_until(&format!("{} has a line", path.display()), || {
        read().ends_with('\n')
    });
    read()
}

/// A process that is killed when it is dropped: a test that fails leaves none behind.
#[derive(Debug)]
pub(crate) struct Process(Option<Child>);

impl From<Child> for Process {
    fn from(child: Child) -> Self {
        Self(Some(child))
    }
}

impl std::ops::Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().unwrap()
    }
}

impl std::ops::DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(server::end);
    }
}

/// Waits for the end of a process, and returns its output; one that does not end fails the test.
pub(crate) fn wait_for_end(process: impl Into<Process>) -> Output {
    let mut process = process.into();
    wait_until("the process has ended", || {
        process.try_wait().unwrap().is_some()
    });
    process.0.take().unwrap().wait_with_output().unwrap()
}

/// Reads the standard error of a process until it contains a text, and returns what was read.
pub(crate) fn read_until(child: &mut Child, text: &str) -> String {
    use std::io::Read as _;
    let mut pipe = child.stderr.take().unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let wanted = text.to_owned();
    let reader = thread::spawn(move || {
        let (mut read, mut byte) = (Vec::new(), [0]);
        while !String::from_utf8_lossy(&read).contains(&wanted) {
            match pipe.read(&mut byte) {
                Ok(1) => read.push(byte[0]),
                _ => break,
            }
        }
        let _ = send.send(String::from_utf8_lossy(&read).into_owned());
        pipe
    });
    let read = receive.recv_timeout(LONG);
    let read = read.unwrap_or_else(|_| panic!("waited in vain for {text:?}"));
    child.stderr = Some(reader.join().unwrap());
    assert!(read.contains(text), "no {text:?} in {read:?}");
    read
}

pub(crate) fn kill(child: &Child, signal: &str) {
    kill_pid(child.id(), signal);
}

pub(crate) fn kill_pid(pid: u32, signal: &str) {
    let status = Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| !rest.starts_with('Z'))
    })
}

/// The processes whose command line contains this text.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(text) && is_alive(*pid)
        })
        .collect()
}

/// The summary that `--json` wrote to standard error.
pub(crate) fn summary(output: &Output) -> serde_json::Value {
    let text = stderr(output);
    let line = text.lines().find(|line| line.starts_with('{'));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no summary in {text}"))).unwrap()
}
