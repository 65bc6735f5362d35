//! The executors that can be watched, by name.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::change_error::ChangeError;
use super::limits::TuneLimits;
use super::policies::Policies;
use super::snapshot::{Snapshot, WorkerThread};
use super::source::{Monitorable, Monitored, Source};
use crate::pool::RejectedExecutionHandler;
use crate::sync::{Mutex, arc_dyn};
use crate::unwind::{catch, discard_payload};

/// Executors by name. It keeps none of them alive: one that was dropped or has terminated is no longer
/// found.
///
/// Most programs use the [global](Self::global) one, through [`register`]. A clone refers to the same
/// registry.
///
/// ```
/// use windlass::monitor::Registry;
/// use windlass::prelude::*;
///
/// let registry = Registry::new();
/// let web = ThreadPoolExecutor::builder().name("web").core_pool_size(2).build().unwrap();
/// let other = ThreadPoolExecutor::builder().name("web").core_pool_size(2).build().unwrap();
/// registry.register(&web);
/// assert_eq!(&*registry.register(&other), "web-2");
/// assert_eq!(registry.names().len(), 2);
/// other.close();
/// assert_eq!(registry.names().len(), 1);
/// ```
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

#[derive(Default)]
struct Shared {
    listed: Mutex<Listed>,
}

#[derive(Default)]
struct Listed {
    entries: Vec<Entry>,
    policies: Policies,
    next: u64,
}

#[derive(Clone)]
struct Entry {
    /// Differs from entry to entry, also of one name.
    number: u64,
    name: Arc<str>,
    source: Source,
    limits: Option<Arc<TuneLimits>>,
}

/// Registers an executor in the [global registry](Registry::global); returns the name under which it is
/// found: its own, with a number if that is taken.
///
/// ```
/// use windlass::monitor;
/// use windlass::prelude::*;
///
/// let pool = ThreadPoolExecutor::builder().name("reports").core_pool_size(2).build().unwrap();
/// assert_eq!(&*monitor::register(&pool), "reports");
/// ```
pub fn register<E: Monitorable + ?Sized>(executor: &E) -> Arc<str> {
    Registry::global().register(executor)
}

impl Registry {
    /// Creates an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Returns the registry of the process.
    #[must_use]
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Registry> = OnceLock::new();
        GLOBAL.get_or_init(Self::new)
    }

    /// Registers an executor under its own name; returns the name under which it is found. A second one of
    /// the same name gets the suffix `-2`.
    pub fn register<E: Monitorable + ?Sized>(&self, executor: &E) -> Arc<str> {
        let source = executor.source();
        let name = Arc::clone(source.name());
        self.add(&name, source)
    }

    /// Registers an executor under this name; returns the name under which it is found.
    pub fn register_as<E: Monitorable + ?Sized>(&self, name: &str, executor: &E) -> Arc<str> {
        self.add(name, executor.source())
    }

    fn add(&self, name: &str, source: Source) -> Arc<str> {
        // Names of executors that are gone become free.
        drop(self.pools());
        let mut listed = self.0.listed.lock();
        let is_free = |name: &str| !listed.entries.iter().any(|entry| &*entry.name == name);
        let mut free: Arc<str> = Arc::from(name);
        let mut suffix = 2;
        while !is_free(&free) {
            free = Arc::from(format!("{name}-{suffix}"));
            suffix += 1;
        }
        listed.next += 1;
        let number = listed.next;
        listed.entries.push(Entry {
            number,
            name: Arc::clone(&free),
            source,
            limits: None,
        });
        free
    }

    /// Removes an executor from the registry; returns whether there was one of this name.
    pub fn deregister(&self, name: &str) -> bool {
        let mut listed = self.0.listed.lock();
        let at = listed.entries.iter().position(|entry| &*entry.name == name);
        let removed = at.map(|at| listed.entries.remove(at));
        drop(listed);
        removed.is_some()
    }

    /// Sets the bounds within which the settings of an executor may be changed; returns whether there is
    /// one of this name.
    pub fn limit(&self, name: &str, limits: TuneLimits) -> bool {
        let mut listed = self.0.listed.lock();
        let mut entries = listed.entries.iter_mut();
        let entry = entries.find(|entry| &*entry.name == name);
        entry.is_some_and(|entry| {
            entry.limits = Some(Arc::new(limits));
            true
        })
    }

    /// Makes a rejection policy available under this name.
    pub fn register_policy(&self, name: &str, handler: impl RejectedExecutionHandler + 'static) {
        let handler = arc_dyn(handler, |handler| {
            Arc::new(handler) as Arc<dyn RejectedExecutionHandler>
        });
        let former = self.0.listed.lock().policies.insert(name, handler);
        // It is the user's: not under the lock.
        drop(former);
    }

    /// Returns the names of the rejection policies that may be set, in order.
    #[must_use]
    pub fn policies(&self) -> Vec<Arc<str>> {
        self.0.listed.lock().policies.names()
    }

    pub(super) fn policy(&self, name: &str) -> Option<Arc<dyn RejectedExecutionHandler>> {
        self.0.listed.lock().policies.get(name)
    }

    /// Returns the names of the executors that are registered and have not terminated, in order.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        self.pools().into_iter().map(|pool| pool.name).collect()
    }

    /// Returns the executor of this name, unless it is gone.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<RegisteredPool> {
        self.pools().into_iter().find(|pool| &*pool.name == name)
    }

    /// Returns the executors that are registered and have not terminated, in the order of their names.
    ///
    /// Those that are gone are removed.
    #[must_use]
    pub fn pools(&self) -> Vec<RegisteredPool> {
        let entries = self.0.listed.lock().entries.clone();
        let mut gone = Vec::new();
        let mut pools = Vec::new();
        for entry in entries {
            match RegisteredPool::of(&entry) {
                Some(pool) => pools.push(pool),
                None => gone.push(entry.number),
            }
        }
        if !gone.is_empty() {
            let mut listed = self.0.listed.lock();
            let entries = std::mem::take(&mut listed.entries);
            let is_gone = |entry: &Entry| gone.contains(&entry.number);
            let (removed, kept): (Vec<_>, _) = entries.into_iter().partition(is_gone);
            listed.entries = kept;
            drop(listed);
            drop(removed);
        }
        pools.sort_by(|one, other| one.name.cmp(&other.name));
        pools
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// An executor that was registered, while it is looked at.
///
/// It keeps the figures of the executor readable, but does not keep the executor from being shut down when
/// its last owner drops it. Do not keep it.
#[derive(Clone)]
pub struct RegisteredPool {
    number: u64,
    name: Arc<str>,
    executor: Arc<dyn Monitored>,
    limits: Option<Arc<TuneLimits>>,
}

impl RegisteredPool {
    fn of(entry: &Entry) -> Option<Self> {
        let executor = caught(|| entry.source.upgrade()).ok().flatten()?;
        let pool = Self {
            number: entry.number,
            name: Arc::clone(&entry.name),
            executor,
            limits: entry.limits.clone(),
        };
        (!pool.has_terminated()).then_some(pool)
    }

    fn has_terminated(&self) -> bool {
        caught(|| self.executor.has_terminated()).unwrap_or(false)
    }

    /// Returns the name under which it is registered.
    #[must_use]
    pub const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns a number that no other executor of the registry has or had.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the bounds within which its settings may be changed.
    #[must_use]
    pub fn limits(&self) -> Option<&TuneLimits> {
        self.limits.as_deref()
    }

    pub(super) fn shared_limits(&self) -> Option<Arc<TuneLimits>> {
        self.limits.clone()
    }

    /// Returns its figures.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Panicked`], if the executor is a user's and panics.
    pub fn snapshot(&self) -> Result<Snapshot, ChangeError> {
        self.call(|executor| executor.snapshot())
    }

    /// Returns its threads and what they do.
    ///
    /// # Errors
    ///
    /// [`ChangeError::Panicked`], if the executor is a user's and panics.
    pub fn threads(&self) -> Result<Vec<WorkerThread>, ChangeError> {
        self.call(|executor| executor.threads())
    }

    /// Calls a method of the executor, which may be a user's.
    pub(super) fn call<R>(&self, f: impl FnOnce(&dyn Monitored) -> R) -> Result<R, ChangeError> {
        caught(|| f(&*self.executor))
    }
}

impl fmt::Debug for RegisteredPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RegisteredPool").field(&self.name).finish()
    }
}

fn caught<R>(f: impl FnOnce() -> R) -> Result<R, ChangeError> {
    catch(f).map_err(|payload| {
        discard_payload(payload);
        ChangeError::Panicked
    })
}
