//! Counting drops.

use std::sync::Arc;

use crate::sync::Mutex;

/// A counter of the drops of its tokens, to show that a value is dropped exactly once.
///
/// ```
/// use windlass::testing::DropCounter;
///
/// let drops = DropCounter::new();
/// drop((drops.token(), drops.token()));
/// assert_eq!(drops.count(), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct DropCounter(Arc<Mutex<usize>>);

impl DropCounter {
    /// Creates a counter at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a value whose drop is counted.
    #[must_use]
    pub fn token(&self) -> DropToken {
        DropToken(self.clone())
    }

    /// Returns how many tokens have been dropped.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.lock()
    }
}

/// A value whose drop a [`DropCounter`] counts.
#[derive(Debug)]
pub struct DropToken(DropCounter);

impl Drop for DropToken {
    fn drop(&mut self) {
        *self.0.0.lock() += 1;
    }
}
