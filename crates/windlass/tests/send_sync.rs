//! What may be sent to another thread, and what may be shared between threads.
//!
//! A type that loses one of these loses it silently, with a private field; here it fails to compile.

use std::panic::{RefUnwindSafe, UnwindSafe};

use windlass::clock::TestClock;
use windlass::context::{Captured, Propagate, Propagating};
use windlass::executors::Unconfigurable;
use windlass::executors::{
    DirectExecutor, Rate, RateLimited, SerialExecutor, ThreadPerTaskExecutor,
};
use windlass::interrupt::{InterruptHandle, Interrupted, JoinHandle, JoinInterrupted};
use windlass::pool::{
    AbortPolicy, BlockPolicy, Builder, CallerRunsPolicy, Codel, ConfigError, DiscardOldestPolicy,
    DiscardPolicy, Hooks, Outcome, PoolState, PoolStats, RejectedExecutionHandler, TaskInfo,
};
use windlass::queue::{
    AgingQueue, ArrayBlockingQueue, BlockingQueue, CapacityError, DelayQueue, Delayed,
    FairShareQueue, Fairness, KeyLimitQueue, LinkedBlockingDeque, LinkedBlockingQueue,
    LinkedTransferQueue, PriorityBlockingQueue, PutError, ResizableBlockingQueue, SynchronousQueue,
    Unplaced, Waiting,
};
use windlass::scheduled::{Jitter, Period, QueuedTask, Retry, ScheduledHandle};
use windlass::shutdown::{PoolReport, ShutdownPlan, ShutdownReport};
use windlass::task::{
    CancelToken, Cancellation, ExecutionError, Failure, FutureTask, SharedHandle, Task,
    TaskBuilder, TaskControl, TaskHandle, TaskId, TaskState,
};
use windlass::testing::{
    DropCounter, DropToken, FailingSeed, Gate, Latch, ManualExecutor, SeededExecutor,
};
use windlass::thread_factory::{DefaultThreadFactory, ThreadBody, ThreadFactory};
use windlass::{CompletionService, InvokeError, ThreadPoolExecutor};
use windlass::{Executor, ExecutorService, RejectedExecution, RejectionReason};
use windlass::{RejectedSpawn, Scope, ScopeCounts, ScopedHandle, TaskGroup};
use windlass::{ScheduledExecutorService, ScheduledThreadPoolExecutor};

const fn is_send<T: Send + ?Sized>() {}
const fn is_send_and_sync<T: Send + Sync + ?Sized>() {}

const fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe + ?Sized>() {}

#[test]
fn executors_can_be_used_after_a_caught_panic() {
    is_unwind_safe::<(DirectExecutor, ThreadPerTaskExecutor, ThreadPoolExecutor)>();
    is_unwind_safe::<(
        SerialExecutor<ThreadPoolExecutor>,
        Unconfigurable<ThreadPoolExecutor>,
    )>();
    is_unwind_safe::<CompletionService<Value, ThreadPoolExecutor>>();
    is_unwind_safe::<Propagating<ThreadPoolExecutor>>();
    is_unwind_safe::<(
        RateLimited<ThreadPoolExecutor>,
        ManualExecutor,
        SeededExecutor,
    )>();
    is_unwind_safe::<(ScheduledThreadPoolExecutor, ScheduledHandle<Value>)>();
}

/// A value that can be sent but not shared, as what goes through queues and handles may be.
type Value = std::cell::Cell<u32>;

/// An element of a delay queue.
struct Due;

impl Delayed for Due {
    fn deadline(&self) -> std::time::Instant {
        unreachable!("only its type is looked at")
    }
}

#[test]
fn executors_and_what_they_are_made_of_can_be_shared() {
    is_send_and_sync::<(Captured, Propagating<ThreadPoolExecutor>)>();
    is_send_and_sync::<dyn Propagate>();
    is_send_and_sync::<ThreadPoolExecutor>();
    is_send_and_sync::<ScheduledThreadPoolExecutor>();
    is_send_and_sync::<dyn ScheduledExecutorService>();
    is_send_and_sync::<(Period, QueuedTask, ScheduledHandle<Value>)>();
    is_send_and_sync::<(Retry, Jitter)>();
    is_send_and_sync::<DirectExecutor>();
    is_send_and_sync::<ThreadPerTaskExecutor>();
    is_send_and_sync::<SerialExecutor<ThreadPoolExecutor>>();
    is_send_and_sync::<Unconfigurable<ThreadPoolExecutor>>();
    is_send_and_sync::<(Rate, RateLimited<ThreadPoolExecutor>)>();
    is_send_and_sync::<(ShutdownPlan<'static>, ShutdownReport, PoolReport)>();
    is_send_and_sync::<CompletionService<Value, ThreadPoolExecutor>>();
    is_send_and_sync::<dyn Executor>();
    is_send_and_sync::<dyn ExecutorService>();
    is_send_and_sync::<dyn Hooks>();
    is_send_and_sync::<dyn ThreadFactory>();
    is_send_and_sync::<dyn RejectedExecutionHandler>();
    is_send_and_sync::<Builder>();
    is_send_and_sync::<DefaultThreadFactory>();
    is_send_and_sync::<(AbortPolicy, BlockPolicy, CallerRunsPolicy)>();
    is_send_and_sync::<(DiscardOldestPolicy, DiscardPolicy)>();
    is_send_and_sync::<(Codel, PoolStats, PoolState, TaskInfo, Outcome, ConfigError)>();
    is_send::<ThreadBody>();
}

#[test]
fn tasks_and_handles_can_be_shared_whatever_they_carry() {
    is_send_and_sync::<Task>();
    is_send_and_sync::<TaskHandle<Value>>();
    is_send_and_sync::<SharedHandle<u32>>();
    is_send_and_sync::<FutureTask<u32>>();
    is_send_and_sync::<(TaskControl, CancelToken)>();
    is_send_and_sync::<(Scope<'_, '_>, ScopedHandle<'_, Value>, ScopeCounts)>();
    is_send_and_sync::<(TaskGroup<'_, ThreadPoolExecutor>, RejectedSpawn<u32>)>();
    is_send_and_sync::<TaskBuilder>();
    is_send_and_sync::<(TaskId, TaskState, Cancellation, Failure)>();
}

#[test]
fn queues_can_be_shared_whatever_they_hold() {
    is_send_and_sync::<LinkedBlockingQueue<Value>>();
    is_send_and_sync::<ArrayBlockingQueue<Value>>();
    is_send_and_sync::<ResizableBlockingQueue<Value>>();
    is_send_and_sync::<SynchronousQueue<Value>>();
    is_send_and_sync::<PriorityBlockingQueue<Value>>();
    is_send_and_sync::<DelayQueue<Due>>();
    is_send_and_sync::<LinkedTransferQueue<Value>>();
    is_send_and_sync::<LinkedBlockingDeque<Value>>();
    is_send_and_sync::<AgingQueue<Value>>();
    is_send_and_sync::<FairShareQueue<Value, String>>();
    is_send_and_sync::<KeyLimitQueue<Task, String>>();
    is_send_and_sync::<dyn BlockingQueue<Value>>();
    is_send_and_sync::<(Fairness, Waiting, CapacityError)>();
}

/// So that `?` works into `Box<dyn Error + Send + Sync>`, as far as what they hand back allows.
#[test]
fn errors_can_be_sent() {
    fn is_error<E: std::error::Error + Send + Sync + 'static>() {}
    is_error::<ExecutionError>();
    is_error::<Interrupted>();
    is_error::<ConfigError>();
    is_error::<CapacityError>();
    is_error::<PutError<u32>>();
    is_error::<Unplaced<u32>>();
    is_error::<RejectedExecution>();
    is_error::<RejectedExecution<TaskHandle<Value>>>();
    is_error::<InvokeError>();
    is_send_and_sync::<RejectionReason>();
}

#[test]
fn what_drives_threads_and_tests_can_be_shared() {
    is_send_and_sync::<InterruptHandle>();
    is_send_and_sync::<JoinHandle<u32>>();
    is_send_and_sync::<JoinInterrupted<u32>>();
    is_send_and_sync::<TestClock>();
    is_send_and_sync::<(Gate, Latch, DropCounter, DropToken)>();
    is_send_and_sync::<(ManualExecutor, SeededExecutor, FailingSeed)>();
}
