//! Blocking inside a worker: another worker replaces it meanwhile.

use super::local::Local;
use crate::interrupt::Interrupted;

/// A condition that a worker may have to wait for.
///
/// ```
/// use windlass::forkjoin::{ManagedBlocker, managed_block};
/// use windlass::interrupt::Interrupted;
/// use windlass::queue::{BlockingQueue, LinkedBlockingQueue};
///
/// struct Take<'a>(&'a LinkedBlockingQueue<u32>, Option<u32>);
///
/// impl ManagedBlocker for Take<'_> {
///     fn is_releasable(&mut self) -> bool {
///         self.1 = self.1.or_else(|| self.0.poll());
///         self.1.is_some()
///     }
///     fn block(&mut self) -> Result<bool, Interrupted> {
///         self.1 = Some(self.0.take()?);
///         Ok(true)
///     }
/// }
///
/// let queue: LinkedBlockingQueue<u32> = [7].into_iter().collect();
/// let mut take = Take(&queue, None);
/// managed_block(&mut take).unwrap();
/// assert_eq!(take.1, Some(7));
/// ```
pub trait ManagedBlocker {
    /// Returns whether there is nothing to wait for any more.
    fn is_releasable(&mut self) -> bool;

    /// Waits; returns whether there is nothing to wait for any more.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] if the waiting thread is interrupted.
    fn block(&mut self) -> Result<bool, Interrupted>;
}

/// Waits for a blocker; meanwhile another worker replaces this one. Outside a pool it just waits.
///
/// # Errors
///
/// [`Interrupted`], from the blocker.
pub fn managed_block(blocker: &mut dyn ManagedBlocker) -> Result<(), Interrupted> {
    if blocker.is_releasable() {
        return Ok(());
    }
    blocking(|| {
        while !blocker.is_releasable() {
            if blocker.block()? {
                break;
            }
        }
        Ok(())
    })
}

/// Runs a closure that may block; meanwhile another worker replaces this one.
///
/// ```
/// use windlass::forkjoin;
///
/// let text = forkjoin::blocking(|| "read from a slow disk");
/// assert_eq!(text.len(), 21);
/// ```
pub fn blocking<R>(wait: impl FnOnce() -> R) -> R {
    Local::while_blocked(wait)
}
