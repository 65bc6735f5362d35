//! One promise of the contract: which queues it concerns, and how it is tested.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::item::{Element, Item};
use super::subject::{Storage, Subject};
use crate::interrupt;
use crate::testing::patience::join_within;

/// The queues that a check concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Every,
    /// Those that hold elements.
    Stored,
    /// Those that can be full.
    Limited,
    Bounded,
    Unbounded,
    Rendezvous,
    /// Those that can be built around elements.
    Built,
    /// Those that keep the order of one producer.
    Sequential,
    /// Those that keep it and hold elements.
    Batched,
    /// Those that promise whom they serve first.
    Served,
}

/// The features of a queue that a check needs to observe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// To know how many threads wait.
    Waits,
    /// That, and that an interrupt ends a wait.
    Interrupts,
}

/// One promise of the contract, and how to test it.
pub struct Check<T: Element = Item> {
    pub(super) name: &'static str,
    pub(super) scope: Scope,
    pub(super) needs: Needs,
    pub(super) run: fn(&Subject<T>),
}

impl<T: Element> Check<T> {
    /// Returns the promise.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Tests the promise, on a thread of its own.
    ///
    /// # Panics
    ///
    /// If it is not kept; the message begins with the [name](Self::name). Threads that hang are
    /// left behind.
    pub fn run(&self, subject: &Subject<T>) {
        let (run, theirs) = (self.run, subject.clone());
        let check = move || catch_unwind(AssertUnwindSafe(|| run(&theirs)));
        // Every wait inside has its own limit; this one is for calls that should not have waited.
        let checked = catch_unwind(AssertUnwindSafe(|| {
            join_within(2 * subject.patience, "the check", interrupt::spawn(check))
        }));
        if let Err(panic) = checked.and_then(|checked| checked) {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            panic!(
                "{}: {}",
                self.name,
                text.unwrap_or("a panic without a message")
            );
        }
    }

    pub(super) fn concerns(&self, subject: &Subject<T>) -> bool {
        let scope = match self.scope {
            Scope::Every => true,
            Scope::Stored => subject.is_stored(),
            Scope::Limited => subject.storage != Storage::Unbounded,
            Scope::Bounded => subject.storage == Storage::Bounded,
            Scope::Unbounded => subject.storage == Storage::Unbounded,
            Scope::Rendezvous => subject.storage == Storage::Nothing,
            Scope::Built => subject.is_built(),
            Scope::Sequential => subject.is_sequential(),
            Scope::Batched => subject.is_sequential() && subject.is_stored(),
            Scope::Served => subject.service.is_some(),
        };
        scope && self.has_what_it_needs(subject)
    }

    fn has_what_it_needs(&self, subject: &Subject<T>) -> bool {
        let waits = || subject.empty().waiting().is_some();
        match self.needs {
            Needs::Nothing => true,
            Needs::Waits => waits(),
            Needs::Interrupts => waits() && subject.empty().is_interruptible(),
        }
    }
}

impl<T: Element> fmt::Debug for Check<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}
