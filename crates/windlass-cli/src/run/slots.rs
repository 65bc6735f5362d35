//! The places that jobs run in, and the process group in each of them.
//!
//! A group is signalled under the lock of its slot, and leaves the slot before its leader is reaped. So
//! a signal never reaches a process that was given the same number later. What is left of a group when
//! its leader has ended keeps the number too: it is looked for before it is killed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::guard::Guard;
use super::members::has_living_members;

/// How often what is left of a group is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// All slots of a run.
#[derive(Debug)]
pub(crate) struct Slots {
    all: Mutex<Vec<Arc<Slot>>>,
    free: Mutex<BinaryHeap<Reverse<usize>>>,
    guard: Option<Arc<Guard>>,
}

/// A place that one job runs in.
#[derive(Debug)]
pub(crate) struct Slot {
    index: usize,
    running: Mutex<Running>,
    /// Readable when the group was killed, so that its reader does not wait for escaped processes.
    wake: OwnedFd,
    waker: OwnedFd,
    guard: Option<Arc<Guard>>,
}

#[derive(Debug, Default)]
struct Running {
    group: Option<Pid>,
    /// Counts the attempts in this slot, so that a late timer does not hit the next job.
    turn: u64,
    time_is_up: bool,
    /// What the next group is sent as soon as it is there: its job was told to end before it had started.
    due: Option<Signal>,
    /// Whether a byte was written to wake the reader.
    woken: bool,
    /// Whether the leader has ended and the slot waits for what is left of its group.
    lingers: bool,
}

impl Slots {
    pub(crate) fn new(guard: Option<Guard>) -> Self {
        Self {
            all: Mutex::new(Vec::new()),
            free: Mutex::new(BinaryHeap::new()),
            guard: guard.map(Arc::new),
        }
    }

    /// Takes the free slot with the lowest number.
    pub(crate) fn acquire(&self) -> io::Result<Arc<Slot>> {
        let free = lock(&self.free).pop();
        let mut all = lock(&self.all);
        if let Some(Reverse(index)) = free {
            return Ok(Arc::clone(&all[index]));
        }
        let (wake, waker) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let slot = Arc::new(Slot {
            index: all.len(),
            running: Mutex::default(),
            wake,
            waker,
            guard: self.guard.clone(),
        });
        all.push(Arc::clone(&slot));
        Ok(slot)
    }

    pub(crate) fn release(&self, slot: &Slot) {
        let mut running = lock(&slot.running);
        running.due = None;
        if let Some(group) = running.group.take() {
            // Only a panic leaves a group in the slot.
            let _ = kill_process_group(group, Signal::KILL);
        }
        drop(running);
        lock(&self.free).push(Reverse(slot.index));
    }

    /// Sends a signal to the group in each slot.
    pub(crate) fn signal_all(&self, signal: Signal) {
        let all = lock(&self.all).clone();
        for slot in all {
            slot.signal(signal);
        }
    }
}

impl Slot {
    /// The number of the slot, from 1.
    pub(crate) const fn number(&self) -> usize {
        self.index + 1
    }

    /// Announces that a job is about to be started.
    pub(crate) fn announce(&self, seq: u64) {
        if let Some(guard) = &self.guard {
            guard.note(self.index, seq, None);
        }
    }

    /// Takes the group of the job that was started, and returns the turn of this attempt.
    pub(crate) fn enter(&self, seq: u64, group: Pid) -> u64 {
        if let Some(guard) = &self.guard {
            guard.note(self.index, seq, Some(group));
        }
        let mut running = lock(&self.running);
        running.group = Some(group);
        running.time_is_up = false;
        running.turn += 1;
        if let Some(signal) = running.due {
            self.signal_locked(&mut running, signal);
        }
        running.turn
    }

    /// Gives the slot up, whose leader has ended and is reaped by `reap`: what is left of the group is
    /// sent `TERM`, and `KILL` after a grace. Returns what `reap` returns, and whether the time of the job
    /// was up.
    pub(crate) fn leave<R>(&self, grace: Duration, reap: impl FnOnce() -> R) -> (R, bool) {
        let mut running = lock(&self.running);
        let group = running.group.take();
        let (time_is_up, was_killed) = (running.time_is_up, running.woken);
        if let Some(group) = group {
            running.lingers = true;
            let signal = if was_killed {
                Signal::KILL
            } else {
                Signal::TERM
            };
            let _ = kill_process_group(group, signal);
        }
        drop(running);
        let reaped = reap();
        // The usual case is that nobody is left, which one call tells once the leader is reaped. Signal
        // zero harms nobody, whoever has the number.
        if let Some(group) = group
            && test_kill_process_group(group).is_ok()
        {
            self.end_rest_of(group, if was_killed { Duration::ZERO } else { grace });
        }
        let mut running = lock(&self.running);
        running.lingers = false;
        if std::mem::take(&mut running.woken) {
            // What was meant for this job must not wake the next one.
            let _ = rustix::io::read(&self.wake, &mut [0; 64]);
        }
        drop(running);
        self.abort();
        (reaped, time_is_up)
    }

    /// Waits until nothing lives in the group, and kills what does after the grace or when the run kills.
    fn end_rest_of(&self, group: Pid, grace: Duration) {
        let end = Instant::now().checked_add(grace);
        // A stopped process receives a signal when it continues.
        if has_living_members(group) {
            let _ = kill_process_group(group, Signal::CONT);
        }
        while has_living_members(group) {
            let left = end.map_or(LOOK_EVERY, |end| {
                end.saturating_duration_since(Instant::now())
            });
            if left.is_zero() || self.is_woken_within(left.min(LOOK_EVERY)) {
                let _ = kill_process_group(group, Signal::KILL);
                return;
            }
        }
    }

    fn is_woken_within(&self, time: Duration) -> bool {
        let mut fds = [PollFd::new(&self.wake, PollFlags::IN)];
        let time = Timespec::try_from(time).ok();
        matches!(poll(&mut fds, time.as_ref()), Ok(1..))
    }

    /// Takes back the announcement of a job that could not be started.
    pub(crate) fn abort(&self) {
        if let Some(guard) = &self.guard {
            guard.clear(self.index);
        }
    }

    /// Sends a signal to the group, if there is one.
    pub(crate) fn signal(&self, signal: Signal) {
        self.signal_locked(&mut lock(&self.running), signal);
    }

    /// Sends a signal to the group of the job that has the slot, also if that has yet to start.
    pub(crate) fn end(&self, signal: Signal) {
        let mut running = lock(&self.running);
        running.due = Some(signal);
        self.signal_locked(&mut running, signal);
        // A stopped process receives a signal when it continues.
        self.signal_locked(&mut running, Signal::CONT);
    }

    /// Sends a signal to the group because the time of this turn is up. Returns whether it still runs.
    pub(crate) fn time_up(&self, turn: u64, signal: Signal) -> bool {
        let mut running = lock(&self.running);
        let is_meant = running.turn == turn && running.group.is_some();
        if is_meant {
            running.time_is_up = true;
            self.signal_locked(&mut running, signal);
        }
        is_meant
    }

    fn signal_locked(&self, running: &mut Running, signal: Signal) {
        if let Some(group) = running.group {
            // A group that is gone already needs no signal.
            let _ = kill_process_group(group, signal);
        }
        if signal == Signal::KILL && (running.group.is_some() || running.lingers) {
            running.woken = true;
            let _ = rustix::io::write(&self.waker, b"x");
        }
    }

    /// A file descriptor that is readable once the group was killed.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Duration, Signal, Slots};

    #[test]
    fn the_lowest_free_slot_is_taken() {
        let slots = Slots::new(None);
        let taken = [(); 3].map(|()| slots.acquire().unwrap());
        assert_eq!(taken.each_ref().map(|slot| slot.number()), [1, 2, 3]);
        slots.release(&taken[2]);
        slots.release(&taken[0]);
        assert_eq!(slots.acquire().unwrap().number(), 1);
    }

    #[test]
    fn a_job_that_is_told_to_end_before_it_starts_is_told_when_it_does() {
        use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
        let slots = Slots::new(None);
        let slot = slots.acquire().unwrap();
        slot.end(Signal::KILL);
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .process_group(0)
            .spawn()
            .unwrap();
        slot.enter(1, rustix::process::Pid::from_child(&child));
        let (status, _) = slot.leave(Duration::ZERO, || child.wait().unwrap());
        assert_eq!(status.signal(), Some(9));
        // The next job of the slot is another one.
        slots.release(&slot);
        assert_eq!(super::lock(&slot.running).due, None);
    }

    #[test]
    fn a_timer_that_is_late_hits_nobody() {
        let slot = Slots::new(None).acquire().unwrap();
        assert!(!slot.time_up(0, Signal::TERM));
        assert_eq!(slot.leave(Duration::ZERO, || ()), ((), false));
    }
}
