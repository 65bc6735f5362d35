//! The current `tracing` span as context.

use tracing::Span;

use super::context::{Captured, Propagate};

/// A source of context: the span that is current where a task is submitted is current in the task.
///
/// Events of the task then have that span as their parent. The span is entered for each run of a
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
        Some(Captured::around(move |body| span.in_scope(body)))
    }
}
