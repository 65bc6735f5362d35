//! A PostgreSQL server of a test: a free port, a temporary folder, ended and removed with its test, whatever happens to it.
#![expect(unreachable_pub, reason = "shared by test binaries as a module")]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use windlass_remote::engine::{PostgresEngine, PostgresEngineBuilder};

const LONGEST_START: Duration = Duration::from_secs(30);

/// Returns a port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Returns the folder of the programs: the newest of Debian's, or the one of `initdb` on the path.
fn programs() -> Option<PathBuf> {
    let version = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.parse::<u32>().ok()
    };
    let installed = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut installed: Vec<_> = installed.flatten().map(|entry| entry.path()).collect();
    installed.sort_by_key(|path| version(path));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = installed.into_iter().rev().map(|path| path.join("bin"));
    debian
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

/// Returns who runs the server. It refuses to run as root, so root starts it as another user.
fn user() -> Option<(u32, u32)> {
    let own = std::fs::metadata("/proc/self").ok();
    if std::os::unix::fs::MetadataExt::uid(&own?) != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ids = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        let mut next = || fields.next()?.parse().ok();
        Some((next()?, next()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

/// Creates a command that the server's user runs.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = user() {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/");
    command
}

/// Starts the server, and ends it and removes its folder when the test does, even if that is killed: then its end of the pipe is
/// closed. Told to `keep`, it leaves the folder alone.
const KEEPER: &str = r#"
trap '' INT TERM HUP
folder=$1; shift
pid=
if [ $# -gt 0 ]; then "$@" >>"$folder/log" 2>&1 & pid=$!; fi
echo "${pid:-none}"
read word
if [ -n "$pid" ]; then kill -QUIT $pid; kill -CONT $pid; wait $pid; fi 2>/dev/null
[ "$word" = keep ] || rm -rf "$folder"
"#;

/// A process that stands by to tidy up.
pub struct Keeper {
    child: Child,
    pub pid: Option<u32>,
}

impl Keeper {
    fn start(folder: &Path, program: &[&str]) -> Self {
        let spawned = command("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(folder)
            .args(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = spawned.unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let pid = line.trim().parse().ok();
        Self { child, pid }
    }

    /// Ends the server but not its data.
    fn keep(mut self) {
        let _ = self.child.stdin.take().unwrap().write_all(b"keep\n");
        let _ = self.child.wait();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Makes an empty folder for the server's user.
fn new_folder() -> PathBuf {
    let folder = tempfile::tempdir().unwrap().keep();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
    if let Some((uid, gid)) = user() {
        chown(&folder, Some(uid), Some(gid)).unwrap();
    }
    folder
}

/// Data that every server starts from; made once for the whole program.
pub struct Template {
    pub bin: PathBuf,
    folder: PathBuf,
    _keeper: Keeper,
}

pub fn template() -> Option<&'static Template> {
    static TEMPLATE: OnceLock<Option<Template>> = OnceLock::new();
    let make = || {
        let Some(bin) = programs() else {
            let needed = "Debian's package postgresql";
            crate::support::say_skipped("all tests on PostgreSQL", needed);
            return None;
        };
        let folder = new_folder();
        let keeper = Keeper::start(&folder, &[]);
        let made = command(bin.join("initdb"))
            .args([
                "-A", "trust", "-U", "windlass", "-E", "UTF8", "--locale", "C",
            ])
            .args(["--no-sync", "--wal-segsize", "4", "-D"])
            .arg(folder.join("data"))
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success(), "initdb failed");
        Some(Template {
            bin,
            folder,
            _keeper: keeper,
        })
    };
    TEMPLATE.get_or_init(make).as_ref()
}

pub struct PostgresServer {
    pub keeper: Option<Keeper>,
    pub port: u16,
    pub folder: PathBuf,
    settings: Vec<String>,
}

impl PostgresServer {
    /// Starts a server with further settings (`name=value`); `None`, with a [note](crate::support::say_skipped), if it is not installed.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let template = template()?;
        let folder = new_folder();
        let copied = command("cp")
            .arg("-r")
            .args([template.folder.join("data"), folder.join("data")])
            .status();
        assert!(copied.unwrap().success());
        let mut server = Self {
            keeper: None,
            port: free_port(),
            folder,
            settings: settings.iter().map(ToString::to_string).collect(),
        };
        server.launch();
        server.engine().migrate().unwrap();
        Some(server)
    }

    /// Starts the process and waits until it answers. Another process may take the free port in between; then another
    /// one is tried.
    pub fn launch(&mut self) {
        let until = Instant::now() + LONGEST_START;
        self.spawn();
        while self.engine().now_is_answered().is_err() {
            assert!(Instant::now() < until, "the server does not start");
            if self.is_dead() {
                self.end();
                let log = std::fs::read_to_string(self.folder.join("log"));
                if log.is_ok_and(|log| log.contains("could not create any TCP/IP sockets")) {
                    self.port = free_port();
                }
                self.spawn();
            }
            windlass::interrupt::sleep(Duration::from_millis(10)).unwrap();
        }
    }

    fn spawn(&mut self) {
        let program = template().unwrap().bin.join("postgres");
        let data = self.folder.join("data");
        let port = self.port.to_string();
        let mut arguments = vec![program.to_str().unwrap(), "-D", data.to_str().unwrap()];
        arguments.extend(["-p", &port, "-c", "listen_addresses=127.0.0.1"]);
        arguments.extend([
            "-c",
            "unix_socket_directories=",
            "-c",
            "max_connections=300",
        ]);
        for setting in &self.settings {
            arguments.extend(["-c", setting]);
        }
        let _ = std::fs::remove_file(self.folder.join("log"));
        self.keeper = Some(Keeper::start(&self.folder, &arguments));
    }

    /// Whether the process has ended by itself.
    fn is_dead(&self) -> bool {
        let pid = self.keeper.as_ref().and_then(|keeper| keeper.pid);
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.unwrap_or(0)));
        state.is_ok_and(|state| state.contains(") Z "))
    }

    /// Ends the process and leaves its data alone.
    pub fn end(&mut self) {
        self.keeper.take().into_iter().for_each(Keeper::keep);
    }

    pub fn url(&self) -> String {
        format!("postgres://windlass@127.0.0.1:{}/postgres", self.port)
    }

    pub fn builder(&self) -> PostgresEngineBuilder {
        PostgresEngine::builder(&self.url())
    }

    pub fn engine(&self) -> PostgresEngine {
        self.builder().build().unwrap()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // One that runs is ended by its keeper, which removes the folder too.
        if self.keeper.is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Whether a server answers at all.
trait Answers {
    fn now_is_answered(&self) -> Result<(), windlass_remote::engine::EngineError>;
}

impl Answers for PostgresEngine {
    fn now_is_answered(&self) -> Result<(), windlass_remote::engine::EngineError> {
        match self.check() {
            Err(
                windlass_remote::engine::EngineError::Protocol(_)
                | windlass_remote::engine::EngineError::Version { .. },
            ) => Ok(()),
            other => other.map(drop),
        }
    }
}
