//! How many jobs are queued and running, and who waits until there are none.
//!
//! Both counts are in one word, so that a job that starts is never counted twice or not at all. The word becomes
//! zero only under the lock, together with the generation of the joins. So every change of the generation is a moment
//! without work that lies after the start of each join that waits: a join that reads the generation and then
//! sees it change has not seen a moment that passed before it began.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The lower bits count running jobs. There are never as many threads.
const RUNNING_BITS: u32 = 24;
const RUNNING: u64 = 1;
const QUEUED: u64 = 1 << RUNNING_BITS;

/// The jobs of a pool that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Workload {
    jobs: AtomicU64,
    panics: AtomicUsize,
    joins: Mutex<Joins>,
    idle: Condvar,
}

/// The threads that join.
#[derive(Debug, Default)]
struct Joins {
    /// How often the pool was left without work.
    generation: u64,
    waiting: usize,
}

impl Workload {
    pub(crate) fn queued(&self) -> usize {
        to_usize(self.jobs.load(Ordering::SeqCst) / QUEUED)
    }

    pub(crate) fn running(&self) -> usize {
        to_usize(self.jobs.load(Ordering::SeqCst) % QUEUED)
    }

    pub(crate) fn panics(&self) -> usize {
        self.panics.load(Ordering::SeqCst)
    }

    /// Waits until no job is queued or running.
    pub(crate) fn join(&self) {
        if self.is_idle() {
            return;
        }
        let mut joins = self.lock();
        if self.is_idle() {
            return;
        }
        joins.waiting += 1;
        let begun = joins.generation;
        while joins.generation == begun {
            let woken = self.idle.wait(joins);
            joins = woken.unwrap_or_else(PoisonError::into_inner);
        }
        joins.waiting -= 1;
    }

    fn is_idle(&self) -> bool {
        self.jobs.load(Ordering::SeqCst) == 0
    }

    /// Subtracts a job that has ended, or never runs.
    fn subtract(&self, job: u64) {
        let mut jobs = self.jobs.load(Ordering::SeqCst);
        while jobs != job {
            let fewer = jobs - job;
            match self
                .jobs
                .compare_exchange_weak(jobs, fewer, Ordering::SeqCst, Ordering::SeqCst)
            {
                Ok(_) => return,
                Err(now) => jobs = now,
            }
        }
        self.subtract_last(job);
    }

    /// Subtracts what looked like the last job; others may have been added since.
    fn subtract_last(&self, job: u64) {
        let mut joins = self.lock();
        if self.jobs.fetch_sub(job, Ordering::SeqCst) == job && joins.waiting > 0 {
            joins.generation = joins.generation.wrapping_add(1);
            self.idle.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Joins> {
        let lock = self.joins.lock();
        lock.unwrap_or_else(PoisonError::into_inner)
    }
}

fn to_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// A job that is queued. Counts until it starts, or is dropped because it never will.
#[derive(Debug)]
pub(crate) struct QueuedJob(Option<Arc<Workload>>);

impl QueuedJob {
    pub(crate) fn new(workload: &Arc<Workload>) -> Self {
        workload.jobs.fetch_add(QUEUED, Ordering::SeqCst);
        Self(Some(Arc::clone(workload)))
    }

    /// Counts the job as running, until the guard is dropped.
    pub(crate) fn start(mut self) -> Option<RunningJob> {
        let workload = self.0.take()?;
        workload.jobs.fetch_sub(QUEUED - RUNNING, Ordering::SeqCst);
        Some(RunningJob(workload))
    }
}

impl Drop for QueuedJob {
    fn drop(&mut self) {
        if let Some(workload) = &self.0 {
            workload.subtract(QUEUED);
        }
    }
}

/// A job that runs.
#[derive(Debug)]
pub(crate) struct RunningJob(Arc<Workload>);

impl Drop for RunningJob {
    /// Counts a panic before the end of the job, so that whoever joins sees it.
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.panics.fetch_add(1, Ordering::SeqCst);
        }
        self.0.subtract(RUNNING);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass::interrupt;
    use windlass::testing::{join, until};

    use super::{QueuedJob, Workload};

    #[test]
    fn a_job_counts_as_queued_then_as_running_then_not_at_all() {
        let workload = Arc::new(Workload::default());
        let job = QueuedJob::new(&workload);
        assert_eq!((workload.queued(), workload.running()), (1, 0));
        let running = job.start();
        assert_eq!((workload.queued(), workload.running()), (0, 1));
        drop(running);
        assert_eq!((workload.queued(), workload.running()), (0, 0));
    }

    #[test]
    fn a_job_that_is_dropped_unrun_does_not_hold_up_a_join() {
        let workload = Arc::new(Workload::default());
        drop(QueuedJob::new(&workload));
        workload.join();
        assert_eq!(workload.queued(), 0);
    }

    #[test]
    fn threads_that_join_return_together_though_a_job_follows_at_once() {
        let workload = Arc::new(Workload::default());
        let running = QueuedJob::new(&workload).start();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let workload = Arc::clone(&workload);
                interrupt::spawn(move || workload.join())
            })
            .collect();
        until("all wait", || workload.lock().waiting == 4);
        drop(running);
        let follows = QueuedJob::new(&workload);
        for thread in threads {
            join("a thread that joins", thread);
        }
        assert_eq!(workload.queued(), 1);
        drop(follows);
    }

    #[test]
    fn a_join_does_not_end_while_one_of_two_jobs_is_left() {
        let workload = Arc::new(Workload::default());
        let (first, second) = (QueuedJob::new(&workload), QueuedJob::new(&workload));
        let thread = {
            let workload = Arc::clone(&workload);
            interrupt::spawn(move || workload.join())
        };
        until("it waits", || workload.lock().waiting == 1);
        drop(first.start());
        assert_eq!(workload.lock().waiting, 1);
        assert_eq!(workload.lock().generation, 0);
        drop(second);
        join("the thread that joins", thread);
    }
}
