//! What happens to tasks that a pool cannot take, under each policy.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use recording::{Blocker, HookFns, Log, finish, fixed};
use windlass::pool::{
    AbortPolicy, CallerRunsPolicy, DiscardOldestPolicy, DiscardPolicy, RejectedExecutionHandler,
    Saturated,
};
use windlass::queue::{ArrayBlockingQueue, BlockingQueue, SynchronousQueue};
use windlass::task::{Cancellation, ExecutionError, Task, TaskHandle};
use windlass::testing::until;
use windlass::{ExecutorService, Submit, ThreadPoolExecutor, interrupt};
use windlass::{RejectedExecution, RejectionReason};

/// A pool of one worker with room for one task in its queue.
fn narrow(handler: impl RejectedExecutionHandler + 'static) -> ThreadPoolExecutor {
    let queue = ArrayBlockingQueue::new(1).unwrap();
    let pool = fixed(1).work_queue(queue).rejection_handler(handler);
    pool.build().unwrap()
}

/// The same, with its worker held and its queue full; and what the queued task notes when it runs.
fn full(
    handler: impl RejectedExecutionHandler + 'static,
) -> (ThreadPoolExecutor, Blocker, TaskHandle<()>) {
    let pool = narrow(handler);
    let blocker = Blocker::occupy(&pool, 1);
    let queued = pool.submit(|| ()).unwrap();
    (pool, blocker, queued)
}

fn fate(mut handle: TaskHandle<()>) -> Option<Cancellation> {
    match handle.get() {
        Err(ExecutionError::Cancelled(why)) => Some(why),
        _ => None,
    }
}

/// TPE-130
#[test]
fn abort_hands_the_task_back_after_shutdown() {
    let pool = narrow(AbortPolicy);
    pool.shutdown();
    let log = Log::new();
    let theirs = log.clone();
    let refused = pool.execute(move || theirs.record("ran")).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Shutdown);
    assert!(log.entries().is_empty());
    refused.into_task().run();
    assert_eq!(log.entries(), ["ran"]);
}

/// TPE-130
#[test]
fn abort_hands_the_task_back_on_saturation() {
    let (pool, blocker, _queued) = full(AbortPolicy);
    let refused = pool.submit(|| 11).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Saturated);
    let (task, mut handle) = refused.into_parts();
    assert!(!handle.is_done());
    task.run();
    assert_eq!(handle.get().unwrap(), 11);
    blocker.release();
    finish(&pool);
    assert_eq!(pool.rejected_count(), 1);
}

/// TPE-131
#[test]
fn caller_runs_runs_the_task_in_the_caller_before_it_returns() {
    let (pool, blocker, queued) = full(CallerRunsPolicy);
    for _ in 0..4 {
        let mut handle = pool.submit(|| thread::current().id()).unwrap();
        let ran_on = handle.try_get().unwrap().unwrap();
        assert_eq!(ran_on, thread::current().id());
    }
    assert!(!queued.is_done());
    blocker.release();
    finish(&pool);
}

/// TPE-132, TPE-134, TPE-136
#[test]
fn the_quiet_policies_drop_the_task_after_shutdown() {
    let policies: [(Arc<dyn RejectedExecutionHandler>, Cancellation); 3] = [
        (Arc::new(CallerRunsPolicy), Cancellation::Shutdown),
        (Arc::new(DiscardPolicy), Cancellation::Discarded),
        (Arc::new(DiscardOldestPolicy), Cancellation::Shutdown),
    ];
    for (policy, reason) in policies {
        let (pool, blocker, mut queued) = full(AbortPolicy);
        pool.set_rejection_handler(policy);
        pool.shutdown();
        let log = Log::new();
        let theirs = log.clone();
        let dropped = pool.submit(move || theirs.record("ran")).unwrap();
        assert_eq!(fate(dropped), Some(reason));
        blocker.release();
        finish(&pool);
        assert_eq!(log.entries(), [""; 0]);
        queued.get().unwrap();
    }
}

#[test]
fn a_handler_of_the_users_can_delegate_to_a_stock_policy() {
    let log = Log::new();
    let theirs = log.clone();
    let logging = move |task: Task, pool: &dyn Saturated| {
        theirs.record(pool.reason());
        CallerRunsPolicy.rejected(task, pool)
    };
    let (pool, blocker, _queued) = full(logging);
    let ran_on = pool.submit(|| thread::current().id()).unwrap().get();
    assert_eq!(ran_on.unwrap(), thread::current().id());
    assert_eq!(log.entries(), [RejectionReason::Saturated]);
    blocker.release();
    finish(&pool);
}

/// TPE-133
#[test]
fn discard_drops_the_new_task() {
    let (pool, blocker, mut queued) = full(DiscardPolicy);
    for _ in 0..4 {
        let dropped = pool.submit(|| ()).unwrap();
        assert_eq!(fate(dropped), Some(Cancellation::Discarded));
    }
    assert!(!queued.is_done());
    blocker.release();
    queued.get().unwrap();
    finish(&pool);
}

/// TPE-135
#[test]
fn discard_oldest_gives_up_the_head_for_the_new_task() {
    let (pool, blocker, oldest) = full(DiscardOldestPolicy);
    let mut newest = pool.submit(|| ()).unwrap();
    let mut queued = Vec::new();
    pool.queue().for_each(&mut |task| queued.push(task.id()));
    assert_eq!(queued, [newest.id()]);
    assert_eq!(fate(oldest), Some(Cancellation::Evicted));
    blocker.release();
    newest.get().unwrap();
    finish(&pool);
    assert_eq!(pool.completed_task_count(), 2);
}

/// A view of a pool that is not saturated, for handlers that are called directly.
struct Fresh<'a>(&'a ThreadPoolExecutor);

impl Saturated for Fresh<'_> {
    fn is_shutdown(&self) -> bool {
        self.0.is_shutdown()
    }
    fn queue(&self) -> &dyn BlockingQueue<Task> {
        self.0.queue()
    }
    fn try_execute(&self, task: Task) -> Result<(), Task> {
        Err(task)
    }
    fn execute_when_possible(
        &self,
        task: Task,
        _timeout: Option<std::time::Duration>,
    ) -> Result<(), RejectedExecution> {
        Err(RejectedExecution::new(task, RejectionReason::Other))
    }
    fn describe(&self) -> String {
        self.0.stats().to_string()
    }
}

/// TPE-137
#[test]
fn called_directly_each_policy_does_what_it_is_named_for() {
    let pool = narrow(AbortPolicy);
    let handler = pool.rejection_handler();
    let (view, log) = (Fresh(&pool), Log::new());
    let task = || {
        let log = log.clone();
        Task::new(move || log.record(thread::current().id()))
    };
    assert!(AbortPolicy.rejected(task(), &view).is_err());
    DiscardPolicy.rejected(task(), &view).unwrap();
    DiscardOldestPolicy.rejected(task(), &view).unwrap();
    assert!(log.entries().is_empty());
    CallerRunsPolicy.rejected(task(), &view).unwrap();
    assert_eq!(log.entries(), [thread::current().id()]);
    assert_eq!((pool.task_count(), pool.queue().len()), (0, 0));
    assert!(Arc::ptr_eq(&handler, &pool.rejection_handler()));
}

/// TPE-138
#[test]
fn a_task_run_by_its_caller_skips_hooks_and_counters() {
    let log = Log::new();
    let (before, after) = (log.clone(), log.clone());
    let pool = fixed(1)
        .work_queue(SynchronousQueue::new())
        .rejection_handler(CallerRunsPolicy)
        .hooks(
            HookFns::new()
                .before(move |task| before.record(task.id()))
                .after(move |task, _| after.record(task.id())),
        )
        .build()
        .unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let counted = (pool.task_count(), log.entries());
    pool.execute(|| ()).unwrap();
    assert_eq!((pool.task_count(), log.entries()), counted);
    blocker.release();
    finish(&pool);
}

/// TPE-138
#[test]
fn a_task_run_by_its_caller_fails_there_and_sees_its_interrupt() {
    let (pool, blocker, _queued) = full(CallerRunsPolicy);
    let failed = catch_unwind(AssertUnwindSafe(|| pool.execute(|| panic!("mine"))));
    assert_eq!(failed.unwrap_err().downcast_ref(), Some(&"mine"));
    interrupt::current().interrupt();
    let mut seen = pool.submit(interrupt::is_interrupted).unwrap();
    assert!(interrupt::interrupted());
    assert!(seen.get().unwrap());
    blocker.release();
    finish(&pool);
}

/// TPE-139
#[test]
fn discard_oldest_with_nothing_to_evict_drops_the_new_task() {
    let pool = fixed(1).work_queue(SynchronousQueue::new());
    let pool = pool.rejection_handler(DiscardOldestPolicy).build().unwrap();
    let blocker = Blocker::occupy(&pool, 1);
    let dropped = pool.submit(|| ()).unwrap();
    assert_eq!(fate(dropped), Some(Cancellation::Discarded));
    blocker.release();
    finish(&pool);
}

/// TPE-140
#[test]
fn the_error_of_a_custom_handler_is_what_the_submitter_sees() {
    let (pool, blocker, _queued) = full(|task: Task, pool: &dyn Saturated| {
        assert!(!pool.is_shutdown());
        let refused = RejectedExecution::new(task, RejectionReason::Other);
        Err(refused.with_source("over quota"))
    });
    let refused = pool.execute(|| ()).unwrap_err();
    assert_eq!(refused.reason(), RejectionReason::Other);
    assert_eq!(refused.source().unwrap().to_string(), "over quota");
    blocker.release();
    finish(&pool);
}

/// TPE-140
#[test]
fn a_custom_handler_may_queue_the_task_itself() {
    let (pool, blocker, _queued) = full(|task: Task, pool: &dyn Saturated| {
        pool.queue().put(task).unwrap();
        Ok(())
    });
    let submitter = interrupt::spawn({
        let pool = pool.clone();
        move || pool.submit(|| 5).unwrap().get().unwrap()
    });
    until("the submitter waits", || {
        pool.queue().waiting().unwrap().putters == 1
    });
    blocker.release();
    assert_eq!(submitter.join().unwrap().unwrap(), 5);
    finish(&pool);
}

/// TPE-140
#[test]
fn a_handler_that_panics_does_so_in_the_submitter_and_harms_nobody_else() {
    let (pool, blocker, mut queued) =
        full(|_: Task, _: &dyn Saturated| -> Result<(), _> { panic!("handler") });
    let (task, handle) = Task::with_handle(|| ());
    let failed = catch_unwind(AssertUnwindSafe(|| {
        windlass::Executor::execute_task(&pool, task)
    }));
    assert_eq!(failed.unwrap_err().downcast_ref(), Some(&"handler"));
    assert_eq!(fate(handle), Some(Cancellation::Rejected));
    blocker.release();
    queued.get().unwrap();
    assert_eq!(pool.submit(|| 1).unwrap().get().unwrap(), 1);
    finish(&pool);
}

/// TPE-141
#[test]
fn the_handler_is_asked_only_when_the_pool_is_full_or_shut_down() {
    let log = Log::new();
    let theirs = log.clone();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(2)
        .work_queue(ArrayBlockingQueue::new(1).unwrap())
        .rejection_handler(move |_: Task, pool: &dyn Saturated| {
            theirs.record(pool.is_shutdown());
            Ok(())
        })
        .build()
        .unwrap();
    let blocker = Blocker::new();
    for _ in 0..3 {
        pool.execute(blocker.body()).unwrap();
    }
    assert!(log.entries().is_empty());
    pool.execute(|| ()).unwrap();
    pool.shutdown();
    pool.execute(|| ()).unwrap();
    assert_eq!(log.entries(), [false, true]);
    assert_eq!(pool.rejected_count(), 2);
    blocker.release();
    finish(&pool);
}

/// TPE-141
#[test]
fn a_new_handler_is_asked_from_the_next_refusal_on() {
    let (pool, blocker, _queued) = full(DiscardPolicy);
    pool.execute(|| ()).unwrap();
    pool.set_rejection_handler(Arc::new(AbortPolicy));
    pool.execute(|| ()).unwrap_err();
    blocker.release();
    finish(&pool);
}

#[test]
fn a_rejection_says_yes_to_its_own_reason_only() {
    let reasons = [
        RejectionReason::Shutdown,
        RejectionReason::Saturated,
        RejectionReason::NoThread,
        RejectionReason::TimedOut,
        RejectionReason::Interrupted,
        RejectionReason::ZeroPeriod,
        RejectionReason::NeverDue,
        RejectionReason::Other,
    ];
    for (at, reason) in reasons.into_iter().enumerate() {
        let rejected = RejectedExecution::new(Task::new(|| ()), reason);
        let answers = [
            rejected.is_shutdown(),
            rejected.is_saturated(),
            rejected.is_no_thread(),
            rejected.is_timed_out(),
            rejected.is_interrupted(),
            rejected.is_zero_period(),
            rejected.is_never_due(),
            rejected.is_other(),
        ];
        let yes = answers.iter().position(|yes| *yes);
        assert_eq!(yes, Some(at), "{reason:?}");
        assert_eq!(answers.iter().filter(|yes| **yes).count(), 1, "{reason:?}");
    }
}
