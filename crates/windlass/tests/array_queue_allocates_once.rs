//! The ring queue's memory is allocated when it is made, and never again.
//!
//! In a binary of its own, since it counts every allocation of the process.

#![expect(
    unsafe_code,
    reason = "an allocator that counts is an unsafe trait to implement"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::queue::{ArrayBlockingQueue, BlockingQueue};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the place came from `alloc` above, that is from the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// ABQ-001
#[test]
fn nothing_is_allocated_after_the_queue_was_made() {
    let queue = ArrayBlockingQueue::new(16).unwrap();
    // What a thread allocates for itself when it first uses a queue is not the queue's.
    queue.put(0_u64).unwrap();
    assert_eq!(queue.take(), Ok(0));

    // Other threads of the test harness may allocate: a round that nobody disturbed counts.
    let fewest = (0..50).map(|_| allocations_of_a_round(&queue)).min();
    assert_eq!(fewest, Some(0));
}

fn allocations_of_a_round(queue: &ArrayBlockingQueue<u64>) -> usize {
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    for item in 0..10_000 {
        assert!(queue.offer(item).is_ok());
        assert!(queue.put(item).is_ok());
        assert_eq!(queue.poll(), Some(item));
        assert_eq!(queue.take(), Ok(item));
    }
    ALLOCATIONS.load(Ordering::SeqCst) - before
}
