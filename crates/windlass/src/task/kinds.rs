//! The kinds of [`Task`](super::Task): a closure, inline or boxed, or a reference to a cell.

use std::any::Any;

use super::body::Body;
use super::cell::Cell;
use super::cell_ref::Ref;
use super::erased::{Erase, Erased, ErasedWord};
use super::error::Cancellation;
use super::header::Header;
use super::recycled_box::RecycledBox;
use super::recycler::Slot;
use super::runnable::{RunOutcome, Runnable};
use super::stamp::Stamp;
use super::timer::{MaybeTimer, Place, TimerView};
use super::wanted::Wanted;
use crate::unwind::{discard, ignore_panic};

/// Erases a body without a header: inline, or in a recycled block, or in a box.
#[inline]
pub(super) fn erase_body<B: Body<()> + 'static>(body: B) -> Erased {
    Erased::new(Inline(body)).unwrap_or_else(|Inline(body)| match RecycledBox::new(body) {
        Ok(recycled) => erase_small(Recycled(recycled)),
        Err(body) => erase_small(Boxed(Box::new(body))),
    })
}

/// Erases a body with a header.
pub(super) fn erase_headed<B: Body<()> + 'static>(header: Header, body: B) -> Erased {
    erase_small(BoxedWithHeader(Box::new(WithHeader { header, body })))
}

/// Erases the runnable half of a cell that has one.
#[inline]
pub(super) fn erase_half<T, B, W>(cell: Ref<Cell<T, B, W>>) -> Erased
where
    T: Send + 'static,
    B: Body<T> + 'static,
    W: MaybeTimer,
{
    erase_small(Half::<_, _, _, true>(cell))
}

/// Erases the runnable half of a cell, in one word.
#[inline]
pub(super) fn erase_half_word<T, B, W>(cell: Ref<Cell<T, B, W>>) -> ErasedWord
where
    T: Send + 'static,
    B: Body<T> + 'static,
    W: MaybeTimer,
{
    match ErasedWord::new(erase_half(cell)) {
        Ok(word) => word,
        Err(_) => unreachable!("a reference to a cell takes one word"),
    }
}

/// Erases the runnable half of a cell whose header has no attributes.
#[inline]
pub(super) fn erase_plain_half<T, B>(cell: Ref<Cell<T, B, ()>>) -> Erased
where
    T: Send + 'static,
    B: Body<T> + 'static,
{
    erase_small(Half::<_, _, _, false>(cell))
}

/// Erases a task that its object may run again.
pub(super) fn erase_shared(task: impl Runnable + 'static) -> Erased {
    erase_small(Shared(task))
}

/// Erases a half of a task that others can start too; its drop decides what becomes of the task.
pub(super) fn erase_one_of_many(half: impl Runnable + 'static) -> Erased {
    erase_small(OneOfMany(half))
}

/// Erases a task together with a guard that is dropped when the task has ended, or is dropped unrun.
pub(super) fn erase_guarded<G: Send + 'static>(task: Erased, guard: G) -> Erased {
    if task.is_detached() {
        erase_small(Guarded::<G, true>(Box::new(WithGuard { task, guard })))
    } else {
        erase_small(Guarded::<G, false>(Box::new(WithGuard { task, guard })))
    }
}

/// Adds a stamp to a value: both are kept in a recycled block, so that no memory is allocated for it.
pub(super) fn erase_stamped(stamp: Stamp, value: Erased) -> Erased {
    const { assert!(size_of::<WithStamp>() <= size_of::<Slot>()) };
    let is_detached = value.is_detached();
    match RecycledBox::new(WithStamp { stamp, value }) {
        Ok(recycled) if is_detached => erase_small(Stamped::<true>(recycled)),
        Ok(recycled) => erase_small(Stamped::<false>(recycled)),
        Err(unstamped) => unstamped.value,
    }
}

/// Erases a box or a counted reference, which takes two words at most.
fn erase_small<R: Erase>(value: R) -> Erased {
    match Erased::new(value) {
        Ok(erased) => erased,
        Err(_) => unreachable!("two words fit into three"),
    }
}

/// A body that is small enough for the task itself.
struct Inline<B>(B);

impl<B: Body<()> + 'static> Erase for Inline<B> {
    const MAY_HAVE_HEADER: bool = false;
    const MAY_HAVE_NAME: bool = false;

    fn run(self) -> RunOutcome {
        run_body(self.0)
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        None
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        None
    }
    fn has_input(place: &dyn Any) -> bool {
        B::has_input(place)
    }
    fn leads_to(&self, wanted: Wanted) -> bool {
        self.0.leads_to(wanted)
    }
    fn was_taken(&self, reason: Cancellation) {
        self.0.was_taken(reason);
    }
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        self.0.take_input(place).map_err(Self)
    }
}

/// A body in a recycled block.
struct Recycled<B>(RecycledBox<B>);

impl<B: Body<()> + 'static> Erase for Recycled<B> {
    const MAY_HAVE_HEADER: bool = false;
    const MAY_HAVE_NAME: bool = false;

    fn run(self) -> RunOutcome {
        run_body(self.0.into_inner())
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        None
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        None
    }
    fn has_input(place: &dyn Any) -> bool {
        B::has_input(place)
    }
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        if !B::has_input(place) {
            return Err(self);
        }
        let taken = self.0.into_inner().take_input(place);
        debug_assert!(taken.is_ok(), "the type of the input was checked");
        Ok(())
    }
}

/// A body that is too large for a block.
struct Boxed<B>(Box<B>);

impl<B: Body<()> + 'static> Erase for Boxed<B> {
    const MAY_HAVE_HEADER: bool = false;
    const MAY_HAVE_NAME: bool = false;

    fn run(self) -> RunOutcome {
        run_body(*self.0)
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        None
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        None
    }
    fn has_input(place: &dyn Any) -> bool {
        B::has_input(place)
    }
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        (*self.0)
            .take_input(place)
            .map_err(|body| Self(Box::new(body)))
    }
}

/// A body with a header.
struct WithHeader<B> {
    header: Header,
    body: B,
}

struct BoxedWithHeader<B>(Box<WithHeader<B>>);

impl<B: Body<()> + 'static> Erase for BoxedWithHeader<B> {
    fn run(self) -> RunOutcome {
        run_body(self.0.body)
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        Some(&self.0.header)
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        None
    }
    fn leads_to(&self, wanted: Wanted) -> bool {
        self.0.body.leads_to(wanted)
    }
    fn was_taken(&self, reason: Cancellation) {
        self.0.body.was_taken(reason);
    }
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let WithHeader { header, body } = *self.0;
        let taken = body.take_input(place);
        taken.map_err(|body| Self(Box::new(WithHeader { header, body })))
    }
}

/// A task of any other kind, with a stamp.
struct Stamped<const DETACHED: bool>(RecycledBox<WithStamp>);

struct WithStamp {
    stamp: Stamp,
    value: Erased,
}

impl<const DETACHED: bool> Erase for Stamped<DETACHED> {
    const IS_DETACHED: bool = DETACHED;

    fn run(self) -> RunOutcome {
        self.0.into_inner().value.run()
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        self.0.get().value.header()
    }
    fn stamp(&self) -> Option<&Stamp> {
        Some(&self.0.get().stamp)
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        self.0.get().value.cell()
    }
    fn leads_to(&self, wanted: Wanted) -> bool {
        self.0.get().value.leads_to(wanted)
    }
    fn was_taken(&self, reason: Cancellation) {
        self.0.get().value.was_taken(reason);
    }
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let WithStamp { stamp, value } = self.0.into_inner();
        let value = match value.take_input(place) {
            Ok(()) => return Ok(()),
            Err(value) => value,
        };
        match RecycledBox::new(WithStamp { stamp, value }) {
            Ok(stamped) => Err(Self(stamped)),
            Err(_) => unreachable!("it has been in a block"),
        }
    }
}

/// The half that runs of a task with a handle.
struct Half<T, B, W, const MAY_HAVE_NAME: bool>(Ref<Cell<T, B, W>>);

impl<T, B, W, const MAY_HAVE_NAME: bool> Erase for Half<T, B, W, MAY_HAVE_NAME>
where
    T: Send + 'static,
    B: Body<T> + 'static,
    W: MaybeTimer,
{
    const MAY_HAVE_NAME: bool = MAY_HAVE_NAME;

    fn run(self) -> RunOutcome {
        self.0.run_and_release()
    }
    fn abandon(self) {
        ignore_panic(|| self.0.abandon());
    }
    fn header(&self) -> Option<&Header> {
        Some(self.0.header())
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        Some(&*self.0)
    }
    fn place(&self) -> Option<&Place> {
        self.0.place()
    }
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        if self.0.take_input(place) {
            Ok(())
        } else {
            Err(self)
        }
    }
}

/// A half of a task that others can start too.
struct OneOfMany<R>(R);

impl<R: Runnable + 'static> Erase for OneOfMany<R> {
    fn run(self) -> RunOutcome {
        self.0.run()
    }
    fn abandon(self) {
        drop(self);
    }
    fn header(&self) -> Option<&Header> {
        Some(self.0.header())
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        Some(&self.0)
    }
    fn take_input(self, _: &mut dyn Any) -> Result<(), Self> {
        Err(self)
    }
}

/// A task that its object may run again.
struct Shared<R>(R);

impl<R: Runnable + 'static> Erase for Shared<R> {
    fn run(self) -> RunOutcome {
        self.0.run()
    }
    fn abandon(self) {
        ignore_panic(|| self.0.abandon());
    }
    fn header(&self) -> Option<&Header> {
        Some(self.0.header())
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        Some(&self.0)
    }
    fn place(&self) -> Option<&Place> {
        self.0.timer().map(TimerView::place)
    }
    fn take_input(self, _: &mut dyn Any) -> Result<(), Self> {
        Err(self)
    }
}

/// A task and a guard, which is dropped after it.
struct WithGuard<G> {
    task: Erased,
    guard: G,
}

struct Guarded<G, const DETACHED: bool>(Box<WithGuard<G>>);

impl<G: Send + 'static, const DETACHED: bool> Erase for Guarded<G, DETACHED> {
    const IS_DETACHED: bool = DETACHED;

    fn run(self) -> RunOutcome {
        let WithGuard { task, guard } = *self.0;
        let _guard = guard;
        task.run()
    }
    fn abandon(self) {
        discard(self);
    }
    fn header(&self) -> Option<&Header> {
        self.0.task.header()
    }
    fn stamp(&self) -> Option<&Stamp> {
        self.0.task.stamp()
    }
    fn cell(&self) -> Option<&dyn Runnable> {
        self.0.task.cell()
    }
    fn leads_to(&self, wanted: Wanted) -> bool {
        self.0.task.leads_to(wanted)
    }
    fn was_taken(&self, reason: Cancellation) {
        self.0.task.was_taken(reason);
    }
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let WithGuard { task, guard } = *self.0;
        task.take_input(place)
            .map_err(|task| Self(Box::new(WithGuard { task, guard })))
    }
}

/// Runs the body of a task without a handle, whose panic unwinds.
#[inline]
fn run_body<B: Body<()>>(body: B) -> RunOutcome {
    match body.run_once() {
        Ok(()) => RunOutcome::Completed,
        Err(failure) => RunOutcome::Failed(failure),
    }
}
