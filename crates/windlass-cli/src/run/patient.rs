//! An output of the run whose reader may stand still.
//!
//! A write to a full pipe waits for its reader, and nothing ends that wait. So this waits for room before
//! each write, and gives up when the run kills its jobs.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::PIPE_BUF;

use super::stop::Stop;

/// An output that is written to until the run kills its jobs.
#[derive(Debug)]
pub(super) struct Patient {
    file: File,
    stop: Arc<Stop>,
    /// Whether a write may wait for somebody: not to a regular file.
    has_reader: bool,
}

impl Patient {
    pub(super) fn new(fd: impl AsFd, stop: Arc<Stop>) -> io::Result<Self> {
        let file = File::from(fd.as_fd().try_clone_to_owned()?);
        // What cannot be asked is taken for a pipe.
        let has_reader = !file.metadata().is_ok_and(|metadata| metadata.is_file());
        Ok(Self {
            file,
            stop,
            has_reader,
        })
    }

    /// Waits until a write of up to `PIPE_BUF` bytes does not wait.
    fn await_room(&self) -> io::Result<()> {
        let killing = self.stop.killing();
        let mut fds = [
            PollFd::new(&self.file, PollFlags::OUT),
            PollFd::from_borrowed_fd(killing, PollFlags::IN),
        ];
        loop {
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) if fds[0].revents().is_empty() => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "nobody reads it, and the run was told to end",
                    ));
                }
                Ok(_) => return Ok(()),
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_reader {
            return self.file.write(bytes);
        }
        loop {
            self.await_room()?;
            let part = &bytes[..bytes.len().min(PIPE_BUF)];
            match self.file.write(part) {
                // Somebody else was faster, and the file does not block.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
