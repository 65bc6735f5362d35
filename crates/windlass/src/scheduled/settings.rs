//! The policies of a scheduled pool, which can change while it runs.

use crate::sync::atomic::{AtomicBool, Ordering};

/// What happens to queued tasks on shutdown and on cancel.
///
/// `SeqCst`: a submitter queues its task and then reads the state of the pool and these policies; a
/// policy that is switched off is written before the queue is searched. At least one of the two sees
/// the other's write, so that no task stays queued that will not run.
#[derive(Debug)]
pub(super) struct Settings {
    continue_periodic: AtomicBool,
    run_delayed: AtomicBool,
    remove_on_cancel: AtomicBool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            continue_periodic: AtomicBool::new(false),
            run_delayed: AtomicBool::new(true),
            remove_on_cancel: AtomicBool::new(false),
        }
    }
}

impl Settings {
    /// Returns whether periodic tasks continue after a shutdown.
    pub(super) fn continues_periodic(&self) -> bool {
        self.continue_periodic.load(Ordering::SeqCst)
    }

    pub(super) fn set_continue_periodic(&self, yes: bool) {
        self.continue_periodic.store(yes, Ordering::SeqCst);
    }

    /// Returns whether delayed tasks still run after a shutdown.
    pub(super) fn runs_delayed(&self) -> bool {
        self.run_delayed.load(Ordering::SeqCst)
    }

    pub(super) fn set_run_delayed(&self, yes: bool) {
        self.run_delayed.store(yes, Ordering::SeqCst);
    }

    /// Returns whether a cancelled task leaves the queue at once.
    pub(super) fn removes_on_cancel(&self) -> bool {
        self.remove_on_cancel.load(Ordering::SeqCst)
    }

    pub(super) fn set_remove_on_cancel(&self, yes: bool) {
        self.remove_on_cancel.store(yes, Ordering::SeqCst);
    }
}
