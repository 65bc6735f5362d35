//! Blocks of memory, from those who have done with them back to those who need some.
//!
//! A pool is hard on an allocator: one thread allocates all the time, and another one frees. What
//! a thread has freed lies in a cache of its own, from which the first one gets nothing; it takes
//! from the common stock, under a lock that the other one wants too. For tasks that capture eight
//! words that cost more than all the rest of their way.
//!
//! Here blocks of one size go round: a thread puts those that it has done with into a crate of its
//! own, a full crate goes to the store, and a thread that needs blocks takes a crate from there. So
//! threads meet once for a crateful. The store keeps so many crates and no more. What does not go
//! round, since more and more tasks are queued, comes from the allocator.

use std::mem::MaybeUninit;

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, mutant};

/// Room for eleven words; with the one that most allocators add that makes three halves of a cache
/// line.
pub(super) type Room = MaybeUninit<[u64; 11]>;

pub(super) type Block = Box<Room>;

pub(super) use going_round::{obtain, release};

/// Blocks in a crate.
const CRATE: usize = 64;

/// Crates that are kept: what a burst of some ten thousand tasks leaves behind, six megabytes.
const MOST: usize = 1_024;

/// The crates that nobody uses.
#[derive(Debug, Default)]
#[cfg_attr(
    any(loom, shuttle, windlass_plain_memory),
    expect(
        dead_code,
        reason = "blocks do not go round there, except in its own model"
    )
)]
struct Store {
    crates: Mutex<Vec<Vec<Block>>>,
    /// How many there are, as last left under the lock: whoever reads zero need not lock.
    shown: AtomicUsize,
}

impl Store {
    /// Takes in a crate, or gives it back if there are enough.
    fn put(&self, full: Vec<Block>) -> Option<Vec<Block>> {
        let mut crates = self.crates.lock();
        if crates.len() == MOST {
            return Some(full);
        }
        crates.push(full);
        self.shown.store(crates.len(), Ordering::Relaxed);
        None
    }

    fn take(&self) -> Option<Vec<Block>> {
        if self.shown.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut crates = self.crates.lock();
        let full = crates.pop();
        let left = crates.len();
        if mutant!("store_counts_unlocked") {
            drop(crates); // A crate that comes now is not shown.
            self.shown.store(left, Ordering::Relaxed);
            return full;
        }
        self.shown.store(left, Ordering::Relaxed);
        full
    }
}

#[cfg(not(any(loom, shuttle, windlass_plain_memory)))]
mod going_round {
    use std::cell::RefCell;
    use std::sync::LazyLock;

    use super::{Block, CRATE, Store};
    use crate::sync::const_thread_local;

    static STORE: LazyLock<Store> = LazyLock::new(Store::default);

    const_thread_local! {
        pub(super) static AT_HAND: RefCell<Vec<Block>> = RefCell::new(Vec::new());
    }

    #[inline]
    pub(in super::super) fn obtain() -> Block {
        let block = AT_HAND.try_with(|at_hand| {
            let mut blocks = at_hand.try_borrow_mut().ok()?;
            blocks.pop().or_else(|| take_from_store(&mut blocks))
        });
        // The allocator also serves a thread whose locals have been dropped, and one that is in the
        // middle of the same: a user's own allocator may come back here.
        block.ok().flatten().unwrap_or_else(Box::new_uninit)
    }

    #[inline]
    pub(in super::super) fn release(block: Block) {
        let _ = AT_HAND.try_with(|at_hand| {
            if let Ok(mut blocks) = at_hand.try_borrow_mut() {
                if blocks.len() == CRATE {
                    take_to_store(&mut blocks);
                }
                blocks.push(block);
            }
        });
    }

    #[cold]
    fn take_from_store(at_hand: &mut Vec<Block>) -> Option<Block> {
        *at_hand = STORE.take()?;
        at_hand.pop()
    }

    #[cold]
    fn take_to_store(at_hand: &mut Vec<Block>) {
        let full = std::mem::replace(at_hand, Vec::with_capacity(CRATE));
        // A crate for which there is no place goes to the allocator.
        drop(STORE.put(full));
    }
}

/// In models and under sanitizers each block is an allocation of its own, so that misuse shows.
#[cfg(any(loom, shuttle, windlass_plain_memory))]
mod going_round {
    use super::Block;

    pub(in super::super) fn obtain() -> Block {
        Box::new_uninit()
    }

    pub(in super::super) fn release(block: Block) {
        drop(block);
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{MOST, Store, obtain, release};

    #[test]
    fn the_store_gives_back_what_it_has_no_place_for() {
        let store = Store::default();
        assert!((0..MOST).all(|_| store.put(Vec::new()).is_none()));
        assert!(
            store
                .put(vec![obtain()])
                .is_some_and(|full| full.len() == 1)
        );
        assert!((0..MOST).all(|_| store.take().is_some()));
        assert!(store.take().is_none());
    }

    #[cfg(not(windlass_plain_memory))]
    #[test]
    fn blocks_gather_at_hand_until_the_crate_is_full() {
        use super::CRATE;
        let at_hand = || super::going_round::AT_HAND.with_borrow(Vec::len);
        std::thread::spawn(move || {
            let blocks: Vec<_> = (0..2 * CRATE).map(|_| obtain()).collect();
            let before = at_hand();
            assert!(
                before < CRATE,
                "from the store come full crates, to be opened"
            );
            let mut gathered = Vec::new();
            for block in blocks {
                release(block);
                gathered.push(at_hand());
            }
            let next = |len: usize| if len == CRATE { 1 } else { len + 1 };
            let expected = std::iter::successors(Some(next(before)), |&len| Some(next(len)));
            assert!(gathered.into_iter().eq(expected.take(2 * CRATE)));
            let left = at_hand();
            drop(obtain());
            assert_eq!(at_hand(), left - 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn blocks_serve_a_thread_whose_locals_are_being_dropped() {
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                release(obtain());
            }
        }
        std::thread_local! { static LAST: Last = const { Last }; }
        std::thread::spawn(|| {
            LAST.with(|_| ());
            release(obtain());
        })
        .join()
        .unwrap();
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::Store;
    use crate::sync::{model, thread};

    /// Crates are told apart by their capacity.
    #[test]
    fn a_crate_goes_to_one_taker_and_none_is_lost() {
        model(|| {
            let store = Arc::new(Store::default());
            assert!(store.put(Vec::with_capacity(1)).is_none());
            let theirs = Arc::clone(&store);
            let other = thread::Builder::new()
                .spawn(move || {
                    let kept = theirs.put(Vec::with_capacity(2));
                    assert!(kept.is_none());
                    theirs.take()
                })
                .unwrap();
            let mut seen: Vec<_> = store.take().into_iter().collect();
            seen.extend(other.join().unwrap());
            seen.extend(std::iter::from_fn(|| store.take()));
            let mut capacities: Vec<_> = seen.iter().map(Vec::capacity).collect();
            capacities.sort_unstable();
            assert_eq!(capacities, [1, 2]);
        });
    }
}
