//! What the executor of a waiting thread does so that the wait ends.
//!
//! A worker that waits for a task of its own executor can wait for good if only this worker could run
//! the task. So an executor can set a [`WaitHelper`] for its workers. It knows where the task is queued,
//! and may run it in place; while the worker is blocked, it may replace the worker by another.
//!
//! Only a thread that is about to park for a task asks for its helper.

use std::cell::Cell;

use super::head::WaitHelper;
use crate::sync::const_thread_local;

const_thread_local! {
    static HELPER: Cell<Option<&'static dyn WaitHelper>> = Cell::new(None);
}

/// Sets the helper of the current thread while `f` runs.
pub(crate) fn with_wait_helper<R>(helper: &'static dyn WaitHelper, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<&'static dyn WaitHelper>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = HELPER.try_with(|helper| helper.set(self.0));
        }
    }
    let _restore = HELPER.try_with(|current| Restore(current.replace(Some(helper))));
    f()
}

/// Returns the helper of the current thread.
pub(crate) fn wait_helper() -> Option<&'static dyn WaitHelper> {
    HELPER.try_with(Cell::get).ok().flatten()
}
