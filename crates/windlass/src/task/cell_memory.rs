//! The memory of cells, cut from small blocks.
//!
//! Handles are kept while others are submitted, so most cells are fresh memory, and in a process of several
//! threads the allocator takes a lock for each. A thread that creates cells gets a block of about a
//! kilobyte instead and cuts them from it. Cells are freed by any thread: a block counts those that are
//! left, and the thread that frees the last one frees the block. Nothing in a block is used twice, so a cell
//! that outlives its neighbours keeps their memory, a kilobyte at most.
//!
//! Cells are mostly freed in the order in which they were created, so a thread adds up those that it frees
//! in one block, and subtracts them from the count of the block when it comes to another block. So the
//! last block that a thread freed a cell in stays until then, or until the thread ends.
//!
//! Each cell has a word before it with the address of its block: no more than most allocators add to an
//! allocation.
//!
//! The invariant: `unfreed` of a block is the number of its slots that somebody owns: that hold a cell, or
//! held one, or have not been cut yet.
//! The former are owned by whoever has the cell, or by the thread that has freed it and not subtracted it
//! yet, the latter by the thread that cuts.

#![expect(unsafe_code, reason = "several cells share one allocation")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};

use crate::sync::atomic::{AtomicUsize, Ordering, fence};

/// Allocates memory for a cell of type `C`.
#[inline]
pub(super) fn allocate<C>() -> NonNull<C> {
    let class = const { Class::of(Layout::new::<C>()) };
    match class {
        Some(class) => cutting::cut(class).cast(),
        None => allocate_alone(Layout::new::<C>()).cast(),
    }
}

/// Drops a cell and frees its memory, also if the drop panics.
///
/// # Safety
///
/// The cell is in memory of [`allocate`], for its own type, and is not used any more.
#[inline]
pub(super) unsafe fn drop_and_free<C: ?Sized>(cell: NonNull<C>) {
    struct Free {
        cell: NonNull<u8>,
        layout: Layout,
    }
    impl Drop for Free {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: by the contract of `drop_and_free`, and the cell has been dropped.
            unsafe { free(self.cell, self.layout) };
        }
    }
    // SAFETY: the cell is there until it is dropped below.
    let layout = Layout::for_value(unsafe { cell.as_ref() });
    let _free = Free {
        cell: cell.cast(),
        layout,
    };
    // SAFETY: by the contract of this function.
    unsafe { ptr::drop_in_place(cell.as_ptr()) };
}

/// # Safety
///
/// The address is one that [`allocate`] returned for a type of this layout, and is not used any more.
#[inline]
unsafe fn free(cell: NonNull<u8>, layout: Layout) {
    match Class::of(layout) {
        // SAFETY: cells of this class are cut from blocks.
        Some(class) => unsafe { cutting::free(cell, class) },
        // SAFETY: others are allocations of their own.
        None => unsafe { dealloc(cell.as_ptr(), layout) },
    }
}

fn allocate_alone(layout: Layout) -> NonNull<u8> {
    // SAFETY: a cell has a state word, so its size is not zero.
    let cell = unsafe { alloc(layout) };
    NonNull::new(cell).unwrap_or_else(|| handle_alloc_error(layout))
}

const WORD: usize = size_of::<usize>();

/// The bytes of a block, its count included, that an allocator can serve from 1,024 with a word of its own.
const BLOCK: usize = 1_024 - WORD;

/// A size of cells that are cut from blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class(usize);

impl Class {
    /// The classes: cells of 5 to 11 words.
    const COUNT: usize = 7;

    /// Returns the smallest class for such cells; `None` for those that are larger, or aligned to more than a
    /// word.
    #[inline]
    const fn of(layout: Layout) -> Option<Self> {
        let words = layout.size().div_ceil(WORD);
        let class = words.saturating_sub(5);
        if layout.align() <= WORD && class < Self::COUNT {
            Some(Self(class))
        } else {
            None
        }
    }

    /// Returns the bytes of a slot: a cell, and the word before it.
    #[inline]
    const fn slot(self) -> usize {
        (6 + self.0) * WORD
    }

    /// Returns the slots in a block.
    #[inline]
    const fn slots(self) -> usize {
        (BLOCK - WORD) / self.slot()
    }

    /// Returns the layout of a block.
    const fn block(self) -> Layout {
        match Layout::from_size_align(WORD + self.slots() * self.slot(), WORD) {
            Ok(layout) => layout,
            Err(_) => panic!("a block has a kilobyte"),
        }
    }
}

/// What a block begins with: how many of its slots are not free.
#[derive(Debug)]
struct Unfreed(AtomicUsize);

impl Unfreed {
    /// Gives this many slots back; returns whether they were the last, so that the caller owns the block.
    #[inline]
    fn release(&self, slots: usize) -> bool {
        if self.0.fetch_sub(slots, Ordering::Release) != slots {
            return false;
        }
        // What other threads did to their cells comes before the end of the block.
        fence(Ordering::Acquire);
        true
    }
}

#[cfg(not(any(loom, shuttle, windlass_plain_memory)))]
mod cutting {
    use std::cell::Cell;
    use std::ptr::{self, NonNull, null_mut};

    use super::{AtomicUsize, Class, Unfreed, WORD, allocate_alone, dealloc};
    use crate::sync::const_thread_local;

    /// The part of a block that has not been cut yet.
    struct Rest {
        block: Cell<*mut u8>,
        /// The next slot, and the end of the last one; equal if there is none.
        next: Cell<*mut u8>,
        end: Cell<*mut u8>,
    }

    /// Slots of one block that this thread has freed, and not given back yet.
    struct Freed {
        block: Cell<*mut u8>,
        slots: Cell<usize>,
    }

    /// What a thread has of blocks, for each class.
    struct Blocks([(Rest, Freed); Class::COUNT]);

    // The blocks of this thread.
    const_thread_local! {
        static BLOCKS: Blocks = Blocks([const { (Rest::none(), Freed::none()) }; Class::COUNT]);
    }

    impl Rest {
        const fn none() -> Self {
            Self {
                block: Cell::new(null_mut()),
                next: Cell::new(null_mut()),
                end: Cell::new(null_mut()),
            }
        }

        /// Allocates a block.
        #[cold]
        #[inline(never)]
        fn new(class: Class) -> Self {
            let block = allocate_alone(class.block()).as_ptr();
            // `free` finds the block by its address.
            let _ = block.expose_provenance();
            let count = Unfreed(AtomicUsize::new(class.slots()));
            // SAFETY: a block begins with its count, and nobody else has it yet.
            unsafe { block.cast::<Unfreed>().write(count) };
            let next = block.wrapping_add(WORD);
            Self {
                block: Cell::new(block),
                next: Cell::new(next),
                end: Cell::new(next.wrapping_add(class.slots() * class.slot())),
            }
        }

        /// Cuts the next slot, if there is one; returns the place of its cell.
        #[inline]
        fn cut(&self, class: Class) -> Option<NonNull<u8>> {
            let slot = self.next.get();
            if slot == self.end.get() {
                return None;
            }
            self.next.set(slot.wrapping_add(class.slot()));
            // SAFETY: the slot is within the block, begins at a word, and nobody else has it.
            unsafe { slot.cast::<*mut u8>().write(self.block.get()) };
            NonNull::new(slot.wrapping_add(WORD))
        }

        /// Gives back what has not been cut.
        fn release(&self, class: Class) {
            let left = self.end.get().addr() - self.next.get().addr();
            self.next.set(self.end.get());
            if left > 0 {
                // SAFETY: slots are left, so the block is there, and they belong to this thread.
                unsafe { release(self.block.get(), class, left / class.slot()) };
            }
        }
    }

    impl Freed {
        const fn none() -> Self {
            Self {
                block: Cell::new(null_mut()),
                slots: Cell::new(0),
            }
        }

        /// Adds a slot; gives back those of the block before, if it is in another block.
        ///
        /// # Safety
        ///
        /// It is a slot of a block of this class, and belongs to the caller, who does not use it any more.
        #[inline]
        unsafe fn add(&self, block: *mut u8, class: Class) {
            if self.block.get() != block {
                let before = (self.block.replace(block), self.slots.replace(1));
                // SAFETY: the slots were added before.
                unsafe { give_back(before, class) };
                return;
            }
            let slots = self.slots.get() + 1;
            self.slots.set(slots);
            if slots == class.slots() {
                self.block.set(null_mut());
                // SAFETY: each of its slots has been added, so nobody else has the block.
                unsafe { free_block(block, class) };
            }
        }

        /// Gives back the slots that were added.
        fn release(&self, class: Class) {
            let before = (self.block.replace(null_mut()), self.slots.get());
            // SAFETY: the slots were added before.
            unsafe { give_back(before, class) };
        }
    }

    /// # Safety
    ///
    /// The block is null, or so many of its slots belong to the caller, who does not use them any more.
    unsafe fn give_back((block, slots): (*mut u8, usize), class: Class) {
        if !block.is_null() {
            // SAFETY: by the contract of this function.
            unsafe { release(block, class, slots) };
        }
    }

    impl Drop for Blocks {
        fn drop(&mut self) {
            for (class, (rest, freed)) in self.0.iter().enumerate() {
                rest.release(Class(class));
                freed.release(Class(class));
            }
        }
    }

    /// Returns the place of a new cell.
    #[inline]
    pub(super) fn cut(class: Class) -> NonNull<u8> {
        let cell = BLOCKS.try_with(|blocks| blocks.0[class.0].0.cut(class));
        match cell {
            Ok(Some(cell)) => cell,
            _ => cut_new(class),
        }
    }

    /// Returns the place of a new cell, in a new block.
    #[cold]
    #[inline(never)]
    fn cut_new(class: Class) -> NonNull<u8> {
        let new = Rest::new(class);
        let cell = new.cut(class).expect("a block has slots");
        let kept = BLOCKS.try_with(|blocks| {
            let rest = &blocks.0[class.0].0;
            // A user's own allocator may have created cells meanwhile.
            rest.release(class);
            rest.block.set(new.block.get());
            rest.next.set(new.next.get());
            rest.end.set(new.end.get());
        });
        if kept.is_err() {
            // The locals of this thread have been dropped.
            new.release(class);
        }
        cell
    }

    /// # Safety
    ///
    /// [`cut`] returned the address for this class, and it is not used any more.
    #[inline]
    pub(super) unsafe fn free(cell: NonNull<u8>, class: Class) {
        // The reference that led here may allow access to the cell only.
        let slot = ptr::with_exposed_provenance::<*mut u8>(cell.addr().get() - WORD);
        // SAFETY: the word before a cell has the address of its block.
        let block = unsafe { slot.read() };
        let added = BLOCKS.try_with(|blocks| {
            // SAFETY: the caller has the slot.
            unsafe { blocks.0[class.0].1.add(block, class) };
        });
        if added.is_err() {
            // The locals of this thread have been dropped. SAFETY: the caller has the slot.
            unsafe { release(block, class, 1) };
        }
    }

    /// Gives slots back, and frees the block if they were the last.
    ///
    /// # Safety
    ///
    /// It is a block of this class, and so many of its slots belong to the caller, who does not use them any more.
    #[inline]
    unsafe fn release(block: *mut u8, class: Class, slots: usize) {
        // SAFETY: a block begins with its count, and is there as long as slots are in use.
        let count = unsafe { &*block.cast::<Unfreed>() };
        if count.release(slots) {
            // SAFETY: no slot is in use any more, so nobody else has the block.
            unsafe { free_block(block, class) };
        }
    }

    /// # Safety
    ///
    /// It is a block of this class, and nobody uses it any more.
    #[cold]
    #[inline(never)]
    unsafe fn free_block(block: *mut u8, class: Class) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(block, class.block()) };
    }
}

/// In models and under sanitizers each cell is an allocation of its own, so that misuse shows.
#[cfg(any(loom, shuttle, windlass_plain_memory))]
mod cutting {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    use super::{Class, WORD, allocate_alone, dealloc};

    fn layout(class: Class) -> Layout {
        Layout::from_size_align(class.slot(), WORD).expect("a slot has some words")
    }

    pub(super) fn cut(class: Class) -> NonNull<u8> {
        allocate_alone(layout(class))
    }

    pub(super) unsafe fn free(cell: NonNull<u8>, class: Class) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(cell.as_ptr(), layout(class)) };
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::alloc::Layout;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::ptr::NonNull;
    use std::sync::Arc;
    use std::thread;

    use super::{Class, allocate, drop_and_free};

    /// A value in memory of its own, as a cell is.
    struct Owned<V>(NonNull<V>);

    // SAFETY: it owns the value.
    unsafe impl<V: Send> Send for Owned<V> {}

    impl<V> Owned<V> {
        fn new(value: V) -> Self {
            let place = allocate::<V>();
            // SAFETY: it is memory for such a value.
            unsafe { place.as_ptr().write(value) };
            Self(place)
        }

        fn get(&self) -> &V {
            // SAFETY: the value is there until the drop.
            unsafe { self.0.as_ref() }
        }
    }

    impl<V> Drop for Owned<V> {
        fn drop(&mut self) {
            // SAFETY: it is in memory of `allocate`, and is not used any more.
            unsafe { drop_and_free(self.0) };
        }
    }

    #[test]
    fn a_class_has_room_for_its_cells_and_blocks_have_a_kilobyte() {
        let word = size_of::<usize>();
        for size in 1..=11 * word {
            let layout = Layout::from_size_align(size, 1).unwrap();
            let class = Class::of(layout).unwrap();
            assert!(class.slot() >= size + word, "{size}");
            let block = class.block().size();
            assert!(block <= 1_024 - word && block + class.slot() > 1_024 - word);
        }
        let large = Layout::from_size_align(11 * word + 1, 1).unwrap();
        assert_eq!(Class::of(large), None);
        let aligned = Layout::from_size_align(8, 2 * word).unwrap();
        assert_eq!(Class::of(aligned), None);
    }

    fn keeps_its_values<const WORDS: usize>() {
        let values: Vec<_> = (0..100).map(|at| Owned::new([at; WORDS])).collect();
        // Freed in another order than created, and by another thread.
        let (even, odd): (Vec<_>, Vec<_>) = values.into_iter().partition(|v| v.get()[0] % 2 == 0);
        let freeing = thread::spawn(move || drop(even));
        freeing.join().expect("no panic");
        let more: Vec<_> = (0..100).map(|at| Owned::new([1_000 + at; WORDS])).collect();
        assert!(odd.iter().all(|v| v.get().iter().all(|n| *n == v.get()[0])));
        assert!(odd.iter().map(|v| v.get()[0]).eq((1..100).step_by(2)));
        assert!(more.iter().map(|v| v.get()[0]).eq(1_000..1_100));
    }

    #[test]
    fn cells_of_every_class_keep_their_values_while_others_are_freed() {
        keeps_its_values::<1>();
        keeps_its_values::<5>();
        keeps_its_values::<6>();
        keeps_its_values::<9>();
        keeps_its_values::<11>();
        keeps_its_values::<12>();
    }

    #[test]
    fn cells_outlive_the_thread_that_created_them() {
        let create = || (0..30).map(Owned::new).collect::<Vec<_>>();
        let values = thread::spawn(create).join().unwrap();
        assert!(values.iter().map(|v| *v.get()).eq(0..30));
    }

    #[test]
    fn a_thread_whose_locals_are_being_dropped_gets_cells_too() {
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                assert_eq!(*Owned::new(7).get(), 7);
            }
        }
        std::thread_local! { static LAST: Last = const { Last }; }
        let ending = thread::spawn(|| {
            LAST.with(|_| ());
            drop(Owned::new(1));
        });
        ending.join().unwrap();
    }

    #[test]
    fn a_drop_that_panics_frees_its_memory() {
        struct Panics {
            _held: Arc<()>,
        }
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let witness = Arc::new(());
        let value = Owned::new(Panics {
            _held: Arc::clone(&witness),
        });
        assert!(catch_unwind(AssertUnwindSafe(|| drop(value))).is_err());
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}

#[cfg(test)]
mod models {
    use std::sync::Arc;

    use super::{AtomicUsize, Unfreed};
    use crate::sync::{UnsafeCell, model, thread};

    /// A block with a cell for each of three threads.
    struct Block {
        count: Unfreed,
        cells: [UnsafeCell<u32>; 3],
    }

    // SAFETY: each thread uses its cell until it releases it, and the last one then has them all.
    unsafe impl Sync for Block {}

    impl Block {
        /// Uses a cell and frees it; returns whether the block is to be freed.
        fn use_and_free(&self, cell: usize) -> bool {
            // SAFETY: the cell belongs to this thread.
            self.cells[cell].with_mut(|cell| unsafe { *cell += 1 });
            let is_last = self.count.release(1);
            if is_last {
                for cell in &self.cells {
                    // SAFETY: all cells have been released.
                    cell.with_mut(|cell| unsafe { *cell += 1 });
                }
            }
            is_last
        }
    }

    #[test]
    fn the_last_cell_frees_the_block_after_all_others_were_used() {
        model(|| {
            let block = Arc::new(Block {
                count: Unfreed(AtomicUsize::new(3)),
                cells: [0, 0, 0].map(UnsafeCell::new),
            });
            let others = [1, 2].map(|cell| {
                let block = Arc::clone(&block);
                thread::Builder::new()
                    .spawn(move || block.use_and_free(cell))
                    .unwrap()
            });
            let mut freed = u32::from(block.use_and_free(0));
            for other in others {
                freed += u32::from(other.join().unwrap());
            }
            assert_eq!(freed, 1);
        });
    }
}
