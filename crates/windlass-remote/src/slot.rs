//! Where the outcome of one task arrives, and who waits for it.

use crate::engine::Outcome;
use crate::id::TaskId;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};
use windlass::interrupt::{self, InterruptHandle, Interrupted};

/// What is known of the outcome.
#[derive(Clone, Debug)]
pub(crate) enum Arrived {
    Outcome(Arc<Outcome>),
    /// The engine has no record of the task (any more).
    Gone,
}

/// How long a task has no outcome until it is looked up although no error occurred. The time doubles with each look, up to the second
/// one: whoever waits for long loses little by that, and nobody polls.
const FIRST_LOOK: Duration = Duration::from_secs(15);
const LONGEST_LOOK: Duration = Duration::from_secs(120);

/// A thread that has waited no longer than this has waited briefly.
const BRIEF: Duration = Duration::from_millis(2);

/// One per task and client; every future of the task in this client shares it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) id: TaskId,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    arrived: Option<Arrived>,
    /// When to look the task up next. Not set until the engine has confirmed that it has the task: before that, a missing record means
    /// nothing.
    look: Option<Look>,
    /// Since when a thread waits for this outcome alone.
    waits_since: Option<Instant>,
    wakers: Vec<Waker>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    pause: Duration,
}

impl Slot {
    pub(crate) fn new(id: TaskId) -> Arc<Self> {
        Arc::new(Self {
            id,
            inner: Mutex::default(),
        })
    }

    fn with<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn confirm(&self) {
        self.confirm_at(Instant::now());
    }

    fn confirm_at(&self, now: Instant) {
        let first = Look {
            at: now + FIRST_LOOK,
            pause: FIRST_LOOK,
        };
        self.with(|inner| *inner.look.get_or_insert(first));
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.with(|inner| inner.look.is_some())
    }

    /// Returns whether it is time to look the task up; if so, sets the next time.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.with(|inner| {
            let Some(look) = inner.look.as_mut().filter(|look| look.at <= now) else {
                return false;
            };
            look.pause = (2 * look.pause).min(LONGEST_LOOK);
            look.at = now + look.pause;
            true
        })
    }

    /// Keeps the first outcome and wakes everybody who waits. Returns whether a thread has waited for it, and briefly.
    pub(crate) fn complete(&self, arrived: Arrived) -> bool {
        let (wakers, since) = self.with(|inner| {
            inner.arrived.get_or_insert(arrived);
            (std::mem::take(&mut inner.wakers), inner.waits_since.take())
        });
        for waker in wakers {
            waker.wake();
        }
        since.is_some_and(|since| since.elapsed() <= BRIEF)
    }

    /// Notes that a thread waits for this outcome alone, from now on.
    pub(crate) fn note_wait(&self, now: Instant) {
        self.with(|inner| inner.waits_since = Some(now));
    }

    pub(crate) fn arrived(&self) -> Option<Arrived> {
        self.with(|inner| inner.arrived.clone())
    }

    /// Returns the outcome, or has the waker called when it is there.
    pub(crate) fn arrived_or_wake(&self, waker: &Waker) -> Option<Arrived> {
        self.with(|inner| {
            if inner.arrived.is_none() && !inner.wakers.iter().any(|w| w.will_wake(waker)) {
                inner.wakers.push(waker.clone());
            }
            inner.arrived.clone()
        })
    }

    fn forget(&self, waker: &Waker) {
        self.with(|inner| inner.wakers.retain(|w| !w.will_wake(waker)));
    }

    /// Waits until the outcome is there or the time is over.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<Option<Arrived>, Interrupted> {
        let mut found = wait_for_any(&[self], until, |_, arrived| Some(arrived))?;
        Ok(found.take())
    }
}

/// Unparks a thread that waits in [`wait_for_any`].
struct Unpark(InterruptHandle);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until `choose` returns something for a slot that has its outcome, or the time is over, or every
/// slot has its outcome and none was chosen.
pub(crate) fn wait_for_any<R>(
    slots: &[&Slot],
    until: Option<Instant>,
    mut choose: impl FnMut(usize, Arrived) -> Option<R>,
) -> Result<Option<R>, Interrupted> {
    let waker = Waker::from(Arc::new(Unpark(interrupt::current())));
    let mut waiting: Vec<usize> = (0..slots.len()).collect();
    let result = loop {
        let mut chosen = None;
        waiting.retain(|&at| match slots[at].arrived_or_wake(&waker) {
            _ if chosen.is_some() => true,
            None => true,
            Some(arrived) => {
                chosen = choose(at, arrived);
                false
            }
        });
        if chosen.is_some() || waiting.is_empty() {
            break Ok(chosen);
        }
        let parked = match until.map(|at| at.saturating_duration_since(Instant::now())) {
            Some(left) if left.is_zero() => break Ok(None),
            Some(left) => interrupt::park_timeout(left),
            None => interrupt::park(),
        };
        if let Err(interrupted) = parked {
            break Err(interrupted);
        }
    };
    for at in waiting {
        slots[at].forget(&waker);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::Slot;
    use crate::id::TaskId;
    use std::time::{Duration, Instant};

    #[test]
    fn a_task_is_looked_up_after_a_while_and_then_ever_more_rarely() {
        let (slot, begun) = (Slot::new(TaskId::random()), Instant::now());
        assert!(!slot.is_overdue(begun + Duration::from_secs(60)));
        slot.confirm_at(begun);
        let looks = |slot: &Slot| {
            let seconds = 0..600;
            let due = seconds.filter(|s| slot.is_overdue(begun + Duration::from_secs(*s)));
            due.collect::<Vec<_>>()
        };
        assert_eq!(looks(&slot), [15, 45, 105, 225, 345, 465, 585]);
        slot.confirm_at(begun);
        assert_eq!(looks(&slot), [0; 0], "confirming again changes nothing");
    }
}
