//! The name of a task among all tasks of the process.
//!
//! Threads take numbers in blocks, so that two threads that submit at full speed do not meet at
//! one counter. Numbers are unique, not ordered.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a task, from its creation to its end and beyond.
///
/// ```
/// use windlass::task::Task;
///
/// assert_ne!(Task::new(|| ()).id(), Task::new(|| ()).id());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(NonZeroU64);

const BLOCK: u64 = 1 << 12;

// Not behind the door of `sync`: a counter that orders nothing is no part of any protocol, and a
// model would only spend its time on it.
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static BLOCK_LEFT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

impl TaskId {
    pub(crate) fn next() -> Self {
        let number = BLOCK_LEFT.try_with(|block| {
            let (mut next, mut end) = block.get();
            if next == end {
                next = NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed);
                end = next + BLOCK;
            }
            block.set((next + 1, end));
            next
        });
        // While a thread's locals are being dropped it spends a whole block on one number.
        let number = number.unwrap_or_else(|_| NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed));
        Self(NonZeroU64::new(number).expect("numbers start at one and do not run out"))
    }

    /// The number behind the name.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task-{}", self.0)
    }
}
