//! One change of several settings: all or nothing.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::config_error::ConfigError;
use super::configuration::{Chosen, Configuration};
use super::no_effect::ConfigWarning;
use super::rejection::{self, RejectedExecutionHandler};
use super::settings::SettingsSnapshot;
use super::shared::Shared;
use super::spawn::SizeLimit;
use crate::queue::CapacityError;

/// A change of several settings of a pool; see
/// [`reconfigure`](super::ThreadPoolExecutor::reconfigure). What is not set stays as it is.
///
/// ```
/// use std::time::Duration;
/// use windlass::pool::Patch;
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// // One after the other, in either order, one of the setters would have to be called before the other.
/// let patch = Patch::new().core_pool_size(8).maximum_pool_size(8);
/// let changed = pool.reconfigure(patch).unwrap();
/// assert_eq!(pool.core_pool_size(), 8);
/// pool.reconfigure(changed.former).unwrap();
/// assert_eq!(pool.core_pool_size(), 2);
/// ```
#[derive(Clone, Default)]
#[must_use = "a patch changes nothing until it is applied"]
pub struct Patch {
    core: Option<usize>,
    maximum: Option<usize>,
    keep_alive: Option<Duration>,
    core_timeout: Option<bool>,
    capacity: Option<usize>,
    handler: Option<Arc<dyn RejectedExecutionHandler>>,
}

impl Patch {
    /// Creates a patch that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many workers are kept even when idle.
    pub fn core_pool_size(mut self, size: usize) -> Self {
        self.core = Some(size);
        self
    }

    /// Sets the maximum number of workers.
    pub fn maximum_pool_size(mut self, size: usize) -> Self {
        self.maximum = Some(size);
        self
    }

    /// Sets how long a worker beyond core waits for a task before it ends.
    pub fn keep_alive(mut self, time: Duration) -> Self {
        self.keep_alive = Some(time);
        self
    }

    /// Sets whether core workers end too when they are idle for the keep-alive time.
    pub fn allow_core_thread_timeout(mut self, allow: bool) -> Self {
        self.core_timeout = Some(allow);
        self
    }

    /// Sets the capacity of the queue.
    pub fn queue_capacity(mut self, capacity: usize) -> Self {
        self.capacity = Some(capacity);
        self
    }

    /// Sets what happens to a task that the pool cannot accept.
    pub fn rejection_handler(mut self, handler: impl RejectedExecutionHandler + 'static) -> Self {
        self.handler = Some(rejection::shared(handler));
        self
    }

    /// Sets the handler to this very one, with which it can be compared later.
    pub(crate) fn shared_rejection_handler(
        mut self,
        handler: Arc<dyn RejectedExecutionHandler>,
    ) -> Self {
        self.handler = Some(handler);
        self
    }

    const fn apply_to(&self, settings: &mut SettingsSnapshot) {
        if let Some(core) = self.core {
            settings.core = core;
        }
        if let Some(maximum) = self.maximum {
            settings.maximum = maximum;
        }
        if let Some(keep_alive) = self.keep_alive {
            settings.keep_alive = keep_alive;
        }
        if let Some(core_timeout) = self.core_timeout {
            settings.core_timeout = core_timeout;
        }
    }

    const fn chosen(&self) -> Chosen {
        Chosen {
            maximum: self.maximum.is_some(),
            keep_alive: self.keep_alive.is_some(),
            capacity: self.capacity.is_some(),
            handler: self.handler.is_some(),
        }
    }
}

impl fmt::Debug for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patch")
            .field("core_pool_size", &self.core)
            .field("maximum_pool_size", &self.maximum)
            .field("keep_alive", &self.keep_alive)
            .field("allow_core_thread_timeout", &self.core_timeout)
            .field("queue_capacity", &self.capacity)
            .field("rejection_handler", &self.handler.is_some())
            .finish()
    }
}

/// What a change of settings has done.
///
/// ```
/// use windlass::pool::Patch;
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let done = pool.reconfigure(Patch::new().maximum_pool_size(8)).unwrap();
/// println!("{}", done.warnings[0]); // the queue has no bound, so there are never more than core
/// pool.reconfigure(done.former).unwrap();
/// assert_eq!(pool.maximum_pool_size(), 2);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reconfigured {
    /// The former values of what was changed: applied, it reverts the change. A queue that had no bound
    /// keeps the new one.
    pub former: Patch,
    /// What can have no effect.
    pub warnings: Vec<ConfigWarning>,
}

/// The error of a change of settings: nothing was changed.
///
/// ```
/// use windlass::pool::Patch;
/// use windlass::prelude::*;
///
/// let pool = executors::fixed_thread_pool(2).unwrap();
/// let error = pool.reconfigure(Patch::new().core_pool_size(8)).unwrap_err();
/// assert!(error.is_config()); // more than the maximum
/// assert_eq!(pool.core_pool_size(), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReconfigureError {
    /// The settings contradict each other, as a whole.
    Config(ConfigError),
    /// The queue refuses the capacity.
    Capacity(CapacityError),
}

impl ReconfigureError {
    /// Returns whether the settings contradict each other.
    #[must_use]
    pub const fn is_config(&self) -> bool {
        matches!(self, Self::Config(_))
    }

    /// Returns whether the queue refuses the capacity.
    #[must_use]
    pub const fn is_capacity(&self) -> bool {
        matches!(self, Self::Capacity(_))
    }
}

impl fmt::Display for ReconfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "nothing was changed: {error}"),
            Self::Capacity(error) => write!(f, "nothing was changed: {error}"),
        }
    }
}

impl Error for ReconfigureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Capacity(error) => Some(error),
        }
    }
}

impl From<ConfigError> for ReconfigureError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<CapacityError> for ReconfigureError {
    fn from(error: CapacityError) -> Self {
        Self::Capacity(error)
    }
}

impl Shared {
    /// Changes several settings, or none.
    pub(crate) fn reconfigure(
        self: &Arc<Self>,
        patch: Patch,
    ) -> Result<Reconfigured, ReconfigureError> {
        let apply = || self.apply(&patch);
        let (former, reverting) = self.settings.exclusively(apply)?;
        let warnings = self.warnings(patch.chosen());
        self.settings_changed(former);
        Ok(Reconfigured {
            former: reverting,
            warnings,
        })
    }

    /// Sets all values of the patch, or none; returns the former settings, and the patch that reverts this
    /// one. No other thread changes settings meanwhile.
    ///
    /// The capacity is set after the other settings were found valid, and before they are changed: the queue
    /// may refuse it. Only if the queue itself has made them invalid is it set back.
    fn apply(&self, patch: &Patch) -> Result<(SettingsSnapshot, Patch), ReconfigureError> {
        let mut planned = self.settings.snapshot();
        patch.apply_to(&mut planned);
        planned.check()?;
        let former_capacity = match patch.capacity {
            Some(capacity) => self.queue.set_capacity(capacity)?,
            None => None,
        };
        let change = |settings: &mut SettingsSnapshot| patch.apply_to(settings);
        let former = match self.settings.change(change) {
            Ok(former) => former,
            Err(error) => {
                if let Some(capacity) = former_capacity {
                    let _ = self.queue.set_capacity(capacity);
                }
                return Err(error.into());
            }
        };
        let former_handler = patch.handler.clone().map(|handler| {
            let former = self.handler.with(Arc::clone);
            self.handler.set(handler);
            former
        });
        let reverting = Patch {
            core: patch.core.map(|_| former.core),
            maximum: patch.maximum.map(|_| former.maximum),
            keep_alive: patch.keep_alive.map(|_| former.keep_alive),
            core_timeout: patch.core_timeout.map(|_| former.core_timeout),
            capacity: former_capacity,
            handler: former_handler,
        };
        Ok((former, reverting))
    }

    /// Checks a change without making it; returns what could have no effect.
    pub(crate) fn check_patch(
        &self,
        patch: &Patch,
    ) -> Result<Vec<ConfigWarning>, ReconfigureError> {
        let mut planned = self.settings.snapshot();
        patch.apply_to(&mut planned);
        planned.check()?;
        if patch.capacity == Some(0) {
            return Err(CapacityError::Zero.into());
        }
        let capacity = patch.capacity.or_else(|| self.queue.bound());
        Ok(self.warnings_of(planned, capacity, patch.chosen()))
    }

    /// Returns which of the chosen settings can have no effect.
    fn warnings(&self, chosen: Chosen) -> Vec<ConfigWarning> {
        self.warnings_of(self.settings.snapshot(), self.queue.bound(), chosen)
    }

    fn warnings_of(
        &self,
        settings: SettingsSnapshot,
        capacity: Option<usize>,
        chosen: Chosen,
    ) -> Vec<ConfigWarning> {
        let configuration = Configuration {
            settings,
            capacity,
            has_partial_bounds: self.options.has_partial_bounds,
            grows_eagerly: self.options.grows_eagerly,
            spare_workers: self.options.spare_workers,
            chosen,
        };
        let mut warnings = configuration.warnings();
        // An option of the builder, which no patch changes.
        warnings.retain(|warning| !matches!(warning, ConfigWarning::EagerGrowthUnused { .. }));
        warnings
    }

    /// Lets the settings take effect: workers and submitters that wait read them again, and workers are
    /// started for queued tasks if there may be more of them.
    ///
    /// # Panics
    ///
    /// If the thread factory panics; the new settings are in effect.
    pub(crate) fn settings_changed(self: &Arc<Self>, former: SettingsSnapshot) {
        let new = self.settings.snapshot();
        let workers = self.ctl.load().workers();
        let may_end = workers > new.maximum || workers > new.core;
        let sooner = new.keep_alive < former.keep_alive || new.core_timeout && !former.core_timeout;
        if may_end || sooner {
            self.roster.nudge_all();
        }
        self.nudge_blocked();
        // No more than there are tasks, which may be done before all have started.
        for _ in 0..self.queue.len().min(new.core.saturating_sub(former.core)) {
            if self.add_worker(None, SizeLimit::Core).is_err() || self.queue.is_empty() {
                break;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod models {
    use super::Patch;
    use crate::pool::ThreadPoolExecutor;
    use crate::queue::ResizableBlockingQueue;
    use crate::sync::{model, thread};

    /// Another thread lowers the maximum, which makes the patch invalid, and then sets the capacity itself:
    /// whichever comes first, that capacity stays.
    ///
    /// WL-251
    #[test]
    fn a_change_that_fails_leaves_what_another_thread_has_set() {
        model(|| {
            let queue = ResizableBlockingQueue::with_capacity(10).unwrap();
            let pool = ThreadPoolExecutor::builder()
                .core_pool_size(1)
                .maximum_pool_size(4)
                .work_queue(queue)
                .build()
                .unwrap();
            let theirs = pool.clone();
            let other = thread::Builder::new().spawn(move || {
                let is_lowered = theirs.set_maximum_pool_size(2).is_ok();
                theirs.set_queue_capacity(30).unwrap();
                is_lowered
            });
            let patch = Patch::new().core_pool_size(3).queue_capacity(20);
            let is_changed = pool.reconfigure(patch).is_ok();
            let is_lowered = other.unwrap().join().unwrap();
            assert!(is_changed ^ is_lowered);
            assert_eq!(pool.queue().remaining_capacity(), Some(30));
            let sizes = (pool.core_pool_size(), pool.maximum_pool_size());
            assert_eq!(sizes, if is_changed { (3, 4) } else { (1, 2) });
        });
    }
}
