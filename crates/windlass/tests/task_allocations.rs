//! What a task costs in allocations: none if it is small or its memory was used before, one if it is
//! large; with a handle a share of one, or one.

#![expect(unsafe_code, reason = "an allocator that counts is an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use windlass::task::Task;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, with a count for each thread.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no count any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

/// How often this thread allocates in `f`; what `f` returns is dropped afterwards.
fn allocations<R>(f: impl FnOnce() -> R) -> usize {
    // The thread's block of task ids and its record are made at the first use.
    Task::with_handle(|| ()).0.run();
    let before = ALLOCATIONS.get();
    let result = black_box(f());
    let after = ALLOCATIONS.get();
    drop(result);
    after - before
}

#[test]
fn the_count_counts() {
    assert_eq!(allocations(|| Box::new(1)), 1);
    assert_eq!(allocations(|| 1), 0);
}

#[test]
fn a_closure_of_up_to_three_words_is_kept_without_an_allocation() {
    assert_eq!(allocations(|| Task::new(|| ())), 0);
    let words = [1_usize; 3];
    let small = move || assert_eq!(black_box(words), [1; 3]);
    assert_eq!(size_of_val(&small), 24);
    assert_eq!(allocations(|| Task::new(small).run()), 0);
}

fn capturing<const BYTES: usize>() -> impl FnOnce() + Copy + Send + 'static {
    let bytes = [1_u8; BYTES];
    move || assert_eq!(black_box(bytes)[BYTES - 1], 1)
}

/// In one test, since threads pass the memory of closures on to each other.
// Under sanitizers it is not used again.
#[cfg(not(windlass_plain_memory))]
#[test]
fn a_larger_closure_takes_one_allocation_whose_memory_is_used_again() {
    assert_eq!(allocations(|| Task::new(capturing::<64>())), 1);
    assert_eq!(allocations(|| Task::new(capturing::<64>()).run()), 0);
    assert_eq!(allocations(|| Task::new(capturing::<88>())), 0);

    // It travels in magazines of 64: two of them fill up in the thread that runs the tasks.
    let tasks: Vec<Task> = (0..130).map(|_| Task::new(capturing::<64>())).collect();
    let runner = std::thread::spawn(|| tasks.into_iter().for_each(Task::run));
    runner.join().unwrap();
    let mut again = Vec::with_capacity(128);
    let make = || again.extend((0..128).map(|_| Task::new(capturing::<64>())));
    assert_eq!(allocations(make), 0);
}

#[test]
fn a_very_large_closure_takes_exactly_one_allocation() {
    assert_eq!(allocations(|| Task::new(capturing::<89>())), 1);
    assert_eq!(allocations(|| Task::new(capturing::<1_000>()).run()), 1);
}

#[test]
fn a_closure_of_no_size_or_of_great_alignment_takes_no_more_than_one() {
    #[repr(align(64))]
    #[derive(Clone, Copy)]
    struct Aligned(u8);

    assert_eq!(allocations(|| Task::new(|| ()).run()), 0);
    let aligned = Aligned(1);
    let over_aligned = move || {
        let aligned = black_box(&aligned);
        assert_eq!(aligned.0, 1);
    };
    assert_eq!(allocations(|| Task::new(over_aligned).run()), 1);
}

// Under sanitizers each has memory of its own.
#[cfg(not(windlass_plain_memory))]
#[test]
fn small_tasks_with_handles_share_allocations() {
    let mut kept = Vec::with_capacity(210);
    let submit = || kept.extend((0..210).map(|number| Task::with_handle(move || number)));
    assert_eq!(allocations(submit), 10, "21 for each block");
}

#[test]
fn a_task_with_a_handle_takes_no_more_than_one_allocation() {
    assert!(allocations(|| Task::with_handle(|| 7)) <= 1);
    let bytes = [1_u8; 64];
    assert_eq!(allocations(|| Task::with_handle(move || bytes)), 1);
}

#[test]
fn running_a_task_and_getting_its_value_takes_none() {
    let (task, mut handle) = Task::with_handle(|| 7);
    let used = allocations(|| {
        task.run();
        handle.get().ok()
    });
    assert_eq!(used, 0);
}

#[test]
fn a_control_or_a_shared_handle_takes_none() {
    let (task, handle) = Task::with_handle(|| 7);
    let used = allocations(|| (handle.control(), handle.share().clone()));
    assert_eq!(used, 0);
    drop(task);
}
