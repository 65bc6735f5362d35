//! What an executor has to offer so that it can be watched and steered.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::change::Change;
use super::change_error::ChangeError;
use super::snapshot::{Snapshot, WorkerThread};
use crate::pool::RejectedExecutionHandler;
use crate::times::{TaskRecord, TaskTimes};

/// An executor as the monitor sees it: figures, settings, commands.
///
/// The pools of this library are registered as they are. Another executor takes part by implementing this
/// trait; only the snapshot is required, and what it cannot do it leaves to the defaults, which refuse.
///
/// The methods are called on the threads of the monitor and of its users, never under a lock. A panic is
/// caught and counted.
///
/// ```
/// use std::sync::Arc;
/// use windlass::monitor::{Kind, Monitored, Registry, Snapshot, Source};
///
/// struct Batches;
///
/// impl Monitored for Batches {
///     fn snapshot(&self) -> Snapshot {
///         let mut snapshot = Snapshot::new(Kind::Custom);
///         snapshot.queue.len = 3;
///         snapshot
///     }
/// }
///
/// let registry = Registry::new();
/// let batches = Arc::new(Batches);
/// registry.register_as("batches", &Source::of(&batches));
/// assert_eq!(registry.get("batches").unwrap().snapshot().unwrap().queue.len, 3);
/// drop(batches);
/// assert!(registry.get("batches").is_none());
/// ```
pub trait Monitored: Send + Sync {
    /// Returns the figures. Called once a second and more: it has to be cheap.
    fn snapshot(&self) -> Snapshot;

    /// Returns whether it has ended: then it is forgotten.
    fn has_terminated(&self) -> bool {
        false
    }

    /// Returns the threads and what they do.
    fn threads(&self) -> Vec<WorkerThread> {
        Vec::new()
    }

    /// Returns the times of tasks with a name. Called only when somebody asks for them.
    fn task_times(&self) -> Vec<TaskTimes> {
        Vec::new()
    }

    /// Checks a change without making it. Returns warnings, for those who ask for the change.
    ///
    /// # Errors
    ///
    /// Why [`apply`](Self::apply) would change nothing.
    fn check(&self, change: &Change) -> Result<Vec<String>, ChangeError> {
        let _ = change;
        Ok(Vec::new())
    }

    /// Changes the settings, all or none. The change was [checked](Self::check) and is within the limits;
    /// `policy` is the one that it names; if a change is undone, the one that there was before.
    ///
    /// # Errors
    ///
    /// Why nothing was changed.
    fn apply(
        &self,
        change: &Change,
        policy: Option<Arc<dyn RejectedExecutionHandler>>,
    ) -> Result<(), ChangeError> {
        let _ = (change, policy);
        Err(ChangeError::Unsupported("settings"))
    }

    /// Returns the rejection policy, so that a change of it can be undone: its name does not tell all of it.
    ///
    /// Of an executor that returns `None` the policy is set back by its name.
    fn rejection_handler(&self) -> Option<Arc<dyn RejectedExecutionHandler>> {
        None
    }

    /// Starts all core threads; returns how many were started.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Unsupported`].
    fn prestart(&self) -> Result<usize, ChangeError> {
        Err(ChangeError::Unsupported("prestart"))
    }

    /// Removes cancelled tasks from the queue; returns how many.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Unsupported`].
    fn purge(&self) -> Result<usize, ChangeError> {
        Err(ChangeError::Unsupported("purge"))
    }

    /// Takes no tasks from the queue for this long.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Unsupported`].
    fn pause(&self, time: Duration) -> Result<(), ChangeError> {
        let _ = time;
        Err(ChangeError::Unsupported("pause"))
    }

    /// Ends a pause.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Unsupported`].
    fn resume(&self) -> Result<(), ChangeError> {
        Err(ChangeError::Unsupported("pause"))
    }

    /// Begins an orderly shutdown.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Unsupported`].
    fn shutdown(&self) -> Result<(), ChangeError> {
        Err(ChangeError::Unsupported("shutdown"))
    }

    /// Returns tasks that have ended since the last call and were slow or have failed.
    fn take_records(&self) -> Vec<TaskRecord> {
        Vec::new()
    }

    /// Called when a monitor begins to read the records, so that they are only kept if somebody does.
    fn keep_records(&self) {}
}

/// A reference to an executor that does not keep it alive.
#[derive(Clone)]
pub struct Source {
    name: Arc<str>,
    upgrade: Arc<Upgrade>,
}

type Upgrade = dyn Fn() -> Option<Arc<dyn Monitored>> + Send + Sync;

impl Source {
    /// Creates a reference to an executor of a user, named `custom`.
    #[must_use]
    pub fn of<M: Monitored + 'static>(executor: &Arc<M>) -> Self {
        let weak: Weak<M> = Arc::downgrade(executor);
        Self::new("custom", move || {
            weak.upgrade()
                .map(|executor| executor as Arc<dyn Monitored>)
        })
    }

    pub(super) fn new(
        name: &str,
        upgrade: impl Fn() -> Option<Arc<dyn Monitored>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: Arc::from(name),
            upgrade: Arc::new(upgrade),
        }
    }

    /// Returns the name of the executor.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the executor, unless it is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<Arc<dyn Monitored>> {
        (self.upgrade)()
    }

    /// Returns a reference through which nothing can be changed.
    #[must_use]
    pub fn read_only(self) -> Self {
        let upgrade = self.upgrade;
        Self {
            name: self.name,
            upgrade: Arc::new(move || {
                upgrade().map(|executor| Arc::new(ReadOnly(executor)) as Arc<dyn Monitored>)
            }),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.name).finish()
    }
}

/// An executor whose settings are fixed.
struct ReadOnly(Arc<dyn Monitored>);

impl Monitored for ReadOnly {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.0.snapshot();
        snapshot.settings.tunable.clear();
        snapshot
    }

    fn has_terminated(&self) -> bool {
        self.0.has_terminated()
    }

    fn threads(&self) -> Vec<WorkerThread> {
        self.0.threads()
    }

    fn task_times(&self) -> Vec<TaskTimes> {
        self.0.task_times()
    }

    fn take_records(&self) -> Vec<TaskRecord> {
        self.0.take_records()
    }

    fn keep_records(&self) {
        self.0.keep_records();
    }
}

/// An executor that can be registered: each pool of this library, also through a pointer, and a [`Source`].
pub trait Monitorable {
    /// Returns a reference that does not keep the executor alive.
    fn source(&self) -> Source;
}

impl Monitorable for Source {
    fn source(&self) -> Source {
        self.clone()
    }
}

impl<E: Monitorable + ?Sized> Monitorable for &E {
    fn source(&self) -> Source {
        (**self).source()
    }
}

impl<E: Monitorable + ?Sized> Monitorable for Arc<E> {
    fn source(&self) -> Source {
        (**self).source()
    }
}

impl<E: Monitorable + ?Sized> Monitorable for Box<E> {
    fn source(&self) -> Source {
        (**self).source()
    }
}

impl<E: Monitorable> Monitorable for crate::executors::Unconfigurable<E> {
    fn source(&self) -> Source {
        self.inner().source().read_only()
    }
}
