//! Starts processes in groups of their own.
//!
//! On Linux this is `posix_spawn`, as in `std::process::Command`, with two differences that a job of less
//! than a millisecond notices. What all jobs have in common, which is the most of their environment, is
//! prepared once. And the C library is told which signals to reset: of each signal that it is not told
//! about, the new process asks the kernel first.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::Pid;

use super::guard;

const SLOT: &str = "WINDLASS_SLOT";
const TASK_ID: &str = "WINDLASS_TASK_ID";

/// What a worker knows of engine and console, which its commands do not.
const OF_WORKER: [&str; 2] = ["WINDLASS_ENGINE", "WINDLASS_TOKEN"];

/// What the processes of a run have in common.
#[derive(Debug)]
pub(crate) struct Spawner {
    environment: Vec<CString>,
    null: File,
    #[cfg(target_os = "linux")]
    resets: nix::sys::signal::SigSet,
}

/// The ends of pipes that a process writes its two outputs to; those of Windlass, if there are none.
pub(crate) type Outputs = Option<[OwnedFd; 2]>;

impl Spawner {
    /// Prepares the processes of a run, or of a task that a worker runs.
    pub(crate) fn new(run_id: &str, task: Option<&str>) -> io::Result<Self> {
        let own = [guard::RUN_ID, guard::SEQ, SLOT];
        let of_task = task.map(|_| [TASK_ID].into_iter().chain(OF_WORKER));
        let replaced: Vec<&str> = own
            .into_iter()
            .chain(of_task.into_iter().flatten())
            .collect();
        let mut environment = std::env::vars_os()
            .filter(|(name, _)| !replaced.iter().any(|other| name == other))
            .map(|(name, value)| variable(&name, &value))
            .collect::<io::Result<Vec<_>>>()?;
        environment.push(variable(guard::RUN_ID, run_id)?);
        if let Some(task) = task {
            environment.push(variable(TASK_ID, task)?);
        }
        Ok(Self {
            environment,
            null: File::open("/dev/null")?,
            #[cfg(target_os = "linux")]
            resets: resets(super::signals::ignored()),
        })
    }

    /// Starts a program as the leader of a group of its own, without an input. The caller reaps it.
    pub(crate) fn spawn(
        &self,
        program: &OsStr,
        argv: &[OsString],
        (seq, slot): (u64, usize),
        outputs: &Outputs,
    ) -> io::Result<Pid> {
        let program = CString::new(program.as_bytes())?;
        let argv = argv
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<Vec<_>, _>>()?;
        let of_job = [
            variable(guard::SEQ, seq.to_string())?,
            variable(SLOT, slot.to_string())?,
        ];
        let environment: Vec<&CStr> = self
            .environment
            .iter()
            .chain(&of_job)
            .map(|variable| &**variable)
            .collect();
        self.start(&program, &argv, &environment, outputs)
    }
}

#[cfg(target_os = "linux")]
impl Spawner {
    fn start(
        &self,
        program: &CStr,
        argv: &[CString],
        environment: &[&CStr],
        outputs: &Outputs,
    ) -> io::Result<Pid> {
        use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
        use std::os::fd::AsRawFd as _;

        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(
            PosixSpawnFlags::POSIX_SPAWN_SETPGROUP | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
        )?;
        attributes.set_pgroup(nix::unistd::Pid::from_raw(0))?;
        attributes.set_sigdefault(&self.resets)?;
        // None of these is among the first three, which are open since the program was started.
        let mut files = PosixSpawnFileActions::init()?;
        files.add_dup2(self.null.as_raw_fd(), 0)?;
        if let Some([out, err]) = outputs {
            files.add_dup2(out.as_raw_fd(), 1)?;
            files.add_dup2(err.as_raw_fd(), 2)?;
        }
        let pid = posix_spawnp(program, &files, &attributes, argv, environment)?;
        Pid::from_raw(pid.as_raw()).ok_or_else(|| io::ErrorKind::Other.into())
    }
}

#[cfg(not(target_os = "linux"))]
impl Spawner {
    fn start(
        &self,
        program: &CStr,
        argv: &[CString],
        environment: &[&CStr],
        outputs: &Outputs,
    ) -> io::Result<Pid> {
        use std::os::unix::process::CommandExt as _;

        let words = |text: &[CString]| -> Vec<OsString> {
            let word = |word: &CString| OsStr::from_bytes(word.to_bytes()).to_owned();
            text.iter().map(word).collect()
        };
        let argv = words(argv);
        let (name, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = std::process::Command::new(OsStr::from_bytes(program.to_bytes()));
        command
            .arg0(name)
            .args(arguments)
            .env_clear()
            .envs(environment.iter().filter_map(|variable| {
                let mut parts = variable.to_bytes().splitn(2, |byte| *byte == b'=');
                let (name, value) = (parts.next()?, parts.next()?);
                Some((OsStr::from_bytes(name), OsStr::from_bytes(value)))
            }))
            .stdin(self.null.try_clone()?)
            .process_group(0);
        if let Some([out, err]) = outputs {
            command.stdout(out.try_clone()?).stderr(err.try_clone()?);
        }
        Ok(Pid::from_child(&command.spawn()?))
    }
}

/// Returns the signals that a new process handles by default: all but those that are ignored, as for `nohup`.
/// `PIPE` is one of them: it is ignored since this program was started, but not by whoever started it.
#[cfg(target_os = "linux")]
fn resets(ignored: u64) -> nix::sys::signal::SigSet {
    use nix::sys::signal::{SigSet, Signal};

    let has = |signal: Signal| ignored & (1 << (signal as i32 - 1)) != 0;
    let named = Signal::iterator().fold(0, |mask, signal| mask | 1 << (signal as i32 - 1));
    if ignored & !named != 0 {
        // There is no name to leave a real-time signal out by. The C library leaves all others as they should be.
        return SigSet::from(Signal::SIGPIPE);
    }
    let mut all = SigSet::all();
    for signal in Signal::iterator().filter(|signal| has(*signal) && *signal != Signal::SIGPIPE) {
        all.remove(signal);
    }
    all
}

fn variable(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> io::Result<CString> {
    let (name, value) = (name.as_ref().as_bytes(), value.as_ref().as_bytes());
    Ok(CString::new([name, b"=", value].concat())?)
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_ignored_is_not_reset_but_for_pipe() {
        use nix::sys::signal::{SigSet, Signal};

        let bit = |signal: Signal| 1_u64 << (signal as i32 - 1);
        let all = super::resets(bit(Signal::SIGPIPE));
        assert!(Signal::iterator().all(|signal| all.contains(signal)));
        let without = super::resets(bit(Signal::SIGHUP) | bit(Signal::SIGPIPE));
        let mut expected = SigSet::all();
        expected.remove(Signal::SIGHUP);
        assert_eq!(without, expected);
        // A real-time signal has no name.
        let one = super::resets(bit(Signal::SIGHUP) | 1 << 40);
        assert_eq!(one, SigSet::from(Signal::SIGPIPE));
    }
}
