//! The id of a task, unique in the process.
//!
//! Threads take numbers in blocks, so that threads that submit at the same time do not contend for one
//! counter. Numbers are unique, not ordered.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// The id of a task, which is unique in the process and is not used again.
///
/// ```
/// use windlass::task::Task;
///
/// assert_ne!(Task::new(|| ()).id(), Task::new(|| ()).id());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(NonZeroU64);

const BLOCK: u64 = 1 << 12;

// From `std` and not from `sync`: the counter orders nothing, and a model would only spend time on it.
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Returns the first number of a new block. The multiples of `BLOCK` are not used: a thread that reaches
/// one has used its block up.
#[cold]
fn first_of_block() -> u64 {
    NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed) + 1
}

impl TaskId {
    #[inline]
    pub(crate) fn next() -> Self {
        let number = NEXT.try_with(|number| {
            let mut next = number.get();
            if next % BLOCK == 0 {
                next = first_of_block();
            }
            number.set(next + 1);
            next
        });
        // While a thread's locals are being dropped, each number takes a whole block.
        let number = number.unwrap_or_else(|_| first_of_block());
        Self(NonZeroU64::new(number).expect("numbers start at one and do not run out"))
    }

    /// Returns the id with this number, which was an id's before.
    pub(crate) const fn from_u64(number: u64) -> Self {
        Self(NonZeroU64::new(number).expect("the number of an id"))
    }

    /// Returns the id as a number.
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

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{BLOCK, TaskId};
    use crate::sync::thread;

    /// The first numbers that a new thread takes: two whole blocks.
    fn of_a_new_thread() -> Vec<u64> {
        let take = || (0..2 * (BLOCK - 1)).map(|_| TaskId::next().as_u64());
        let taker = thread::Builder::new().spawn(move || take().collect());
        taker.expect("a thread").join().expect("numbers")
    }

    #[test]
    fn a_thread_uses_a_block_up_before_it_takes_another() {
        let numbers = of_a_new_thread();
        let (one, other) = numbers.split_at(numbers.len() / 2);
        for block in [one, other] {
            assert_eq!(block[0] % BLOCK, 1);
            assert!(block.iter().copied().eq(block[0]..block[0] + BLOCK - 1));
        }
        assert_ne!(one[0], other[0]);
    }

    #[test]
    fn threads_take_different_numbers() {
        let mut numbers = [of_a_new_thread(), of_a_new_thread()].concat();
        let taken = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), taken);
    }

    #[test]
    fn an_id_shows_its_number() {
        let id = TaskId::next();
        assert_eq!(id.to_string(), format!("task-{}", id.as_u64()));
    }
}
