//! The context of a thread that forks, for what runs on other threads.
//!
//! A pool without sources of context pays one check for each join, fork and spawn. In one with sources,
//! the closures are called through a pointer: this code is then compiled once, and not for each closure.

use std::sync::Arc;

use super::shared::Shared;
use crate::task::{Captured, TaskBuilder};
use crate::unwind::{catch, discard};

impl Shared {
    /// Captures the context of the current thread, if the pool has sources of it.
    #[inline]
    pub(super) fn capture(&self) -> Option<Captured> {
        if self.config.sources.is_empty() {
            return None;
        }
        outlined(|| self.config.sources.capture())
    }

    /// Returns the builder of a task that is forked by the current thread.
    #[inline]
    pub(super) fn forked_task(self: &Arc<Self>) -> TaskBuilder {
        match self.capture() {
            None => TaskBuilder::new(),
            Some(context) => TaskBuilder::new().context(context),
        }
    }
}

/// Calls `f` out of line.
#[cold]
fn outlined<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Runs `run` with a closure that runs `body` once, inside the context, and returns what `run` returns,
/// and the result of `body`.
#[cold]
pub(super) fn erased<F, R, O>(
    context: &Captured,
    body: F,
    run: impl FnOnce(&mut (dyn FnMut() + Send)) -> O,
) -> (O, Erased<F, R>)
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let (mut body, mut result) = (Some(body), None);
    let answer = catch(|| {
        run(&mut || {
            if let Some(body) = body.take() {
                result = Some(context.run(body));
            }
        })
    });
    let answer = match answer {
        Ok(answer) => answer,
        Err(payload) => {
            // Before the panic goes on: a drop that panics during another panic aborts the process.
            discard((result, body));
            std::panic::resume_unwind(payload)
        }
    };
    let left = match (result, body) {
        (Some(result), _) => Erased::Ran(result),
        (None, Some(body)) => Erased::Unused(body),
        (None, None) => unreachable!("the panic of a body that was called unwinds"),
    };
    (answer, left)
}

/// What became of a closure that was called through a pointer.
pub(super) enum Erased<F, R> {
    Ran(R),
    Unused(F),
}

impl<F, R> Erased<F, R> {
    /// Returns the result of a closure that was called.
    pub(super) fn result(self) -> R {
        match self {
            Self::Ran(result) => result,
            Self::Unused(_) => unreachable!("it was called"),
        }
    }
}
