//! A runnable value of any type, in three words of memory.
//!
//! A `Box<dyn …>` would allocate for every task; a queue slot that holds the closure itself needs no
//! allocation. Values that are larger than three words are boxed first.
//!
//! Invariant: `data` holds an initialised value of the type that `vtable` was created for, until
//! [`Erased::run`] or the drop takes it out; each happens once, since both own the `Erased`.

#![expect(
    unsafe_code,
    reason = "a value of a type that the compiler does not know is kept inline"
)]

use std::any::Any;
use std::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use std::ptr::{self, NonNull};

use super::error::Cancellation;
use super::header::Header;
use super::id::TaskId;
use super::runnable::{RunOutcome, Runnable};
use super::stamp::Stamp;
use super::timer::Place;
use super::wanted::Wanted;

/// A value that can be stored in an [`Erased`].
pub(super) trait Erase: Send + 'static {
    /// Whether it is a task with a cell and without a handle.
    const IS_DETACHED: bool = false;

    /// Runs it.
    fn run(self) -> RunOutcome;

    /// Drops it unrun.
    fn abandon(self);

    /// Whether values of this type can have a header.
    const MAY_HAVE_HEADER: bool = true;

    /// Whether values of this type can have a name.
    const MAY_HAVE_NAME: bool = true;

    /// Returns its header, if it has one.
    fn header(&self) -> Option<&Header>;

    /// Returns the stamp of when it was queued, if it has one.
    fn stamp(&self) -> Option<&Stamp> {
        None
    }

    /// Returns its cell, if it is a task with a handle.
    fn cell(&self) -> Option<&dyn Runnable>;

    /// Returns the place of its timer, if it has one.
    fn place(&self) -> Option<&Place> {
        None
    }

    /// Returns whether its run runs what is wanted, or leads to a task that does.
    fn leads_to(&self, wanted: Wanted) -> bool {
        let _ = wanted;
        false
    }

    /// Called when a caller has taken it out of its executor, and owns it for any time; what has a cell is
    /// told by that.
    fn was_taken(&self, reason: Cancellation) {
        let _ = reason;
    }

    /// Drops it unrun and moves its input into `place`, an `Option<I>`, if it has an input of type `I`
    /// and has not started; returns it otherwise.
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self>
    where
        Self: Sized;

    /// Returns whether such a value has an input of type `I`, where `place` is an `Option<I>`, as long as
    /// it has not started.
    fn has_input(place: &dyn Any) -> bool
    where
        Self: Sized,
    {
        let _ = place;
        false
    }
}

type Words = [MaybeUninit<usize>; 3];

struct VTable {
    run: unsafe fn(*mut Words) -> RunOutcome,
    abandon: unsafe fn(*mut Words),
    header: for<'a> unsafe fn(&'a Words) -> Option<&'a Header>,
    stamp: for<'a> unsafe fn(&'a Words) -> Option<&'a Stamp>,
    cell: unsafe fn(*const Words) -> Option<NonNull<dyn Runnable>>,
    take_input: unsafe fn(*mut Words, &mut dyn Any) -> bool,
    place: unsafe fn(*const Words) -> Option<NonNull<Place>>,
    has_input: fn(&dyn Any) -> bool,
    leads_to: unsafe fn(*const Words, Wanted) -> bool,
    was_taken: unsafe fn(*const Words, Cancellation),
    /// Whether the value takes one word.
    is_one_word: bool,
    may_have_header: bool,
    may_have_name: bool,
    is_detached: bool,
}

/// The value and its virtual functions.
pub(super) struct Erased {
    vtable: &'static VTable,
    data: Words,
}

// SAFETY: only values that are `Send` are kept (`Erase: Send`).
unsafe impl Send for Erased {}
// SAFETY: through a shared reference only headers and cells are reached, which are `Sync`.
unsafe impl Sync for Erased {}

impl Erased {
    /// Erases the type of the value; returns it if it does not fit.
    #[inline]
    pub(super) fn new<R: Erase>(value: R) -> Result<Self, R> {
        let fits = const {
            size_of::<R>() <= size_of::<Words>() && align_of::<R>() <= align_of::<Words>()
        };
        if !fits {
            return Err(value);
        }
        let mut data: Words = [MaybeUninit::uninit(); 3];
        // SAFETY: `R` fits into the words, by size and by alignment.
        unsafe { data.as_mut_ptr().cast::<R>().write(value) };
        Ok(Self {
            vtable: Table::<R>::TABLE,
            data,
        })
    }

    #[inline]
    pub(super) fn run(self) -> RunOutcome {
        let mut this = ManuallyDrop::new(self);
        let run = this.vtable.run;
        // SAFETY: the value is there, and `ManuallyDrop` keeps it from being taken again.
        unsafe { run(&raw mut this.data) }
    }

    /// Runs the value in `slot` in place, and empties the slot, even if the value panics.
    ///
    /// [`Erased::run`] moves the value first. For a worker that would be a copy per task, whose
    /// loads span several recent stores, and processors stall on such loads.
    pub(super) fn run_in<S>(
        slot: &mut Option<S>,
        erased: impl Fn(&mut S) -> &mut Self,
    ) -> Option<RunOutcome> {
        /// Forgets the contents of the slot: the value has been moved out.
        struct Emptied<'a, S>(&'a mut Option<S>);
        impl<S> Drop for Emptied<'_, S> {
            fn drop(&mut self) {
                std::mem::forget(self.0.take());
            }
        }
        let slot = Emptied(slot);
        let this = erased(slot.0.as_mut()?);
        let run = this.vtable.run;
        // SAFETY: the value is there, and `Emptied` keeps it from being used again.
        Some(unsafe { run(&raw mut this.data) })
    }

    /// Drops the value unrun and moves its input into `place`; see [`Erase::take_input`].
    pub(super) fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let mut this = ManuallyDrop::new(self);
        let take_input = this.vtable.take_input;
        // SAFETY: the value is there, and `ManuallyDrop` keeps it from being used again if it is taken.
        if unsafe { take_input(&raw mut this.data, place) } {
            Ok(())
        } else {
            Err(ManuallyDrop::into_inner(this))
        }
    }

    /// Returns the function that tells whether such a value has an input; see [`Erase::has_input`].
    pub(super) const fn has_input(&self) -> fn(&dyn Any) -> bool {
        self.vtable.has_input
    }

    /// Returns whether it is a task with a cell and without a handle.
    pub(super) const fn is_detached(&self) -> bool {
        self.vtable.is_detached
    }

    #[inline]
    pub(super) fn header(&self) -> Option<&Header> {
        // Read from the table that a run reads anyway: a closure alone costs no call.
        if !self.vtable.may_have_header {
            return None;
        }
        let header = self.vtable.header;
        // SAFETY: the value is there as long as `self` is borrowed.
        unsafe { header(&self.data) }
    }

    /// Returns whether it can have a name, from the table that a run reads anyway.
    #[inline]
    pub(super) const fn may_have_name(&self) -> bool {
        self.vtable.may_have_name
    }

    pub(super) fn stamp(&self) -> Option<&Stamp> {
        let stamp = self.vtable.stamp;
        // SAFETY: the value is there as long as `self` is borrowed.
        unsafe { stamp(&self.data) }
    }

    pub(super) fn leads_to(&self, wanted: Wanted) -> bool {
        let leads_to = self.vtable.leads_to;
        // SAFETY: the value is there.
        unsafe { leads_to(&raw const self.data, wanted) }
    }

    pub(super) fn was_taken(&self, reason: Cancellation) {
        let was_taken = self.vtable.was_taken;
        // SAFETY: the value is there.
        unsafe { was_taken(&raw const self.data, reason) }
    }

    pub(super) fn cell(&self) -> Option<&dyn Runnable> {
        let cell = self.vtable.cell;
        // SAFETY: the value is there.
        let cell = unsafe { cell(&raw const self.data) };
        // SAFETY: it lives as long as the value, which is borrowed with `self`.
        cell.map(|cell| unsafe { cell.as_ref() })
    }
}

/// A value of one word and its virtual functions: an [`Erased`] without the words that it leaves unused.
pub(super) struct ErasedWord {
    vtable: &'static VTable,
    word: MaybeUninit<usize>,
}

// SAFETY: as for `Erased`.
unsafe impl Send for ErasedWord {}
// SAFETY: as for `Erased`.
unsafe impl Sync for ErasedWord {}

impl ErasedWord {
    /// Drops the words that the value leaves unused; returns the value if it takes more than one.
    #[inline]
    pub(super) fn new(erased: Erased) -> Result<Self, Erased> {
        if !erased.vtable.is_one_word {
            return Err(erased);
        }
        let erased = ManuallyDrop::new(erased);
        Ok(Self {
            vtable: erased.vtable,
            word: erased.data[0],
        })
    }

    #[inline]
    pub(super) fn into_erased(self) -> Erased {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again.
        unsafe { this.alias() }
    }

    /// Returns the same value again.
    ///
    /// # Safety
    ///
    /// Either the result or `self` is forgotten and not dropped, and while both are used, both are only
    /// read.
    #[inline]
    pub(super) unsafe fn alias(&self) -> Erased {
        let unused = MaybeUninit::uninit();
        Erased {
            vtable: self.vtable,
            data: [self.word, unused, unused],
        }
    }

    #[inline]
    pub(super) fn cell(&self) -> Option<&dyn Runnable> {
        let cell = self.vtable.cell;
        // SAFETY: the value is there, and takes no more than this word.
        let cell = unsafe { cell((&raw const self.word).cast()) };
        // SAFETY: it lives as long as the value, which is borrowed with `self`.
        cell.map(|cell| unsafe { cell.as_ref() })
    }
}

impl ErasedWord {
    /// Returns the place of its timer, if it has one.
    #[inline]
    pub(super) fn place(&self) -> Option<&Place> {
        let place = self.vtable.place;
        // SAFETY: the value is there, and takes no more than this word.
        let place = unsafe { place((&raw const self.word).cast()) };
        // SAFETY: it lives as long as the value, which is borrowed with `self`.
        place.map(|place| unsafe { place.as_ref() })
    }
}

impl Drop for ErasedWord {
    fn drop(&mut self) {
        // SAFETY: `self` is not used again.
        drop(unsafe { self.alias() });
    }
}

/// A consumer of values that are passed in registers.
pub(super) trait ErasedSink {
    type Output;

    /// Accepts the value. The implementation calls `value` where it is to be stored: until then it is
    /// only words in registers, which are leaked on a panic.
    fn accept(self, id: TaskId, value: impl FnOnce() -> Erased) -> Self::Output;
}

impl Erased {
    /// Passes the value and an id in registers to a function that is not inlined into the caller.
    ///
    /// A value that is passed in memory is stored word by word and loaded in pairs of words. Such a load
    /// cannot be forwarded from the store buffer, and the stall takes longer than the rest of a
    /// submission.
    #[inline]
    pub(super) fn pass_in_registers<S: ErasedSink>(self, id: TaskId, sink: S) -> S::Output {
        let this = ManuallyDrop::new(self);
        let [first, second, third] = this.data;
        // SAFETY: these are the words of one value, which is not used any more.
        unsafe { pass(sink, this.vtable, first, second, third, id) }
    }
}

/// # Safety
///
/// The words are those of one value, which is not used afterwards.
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "each is a register")]
unsafe fn pass<S: ErasedSink>(
    sink: S,
    vtable: &'static VTable,
    first: MaybeUninit<usize>,
    second: MaybeUninit<usize>,
    third: MaybeUninit<usize>,
    id: TaskId,
) -> S::Output {
    sink.accept(id, move || {
        let data = [first, second, third];
        Erased { vtable, data }
    })
}

impl Drop for Erased {
    fn drop(&mut self) {
        let abandon = self.vtable.abandon;
        // SAFETY: the value is there, and this is the last use of it.
        unsafe { abandon(&raw mut self.data) }
    }
}

/// The table of one type.
struct Table<R>(std::marker::PhantomData<R>);

impl<R: Erase> Table<R> {
    const TABLE: &'static VTable = &VTable {
        run: Self::run,
        abandon: Self::abandon,
        header: Self::header,
        stamp: Self::stamp,
        cell: Self::cell,
        take_input: Self::take_input,
        place: Self::place,
        has_input: R::has_input,
        is_detached: R::IS_DETACHED,
        leads_to: Self::leads_to,
        was_taken: Self::was_taken,
        is_one_word: size_of::<R>() <= size_of::<usize>(),
        may_have_header: R::MAY_HAVE_HEADER,
        may_have_name: R::MAY_HAVE_NAME,
    };

    /// # Safety
    ///
    /// `data` holds a value of type `R`, which is not used afterwards.
    unsafe fn run(data: *mut Words) -> RunOutcome {
        // SAFETY: by the contract of this function.
        let value = unsafe { ptr::read(data.cast::<R>()) };
        value.run()
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`, which is not used afterwards.
    unsafe fn abandon(data: *mut Words) {
        // SAFETY: by the contract of this function.
        let value = unsafe { ptr::read(data.cast::<R>()) };
        value.abandon();
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`.
    unsafe fn header(data: &Words) -> Option<&Header> {
        // SAFETY: by the contract of this function.
        let value = unsafe { &*data.as_ptr().cast::<R>() };
        value.header()
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`.
    unsafe fn stamp(data: &Words) -> Option<&Stamp> {
        // SAFETY: by the contract of this function.
        let value = unsafe { &*data.as_ptr().cast::<R>() };
        value.stamp()
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`.
    unsafe fn cell(data: *const Words) -> Option<NonNull<dyn Runnable>> {
        // SAFETY: by the contract of this function.
        let value = unsafe { &*data.cast::<R>() };
        value.cell().map(NonNull::from)
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`.
    unsafe fn place(data: *const Words) -> Option<NonNull<Place>> {
        // SAFETY: by the contract of this function.
        let value = unsafe { &*data.cast::<R>() };
        value.place().map(NonNull::from)
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`.
    unsafe fn leads_to(data: *const Words, wanted: Wanted) -> bool {
        // SAFETY: by the contract of this function.
        let value = unsafe { &*data.cast::<R>() };
        value.leads_to(wanted)
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`.
    unsafe fn was_taken(data: *const Words, reason: Cancellation) {
        // SAFETY: by the contract of this function.
        let value = unsafe { &*data.cast::<R>() };
        value.was_taken(reason);
    }

    /// # Safety
    ///
    /// `data` holds a value of type `R`, which is not used afterwards if this returns true.
    unsafe fn take_input(data: *mut Words, place: &mut dyn Any) -> bool {
        // SAFETY: by the contract of this function; if the value is not taken, it is written back.
        let value = unsafe { ptr::read(data.cast::<R>()) };
        match value.take_input(place) {
            Ok(()) => true,
            Err(value) => {
                // SAFETY: it was read from there.
                unsafe { ptr::write(data.cast::<R>(), value) };
                false
            }
        }
    }
}
