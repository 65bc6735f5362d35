//! Scopes and groups while tasks are added, awaited and cancelled, and their time is up.

use std::time::Duration;

use super::{Rendezvous, block_on, spawn};
use crate::executor::{Executor, ExecutorService, RejectedExecution};
use crate::pool::ThreadPoolExecutor;
use crate::submit::Submit;
use crate::sync::clock::TestClock;
use crate::sync::{Mutex, model};
use crate::task::{Cancellation, ExecutionError, Task};

const SECOND: Duration = Duration::from_secs(1);

/// An executor that keeps its tasks.
#[derive(Default)]
struct Keeps(Mutex<Vec<Task>>);

impl Executor for Keeps {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        self.0.lock().push(task);
        Ok(())
    }
}

/// Nobody waits inside the scope but for a waker, and the clock goes on whenever it does: a task that was
/// spawned before the end of the time is cancelled by it, and a later one at once.
///
/// WL-139
#[test]
fn a_group_whose_time_is_up_ends_its_tasks_though_nobody_waits() {
    model(|| {
        let clock = TestClock::new();
        let theirs = clock.clone();
        let executor = Keeps::default();
        let group = executor.group().timeout(SECOND);
        clock.enter(|| {
            group.scope(|s| {
                let passes = spawn(move || theirs.advance(SECOND));
                for _ in 0..2 {
                    let ended = block_on(s.spawn(|| ()).unwrap());
                    assert!(matches!(
                        ended,
                        Err(ExecutionError::Cancelled(Cancellation::TimedOut))
                    ));
                }
                passes.join().unwrap();
            });
        });
    });
}

/// The only worker of a pool waits for the closure of a cancelled task, which spawns a task on that pool.
///
/// WL-456
#[test]
fn a_late_task_of_a_scope_is_run_by_the_worker_that_waits_for_the_scope() {
    model(|| {
        let fixed = || ThreadPoolExecutor::builder().core_pool_size(1).build();
        let (own, other) = (fixed().unwrap(), fixed().unwrap());
        let (inner, elsewhere, meeting) = (own.clone(), other.clone(), Rendezvous::of(2));
        let owner = own.submit(move || {
            inner.scope(|s| {
                let cancelled = elsewhere.task().spawn(s, || {
                    meeting.arrive();
                    drop(inner.task().spawn(s, || ()).unwrap());
                });
                meeting.arrive();
                cancelled.unwrap().cancel();
            });
        });
        owner.unwrap().join().unwrap();
        own.close();
        other.close();
    });
}
