//! The handle of a job.

use windlass::task::CancelToken;

/// A handle to a job, which can cancel it. Dropping it leaves the job as it is.
///
/// ```
/// # use windlass_scheduled_thread_pool as scheduled_thread_pool;
/// use scheduled_thread_pool::ScheduledThreadPool;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let reminder = pool.execute_after(Duration::from_secs(3_600), || println!("an hour has passed"));
/// reminder.cancel();
/// ```
#[derive(Debug)]
pub struct JobHandle(pub(crate) CancelToken);

impl JobHandle {
    /// Cancels the job: it does not start again. A run that has started goes on to its end.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
