//! The interrupt of a thread: a request to stop waiting, that its own code answers.
//!
//! Rust has no thread interruption. Windlass gives every thread, pool worker or not, a flag that
//! anyone who holds its [`InterruptHandle`] can set. Every blocking call of the library
//! ends with [`Interrupted`] when the flag is set while it waits; code that computes looks at the
//! flag itself, with [`check`]. Blocking calls of other libraries do not see it.
//!
//! Who looks and who clears, in one place:
//! - a blocking call that reports `Interrupted` has cleared the flag;
//! - [`interrupted`] and [`check`] clear it, [`is_interrupted`] does not;
//! - calls that never wait (`offer`, `poll`, `execute`, a get on a finished task) leave it alone.
//!
//! ```
//! use windlass::interrupt;
//!
//! let worker = interrupt::spawn(|| {
//!     let mut rounds = 0_u64;
//!     while interrupt::check().is_ok() {
//!         rounds += 1;
//!     }
//!     rounds
//! });
//! worker.interrupt();
//! assert!(worker.join().unwrap().is_ok());
//! ```

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::sync::clock::Clock;
use crate::sync::{self, Deadline, Mutex, ParkResult, Parker, mutant, thread, thread_local};

thread_local! {
    static CURRENT: Arc<ThreadContext> = Arc::new(ThreadContext::new());
}

/// A blocking call ended because its thread was interrupted; the flag is clear again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the waiting thread was interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// The thread was interrupted.
const INTERRUPT: u8 = 1;
/// The thread is to look at the state of its pool again.
const NUDGE: u8 = 1 << 1;

/// What the library knows of one thread: where it sleeps, and whether it was interrupted.
///
/// `flags` are set by anyone and cleared by the thread itself. They are written before the
/// parker's token and read after it (or at the entry of a wait), so an interrupt that comes at any
/// moment is seen by the wait that it should end.
///
/// A *nudge* is an interrupt for the idle only: a pool sends it to make a waiting worker look at
/// the pool's state again. It ends the waits of a thread that [accepts](ThreadContext::accept_nudges) nudges, as
/// a worker does while it asks for its next task; everybody else takes it for a spurious wake-up.
/// So a pool can nudge without knowing whether the worker is busy, and no task ever sees it.
///
/// `signalled` belongs to [`waiting`](crate::waiting): it is written under the lock of the
/// structure that the thread waits in.
pub(crate) struct ThreadContext {
    parker: Arc<Parker>,
    flags: AtomicU8,
    /// The flags that end a wait of this thread; written by the thread itself.
    wait_mask: AtomicU8,
    /// The flags that ended its last wait; for the thread itself.
    ended_by: AtomicU8,
    signalled: AtomicBool,
    /// Whether the thread sleeps. Cleared before it takes anything, so that who sees something
    /// gone from a queue sees this cleared too.
    parked: AtomicBool,
}

impl fmt::Debug for ThreadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadContext")
            .field("interrupted", &self.is_interrupted())
            .finish_non_exhaustive()
    }
}

impl ThreadContext {
    fn new() -> Self {
        Self {
            parker: Arc::new(Parker::new()),
            flags: AtomicU8::new(0),
            wait_mask: AtomicU8::new(INTERRUPT),
            ended_by: AtomicU8::new(0),
            signalled: AtomicBool::new(false),
            parked: AtomicBool::new(false),
        }
    }

    /// The context of the current thread.
    pub(crate) fn current() -> Arc<Self> {
        // While a thread's locals are being dropped it gets a context that nobody else knows: it
        // can still wait, it can no longer be interrupted.
        CURRENT
            .try_with(Arc::clone)
            .unwrap_or_else(|_| Arc::new(Self::new()))
    }

    /// Runs `f` with the context of the current thread, without counting a reference to it.
    pub(crate) fn with_current<R>(f: impl FnOnce(&Arc<Self>) -> R) -> R {
        let mut f = Some(f);
        let mut run = |context: &Arc<Self>| (f.take().expect("called once"))(context);
        match CURRENT.try_with(&mut run) {
            Ok(result) => result,
            Err(_) => run(&Arc::new(Self::new())),
        }
    }

    pub(crate) fn set_interrupted(&self) {
        self.flags.fetch_or(INTERRUPT, Ordering::Release);
    }

    /// Sets the flag and ends the wait that the thread is in, if any.
    pub(crate) fn interrupt(&self) {
        self.set_interrupted();
        // Mutant: a thread that is about to sleep does not look again.
        if !mutant!("interrupt_wakes_nobody") {
            self.parker.unpark();
        }
    }

    /// Makes the thread look at its pool again, if it waits for a task or when it next does.
    pub(crate) fn nudge(&self) {
        self.flags.fetch_or(NUDGE, Ordering::Release);
        self.parker.unpark();
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.flags.load(Ordering::Acquire) & INTERRUPT != 0
    }

    /// Clears the interrupt and says whether there was one; free of a write where there was none.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.is_interrupted() && self.flags.fetch_and(!INTERRUPT, Ordering::AcqRel) & INTERRUPT != 0
    }

    /// Whether the current thread, whose context this is, must not go on waiting.
    fn has_wait_interrupt(&self) -> bool {
        self.flags.load(Ordering::Acquire) & self.wait_mask.load(Ordering::Relaxed) != 0
    }

    /// Clears what ends a wait of the current thread and says whether there was any of it.
    pub(crate) fn take_wait_interrupt(&self) -> bool {
        let wait_mask = self.wait_mask.load(Ordering::Relaxed);
        if !self.has_wait_interrupt() {
            return false;
        }
        let ended_by = self.flags.fetch_and(!wait_mask, Ordering::AcqRel) & wait_mask;
        self.ended_by.store(ended_by, Ordering::Relaxed);
        ended_by != 0
    }

    /// Whether an interrupt had a part in the end of this thread's last wait, and not just a nudge.
    pub(crate) fn wait_ended_by_interrupt(&self) -> bool {
        self.ended_by.load(Ordering::Relaxed) & INTERRUPT != 0
    }

    /// Runs `wait` so that a nudge ends it too.
    pub(crate) fn accept_nudges<R>(&self, wait: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a AtomicU8);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.store(INTERRUPT, Ordering::Relaxed);
            }
        }
        self.wait_mask.store(INTERRUPT | NUDGE, Ordering::Relaxed);
        let _restore = Restore(&self.wait_mask);
        wait()
    }

    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    /// Parks the current thread, whose context this is, until a token, the deadline or an
    /// interrupt. The flag is only looked at, not cleared.
    pub(crate) fn park(&self, deadline: Deadline) -> WakeReason {
        if self.has_wait_interrupt() {
            return WakeReason::Interrupted;
        }
        self.parked.store(true, Ordering::Release);
        let woken = sync::park(&self.parker, deadline);
        self.parked.store(false, Ordering::Release);
        match woken {
            _ if self.has_wait_interrupt() => WakeReason::Interrupted,
            ParkResult::Unparked => WakeReason::Unparked,
            ParkResult::TimedOut => WakeReason::TimedOut,
        }
    }

    /// Whether the thread sleeps in a wait.
    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Acquire)
    }

    /// Parks the current thread, whose context this is, until a token, whatever interrupts come.
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

/// Why [`ThreadContext::park`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeReason {
    Unparked,
    TimedOut,
    Interrupted,
}

/// Interrupts one thread, from any other.
///
/// Taken with [`current`] on the thread that is to be interrupted. It may outlive its thread;
/// interrupting a thread that has ended does nothing.
///
/// ```
/// use windlass::interrupt;
///
/// let me = interrupt::current();
/// me.interrupt();
/// assert!(interrupt::interrupted());
/// ```
#[derive(Debug, Clone)]
pub struct InterruptHandle(Arc<ThreadContext>);

impl InterruptHandle {
    /// Sets the thread's interrupt flag and ends the Windlass wait that it is in, if any.
    ///
    /// Interrupts do not add up: several before the thread looks are one.
    pub fn interrupt(&self) {
        self.0.interrupt();
    }

    /// Whether the thread's flag is set.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }

    /// Ends the [`park`] that the thread is in, or its next one.
    pub fn unpark(&self) {
        self.0.unpark();
    }
}

/// The handle that interrupts the current thread.
#[must_use]
pub fn current() -> InterruptHandle {
    InterruptHandle(ThreadContext::current())
}

/// Whether the current thread is interrupted; leaves the flag as it is.
#[must_use]
#[doc(alias = "isInterrupted")]
pub fn is_interrupted() -> bool {
    ThreadContext::with_current(|me| me.is_interrupted())
}

/// Whether a wait that is about to begin is over; clears what ended it.
pub(crate) fn wait_interrupted() -> bool {
    ThreadContext::with_current(|me| me.take_wait_interrupt())
}

/// Whether the current thread was interrupted; clears the flag.
#[must_use = "the flag is cleared: what it said is lost if nobody looks"]
pub fn interrupted() -> bool {
    ThreadContext::with_current(|me| me.take_interrupt())
}

/// Ends a computation that was interrupted: `interrupt::check()?` in its loop.
///
/// # Errors
///
/// [`Interrupted`] if the current thread's flag was set; it is clear afterwards.
pub fn check() -> Result<(), Interrupted> {
    if interrupted() {
        Err(Interrupted)
    } else {
        Ok(())
    }
}

/// Waits for a time, unless interrupted.
///
/// # Errors
///
/// [`Interrupted`] if the flag is set on entry or gets set meanwhile; it is clear afterwards.
///
/// ```
/// use std::time::Duration;
/// use windlass::interrupt;
///
/// interrupt::current().interrupt();
/// assert!(interrupt::sleep(Duration::from_secs(3600)).is_err());
/// ```
pub fn sleep(time: Duration) -> Result<(), Interrupted> {
    let me = ThreadContext::current();
    let deadline = Deadline::after(time);
    loop {
        match me.park(deadline) {
            WakeReason::Interrupted => {
                me.take_interrupt();
                return Err(Interrupted);
            }
            WakeReason::TimedOut => return Ok(()),
            WakeReason::Unparked => {}
        }
    }
}

/// Waits until somebody calls [`InterruptHandle::unpark`] on this thread's handle.
///
/// May also return for no reason, as all parking does: look at what you wait for again.
///
/// # Errors
///
/// [`Interrupted`] if the flag is set on entry or gets set meanwhile; it is clear afterwards.
pub fn park() -> Result<(), Interrupted> {
    park_by(Deadline::Never)
}

/// Like [`park`], but for no longer than `timeout`.
///
/// # Errors
///
/// [`Interrupted`] if the flag is set on entry or gets set meanwhile; it is clear afterwards.
pub fn park_timeout(timeout: Duration) -> Result<(), Interrupted> {
    park_by(Deadline::after(timeout))
}

fn park_by(deadline: Deadline) -> Result<(), Interrupted> {
    let me = ThreadContext::current();
    match me.park(deadline) {
        WakeReason::Interrupted => {
            me.take_interrupt();
            Err(Interrupted)
        }
        WakeReason::Unparked | WakeReason::TimedOut => Ok(()),
    }
}

/// Starts a thread that can be interrupted, and joined by a wait that can be interrupted.
///
/// `std::thread` works too: every thread has an interrupt. What this adds is the handle, and a
/// [`join`](JoinHandle::join) that an interrupt ends. The new thread reads the caller's clock.
///
/// # Panics
///
/// If the operating system refuses the thread.
///
/// ```
/// use windlass::interrupt;
///
/// let sum = interrupt::spawn(|| (1..=10).sum::<u32>());
/// assert_eq!(sum.join().unwrap().unwrap(), 55);
/// ```
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (clock, caller) = (Clock::current(), ThreadContext::current());
    let shared = Arc::new(Joined {
        context: Mutex::new(None),
        ended: Mutex::new(Ended::default()),
    });
    let theirs = Arc::clone(&shared);
    let announced = Arc::clone(&caller);
    let thread = thread::Builder::new().spawn(move || {
        clock.adopt();
        *theirs.context.lock() = Some(ThreadContext::current());
        announced.unpark();
        let _end = EndOnDrop(theirs);
        body()
    });
    let thread = thread.expect("the operating system refused a new thread");
    let mut interrupted = false;
    let context = loop {
        if let Some(context) = shared.context.lock().clone() {
            break context;
        }
        interrupted |= caller.take_interrupt();
        let _ = caller.park(Deadline::Never);
    };
    if interrupted {
        caller.set_interrupted();
    }
    JoinHandle {
        thread,
        shared,
        context,
    }
}

/// What a thread of [`spawn`] and its handle share.
#[derive(Debug)]
struct Joined {
    context: Mutex<Option<Arc<ThreadContext>>>,
    ended: Mutex<Ended>,
}

#[derive(Debug, Default)]
struct Ended {
    yes: bool,
    joiner: Option<Arc<ThreadContext>>,
}

struct EndOnDrop(Arc<Joined>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let joiner = {
            let mut ended = self.0.ended.lock();
            ended.yes = true;
            ended.joiner.take()
        };
        if let Some(joiner) = joiner {
            joiner.unpark();
        }
    }
}

/// The thread started by [`spawn`]. Dropping it detaches the thread.
#[derive(Debug)]
#[must_use = "dropping the handle detaches the thread"]
pub struct JoinHandle<T> {
    thread: thread::JoinHandle<T>,
    shared: Arc<Joined>,
    context: Arc<ThreadContext>,
}

impl<T> JoinHandle<T> {
    /// Interrupts the thread.
    pub fn interrupt(&self) {
        self.context.interrupt();
    }

    /// A handle that interrupts the thread and can be passed on.
    #[must_use]
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(Arc::clone(&self.context))
    }

    /// Whether the thread's code has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shared.ended.lock().yes
    }

    /// Waits for the thread to end; gives its value, or the payload of its panic.
    ///
    /// # Errors
    ///
    /// [`JoinInterrupted`] if the *waiting* thread is interrupted; it gives the handle back.
    pub fn join(self) -> Result<Result<T, Box<dyn Any + Send>>, JoinInterrupted<T>> {
        let me = ThreadContext::current();
        loop {
            {
                let mut ended = self.shared.ended.lock();
                if ended.yes {
                    break;
                }
                ended.joiner = Some(Arc::clone(&me));
            }
            if me.park(Deadline::Never) == WakeReason::Interrupted {
                me.take_interrupt();
                return Err(JoinInterrupted(self));
            }
        }
        Ok(self.thread.join())
    }
}

/// A [`JoinHandle::join`] was interrupted; the handle is inside.
#[derive(Debug)]
pub struct JoinInterrupted<T>(JoinHandle<T>);

impl<T> JoinInterrupted<T> {
    /// The handle, to join again.
    pub fn into_handle(self) -> JoinHandle<T> {
        self.0
    }
}

impl<T> fmt::Display for JoinInterrupted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Interrupted.fmt(f)
    }
}

impl<T: fmt::Debug> std::error::Error for JoinInterrupted<T> {}

#[cfg(test)]
mod models {
    use super::{ThreadContext, current, park};
    use crate::sync::{model, thread};

    #[test]
    fn an_interrupt_ends_a_park_whenever_it_comes() {
        model(|| {
            let me = current();
            let other = thread::Builder::new()
                .spawn(move || me.interrupt())
                .unwrap();
            // A stray token may end one park early; the flag ends the next.
            while park().is_ok() {}
            assert!(!ThreadContext::current().is_interrupted());
            other.join().unwrap();
        });
    }
}
