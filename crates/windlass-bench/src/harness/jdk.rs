//! The Java side: one program, compiled when it is needed, that takes a sample per request.
//!
//! It stays running so that its samples come between those of the other peers, with its code
//! compiled and warm. A request is a line, `WORKLOAD POINT PEER`; the answer is a line per figure
//! and then `end`, or `failed` with a reason.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::{env, fs, process};

use super::figure::Figure;
use super::point::Point;
use super::{sample, surroundings};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/java");
const MAIN: &str = "Bench";

/// A JDK with the program compiled, and the processes that run it once there was a request.
pub(crate) struct Jdk {
    classes: PathBuf,
    version: String,
    /// By the number of cores that they may use; none has no limit.
    persistent: HashMap<Option<usize>, Persistent>,
}

struct Persistent {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    /// Set when requests and answers may no longer match.
    is_lost: bool,
}

impl Jdk {
    /// Finds a JDK and compiles the program.
    ///
    /// # Errors
    ///
    /// Returns why there are no Java peers.
    pub(crate) fn find() -> Result<Self, String> {
        let version = version()?;
        let classes = env::temp_dir().join(format!("windlass-bench-{}", process::id()));
        let jdk = Self {
            classes,
            version,
            persistent: HashMap::new(),
        };
        jdk.compile()?;
        Ok(jdk)
    }

    /// The JDK's name and version.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    fn compile(&self) -> Result<(), String> {
        let listing = fs::read_dir(SOURCES).map_err(|error| format!("{SOURCES}: {error}"))?;
        let files = listing.filter_map(|entry| Some(entry.ok()?.path()));
        let sources = files.filter(|path| path.extension().is_some_and(|end| end == "java"));
        let mut javac = Command::new("javac");
        javac.arg("-d").arg(&self.classes).args(sources);
        let output = javac.output().map_err(|_| "there is no javac".to_owned())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Takes a sample in the persistent process.
    ///
    /// # Errors
    ///
    /// Returns the reason, for the notice.
    pub(crate) fn take(
        &mut self,
        workload: &str,
        point: &Point,
        peer: &str,
    ) -> Result<Vec<Figure>, String> {
        let cores = cores(point);
        let persistent = match self.persistent.entry(cores) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(empty) => empty.insert(Persistent::start(java(&self.classes, cores))?),
        };
        let answer = persistent.ask(&format!("{workload} {point} {peer}"));
        if persistent.is_lost {
            self.persistent.remove(&cores);
        }
        answer
    }

    /// Takes a sample in a process of its own.
    ///
    /// # Errors
    ///
    /// Returns the reason, for the notice.
    pub(crate) fn take_fresh(
        &self,
        workload: &str,
        point: &Point,
        peer: &str,
    ) -> Result<Vec<Figure>, String> {
        let mut command = java(&self.classes, cores(point));
        command.args([workload, &point.to_string(), peer]);
        sample::figures_of(command)
    }
}

impl Drop for Jdk {
    fn drop(&mut self) {
        self.persistent.clear();
        // Left for the system to clean up if it cannot be removed.
        let _ = fs::remove_dir_all(&self.classes);
    }
}

impl Persistent {
    fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let requests = process.stdin.take().ok_or("its input is not piped")?;
        let output = process.stdout.take().ok_or("its output is not piped")?;
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            process,
            requests,
            answers,
            is_lost: false,
        })
    }

    fn ask(&mut self, request: &str) -> Result<Vec<Figure>, String> {
        self.is_lost = true;
        writeln!(self.requests, "{request}").map_err(|error| error.to_string())?;
        let mut figures = Vec::new();
        loop {
            let line = self.answers.recv_timeout(sample::LIMIT);
            let line = line.map_err(|error| format!("no answer: {error}"))?;
            if line == "end" {
                self.is_lost = false;
                return Ok(figures);
            }
            if let Some(reason) = line.strip_prefix("failed ") {
                self.is_lost = false;
                return Err(reason.to_owned());
            }
            figures.extend(Figure::from_line(&line));
        }
    }
}

impl Drop for Persistent {
    fn drop(&mut self) {
        // It is of no further use, whatever it is doing.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How many cores a point wants, if it does not want them all.
fn cores(point: &Point) -> Option<usize> {
    point.get("cores").map(|_| point.size("cores"))
}

fn java(classes: &Path, cores: Option<usize>) -> Command {
    let mut command = match cores {
        None => Command::new("java"),
        Some(count) => {
            let cores = surroundings::first_cores(count).into_iter();
            let cores: Vec<_> = cores.map(|core| core.to_string()).collect();
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", &cores.join(","), "java"]);
            command
        }
    };
    command.arg("-cp").arg(classes).arg(MAIN);
    command
}

fn version() -> Result<String, String> {
    let output = Command::new("java").arg("-version").output();
    let output = output.map_err(|_| "there is no java".to_owned())?;
    // The JDK writes it to the error stream.
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text.lines().nth(1).unwrap_or("JDK").trim().to_owned())
}
