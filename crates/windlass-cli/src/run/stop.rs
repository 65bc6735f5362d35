//! Why and how fast a run ends before its input does.
//!
//! A run passes through its stages in one direction: it runs, it drains (nothing new starts), it
//! terminates (`TERM` to the jobs), it kills (`KILL`). The stage is raised first and the process groups
//! are signalled after that; a job that starts reads the stage after its group is known. So one of the
//! two sees the other.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use windlass::interrupt::{self, InterruptHandle};

use crate::exit::Failure;

/// How far the end of a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    Running,
    Draining,
    Terminating,
    Killing,
}

impl Stage {
    const fn of(value: u8) -> Self {
        match value {
            0 => Self::Running,
            1 => Self::Draining,
            2 => Self::Terminating,
            _ => Self::Killing,
        }
    }
}

/// What ends a run before its input does; the first reason is the one that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    Signal(i32),
    Halt,
    BrokenPipe,
    /// Windlass cannot go on, and why.
    Trouble(Failure),
}

/// The stage of a run, and everything that waits for a change of it.
#[derive(Debug)]
pub(crate) struct Stop {
    stage: AtomicU8,
    reason: Mutex<Option<Reason>>,
    changed: Condvar,
    /// Readable as soon as the run drains; nobody reads it.
    wake: OwnedFd,
    waker: OwnedFd,
    /// Readable as soon as the run kills; nobody reads it.
    killing: OwnedFd,
    killer: OwnedFd,
    /// The thread that submits, which may wait for room in the pool.
    submitter: InterruptHandle,
}

impl Stop {
    /// Creates the stop of a run that the current thread submits.
    pub(crate) fn new() -> io::Result<Self> {
        // A signal may come again and again, and must not wait for room in a pipe that nobody reads.
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (wake, waker) = pipe_with(flags)?;
        let (killing, killer) = pipe_with(flags)?;
        Ok(Self {
            stage: AtomicU8::new(Stage::Running as u8),
            reason: Mutex::new(None),
            changed: Condvar::new(),
            wake,
            waker,
            killing,
            killer,
            submitter: interrupt::current(),
        })
    }

    pub(crate) fn stage(&self) -> Stage {
        Stage::of(self.stage.load(Ordering::SeqCst))
    }

    pub(crate) fn is_running(&self) -> bool {
        self.stage() == Stage::Running
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        self.lock().clone()
    }

    /// Raises the stage, unless it is there already. The caller signals the process groups.
    pub(crate) fn raise(&self, stage: Stage, reason: Reason) {
        let mut first = self.lock();
        first.get_or_insert(reason);
        // Under the lock: a thread that has just read the stage and is about to wait would miss the end.
        self.stage.fetch_max(stage as u8, Ordering::SeqCst);
        drop(first);
        // A full pipe is readable too.
        let _ = rustix::io::write(&self.waker, b"x");
        if stage == Stage::Killing {
            let _ = rustix::io::write(&self.killer, b"x");
        }
        self.submitter.interrupt();
        self.changed.notify_all();
    }

    /// A file descriptor that is readable as soon as the run drains.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// A file descriptor that is readable as soon as the run kills its jobs.
    pub(crate) fn killing(&self) -> BorrowedFd<'_> {
        self.killing.as_fd()
    }

    /// Wakes the threads in [`wait_while`](Self::wait_while).
    pub(crate) fn notify(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Waits while the run goes on and the condition holds.
    pub(crate) fn wait_while(&self, mut condition: impl FnMut() -> bool) {
        let mut guard = self.lock();
        while self.is_running() && condition() {
            guard = self
                .changed
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the condition holds, however far the end of the run has come.
    pub(crate) fn wait_until(&self, mut condition: impl FnMut() -> bool) {
        let mut guard = self.lock();
        while !condition() {
            guard = self
                .changed
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a time, and returns whether it passed while the run went on.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        // A time beyond what a clock can show is awaited in parts, each as long as the whole.
        let end = Instant::now().checked_add(time);
        let mut guard = self.lock();
        while self.is_running() {
            let left = end.map_or(time, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return true;
            }
            guard = self
                .changed
                .wait_timeout(guard, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, Option<Reason>> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Reason, Stage, Stop};

    #[test]
    fn a_stage_is_never_lowered_and_the_first_reason_counts() {
        let stop = Stop::new().unwrap();
        assert!(stop.is_running());
        stop.raise(Stage::Terminating, Reason::Halt);
        stop.raise(Stage::Draining, Reason::Signal(2));
        assert_eq!(
            (stop.stage(), stop.reason()),
            (Stage::Terminating, Some(Reason::Halt))
        );
    }

    #[test]
    fn an_endless_wait_is_no_panic() {
        let stop = std::sync::Arc::new(Stop::new().unwrap());
        let other = std::sync::Arc::clone(&stop);
        let waiter = std::thread::spawn(move || other.sleep(Duration::MAX));
        stop.raise(Stage::Draining, Reason::Halt);
        assert!(!waiter.join().unwrap());
    }

    #[test]
    fn a_wait_ends_when_the_run_does() {
        let stop = Stop::new().unwrap();
        stop.raise(Stage::Draining, Reason::Halt);
        stop.wait_while(|| true);
        assert!(!stop.sleep(Duration::from_secs(3600)));
    }
}
