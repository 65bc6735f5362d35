//! One lock around a discipline: waiting, time-outs, interrupts and exact wake-ups.
//!
//! The rule of wake-ups: whoever puts an element in signals one taker, whoever frees `n` places
//! signals `n` putters, in order of arrival and only as far as there is room. A signalled thread
//! leaves the list of waiters under the lock and always tries again, so no signal is lost with a
//! thread that gives up.
//!
//! In a fair queue a signal is also a *grant*: the element or the place is kept for the signalled
//! thread, and newcomers count what is granted as gone. One grant of each kind is out at a time,
//! and whoever has used it signals the next in line: so threads that could go ahead together do
//! not overtake each other on the way.
//!
//! Where the next element is not ready yet ([`Discipline::ready_at`]), one of the takers, the
//! *leader*, sleeps until that moment; where the discipline knows what comes after the head
//! ([`Discipline::ready_next_at`]), a second one until that. The others sleep without a deadline.
//! The rule of these *alarms*: while takers wait for a head that is not ready, one of them has an
//! alarm that is early enough, or is on its way to look. Whoever puts in a new head or leaves, for
//! any reason, signals a taker if there is no such alarm. An alarm that was set for an element
//! which is gone counts like any other: it is followed by another look. With a second alarm the
//! leader leaves with its element and need not wake anybody.

use std::fmt;
use std::time::{Duration, Instant};

use super::lock::QueueLock;
use super::precedence::Precedence;
use super::{BlockingQueue, CapacityError, Discipline, Fairness, PutError, Waiting};
use crate::interrupt::{Interrupted, wait_interrupted};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::clock;
use crate::sync::{Deadline, MutexGuard, mutant};
use crate::waiting::{Wait, WaitQueue, Wakeup, wait};

/// Threads to be woken; `None` where nobody waits, which is quicker to pass on than an empty list.
type Wakeups = Option<Vec<Wakeup>>;

/// Stands for "no bound" in the atomic that shows the capacity.
const UNBOUNDED: usize = usize::MAX;

/// A [`BlockingQueue`] made of a [`Discipline`].
///
/// A pending interrupt beats an operation that could go ahead at once, for all calls that can
/// wait: `take`, `put` and the timed forms.
///
/// See [`Discipline`] for an example.
pub struct Blocking<D: Discipline> {
    lock: QueueLock<State<D>>,
    fairness: Fairness,
    precedence: Precedence,
    /// Whether the discipline admits every element: a full queue then says so without the lock.
    admits_all: bool,
    /// What `len` and `remaining_capacity` show, written under the lock after every change: so
    /// they can be asked from inside a predicate, and cost nothing.
    shown_len: AtomicUsize,
    shown_capacity: AtomicUsize,
}

#[derive(Debug, Default)]
pub(crate) struct State<D> {
    pub(crate) items: D,
    takers: WaitQueue,
    putters: WaitQueue,
    granted_takes: usize,
    granted_puts: usize,
    /// Takers that sleep until an element is ready. One that was signalled or whose time has come
    /// stays here until it has the lock again, and then looks again.
    alarms: [Option<Alarm>; 2],
    next_ticket: u64,
}

#[derive(Debug, Clone, Copy)]
struct Alarm {
    ticket: u64,
    /// Until when the taker sleeps at the latest.
    at: Deadline,
}

impl<D: Discipline> State<D> {
    fn room(&self) -> usize {
        self.items
            .capacity()
            .map_or(usize::MAX, |bound| bound.saturating_sub(self.items.len()))
    }

    /// Whether a taker finds an element that is not kept for somebody else.
    fn may_take(&self, before: Before, fairness: Fairness) -> bool {
        // Mutant: newcomers take what is granted to others.
        let granted = mutant!("fair_grant_is_not_kept", 0, self.granted_takes);
        let unkept = self.items.len() > granted;
        match (fairness, before) {
            (Fairness::Unfair, _) | (Fairness::Fair, Before::Granted) => !self.items.is_empty(),
            // The leader has waited for this element; those in line wait behind it.
            (Fairness::Fair, Before::Alarm) => unkept,
            (Fairness::Fair, _) => unkept && self.takers.is_empty(),
        }
    }

    /// Whether a putter finds room that is not kept for somebody else.
    fn may_put(&self, granted: bool, fairness: Fairness) -> bool {
        match fairness {
            Fairness::Unfair => self.room() > 0,
            Fairness::Fair if granted => self.room() > 0,
            Fairness::Fair => self.putters.is_empty() && self.room() > self.granted_puts,
        }
    }

    fn signal_taker(&mut self, fairness: Fairness) -> Option<Wakeup> {
        if self.granted_takes > 0 {
            return None;
        }
        let wakeup = self.takers.signal_one()?;
        if fairness == Fairness::Fair {
            self.granted_takes = 1;
        }
        Some(wakeup)
    }

    /// Signals putters after `freed` places have become free, as far as there is room.
    #[inline]
    fn signal_putters(&mut self, freed: usize, fairness: Fairness) -> Wakeups {
        if self.putters.is_empty() {
            return None;
        }
        let mut count = freed.min(self.room());
        if fairness == Fairness::Fair {
            count = count.min(1 - self.granted_puts);
        }
        let wakeups = self.putters.signal(count);
        if fairness == Fairness::Fair {
            self.granted_puts += wakeups.len();
        }
        Some(wakeups)
    }

    /// Signals the next putter in the line of a fair queue, after one has been served.
    fn signal_next_putter(&mut self, fairness: Fairness) -> Wakeups {
        // Mutant: of several places that become free, one is used.
        if fairness == Fairness::Unfair || mutant!("fair_putter_signals_no_next") {
            return None;
        }
        self.signal_putters(1, fairness)
    }

    /// Signals the next taker, after one has left: as the new leader if the head has to be waited
    /// for and nobody does, or because it is next in the line of a fair queue.
    #[inline]
    fn signal_next_taker(&mut self, fairness: Fairness) -> Option<Wakeup> {
        if self.takers.is_empty() {
            return None;
        }
        let has_turn = match self.items.ready_at() {
            Some(at) => !self.is_alarmed_by(at),
            None => fairness == Fairness::Fair && !self.items.is_empty(),
        };
        if has_turn {
            self.signal_taker(fairness)
        } else {
            None
        }
    }

    /// How many takers wake by then at the latest, and look at the queue again.
    fn alarms_by(&self, at: Instant) -> usize {
        // Mutant: a taker is trusted to wake in time even if it sleeps longer.
        let trusts = mutant!("any_alarm_is_early_enough");
        let alarms = self.alarms.iter().flatten();
        alarms.filter(|alarm| trusts || alarm.at.is_by(at)).count()
    }

    fn is_alarmed_by(&self, at: Instant) -> bool {
        self.alarms_by(at) > 0
    }

    /// When a taker that waits for a head that is ready at `head` is to look again, if nobody else
    /// does.
    fn missing_alarm(&self, head: Instant) -> Option<Instant> {
        match self.alarms_by(head) {
            0 => Some(head),
            1 => {
                let next = self.items.ready_next_at();
                next.filter(|next| self.alarms_by(*next) < 2)
            }
            _ => None,
        }
    }

    /// Notes an alarm, in the place of the latest if there are two: that taker wakes all the same.
    fn set_alarm(&mut self, alarm: Alarm) {
        let [a, b] = self.alarms;
        let is_first_later = match (a, b) {
            (None, _) => true,
            (_, None) => false,
            (Some(a), Some(b)) => a.at.is_after(b.at),
        };
        self.alarms[usize::from(!is_first_later)] = Some(alarm);
    }

    fn clear_alarm(&mut self, ticket: u64) {
        // Mutant: others rely on the alarm of a taker that has left.
        if mutant!("alarm_outlives_its_taker") {
            return;
        }
        for alarm in &mut self.alarms {
            if alarm.is_some_and(|alarm| alarm.ticket == ticket) {
                *alarm = None;
            }
        }
    }

    /// Inserts, and signals the taker that this concerns.
    #[inline]
    pub(super) fn push(
        &mut self,
        fairness: Fairness,
        insert: impl FnOnce(&mut D),
    ) -> Option<Wakeup> {
        let before = self.items.ready_at();
        insert(&mut self.items);
        match (before, self.items.ready_at()) {
            (_, None) => self.signal_taker(fairness),
            (Some(before), Some(after)) if after >= before => None,
            // Mutant: the leader sleeps past the new head.
            (Some(_), _) if mutant!("earlier_head_wakes_nobody") => None,
            (_, Some(after)) if self.is_alarmed_by(after) => None,
            _ => self.signal_taker(fairness),
        }
    }
}

/// What a taker finds.
enum Head {
    Ready,
    NotBefore(Instant),
    Nothing,
}

type Guard<'a, D> = MutexGuard<'a, State<D>>;

impl<D: Discipline> Blocking<D> {
    /// Makes a queue that serves waiting threads as they come.
    pub fn new(discipline: D) -> Self {
        Self::configured(discipline, Fairness::Unfair, Precedence::ALWAYS)
    }

    /// Makes a queue that serves waiting threads with this fairness.
    pub fn with_fairness(discipline: D, fairness: Fairness) -> Self {
        Self::configured(discipline, fairness, Precedence::ALWAYS)
    }

    pub(crate) fn configured(discipline: D, fairness: Fairness, precedence: Precedence) -> Self {
        let (len, capacity) = (discipline.len(), discipline.capacity().unwrap_or(UNBOUNDED));
        let state = State {
            items: discipline,
            takers: WaitQueue::default(),
            putters: WaitQueue::default(),
            granted_takes: 0,
            granted_puts: 0,
            alarms: [None; 2],
            next_ticket: 1,
        };
        Self {
            lock: QueueLock::new(state),
            fairness,
            precedence,
            admits_all: false,
            shown_len: AtomicUsize::new(len),
            shown_capacity: AtomicUsize::new(capacity),
        }
    }

    /// The same queue, known to admit every element that there is room for.
    pub(super) fn admitting_all(self) -> Self {
        Self {
            admits_all: true,
            ..self
        }
    }

    /// The fairness that this queue was made with.
    pub const fn fairness(&self) -> Fairness {
        self.fairness
    }

    /// Takes the discipline out, with all that is queued.
    pub fn into_inner(self) -> D {
        self.lock.into_inner().items
    }

    /// Runs `f` on the locked data, shows the new figures, and wakes whom `f` signalled.
    pub(crate) fn with<R, W>(&self, f: impl FnOnce(&mut State<D>) -> (R, W)) -> R {
        let mut guard = self.lock.lock();
        let (result, wakeups) = {
            let mut visit = self.lock.visit(&mut guard);
            let done = f(&mut visit);
            self.show(&visit.items);
            done
        };
        drop(guard);
        drop(wakeups);
        result
    }

    /// Takes an element into a queue that has no bound and admits everything.
    #[inline]
    pub(crate) fn push(&self, item: D::Item) {
        let mut guard = self.lock.lock();
        let mut visit = self.lock.visit(&mut guard);
        let wakeup = visit.push(self.fairness, |items| items.push(item));
        self.show(&visit.items);
        drop(visit);
        drop(guard);
        drop(wakeup);
    }

    /// Takes out an element with `remove`, and lets in who waits for its place.
    #[inline]
    pub(crate) fn remove_with(
        &self,
        remove: impl FnOnce(&mut D) -> Option<D::Item>,
    ) -> Option<D::Item> {
        let mut guard = self.lock.lock();
        let mut visit = self.lock.visit(&mut guard);
        let removed = remove(&mut visit.items);
        let wakeups = self.after_removal(&mut visit, usize::from(removed.is_some()));
        drop(visit);
        drop(guard);
        drop(wakeups);
        removed
    }

    /// Takes out the element at the place that `find` gives.
    pub(crate) fn remove_where(&self, find: impl FnOnce(&D) -> Option<usize>) -> Option<D::Item> {
        self.remove_with(|items| find(items).map(|at| items.remove(at)))
    }

    fn show(&self, items: &D) {
        self.shown_len.store(items.len(), Ordering::Release);
        self.shown_capacity
            .store(items.capacity().unwrap_or(UNBOUNDED), Ordering::Release);
    }

    /// Inserts with `insert`, at once or, with a deadline, when there is room.
    pub(super) fn insert(
        &self,
        item: D::Item,
        deadline: Option<Deadline>,
        insert: impl Fn(&mut D, D::Item),
    ) -> Result<(), PutError<D::Item>> {
        let looks = match deadline {
            None => false,
            Some(Deadline::Never) => self.precedence.put,
            Some(Deadline::At(_)) => self.precedence.timed_offer,
        };
        if looks && wait_interrupted() {
            return Err(PutError::Interrupted(item));
        }
        // Producers that are turned away do not keep consumers from the lock.
        if deadline.is_none() && self.admits_all && self.remaining_capacity() == Some(0) {
            return Err(PutError::Full(item));
        }
        let mut guard = self.lock.lock();
        let mut granted = false;
        loop {
            let mut visit = self.lock.visit(&mut guard);
            if !visit.items.admits(&item) {
                let wakeups = self.give_up_put(&mut visit, granted);
                drop(visit);
                drop(guard);
                drop(wakeups);
                return Err(PutError::Refused(item));
            }
            if visit.may_put(granted, self.fairness) {
                visit.granted_puts -= usize::from(granted && self.fairness == Fairness::Fair);
                let wakeup = visit.push(self.fairness, |items| insert(items, item));
                let next = visit.signal_next_putter(self.fairness);
                self.show(&visit.items);
                drop(visit);
                drop(guard);
                drop((wakeup, next));
                return Ok(());
            }
            visit.granted_puts -= usize::from(granted && self.fairness == Fairness::Fair);
            drop(visit);
            let Some(deadline) = deadline else {
                return Err(PutError::Full(item));
            };
            let (relocked, how) = self.await_room(guard, deadline);
            guard = relocked;
            match how {
                Wait::Signalled => granted = true,
                Wait::TimedOut => return Err(PutError::TimedOut(item)),
                Wait::Interrupted => return Err(PutError::Interrupted(item)),
            }
        }
    }

    /// Passes on the place that was kept for a putter whose element is not admitted.
    fn give_up_put(&self, state: &mut State<D>, granted: bool) -> Wakeups {
        state.granted_puts -= usize::from(granted && self.fairness == Fairness::Fair);
        // Mutant: the place of a putter that is refused stays empty.
        if granted && !mutant!("refused_putter_keeps_its_place") {
            state.signal_putters(1, self.fairness)
        } else {
            None
        }
    }

    fn await_room<'a>(&'a self, guard: Guard<'a, D>, deadline: Deadline) -> (Guard<'a, D>, Wait) {
        if let Some(over) = already_over(deadline) {
            return (guard, over);
        }
        let waited = wait(
            self.lock.mutex(),
            guard,
            |state| &mut state.putters,
            (),
            deadline,
        );
        (waited.guard, waited.how)
    }

    /// Removes with `remove`, at once or, with a deadline, when an element is ready.
    pub(super) fn extract(
        &self,
        deadline: Option<Deadline>,
        remove: impl Fn(&mut D) -> Option<D::Item>,
    ) -> Result<Option<D::Item>, Interrupted> {
        let looks = match deadline {
            None => false,
            Some(Deadline::Never) => self.precedence.take,
            Some(Deadline::At(_)) => self.precedence.timed_poll,
        };
        if looks && wait_interrupted() {
            return Err(Interrupted);
        }
        let mut guard = self.lock.lock();
        let mut before = Before::Arrived;
        loop {
            let granted = before == Before::Granted && self.fairness == Fairness::Fair;
            let mut visit = self.lock.visit(&mut guard);
            let head = self.head(&visit, before);
            visit.granted_takes -= usize::from(granted);
            if matches!(head, Head::Ready) {
                let item = remove(&mut visit.items);
                let wakeups = self.after_removal(&mut visit, usize::from(item.is_some()));
                drop(visit);
                drop(guard);
                drop(wakeups);
                return Ok(item);
            }
            drop(visit);
            let Some(deadline) = deadline else {
                return Ok(None);
            };
            if before != Before::TimedOut {
                (guard, before) = self.await_element(guard, head, deadline);
            }
            if matches!(before, Before::TimedOut | Before::Interrupted) {
                // One more look: what became ready in the last moment is not left behind.
                if before == Before::TimedOut && self.is_ready(&mut guard) {
                    continue;
                }
                let mut visit = self.lock.visit(&mut guard);
                // Mutant: the others sleep on when the leader gives up.
                let leads = !mutant!("leader_gives_up_without_heir");
                let wakeup = leads
                    .then(|| visit.signal_next_taker(self.fairness))
                    .flatten();
                drop(visit);
                drop(guard);
                drop(wakeup);
                return if before == Before::Interrupted {
                    Err(Interrupted)
                } else {
                    Ok(None)
                };
            }
        }
    }

    fn is_ready(&self, guard: &mut Guard<'_, D>) -> bool {
        matches!(
            self.head(&self.lock.visit(guard), Before::TimedOut),
            Head::Ready
        )
    }

    fn head(&self, state: &State<D>, before: Before) -> Head {
        if !state.may_take(before, self.fairness) {
            return Head::Nothing;
        }
        match state.items.ready_at() {
            Some(at) if clock::now() < at => Head::NotBefore(at),
            _ => Head::Ready,
        }
    }

    #[inline]
    fn after_removal(&self, state: &mut State<D>, freed: usize) -> (Wakeups, Option<Wakeup>) {
        self.show(&state.items);
        // Mutants: putters, or the next leader, sleep on after a removal.
        let freed = mutant!("removal_signals_no_putter", 0, freed);
        let leads = !mutant!("leader_takes_without_heir");
        (
            state.signal_putters(freed, self.fairness),
            leads
                .then(|| state.signal_next_taker(self.fairness))
                .flatten(),
        )
    }

    /// Sleeps until signalled, until the deadline, or until an element is ready that nobody else
    /// sleeps for.
    fn await_element<'a>(
        &'a self,
        mut guard: Guard<'a, D>,
        head: Head,
        deadline: Deadline,
    ) -> (Guard<'a, D>, Before) {
        match already_over(deadline) {
            Some(Wait::Interrupted) => return (guard, Before::Interrupted),
            Some(_) => return (guard, Before::TimedOut),
            None => {}
        }
        let mut until = deadline;
        let ticket = guard.next_ticket;
        guard.next_ticket += 1;
        let missing = match head {
            Head::NotBefore(at) => guard.missing_alarm(at),
            Head::Ready | Head::Nothing => None,
        };
        if let Some(at) = missing {
            until = deadline.min(at);
            guard.set_alarm(Alarm { ticket, at: until });
        }
        let waited = wait(
            self.lock.mutex(),
            guard,
            |state| &mut state.takers,
            (),
            until,
        );
        let mut guard = waited.guard;
        guard.clear_alarm(ticket);
        let before = match waited.how {
            Wait::Signalled => Before::Granted,
            Wait::Interrupted => Before::Interrupted,
            Wait::TimedOut if until == deadline => Before::TimedOut,
            Wait::TimedOut => Before::Alarm,
        };
        (guard, before)
    }
}

/// What happened to a taker before it looks at the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It has just come.
    Arrived,
    /// It was signalled; in a fair queue an element is kept for it.
    Granted,
    /// It slept until an element should be ready.
    Alarm,
    TimedOut,
    Interrupted,
}

/// Whether a wait that has not begun is over: an interrupt counts before the time.
fn already_over(deadline: Deadline) -> Option<Wait> {
    if !deadline.has_passed() {
        return None;
    }
    Some(if wait_interrupted() {
        Wait::Interrupted
    } else {
        Wait::TimedOut
    })
}

impl<D: Discipline> BlockingQueue<D::Item> for Blocking<D> {
    fn offer(&self, item: D::Item) -> Result<(), PutError<D::Item>> {
        self.insert(item, None, D::push)
    }

    fn offer_timeout(&self, item: D::Item, timeout: Duration) -> Result<(), PutError<D::Item>> {
        self.insert(item, Some(timed(timeout)), D::push)
    }

    fn put(&self, item: D::Item) -> Result<(), PutError<D::Item>> {
        self.insert(item, Some(Deadline::Never), D::push)
    }

    fn poll(&self) -> Option<D::Item> {
        self.extract(None, D::pop).unwrap_or(None)
    }

    fn poll_timeout(&self, timeout: Duration) -> Result<Option<D::Item>, Interrupted> {
        self.extract(Some(timed(timeout)), D::pop)
    }

    fn take(&self) -> Result<D::Item, Interrupted> {
        loop {
            if let Some(item) = self.extract(Some(Deadline::Never), D::pop)? {
                return Ok(item);
            }
        }
    }

    fn drain(&self, max: usize) -> Vec<D::Item> {
        self.with(|state| {
            let now = state.items.ready_at().map(|_| clock::now());
            let mut drained = Vec::with_capacity(max.min(state.items.len()));
            while drained.len() < max {
                let ready = match (state.items.ready_at(), now) {
                    (Some(at), Some(now)) => at <= now,
                    _ => true,
                };
                let Some(item) = (if ready { state.items.pop() } else { None }) else {
                    break;
                };
                drained.push(item);
            }
            let wakeups = self.after_removal(state, drained.len());
            (drained, wakeups)
        })
    }

    fn drain_all(&self) -> Vec<D::Item> {
        self.with(|state| {
            let drained = state.items.take_all();
            let wakeups = self.after_removal(state, drained.len());
            (drained, wakeups)
        })
    }

    fn remove_first(&self, wanted: &mut dyn FnMut(&D::Item) -> bool) -> Option<D::Item> {
        self.remove_where(|items| items.iter().position(wanted))
    }

    fn retain(&self, keep: &mut dyn FnMut(&D::Item) -> bool) -> Vec<D::Item> {
        self.with(|state| {
            // All verdicts first: a predicate that panics has changed nothing.
            let verdicts: Vec<bool> = state.items.iter().map(keep).collect();
            let removed = state.items.retain(&verdicts);
            let wakeups = self.after_removal(state, removed.len());
            (removed, wakeups)
        })
    }

    fn for_each(&self, f: &mut dyn FnMut(&D::Item)) {
        let mut guard = self.lock.lock();
        self.lock.visit(&mut guard).items.iter().for_each(f);
    }

    fn peek(&self, f: &mut dyn FnMut(&D::Item)) {
        let mut guard = self.lock.lock();
        self.lock
            .visit(&mut guard)
            .items
            .peek()
            .into_iter()
            .for_each(f);
    }

    fn len(&self) -> usize {
        self.shown_len.load(Ordering::Acquire)
    }

    fn remaining_capacity(&self) -> Option<usize> {
        let capacity = self.shown_capacity.load(Ordering::Acquire);
        (capacity != UNBOUNDED).then(|| capacity.saturating_sub(self.len()))
    }

    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        self.with(|state| {
            let former = state.items.set_capacity(capacity);
            let wakeups = state.signal_putters(usize::MAX, self.fairness);
            (former, wakeups)
        })
    }

    fn waiting(&self) -> Option<Waiting> {
        let guard = self.lock.lock();
        Some(Waiting {
            takers: guard.takers.len(),
            putters: guard.putters.len(),
        })
    }
}

/// The deadline of a timed call. Never a [`Deadline::Never`], however long: the precedence of
/// interrupts depends on whether a call is timed.
pub(super) fn timed(timeout: Duration) -> Deadline {
    match Deadline::after(timeout) {
        Deadline::Never => Deadline::At(clock::now() + clock::MAX_TIMEOUT),
        at => at,
    }
}

impl<D: Discipline> fmt::Debug for Blocking<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking")
            .field("len", &self.len())
            .field("remaining_capacity", &self.remaining_capacity())
            .finish_non_exhaustive()
    }
}
