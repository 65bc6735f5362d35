//! One attempt to run a command: started in a process group of its own, read to its end, reaped.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use super::control::Control;
use super::outcome::Outcome;
use super::slots::Slot;
use super::spawn::{Outputs, Spawner};
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

/// The ends of pipes that both outputs of a process are read from, while they are open.
type Readers = [Option<File>; 2];

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
    pub(crate) spawner: Spawner,
    pub(crate) time_limit: Option<Duration>,
    /// How long a job that took too long has between `TERM` and `KILL`.
    pub(crate) grace: Duration,
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
        slot.announce(seq);
        let (group, pipes) = match self.start(argv, seq, slot, output.is_inherited()) {
            Ok(started) => started,
            Err(error) => {
                slot.abort();
                return Ok(not_started(&error, argv));
            }
        };
        let turn = slot.enter(seq, group);
        control.signal_late(slot);
        let limit = control.limit(slot, turn, (self.time_limit, self.grace));
        let read = read_to_end(pipes, slot, output);
        let ended = wait_without_reaping(group);
        let (status, time_was_up) = slot.leave(self.grace, || reap(group));
        if let Some(limit) = limit {
            limit.cancel();
        }
        let status = status?;
        ended.and(read)?;
        Ok(outcome(status, time_was_up))
    }

    /// Starts the command, and returns its group and the pipes to read it from.
    ///
    /// The ends that it writes to are closed here at once. A process that another thread starts has a copy
    /// of all that is open until it executes its program, and this job would not end before that.
    fn start(
        &self,
        argv: &[OsString],
        seq: u64,
        slot: &Slot,
        is_inherited: bool,
    ) -> io::Result<(Pid, Readers)> {
        let (readers, writers) = if is_inherited {
            ([None, None], None)
        } else {
            pipes()?
        };
        let name = argv.first().map_or_else(|| OsStr::new(""), |name| &**name);
        let program = self.program.as_deref().map_or(name, Path::as_os_str);
        let job = (seq, slot.number());
        let group = self.spawner.spawn(program, argv, job, &writers)?;
        Ok((group, readers))
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

/// Reaps the leader, which has ended.
fn reap(leader: Pid) -> io::Result<ExitStatus> {
    loop {
        match waitpid(Some(leader), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) | Ok(None) => {}
            Err(error) => return Err(error.into()),
            Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
        }
    }
}

/// Creates the pipes for both outputs of a command.
fn pipes() -> io::Result<(Readers, Outputs)> {
    let (out, out_writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let (err, err_writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let readers = [Some(File::from(out)), Some(File::from(err))];
    Ok((readers, Some([out_writer, err_writer])))
}

/// What is waited for while a process is read.
struct Reading<'a> {
    pipes: Readers,
    slot: &'a Slot,
    was_killed: bool,
}

/// Reads both outputs until nobody can write to them any more, or the group was killed.
fn read_to_end(pipes: Readers, slot: &Slot, output: &mut impl Collect) -> io::Result<()> {
    let mut reading = Reading {
        pipes,
        slot,
        was_killed: false,
    };
    let mut buffer = [0; 16 << 10];
    // A failure to keep the output does not keep the job from being read: it would block forever.
    let mut result = Ok(());
    while reading.pipes.iter().any(Option::is_some) {
        let Some(ready) = reading.await_output()? else {
            break;
        };
        for ((pipe, stream), ready) in reading.pipes.iter_mut().zip(STREAMS).zip(ready) {
            let Some(file) = pipe else {
                continue;
            };
            if ready == PollFlags::HUP {
                // Neither data nor anybody who could write some.
                *pipe = None;
            } else if !ready.is_empty() {
                match file.read(&mut buffer)? {
                    0 => *pipe = None,
                    length => result = result.and(output.collect(stream, &buffer[..length])),
                }
            }
        }
    }
    result
}

impl Reading<'_> {
    /// Waits until one of the pipes can be read, and returns what is known of each; `None`, if the group was
    /// killed and nothing came for a while.
    fn await_output(&mut self) -> io::Result<Option<[PollFlags; 2]>> {
        let unused = self.slot.wake();
        let [out, err] = self
            .pipes
            .each_ref()
            .map(|pipe| watch(pipe.as_ref().map(File::as_fd), unused));
        let wake = watch((!self.was_killed).then_some(unused), unused);
        let mut fds = [out, err, wake].map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags));
        loop {
            match poll(&mut fds, self.was_killed.then_some(&AFTERLIFE)) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(None),
                Ok(_) => break,
            }
        }
        let [out, err, wake] = fds.map(|fd| fd.revents());
        self.was_killed |= !wake.is_empty();
        Ok(Some([out, err]))
    }
}

/// What to wait for at a file descriptor that may be closed. A negative one would be ignored, but there is no
/// safe way to name one: another one stands for it, of which nothing is asked.
fn watch<'a>(open: Option<BorrowedFd<'a>>, unused: BorrowedFd<'a>) -> (BorrowedFd<'a>, PollFlags) {
    open.map_or((unused, PollFlags::empty()), |fd| (fd, PollFlags::IN))
}
