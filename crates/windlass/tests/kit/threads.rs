//! A counting thread factory and blocking tasks, for tests of pools.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use windlass::ExecutorService;
use windlass::ThreadPoolExecutor;
use windlass::interrupt;
use windlass::testing::{Gate, PATIENCE, until};
use windlass::thread_factory::{ThreadBody, ThreadFactory};

/// A factory that counts its threads; shared by cloning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counting(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    created: AtomicUsize,
    live: AtomicUsize,
}

impl Counting {
    /// Returns how many threads it has created, named `counted-1` and so on.
    pub(crate) fn created(&self) -> usize {
        self.0.created.load(Ordering::SeqCst)
    }

    /// Returns how many of them have not ended.
    pub(crate) fn live(&self) -> usize {
        self.0.live.load(Ordering::SeqCst)
    }

    /// Waits until exactly this many have not ended.
    pub(crate) fn await_live(&self, count: usize) {
        until(&format!("{count} live threads"), || self.live() == count);
    }
}

impl ThreadFactory for Counting {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let number = self.0.created.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.live.fetch_add(1, Ordering::SeqCst);
        let counts = Arc::clone(&self.0);
        let builder = thread::Builder::new().name(format!("counted-{number}"));
        let thread = builder.spawn(move || {
            body.run();
            counts.live.fetch_sub(1, Ordering::SeqCst);
        });
        thread.map(drop)
    }
}

/// Bodies of tasks that block until they are released; shared by cloning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blockers(Arc<Blocked>);

#[derive(Debug, Default)]
struct Blocked {
    gate: Gate,
    started: AtomicUsize,
    ended: AtomicUsize,
    interrupted: AtomicUsize,
}

impl Blockers {
    /// Returns one that blocks whatever interrupts come; they are counted at its end.
    pub(crate) fn body(&self) -> impl FnOnce() + Send + 'static {
        let blocked = Arc::clone(&self.0);
        move || {
            blocked.started.fetch_add(1, Ordering::SeqCst);
            blocked.gate.pass_uninterruptibly();
            if interrupt::is_interrupted() {
                blocked.interrupted.fetch_add(1, Ordering::SeqCst);
            }
            blocked.ended.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Waits until at least this many have started.
    pub(crate) fn await_started(&self, count: usize) {
        until(&format!("{count} started blockers"), || {
            self.0.started.load(Ordering::SeqCst) >= count
        });
    }

    /// Lets all of them end, now and later.
    pub(crate) fn release(&self) {
        self.0.gate.open();
    }

    /// Returns how many have ended.
    pub(crate) fn ended(&self) -> usize {
        self.0.ended.load(Ordering::SeqCst)
    }

    /// Returns how many were interrupted when they ended.
    pub(crate) fn interrupted(&self) -> usize {
        self.0.interrupted.load(Ordering::SeqCst)
    }
}

/// Waits until exactly this many workers wait for a task.
pub(crate) fn await_idle(pool: &ThreadPoolExecutor, count: usize) {
    until(&format!("{count} idle workers"), || idle(pool) == count);
}

/// Returns how many workers wait for a task.
pub(crate) fn idle(pool: &ThreadPoolExecutor) -> usize {
    pool.queue().waiting().unwrap_or_default().takers
}

/// Waits until the pool has exactly this many workers.
pub(crate) fn await_size(pool: &ThreadPoolExecutor, count: usize) {
    until(&format!("a pool of {count}"), || pool.pool_size() == count);
}

/// Shuts the pool down and waits for termination.
pub(crate) fn finish(pool: &ThreadPoolExecutor) {
    pool.shutdown();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true), "{pool:?}");
}

/// Also keeps what one test file does not use from being called dead.
#[test]
fn the_kit_counts_threads_and_blockers() {
    use windlass::Submit;
    let (threads, blockers) = (Counting::default(), Blockers::default());
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .thread_factory(threads.clone())
        .build()
        .unwrap();
    pool.execute(blockers.body()).unwrap();
    blockers.await_started(1);
    assert_eq!((threads.created(), threads.live(), idle(&pool)), (1, 1, 0));
    blockers.release();
    await_idle(&pool, 1);
    await_size(&pool, 1);
    finish(&pool);
    threads.await_live(0);
    assert_eq!((blockers.ended(), blockers.interrupted()), (1, 0));
}
