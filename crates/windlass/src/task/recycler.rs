//! Fixed-size blocks of memory, recycled between the threads that run tasks and those that submit.
//!
//! In a pool the submitter allocates and a worker frees. What a thread frees goes to the
//! allocator's cache of that thread, which the submitter cannot use: it allocates from the shared
//! heap, under a lock that the worker takes too.
//!
//! Blocks of one size are recycled here, in magazines. A thread puts the blocks that it frees into a
//! thread-local magazine; a full magazine goes to the depot, and a thread that needs blocks takes a
//! full one from there. So threads synchronise once for [`MAGAZINE`] blocks. The depot holds a limited
//! number of magazines. While a queue grows, blocks come from the allocator.

use std::mem::MaybeUninit;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// The contents of a block: eleven words. With the one that most allocators add, a block takes one
/// and a half cache lines.
pub(super) type Slot = MaybeUninit<[u64; 11]>;

pub(super) type Block = Box<Slot>;

pub(super) use recycling::{allocate, recycle};

/// Blocks in a full magazine.
const MAGAZINE: usize = 64;

/// How many blocks ahead memory is asked for.
const PREFETCHED: usize = 6;

/// Magazines that the depot keeps: 65,536 blocks, about six megabytes.
const MAX_MAGAZINES: usize = 1_024;

/// The full magazines that no thread uses.
#[derive(Debug, Default)]
#[cfg_attr(
    any(loom, shuttle, windlass_plain_memory),
    expect(
        dead_code,
        reason = "blocks are not recycled there, except in its own model"
    )
)]
struct Depot {
    magazines: Mutex<Vec<Vec<Block>>>,
    /// The number of magazines, as last written under the lock: a thread that reads zero need not lock.
    len: AtomicUsize,
}

impl Depot {
    /// Adds a full magazine; returns it if the depot is full.
    fn put(&self, full: Vec<Block>) -> Option<Vec<Block>> {
        let mut magazines = self.magazines.lock();
        if magazines.len() == MAX_MAGAZINES {
            return Some(full);
        }
        magazines.push(full);
        self.len.store(magazines.len(), Ordering::Relaxed);
        None
    }

    fn take(&self) -> Option<Vec<Block>> {
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut magazines = self.magazines.lock();
        let full = magazines.pop();
        let left = magazines.len();
        self.len.store(left, Ordering::Relaxed);
        full
    }
}

#[cfg(not(any(loom, shuttle, windlass_plain_memory)))]
mod recycling {
    use std::cell::RefCell;
    use std::sync::LazyLock;

    use super::{Block, Depot, MAGAZINE, PREFETCHED};
    use crate::sync::{const_thread_local, prefetch_for_write};

    static DEPOT: LazyLock<Depot> = LazyLock::new(Depot::default);

    // The magazine of this thread.
    const_thread_local! {
        pub(super) static LOCAL: RefCell<Vec<Block>> = RefCell::new(Vec::new());
    }

    /// Returns a block, recycled or new.
    #[inline]
    pub(in super::super) fn allocate() -> Block {
        let block = LOCAL.try_with(|local| {
            let mut magazine = local.try_borrow_mut().ok()?;
            let block = magazine.pop().or_else(|| refill(&mut magazine));
            // Another core may have its lines, that of the thread which freed it.
            if let Some(later) = magazine.iter().nth_back(PREFETCHED) {
                let later = later.as_ptr().cast::<u64>();
                prefetch_for_write(later);
                prefetch_for_write(later.wrapping_add(8));
            }
            block
        });
        // The allocator also serves a thread whose locals have been dropped, and one that is in
        // this function already: a user's own allocator may call it again.
        block.ok().flatten().unwrap_or_else(Box::new_uninit)
    }

    /// Frees a block, for this or another thread to use again.
    #[inline]
    pub(in super::super) fn recycle(block: Block) {
        let _ = LOCAL.try_with(|local| {
            if let Ok(mut magazine) = local.try_borrow_mut() {
                if magazine.len() == MAGAZINE {
                    flush(&mut magazine);
                }
                magazine.push(block);
            }
        });
    }

    #[cold]
    fn refill(magazine: &mut Vec<Block>) -> Option<Block> {
        *magazine = DEPOT.take()?;
        magazine.pop()
    }

    #[cold]
    fn flush(magazine: &mut Vec<Block>) {
        let full = std::mem::replace(magazine, Vec::with_capacity(MAGAZINE));
        // A magazine for which the depot has no room goes to the allocator.
        drop(DEPOT.put(full));
    }
}

/// In models and under sanitizers each block is an allocation of its own, so that misuse shows.
#[cfg(any(loom, shuttle, windlass_plain_memory))]
mod recycling {
    use super::Block;

    pub(in super::super) fn allocate() -> Block {
        Box::new_uninit()
    }

    pub(in super::super) fn recycle(block: Block) {
        drop(block);
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{Depot, MAX_MAGAZINES, allocate, recycle};

    #[test]
    fn a_full_depot_returns_the_magazine() {
        let depot = Depot::default();
        assert!((0..MAX_MAGAZINES).all(|_| depot.put(Vec::new()).is_none()));
        assert!(
            depot
                .put(vec![allocate()])
                .is_some_and(|full| full.len() == 1)
        );
        assert!((0..MAX_MAGAZINES).all(|_| depot.take().is_some()));
        assert!(depot.take().is_none());
    }

    #[cfg(not(windlass_plain_memory))]
    #[test]
    fn blocks_gather_in_the_local_magazine_until_it_is_full() {
        use super::MAGAZINE;
        let cached = || super::recycling::LOCAL.with_borrow(Vec::len);
        std::thread::spawn(move || {
            let blocks: Vec<_> = (0..2 * MAGAZINE).map(|_| allocate()).collect();
            let before = cached();
            assert!(
                before < MAGAZINE,
                "the depot holds full magazines, and one block has been taken out"
            );
            let mut gathered = Vec::new();
            for block in blocks {
                recycle(block);
                gathered.push(cached());
            }
            let next = |len: usize| if len == MAGAZINE { 1 } else { len + 1 };
            let expected = std::iter::successors(Some(next(before)), |&len| Some(next(len)));
            assert!(gathered.into_iter().eq(expected.take(2 * MAGAZINE)));
            let left = cached();
            drop(allocate());
            assert_eq!(cached(), left - 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn blocks_serve_a_thread_whose_locals_are_being_dropped() {
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                recycle(allocate());
            }
        }
        std::thread_local! { static LAST: Last = const { Last }; }
        std::thread::spawn(|| {
            LAST.with(|_| ());
            recycle(allocate());
        })
        .join()
        .unwrap();
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Depot;
    use crate::sync::{model, thread};

    /// Magazines are distinguished by their capacity.
    #[test]
    fn a_magazine_goes_to_one_taker_and_none_is_lost() {
        model(|| {
            let depot = Arc::new(Depot::default());
            assert!(depot.put(Vec::with_capacity(1)).is_none());
            let theirs = Arc::clone(&depot);
            let other = thread::Builder::new()
                .spawn(move || {
                    let kept = theirs.put(Vec::with_capacity(2));
                    assert!(kept.is_none());
                    theirs.take()
                })
                .unwrap();
            let mut seen: Vec<_> = depot.take().into_iter().collect();
            seen.extend(other.join().unwrap());
            seen.extend(std::iter::from_fn(|| depot.take()));
            let mut capacities: Vec<_> = seen.iter().map(Vec::capacity).collect();
            capacities.sort_unstable();
            assert_eq!(capacities, [1, 2]);
        });
    }
}
