//! Waits inside a pool: a task that waits for a queued task of its own pool runs that task in place.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;
#[path = "kit/time.rs"]
mod time;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use recording::{Blocker, HookFns, Log, finish, fixed};
use time::{HOUR, SECOND};
use windlass::clock::TestClock;
use windlass::executors::{self, SerialExecutor};
use windlass::interrupt;
use windlass::pool::{Builder, CallerRunsPolicy, NestedWaits};
use windlass::queue::{
    ArrayBlockingQueue, BlockingQueue, LinkedBlockingDeque, LinkedTransferQueue,
    PriorityBlockingQueue,
};
use windlass::task::{Task, TaskHandle};
use windlass::testing::{Gate, PATIENCE, until, within_patience};
use windlass::thread_factory::DefaultThreadFactory;
use windlass::{
    CompletionService, Executor, ExecutorService, ForkJoinPool, Schedule,
    ScheduledThreadPoolExecutor, Submit, ThreadPoolExecutor,
};

/// Runs the body inside a task on the only worker of a pool.
fn alone_in<R: Send + 'static>(
    builder: Builder,
    body: impl FnOnce(&ThreadPoolExecutor) -> R + Send + 'static,
) -> R {
    within_patience("the only worker", || {
        let pool = builder.build().unwrap();
        let inside = pool.clone();
        let result = pool.submit(move || body(&inside)).unwrap().join().unwrap();
        finish(&pool);
        result
    })
}

fn alone<R: Send + 'static>(body: impl FnOnce(&ThreadPoolExecutor) -> R + Send + 'static) -> R {
    alone_in(fixed(1), body)
}

fn this_thread() -> ThreadId {
    thread::current().id()
}

/// WL-100
#[test]
fn the_only_worker_gets_what_it_has_queued() {
    assert_eq!(alone(|pool| pool.submit(|| 1).unwrap().get().unwrap()), 1);
    assert_eq!(alone(|pool| pool.submit(|| 2).unwrap().join().unwrap()), 2);
    let shared = alone(|pool| pool.submit(|| 3).unwrap().share().get().unwrap());
    assert_eq!(shared, 3);
    let done = alone(|pool| {
        let handle = pool.submit(|| ()).unwrap();
        handle.control().wait().unwrap();
        handle.is_done()
    });
    assert!(done);
    let timed = alone(|pool| pool.submit(|| 4).unwrap().get_timeout(PATIENCE).unwrap());
    assert_eq!(timed, 4);
    let in_place = alone(|pool| {
        let here = this_thread();
        pool.submit(move || this_thread() == here)
            .unwrap()
            .join()
            .unwrap()
    });
    assert!(in_place);
}

/// WL-100
#[test]
fn every_queue_lets_the_only_worker_take_what_it_waits_for() {
    fn check(queue: impl BlockingQueue<Task> + 'static) {
        let sum = alone_in(fixed(1).work_queue(queue), |pool| {
            let handles: Vec<_> = (1..=5).map(|n| pool.submit(move || n).unwrap()).collect();
            let values = handles.into_iter().rev().map(|h| h.join().unwrap());
            values.sum::<i32>()
        });
        assert_eq!(sum, 15);
    }
    check(ArrayBlockingQueue::new(10).unwrap());
    check(LinkedBlockingDeque::new());
    check(LinkedTransferQueue::new());
    check(PriorityBlockingQueue::by_key(Task::priority));
}

/// WL-100
#[test]
fn the_only_worker_invokes_all_and_any() {
    let all = alone(|pool| {
        let handles = pool.invoke_all((0..1_000).map(|n| move || n)).unwrap();
        handles.into_iter().map(|h| h.join().unwrap()).sum::<i32>()
    });
    assert_eq!(all, 499_500);
    assert_eq!(alone(|pool| pool.invoke_any([|| 7]).unwrap()), 7);
    let any = alone(|pool| pool.invoke_any((0..100).map(|n| move || n)).unwrap());
    assert!(any < 100);
    let timed = alone(|pool| pool.invoke_any_timeout([|| 8], PATIENCE).unwrap());
    assert_eq!(timed, 8);
}

/// Computes with two submissions a call, and waits for both.
fn fibonacci(pool: &ThreadPoolExecutor, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (one, other) = (pool.clone(), pool.clone());
    let one = pool.submit(move || fibonacci(&one, n - 1)).unwrap();
    let other = pool.submit(move || fibonacci(&other, n - 2)).unwrap();
    one.join().unwrap() + other.join().unwrap()
}

/// WL-100
#[test]
fn tasks_that_wait_for_tasks_that_wait_end_on_any_number_of_workers() {
    for workers in 1..=3 {
        assert_eq!(alone_in(fixed(workers), |pool| fibonacci(pool, 12)), 144);
    }
}

/// WL-100: the stack bounds the depth. Without optimisation each level takes several kilobytes.
#[test]
fn a_thousand_nested_waits_fit_into_the_stack() {
    fn nest(pool: &ThreadPoolExecutor, depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        let inside = pool.clone();
        let inner = pool.submit(move || nest(&inside, depth - 1)).unwrap();
        inner.join().unwrap() + 1
    }
    let stack = if cfg!(debug_assertions) { 16 } else { 2 } << 20;
    let factory = DefaultThreadFactory::new().stack_size(stack);
    let builder = fixed(1).thread_factory(factory);
    assert_eq!(alone_in(builder, |pool| nest(pool, 1_000)), 1_000);
}

/// WL-101
#[test]
fn a_worker_that_waits_runs_that_task_and_no_other() {
    let others = alone(|pool| {
        let ran = Arc::new(AtomicUsize::new(0));
        let count = || {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(1, Ordering::SeqCst);
            }
        };
        pool.execute(count()).unwrap();
        let ahead = pool.submit(count()).unwrap();
        let awaited = pool.submit(|| ()).unwrap();
        pool.execute(count()).unwrap();
        awaited.join().unwrap();
        assert!(!ahead.is_done());
        ran.load(Ordering::SeqCst)
    });
    assert_eq!(others, 0);
}

/// WL-101: a worker that ran any queued task while it waits would lock a mutex that it holds.
#[test]
fn a_task_that_waits_may_hold_a_lock_that_another_queued_task_takes() {
    let taken = within_patience("a lock", || {
        let pool = fixed(1).build().unwrap();
        let (lock, inside) = (Arc::new(Mutex::new(0)), pool.clone());
        let theirs = Arc::clone(&lock);
        let outer = pool.submit(move || {
            let mut held = theirs.lock().unwrap();
            let takes_it = Arc::clone(&theirs);
            let other = inside
                .submit(move || *takes_it.lock().unwrap() += 10)
                .unwrap();
            *held += inside.submit(|| 1).unwrap().join().unwrap();
            drop(held);
            other
        });
        outer.unwrap().join().unwrap().join().unwrap();
        finish(&pool);
        Arc::into_inner(lock).unwrap().into_inner().unwrap()
    });
    assert_eq!(taken, 11);
}

/// WL-101: also while other workers are busy with something that this one would have to do.
#[test]
fn a_worker_runs_what_it_waits_for_though_another_may_become_free() {
    within_patience("a busy colleague", || {
        let pool = fixed(2).build().unwrap();
        let blocker = Blocker::occupy(&pool, 1);
        let inside = pool.clone();
        let outer = pool.submit(move || inside.submit(|| 5).unwrap().join().unwrap());
        assert_eq!(outer.unwrap().join().unwrap(), 5);
        blocker.release();
        finish(&pool);
    });
}

/// WL-102
#[test]
fn a_run_in_place_calls_the_hooks_and_is_counted() {
    let log = Log::new();
    let (before, after) = (log.clone(), log.clone());
    let hooks = HookFns::new()
        .before(move |task| before.record(format!("before {}", task.name().unwrap_or("?"))))
        .after(move |task, _| after.record(format!("after {}", task.name().unwrap_or("?"))));
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let inside = pool.clone();
    let during = within_patience("both", move || {
        let outer = inside.clone();
        let body = move || {
            let watch = outer.clone();
            let inner = outer
                .task()
                .name("inner")
                .submit(move || watch.stats())
                .unwrap();
            inner.join().unwrap()
        };
        inside
            .task()
            .name("outer")
            .submit(body)
            .unwrap()
            .join()
            .unwrap()
    });
    assert_eq!((during.active_count, during.pool_size), (1, 1));
    assert_eq!((during.task_count, during.completed_task_count), (2, 0));
    finish(&pool);
    let expected = ["before outer", "before inner", "after inner", "after outer"];
    assert_eq!(log.entries(), expected);
    let stats = pool.stats();
    assert_eq!(
        (stats.completed_task_count, stats.in_place_task_count),
        (2, 1)
    );
}

/// WL-102, WL-021
#[test]
fn snapshots_agree_while_tasks_run_in_place() {
    within_patience("the load", || {
        let pool = fixed(2).build().unwrap();
        let inside = pool.clone();
        let load = pool.submit(move || fibonacci(&inside, 15)).unwrap();
        let mut last = 0;
        while !load.is_done() {
            let stats = pool.stats();
            let parts = stats.completed_task_count + (stats.active_count + stats.queue_len) as u64;
            assert!(parts <= stats.task_count, "{stats:?}");
            assert!(stats.active_count <= stats.pool_size, "{stats:?}");
            assert!(
                stats.in_place_task_count <= stats.completed_task_count,
                "{stats:?}"
            );
            assert!(stats.task_count >= last, "{stats:?} after {last}");
            last = stats.task_count;
        }
        assert_eq!(load.join().unwrap(), 610);
        finish(&pool);
        assert_eq!(pool.completed_task_count(), 1_973);
    });
}

/// WL-102
#[test]
fn a_task_that_fails_in_place_fails_its_own_handle_only() {
    let builder = fixed(1);
    let failed = alone_in(builder, |pool| {
        let inner = pool.submit(|| -> u8 { panic!("inner") }).unwrap();
        let failed = inner.join().unwrap_err().into_failure().unwrap();
        (
            failed.message().map(str::to_owned),
            pool.stats().failed_task_count,
        )
    });
    assert_eq!(failed, (Some("inner".to_owned()), 1));
}

/// WL-102: the worker cannot end in the middle of the task that waits.
#[test]
fn a_hook_that_panics_around_a_run_in_place_is_reported_and_the_outer_task_goes_on() {
    let reports = Log::new();
    let theirs = reports.clone();
    let hooks = HookFns::new().before(|task| assert_ne!(task.name(), Some("inner"), "hook"));
    let builder = fixed(1)
        .hooks(hooks)
        .uncaught_handler(move |failure| theirs.record(failure.to_string().contains("hook")));
    let end = alone_in(builder, |pool| {
        let inner = pool.task().name("inner").submit(|| ()).unwrap();
        let cancelled = inner.join().unwrap_err().is_cancelled();
        (cancelled, pool.submit(|| 6).unwrap().join().unwrap())
    });
    assert_eq!(end, (true, 6));
    assert_eq!(reports.entries(), [true]);
}

/// WL-103
#[test]
fn cancelling_a_task_that_runs_in_place_interrupts_it_and_not_the_one_that_waits() {
    within_patience("both tasks", || {
        let pool = fixed(1).build().unwrap();
        let (gate, inside) = (Gate::new(), pool.clone());
        let theirs = gate.clone();
        let outer = pool.submit(move || {
            let inner = inside.submit(move || theirs.pass().is_err()).unwrap();
            let control = inner.control();
            let canceller = thread::spawn(move || {
                gate.await_waiting(1);
                control.cancel_now()
            });
            let cancelled = inner.join().unwrap_err().is_cancelled();
            assert!(canceller.join().unwrap());
            (cancelled, interrupt::is_interrupted())
        });
        assert_eq!(outer.unwrap().join().unwrap(), (true, false));
        finish(&pool);
    });
}

/// WL-103
#[test]
fn cancelling_a_task_that_waits_interrupts_it_after_what_it_runs_in_place() {
    within_patience("both tasks", || {
        let pool = fixed(1).build().unwrap();
        let (gate, inside) = (Gate::new(), pool.clone());
        let theirs = gate.clone();
        let (seen, sees) = mpsc::channel();
        let outer = pool.submit(move || {
            let inner = inside.submit(move || theirs.pass().is_err()).unwrap();
            // The interrupt reaches whatever the thread runs, and the outer task in any case.
            let in_place = inner.join().unwrap();
            seen.send((in_place, interrupt::is_interrupted())).unwrap();
        });
        let outer = outer.unwrap();
        gate.await_waiting(1);
        assert!(outer.cancel_now());
        assert_eq!(sees.recv().unwrap(), (true, true));
        finish(&pool);
    });
}

/// WL-104
#[test]
fn a_shutdown_lets_tasks_run_in_place() {
    within_patience("the end", || {
        let pool = fixed(1).build().unwrap();
        let (gate, inside) = (Gate::new(), pool.clone());
        let theirs = gate.clone();
        let outer = pool.submit(move || {
            let inner = inside.submit(|| 1).unwrap();
            theirs.pass_uninterruptibly();
            inner.join().unwrap()
        });
        gate.await_waiting(1);
        pool.shutdown();
        gate.open();
        assert_eq!(outer.unwrap().join().unwrap(), 1);
        finish(&pool);
    });
}

/// WL-104
#[test]
fn a_stop_interrupts_what_runs_in_place_and_what_waits() {
    within_patience("the end", || {
        let pool = fixed(1).build().unwrap();
        let (gate, inside) = (Gate::new(), pool.clone());
        let theirs = gate.clone();
        let (seen, sees) = mpsc::channel();
        pool.execute(move || {
            let inner = inside.submit(move || theirs.pass().is_err()).unwrap();
            let later = inside.submit(|| ()).unwrap();
            seen.send((inner.join().unwrap(), interrupt::interrupted()))
                .unwrap();
            seen.send((later.join().is_err(), true)).unwrap();
        })
        .unwrap();
        gate.await_waiting(1);
        let drained = pool.shutdown_now();
        assert_eq!(drained.len(), 1);
        drop(drained);
        assert_eq!(sees.recv().unwrap(), (true, true));
        assert_eq!(sees.recv().unwrap(), (true, true));
        assert_eq!(pool.await_termination(PATIENCE), Ok(true));
    });
}

/// WL-105
#[test]
fn a_task_that_is_queued_after_the_wait_began_is_run_in_place_too() {
    within_patience("a late task", || {
        let pool = fixed(1).build().unwrap();
        let (task, handle) = Task::with_handle(|| 9);
        let outer = pool.submit(move || handle.join().unwrap()).unwrap();
        until("the worker waits", || pool.stats().waiting_count == 1);
        pool.execute_task(task).unwrap();
        assert_eq!(outer.join().unwrap(), 9);
        finish(&pool);
    });
}

/// WL-105
#[test]
fn two_pools_of_one_worker_that_wait_for_each_other_return() {
    within_patience("each other", || {
        let (first, second) = (fixed(1).build().unwrap(), fixed(1).build().unwrap());
        let (here, there) = (first.clone(), second.clone());
        let meeting = Arc::new(std::sync::Barrier::new(2));
        let waits = |other: ThreadPoolExecutor| {
            let meeting = Arc::clone(&meeting);
            move || {
                // Both workers are busy now, so what each submits to the other pool stays queued.
                meeting.wait();
                let queued = other.submit(|| 1).unwrap();
                meeting.wait();
                queued.join().unwrap()
            }
        };
        let one = first.submit(waits(there)).unwrap();
        let other = second.submit(waits(here)).unwrap();
        assert_eq!(one.join().unwrap() + other.join().unwrap(), 2);
        finish(&first);
        finish(&second);
    });
}

/// WL-105: the second pool stalls only after the first worker waits for a task queued there.
#[test]
fn a_worker_takes_its_task_out_of_a_pool_that_stalls_later() {
    within_patience("there and back", || {
        let (first, second) = (fixed(1).build().unwrap(), fixed(1).build().unwrap());
        let (home, away) = (first.clone(), second.clone());
        let outer = first.submit(move || {
            let gate = Gate::new();
            let (passes, back) = (gate.clone(), home.clone());
            let busy = away.submit(move || {
                passes.pass_uninterruptibly();
                back.submit(|| 3).unwrap().join().unwrap()
            });
            gate.await_waiting(1);
            let queued = away.submit(|| 4).unwrap();
            let watch = home.clone();
            let opener = thread::spawn(move || {
                until("the worker waits", || watch.stats().waiting_count == 1);
                gate.open();
            });
            let sum = queued.join().unwrap() + busy.unwrap().join().unwrap();
            opener.join().unwrap();
            sum
        });
        assert_eq!(outer.unwrap().join().unwrap(), 7);
        finish(&first);
        finish(&second);
    });
}

/// WL-105
#[test]
fn a_submitter_that_runs_a_task_itself_runs_what_that_waits_for() {
    within_patience("a caller", || {
        let pool = fixed(1)
            .work_queue(ArrayBlockingQueue::new(1).unwrap())
            .rejection_handler(CallerRunsPolicy)
            .build()
            .unwrap();
        let blocker = Blocker::occupy(&pool, 1);
        let (task, handle) = Task::with_handle(|| 2);
        pool.execute_task(task).unwrap();
        // No room: this thread runs it, and waits for the queued one, which the worker does not reach.
        let outer = pool.submit(move || handle.join().unwrap()).unwrap();
        assert_eq!(outer.join().unwrap(), 2);
        blocker.release();
        finish(&pool);
        assert_eq!(pool.stats().in_place_task_count, 1);
    });
}

/// WL-106
#[test]
fn the_only_worker_of_a_scheduled_pool_runs_what_is_due() {
    within_patience("a scheduled pool", || {
        let pool = executors::scheduled_thread_pool(1);
        let inside = pool.clone();
        let outer = pool.submit(move || {
            let now = inside.submit(|| 1).unwrap();
            let due = inside.schedule(Duration::ZERO, || 2).unwrap();
            now.join().unwrap() + due.join().unwrap()
        });
        assert_eq!(outer.unwrap().join().unwrap(), 3);
        pool.close();
    });
}

/// WL-106
#[test]
fn a_task_that_is_not_due_is_run_in_place_when_it_is_due_and_not_before() {
    within_patience("a scheduled pool", || {
        let clock = TestClock::new();
        let pool = time::pool_on(&clock, 1);
        let (inside, watch) = (pool.clone(), clock.clone());
        let outer = pool.submit(move || {
            let here = this_thread();
            let ran = move || (watch.elapsed(), this_thread() == here);
            inside.schedule(HOUR, ran).unwrap().join().unwrap()
        });
        let outer = outer.unwrap();
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(HOUR - SECOND);
        assert!(!outer.is_done());
        clock.advance(SECOND);
        assert_eq!(outer.join().unwrap(), (HOUR, true));
        pool.close();
    });
}

/// WL-106: all threads of the scheduled pool wait, so none of them wakes up at that time.
#[test]
fn a_worker_of_another_pool_runs_what_it_waits_for_when_it_is_due() {
    within_patience("a scheduled pool and another", || {
        let clock = TestClock::new();
        let pool = time::pool_on(&clock, 1);
        let (other, forks) = clock.enter(|| {
            // Its idle workers sleep longer than the tasks wait.
            let forks = ForkJoinPool::builder().parallelism(1).keep_alive(3 * HOUR);
            (fixed(1).build().unwrap(), forks.build().unwrap())
        });
        runs_when_due(&clock, &pool, other.clone());
        runs_when_due(&clock, &pool, forks.clone());
        other.close();
        forks.close();
        pool.close();
    });
}

/// Waits in the scheduled pool for `other`, in which a task waits for one that is scheduled.
fn runs_when_due<E: Executor + Clone + Send + 'static>(
    clock: &TestClock,
    pool: &ScheduledThreadPoolExecutor,
    other: E,
) {
    for as_guest in [false, true] {
        let (home, other) = (pool.clone(), other.clone());
        let (watch, start) = (clock.clone(), clock.elapsed());
        let outer = pool.submit(move || {
            let inside = home.clone();
            let wait = move || {
                let ran = move || watch.elapsed() - start;
                inside.schedule(HOUR, ran).unwrap().join().unwrap()
            };
            let middle = move || {
                if as_guest {
                    home.submit(wait).unwrap().join().unwrap()
                } else {
                    wait()
                }
            };
            other.submit(middle).unwrap().join().unwrap()
        });
        until("a thread waits for the time", || {
            clock.next_wake_up() == Some(HOUR)
        });
        clock.advance(HOUR);
        assert_eq!(outer.unwrap().join().unwrap(), HOUR);
    }
}

/// WL-106
#[test]
fn a_wait_for_a_task_that_is_not_due_still_ends_at_its_limit() {
    within_patience("a scheduled pool", || {
        let clock = TestClock::new();
        let pool = time::pool_on(&clock, 1);
        let inside = pool.clone();
        let outer = pool.submit(move || {
            let mut later = inside.schedule(HOUR, || ()).unwrap();
            later.get_timeout(SECOND).unwrap_err().is_timed_out()
        });
        assert!(clock.await_sleepers(1, PATIENCE));
        clock.advance(SECOND);
        assert!(outer.unwrap().join().unwrap());
        drop(pool.shutdown_now());
    });
}

/// WL-106
#[test]
fn a_periodic_task_that_is_waited_for_runs_in_place_each_time_it_is_due() {
    within_patience("a scheduled pool", || {
        let clock = TestClock::new();
        let pool = time::pool_on(&clock, 1);
        let inside = pool.clone();
        let outer = pool.submit(move || {
            let runs = Arc::new(AtomicUsize::new(0));
            let theirs = Arc::clone(&runs);
            let body = move || match theirs.fetch_add(1, Ordering::SeqCst) {
                2 => Err("enough"),
                _ => Ok(()),
            };
            let periodic = inside
                .schedule_at_fixed_rate_fallible(SECOND, SECOND, body)
                .unwrap();
            assert!(periodic.join().unwrap_err().is_failed());
            runs.load(Ordering::SeqCst)
        });
        let outer = outer.unwrap();
        while !outer.is_done() {
            if clock.sleepers() > 0 {
                clock.advance(SECOND);
            }
            thread::yield_now();
        }
        assert_eq!(outer.join().unwrap(), 3);
        pool.close();
    });
}

/// WL-107
#[test]
fn the_only_worker_takes_the_results_of_its_own_submissions() {
    let (sum, ran) = alone(|pool| {
        let others = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&others);
        pool.execute(move || _ = count.fetch_add(1, Ordering::SeqCst))
            .unwrap();
        let service = CompletionService::new(pool.clone());
        for n in 1..=4 {
            service.submit(move || n).unwrap();
        }
        let first = service.take().unwrap().join().unwrap();
        let second = service
            .poll_timeout(PATIENCE)
            .unwrap()
            .unwrap()
            .join()
            .unwrap();
        let rest: i32 = service.completions().map(|done| done.join().unwrap()).sum();
        (first + second + rest, others.load(Ordering::SeqCst))
    });
    assert_eq!((sum, ran), (10, 0));
}

/// WL-107
#[test]
fn a_worker_that_waits_for_results_runs_a_task_that_is_submitted_later() {
    within_patience("a late task", || {
        let pool = fixed(1).build().unwrap();
        let service = Arc::new(CompletionService::new(pool.clone()));
        let theirs = Arc::clone(&service);
        let outer = pool
            .submit(move || theirs.take().unwrap().join().unwrap())
            .unwrap();
        until("the worker waits", || pool.stats().waiting_count == 1);
        service.submit(|| 8).unwrap();
        assert_eq!(outer.join().unwrap(), 8);
        finish(&pool);
    });
}

/// WL-107
#[test]
fn an_interrupt_ends_the_wait_of_a_worker_for_results() {
    within_patience("an interrupt", || {
        let pool = fixed(1).build().unwrap();
        let service: CompletionService<u8, _> = CompletionService::new(pool.clone());
        let outer = pool.submit(move || service.take().is_err()).unwrap();
        until("the worker waits", || pool.stats().waiting_count == 1);
        drop(pool.shutdown_now());
        assert!(outer.join().unwrap());
    });
}

/// WL-108
#[test]
fn a_serial_task_runs_a_later_one_that_it_waits_for_in_place() {
    for workers in [1, 2] {
        within_patience("a serial task", move || {
            let pool = fixed(workers).build().unwrap();
            let serial = Arc::new(SerialExecutor::new(pool.clone()));
            let (inside, log) = (Arc::clone(&serial), Log::new());
            let theirs = log.clone();
            let outer = serial.submit(move || {
                let between = theirs.clone();
                let between = inside.submit(move || between.record("between")).unwrap();
                let last = theirs.clone();
                inside
                    .submit(move || last.record("awaited"))
                    .unwrap()
                    .join()
                    .unwrap();
                theirs.record("outer");
                between
            });
            outer.unwrap().join().unwrap().join().unwrap();
            assert_eq!(log.entries(), ["awaited", "outer", "between"]);
            finish(&pool);
        });
    }
}

/// WL-108
#[test]
fn a_worker_that_waits_for_a_serial_task_runs_those_ahead_of_it_in_order() {
    let log = Log::new();
    let theirs = log.clone();
    alone(move |pool| {
        let serial = SerialExecutor::new(pool.clone());
        let record = |what| {
            let log = theirs.clone();
            move || log.record(what)
        };
        serial.execute(record(1)).unwrap();
        pool.execute(record(9)).unwrap();
        let awaited = serial.submit(record(2)).unwrap();
        serial.execute(record(3)).unwrap();
        awaited.join().unwrap();
        theirs.record(0);
    });
    assert_eq!(log.entries()[..3], [1, 2, 0]);
    assert_eq!(log.entries().len(), 5);
}

/// WL-108: the runner is queued before the task that is waited for.
#[test]
fn a_serial_task_that_is_queued_after_the_wait_began_is_run_in_place_too() {
    for _ in 0..100 {
        within_patience("a late task", || {
            let pool = fixed(1).build().unwrap();
            let serial = SerialExecutor::new(pool.clone());
            let (task, handle) = Task::with_handle(|| 1);
            let waits = pool.submit(move || handle.join().unwrap()).unwrap();
            until("the worker waits", || pool.stats().waiting_count == 1);
            serial.execute(|| ()).unwrap();
            serial.execute_task(task).unwrap();
            assert_eq!(waits.join().unwrap(), 1);
            finish(&pool);
        });
    }
}

/// WL-108
#[test]
fn a_panic_of_a_serial_task_that_is_run_in_place_is_reported() {
    let reports = Log::new();
    let theirs = reports.clone();
    let builder = fixed(1).uncaught_handler(move |failure| theirs.record(failure.to_string()));
    alone_in(builder, |pool| {
        let serial = Arc::new(SerialExecutor::new(pool.clone()));
        serial.execute(|| panic!("ahead")).unwrap();
        serial.submit(|| ()).unwrap().join().unwrap();
    });
    let reports = reports.entries();
    assert_eq!(reports.len(), 1);
    assert!(reports[0].contains("ahead"));
}

/// WL-109
#[test]
fn a_pool_that_blocks_runs_nothing_in_place() {
    within_patience("another worker", || {
        let pool = fixed(2).nested_waits(NestedWaits::Block).build().unwrap();
        let blocker = Blocker::occupy(&pool, 1);
        let (inside, (tell, told)) = (pool.clone(), mpsc::channel());
        let outer = pool.submit(move || {
            let here = this_thread();
            let mut inner = inside.submit(move || this_thread() == here).unwrap();
            let timed_out = inner.get_timeout(Duration::from_millis(1)).unwrap_err();
            tell.send(timed_out.is_timed_out()).unwrap();
            inner.join().unwrap()
        });
        assert!(told.recv().unwrap());
        until("the worker waits", || pool.stats().waiting_count == 1);
        blocker.release();
        assert!(!outer.unwrap().join().unwrap());
        finish(&pool);
        assert_eq!(pool.stats().in_place_task_count, 0);
    });
}

/// WL-109: with one of them, tasks of the other pool are not run in place either.
#[test]
fn a_worker_of_a_pool_that_blocks_runs_nothing_for_other_pools() {
    within_patience("another worker", || {
        let (blocks, other) = (
            fixed(1).nested_waits(NestedWaits::Block).build().unwrap(),
            fixed(1).build().unwrap(),
        );
        let blocker = Blocker::occupy(&other, 1);
        let theirs = other.clone();
        let outer = blocks.submit(move || {
            let here = this_thread();
            theirs
                .submit(move || this_thread() == here)
                .unwrap()
                .join()
                .unwrap()
        });
        until("the worker waits", || blocks.stats().waiting_count == 1);
        blocker.release();
        assert!(!outer.unwrap().join().unwrap());
        finish(&blocks);
        finish(&other);
    });
}

/// WL-100: an executor of the user's on top of a pool is the pool's as well.
#[test]
fn thread_locals_of_the_task_that_waits_are_seen_by_the_one_in_place() {
    thread_local! {
        static DEPTH: Cell<u32> = const { Cell::new(0) };
    }
    let depth = alone(|pool| {
        DEPTH.set(1);
        let inner: TaskHandle<u32> = pool.submit(|| DEPTH.get()).unwrap();
        inner.join().unwrap()
    });
    assert_eq!(depth, 1);
}
