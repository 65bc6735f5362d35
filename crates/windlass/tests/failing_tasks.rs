//! Tasks and hooks that fail: what is reported, what is counted, which workers are replaced.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "kit/recording.rs"]
#[expect(dead_code, reason = "each test file uses its part")]
mod recording;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use recording::{Blocker, CountingFactory, HookFns, Log, finish, fixed};
use windlass::task::{ExecutionError, Failure, Task, TaskState};
use windlass::testing::{Gate, Latch, PATIENCE, until};
use windlass::{Executor, ExecutorService, Submit, ThreadPoolExecutor};

/// The ways in which a hook or a task of the next test ends.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Well,
    Text,
    Formatted,
    Number,
    Other,
}

const WAYS: [Way; 5] = [
    Way::Well,
    Way::Text,
    Way::Formatted,
    Way::Number,
    Way::Other,
];

impl Way {
    fn go(self) {
        match self {
            Self::Well => {}
            Self::Text => panic!("text"),
            Self::Formatted => panic!("{:?}", Self::Formatted),
            Self::Number => std::panic::panic_any(1_u64),
            Self::Other => std::panic::panic_any(Self::Other),
        }
    }

    fn of(failure: &Failure) -> Self {
        match failure.message() {
            Some("text") => Self::Text,
            Some(_) => Self::Formatted,
            None if is_number(failure) => Self::Number,
            None => Self::Other,
        }
    }
}

fn is_number(failure: &Failure) -> bool {
    failure.with_payload(|payload| payload.is::<u64>()) == Some(true)
}

/// TPE-093, TPE-094, TPE-095
#[test]
fn every_failure_of_hook_or_body_is_counted_reported_once_and_replaces_the_worker() {
    let (befores, bodies, afters) = (Log::new(), Log::new(), Log::new());
    let uncaught: Log<(Way, bool)> = Log::new();
    let hooks = {
        let (befores, afters) = (befores.clone(), afters.clone());
        HookFns::new()
            .before(move |task| {
                befores.record(());
                task.attachment::<Way>().unwrap().go();
            })
            .after(move |_, outcome| afters.record(outcome.failure().map(Way::of)))
    };
    let factory = CountingFactory::new();
    let theirs = uncaught.clone();
    let pool = fixed(3)
        .thread_factory(factory.clone())
        .hooks(hooks)
        .uncaught_handler(move |failure| {
            theirs.record((Way::of(failure), windlass::interrupt::is_interrupted()));
        })
        .build()
        .unwrap();
    for before in WAYS {
        for body in WAYS {
            let bodies = bodies.clone();
            let task = Task::builder().attach(before).build(move || {
                bodies.record(());
                windlass::interrupt::current().interrupt();
                body.go();
            });
            pool.execute_task(task).unwrap();
        }
    }
    until("all are counted", || pool.completed_task_count() == 25);
    until("all are reported", || uncaught.entries().len() == 24);
    factory.await_live(3);
    assert_eq!((pool.pool_size(), pool.task_count()), (3, 25));
    assert_eq!(factory.created(), 3 + 24);
    finish(&pool);
    let runs = (befores.entries(), bodies.entries(), afters.entries());
    assert_eq!((runs.0.len(), runs.1.len(), runs.2.len()), (25, 5, 5));
    assert_eq!(pool.completed_task_count(), 25);
    for way in &WAYS[1..] {
        let reported = uncaught.entries();
        assert_eq!(reported.iter().filter(|entry| entry.0 == *way).count(), 6);
        assert!(runs.2.contains(&Some(*way)));
    }
    assert!(uncaught.entries().iter().all(|(_, flagged)| !flagged));
}

/// TPE-095
#[test]
fn a_task_whose_before_fails_completes_its_handle_as_cancelled() {
    let hooks = HookFns::new().before(|_| panic!("before"));
    let pool = fixed(1).hooks(hooks).build().unwrap();
    let mut handle = pool.submit(|| ()).unwrap();
    assert!(matches!(handle.get(), Err(ExecutionError::Cancelled(_))));
    finish(&pool);
}

/// A pool of one whose log says what hooks and the uncaught-failure handler were told.
fn told_of_failures(after: fn()) -> (ThreadPoolExecutor, Log<String>, CountingFactory) {
    let (log, factory) = (Log::new(), CountingFactory::new());
    let (hooked, uncaught) = (log.clone(), log.clone());
    let hooks = HookFns::new().after(move |_, outcome| {
        let failure = outcome.failure().and_then(Failure::message);
        hooked.record(format!("after {}", failure.unwrap_or("well")));
        after();
    });
    let pool = fixed(1)
        .thread_factory(factory.clone())
        .hooks(hooks)
        .uncaught_handler(move |failure| {
            uncaught.record(format!("uncaught {}", failure.message().unwrap_or("?")));
        })
        .build()
        .unwrap();
    (pool, log, factory)
}

/// TPE-096: the JDK calls it a second time with its own failure.
#[test]
fn an_after_that_fails_is_called_once_and_costs_the_worker() {
    let (pool, log, factory) = told_of_failures(|| panic!("hook"));
    pool.execute(|| ()).unwrap();
    until("the failure is reported", || log.entries().len() >= 2);
    until("the worker is replaced", || factory.created() == 2);
    finish(&pool);
    assert_eq!(log.entries(), ["after well", "uncaught hook"]);
}

/// TPE-097
#[test]
fn the_failure_of_after_replaces_that_of_the_body() {
    let (pool, log, _) = told_of_failures(|| panic!("hook"));
    pool.execute(|| panic!("body")).unwrap();
    until("the failure is reported", || log.entries().len() >= 2);
    finish(&pool);
    assert_eq!(log.entries(), ["after body", "uncaught hook"]);
}

/// TPE-098
#[test]
fn a_failed_worker_is_replaced_even_without_need_while_the_pool_runs() {
    let factory = CountingFactory::new();
    let pool = fixed(1).core_pool_size(0).thread_factory(factory.clone());
    let pool = pool.build().unwrap();
    pool.execute(|| panic!("dies")).unwrap();
    until("the worker is replaced", || factory.created() == 2);
    finish(&pool);
}

/// TPE-098
#[test]
fn after_shutdown_a_failed_worker_is_replaced_only_for_what_is_queued() {
    for queued in [0, 1] {
        let factory = CountingFactory::new();
        let pool = fixed(1).thread_factory(factory.clone()).build().unwrap();
        let (blocker, ran) = (Blocker::new(), Latch::new(queued));
        let body = blocker.body();
        pool.execute(move || {
            body();
            panic!("dies");
        })
        .unwrap();
        for _ in 0..queued {
            let ran = ran.clone();
            pool.execute(move || ran.count_down()).unwrap();
        }
        pool.shutdown();
        blocker.release();
        finish(&pool);
        ran.wait();
        assert_eq!(factory.created(), 1 + queued);
    }
}

/// TPE-098
#[test]
fn a_worker_that_fails_while_the_pool_stops_is_not_replaced() {
    let factory = CountingFactory::new();
    let pool = fixed(1).thread_factory(factory.clone()).build().unwrap();
    let blocker = Blocker::new();
    let body = blocker.body();
    pool.execute(move || {
        body();
        panic!("dies");
    })
    .unwrap();
    blocker.await_held(1);
    pool.execute(|| ()).unwrap();
    assert_eq!(pool.shutdown_now().len(), 1);
    blocker.release();
    finish(&pool);
    assert_eq!(factory.created(), 1);
}

/// TPE-099
#[test]
fn a_callback_that_fails_is_the_failure_of_the_run_and_not_of_the_value() {
    let (pool, log, factory) = told_of_failures(|| ());
    let blocker = Blocker::occupy(&pool, 1);
    let mut handle = pool.submit(|| 4).unwrap();
    handle.on_done(|_| panic!("callback"));
    blocker.release();
    assert_eq!(handle.get().unwrap(), 4);
    until("the failure is reported", || log.entries().len() >= 3);
    until("the worker is replaced", || factory.created() == 2);
    finish(&pool);
    assert_eq!(
        log.entries(),
        ["after well", "after callback", "uncaught callback"]
    );
}

/// A panic payload whose own drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("and again");
        }
    }
}

/// TPE-094
#[test]
fn a_failure_that_cannot_even_be_dropped_is_counted_and_harms_nobody() {
    for hooked in [false, true] {
        let factory = CountingFactory::new();
        let pool = fixed(1).thread_factory(factory.clone());
        let pool = pool.reuse_worker_after_panic(true);
        let pool = if hooked {
            pool.hooks(HookFns::new())
        } else {
            pool
        };
        let pool = pool.build().unwrap();
        let blocker = Blocker::occupy(&pool, 1);
        drop(pool.submit(|| std::panic::panic_any(Bomb)).unwrap());
        pool.execute(|| std::panic::panic_any(Bomb)).unwrap();
        blocker.release();
        assert_eq!(pool.submit(|| 1).unwrap().get().unwrap(), 1);
        finish(&pool);
        assert_eq!((pool.completed_task_count(), factory.created()), (4, 1));
        factory.await_live(0);
    }
}

/// WL-022
#[test]
fn a_pool_terminates_after_its_last_failure_was_reported() {
    let (body, handler) = (Gate::new(), Gate::new());
    let (fatal, held) = (body.clone(), handler.clone());
    let pool = fixed(1)
        .uncaught_handler(move |_| held.pass_uninterruptibly())
        .build()
        .unwrap();
    pool.execute(move || {
        fatal.pass_uninterruptibly();
        panic!("planned");
    })
    .unwrap();
    pool.shutdown();
    body.open();
    handler.await_waiting(1);
    assert!(pool.is_terminating() && !pool.is_terminated());
    handler.open();
    assert_eq!(pool.await_termination(PATIENCE), Ok(true));
}

/// WL-022
#[test]
fn every_panic_was_reported_once_when_the_pool_has_terminated() {
    for round in 0..300 {
        let reported = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&reported);
        let pool = fixed(1 + round % 4)
            .reuse_worker_after_panic(round % 3 == 0)
            .uncaught_handler(move |_| {
                theirs.fetch_add(1, Ordering::SeqCst);
            })
            .build()
            .unwrap();
        let mut failing = Vec::new();
        for n in 0..12 {
            let body = move || {
                if n % 2 == 0 {
                    std::panic::resume_unwind(Box::new("planned"));
                }
            };
            if n % 3 == 0 {
                failing.push(pool.submit(body).unwrap());
            } else {
                pool.execute(body).unwrap();
            }
        }
        pool.close();
        // Of the six failures, two have a handle.
        assert_eq!(reported.load(Ordering::SeqCst), 4, "round {round}");
        let stats = pool.stats();
        assert_eq!(
            (stats.completed_task_count, stats.failed_task_count),
            (12, 6)
        );
        assert_eq!(
            failing
                .into_iter()
                .filter(|task| task.state() == TaskState::Failed)
                .count(),
            2
        );
    }
}
