//! What is known of a task besides its code: its id, its name, how urgent it is.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::cell::Completion;
use super::id::TaskId;
use super::waiters::Waiters;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{OnceBox, clock};
use crate::unwind::discard;

/// What a user has attached to a task.
#[derive(Clone, Default)]
pub(crate) struct Attributes {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) priority: i32,
    pub(crate) attachment: Option<Arc<dyn Any + Send + Sync>>,
}

impl Drop for Attributes {
    fn drop(&mut self) {
        if let Some(attachment) = self.attachment.take() {
            discard(attachment);
        }
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attributes")
            .field("name", &self.name)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

/// The part of a task that stands outside its code, where the task has room for it.
///
/// Small and cheap to make: what most tasks never have is allocated when it is first asked for.
#[derive(Debug)]
pub(crate) struct Header {
    id: TaskId,
    /// When it was queued, as nanoseconds since the process's first look at a clock; zero: never.
    queued_at: AtomicU64,
    rare: OnceBox<Rare>,
}

/// What most tasks never have.
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

    /// What the user has attached, to outlive the task.
    pub(super) fn attributes(&self) -> Option<&Arc<Attributes>> {
        self.rare()?.attributes.as_ref()
    }

    pub(crate) fn attachment(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.attributes()?.attachment.as_deref()
    }

    /// Those who wait for the end of the task.
    pub(super) fn waiters(&self) -> &Waiters {
        &self.rare.get_or_init(Rare::default).waiters
    }

    /// What a task that was completed from outside was completed with.
    pub(super) fn completion(&self) -> &Completion {
        &self.rare.get_or_init(Rare::default).completion
    }

    pub(super) fn set_queued_at(&self, at: Instant) {
        self.queued_at.store(nanos(at), Ordering::Relaxed);
    }

    pub(super) fn queued_at(&self) -> Option<Instant> {
        match self.queued_at.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(instant(nanos)),
        }
    }
}

/// A time as a number that is never zero: nanoseconds since a moment before all that is stamped.
#[inline]
pub(crate) fn nanos(at: Instant) -> u64 {
    let since = at.saturating_duration_since(epoch());
    let nanos = since.as_secs().saturating_mul(1_000_000_000);
    nanos.saturating_add(u64::from(since.subsec_nanos())).max(1)
}

/// Back from [`nanos`].
pub(crate) fn instant(nanos: u64) -> Instant {
    epoch() + Duration::from_nanos(nanos)
}

/// A moment before all that is stamped; test clocks start at the machine's time, and so after it.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(|| {
        let now = clock::system_now();
        now.checked_sub(Duration::from_secs(3600)).unwrap_or(now)
    })
}
