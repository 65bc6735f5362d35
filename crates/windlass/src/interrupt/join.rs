//! Threads that can be interrupted, and joined by a wait that can be interrupted.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::context::{ThreadContext, WakeReason};
use super::handle::{InterruptHandle, Interrupted};
use crate::sync::clock::Clock;
use crate::sync::{Deadline, Mutex, thread};

/// Starts a thread that can be interrupted, and joined by a wait that can be interrupted.
///
/// Threads of `std::thread` can be interrupted too. This function adds the handle, and a
/// [`join`](JoinHandle::join) that an interrupt ends. The new thread reads the caller's clock.
///
/// # Panics
///
/// If the operating system does not create the thread.
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
    let shared = Arc::new(JoinState {
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

/// The state that a thread of [`spawn`] and its handle share.
#[derive(Debug)]
struct JoinState {
    context: Mutex<Option<Arc<ThreadContext>>>,
    ended: Mutex<Ended>,
}

#[derive(Debug, Default)]
struct Ended {
    is_ended: bool,
    joiner: Option<Arc<ThreadContext>>,
}

struct EndOnDrop(Arc<JoinState>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let joiner = {
            let mut ended = self.0.ended.lock();
            ended.is_ended = true;
            ended.joiner.take()
        };
        if let Some(joiner) = joiner {
            joiner.unpark();
        }
    }
}

/// A handle to a thread started by [`spawn`]. Dropping it detaches the thread.
#[derive(Debug)]
#[must_use = "dropping the handle detaches the thread"]
pub struct JoinHandle<T> {
    thread: thread::JoinHandle<T>,
    shared: Arc<JoinState>,
    context: Arc<ThreadContext>,
}

impl<T> JoinHandle<T> {
    /// Interrupts the thread.
    pub fn interrupt(&self) {
        self.context.interrupt();
    }

    /// Returns a handle that interrupts the thread.
    #[must_use]
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(Arc::clone(&self.context))
    }

    /// Returns whether the thread's code has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shared.ended.lock().is_ended
    }

    /// Waits for the thread to end. Returns its value, or the payload of its panic.
    ///
    /// # Errors
    ///
    /// [`JoinInterrupted`], with the handle, if the *waiting* thread is interrupted.
    pub fn join(self) -> Result<Result<T, Box<dyn Any + Send>>, JoinInterrupted<T>> {
        let me = ThreadContext::current();
        loop {
            {
                let mut ended = self.shared.ended.lock();
                if ended.is_ended {
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

/// The error of a [`JoinHandle::join`] that was interrupted; it holds the handle.
#[derive(Debug)]
pub struct JoinInterrupted<T>(JoinHandle<T>);

impl<T> JoinInterrupted<T> {
    /// Returns the handle, to join again.
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
