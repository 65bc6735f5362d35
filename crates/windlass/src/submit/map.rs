//! A closure on every item: in order, with a bounded number in flight.

use std::collections::VecDeque;

use super::invoke::InvokeError;
use super::scope::Scope;
use super::scoped_handle::ScopedHandle;
use crate::task::{Cancellation, ExecutionError, Failure};

/// The values so far, and the tasks whose values come next.
struct Window<'scope, R> {
    values: Vec<R>,
    tasks: VecDeque<ScopedHandle<'scope, R>>,
}

impl<'scope, R: Send + 'scope> Window<'scope, R> {
    /// Waits for the oldest task, and moves its value over.
    fn advance(&mut self, scope: &Scope<'_, '_>) -> Result<(), InvokeError> {
        let Some(oldest) = self.tasks.front_mut() else {
            return Ok(());
        };
        match oldest.get() {
            Ok(value) => {
                self.values.push(value);
                self.tasks.pop_front();
                Ok(())
            }
            Err(error) => Err(self.explain(scope, error)),
        }
    }

    /// Returns why the oldest task has no value: perhaps since another one failed.
    fn explain(&mut self, scope: &Scope<'_, '_>, error: ExecutionError) -> InvokeError {
        let at = self.values.len();
        match error {
            ExecutionError::Interrupted => InvokeError::Interrupted,
            ExecutionError::Cancelled(Cancellation::TimedOut) => InvokeError::TimedOut,
            ExecutionError::Cancelled(Cancellation::Sibling) => {
                // Not before all are done: the one that failed is among them.
                let _ = scope.join();
                self.failed().unwrap_or(InvokeError::Item(at, error))
            }
            error => InvokeError::Item(at, error),
        }
    }

    /// Returns the first task that failed.
    fn failed(&mut self) -> Option<InvokeError> {
        let at = self.values.len();
        let ended = self.tasks.iter_mut().enumerate();
        ended
            .filter_map(|(ahead, task)| match task.try_get() {
                Some(Err(error)) if error.is_failed() => Some(InvokeError::Item(at + ahead, error)),
                _ => None,
            })
            .next()
    }
}

/// Submits a task for every item, no more than `limit` ahead of the values.
pub(super) fn map<'scope, 'env, T, R, F>(
    scope: &'scope Scope<'scope, 'env>,
    items: impl Iterator<Item = T>,
    limit: usize,
    f: &'env F,
) -> Result<Vec<R>, InvokeError>
where
    T: Send + 'env,
    R: Send + 'env,
    F: Fn(T) -> Result<R, Failure> + Sync,
{
    let mut window = Window {
        values: Vec::new(),
        tasks: VecDeque::new(),
    };
    let submitted = submit_all(scope, &mut window, items, limit, f);
    if submitted.is_err() {
        scope.cancel_now();
    }
    submitted.map(|()| window.values)
}

fn submit_all<'scope, 'env, T, R, F>(
    scope: &'scope Scope<'scope, 'env>,
    window: &mut Window<'scope, R>,
    items: impl Iterator<Item = T>,
    limit: usize,
    f: &'env F,
) -> Result<(), InvokeError>
where
    T: Send + 'env,
    R: Send + 'env,
    F: Fn(T) -> Result<R, Failure> + Sync,
{
    for item in items {
        while window.tasks.len() >= limit || scope.is_cancelled() && !window.tasks.is_empty() {
            window.advance(scope)?;
        }
        let mut closure = move || f(item);
        let task = loop {
            closure = match scope.spawn_fallible(closure) {
                Ok(task) => break task,
                Err(rejected) if rejected.is_saturated() && !window.tasks.is_empty() => {
                    window.advance(scope)?;
                    rejected.into_closure()
                }
                Err(rejected) => return Err(rejected.into()),
            };
        };
        window.tasks.push_back(task);
    }
    while !window.tasks.is_empty() {
        window.advance(scope)?;
    }
    Ok(())
}
