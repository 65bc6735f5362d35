//! The state that the library keeps for each thread.

use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Weak};

use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::sync::{self, Deadline, Numbered, ParkResult, Parker, const_thread_local, thread_local};

thread_local! {
    static CURRENT: Arc<ThreadContext> = ThreadContext::new();
}

// The context of a thread that waits while its locals are being dropped, `CURRENT` among them. It has no
// destructor, so it can be read to the end of the thread.
const_thread_local! {
    static LATE: Cell<Option<ManuallyDrop<Arc<ThreadContext>>>> = Cell::new(None);
}

/// A wait of a thread whose locals are being dropped.
struct Late(Option<ManuallyDrop<Arc<ThreadContext>>>);

impl Late {
    /// Makes this the context of the current thread until the result is dropped.
    #[cold]
    fn enter(context: &Arc<ThreadContext>) -> Self {
        let context = ManuallyDrop::new(Arc::clone(context));
        Self(
            LATE.try_with(|late| late.replace(Some(context)))
                .ok()
                .flatten(),
        )
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        let former = self.0.take();
        let entered = LATE.try_with(|late| late.replace(former));
        drop(entered.ok().flatten().map(ManuallyDrop::into_inner));
    }
}

/// All contexts.
static CONTEXTS: Numbered<ThreadContext> = Numbered::new();

/// The flag of a thread that was interrupted.
const INTERRUPT: u8 = 1;
/// The flag of a thread that has to check the state of its pool again.
const NUDGE: u8 = 1 << 1;
/// One interrupt by another thread; they are counted in the bits from here on, next to the flags.
const ONE_INTERRUPT: u32 = 1 << 8;

/// The state that the library keeps for one thread: its parker, and its pending interrupt.
///
/// `flags` are set by anyone and cleared by the thread itself. They are written before the parker's
/// token and read after it (or on entry to a wait), so an interrupt is seen by the wait
/// that it should end, whenever it arrives.
///
/// A *nudge* is an interrupt for idle workers only: a pool sends it to make a waiting worker check
/// the pool's state again. It ends the waits of a thread that
/// [accepts nudges](ThreadContext::accept_nudges), as a worker does while it waits for its next
/// task; for every other wait it is a spurious wake-up. So a pool can nudge without knowing whether
/// the worker is busy, and no task ever sees it.
///
/// `signalled` belongs to `waiting`: it is written under the lock of the structure that the thread
/// waits in.
pub(crate) struct ThreadContext {
    parker: Arc<Parker>,
    /// The flags, and how often other threads have interrupted this one.
    flags: AtomicU32,
    /// The id of the task whose cancellation interrupted the thread last.
    cancelled_task: AtomicU64,
    /// The flags that end a wait of this thread; written by the thread itself.
    wait_mask: AtomicU8,
    /// The flags that ended its last wait; for the thread itself.
    ended_by: AtomicU8,
    signalled: AtomicBool,
    /// Whether the thread is parked. Cleared before it takes anything, so that a thread that sees
    /// an element gone from a queue sees this cleared too.
    parked: AtomicBool,
    /// Whether the thread has parked since it last asked; for the thread itself.
    has_parked: AtomicBool,
    /// The number by which [`ThreadContext::by_number`] finds it, at most
    /// [`MAX_NUMBER`](Self::MAX_NUMBER); zero if more threads than that have a context.
    number: u32,
}

impl Drop for ThreadContext {
    fn drop(&mut self) {
        CONTEXTS.remove(self.number);
    }
}

impl fmt::Debug for ThreadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadContext")
            .field("interrupted", &self.is_interrupted())
            .finish_non_exhaustive()
    }
}

impl ThreadContext {
    /// The bits that a number takes: a million threads.
    pub(crate) const NUMBER_BITS: u32 = 20;
    const MAX_NUMBER: u32 = (1 << Self::NUMBER_BITS) - 1;

    fn new() -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            number: CONTEXTS.insert(Weak::clone(me), Self::MAX_NUMBER),
            parker: Arc::new(Parker::new()),
            flags: AtomicU32::new(0),
            cancelled_task: AtomicU64::new(0),
            wait_mask: AtomicU8::new(INTERRUPT),
            ended_by: AtomicU8::new(0),
            signalled: AtomicBool::new(false),
            parked: AtomicBool::new(false),
            has_parked: AtomicBool::new(false),
        })
    }

    /// Returns the number of the context, which no other context has at the same time.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the context with this number, if it still exists.
    pub(crate) fn by_number(number: u32) -> Option<Arc<Self>> {
        CONTEXTS.get(number)
    }

    /// Returns the context of the current thread.
    pub(crate) fn current() -> Arc<Self> {
        CURRENT
            .try_with(Arc::clone)
            .unwrap_or_else(|_| Self::late())
    }

    /// Returns the context of a thread whose locals are being dropped: the one that it
    /// [waits with](Self::accept_nudges), else one that nobody else has, with which it can wait, but
    /// not be interrupted.
    #[cold]
    fn late() -> Arc<Self> {
        let waits_with = LATE.try_with(|late| {
            let context = late.take();
            let found = context.as_deref().map(Arc::clone);
            late.set(context);
            found
        });
        waits_with.ok().flatten().unwrap_or_else(Self::new)
    }

    /// Runs `f` with the context of the current thread, without counting a reference to it.
    pub(crate) fn with_current<R>(f: impl FnOnce(&Arc<Self>) -> R) -> R {
        let mut f = Some(f);
        let mut run = |context: &Arc<Self>| (f.take().expect("called once"))(context);
        match CURRENT.try_with(&mut run) {
            Ok(result) => result,
            Err(_) => run(&Self::late()),
        }
    }

    pub(crate) fn set_interrupted(&self) {
        self.flags.fetch_or(u32::from(INTERRUPT), Ordering::Release);
    }

    /// Sets the flag and ends the wait that the thread is in, if any.
    pub(crate) fn interrupt(&self) {
        self.count_interrupt();
        self.parker.unpark();
    }

    fn count_interrupt(&self) {
        let count = |flags: u32| Some(flags.wrapping_add(ONE_INTERRUPT) | u32::from(INTERRUPT));
        let _ = self
            .flags
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, count);
    }

    /// Interrupts the thread because the task with this id, which it runs, was cancelled. The caller
    /// [unparks](Self::unpark) it afterwards.
    pub(crate) fn interrupt_task(&self, id: u64) {
        self.cancelled_task.store(id, Ordering::Relaxed);
        self.count_interrupt();
    }

    /// Begins to run a task inside other work: takes the interrupt of that work, if there is one.
    pub(crate) fn begin_nested(&self) -> OuterInterrupt {
        // Mostly there is none, and nothing is written.
        let mut flags = self.flags.load(Ordering::Acquire);
        if low_bits(flags) & INTERRUPT != 0 {
            flags = self
                .flags
                .fetch_and(!u32::from(INTERRUPT), Ordering::AcqRel);
        }
        OuterInterrupt {
            pending: low_bits(flags) & INTERRUPT != 0,
            count: flags / ONE_INTERRUPT,
        }
    }

    /// Ends what [`begin_nested`](Self::begin_nested) began, after the task with this id has returned.
    ///
    /// The interrupts that came meanwhile were for the outer work, or for all that the thread runs,
    /// except that of the cancelled task itself, which came before the task returned.
    pub(crate) fn end_nested(&self, outer: OuterInterrupt, id: u64) {
        let interrupt = u32::from(INTERRUPT);
        let end = |flags: u32| {
            let since =
                (flags / ONE_INTERRUPT).wrapping_sub(outer.count) & (u32::MAX / ONE_INTERRUPT);
            // With two or more, the outer work gets one: it may be spurious, but none is lost.
            let was_its_own = since == 1 && self.cancelled_task.load(Ordering::Relaxed) == id;
            let is_outer = outer.pending || since > 0 && !was_its_own;
            let counted = flags.wrapping_sub(if was_its_own { ONE_INTERRUPT } else { 0 });
            let flag = if is_outer { interrupt } else { 0 };
            let ended = counted & !interrupt | flag;
            (ended != flags).then_some(ended)
        };
        let _ = self
            .flags
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, end);
    }

    /// Makes the thread check its pool again, if it waits for a task or when it next does.
    pub(crate) fn nudge(&self) {
        self.flags.fetch_or(u32::from(NUDGE), Ordering::Release);
        self.parker.unpark();
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.flags() & INTERRUPT != 0
    }

    /// Clears the interrupt. Returns whether there was one; does not write if there was none.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.is_interrupted() && self.take_flags(INTERRUPT) != 0
    }

    fn flags(&self) -> u8 {
        low_bits(self.flags.load(Ordering::Acquire))
    }

    /// Clears these flags; returns those of them that were set.
    fn take_flags(&self, mask: u8) -> u8 {
        low_bits(self.flags.fetch_and(!u32::from(mask), Ordering::AcqRel)) & mask
    }

    /// Returns whether the current thread, whose context this is, must stop waiting.
    fn has_wait_interrupt(&self) -> bool {
        self.flags() & self.wait_mask.load(Ordering::Relaxed) != 0
    }

    /// Clears the flags that end a wait of the current thread. Returns whether one was set.
    pub(crate) fn take_wait_interrupt(&self) -> bool {
        let wait_mask = self.wait_mask.load(Ordering::Relaxed);
        if !self.has_wait_interrupt() {
            return false;
        }
        let ended_by = self.take_flags(wait_mask);
        self.ended_by.store(ended_by, Ordering::Relaxed);
        ended_by != 0
    }

    /// Returns whether an interrupt ended this thread's last wait, alone or with a nudge.
    pub(crate) fn wait_ended_by_interrupt(&self) -> bool {
        self.ended_by.load(Ordering::Relaxed) & INTERRUPT != 0
    }

    /// Runs `wait` so that a nudge ends it too. Called on the thread whose context this is.
    pub(crate) fn accept_nudges<R>(self: &Arc<Self>, wait: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a AtomicU8);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.store(INTERRUPT, Ordering::Relaxed);
            }
        }
        self.wait_mask.store(INTERRUPT | NUDGE, Ordering::Relaxed);
        let _restore = Restore(&self.wait_mask);
        // Without this the wait would take another context than the one that is nudged.
        let _late = CURRENT.try_with(|_| ()).is_err().then(|| Late::enter(self));
        wait()
    }

    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    /// Parks the current thread, whose context this is, until a token, the deadline or an
    /// interrupt, which is not cleared.
    pub(crate) fn park(&self, deadline: Deadline) -> WakeReason {
        if self.has_wait_interrupt() {
            return WakeReason::Interrupted;
        }
        self.has_parked.store(true, Ordering::Relaxed);
        self.parked.store(true, Ordering::Release);
        let woken = sync::park(&self.parker, deadline);
        self.parked.store(false, Ordering::Release);
        match woken {
            _ if self.has_wait_interrupt() => WakeReason::Interrupted,
            ParkResult::Unparked => WakeReason::Unparked,
            ParkResult::TimedOut => WakeReason::TimedOut,
        }
    }

    /// Returns whether the thread is parked in a wait.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Acquire)
    }

    /// Returns whether the thread, whose context this is, has parked since the last call.
    pub(crate) fn take_has_parked(&self) -> bool {
        let has_parked = self.has_parked.load(Ordering::Relaxed);
        if has_parked {
            self.has_parked.store(false, Ordering::Relaxed);
        }
        has_parked
    }

    /// Parks the current thread, whose context this is, until a token or the deadline; interrupts
    /// do not end it.
    pub(crate) fn park_uninterruptibly(&self, deadline: Deadline) -> ParkResult {
        sync::park(&self.parker, deadline)
    }

    pub(crate) fn clear_signal(&self) {
        self.signalled.store(false, Ordering::Relaxed);
    }

    pub(crate) fn set_signalled(&self) {
        self.signalled.store(true, Ordering::Release);
    }

    pub(crate) fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Acquire)
    }
}

/// The flags in their word.
const fn low_bits(flags: u32) -> u8 {
    flags.to_le_bytes()[0]
}

/// The interrupt of the work that a nested task interrupts, see [`ThreadContext::begin_nested`].
#[must_use]
#[derive(Debug, Clone, Copy)]
pub(crate) struct OuterInterrupt {
    pending: bool,
    /// How often the thread had been interrupted.
    count: u32,
}

/// The reason why [`ThreadContext::park`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum WakeReason {
    /// There was a token.
    Unparked,
    /// The deadline passed.
    TimedOut,
    /// An interrupt is pending, or a nudge that the thread accepts.
    Interrupted,
}

/// Returns whether a wait that is about to begin is interrupted; clears what interrupts it.
pub(crate) fn wait_interrupted() -> bool {
    ThreadContext::with_current(|me| me.take_wait_interrupt())
}

#[cfg(test)]
mod models {
    use super::ThreadContext;
    use crate::sync::{model, thread};

    #[test]
    fn an_interrupt_for_the_outer_work_is_there_when_a_nested_task_has_ended() {
        model(|| {
            let me = ThreadContext::current();
            let theirs = ThreadContext::current();
            let outer = me.begin_nested();
            let canceller = thread::Builder::new().spawn(move || theirs.interrupt_task(1));
            // The nested task takes what it sees.
            me.take_interrupt();
            me.end_nested(outer, 2);
            canceller.unwrap().join().unwrap();
            assert!(me.take_interrupt());
        });
    }

    #[test]
    fn of_two_interrupts_the_outer_work_keeps_its_own() {
        model(|| {
            let me = ThreadContext::current();
            let (first, second) = (ThreadContext::current(), ThreadContext::current());
            let outer_canceller = thread::Builder::new().spawn(move || first.interrupt_task(1));
            let outer = me.begin_nested();
            let canceller = thread::Builder::new().spawn(move || second.interrupt_task(2));
            // The nested task returns only after its canceller has interrupted it.
            canceller.unwrap().join().unwrap();
            me.end_nested(outer, 2);
            outer_canceller.unwrap().join().unwrap();
            assert!(me.take_interrupt());
        });
    }

    #[cfg(not(shuttle))]
    #[test]
    fn an_interrupt_for_a_nested_task_ends_with_it() {
        model(|| {
            let me = ThreadContext::current();
            let (first, second) = (me.begin_nested(), me.begin_nested());
            me.interrupt_task(2);
            me.end_nested(second, 2);
            assert!(!me.is_interrupted());
            // One of its own, as by `interrupt::current().interrupt()`.
            me.set_interrupted();
            me.end_nested(first, 1);
            assert!(!me.is_interrupted());
            me.interrupt();
            let pending = me.begin_nested();
            assert!(!me.is_interrupted());
            me.end_nested(pending, 3);
            assert!(me.take_interrupt());
        });
    }
}
