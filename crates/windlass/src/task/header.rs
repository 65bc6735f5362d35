//! The parts of a task that do not depend on its code: its id, its attributes, and its waiters.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use super::attributes::Attributes;
use super::completion::Completion;
use super::id::TaskId;
use super::timestamp;
use super::waiters::Waiters;
use crate::sync::OnceBox;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The part of a task that does not depend on its code. Tasks that are kept inline have none.
///
/// It is small and cheap to create: what most tasks never have is allocated on first use.
#[derive(Debug)]
pub(crate) struct Header {
    id: TaskId,
    /// When it was queued, as a [`timestamp`]; zero if that was not recorded.
    queued_at: AtomicU64,
    rare: OnceBox<Rare>,
}

/// The part that most tasks never have.
#[derive(Debug, Default)]
struct Rare {
    attributes: Option<Arc<Attributes>>,
    waiters: Waiters,
    completion: Completion,
}

impl Header {
    #[inline]
    pub(super) fn new(id: TaskId, attributes: Option<Arc<Attributes>>) -> Self {
        if attributes.is_some() {
            return Self::with_rare(
                id,
                Rare {
                    attributes,
                    ..Rare::default()
                },
            );
        }
        Self {
            id,
            queued_at: AtomicU64::new(0),
            rare: OnceBox::new(),
        }
    }

    fn with_rare(id: TaskId, rare: Rare) -> Self {
        Self {
            id,
            queued_at: AtomicU64::new(0),
            rare: OnceBox::from(Box::new(rare)),
        }
    }

    fn rare(&self) -> Option<&Rare> {
        self.rare.get()
    }

    #[inline]
    pub(crate) const fn id(&self) -> TaskId {
        self.id
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.attributes()?.name.as_deref()
    }

    pub(super) fn priority(&self) -> i32 {
        self.attributes()
            .map_or(0, |attributes| attributes.priority)
    }

    /// Returns the attributes, which can outlive the task.
    pub(super) fn attributes(&self) -> Option<&Arc<Attributes>> {
        self.rare()?.attributes.as_ref()
    }

    pub(crate) fn attachment(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.attributes()?.attachment.as_deref()
    }

    /// Returns the waiters for the end of the task.
    pub(super) fn waiters(&self) -> &Waiters {
        &self.rare.get_or_init(Rare::default).waiters
    }

    /// Returns the place of the outcome of a task that was completed from outside.
    pub(super) fn completion(&self) -> &Completion {
        &self.rare.get_or_init(Rare::default).completion
    }

    pub(super) fn set_queued_at(&self, at: Instant) {
        self.queued_at
            .store(timestamp::nanos(at), Ordering::Relaxed);
    }

    pub(super) fn queued_at(&self) -> Option<Instant> {
        match self.queued_at.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(timestamp::instant(nanos)),
        }
    }
}
