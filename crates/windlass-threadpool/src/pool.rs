//! The pool.

use std::fmt;
use std::sync::Arc;

use windlass::pool::{Patch, ThreadPoolExecutor};
use windlass::prelude::Submit as _;

use crate::builder::{Builder, processors};
use crate::workload::{QueuedJob, Workload};

/// A pool of threads that run jobs, in the order in which they come.
///
/// A clone is another handle to the same pool, and two handles are equal if they are of the same pool. When the
/// last one is dropped, the threads run what is queued and end; the drop does not wait for them.
///
/// ```
/// # use windlass_threadpool as threadpool;
/// use std::sync::{Arc, Barrier};
/// use threadpool::ThreadPool;
///
/// // Jobs that wait for each other need a thread each.
/// let pool = ThreadPool::new(5);
/// let all_here = Arc::new(Barrier::new(5 + 1));
/// for _ in 0..5 {
///     let all_here = Arc::clone(&all_here);
///     pool.execute(move || {
///         all_here.wait();
///     });
/// }
/// all_here.wait();
/// pool.join();
/// assert_eq!((pool.queued_count(), pool.active_count()), (0, 0));
/// ```
#[derive(Clone)]
pub struct ThreadPool {
    executor: ThreadPoolExecutor,
    /// Of the jobs too, which must not keep the executor alive.
    workload: Arc<Workload>,
    name: Option<Arc<str>>,
}

impl ThreadPool {
    pub(crate) fn new_on(executor: ThreadPoolExecutor, name: Option<String>) -> Self {
        Self {
            executor,
            workload: Arc::default(),
            name: name.map(Arc::from),
        }
    }

    /// Creates a pool of this many threads.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use threadpool::ThreadPool;
    ///
    /// let pool = ThreadPool::new(4);
    /// assert_eq!(pool.max_count(), 4);
    /// ```
    #[must_use]
    pub fn new(num_threads: usize) -> Self {
        Builder::new().num_threads(num_threads).build()
    }

    /// Creates a pool of this many threads, each of which has the name `name`.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use std::thread;
    /// use threadpool::ThreadPool;
    ///
    /// let pool = ThreadPool::with_name("worker".into(), 2);
    /// pool.execute(|| assert_eq!(thread::current().name(), Some("worker")));
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 0);
    /// ```
    #[must_use]
    pub fn with_name(name: String, num_threads: usize) -> Self {
        Builder::new()
            .num_threads(num_threads)
            .thread_name(name)
            .build()
    }

    /// Creates a pool as [`with_name`](Self::with_name) does.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    #[deprecated(since = "0.1.0", note = "use ThreadPool::with_name")]
    #[must_use]
    pub fn new_with_name(name: String, num_threads: usize) -> Self {
        Self::with_name(name, num_threads)
    }

    /// Runs `job` on a thread of the pool, after the jobs that were submitted before it.
    ///
    /// A panic of the job is counted, and ends nothing but the job.
    ///
    /// # Panics
    ///
    /// Panics if the job is rejected: the [`executor`](Self::executor) was shut down, or the system has no
    /// thread left and the pool has none.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use threadpool::ThreadPool;
    ///
    /// let pool = ThreadPool::new(2);
    /// for word in ["one", "two", "three", "four"] {
    ///     pool.execute(move || println!("{word}"));
    /// }
    /// pool.join();
    /// ```
    pub fn execute<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        let queued = QueuedJob::new(&self.workload);
        let submitted = self.executor.execute(move || {
            let _running = queued.start();
            job();
        });
        if let Err(rejected) = submitted {
            panic!("the job was rejected: {rejected}");
        }
    }

    /// Returns the number of jobs that wait for a thread.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use std::sync::{Arc, Barrier};
    /// use threadpool::ThreadPool;
    ///
    /// let pool = ThreadPool::new(2);
    /// let (started, done) = (Arc::new(Barrier::new(3)), Arc::new(Barrier::new(3)));
    /// for job in 0..10 {
    ///     let (started, done) = (Arc::clone(&started), Arc::clone(&done));
    ///     pool.execute(move || {
    ///         if job < 2 {
    ///             started.wait();
    ///             done.wait();
    ///         }
    ///     });
    /// }
    /// started.wait(); // two jobs run now, and wait for us
    /// assert_eq!((pool.active_count(), pool.queued_count()), (2, 8));
    /// done.wait();
    /// ```
    #[must_use]
    pub fn queued_count(&self) -> usize {
        self.workload.queued()
    }

    /// Returns the number of jobs that run. See [`queued_count`](Self::queued_count) for an example.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.workload.running()
    }

    /// Returns how many jobs the pool runs at a time, at most.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// let mut pool = threadpool::ThreadPool::new(4);
    /// assert_eq!(pool.max_count(), 4);
    /// pool.set_num_threads(8);
    /// assert_eq!(pool.max_count(), 8);
    /// ```
    #[must_use]
    pub fn max_count(&self) -> usize {
        self.executor.maximum_pool_size()
    }

    /// Returns how many jobs have panicked. A job that has ended is in it: after [`join`](Self::join) the
    /// count is exact.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// let pool = threadpool::ThreadPool::new(4);
    /// for n in 0..10 {
    ///     pool.execute(move || assert!(n % 2 == 1, "{n} is even"));
    /// }
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 5);
    /// ```
    #[must_use]
    pub fn panic_count(&self) -> usize {
        self.workload.panics()
    }

    /// Changes the number of threads, as [`set_num_threads`](Self::set_num_threads) does.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    #[deprecated(since = "0.1.0", note = "use ThreadPool::set_num_threads")]
    pub fn set_threads(&mut self, num_threads: usize) {
        self.set_num_threads(num_threads);
    }

    /// Changes the number of threads, of all handles to the pool.
    ///
    /// New threads start at once. Surplus ones end when their job does, and idle ones now; no job is
    /// aborted.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use threadpool::ThreadPool;
    ///
    /// let mut pool = ThreadPool::new(4);
    /// for _ in 0..10 {
    ///     pool.execute(|| { /* much to do */ });
    /// }
    /// pool.set_num_threads(2); // from now on, two at a time
    /// for _ in 0..10 {
    ///     pool.execute(|| { /* less urgent */ });
    /// }
    /// pool.join();
    /// ```
    pub fn set_num_threads(&mut self, num_threads: usize) {
        assert!(num_threads >= 1, "num_threads must be positive");
        let sizes = Patch::new()
            .core_pool_size(num_threads)
            .maximum_pool_size(num_threads);
        if let Err(error) = self.executor.reconfigure(sizes) {
            panic!("no pool of {num_threads} threads: {error}");
        }
        self.executor.prestart_all_core_threads();
    }

    /// Waits until no job is queued or running.
    ///
    /// Returns at once if there is none. All threads that wait when that moment comes return, even if there
    /// are new jobs by the time that they are awake.
    ///
    /// # Deadlocks
    ///
    /// A job that joins its own pool waits for itself.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use threadpool::ThreadPool;
    ///
    /// let pool = ThreadPool::new(8);
    /// let sum = Arc::new(AtomicUsize::new(0));
    /// for n in 0..42 {
    ///     let sum = Arc::clone(&sum);
    ///     pool.execute(move || {
    ///         sum.fetch_add(n, Ordering::Relaxed);
    ///     });
    /// }
    /// pool.join();
    /// assert_eq!(sum.load(Ordering::Relaxed), 861);
    /// ```
    pub fn join(&self) {
        self.workload.join();
    }

    /// Returns the Windlass pool that runs the jobs: for results, time limits, statistics, shutdown.
    ///
    /// Its own tasks share the threads, but do not count here: `join` does not wait for them.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use windlass::prelude::*;
    ///
    /// let pool = threadpool::ThreadPool::new(2);
    /// pool.execute(|| println!("as before"));
    /// let length = pool.executor().submit(|| "with a result".len()).unwrap();
    /// assert_eq!(length.join().unwrap(), 13);
    /// pool.join();
    /// println!("{:?}", pool.executor().stats());
    /// ```
    #[must_use]
    pub const fn executor(&self) -> &ThreadPoolExecutor {
        &self.executor
    }
}

/// Creates a pool with as many threads as there are processors.
///
/// ```
/// # use windlass_threadpool as threadpool;
/// let pool = threadpool::ThreadPool::default();
/// assert!(pool.max_count() >= 1);
/// ```
impl Default for ThreadPool {
    fn default() -> Self {
        Self::new(processors())
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("name", &self.name)
            .field("queued_count", &self.queued_count())
            .field("active_count", &self.active_count())
            .field("max_count", &self.max_count())
            .finish()
    }
}

impl PartialEq for ThreadPool {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.workload, &other.workload)
    }
}

impl Eq for ThreadPool {}
