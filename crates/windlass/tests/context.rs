//! Context that travels with tasks: captured where they are submitted, entered where they run.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use windlass::context::{self, Captured, Propagate, Propagating};
use windlass::executors::{SerialExecutor, ThreadPerTaskExecutor};
use windlass::forkjoin::completer::{Completer, Node};
use windlass::forkjoin::{Cx, RecursiveTask, slice};
use windlass::pool::Builder;
use windlass::prelude::*;
use windlass::queue::{ArrayBlockingQueue, LinkedBlockingQueue};
use windlass::scheduled::Retry;
use windlass::task::Task;
use windlass::testing::{DropCounter, Gate, Latch, until};
use windlass::{CompletionService, FutureTask};

thread_local! {
    static REQUEST: Cell<u64> = const { Cell::new(0) };
    static USER: RefCell<String> = const { RefCell::new(String::new()) };
}

fn request() -> u64 {
    REQUEST.get()
}

fn one_worker() -> Builder {
    ThreadPoolExecutor::builder().core_pool_size(1)
}

fn pool() -> ThreadPoolExecutor {
    one_worker()
        .propagate(context::copied(&REQUEST))
        .build()
        .unwrap()
}

/// Runs `f` while the current thread handles this request.
fn within<R>(id: u64, f: impl FnOnce() -> R) -> R {
    let former = REQUEST.replace(id);
    let result = f();
    REQUEST.set(former);
    result
}

/// WL-160
#[test]
fn every_way_to_submit_a_closure_takes_the_context_along() {
    let pool = pool();
    assert_eq!(
        within(1, || pool.submit(request)).unwrap().join().unwrap(),
        1
    );
    let with = within(2, || pool.submit_with("input", |_| request()));
    assert_eq!(with.unwrap().join().unwrap(), 2);
    let fallible = within(3, || pool.submit_fallible(|| Ok::<_, String>(request())));
    assert_eq!(fallible.unwrap().join().unwrap(), 3);
    let named = within(4, || pool.task().name("named").submit(request)).unwrap();
    assert_eq!(named.name(), Some("named"));
    assert_eq!(named.join().unwrap(), 4);
    let all = within(5, || pool.invoke_all([request, request])).unwrap();
    let all: Vec<_> = all
        .into_iter()
        .map(|handle| handle.join().unwrap())
        .collect();
    assert_eq!(all, [5, 5]);
    let seen = Arc::new(LinkedBlockingQueue::new());
    let (one, two) = (Arc::clone(&seen), Arc::clone(&seen));
    within(6, || pool.execute(move || one.offer(request()).unwrap())).unwrap();
    within(7, || {
        pool.execute_with(70, move |n| two.offer(n + request()).unwrap())
    })
    .unwrap();
    assert_eq!((seen.take().unwrap(), seen.take().unwrap()), (6, 77));
    let scoped = within(9, || {
        pool.scope(|s| s.spawn(request).unwrap().join().unwrap())
    });
    assert_eq!(scoped, 9);
    let service = CompletionService::new(pool);
    within(8, || service.submit(request)).unwrap();
    let completed = service.completions().next().unwrap();
    assert_eq!(completed.join().unwrap(), 8);
}

/// WL-160
#[test]
fn the_worker_has_its_own_context_again_after_the_task() {
    let pool = pool();
    let plain = || Task::with_handle(request);
    within(1, || pool.submit(|| REQUEST.set(99)))
        .unwrap()
        .join()
        .unwrap();
    let (task, handle) = plain();
    pool.execute_task(task).unwrap();
    assert_eq!(handle.join().unwrap(), 0);
    let failed = within(2, || pool.submit(|| panic!("planned"))).unwrap();
    assert!(failed.join().unwrap_err().is_failed());
    let (task, handle) = plain();
    pool.execute_task(task).unwrap();
    assert_eq!(handle.join().unwrap(), 0);
}

/// WL-160
#[test]
fn a_rejected_input_is_taken_back_out_of_a_task_with_context() {
    let pool = pool();
    pool.shutdown();
    let rejected = pool.submit_with(String::from("input"), |_| request());
    assert_eq!(
        rejected.unwrap_err().into_input::<String>().unwrap(),
        "input"
    );
    let rejected = pool.execute_with(String::from("input"), |_| ());
    assert_eq!(
        rejected.unwrap_err().into_input::<String>().unwrap(),
        "input"
    );
}

/// WL-161
#[test]
fn scheduled_tasks_have_the_context_of_the_thread_that_scheduled_them_in_each_run() {
    let pool = ScheduledThreadPoolExecutor::builder()
        .propagate(context::copied(&REQUEST))
        .build();
    let once = within(1, || pool.schedule(Duration::from_millis(1), request));
    assert_eq!(once.unwrap().join().unwrap(), 1);
    let seen = Arc::new(LinkedBlockingQueue::new());
    let runs = Arc::clone(&seen);
    let ticking = within(2, || {
        let period = Duration::from_millis(1);
        pool.schedule_at_fixed_rate(Duration::ZERO, period, move || {
            runs.offer(REQUEST.replace(77)).unwrap();
        })
    });
    for _ in 0..3 {
        assert_eq!(seen.take().unwrap(), 2);
    }
    ticking.unwrap().cancel();
    pool.close();
}

/// Sees the request on each of its forks.
struct Forks(u32);

impl RecursiveTask for Forks {
    type Output = Vec<u64>;

    fn compute(self, cx: &Cx<'_>) -> Vec<u64> {
        let mut seen = vec![request()];
        if self.0 > 0 {
            let forks: Vec<_> = (0..2).map(|_| cx.fork(Forks(self.0 - 1))).collect();
            for fork in forks {
                seen.extend(fork.join().unwrap());
            }
        }
        seen
    }
}

fn fork_join_pool() -> ForkJoinPool {
    let builder = ForkJoinPool::builder().parallelism(2);
    builder
        .propagate(context::copied(&REQUEST))
        .build()
        .unwrap()
}

/// Returns what `a` sees that another worker has stolen, and what `b` sees, which waits for it.
fn stolen(pool: &ForkJoinPool) -> (u64, u64) {
    let (started, stolen) = (Latch::new(1), Gate::new());
    let ((a, a_thread), (b, b_thread)) = pool.join(
        || {
            stolen.open();
            started.count_down();
            (request(), thread::current().id())
        },
        || {
            stolen.pass().unwrap();
            (request(), thread::current().id())
        },
    );
    assert_ne!(a_thread, b_thread);
    (a, b)
}

/// WL-461
#[test]
fn a_map_and_a_submission_that_awaits_room_take_the_context_along() {
    let maps = pool();
    let mapped = within(1, || maps.map([10, 20, 30], |item| item + request()));
    assert_eq!(mapped.unwrap(), [11, 21, 31]);
    let mapped = within(2, || {
        maps.map_fallible([10, 20], |item| Ok::<_, String>(item + request()))
    });
    assert_eq!(mapped.unwrap(), [12, 22]);
    let pool = one_worker()
        .maximum_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(1).unwrap())
        .propagate(context::copied(&REQUEST))
        .build()
        .unwrap();
    let gate = Gate::new();
    let held = gate.clone();
    pool.execute(move || held.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let queued = within(3, || pool.submit(request)).unwrap();
    let mut waiting = Box::pin(within(4, || pool.submit_async(request)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(within(5, || waiting.as_mut().poll(&mut context)).is_pending());
    gate.open();
    assert_eq!(queued.join().unwrap(), 3);
    let admitted = within(6, || pollster::block_on(waiting)).unwrap();
    assert_eq!(admitted.join().unwrap(), 4);
}

/// WL-461
#[test]
fn every_attempt_of_a_retried_task_has_the_context_of_its_submitter() {
    let timers = ScheduledThreadPoolExecutor::builder()
        .propagate(context::copied(&REQUEST))
        .build();
    let forks = fork_join_pool();
    let policy = Retry::exponential(Duration::from_millis(1)).attempts(3);
    let attempts = || {
        let mut seen = Vec::new();
        move || {
            seen.push(REQUEST.replace(77));
            if seen.len() < 3 {
                Err("again")
            } else {
                Ok(seen.clone())
            }
        }
    };
    let retried = within(1, || timers.submit_retry(&policy, attempts()));
    assert_eq!(retried.unwrap().join().unwrap(), [1; 3]);
    let retried = within(2, || forks.submit_retry(&policy, attempts()));
    assert_eq!(retried.unwrap().join().unwrap(), [2; 3]);
}

/// WL-461
#[test]
fn what_a_fork_join_pool_schedules_has_the_context_of_the_thread_that_scheduled_it() {
    let pool = fork_join_pool();
    let delay = Duration::from_millis(1);
    let once = within(1, || pool.schedule(delay, request)).unwrap();
    assert_eq!(once.join().unwrap(), 1);
    let seen = Arc::new(LinkedBlockingQueue::new());
    let runs = Arc::clone(&seen);
    let ticking = within(2, || {
        pool.schedule_at_fixed_rate(Duration::ZERO, delay, move || {
            runs.offer(REQUEST.replace(77)).unwrap();
        })
    });
    assert_eq!((seen.take().unwrap(), seen.take().unwrap()), (2, 2));
    ticking.unwrap().cancel();
}

/// Returns what the closure of a parallel call sees, in which two threads take part.
fn seen_by_two(call: impl FnOnce(&(dyn Fn() + Sync))) -> Vec<u64> {
    let (seen, threads) = (LinkedBlockingQueue::new(), LinkedBlockingQueue::new());
    let both = Latch::new(2);
    call(&|| {
        seen.offer(request()).unwrap();
        let me = thread::current().id();
        if threads.snapshot().contains(&me) {
            return;
        }
        threads.offer(me).unwrap();
        both.count_down();
        // Until another thread has stolen a part.
        both.wait();
    });
    let mut seen = seen.drain_all();
    seen.dedup();
    seen
}

/// WL-461
#[test]
fn loops_over_slices_have_the_context_of_their_caller_also_if_they_are_stolen() {
    let pool = fork_join_pool();
    let items = [(); 64];
    let for_each = |look: &(dyn Fn() + Sync)| slice::for_each(&items, |()| look());
    let map = |look: &(dyn Fn() + Sync)| drop(slice::map(&items, |()| look()));
    let for_each_mut = |look: &(dyn Fn() + Sync)| slice::for_each_mut(&mut [(); 64], |()| look());
    let map_reduce = |look: &(dyn Fn() + Sync)| {
        slice::map_reduce(&items, |()| look(), |(), ()| ());
    };
    let inside =
        |id, call: &mut (dyn FnMut() -> Vec<u64> + Send)| pool.install(|| within(id, call));
    assert_eq!(inside(1, &mut || seen_by_two(for_each)), [1]);
    assert_eq!(inside(2, &mut || seen_by_two(map)), [2]);
    assert_eq!(inside(3, &mut || seen_by_two(for_each_mut)), [3]);
    assert_eq!(inside(4, &mut || seen_by_two(map_reduce)), [4]);
}

/// WL-162
#[test]
fn the_closures_of_a_join_have_its_context_also_if_they_are_stolen() {
    let pool = fork_join_pool();
    assert_eq!(within(1, || stolen(&pool)), (1, 1));
    // Inside the pool: the context at the join, not that of the task around it.
    let inner = within(2, || pool.install(|| within(3, || stolen(&pool))));
    assert_eq!(inner, (3, 3));
    assert_eq!(within(4, || pool.install(request)), 4);
}

/// WL-162
#[test]
fn forks_and_submissions_of_a_fork_join_pool_have_the_context_of_their_forker() {
    let pool = fork_join_pool();
    assert_eq!(
        within(1, || pool.submit(request)).unwrap().join().unwrap(),
        1
    );
    assert_eq!(within(2, || pool.invoke(Forks(3))), [2; 15]);
    assert_eq!(
        within(3, || pool.fork(Forks(2))).unwrap().join().unwrap(),
        [3; 7]
    );
    let all = within(4, || pool.invoke_tasks((0..4).map(|_| Forks(0)).collect()));
    assert_eq!(all.concat(), [4; 4]);
}

/// WL-162
#[test]
fn what_a_scope_spawns_has_the_context_at_the_spawn() {
    let pool = fork_join_pool();
    let seen = LinkedBlockingQueue::new();
    pool.scope(|scope| {
        let seen = &seen;
        within(1, || scope.spawn(move || seen.offer(request()).unwrap()));
        within(2, || {
            scope.spawn(move || {
                within(3, || scope.spawn(move || seen.offer(request()).unwrap()));
                seen.offer(request()).unwrap();
            });
        });
    });
    let mut seen = seen.drain_all();
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
}

/// Counts the nodes that see request 7.
struct Sevens(u32, Arc<AtomicUsize>);

impl Completer for Sevens {
    fn compute(&self, node: &Node) {
        if request() == 7 {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
        if self.0 > 0 {
            node.set_pending_count(2);
            for _ in 0..2 {
                node.child(Sevens(self.0 - 1, Arc::clone(&self.1))).fork();
            }
        }
        node.try_complete();
    }
}

/// WL-162
#[test]
fn the_nodes_of_a_completer_tree_have_the_context_of_their_forker() {
    let (pool, sevens) = (fork_join_pool(), Arc::new(AtomicUsize::new(0)));
    let root = within(7, || pool.submit_completer(Sevens(3, Arc::clone(&sevens))));
    root.unwrap().join().unwrap();
    assert_eq!(sevens.load(Ordering::SeqCst), 15);
}

/// WL-162
#[test]
fn a_panic_of_either_side_of_a_join_goes_on_after_the_context_was_left() {
    let pool = fork_join_pool();
    for left in [true, false] {
        let joined = within(5, || {
            std::panic::catch_unwind(|| {
                pool.join(|| assert!(!left, "left"), || assert!(left, "right"))
            })
        });
        let message = *joined.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(message, if left { "left" } else { "right" });
    }
    pool.shutdown();
    assert_eq!(within(6, || pool.install(request)), 6);
    assert!(within(6, || pool.try_install(request).is_err()));
}

/// WL-163
#[test]
fn a_panic_at_the_capture_reaches_the_submitter_and_nothing_is_queued() {
    let source = || -> Option<Captured> { panic!("no context") };
    let pool = one_worker().propagate(source).build().unwrap();
    let submitted = std::panic::catch_unwind(|| pool.submit(|| ()).map(drop).is_ok());
    assert!(submitted.is_err());
    assert_eq!(pool.stats().task_count, 0);
    pool.close();
}

/// WL-163
#[test]
fn a_panic_on_entering_is_the_failure_of_the_task() {
    let source = || Some(Captured::around(|_body| panic!("no entry")));
    let pool = one_worker().propagate(source).build().unwrap();
    let failed = pool.submit(|| 1).unwrap().join().unwrap_err();
    assert!(failed.to_string().contains("no entry"), "{failed}");
    let forgets = || Some(Captured::around(|_body| ()));
    let pool = one_worker().propagate(forgets).build().unwrap();
    assert!(pool.submit(|| 1).unwrap().join().unwrap_err().is_failed());
}

/// A guard whose drop panics.
struct BadGuard;

impl Drop for BadGuard {
    fn drop(&mut self) {
        panic!("no way out");
    }
}

/// WL-163
#[test]
fn a_panic_on_leaving_changes_neither_the_outcome_nor_the_worker() {
    let source = || Some(Captured::with_guard(|| BadGuard));
    let pool = one_worker().propagate(source).build().unwrap();
    let thread = || {
        pool.submit(|| thread::current().id())
            .unwrap()
            .join()
            .unwrap()
    };
    let worker = thread();
    pool.execute(|| ()).unwrap();
    let failed = pool.submit(|| -> u32 { panic!("planned") }).unwrap();
    let failed = failed.join().unwrap_err();
    assert!(failed.to_string().contains("planned"), "{failed}");
    assert_eq!(thread(), worker);
    assert_eq!(pool.stats().failed_task_count, 1);
}

/// WL-164
#[test]
fn sources_are_entered_in_the_order_of_registration_and_nothing_is_entered_without_a_context() {
    let log = Arc::new(LinkedBlockingQueue::new());
    let source = |name: &'static str| {
        let log = Arc::clone(&log);
        move || {
            let log = Arc::clone(&log);
            (request() != 0).then(|| {
                Captured::around(move |body| {
                    log.offer((name, "enter")).unwrap();
                    body();
                    log.offer((name, "leave")).unwrap();
                })
            })
        }
    };
    let pool = one_worker()
        .propagate(source("outer"))
        .propagate(source("inner"))
        .build()
        .unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    assert_eq!(log.drain_all(), []);
    within(1, || pool.submit(|| ())).unwrap().join().unwrap();
    let inside = [
        ("outer", "enter"),
        ("inner", "enter"),
        ("inner", "leave"),
        ("outer", "leave"),
    ];
    until("the context is left", || log.len() == 4);
    assert_eq!(log.drain_all(), inside);
}

/// WL-164
#[test]
fn a_clone_of_a_thread_local_travels_and_the_workers_own_value_is_restored() {
    let pool = one_worker()
        .propagate(context::cloned(&USER))
        .build()
        .unwrap();
    USER.set("ada".into());
    let seen = pool.submit(|| USER.replace("changed".into())).unwrap();
    assert_eq!(seen.join().unwrap(), "ada");
    let (task, handle) = Task::with_handle(|| USER.with_borrow(String::clone));
    pool.execute_task(task).unwrap();
    assert_eq!(handle.join().unwrap(), "");
}

/// WL-164
#[test]
fn any_executor_and_any_task_can_carry_a_context() {
    let threads = Propagating::new(ThreadPerTaskExecutor::new(), context::copied(&REQUEST));
    let serial = SerialExecutor::new(threads);
    assert_eq!(
        within(1, || serial.submit(request))
            .unwrap()
            .join()
            .unwrap(),
        1
    );
    let captured = within(2, || context::copied(&REQUEST).capture()).unwrap();
    let future_task: FutureTask<u64> = Task::builder()
        .context(captured.clone())
        .build_future_task(request);
    future_task.run();
    assert_eq!(future_task.join().unwrap(), 2);
    let prepared = one_worker().prepare_tasks(move |task| task.context(captured.clone()));
    let prepared = prepared.build().unwrap();
    assert_eq!(prepared.submit(request).unwrap().join().unwrap(), 2);
}

/// WL-164
#[test]
fn a_context_is_dropped_with_the_body_and_not_kept_by_the_handle() {
    let drops = DropCounter::new();
    let counter = drops.clone();
    let source = move || {
        let token = counter.token();
        Some(Captured::around(move |body| {
            let _alive = &token;
            body();
        }))
    };
    let pool = one_worker().propagate(source).build().unwrap();
    let handle = pool.submit(|| ()).unwrap();
    handle.wait().unwrap();
    assert_eq!(drops.count(), 1);
    let gate = Gate::new();
    let blocked = gate.clone();
    let blocker = pool.submit(move || blocked.pass()).unwrap();
    let queued = pool.submit(|| ()).unwrap();
    assert!(queued.cancel());
    assert_eq!(drops.count(), 2);
    gate.open();
    blocker.join().unwrap().unwrap();
    drop(handle);
}

/// WL-163
#[test]
fn a_context_that_calls_the_body_twice_runs_it_once() {
    let runs = Arc::new(AtomicUsize::new(0));
    let source = || {
        Some(Captured::around(|body| {
            body();
            body();
        }))
    };
    let pool = one_worker().propagate(source).build().unwrap();
    let theirs = Arc::clone(&runs);
    let task = pool.submit(move || theirs.fetch_add(1, Ordering::SeqCst) + 7);
    assert_eq!(task.unwrap().join().unwrap(), 7);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    pool.close();
}
