//! The task that the current thread runs.
//!
//! Invariant: the pointer of a thread is null, or points to a variable of a call of [`enter`] that has not
//! returned, on the stack of that thread. `enter` restores the former pointer before it returns, and its
//! closure does not unwind.

#![expect(
    unsafe_code,
    reason = "a thread reaches the task that it runs, without counting a reference for every run"
)]

use std::cell::Cell;
use std::ptr;

use super::runnable::Untyped;
use crate::sync::const_thread_local;

type Frame = *const &'static dyn Untyped;

const_thread_local! {
    static RUNNING: Cell<Frame> = Cell::new(ptr::null());
}

/// Runs `run` as the code of the task. `run` does not unwind.
#[inline]
pub(super) fn enter<R>(task: &(dyn Untyped + 'static), run: impl FnOnce() -> R) -> R {
    let frame: *const &(dyn Untyped + 'static) = &raw const task;
    let former = RUNNING.try_with(|running| running.replace(frame.cast()));
    let result = run();
    if let Ok(former) = former {
        let _ = RUNNING.try_with(|running| running.set(former));
    }
    result
}

/// Runs `run`, which is not code of the task that the thread runs.
pub(crate) fn suspended<R>(run: impl FnOnce() -> R) -> R {
    struct Restore(Frame);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = RUNNING.try_with(|running| running.set(self.0));
        }
    }
    let _restore = RUNNING.try_with(|running| Restore(running.replace(ptr::null())));
    run()
}

/// Calls `f` with the task that the current thread runs, if it runs one with a handle.
pub(super) fn with<R>(f: impl FnOnce(&(dyn Untyped + 'static)) -> R) -> Option<R> {
    let frame = RUNNING.try_with(Cell::get).ok()?;
    if frame.is_null() {
        return None;
    }
    // SAFETY: the variable is further down on this stack, see the invariant; and so is the borrow of the
    // task that it holds, which lives at least as long as this call.
    let task: &(dyn Untyped + 'static) = unsafe { *frame };
    Some(f(task))
}
