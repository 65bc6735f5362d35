//! The context of a submitting thread, which is captured there and entered around its tasks.
//!
//! The builder of a task carries what was captured, and wraps the body with it when the task is built.
//! So a task without a context has no trace of this, and its run checks nothing.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use crate::sync::LocalKey;
use crate::unwind::{catch, discard, discard_payload};

/// A source of context that travels with tasks: registered with a pool, captured at submission.
///
/// The builders of the pools take it, with `propagate`; [`Propagating`](crate::context::Propagating)
/// adds it to any other executor. Closures `Fn() -> Option<Captured>` are sources too.
///
/// ```
/// use std::cell::Cell;
/// use windlass::context::{self, Captured};
/// use windlass::prelude::*;
///
/// thread_local! {
///     static REQUEST: Cell<u64> = const { Cell::new(0) };
/// }
///
/// let pool = ThreadPoolExecutor::builder().propagate(context::copied(&REQUEST)).build().unwrap();
/// REQUEST.set(7);
/// let seen = pool.submit(|| REQUEST.get()).unwrap();
/// REQUEST.set(8);
/// assert_eq!(seen.join().unwrap(), 7);
/// ```
pub trait Propagate: Send + Sync {
    /// Captures the context of the current thread, which submits a task; `None` if there is nothing to
    /// enter.
    ///
    /// A panic reaches the submitter; nothing is queued then.
    fn capture(&self) -> Option<Captured>;
}

impl<F: Fn() -> Option<Captured> + Send + Sync> Propagate for F {
    fn capture(&self) -> Option<Captured> {
        self()
    }
}

type Around = dyn Fn(&mut dyn FnMut()) + Send + Sync;

/// A context that was captured on one thread, to be entered on others, any number of times.
///
/// ```
/// use windlass::context::Captured;
///
/// let context = Captured::around(|body| {
///     println!("enter");
///     body();
///     println!("leave");
/// });
/// assert_eq!(context.run(|| 6 * 7), 42);
/// ```
#[derive(Clone)]
pub struct Captured {
    around: Arc<Around>,
    /// Whether a span of `tracing` is entered, so that hooks can open one inside of it.
    enters_span: bool,
}

impl Captured {
    /// Creates a context from a function that enters it, calls its argument once, and leaves it.
    pub fn around(enter: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> Self {
        Self {
            around: Arc::new(enter),
            enters_span: false,
        }
    }

    /// The same, for a function that enters a span of `tracing`.
    #[cfg(feature = "tracing")]
    pub(super) fn around_span(enter: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> Self {
        Self {
            enters_span: true,
            ..Self::around(enter)
        }
    }

    /// Returns whether a span of `tracing` is entered.
    pub(super) const fn enters_span(&self) -> bool {
        self.enters_span
    }

    /// Creates a context from a function that enters it, and returns a guard whose drop leaves it.
    pub fn with_guard<G>(enter: impl Fn() -> G + Send + Sync + 'static) -> Self {
        Self::around(move |body| {
            let _guard = enter();
            body();
        })
    }

    /// Returns a context that enters this one, and `inner` inside of it.
    #[must_use]
    pub fn then(self, inner: Self) -> Self {
        let enters_span = self.enters_span || inner.enters_span;
        Self {
            enters_span,
            ..Self::around(move |body| self.run(|| inner.run(&mut *body)))
        }
    }

    /// Runs the closure inside the context.
    ///
    /// # Panics
    ///
    /// If the closure panics, after the context was left, or if entering panics. A panic while the
    /// context is left is discarded: the closure has run, and its result stands.
    pub fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        let (mut body, mut result) = (Some(body), None);
        self.run_dyn(&mut || result = body.take().map(|body| body()));
        // `run_dyn` returns only after the body has run to its end.
        result.expect("a context that was left has run its body")
    }

    fn run_dyn(&self, body: &mut dyn FnMut()) {
        let mut ran: Option<Result<(), Box<dyn Any + Send>>> = None;
        // The panic of the body does not unwind through the code of the context: a guard whose drop
        // panics then would abort the process.
        let entered = catch(|| {
            (self.around)(&mut || {
                if ran.is_none() {
                    ran = Some(catch(&mut *body));
                }
            });
        });
        match (ran, entered) {
            (None, Err(payload)) => std::panic::resume_unwind(payload),
            (None, Ok(())) => panic!("the context of a task has not run it"),
            (Some(ran), entered) => {
                if let Err(payload) = entered {
                    discard_payload(payload);
                }
                if let Err(payload) = ran {
                    std::panic::resume_unwind(payload);
                }
            }
        }
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captured").finish_non_exhaustive()
    }
}

/// Returns a source that copies the value of a thread-local.
///
/// The thread of a task has the submitter's value while it runs the task, and its own again afterwards.
///
/// ```
/// use std::cell::Cell;
/// use windlass::context::{self, Propagate};
///
/// thread_local! {
///     static TENANT: Cell<u32> = const { Cell::new(0) };
/// }
///
/// TENANT.set(1);
/// let captured = context::copied(&TENANT).capture().unwrap();
/// TENANT.set(2);
/// captured.run(|| assert_eq!(TENANT.get(), 1));
/// assert_eq!(TENANT.get(), 2);
/// ```
pub fn copied<T>(local: &'static LocalKey<Cell<T>>) -> impl Propagate + use<T>
where
    T: Copy + Send + Sync + 'static,
{
    move || {
        let value = local.get();
        Some(Captured::with_guard(move || {
            let former = local.replace(value);
            Restore(Some(move || {
                let _ = local.try_with(|cell| cell.set(former));
            }))
        }))
    }
}

/// Returns a source that clones the value of a thread-local, once to capture it and once for each run.
///
/// The thread of a task has the submitter's value while it runs the task, and its own again afterwards.
///
/// ```
/// use std::cell::RefCell;
/// use windlass::context;
/// use windlass::prelude::*;
///
/// thread_local! {
///     static USER: RefCell<String> = const { RefCell::new(String::new()) };
/// }
///
/// let pool = ThreadPoolExecutor::builder().propagate(context::cloned(&USER)).build().unwrap();
/// USER.set("ada".into());
/// let seen = pool.submit(|| USER.with_borrow(String::clone)).unwrap();
/// assert_eq!(seen.join().unwrap(), "ada");
/// ```
pub fn cloned<T>(local: &'static LocalKey<RefCell<T>>) -> impl Propagate + use<T>
where
    T: Clone + Send + Sync + 'static,
{
    move || {
        let value = local.with_borrow(T::clone);
        Some(Captured::with_guard(move || {
            let former = local.replace(value.clone());
            Restore(Some(move || {
                // A body that still borrows it has leaked the borrow.
                let restore = |cell: &RefCell<T>| {
                    let mut place = cell.try_borrow_mut().ok()?;
                    Some(std::mem::replace(&mut *place, former))
                };
                discard(local.try_with(restore));
            }))
        }))
    }
}

/// A guard that calls the closure when it is dropped.
struct Restore<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Restore<F> {
    fn drop(&mut self) {
        if let Some(restore) = self.0.take() {
            restore();
        }
    }
}
