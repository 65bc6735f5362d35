//! The creation of worker threads.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{arc_dyn, thread};
use crate::unwind::ignore_panic;

/// The code that a new thread runs.
pub struct ThreadBody(Box<dyn FnOnce() + Send>);

impl ThreadBody {
    pub(crate) fn new(body: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(body))
    }

    /// Runs the code, on the thread that was created for it.
    pub fn run(self) {
        (self.0)();
    }
}

impl fmt::Debug for ThreadBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThreadBody(..)")
    }
}

/// An object that creates the threads of a pool.
///
/// If it returns an error or panics, the pool continues with the threads that it has. Without any, it
/// rejects the task with that error.
///
/// ```
/// use std::io;
/// use windlass::thread_factory::{ThreadBody, ThreadFactory};
///
/// #[derive(Debug)]
/// struct Plain;
///
/// impl ThreadFactory for Plain {
///     fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
///         std::thread::Builder::new().spawn(|| body.run()).map(drop)
///     }
/// }
/// ```
pub trait ThreadFactory: Send + Sync + fmt::Debug {
    /// Starts a thread that runs `body`.
    ///
    /// If the body is dropped after this has returned `Ok`, the pool continues without the thread.
    /// If it is leaked, neither run nor dropped, the pool waits for it and never terminates.
    ///
    /// # Errors
    ///
    /// The reason why no thread was created. A body that is dropped counts as an error too.
    #[doc(alias = "newThread")]
    fn new_thread(&self, body: ThreadBody) -> io::Result<()>;

    /// Returns the common prefix of the names of its threads, if there is one. A pool without a
    /// name of its own takes it as its name.
    fn name_prefix(&self) -> Option<&str> {
        None
    }
}

impl<F: ThreadFactory + ?Sized> ThreadFactory for Arc<F> {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        (**self).new_thread(body)
    }

    fn name_prefix(&self) -> Option<&str> {
        (**self).name_prefix()
    }
}

/// Converts the factory into the form that the pools store.
pub(crate) fn shared(factory: impl ThreadFactory + 'static) -> Arc<dyn ThreadFactory> {
    arc_dyn(factory, |factory| {
        Arc::new(factory) as Arc<dyn ThreadFactory>
    })
}

/// Returns the name of a pool that has none of its own: the factory's prefix, or `pool-N`.
pub(crate) fn pool_name(factory: &dyn ThreadFactory) -> Arc<str> {
    factory
        .name_prefix()
        .map_or_else(|| next_name("pool"), Arc::from)
}

fn next_name(kind: &str) -> Arc<str> {
    let number = NEXT_POOL.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{kind}-{number}").into()
}

/// The next number of a default name, for the `N` in `pool-N-thread-M`.
static NEXT_POOL: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

type OnThread = Arc<dyn Fn() + Send + Sync>;

/// A factory of threads named `pool-N-thread-M`, or with another prefix.
///
/// `N` counts the factories of the process, `M` the threads of this factory, from one, in the
/// order of their creation. Linux shows the first 15 bytes of a name.
///
/// ```
/// use windlass::thread_factory::DefaultThreadFactory;
///
/// let factory = DefaultThreadFactory::named("io")
///     .stack_size(256 * 1024)
///     .on_start(|| { /* set up thread-locals */ })
///     .on_stop(|| { /* tear them down */ });
/// # drop(factory);
/// ```
#[derive(Clone)]
pub struct DefaultThreadFactory {
    prefix: Arc<str>,
    /// The part of the name between the prefix and the number.
    kind: &'static str,
    created: Arc<AtomicU64>,
    stack_size: Option<usize>,
    on_start: Option<OnThread>,
    on_stop: Option<OnThread>,
    #[cfg(feature = "priority")]
    priority: Option<thread_priority::ThreadPriority>,
    #[cfg(feature = "affinity")]
    cores: Option<Arc<[core_affinity::CoreId]>>,
}

impl DefaultThreadFactory {
    /// Creates a factory of threads named `pool-N-thread-M`.
    #[must_use]
    pub fn new() -> Self {
        Self::with_prefix(next_name("pool"))
    }

    /// Creates a factory of threads named `ForkJoinPool-N-worker-M`.
    pub(crate) fn fork_join() -> Self {
        Self {
            kind: "worker",
            ..Self::with_prefix(next_name("ForkJoinPool"))
        }
    }

    /// Creates a factory of threads named `NAME-worker-M`.
    pub(crate) fn fork_join_named(name: &str) -> Self {
        Self {
            kind: "worker",
            ..Self::with_prefix(name.into())
        }
    }

    /// Creates a factory of threads named `NAME-thread-M`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::with_prefix(name.into())
    }

    fn with_prefix(prefix: Arc<str>) -> Self {
        Self {
            prefix,
            kind: "thread",
            created: Arc::new(AtomicU64::new(0)),
            stack_size: None,
            on_start: None,
            on_stop: None,
            #[cfg(feature = "priority")]
            priority: None,
            #[cfg(feature = "affinity")]
            cores: None,
        }
    }

    /// Sets the size of the stack, in bytes.
    #[must_use]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets a function that each new thread calls before anything else. Its panics are ignored.
    #[must_use]
    pub fn on_start(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_start = Some(Arc::new(f));
        self
    }

    /// Sets a function that each thread calls after everything else. Its panics are ignored.
    #[must_use]
    pub fn on_stop(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_stop = Some(Arc::new(f));
        self
    }

    /// Sets the priority of the threads, from 0 to 99; a larger number counts as 99.
    ///
    /// Has no effect where the system does not allow it.
    #[cfg(feature = "priority")]
    #[must_use]
    pub fn priority(mut self, level: u8) -> Self {
        let level = thread_priority::ThreadPriorityValue::try_from(level.min(99));
        self.priority = level
            .ok()
            .map(thread_priority::ThreadPriority::Crossplatform);
        self
    }

    /// Pins the threads to these cores in turn, by number; numbers of cores that do not exist are
    /// ignored.
    ///
    /// Has no effect where the system does not allow it.
    #[cfg(feature = "affinity")]
    #[must_use]
    pub fn affinity(mut self, cores: impl IntoIterator<Item = usize>) -> Self {
        // Checked against the system's list: pinning to a core that does not exist is undefined.
        let known = core_affinity::get_core_ids().unwrap_or_default();
        let cores = cores.into_iter().filter_map(|id| {
            let core = core_affinity::CoreId { id };
            known.contains(&core).then_some(core)
        });
        let cores: Vec<_> = cores.collect();
        self.cores = (!cores.is_empty()).then(|| cores.into());
        self
    }

    /// Applies the settings that only the thread itself can apply.
    fn set_up_thread(&self, number: u64) {
        #[cfg(feature = "priority")]
        if let Some(priority) = self.priority {
            let _ = thread_priority::set_current_thread_priority(priority);
        }
        #[cfg(feature = "affinity")]
        if let Some(cores) = &self.cores {
            let turn = usize::try_from(number - 1).unwrap_or(0) % cores.len();
            core_affinity::set_for_current(cores[turn]);
        }
        let _ = number;
        if let Some(on_start) = &self.on_start {
            ignore_panic(|| on_start());
        }
    }
}

impl Default for DefaultThreadFactory {
    fn default() -> Self {
        Self::new()
    }
}

impl ThreadFactory for DefaultThreadFactory {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let number = self.created.fetch_add(1, Ordering::Relaxed) + 1;
        let mut builder =
            thread::Builder::new().name(format!("{}-{}-{number}", self.prefix, self.kind));
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        let this = self.clone();
        let thread = builder.spawn(move || {
            this.set_up_thread(number);
            body.run();
            if let Some(on_stop) = &this.on_stop {
                ignore_panic(|| on_stop());
            }
        });
        thread.map(drop)
    }

    fn name_prefix(&self) -> Option<&str> {
        Some(&self.prefix)
    }
}

impl fmt::Debug for DefaultThreadFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultThreadFactory")
            .field("prefix", &self.prefix)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
