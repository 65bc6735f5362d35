//! Settings that cannot lie: warnings of those without effect, and changes that are made as a whole.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windlass::error::ReconfigureError;
use windlass::interrupt::Interrupted;
use windlass::pool::{
    CallerRunsPolicy, ConfigError, ConfigWarning, DiscardPolicy, Patch, Reconfigured,
};
use windlass::prelude::*;
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, CapacityError, FairShareQueue, PutError,
    ResizableBlockingQueue, SynchronousQueue,
};
use windlass::task::Task;
use windlass::testing::{Gate, until, within_patience};

const SECOND: Duration = Duration::from_secs(1);

/// WL-250
#[test]
fn a_maximum_that_an_unbounded_queue_never_reaches_is_warned_of() {
    let builder = || {
        ThreadPoolExecutor::builder()
            .core_pool_size(2)
            .maximum_pool_size(8)
    };
    let warning = ConfigWarning::MaximumUnreachable {
        core: 2,
        maximum: 8,
    };
    assert_eq!(builder().warnings(), [warning]);
    assert!(builder().build().is_ok());
    let refused = builder().build_strict().unwrap_err();
    assert_eq!(refused, ConfigError::NoEffect(warning));
    assert!(refused.is_no_effect());
    assert!(refused.to_string().contains("the queue is unbounded"));
    let bounded = || builder().work_queue(ArrayBlockingQueue::new(9).unwrap());
    for effective in [
        bounded(),
        builder().work_queue(SynchronousQueue::new()),
        builder()
            .work_queue(
                FairShareQueue::new(Task::priority)
                    .bound_per_key(9)
                    .unwrap(),
            )
            .rejection_handler(DiscardPolicy),
        builder().grow_eagerly(true),
    ] {
        assert_eq!(effective.warnings(), []);
        assert!(effective.build_strict().is_ok());
    }
}

/// WL-250
#[test]
fn a_keep_alive_without_anyone_to_time_out_is_warned_of() {
    let builder = || {
        ThreadPoolExecutor::builder()
            .core_pool_size(2)
            .keep_alive(SECOND)
    };
    let warning = ConfigWarning::KeepAliveUnused { keep_alive: SECOND };
    assert_eq!(builder().warnings(), [warning]);
    assert_eq!(builder().allow_core_thread_timeout(true).warnings(), []);
    assert_eq!(builder().spare_workers(1).warnings(), []);
    let scheduled = || ScheduledThreadPoolExecutor::builder().keep_alive(SECOND);
    assert_eq!(scheduled().warnings(), [warning]);
    assert_eq!(
        scheduled().build_strict().unwrap_err(),
        ConfigError::NoEffect(warning)
    );
    assert_eq!(scheduled().core_pool_size(0).warnings(), []);
    assert!(scheduled().core_pool_size(0).build_strict().is_ok());
}

/// WL-250
#[test]
fn a_bound_larger_than_memory_is_warned_of() {
    let queue = || ResizableBlockingQueue::with_capacity(usize::MAX / 2).unwrap();
    let builder = ThreadPoolExecutor::builder().work_queue(queue());
    let warnings = builder.warnings();
    let is_bound = |warning: &ConfigWarning| {
        matches!(warning, ConfigWarning::QueueExceedsMemory { capacity, most }
            if *capacity == usize::MAX / 2 && *most < usize::MAX / 2)
    };
    assert!(
        warnings.len() == 1 && is_bound(&warnings[0]),
        "{warnings:?}"
    );
}

/// WL-250
#[test]
fn a_policy_that_is_never_asked_and_growth_without_room_are_warned_of() {
    let builder = ThreadPoolExecutor::builder().rejection_handler(CallerRunsPolicy);
    assert_eq!(builder.warnings(), [ConfigWarning::RejectionHandlerUnused]);
    let scheduled = ScheduledThreadPoolExecutor::builder().rejection_handler(CallerRunsPolicy);
    assert_eq!(scheduled.warnings(), []);
    let builder = ThreadPoolExecutor::builder()
        .core_pool_size(3)
        .grow_eagerly(true);
    assert_eq!(
        builder.warnings(),
        [ConfigWarning::EagerGrowthUnused { size: 3 }]
    );
}

/// WL-250
#[test]
fn nobody_is_warned_of_a_default() {
    assert_eq!(ThreadPoolExecutor::builder().warnings(), []);
    assert_eq!(ScheduledThreadPoolExecutor::builder().warnings(), []);
    assert!(ThreadPoolExecutor::builder().build_strict().is_ok());
}

fn resizable(core: usize, maximum: usize, capacity: usize) -> ThreadPoolExecutor {
    ThreadPoolExecutor::builder()
        .core_pool_size(core)
        .maximum_pool_size(maximum)
        .work_queue(ResizableBlockingQueue::with_capacity(capacity).unwrap())
        .build()
        .unwrap()
}

type AllSettings = (usize, usize, Duration, bool, Option<usize>);

fn settings(pool: &ThreadPoolExecutor) -> AllSettings {
    (
        pool.core_pool_size(),
        pool.maximum_pool_size(),
        pool.keep_alive(),
        pool.allows_core_thread_timeout(),
        pool.stats().queue_remaining_capacity,
    )
}

/// WL-251
#[test]
fn a_change_is_made_as_a_whole_and_can_be_reverted() {
    let pool = resizable(1, 2, 10);
    let (before, handler) = (settings(&pool), pool.rejection_handler());
    let patch = Patch::new()
        .core_pool_size(5)
        .maximum_pool_size(7)
        .keep_alive(SECOND)
        .allow_core_thread_timeout(true)
        .queue_capacity(20)
        .rejection_handler(DiscardPolicy);
    let Reconfigured {
        former, warnings, ..
    } = pool.reconfigure(patch).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(settings(&pool), (5, 7, SECOND, true, Some(20)));
    assert!(!Arc::ptr_eq(&pool.rejection_handler(), &handler));
    pool.reconfigure(former).unwrap();
    assert_eq!(settings(&pool), before);
    assert!(Arc::ptr_eq(&pool.rejection_handler(), &handler));
}

/// WL-251
#[test]
fn a_change_that_is_refused_in_part_changes_nothing() {
    let pool = resizable(2, 4, 10);
    let before = settings(&pool);
    let exceeds = ConfigError::CoreExceedsMaximum {
        core: 9,
        maximum: 8,
    };
    let full = || {
        Patch::new()
            .keep_alive(SECOND)
            .queue_capacity(20)
            .maximum_pool_size(8)
    };
    let refused = [
        (full().core_pool_size(9), ReconfigureError::Config(exceeds)),
        (full().maximum_pool_size(0), ConfigError::ZeroMaximum.into()),
        (
            full()
                .keep_alive(Duration::ZERO)
                .allow_core_thread_timeout(true),
            ConfigError::ZeroKeepAlive.into(),
        ),
        (full().queue_capacity(0), CapacityError::Zero.into()),
    ];
    for (patch, error) in refused {
        assert_eq!(pool.reconfigure(patch).unwrap_err(), error);
        assert_eq!(settings(&pool), before);
    }
    let fixed = executors::fixed_thread_pool(2).unwrap();
    let error = fixed
        .reconfigure(Patch::new().core_pool_size(1).queue_capacity(5))
        .unwrap_err();
    assert_eq!(error, CapacityError::NotResizable.into());
    assert!(error.is_capacity() && !error.is_config());
    assert_eq!(fixed.core_pool_size(), 2);
}

/// WL-251
#[test]
fn sizes_grow_and_shrink_in_one_step_whatever_their_order() {
    let pool = resizable(2, 2, 10);
    for size in [8, 1, 5, 3] {
        let patch = Patch::new().core_pool_size(size).maximum_pool_size(size);
        pool.reconfigure(patch).unwrap();
        assert_eq!(
            (pool.core_pool_size(), pool.maximum_pool_size()),
            (size, size)
        );
    }
}

/// WL-251
#[test]
fn concurrent_changes_leave_the_settings_of_one_of_them() {
    let pool = resizable(1, 1, 10);
    let over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = [2, 7]
        .map(|size| {
            let (pool, over) = (pool.clone(), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let patch = Patch::new().core_pool_size(size).maximum_pool_size(size);
                    pool.reconfigure(patch).unwrap();
                }
            })
        })
        .into();
    for _ in 0..2_000 {
        let stats = pool.stats();
        assert!([1, 2, 7].contains(&stats.core_pool_size));
        assert_eq!(stats.core_pool_size, stats.maximum_pool_size);
    }
    over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
}

/// WL-252
#[test]
fn a_larger_core_starts_workers_for_queued_tasks_and_a_smaller_maximum_ends_idle_ones() {
    let (pool, gate) = (resizable(1, 1, 10), Arc::new(Gate::new()));
    for _ in 0..4 {
        let gate = Arc::clone(&gate);
        pool.execute(move || gate.pass_uninterruptibly()).unwrap();
    }
    gate.await_waiting(1);
    pool.reconfigure(Patch::new().core_pool_size(4).maximum_pool_size(4))
        .unwrap();
    gate.await_waiting(4);
    gate.open();
    until("the workers are idle", || pool.active_count() == 0);
    pool.reconfigure(Patch::new().core_pool_size(1).maximum_pool_size(2))
        .unwrap();
    until("the surplus has ended", || pool.pool_size() == 2);
    pool.close();
}

/// WL-252
#[test]
fn a_scheduled_pool_is_changed_as_a_whole_and_warned_of_a_maximum() {
    let pool = ScheduledThreadPoolExecutor::new(1);
    let changed = pool
        .reconfigure(Patch::new().core_pool_size(3).maximum_pool_size(9))
        .unwrap();
    let warning = ConfigWarning::MaximumUnreachable {
        core: 3,
        maximum: 9,
    };
    assert_eq!(
        (pool.core_pool_size(), changed.warnings),
        (3, vec![warning])
    );
    pool.reconfigure(changed.former).unwrap();
    assert_eq!(pool.core_pool_size(), 1);
    let error = pool
        .reconfigure(Patch::new().core_pool_size(2).queue_capacity(4))
        .unwrap_err();
    assert_eq!(error, CapacityError::NotResizable.into());
    assert_eq!(pool.core_pool_size(), 1);
}

/// A queue that lowers the maximum of its pool as soon as its capacity is raised.
struct Meddling {
    inner: ResizableBlockingQueue<Task>,
    pool: Arc<OnceLock<ThreadPoolExecutor>>,
}

impl BlockingQueue<Task> for Meddling {
    fn offer(&self, item: Task) -> Result<(), PutError<Task>> {
        self.inner.offer(item)
    }
    fn offer_timeout(&self, item: Task, timeout: Duration) -> Result<(), PutError<Task>> {
        self.inner.offer_timeout(item, timeout)
    }
    fn put(&self, item: Task) -> Result<(), PutError<Task>> {
        self.inner.put(item)
    }
    fn poll(&self) -> Option<Task> {
        self.inner.poll()
    }
    fn poll_timeout(&self, timeout: Duration) -> Result<Option<Task>, Interrupted> {
        self.inner.poll_timeout(timeout)
    }
    fn take(&self) -> Result<Task, Interrupted> {
        self.inner.take()
    }
    fn drain(&self, max: usize) -> Vec<Task> {
        self.inner.drain(max)
    }
    fn drain_all(&self) -> Vec<Task> {
        self.inner.drain_all()
    }
    fn remove_first(&self, wanted: &mut dyn FnMut(&Task) -> bool) -> Option<Task> {
        self.inner.remove_first(wanted)
    }
    fn retain(&self, keep: &mut dyn FnMut(&Task) -> bool) -> Vec<Task> {
        self.inner.retain(keep)
    }
    fn for_each(&self, f: &mut dyn FnMut(&Task)) {
        self.inner.for_each(f);
    }
    fn peek(&self, f: &mut dyn FnMut(&Task)) {
        self.inner.peek(f);
    }
    fn len(&self) -> usize {
        self.inner.len()
    }
    fn remaining_capacity(&self) -> Option<usize> {
        self.inner.remaining_capacity()
    }
    fn set_capacity(&self, capacity: usize) -> Result<Option<usize>, CapacityError> {
        if let Some(pool) = self.pool.get().filter(|_| capacity > 10) {
            pool.set_maximum_pool_size(2).unwrap();
        }
        self.inner.set_capacity(capacity)
    }
}

/// WL-251
#[test]
fn a_queue_that_changes_a_setting_while_its_capacity_is_set_makes_the_change_fail_as_a_whole() {
    within_patience("a change inside a change", || {
        let itself = Arc::new(OnceLock::new());
        let queue = Meddling {
            inner: ResizableBlockingQueue::with_capacity(10).unwrap(),
            pool: Arc::clone(&itself),
        };
        let builder = ThreadPoolExecutor::builder().core_pool_size(1);
        let pool = builder.maximum_pool_size(4).work_queue(queue);
        let pool = pool.build().unwrap();
        itself.set(pool.clone()).unwrap();
        let patch = Patch::new().core_pool_size(3).queue_capacity(20);
        assert!(pool.reconfigure(patch).unwrap_err().is_config());
        assert_eq!(pool.core_pool_size(), 1);
        assert_eq!(pool.queue().remaining_capacity(), Some(10));
        assert_eq!(pool.maximum_pool_size(), 2);
        pool.close();
    });
}
