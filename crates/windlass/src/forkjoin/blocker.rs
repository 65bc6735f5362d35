//! Waiting inside a worker without taking its place from the others.

use super::local::Local;
use crate::interrupt::Interrupted;

/// Something that a worker may have to wait for.
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
    /// Whether there is no need to wait any more.
    fn is_releasable(&mut self) -> bool;

    /// Waits; says whether there is no need to wait any more.
    ///
    /// # Errors
    ///
    /// [`Interrupted`].
    fn block(&mut self) -> Result<bool, Interrupted>;
}

/// Waits for a blocker; meanwhile another worker takes this one's place. Outside a pool it just waits.
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

/// Runs a closure that may wait for long; meanwhile another worker takes this one's place.
///
/// ```
/// use windlass::forkjoin;
///
/// let text = forkjoin::blocking(|| "read from a slow disk");
/// assert_eq!(text.len(), 21);
/// ```
pub fn blocking<R>(wait: impl FnOnce() -> R) -> R {
    Local::with(|local| match local {
        Some(local) => local.while_blocked(wait),
        None => wait(),
    })
}
