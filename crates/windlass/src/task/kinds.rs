//! The kinds of [`Task`](super::Task): a closure, inline or boxed, or a reference to a cell.

use std::any::Any;

use super::body::Body;
use super::cell::Cell;
use super::cell_ref::Ref;
use super::erased::{Erase, Erased};
use super::header::Header;
use super::recycled_box::RecycledBox;
use super::runnable::{RunOutcome, Runnable};
use super::timer::{MaybeTimer, Place, TimerView};
use super::transition::CancelMode;
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
    erase_small(Half(cell))
}

/// Erases a task that others may run too.
pub(super) fn erase_shared(task: impl Runnable + 'static) -> Erased {
    erase_small(Shared(task))
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
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        self.0.take_input(place).map_err(Self)
    }
}

/// A body in a recycled block.
struct Recycled<B>(RecycledBox<B>);

impl<B: Body<()> + 'static> Erase for Recycled<B> {
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
    fn take_input(self, place: &mut dyn Any) -> Result<(), Self> {
        let WithHeader { header, body } = *self.0;
        let taken = body.take_input(place);
        taken.map_err(|body| Self(Box::new(WithHeader { header, body })))
    }
}

/// The half that runs of a task with a handle.
struct Half<T, B, W>(Ref<Cell<T, B, W>>);

impl<T: Send + 'static, B: Body<T> + 'static, W: MaybeTimer> Erase for Half<T, B, W> {
    fn run(self) -> RunOutcome {
        self.0.run_and_release()
    }
    fn abandon(self) {
        abandon(&*self.0);
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

/// A task that others may run too.
struct Shared<R>(R);

impl<R: Runnable + 'static> Erase for Shared<R> {
    fn run(self) -> RunOutcome {
        self.0.run()
    }
    fn abandon(self) {
        abandon(&self.0);
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

/// Runs the body of a task without a handle, whose panic unwinds.
#[inline]
fn run_body<B: Body<()>>(body: B) -> RunOutcome {
    match body.run_once() {
        Ok(()) => RunOutcome::Completed,
        Err(failure) => RunOutcome::Failed(failure),
    }
}

/// Cancels a task that is dropped unrun. Panics of callbacks are ignored, since a drop may be part of an
/// unwind. A task that is running, by another half of the same `FutureTask`, is not cancelled.
fn abandon(task: &impl Runnable) {
    let state = task.state();
    if !state.is_running() && !state.is_done() {
        ignore_panic(|| {
            task.cancel(CancelMode::LetRun, state.drop_reason());
        });
    }
}
