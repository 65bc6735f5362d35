//! The configuration of a pool.

use std::thread;

use windlass::pool::ThreadPoolExecutor;

use crate::pool::ThreadPool;
use crate::threads::Threads;

/// The configuration of a [`ThreadPool`]: how many threads, their name, the size of their stacks.
///
/// ```
/// # use windlass_threadpool as threadpool;
/// let pool = threadpool::Builder::new()
///     .num_threads(8)
///     .thread_name("resize".into())
///     .thread_stack_size(8_000_000)
///     .build();
/// assert_eq!(pool.max_count(), 8);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Builder {
    num_threads: Option<usize>,
    thread_name: Option<String>,
    thread_stack_size: Option<usize>,
}

impl Builder {
    /// Creates a builder with the default configuration.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// let pool = threadpool::Builder::new().build();
    /// assert!(pool.max_count() >= 1);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of threads; as many as there are processors unless set.
    ///
    /// # Panics
    ///
    /// Panics if `num_threads` is 0.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// let pool = threadpool::Builder::new().num_threads(8).build();
    /// for _ in 0..100 {
    ///     pool.execute(|| println!("one of eight threads at work"));
    /// }
    /// pool.join();
    /// ```
    #[must_use]
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        assert!(num_threads > 0, "num_threads must be positive");
        self.num_threads = Some(num_threads);
        self
    }

    /// Sets the name of every thread. Threads have no name unless set.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// use std::thread;
    ///
    /// let pool = threadpool::Builder::new().thread_name("render".into()).build();
    /// pool.execute(|| assert_eq!(thread::current().name(), Some("render")));
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 0);
    /// ```
    #[must_use]
    pub fn thread_name(mut self, name: String) -> Self {
        self.thread_name = Some(name);
        self
    }

    /// Sets the size of every thread's stack, in bytes; the default of [`std::thread`] unless set.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// let pool = threadpool::Builder::new().thread_stack_size(4_000_000).build();
    /// pool.execute(|| {
    ///     let deep = [0_u8; 3_000_000];
    ///     assert_eq!(std::hint::black_box(&deep).len(), 3_000_000);
    /// });
    /// pool.join();
    /// assert_eq!(pool.panic_count(), 0);
    /// ```
    #[must_use]
    pub fn thread_stack_size(mut self, size: usize) -> Self {
        self.thread_stack_size = Some(size);
        self
    }

    /// Creates the pool and starts its threads.
    ///
    /// # Panics
    ///
    /// Panics if not a single thread can be started.
    ///
    /// ```
    /// # use windlass_threadpool as threadpool;
    /// let pool = threadpool::Builder::new().num_threads(2).build();
    /// pool.execute(|| println!("hello"));
    /// pool.join();
    /// ```
    #[must_use]
    pub fn build(self) -> ThreadPool {
        let size = self.num_threads.unwrap_or_else(processors);
        let threads = Threads {
            name: self.thread_name.clone(),
            stack_size: self.thread_stack_size,
        };
        let executor = ThreadPoolExecutor::builder()
            .core_pool_size(size)
            .maximum_pool_size(size)
            .thread_factory(threads)
            .build()
            .unwrap_or_else(|error| panic!("no pool of {size} threads: {error}"));
        let started = executor.prestart_all_core_threads();
        assert!(started > 0, "no thread could be started");
        ThreadPool::new_on(executor, self.thread_name)
    }
}

/// Returns the number of processors that the process may use.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
