//! One worker, as the others see it.

use std::sync::{Arc, OnceLock};

use super::deque::Stealer;
use crate::interrupt::ThreadContext;
use crate::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(super) struct WorkerInfo {
    pub(super) index: usize,
    pub(super) stealer: Stealer,
    context: OnceLock<Arc<ThreadContext>>,
    /// The task that it runs, as a number; zero for none, or if its deque holds older work. Only a
    /// hint.
    current: AtomicU64,
    /// Work it has done that others had submitted or forked.
    steals: AtomicU64,
}

impl WorkerInfo {
    pub(super) fn new(index: usize, stealer: Stealer) -> Arc<Self> {
        Arc::new(Self {
            index,
            stealer,
            context: OnceLock::new(),
            current: AtomicU64::new(0),
            steals: AtomicU64::new(0),
        })
    }

    pub(super) fn set_context(&self, context: Arc<ThreadContext>) {
        let _ = self.context.set(context);
    }

    pub(super) fn set_current(&self, id: u64) -> u64 {
        let former = self.current.load(Ordering::Relaxed);
        self.current.store(id, Ordering::Relaxed);
        former
    }

    pub(super) fn runs(&self, id: u64) -> bool {
        self.current.load(Ordering::Relaxed) == id
    }

    pub(super) fn count_steal(&self) {
        self.steals.store(self.steals() + 1, Ordering::Relaxed);
    }

    pub(super) fn steals(&self) -> u64 {
        self.steals.load(Ordering::Relaxed)
    }

    pub(super) fn wake(&self) {
        if let Some(context) = self.context.get() {
            context.unpark();
        }
    }

    pub(super) fn interrupt(&self) {
        if let Some(context) = self.context.get() {
            context.interrupt();
        }
    }
}
