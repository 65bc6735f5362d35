//! The current `tracing` span as context.

use std::cell::RefCell;

use tracing::Span;

use super::context::{Captured, Propagate};
use crate::sync::thread_local;

thread_local! {
    /// What hooks want to do inside the span that the next body enters.
    static INSIDE: RefCell<Option<Box<dyn FnOnce()>>> = RefCell::default();
}

/// Lets the body that this thread runs next call `open` as soon as it has entered the span of its submitter.
///
/// A hook is called before the body, and so outside of that span. Returns what was left from before.
pub(crate) fn inside_next_span(open: Option<Box<dyn FnOnce()>>) -> Option<Box<dyn FnOnce()>> {
    INSIDE.with(|inside| inside.replace(open))
}

/// A source of context: the span that is current where a task is submitted is current in the task.
///
/// Events of the task then have that span as their parent; so does the span of its run, where
/// `TracedTasks` of [`monitor`](crate::monitor) opens one. The span is entered for each run of a
/// periodic task and for each poll of a future; it is not closed before the task is done or dropped.
///
/// ```
/// use windlass::context::TracingSpan;
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder().propagate(TracingSpan).build().unwrap();
/// let request = tracing::info_span!("request", id = 7);
/// let resized = request.in_scope(|| pool.submit(|| tracing::info!("inside `request`"))).unwrap();
/// resized.join().unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct TracingSpan;

impl Propagate for TracingSpan {
    fn capture(&self) -> Option<Captured> {
        let span = Span::current();
        if span.is_none() {
            return None;
        }
        Some(Captured::around_span(move |body| {
            span.in_scope(|| {
                if let Some(open) = inside_next_span(None) {
                    open();
                }
                body();
            });
        }))
    }
}
