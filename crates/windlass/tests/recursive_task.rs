//! Tasks that fork, and the handles of what they have forked.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::error::{ExecutionError, Failure};
use windlass::forkjoin::{Cx, ForkHandle, ForkJoinPool, RecursiveTask, worker_index};
use windlass::interrupt;
use windlass::testing::{DropCounter, Gate, PATIENCE, join, within_patience};
use windlass::{ExecutorService, Submit};

struct Fib(u32);

impl RecursiveTask for Fib {
    type Output = u64;
    fn compute(self, cx: &Cx<'_>) -> u64 {
        if self.0 < 2 {
            return u64::from(self.0);
        }
        let left = cx.fork(Fib(self.0 - 1));
        let right = Fib(self.0 - 2).compute(cx);
        left.join().unwrap() + right
    }
}

/// Panics as deep as it goes.
struct Deep(u32);

impl RecursiveTask for Deep {
    type Output = ();
    fn compute(self, cx: &Cx<'_>) {
        if self.0 == 0 {
            std::panic::panic_any(99_u8);
        }
        cx.join(Deep(self.0 - 1), Act(|_: &Cx<'_>| ()));
    }
}

/// A closure as a task.
struct Act<F>(F);

impl<F: FnOnce(&Cx<'_>) -> R + Send, R: Send> RecursiveTask for Act<F> {
    type Output = R;
    fn compute(self, cx: &Cx<'_>) -> R {
        (self.0)(cx)
    }
}

/// Runs the closure on the only worker of a pool.
fn on_one_worker<R: Send + 'static>(body: impl FnOnce(&Cx<'_>) -> R + Send + 'static) -> R {
    within_patience("one worker", || {
        ForkJoinPool::new(1).unwrap().invoke(Act(body))
    })
}

fn counting(count: &Arc<AtomicUsize>) -> impl RecursiveTask<Output = usize> + use<> {
    let count = Arc::clone(count);
    Act(move |_: &Cx<'_>| count.fetch_add(1, Ordering::SeqCst))
}

/// A pool whose only worker waits at the gate.
fn gated() -> (ForkJoinPool, Gate) {
    let pool = ForkJoinPool::new(1).unwrap();
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    (pool, gate)
}

/// FJT-001
#[test]
fn a_fresh_task_has_no_outcome_and_waiting_for_it_times_out() {
    let (pool, gate) = gated();
    let mut task = pool.fork(Fib(8)).unwrap();
    assert!(!task.is_done() && !task.is_cancelled());
    assert!(task.get_timeout(Duration::ZERO).unwrap_err().is_timed_out());
    interrupt::current().interrupt();
    assert!(task.get().unwrap_err().is_interrupted());
    interrupt::current().interrupt();
    assert!(task.get_timeout(PATIENCE).unwrap_err().is_interrupted());
    gate.open();
    assert_eq!(task.join().unwrap(), 21);
}

/// FJT-002, FJT-037, FJP-008
#[test]
fn invoke_runs_the_task_and_returns_its_value() {
    let pool = ForkJoinPool::new(2).unwrap();
    assert_eq!(pool.invoke(Fib(8)), 21);
    let ran = AtomicUsize::new(0);
    pool.invoke(Act(|_: &Cx<'_>| {
        ran.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(ran.into_inner(), 1);
    assert_eq!(pool.fork(Fib(8)).unwrap().join().unwrap(), 21);
}

/// FJT-003, FJT-007
#[test]
fn a_quiet_wait_ends_with_the_task_and_gives_nothing() {
    let pool = ForkJoinPool::new(1).unwrap();
    let task = pool.fork(Fib(8)).unwrap();
    task.wait_uninterruptibly();
    assert!(task.is_done());
    on_one_worker(|cx| {
        let task = cx.fork(Fib(8));
        task.wait_uninterruptibly();
        assert!(task.is_done());
        assert_eq!(task.join().unwrap(), 21);
    });
}

/// FJT-004, FJT-005, FJT-006, FJP-046
#[test]
fn join_and_get_after_fork_return_the_value_on_one_worker() {
    on_one_worker(|cx| {
        assert_eq!(cx.fork(Fib(8)).join().unwrap(), 21);
        assert_eq!(cx.fork(Fib(8)).get().unwrap(), 21);
        assert_eq!(cx.fork(Fib(8)).get_timeout(PATIENCE).unwrap(), 21);
    });
}

/// FJT-004, FJT-005, FJT-006
#[test]
fn join_and_get_from_outside_return_the_value() {
    let pool = ForkJoinPool::new(2).unwrap();
    assert_eq!(pool.fork(Fib(8)).unwrap().join().unwrap(), 21);
    assert_eq!(pool.fork(Fib(8)).unwrap().get().unwrap(), 21);
    assert_eq!(
        pool.fork(Fib(8)).unwrap().get_timeout(PATIENCE).unwrap(),
        21
    );
}

/// FJT-008
#[test]
fn a_completed_task_answers_at_once_for_ever_and_cannot_be_cancelled() {
    let pool = ForkJoinPool::new(1).unwrap();
    let task = pool.fork(Fib(8)).unwrap();
    task.wait_uninterruptibly();
    assert!(!task.cancel());
    let handle = task.into_handle().share();
    for _ in 0..3 {
        interrupt::current().interrupt();
        assert_eq!(handle.get().unwrap(), 21);
        assert!(interrupt::interrupted());
    }
    assert!(!handle.is_cancelled());
}

/// FJT-009
#[test]
fn invoke_raises_a_failure_from_however_deep() {
    let pool = ForkJoinPool::new(2).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| pool.invoke(Deep(8)))).unwrap_err();
    assert_eq!(panic.downcast_ref::<u8>(), Some(&99));
}

/// FJT-010, FJT-011, FJT-012, FJT-013, FJP-039
#[test]
fn a_failed_task_stays_failed_and_every_way_to_wait_says_so() {
    let reports = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&reports);
    let count = move |_: &Failure| {
        counter.fetch_add(1, Ordering::SeqCst);
    };
    let pool = ForkJoinPool::builder()
        .parallelism(1)
        .uncaught_handler(count)
        .build()
        .unwrap();
    let mut task = pool.fork(Deep(8)).unwrap();
    task.wait_uninterruptibly();
    assert!(task.is_done() && !task.is_cancelled() && !task.cancel());
    let payload = |error: ExecutionError| {
        let failure = error.into_failure().unwrap();
        failure.with_payload(|payload| payload.downcast_ref::<u8>().copied())
    };
    for _ in 0..2 {
        assert_eq!(payload(task.get().unwrap_err()), Some(Some(99)));
        assert_eq!(
            payload(task.get_timeout(PATIENCE).unwrap_err()),
            Some(Some(99))
        );
    }
    assert!(task.join().unwrap_err().is_failed());
    pool.close();
    assert_eq!(reports.load(Ordering::SeqCst), 0);
}

/// FJT-014
#[test]
fn a_task_cancelled_before_its_start_never_runs() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = counting(&count);
    on_one_worker(move |cx| {
        let mut task = cx.fork(counted);
        assert!(task.cancel());
        assert!(task.is_done() && task.is_cancelled());
        task.wait_uninterruptibly();
        assert!(task.get().unwrap_err().is_cancelled());
        assert!(task.get_timeout(PATIENCE).unwrap_err().is_cancelled());
        assert!(task.join().unwrap_err().is_cancelled());
    });
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

/// FJT-015
#[test]
fn cancelling_a_running_task_completes_it_while_its_code_runs_on() {
    let pool = ForkJoinPool::new(1).unwrap();
    let (gate, ended) = (Gate::new(), Gate::new());
    let (inside, over) = (gate.clone(), ended.clone());
    let body = move |_: &Cx<'_>| {
        inside.pass().unwrap();
        over.open();
    };
    let task = pool.fork(Act(body)).unwrap();
    gate.await_waiting(1);
    assert!(task.cancel());
    assert!(task.is_done() && task.is_cancelled());
    gate.open();
    ended.pass().unwrap();
}

/// FJT-016
#[test]
fn join_ignores_interrupts_and_leaves_the_flag_set() {
    on_one_worker(|cx| {
        interrupt::current().interrupt();
        assert_eq!(cx.fork(Fib(8)).join().unwrap(), 21);
        assert!(interrupt::interrupted());
        let cancelled = cx.fork(Fib(8));
        assert!(cancelled.cancel());
        interrupt::current().interrupt();
        assert!(cancelled.join().unwrap_err().is_cancelled());
        assert!(interrupt::interrupted());
    });
    let (pool, gate) = gated();
    let task = pool.fork(Fib(8)).unwrap();
    let waiter = interrupt::spawn(move || (task.join(), interrupt::is_interrupted()));
    waiter.interrupt();
    gate.open();
    let (value, flag) = join("the joiner", waiter);
    assert_eq!((value.unwrap(), flag), (21, true));
}

/// FJT-017
#[test]
fn a_timed_quiet_wait_tells_the_end_from_an_interrupt() {
    let (pool, gate) = gated();
    let task = pool.fork(Fib(8)).unwrap();
    assert_eq!(task.wait_timeout(Duration::ZERO), Ok(false));
    interrupt::current().interrupt();
    assert!(task.wait_timeout(PATIENCE).is_err());
    interrupt::current().interrupt();
    assert!(!task.wait_timeout_uninterruptibly(Duration::from_millis(1)));
    assert!(interrupt::interrupted());
    gate.open();
    assert!(task.wait_timeout_uninterruptibly(PATIENCE));
    assert_eq!(task.wait_timeout(PATIENCE), Ok(true));
    assert_eq!(pool.fork(Deep(1)).unwrap().wait_timeout(PATIENCE), Ok(true));
}

/// FJT-018, FJT-021
#[test]
fn completing_beforehand_decides_the_result_and_the_body_never_runs() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = counting(&count);
    on_one_worker(move |cx| {
        let task = cx.fork(counted);
        assert!(task.complete(9));
        assert!(!task.complete(10));
        assert!(!task.fail(Failure::from_error("late")));
        assert_eq!(task.join().unwrap(), 9);
        cx.help_quiesce();
    });
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

/// FJT-019
#[test]
fn a_failure_set_beforehand_reaches_every_waiter_and_the_body_never_runs() {
    let (pool, gate) = gated();
    let count = Arc::new(AtomicUsize::new(0));
    let task = pool.fork(counting(&count)).unwrap();
    assert!(task.fail(Failure::from_error("beforehand")));
    let handle = task.into_handle().share();
    let theirs = handle.clone();
    let waiter = interrupt::spawn(move || theirs.get());
    assert!(join("the waiter", waiter).unwrap_err().is_failed());
    assert!(handle.get().unwrap_err().is_failed());
    gate.open();
    pool.close();
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

/// FJT-024
#[test]
fn invoke_all_returns_when_every_task_is_done_in_argument_order() {
    for count in 0..6 {
        let order = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&order);
        let results = on_one_worker(move |cx| {
            let task = |number| {
                let order = Arc::clone(&theirs);
                Act(move |_: &Cx<'_>| {
                    order.lock().unwrap().push(number);
                    number
                })
            };
            cx.invoke_all((0..count).map(task).collect())
        });
        assert_eq!(results, (0..count).collect::<Vec<_>>());
        assert_eq!(*order.lock().unwrap(), results);
    }
}

/// FJT-025
#[test]
fn invoke_all_raises_the_failure_of_a_member_wherever_it_stands() {
    let pool = ForkJoinPool::new(2).unwrap();
    for failing in 0..4 {
        let task = |number| Act(move |_: &Cx<'_>| assert!(number != failing, "member"));
        let tasks = || pool.invoke_tasks((0..4).map(task).collect());
        let panic = catch_unwind(AssertUnwindSafe(tasks)).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"member"));
    }
}

/// FJT-026
#[test]
fn try_unfork_takes_back_the_newest_unstarted_fork() {
    on_one_worker(|cx| {
        let buried = cx.fork(Fib(8));
        let newest = cx.fork(Fib(9));
        let buried = buried.try_unfork().map(drop).unwrap_err();
        let (task, mut handle) = newest.try_unfork().ok().unwrap();
        assert!(!handle.is_done());
        assert_eq!(cx.queued_task_count(), 1);
        task.run();
        assert_eq!(handle.get().unwrap(), 34);
        assert_eq!(buried.join().unwrap(), 21);
    });
}

/// FJT-027, FJT-031
#[test]
fn surplus_counts_what_nobody_else_can_take_until_help_quiesce() {
    on_one_worker(|cx| {
        let tasks: Vec<ForkHandle<u64>> = (0..3).map(|_| cx.fork(Fib(5))).collect();
        assert_eq!(cx.surplus_queued_task_count(), 3);
        cx.help_quiesce();
        assert_eq!(
            (cx.surplus_queued_task_count(), cx.queued_task_count()),
            (0, 0)
        );
        assert!(tasks.iter().all(ForkHandle::is_done));
    });
}

/// FJT-029, FJT-030
#[test]
fn the_next_local_task_can_be_taken_out_without_running_it() {
    for async_mode in [false, true] {
        let pool = ForkJoinPool::builder()
            .parallelism(1)
            .async_mode(async_mode)
            .build()
            .unwrap();
        pool.invoke(Act(|cx: &Cx<'_>| {
            let tasks: Vec<_> = (0..3).map(|_| cx.fork(Fib(5))).collect();
            let next = if async_mode { [0, 1] } else { [2, 1] };
            let taken = cx.poll_next_local().unwrap();
            assert_eq!(taken.id(), tasks[next[0]].id());
            assert_eq!(cx.poll_task().unwrap().id(), tasks[next[1]].id());
            assert!(!tasks[next[0]].is_done());
            assert_eq!(cx.queued_task_count(), 1);
        }));
    }
}

/// WL-004
#[test]
fn a_task_that_was_taken_out_runs_on_any_thread() {
    let (pool, gate) = gated();
    let [polled, drained, dropped] = [10, 11, 12].map(|n| pool.fork(Fib(n)).unwrap());
    pool.poll_submission().unwrap().run();
    assert_eq!(polled.join().unwrap(), 55);
    let mut rest = pool.drain_tasks();
    drop(rest.pop());
    assert!(dropped.is_cancelled());
    let elsewhere = std::thread::spawn(move || rest.pop().unwrap().run());
    elsewhere.join().unwrap();
    assert_eq!(drained.join().unwrap(), 89);
    gate.open();
    pool.close();
}

/// FJT-032
#[test]
fn outside_a_pool_join_uses_the_common_pool() {
    assert_eq!(worker_index(), None);
    assert!(!ForkJoinPool::common().is_current());
    let is_there = || ForkJoinPool::common().is_current();
    assert_eq!(windlass::forkjoin::join(is_there, is_there), (true, true));
}

/// FJT-033
#[test]
fn a_closure_is_a_task_that_passes_its_errors_on() {
    let pool = ForkJoinPool::new(1).unwrap();
    assert_eq!(pool.submit(|| 5).unwrap().get().unwrap(), 5);
    let failed = pool.submit_fallible(|| "x".parse::<u8>()).unwrap().get();
    let failure = failed.unwrap_err().into_failure().unwrap();
    assert!(failure.error().unwrap().is::<std::num::ParseIntError>());
}

/// FJT-035
#[test]
fn dropping_the_handle_of_a_failed_task_drops_its_failure() {
    let pool = ForkJoinPool::new(1).unwrap();
    let drops = DropCounter::new();
    let token = drops.token();
    let task = pool
        .fork(Act(|_: &Cx<'_>| std::panic::panic_any(token)))
        .unwrap();
    task.wait_uninterruptibly();
    pool.close();
    assert_eq!(drops.count(), 0);
    drop(task);
    assert_eq!(drops.count(), 1);
}

/// FJT-036
#[test]
fn waiters_on_one_task_time_out_or_are_interrupted_independently() {
    let (pool, gate) = gated();
    let handle = pool.fork(Fib(8)).unwrap().into_handle().share();
    let wait = || {
        let handle = handle.clone();
        interrupt::spawn(move || handle.get())
    };
    let (patient, interrupted) = (wait(), wait());
    assert!(
        handle
            .get_timeout(Duration::from_millis(1))
            .unwrap_err()
            .is_timed_out()
    );
    interrupted.interrupt();
    assert!(
        join("the interrupted", interrupted)
            .unwrap_err()
            .is_interrupted()
    );
    gate.open();
    assert_eq!(join("the patient", patient).unwrap(), 21);
}

/// FJT-038
#[test]
fn a_task_buried_under_newer_forks_can_be_joined() {
    on_one_worker(|cx| {
        let tasks: Vec<_> = (3..6).map(|n| cx.fork(Fib(n))).collect();
        let values: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        assert_eq!(values, [2, 3, 5]);
    });
}

/// FJT-039
#[test]
fn writes_reach_the_task_and_its_writes_reach_the_joiner() {
    let pool = ForkJoinPool::new(2).unwrap();
    let mut value = Box::new(1);
    for _ in 0..200 {
        let task = Act(move |_: &Cx<'_>| {
            *value += 1;
            value
        });
        value = pool.fork(task).unwrap().join().unwrap();
    }
    assert_eq!(*value, 201);
}

/// What a task forks and does not join is no part of what its joiner waits for.
#[test]
fn who_joins_a_task_leaves_alone_what_that_has_only_forked() {
    let pool = ForkJoinPool::new(2).unwrap();
    let (started, done) = (Gate::new(), Gate::new());
    let runner = Arc::new(Mutex::new(None));
    let joiner = {
        let (started, done, runner) = (started.clone(), done.clone(), Arc::clone(&runner));
        pool.invoke(Act(move |cx: &Cx<'_>| {
            let (begun, ended) = (started.clone(), done.clone());
            let forked = cx.fork(Act(move |cx: &Cx<'_>| {
                let over = ended.clone();
                drop(cx.fork(Act(move |cx: &Cx<'_>| {
                    *runner.lock().unwrap() = Some(cx.worker_index());
                    over.open();
                })));
                begun.open();
                ended.pass().unwrap();
            }));
            started.pass().unwrap();
            forked.join().unwrap();
            cx.worker_index()
        }))
    };
    assert_ne!(*runner.lock().unwrap(), Some(joiner));
}
