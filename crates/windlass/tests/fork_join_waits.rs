//! Waits of fork-join workers: no worker waits for what only it could run.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use windlass::error::{Cancellation, Failure, RejectionReason};
use windlass::forkjoin::completer::{Completer, Node};
use windlass::forkjoin::{self, Cx, ForkHandle, ForkJoinPool, RecursiveTask};
use windlass::interrupt;
use windlass::pool::ThreadPoolExecutor;
use windlass::task::Task;
use windlass::testing::{Gate, Latch, PATIENCE, until, within_patience};
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass::{Executor, ExecutorService, Submit};

/// A recursive task made of a closure.
struct Run<F>(F);

impl<R: Send, F: FnOnce(&Cx<'_>) -> R + Send> RecursiveTask for Run<F> {
    type Output = R;
    fn compute(self, cx: &Cx<'_>) -> R {
        (self.0)(cx)
    }
}

/// Forks a closure.
fn fork<R: Send + 'static>(
    pool: &ForkJoinPool,
    body: impl FnOnce() -> R + Send + 'static,
) -> ForkHandle<R> {
    pool.fork(Run(|_: &Cx<'_>| body())).unwrap()
}

/// A pool of one worker that nobody replaces.
fn lone() -> ForkJoinPool {
    let builder = ForkJoinPool::builder().parallelism(1).maximum_spares(0);
    builder.build().unwrap()
}

fn ended() -> ForkJoinPool {
    let pool = lone();
    pool.close();
    pool
}

/// Runs the body on the worker of a pool of one, where it is a guest of a pool that has ended.
fn as_guest<R: Send + 'static>(body: impl FnOnce(&ForkJoinPool) -> R + Send + 'static) -> R {
    within_patience("a worker that is a guest elsewhere", || {
        let (home, away) = (lone(), ended());
        let result = home.install(|| away.install(|| body(&home)));
        home.close();
        result
    })
}

/// WL-040
#[test]
fn a_worker_that_is_a_guest_of_another_pool_joins_in_its_own() {
    assert_eq!(as_guest(|home| home.join(|| 1, || 2)), (1, 2));
}

/// WL-040
#[test]
fn a_worker_that_is_a_guest_of_another_pool_is_still_at_home() {
    assert!(as_guest(ForkJoinPool::is_current));
    let nested = as_guest(|home| home.install(|| forkjoin::join(|| 1, || home.is_current())));
    assert_eq!(nested, (1, true));
    assert_eq!(as_guest(|home| home.invoke(Run(|_: &Cx<'_>| 3))), 3);
}

/// WL-040
#[test]
fn a_worker_that_is_a_guest_of_another_pool_joins_what_it_forks() {
    let joined = as_guest(|home| {
        let forked = home.fork(Run(|_: &Cx<'_>| 4)).unwrap();
        forked.join().unwrap()
    });
    assert_eq!(joined, 4);
}

/// WL-040
#[test]
fn a_worker_that_is_a_guest_of_another_pool_ends_its_scopes() {
    let count = as_guest(|home| {
        let mut counts = [0; 3];
        home.scope(|scope| {
            for count in &mut counts {
                scope.spawn(move || *count += 1);
            }
        });
        counts.iter().sum::<i32>()
    });
    assert_eq!(count, 3);
}

/// WL-040
#[test]
fn a_worker_that_is_a_guest_of_another_pool_is_replaced_while_it_blocks() {
    within_patience("a blocked guest", || {
        let (home, away) = (ForkJoinPool::new(1).unwrap(), ended());
        home.install(|| {
            away.install(|| {
                let mut queued = home.submit(|| 5).unwrap();
                assert_eq!(forkjoin::blocking(|| queued.get().unwrap()), 5);
            });
        });
        home.close();
    });
}

/// WL-041
#[test]
fn an_interrupt_of_a_guest_stays_pending_when_a_task_of_the_pool_has_taken_it() {
    within_patience("an interrupted guest", || {
        let interrupt_me = |_: &Cx<'_>| {
            let me = interrupt::current();
            thread::spawn(move || me.interrupt()).join().unwrap();
            assert!(interrupt::interrupted());
        };
        ended().invoke(Run(|cx: &Cx<'_>| {
            cx.fork(Run(interrupt_me)).join().unwrap();
        }));
        assert!(interrupt::interrupted());
    });
}

/// WL-041
#[test]
fn cancelling_a_task_that_its_joiner_runs_interrupts_the_task_and_not_the_joiner() {
    within_patience("a joiner", || {
        let pool = lone();
        let gate = Gate::new();
        let theirs = gate.clone();
        let inside = pool.clone();
        let outer = pool.submit(move || {
            let inner = fork(&inside, move || theirs.pass_uninterruptibly());
            let control = inner.control();
            let canceller = thread::spawn(move || {
                gate.await_waiting(1);
                let cancelled = control.cancel_now();
                gate.open();
                cancelled
            });
            let cancelled = inner.join().unwrap_err().is_cancelled();
            assert!(canceller.join().unwrap());
            (cancelled, interrupt::is_interrupted())
        });
        assert_eq!(outer.unwrap().join().unwrap(), (true, false));
        pool.close();
    });
}

/// WL-041
#[test]
fn cancelling_a_joiner_that_runs_what_it_joins_interrupts_it_when_that_has_ended() {
    within_patience("a joiner", || {
        let pool = lone();
        let gate = Gate::new();
        let theirs = gate.clone();
        let (seen, sees) = mpsc::channel();
        let inside = pool.clone();
        let outer = pool.submit(move || {
            let inner = fork(&inside, move || theirs.pass().is_err());
            seen.send((inner.join().unwrap(), interrupt::is_interrupted()))
        });
        let outer = outer.unwrap();
        gate.await_waiting(1);
        assert!(outer.cancel_now());
        assert_eq!(sees.recv().unwrap(), (true, true));
        pool.close();
    });
}

/// Runs the body on a worker of a pool of one, which nobody replaces.
fn alone<R: Send + 'static>(body: impl FnOnce(&ForkJoinPool) -> R + Send + 'static) -> R {
    within_patience("the only worker", || {
        let pool = lone();
        let inside = pool.clone();
        let result = pool.submit(move || body(&inside)).unwrap().join().unwrap();
        pool.close();
        result
    })
}

/// WL-042
#[test]
fn the_only_worker_runs_what_it_waits_for() {
    assert_eq!(alone(|pool| pool.submit(|| 1).unwrap().get().unwrap()), 1);
    assert_eq!(alone(|pool| pool.submit(|| 2).unwrap().join().unwrap()), 2);
    let in_order = alone(|pool| {
        let handles: Vec<_> = (0..200).map(|n| pool.submit(move || n).unwrap()).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .sum::<i32>()
    });
    assert_eq!(in_order, 19_900);
    let submitted = alone(|pool| {
        let (task, mut handle) = Task::with_handle(|| 3);
        pool.external_submit(task).unwrap();
        handle.get().unwrap()
    });
    assert_eq!(submitted, 3);
}

/// WL-042
#[test]
fn the_only_worker_invokes_all_and_any() {
    let all = alone(|pool| pool.invoke_all((0..100).map(|n| move || n)).unwrap().len());
    assert_eq!(all, 100);
    assert!(alone(|pool| pool.invoke_any((0..100).map(|n| move || n)).unwrap()) < 100);
}

/// WL-042
#[test]
fn a_worker_that_waits_for_a_queued_task_leaves_other_tasks_alone() {
    let others = alone(|pool| {
        let ran = Arc::new(AtomicUsize::new(0));
        let count = || {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(1, Ordering::SeqCst);
            }
        };
        pool.execute(count()).unwrap();
        let mut awaited = pool.submit(|| ()).unwrap();
        pool.execute(count()).unwrap();
        awaited.get().unwrap();
        ran.load(Ordering::SeqCst)
    });
    assert_eq!(others, 0);
}

/// WL-042
#[test]
fn pools_of_one_that_wait_for_each_other_return() {
    within_patience("each other", || {
        let (first, second) = (ForkJoinPool::new(1).unwrap(), ForkJoinPool::new(1).unwrap());
        let (home, away) = (first.clone(), second.clone());
        let there_and_back = move || {
            let back = move || home.submit(|| 7).unwrap().join().unwrap();
            away.submit(back).unwrap().join().unwrap()
        };
        assert_eq!(first.submit(there_and_back).unwrap().join().unwrap(), 7);
        let (home, away) = (lone(), lone());
        assert_eq!(
            home.install(|| away.install(|| home.join(|| 1, || 2))),
            (1, 2)
        );
    });
}

/// Submits a task to `first` that waits for one in `second`, which waits for one that is queued in `first`.
fn wait_there_and_back(
    first: &(impl Submit + Clone + 'static),
    second: &(impl Submit + Clone + 'static),
) -> i32 {
    let (home, away) = (first.clone(), second.clone());
    let there = move || {
        let back = move || home.submit(|| 7).unwrap().join().unwrap();
        away.submit(back).unwrap().join().unwrap()
    };
    first.submit(there).unwrap().join().unwrap()
}

fn lone_thread_pool() -> ThreadPoolExecutor {
    let builder = ThreadPoolExecutor::builder().core_pool_size(1);
    builder.maximum_pool_size(1).build().unwrap()
}

/// WL-430
#[test]
fn pools_of_one_that_nobody_replaces_return_when_they_wait_for_each_other() {
    within_patience("each other", || {
        let (first, second) = (lone(), lone());
        assert_eq!(wait_there_and_back(&first, &second), 7);
        let (task, mut late) = Task::with_handle(|| 8);
        let (home, away) = (first.clone(), second.clone());
        let there = first.submit(move || {
            let waits = away.submit(move || late.get().unwrap()).unwrap();
            until("the second waits", || {
                away.stats().running_thread_count == 0
            });
            let submitter = thread::spawn(move || {
                until("the first waits", || home.stats().running_thread_count == 0);
                home.execute_task(task).unwrap();
            });
            let result = waits.join().unwrap();
            submitter.join().unwrap();
            result
        });
        assert_eq!(there.unwrap().join().unwrap(), 8);
        first.close();
        second.close();
    });
}

/// WL-430
#[test]
fn any_of_several_tasks_that_are_queued_in_a_pool_whose_worker_waits_is_run() {
    within_patience("any of several", || {
        let (first, second) = (lone(), lone());
        let (home, away) = (first.clone(), second.clone());
        let there = first.submit(move || {
            let back = move || home.invoke_any((0..3).map(|n| move || n)).unwrap();
            away.submit(back).unwrap().join().unwrap()
        });
        assert!(there.unwrap().join().unwrap() < 3);
        first.close();
        second.close();
    });
}

/// WL-430
#[test]
fn a_thread_pool_and_a_fork_join_pool_return_when_they_wait_for_each_other() {
    within_patience("each other", || {
        let (threads, forks) = (lone_thread_pool(), lone());
        assert_eq!(wait_there_and_back(&threads, &forks), 7);
        assert_eq!(wait_there_and_back(&forks, &threads), 7);
        threads.close();
        forks.close();
    });
}

/// WL-431
#[test]
fn a_task_that_is_queued_behind_a_closure_that_waits_elsewhere_is_run_by_who_waits_for_it() {
    within_patience("a closure elsewhere", || {
        let (home, away) = (lone(), lone());
        let there = || away.install(|| home.submit(|| 3).unwrap().join().unwrap());
        assert_eq!(home.install(there), 3);
        let threads = lone_thread_pool();
        let (outer, inner) = (threads.clone(), away.clone());
        let there = move || inner.install(|| outer.submit(|| 4).unwrap().join().unwrap());
        assert_eq!(threads.submit(there).unwrap().join().unwrap(), 4);
        for pool in [home, away] {
            pool.close();
        }
        threads.close();
        // A task is counted after its handle is complete.
        assert_eq!(threads.stats().completed_task_count, 2);
    });
}

/// WL-043
#[test]
fn a_scope_on_the_only_worker_runs_what_another_thread_has_spawned_into_it() {
    let count = alone(|pool| {
        let count = AtomicUsize::new(0);
        pool.scope(|scope| {
            let add = || {
                count.fetch_add(1, Ordering::SeqCst);
            };
            let spawn = || (0..3).for_each(|_| scope.spawn(add));
            thread::scope(|threads| threads.spawn(spawn).join()).unwrap();
        });
        count.into_inner()
    });
    assert_eq!(count, 3);
}

/// WL-043: also while the worker already waits, and no other is left to run it.
#[test]
fn a_scope_that_waits_runs_what_another_thread_spawns_when_no_worker_would() {
    within_patience("a scope", || {
        let builder = ForkJoinPool::builder().parallelism(2).maximum_spares(0);
        let (pool, count, started) = (builder.build().unwrap(), AtomicUsize::new(0), Latch::new(1));
        let add = || {
            count.fetch_add(1, Ordering::SeqCst);
        };
        let has_run = || count.load(Ordering::SeqCst) == 1;
        pool.install(|| {
            pool.scope(|scope| {
                scope.spawn(|| {
                    started.count_down();
                    let is_waiting = || pool.stats().running_thread_count == 1;
                    until("the scope waits", is_waiting);
                    thread::scope(|threads| threads.spawn(|| scope.spawn(add)).join()).unwrap();
                    forkjoin::blocking(|| until("the closure has run", has_run));
                });
                started.wait();
            });
        });
        pool.close();
    });
}

/// FJP-025, FJT-031
#[test]
fn a_worker_that_awaits_quiescence_waits_for_the_others_and_no_longer_than_its_limit() {
    within_patience("quiescence", || {
        let pool = ForkJoinPool::new(2).unwrap();
        let gate = Gate::new();
        let busy = gate.clone();
        pool.execute(move || busy.pass_uninterruptibly()).unwrap();
        gate.await_waiting(1);
        pool.install(|| {
            assert!(!pool.await_quiescence(Duration::from_millis(1)));
            assert!(!pool.await_quiescence(Duration::ZERO));
        });
        let inside = pool.clone();
        let (told, hear) = mpsc::channel();
        let waits = pool.submit(move || {
            told.send(()).unwrap();
            assert!(inside.await_quiescence(PATIENCE));
            assert!(!inside.is_quiescent());
        });
        hear.recv().unwrap();
        assert!(!pool.is_quiescent());
        gate.open();
        waits.unwrap().join().unwrap();
        until("rest", || pool.is_quiescent());
        pool.close();
    });
}

/// FJT-031
#[test]
fn workers_that_help_quiesce_wait_for_each_other_and_not_for_themselves() {
    within_patience("quiescence", || {
        let pool = ForkJoinPool::new(2).unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        let quiesce = || {
            let done = Arc::clone(&done);
            Run(move |cx: &Cx<'_>| {
                let forked = cx.fork(Run(|_: &Cx<'_>| ()));
                cx.help_quiesce();
                assert!(forked.is_done());
                done.fetch_add(1, Ordering::SeqCst);
            })
        };
        let handles: Vec<_> = (0..50).map(|_| pool.fork(quiesce()).unwrap()).collect();
        for handle in handles {
            handle.join().unwrap();
        }
        assert_eq!(done.load(Ordering::SeqCst), 50);
        // A join that waits for the task which helps is not waited for.
        let blocked = pool.join(|| pool.invoke(quiesce()), || pool.invoke(quiesce()));
        assert_eq!(blocked, ((), ()));
        pool.close();
    });
}

/// FJP-009
#[test]
fn a_running_task_executes_and_submits_others_after_shutdown() {
    within_patience("the pool's end", || {
        let pool = lone();
        let gate = Gate::new();
        let (theirs, inside) = (gate.clone(), pool.clone());
        let (told, hear) = mpsc::channel();
        let submits = pool.submit(move || {
            theirs.pass_uninterruptibly();
            inside.execute(move || told.send(1).unwrap()).unwrap();
            let submitted = inside.submit(|| 2).unwrap();
            assert!(
                inside
                    .external_submit(Task::new(|| ()))
                    .unwrap_err()
                    .is_shutdown()
            );
            submitted.join().unwrap()
        });
        gate.await_waiting(1);
        pool.shutdown();
        assert!(pool.execute(|| ()).is_err());
        gate.open();
        assert_eq!(submits.unwrap().join().unwrap(), 2);
        assert_eq!(pool.await_termination(PATIENCE), Ok(true));
        assert_eq!(hear.recv(), Ok(1));
    });
}

/// A factory whose threads come to nothing.
#[derive(Debug)]
enum NoThread {
    Refused,
    /// After they were promised.
    Lost,
    /// The body is kept until the test takes it.
    Late(Mutex<Vec<ThreadBody>>),
}

impl ThreadFactory for NoThread {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        match self {
            Self::Refused => Err(io::Error::new(io::ErrorKind::QuotaExceeded, "no thread")),
            Self::Lost => thread::Builder::new().spawn(|| drop(body)).map(drop),
            Self::Late(bodies) => {
                bodies.lock().unwrap().push(body);
                Ok(())
            }
        }
    }
}

/// A pool of one worker, and what its uncaught handler is called with.
fn without_threads(factory: &Arc<NoThread>) -> (ForkJoinPool, mpsc::Receiver<String>) {
    let (tell, told) = mpsc::channel();
    let builder = ForkJoinPool::builder().parallelism(1);
    let builder = builder.thread_factory(Arc::clone(factory));
    let handler = move |failure: &Failure| drop(tell.send(failure.to_string()));
    (builder.uncaught_handler(handler).build().unwrap(), told)
}

/// WL-044
#[test]
fn a_pool_that_gets_no_thread_refuses_with_the_error_and_terminates() {
    within_patience("a pool without threads", || {
        let (pool, _) = without_threads(&Arc::new(NoThread::Refused));
        let refused = pool.submit(|| 3).unwrap_err();
        assert_eq!(refused.reason(), RejectionReason::NoThread);
        assert!(refused.source().unwrap().to_string().contains("no thread"));
        let (task, handle) = refused.into_parts();
        task.run();
        assert_eq!(handle.join().unwrap(), 3);
        assert!(pool.execute(|| ()).is_err());
        let forked = pool.fork(Run(|_: &Cx<'_>| ())).unwrap_err();
        assert_eq!(forked.reason(), RejectionReason::NoThread);
        let tree = pool.submit_completer(Leaf).unwrap_err();
        assert_eq!(tree.reason(), RejectionReason::NoThread);
        let stats = pool.stats();
        assert_eq!(
            (stats.refused_thread_count, stats.abandoned_task_count),
            (4, 0)
        );
        assert_eq!(stats.last_refusal, Some(io::ErrorKind::QuotaExceeded));
        pool.close();
    });
}

/// WL-044
#[test]
fn what_waits_for_a_thread_that_was_promised_and_does_not_come_is_cancelled() {
    within_patience("a pool without threads", || {
        let late = Arc::new(NoThread::Late(Mutex::default()));
        let (pool, told) = without_threads(&late);
        let mut submitted = pool.submit(|| 3).unwrap();
        let mut forked = pool.fork(Run(|_: &Cx<'_>| ())).unwrap();
        let tree = pool.submit_completer(Leaf).unwrap();
        pool.execute(|| ()).unwrap();
        let NoThread::Late(bodies) = &*late else {
            unreachable!()
        };
        let body = bodies.lock().unwrap().pop().unwrap();
        drop(body);
        let why = submitted.get().unwrap_err().cancellation();
        assert_eq!(why, Some(Cancellation::NoThread));
        assert!(forked.get().unwrap_err().is_cancelled());
        assert!(tree.get().unwrap_err().is_cancelled());
        assert_eq!(pool.stats().abandoned_task_count, 4);
        assert!(told.recv().unwrap().contains("no thread"));
        pool.close();
    });
}

/// WL-044
#[test]
fn waits_for_threads_that_come_to_nothing_end() {
    within_patience("a pool without threads", || {
        let (pool, _told) = without_threads(&Arc::new(NoThread::Lost));
        for _ in 0..50 {
            let _ = pool.submit(|| 3).map(|handle| handle.join());
            let _ = pool.fork(Run(|_: &Cx<'_>| 3)).map(|handle| handle.join());
            let _ = pool.submit_completer(Leaf).map(|tree| tree.join());
            assert_eq!(pool.join(|| 1, || 2), (1, 2));
        }
        pool.close();
    });
}

/// WL-044
#[test]
fn a_pool_with_workers_goes_on_with_fewer_and_says_so() {
    #[derive(Debug)]
    struct Two(AtomicUsize);
    impl ThreadFactory for Two {
        fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
            if self.0.fetch_add(1, Ordering::SeqCst) < 2 {
                return thread::Builder::new().spawn(|| body.run()).map(drop);
            }
            Err(io::Error::other("no third thread"))
        }
    }
    within_patience("a pool with two of four workers", || {
        let builder = ForkJoinPool::builder().parallelism(4);
        let pool = builder
            .thread_factory(Two(AtomicUsize::new(0)))
            .build()
            .unwrap();
        let gate = Gate::new();
        let submit = |_| {
            let gate = gate.clone();
            pool.submit(move || gate.pass_uninterruptibly()).unwrap()
        };
        let handles: Vec<_> = (0..10).map(submit).collect();
        gate.await_waiting(2);
        let stats = pool.stats();
        assert_eq!((stats.pool_size, stats.abandoned_task_count), (2, 0));
        assert!(stats.refused_thread_count > 0);
        gate.open();
        for handle in handles {
            handle.join().unwrap();
        }
        pool.close();
    });
}

/// A tree of one node.
struct Leaf;

impl Completer for Leaf {
    fn compute(&self, node: &Node) {
        node.try_complete();
    }
}

/// CC-009, FJT-016
#[test]
fn no_join_ends_on_an_interrupt_and_every_get_does() {
    within_patience("interrupted waits", || {
        let pool = lone();
        let gate = Gate::new();
        let theirs = gate.clone();
        pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
        gate.await_waiting(1);
        let (tree, mut forked) = (pool.submit_completer(Leaf).unwrap(), fork(&pool, || 1));
        interrupt::current().interrupt();
        assert!(tree.get().unwrap_err().is_interrupted());
        interrupt::current().interrupt();
        assert!(forked.get().unwrap_err().is_interrupted());
        interrupt::current().interrupt();
        let me = interrupt::current();
        let opener = thread::spawn(move || {
            until("the interrupt was taken", || !me.is_interrupted());
            gate.open();
        });
        tree.join().unwrap();
        assert!(interrupt::is_interrupted());
        assert_eq!(forked.join().unwrap(), 1);
        assert!(interrupt::interrupted());
        opener.join().unwrap();
        pool.close();
    });
}
