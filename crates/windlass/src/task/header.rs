//! The parts of a task that do not depend on its code: its id, its attributes, and its waiters.

use std::any::Any;
use std::sync::Arc;

use super::attributes::Attributes;
use super::completion::Completion;
use super::id::TaskId;
use super::limits::LimitTimes;
use super::waiters::Waiters;
use super::wanted::BatchId;
use crate::sync::OnceBox;

/// The part of a task that does not depend on its code. Tasks that are kept inline have none.
///
/// It is one word, the id, until the task has more than that: what most tasks never have is allocated
/// on first use, and the id with it.
#[derive(Debug)]
pub(crate) struct Header(OnceBox<Rare>);

/// The part that most tasks never have, and the id.
#[derive(Debug)]
struct Rare {
    id: TaskId,
    attributes: Option<Arc<Attributes>>,
    /// The times of a task with limits.
    limit_times: Option<Box<LimitTimes>>,
    waiters: Waiters,
    completion: Completion,
}

impl Rare {
    fn new(id: TaskId, attributes: Option<Arc<Attributes>>) -> Self {
        let limits = attributes.as_ref().and_then(|all| all.limits.as_ref());
        Self {
            id,
            limit_times: limits.map(|limits| Box::new(LimitTimes::new(limits))),
            attributes,
            waiters: Waiters::default(),
            completion: Completion::default(),
        }
    }
}

impl Header {
    #[inline]
    pub(super) fn new(id: TaskId, attributes: Option<Arc<Attributes>>) -> Self {
        if attributes.is_some() {
            return Self::with_rare(Rare::new(id, attributes));
        }
        Self(OnceBox::new(id.as_u64()))
    }

    #[cold]
    fn with_rare(rare: Rare) -> Self {
        Self(OnceBox::from(Box::new(rare)))
    }

    fn rare(&self) -> Option<&Rare> {
        self.0.get().ok()
    }

    fn rare_or_init(&self) -> &Rare {
        self.0
            .get_or_init(|number| Rare::new(TaskId::from_u64(number), None))
    }

    #[inline]
    pub(crate) fn id(&self) -> TaskId {
        match self.0.get() {
            Ok(rare) => rare.id,
            Err(number) => TaskId::from_u64(number),
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.shared_name().map(|name| &**name)
    }

    #[inline]
    pub(crate) fn shared_name(&self) -> Option<&Arc<str>> {
        self.attributes()?.name.as_ref()
    }

    pub(super) fn priority(&self) -> i32 {
        self.attributes()
            .map_or(0, |attributes| attributes.priority)
    }

    /// Returns the attributes, which can outlive the task.
    pub(super) fn attributes(&self) -> Option<&Arc<Attributes>> {
        self.rare()?.attributes.as_ref()
    }

    pub(super) fn limit_times(&self) -> Option<&LimitTimes> {
        self.rare()?.limit_times.as_deref()
    }

    pub(crate) fn attachment(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.attributes()?.attachment.as_deref()
    }

    /// Returns the waiters for the end of the task.
    pub(super) fn waiters(&self) -> &Waiters {
        &self.rare_or_init().waiters
    }

    /// Returns whether the task is one of this batch.
    pub(super) fn is_of_batch(&self, batch: BatchId) -> bool {
        self.rare()
            .is_some_and(|rare| rare.waiters.is_of_batch(batch))
    }

    /// Returns the place of the outcome of a task that was completed from outside.
    pub(super) fn completion(&self) -> &Completion {
        &self.rare_or_init().completion
    }
}
