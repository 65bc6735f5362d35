//! The task types that a worker knows.

use crate::context::TaskCx;
use crate::engine::{Delivery, Verdict};
use crate::failure::{Failure, FailureKind};
use crate::id::{InvalidName, check_name};
use crate::options::TaskOptions;
use crate::task::{RemoteTask, RetryHint};
use crate::wire::{OpenError, Wire};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

/// One task type, without its type.
pub(crate) trait Handler: Send + Sync {
    fn version(&self) -> u16;
    /// Runs a delivery; `None` if its version is newer than the type.
    fn run(&self, delivery: &Delivery, cx: &TaskCx, wire: &Wire) -> Option<Verdict>;
}

struct Typed<T>(PhantomData<fn() -> T>);

impl<T: RemoteTask> Handler for Typed<T> {
    fn version(&self) -> u16 {
        T::VERSION
    }

    fn run(&self, delivery: &Delivery, cx: &TaskCx, wire: &Wire) -> Option<Verdict> {
        let options = &delivery.options;
        // `upgrade`, the impls of serde and `run` are the user's; a panic in any of them ends this attempt only.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let task: T = match wire.open_task(&cx.id, delivery.version, &delivery.payload) {
                Ok(task) => task,
                Err(OpenError::Newer) => return None,
                Err(OpenError::Refused(failure)) => return Some(Verdict::Dead(failure)),
            };
            let verdict = match task.run(cx) {
                Ok(output) => match wire.seal_result::<T>(&cx.id, &output) {
                    Ok(sealed) => Verdict::Done(sealed),
                    Err(failure) => Verdict::Failed(failure),
                },
                Err(error) => {
                    let failure = Failure::new(FailureKind::Task, error.message());
                    failed(options, delivery.failures, failure, error.hint())
                }
            };
            Some(verdict)
        }));
        outcome.unwrap_or_else(|panic| {
            let failure = Failure::new(FailureKind::Panic, panic_message(&*panic));
            Some(failed(
                options,
                delivery.failures,
                failure,
                RetryHint::ByOptions,
            ))
        })
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("")
}

/// Decides whether a failed attempt is followed by another.
pub(crate) fn failed(
    options: &TaskOptions,
    failures_before: u32,
    failure: Failure,
    hint: RetryHint,
) -> Verdict {
    let failures = failures_before + 1;
    match hint {
        _ if failures >= options.max_attempts => Verdict::Failed(failure),
        RetryHint::Never => Verdict::Failed(failure),
        RetryHint::After(delay) => Verdict::Retry(failure, delay),
        RetryHint::ByOptions => Verdict::Retry(failure, options.pause_after(failures)),
    }
}

/// The types by wire name. The local executor adds to it while it runs; a worker's is complete at its start.
#[derive(Default)]
pub(crate) struct Registry(RwLock<HashMap<&'static str, Arc<dyn Handler>>>);

/// Why a type was not registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RegisterError {
    Name(InvalidName),
    Twice(&'static str),
}

impl Registry {
    pub(crate) fn add<T: RemoteTask>(&self) -> Result<(), RegisterError> {
        check_name(T::NAME).map_err(RegisterError::Name)?;
        let mut types = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if types.contains_key(T::NAME) {
            return Err(RegisterError::Twice(T::NAME));
        }
        types.insert(T::NAME, Arc::new(Typed::<T>(PhantomData)));
        Ok(())
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn Handler>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    /// Returns `name@version` of each type, sorted.
    pub(crate) fn list(&self) -> Vec<String> {
        let types = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<_> = types
            .iter()
            .map(|(n, h)| format!("{n}@{}", h.version()))
            .collect();
        list.sort();
        list
    }
}
