//! The task that the current thread runs, and those inside which it does.
//!
//! Invariant: the pointer of a thread is null, or points to a variable of a call of [`enter`] or [`suspended`] that has not
//! returned, on the stack of that thread; and so does the pointer in that variable. Both functions restore the former pointer
//! before they return; the closure of `enter` does not unwind.

#![expect(
    unsafe_code,
    reason = "a thread reaches the task that it runs, without counting a reference for every run"
)]

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::runnable::Untyped;
use crate::sync::const_thread_local;

/// What one call on the stack of this thread runs.
struct Frame {
    /// The task; `None` for what is no code of the task around it.
    task: Option<NonNull<dyn Untyped>>,
    /// The frame of the call around it.
    outer: *const Frame,
}

const_thread_local! {
    static RUNNING: Cell<*const Frame> = Cell::new(ptr::null());
}

/// Runs `run` as the code of the task. `run` does not unwind.
#[inline]
pub(super) fn enter<R>(task: &(dyn Untyped + 'static), run: impl FnOnce() -> R) -> R {
    let mut frame = Frame {
        task: Some(NonNull::from(task)),
        outer: ptr::null(),
    };
    let former = RUNNING.try_with(|running| {
        frame.outer = running.get();
        running.set(&raw const frame);
        frame.outer
    });
    let result = run();
    if let Ok(former) = former {
        let _ = RUNNING.try_with(|running| running.set(former));
    }
    result
}

/// Runs `run`, which is not code of the task that the thread runs.
pub(crate) fn suspended<R>(run: impl FnOnce() -> R) -> R {
    struct Restore(*const Frame);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = RUNNING.try_with(|running| running.set(self.0));
        }
    }
    let mut frame = Frame {
        task: None,
        outer: ptr::null(),
    };
    let _restore = RUNNING.try_with(|running| {
        frame.outer = running.get();
        running.set(&raw const frame);
        Restore(frame.outer)
    });
    run()
}

/// Returns the frame that the pointer leads to.
///
/// # Safety
///
/// The pointer is that of the thread, or in a frame that it leads to.
unsafe fn frame<'a>(at: *const Frame) -> Option<&'a Frame> {
    // SAFETY: the variable is further down on this stack, see the invariant; the caller keeps the reference
    // no longer than its own call.
    unsafe { at.as_ref() }
}

/// Calls `f` with the task that the current thread runs, if it runs one with a handle.
pub(super) fn with<R>(f: impl FnOnce(&(dyn Untyped + 'static)) -> R) -> Option<R> {
    let innermost = RUNNING.try_with(Cell::get).ok()?;
    // SAFETY: it is the pointer of the thread.
    let frame = unsafe { frame(innermost) }?;
    // SAFETY: the borrow of the task is further down on this stack too, and lives at least as long as this call.
    frame.task.map(|task| f(unsafe { task.as_ref() }))
}

/// Calls `f` with each task that the current thread runs, one inside the other, the innermost first.
pub(super) fn for_each(mut f: impl FnMut(&(dyn Untyped + 'static))) {
    let mut at = RUNNING.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: it is the pointer of the thread, and then that of a frame.
    while let Some(frame) = unsafe { frame(at) } {
        if let Some(task) = frame.task {
            // SAFETY: as in `with`.
            f(unsafe { task.as_ref() });
        }
        at = frame.outer;
    }
}
