//! One attempt to run a command: started in a process group of its own, read to its end, reaped.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::control::Control;
use super::guard;
use super::outcome::Outcome;
use super::slots::Slot;
use crate::exit;

/// How long the output of a killed job is still read, if a process that left its group holds it open.
const AFTERLIFE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// One of the two outputs of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

const STREAMS: [Stream; 2] = [Stream::Out, Stream::Err];

/// What takes the output of a process.
pub(crate) trait Collect {
    /// Whether the process writes to the outputs of Windlass itself.
    fn is_inherited(&self) -> bool;

    /// Takes what the process has written.
    fn collect(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()>;
}

/// What all attempts of a run have in common.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The file of the program, if all jobs run the same one.
    pub(crate) program: Option<std::path::PathBuf>,
    pub(crate) run_id: String,
    pub(crate) time_limit: Option<Duration>,
    /// How long a job that took too long has between `TERM` and `KILL`.
    pub(crate) grace: Duration,
    /// The task that the job is on a worker. What the worker knows of engine and console is not its.
    pub(crate) task: Option<String>,
}

impl Launch {
    /// Runs the command in the slot and waits for its end.
    pub(crate) fn attempt(
        &self,
        argv: &[OsString],
        seq: u64,
        (control, slot): (&Control, &Arc<Slot>),
        output: &mut impl Collect,
    ) -> io::Result<Outcome> {
        let mut command = self.command(argv, seq, slot);
        if !output.is_inherited() {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        slot.announce(seq);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                slot.abort();
                return Ok(not_started(&error, argv));
            }
        };
        let group = Pid::from_child(&child);
        let turn = slot.enter(seq, group);
        control.signal_late(slot);
        let limit = control.limit(slot, turn, (self.time_limit, self.grace));
        let read = read_to_end(&mut child, slot, output);
        let ended = wait_without_reaping(group);
        let time_was_up = slot.leave();
        if let Some(limit) = limit {
            limit.cancel();
        }
        let status = child.wait()?;
        ended.and(read)?;
        Ok(outcome(status, time_was_up))
    }

    fn command(&self, argv: &[OsString], seq: u64, slot: &Slot) -> Command {
        let name = argv
            .first()
            .map_or_else(Default::default, OsString::as_os_str);
        let file: &Path = self.program.as_deref().unwrap_or_else(|| name.as_ref());
        let mut command = Command::new(file);
        command
            .arg0(name)
            .args(argv.get(1..).unwrap_or_default())
            .env(guard::RUN_ID, &self.run_id)
            .env(guard::SEQ, seq.to_string())
            .env("WINDLASS_SLOT", slot.number().to_string())
            .stdin(Stdio::null())
            .process_group(0);
        if let Some(task) = &self.task {
            command
                .env("WINDLASS_TASK_ID", task)
                .env_remove("WINDLASS_ENGINE")
                .env_remove("WINDLASS_TOKEN");
        }
        command
    }
}

fn not_started(error: &io::Error, argv: &[OsString]) -> Outcome {
    let code = match error.kind() {
        io::ErrorKind::NotFound => exit::NOT_FOUND,
        _ => exit::NOT_EXECUTABLE,
    };
    let program = argv.first().cloned().unwrap_or_default();
    Outcome::NotStarted(code, format!("{}: {error}", program.display()))
}

fn outcome(status: ExitStatus, time_was_up: bool) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => Outcome::Success,
        _ if time_was_up => Outcome::TimedOut,
        (Some(code), _) => Outcome::Exit(code),
        (None, signal) => Outcome::Signal(signal.unwrap_or_default()),
    }
}

/// Waits for the end of the leader and leaves it as a zombie, which keeps the number of its group.
fn wait_without_reaping(leader: Pid) -> io::Result<()> {
    loop {
        match waitid(
            WaitId::Pid(leader),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// Reads both outputs until nobody can write to them any more, or the group was killed.
fn read_to_end(child: &mut Child, slot: &Slot, output: &mut impl Collect) -> io::Result<()> {
    let mut pipes = [
        child
            .stdout
            .take()
            .map(|out| File::from(OwnedFd::from(out))),
        child
            .stderr
            .take()
            .map(|err| File::from(OwnedFd::from(err))),
    ];
    let mut buffer = [0; 16 << 10];
    let mut was_killed = false;
    // A failure to keep the output does not keep the job from being read: it would block forever.
    let mut result = Ok(());
    while pipes.iter().any(Option::is_some) {
        let Some(ready) = await_output(&pipes, slot, &mut was_killed)? else {
            break;
        };
        for ((pipe, stream), is_ready) in pipes.iter_mut().zip(STREAMS).zip(ready) {
            let (Some(file), true) = (&mut *pipe, is_ready) else {
                continue;
            };
            match file.read(&mut buffer)? {
                0 => *pipe = None,
                length => result = result.and(output.collect(stream, &buffer[..length])),
            }
        }
    }
    result
}

/// Waits until one of the pipes can be read, and returns which; `None`, if the group was killed and
/// nothing came for a while.
fn await_output(
    pipes: &[Option<File>; 2],
    slot: &Slot,
    was_killed: &mut bool,
) -> io::Result<Option<[bool; 2]>> {
    // A negative file descriptor would be ignored, but there is no safe way to name one. The wake
    // stands for a pipe that is closed.
    let fds = pipes.each_ref().map(|pipe| {
        let flags = if pipe.is_some() {
            PollFlags::IN
        } else {
            PollFlags::empty()
        };
        let fd = pipe
            .as_ref()
            .map_or_else(|| slot.wake(), |file| file.as_fd());
        PollFd::from_borrowed_fd(fd, flags)
    });
    let wake = if *was_killed {
        PollFlags::empty()
    } else {
        PollFlags::IN
    };
    let [out, err] = fds;
    let mut fds = [out, err, PollFd::from_borrowed_fd(slot.wake(), wake)];
    loop {
        match poll(&mut fds, was_killed.then_some(&AFTERLIFE)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(0) => return Ok(None),
            Ok(_) => break,
        }
    }
    let [out, err, wake] = fds.map(|fd| !fd.revents().is_empty());
    *was_killed |= wake;
    Ok(Some([out, err]))
}
