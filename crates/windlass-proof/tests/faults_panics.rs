//! Panics in user code: nothing hangs, nothing is lost, the pool goes on.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "faults/kit.rs"]
mod kit;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use kit::{child_role, ends, goes_on, goes_on_and_ends, in_child, pools};
use windlass::pool::{Hooks, Outcome, Saturated, TaskInfo};
use windlass::testing::{Gate, PATIENCE, until};
use windlass::{
    ExecutorService, Schedule, ScheduledThreadPoolExecutor, Submit, Task, ThreadPoolExecutor,
};

const TASKS: usize = 20;

/// Panics without printing a message.
fn fail() -> ! {
    resume_unwind(Box::new("as planned"))
}

/// Panics when it is dropped, unless that would end the process.
struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            fail();
        }
    }
}

/// Panics when it is woken.
struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        fail();
    }
}

/// Does the same fault many times on every pool, with and without a thread in between, and then
/// some ordinary work.
fn check_survives(fault: impl Fn(&dyn ExecutorService)) {
    for (name, pool) in pools() {
        for _ in 0..TASKS {
            // What reaches the submitter is the submitter's.
            let _ = catch_unwind(AssertUnwindSafe(|| fault(&*pool)));
        }
        goes_on_and_ends(name, &*pool);
    }
}

#[test]
fn panics_of_tasks_are_survived_with_and_without_handles() {
    let ran = Arc::new(AtomicUsize::new(0));
    check_survives(|pool| {
        let (one, two) = (Arc::clone(&ran), Arc::clone(&ran));
        let mut handle = pool
            .submit(move || {
                one.fetch_add(1, Ordering::SeqCst);
                fail();
            })
            .unwrap();
        pool.execute(move || {
            two.fetch_add(1, Ordering::SeqCst);
            fail();
        })
        .unwrap();
        let got: Result<(), _> = handle.get_timeout(PATIENCE);
        assert!(got.unwrap_err().is_failed());
    });
    assert_eq!(ran.load(Ordering::SeqCst), 3 * 2 * TASKS);
}

#[test]
fn a_closure_that_panics_in_its_drop_is_survived() {
    check_survives(|pool| {
        let bomb = PanicsOnDrop;
        let mut handle = pool.submit(move || drop(bomb)).unwrap();
        assert!(handle.get_timeout(PATIENCE).unwrap_err().is_failed());
    });
    // Dropped with what it has not used, after it has run.
    check_survives(|pool| {
        let bomb = PanicsOnDrop;
        pool.execute(move || {
            let _bomb = &bomb;
        })
        .unwrap();
    });
}

#[test]
fn a_closure_that_panics_in_its_drop_is_survived_though_it_never_ran() {
    for (name, pool) in pools() {
        let gate = Gate::new();
        for _ in 0..2 {
            let gate = gate.clone();
            pool.execute(move || {
                let _ = gate.pass();
            })
            .unwrap();
        }
        gate.await_waiting(2);
        let cancelled = |_| {
            let bomb = PanicsOnDrop;
            let handle = pool.submit(move || drop(bomb)).unwrap();
            let _ = catch_unwind(AssertUnwindSafe(|| handle.cancel()));
            handle
        };
        let handles: Vec<_> = (0..TASKS).map(cancelled).collect();
        gate.open();
        goes_on(name, &*pool);
        assert!(handles.iter().all(|handle| handle.is_cancelled()), "{name}");
        ends(name, &*pool);
    }
}

#[test]
fn a_result_that_panics_in_its_drop_is_survived() {
    check_survives(|pool| drop(pool.submit(|| PanicsOnDrop).unwrap()));
    check_survives(|pool| {
        let mut handle = pool.submit(|| PanicsOnDrop).unwrap();
        std::mem::forget(handle.get_timeout(PATIENCE).unwrap());
    });
}

#[test]
fn a_panic_whose_payload_panics_in_its_drop_is_survived() {
    check_survives(|pool| {
        let body = || -> () { resume_unwind(Box::new(PanicsOnDrop)) };
        drop(pool.submit(body).unwrap());
    });
    check_survives(|pool| drop(pool.execute(|| resume_unwind(Box::new(PanicsOnDrop)))));
}

#[test]
fn a_callback_that_panics_is_survived() {
    let called = Arc::new(AtomicUsize::new(0));
    check_survives(|pool| {
        let (gate, called) = (Gate::new(), Arc::clone(&called));
        let theirs = gate.clone();
        let mut handle = pool
            .submit(move || {
                let _ = theirs.pass();
            })
            .unwrap();
        handle.on_done(move |_| {
            called.fetch_add(1, Ordering::SeqCst);
            fail();
        });
        gate.open();
        handle.get_timeout(PATIENCE).unwrap();
    });
    until("all callbacks", || {
        called.load(Ordering::SeqCst) == 3 * TASKS
    });
}

#[test]
fn a_waker_that_panics_is_survived() {
    let waker = Waker::from(Arc::new(PanickingWaker));
    check_survives(|pool| {
        let gate = Gate::new();
        let theirs = gate.clone();
        let mut handle = pool
            .submit(move || {
                let _ = theirs.pass();
            })
            .unwrap();
        let polled = pin!(&mut handle).poll(&mut Context::from_waker(&waker));
        assert!(matches!(polled, Poll::Pending));
        gate.open();
        assert!(handle.wait_timeout(PATIENCE).unwrap());
    });
}

/// Hooks that panic on every call.
#[derive(Clone, Copy)]
enum PanickingHooks {
    Before,
    After,
    Terminated,
}

impl Hooks for PanickingHooks {
    fn before_execute(&self, task: &TaskInfo) {
        if matches!(self, Self::Before) && task.name() != Some("spared") {
            fail();
        }
    }

    fn after_execute(&self, task: &TaskInfo, _outcome: &Outcome) {
        if matches!(self, Self::After) && task.name() != Some("spared") {
            fail();
        }
    }

    fn terminated(&self) {
        if matches!(self, Self::Terminated) {
            fail();
        }
    }
}

#[test]
fn hooks_that_panic_are_survived() {
    for faulty in [
        PanickingHooks::Before,
        PanickingHooks::After,
        PanickingHooks::Terminated,
    ] {
        let pool = ThreadPoolExecutor::builder()
            .core_pool_size(2)
            .hooks(faulty)
            .uncaught_handler(|_| ());
        let scheduled = ScheduledThreadPoolExecutor::builder()
            .core_pool_size(2)
            .hooks(Arc::new(faulty))
            .uncaught_handler(|_| ());
        let pools: [Arc<dyn ExecutorService>; 2] =
            [Arc::new(pool.build().unwrap()), Arc::new(scheduled.build())];
        for pool in pools {
            let handles: Vec<_> = (0..TASKS)
                .map(|n| pool.submit(move || n).unwrap())
                .collect();
            for mut handle in handles {
                // Whatever they say, they say something.
                let got = handle.get_timeout(PATIENCE);
                assert!(!got.is_err_and(|error| error.is_timed_out()));
            }
            let (task, mut handle) = Task::builder().name("spared").build_with_handle(|| 8);
            pool.execute_task(task).unwrap();
            assert_eq!(handle.get_timeout(PATIENCE).unwrap(), 8);
            let _ = catch_unwind(AssertUnwindSafe(|| pool.shutdown()));
            assert!(pool.await_termination(PATIENCE).unwrap());
        }
    }
}

#[test]
fn a_rejection_handler_that_panics_is_survived() {
    let handler = |_: Task, _: &dyn Saturated| fail();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(windlass::queue::SynchronousQueue::new())
        .rejection_handler(handler)
        .build()
        .unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || {
        let _ = theirs.pass();
    })
    .unwrap();
    for _ in 0..TASKS {
        assert!(catch_unwind(AssertUnwindSafe(|| drop(pool.submit(|| ())))).is_err());
    }
    gate.open();
    until("an idle worker", || {
        pool.queue().waiting().unwrap().takers == 1
    });
    assert_eq!(pool.submit(|| 8).unwrap().get_timeout(PATIENCE).unwrap(), 8);
    ends("pool", &pool);
    let scheduled = ScheduledThreadPoolExecutor::builder().rejection_handler(Arc::new(handler));
    let scheduled = scheduled.build();
    ends("scheduled", &scheduled);
    for _ in 0..TASKS {
        let late = || drop(scheduled.schedule(Duration::ZERO, || ()));
        assert!(catch_unwind(AssertUnwindSafe(late)).is_err());
    }
}

#[test]
fn a_panic_while_panicking_ends_the_process_and_does_not_hang() {
    /// Panics whatever the thread is doing.
    struct AlwaysPanicsOnDrop;

    impl Drop for AlwaysPanicsOnDrop {
        fn drop(&mut self) {
            panic!("a second panic");
        }
    }

    if let Some(role) = child_role() {
        let (_, pool) = pools().into_iter().find(|(name, _)| *name == role).unwrap();
        let mut handle = pool
            .submit(|| {
                let _relentless = AlwaysPanicsOnDrop;
                panic!("a first panic");
            })
            .unwrap();
        let _: Result<(), _> = handle.get();
        return;
    }
    for (name, _) in pools() {
        let test = "a_panic_while_panicking_ends_the_process_and_does_not_hang";
        let status = in_child(test, name);
        // By a signal, not by an exit.
        assert_eq!(status.code(), None, "{name}: {status}");
    }
}
