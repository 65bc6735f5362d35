//! Scopes: when one returns, or unwinds, none of its closures exists and nothing is borrowed any more,
//! whatever the executor, its policies and its users did with the tasks.
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windlass::executors::{
    DirectExecutor, Rate, RateLimited, SerialExecutor, ThreadPerTaskExecutor,
};
use windlass::pool::{DiscardOldestPolicy, DiscardPolicy, RejectedExecutionHandler, Saturated};
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::task::{Cancellation, ExecutionError, Task, TaskState};
use windlass::testing::{
    DropCounter, Gate, ManualExecutor, PATIENCE, SeededExecutor, until, within_patience,
};
use windlass::{RejectedExecution, RejectionReason, Scope};

/// Something to borrow, which counts its borrowers.
#[derive(Default)]
struct Lender {
    lent: AtomicUsize,
    returned: AtomicUsize,
}

/// A borrow that a closure or a value keeps.
struct Loan<'a>(&'a Lender);

impl Lender {
    fn lend(&self) -> Loan<'_> {
        self.lent.fetch_add(1, Ordering::SeqCst);
        Loan(self)
    }

    fn lent(&self) -> usize {
        self.lent.load(Ordering::SeqCst)
    }

    fn outstanding(&self) -> usize {
        self.lent() - self.returned.load(Ordering::SeqCst)
    }

    /// Checks that there were as many borrowers and that all are gone.
    #[track_caller]
    fn settle(&self, lent: usize) {
        assert_eq!((self.lent(), self.outstanding()), (lent, 0));
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.0.returned.fetch_add(1, Ordering::SeqCst);
    }
}

fn fixed(threads: usize) -> ThreadPoolExecutor {
    executors::fixed_thread_pool(threads).unwrap()
}

/// One worker, one place in the queue, and this policy for what does not fit.
fn small(policy: impl RejectedExecutionHandler + 'static) -> ThreadPoolExecutor {
    ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .work_queue(ArrayBlockingQueue::new(1).unwrap())
        .rejection_handler(policy)
        .build()
        .unwrap()
}

/// Occupies the only worker until the gate is open.
fn occupy(pool: &ThreadPoolExecutor) -> Gate {
    let gate = Gate::new();
    let theirs = gate.clone();
    pool.execute(move || theirs.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    gate
}

fn panic_of(body: impl FnOnce()) -> Box<dyn Any + Send> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_err()
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload.downcast_ref::<&str>().unwrap()
}

fn cancelled<T>(why: Cancellation) -> Result<T, ExecutionError> {
    Err(ExecutionError::Cancelled(why))
}

/// Uses an executor through all that a scope promises.
fn exercise(executor: &dyn Executor) {
    let lender = Lender::default();
    let words = vec![String::from("borrowed"), String::from("data")];
    let mut changed = 0;
    let (lengths, nested) = executor.scope(|s| {
        let lengths = words.each_len(s, &lender);
        let nested = s.spawn(|| {
            changed = 7;
            let loan = lender.lend();
            // A task of the scope spawns another; nobody joins it.
            s.spawn(move || drop(loan)).unwrap();
            executor.scope(|inner| inner.spawn(|| words.len()).unwrap().join())
        });
        (lengths, nested.unwrap().join().unwrap().unwrap())
    });
    assert_eq!((lengths, nested, changed), (vec![8, 4], 2, 7));
    lender.settle(3);
}

trait EachLen {
    fn each_len<'scope>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        lender: &'scope Lender,
    ) -> Vec<usize>;
}

impl EachLen for Vec<String> {
    fn each_len<'scope>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        lender: &'scope Lender,
    ) -> Vec<usize> {
        let tasks: Vec<_> = self
            .iter()
            .map(|word| {
                let loan = lender.lend();
                s.spawn(move || (word.len(), loan)).unwrap()
            })
            .collect();
        let values = tasks.into_iter().map(|task| task.join().unwrap().0);
        values.collect()
    }
}

/// WL-120
#[test]
fn closures_borrow_on_every_executor() {
    within_patience("scopes", || {
        exercise(&DirectExecutor::new());
        exercise(&ThreadPerTaskExecutor::new());
        exercise(&fixed(2));
        exercise(&fixed(1));
        exercise(&executors::cached_thread_pool());
        exercise(&ScheduledThreadPoolExecutor::new(2));
        exercise(&ForkJoinPool::new(2).unwrap());
        exercise(&ForkJoinPool::new(1).unwrap());
        exercise(&Arc::new(fixed(3)));
    });
}

/// WL-121
#[test]
fn a_scope_waits_for_closures_whose_handles_are_dropped() {
    let (pool, lender, gate) = (fixed(1), Lender::default(), Gate::new());
    let ran = AtomicUsize::new(0);
    pool.scope(|s| {
        for _ in 0..100 {
            let (loan, ran) = (lender.lend(), &ran);
            let spawned = s.spawn(move || {
                ran.fetch_add(1, Ordering::SeqCst);
                loan
            });
            drop(spawned.unwrap());
        }
        gate.open();
    });
    assert_eq!(ran.load(Ordering::SeqCst), 100);
    lender.settle(100);
}

/// WL-122
#[test]
fn a_panic_of_the_body_waits_for_what_is_queued() {
    within_patience("a scope", || {
        let (pool, lender) = (fixed(1), Lender::default());
        let gate = occupy(&pool);
        let ran = AtomicUsize::new(0);
        let payload = panic_of(|| {
            pool.scope(|s| {
                for _ in 0..3 {
                    let (loan, ran) = (lender.lend(), &ran);
                    drop(s.spawn(move || {
                        ran.fetch_add(1, Ordering::SeqCst);
                        drop(loan);
                    }));
                }
                let (opener, gate) = (lender.lend(), gate.clone());
                // Opened by another thread, after the body has begun to unwind or before.
                std::thread::spawn(move || gate.open());
                drop(opener);
                panic!("in the body");
            });
        });
        assert_eq!(text(&*payload), "in the body");
        assert_eq!(ran.load(Ordering::SeqCst), 3);
        lender.settle(4);
    });
}

/// WL-123
#[test]
fn a_panic_that_nobody_has_seen_is_the_scope_s() {
    let (pool, lender) = (fixed(2), Lender::default());
    let payload = panic_of(|| {
        pool.scope(|s| {
            let loan = lender.lend();
            drop(s.spawn(move || {
                let _kept = loan;
                panic!("in a task");
            }));
        });
    });
    assert_eq!(text(&*payload), "in a task");
    lender.settle(1);
    // Seen through its handle, it is not.
    let seen = pool.scope(|s| s.spawn(|| -> u32 { panic!("seen") }).unwrap().join());
    assert_eq!(seen.unwrap_err().failure().unwrap().message(), Some("seen"));
    // The panic of the body comes first.
    let payload = panic_of(|| {
        pool.scope(|s| {
            let task = s.spawn(|| panic!("in a task")).unwrap();
            task.wait().unwrap();
            panic!("in the body");
        });
    });
    assert_eq!(text(&*payload), "in the body");
}

/// WL-123
#[test]
fn the_panic_of_a_task_that_was_cancelled_is_not_the_scope_s() {
    within_patience("a scope", || {
        let (pool, gate) = (fixed(1), Gate::new());
        let end = pool.scope(|s| {
            let task = s.spawn(|| {
                gate.pass_uninterruptibly();
                panic!("too late");
            });
            let task = task.unwrap();
            gate.await_waiting(1);
            assert!(task.cancel());
            // The list of tasks is read before the panic.
            assert_eq!(s.counts().cancelled, 1);
            s.join().unwrap();
            gate.open();
            task.cancellation()
        });
        assert_eq!(end, Some(Cancellation::Requested));
    });
}

/// WL-124
#[test]
fn a_cancelled_task_that_runs_is_waited_for() {
    within_patience("a scope", || {
        let (pool, lender, gate) = (fixed(1), Lender::default(), Gate::new());
        let ended = AtomicUsize::new(0);
        pool.scope(|s| {
            let loan = lender.lend();
            let task = s.spawn(|| {
                gate.pass_uninterruptibly();
                ended.fetch_add(1, Ordering::SeqCst);
                loan
            });
            let task = task.unwrap();
            gate.await_waiting(1);
            assert!(task.cancel_now());
            assert!(task.is_done());
            assert_eq!(lender.outstanding(), 1);
            let gate = gate.clone();
            std::thread::spawn(move || gate.open());
        });
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        lender.settle(1);
    });
}

/// WL-125
#[test]
fn a_rejected_closure_is_returned() {
    let (pool, lender) = (fixed(1), Lender::default());
    pool.shutdown();
    let length = pool.scope(|s| {
        let loan = lender.lend();
        let rejected = s.spawn(move || (loan, 3).1).unwrap_err();
        assert!(rejected.is_shutdown() && rejected.reason() == RejectionReason::Shutdown);
        assert_eq!(lender.outstanding(), 1);
        assert_eq!(s.counts().submitted, 0);
        rejected.into_closure()()
    });
    assert_eq!(length, 3);
    lender.settle(1);
}

/// WL-125
#[test]
fn a_rejection_that_leaves_the_scope_has_no_closure() {
    let (pool, lender) = (fixed(1), Lender::default());
    pool.shutdown();
    let rejected: RejectedExecution = pool
        .scope(|s| {
            let loan = lender.lend();
            s.spawn(move || drop(loan))?;
            Ok::<_, RejectedExecution>(())
        })
        .unwrap_err();
    lender.settle(1);
    assert!(rejected.is_shutdown());
    assert!(rejected.task().is_cancelled());
    rejected.into_task().run();
    lender.settle(1);
    // As other errors, too.
    let boxed = pool.scope(|s| {
        s.spawn(|| lender.lent())?;
        Ok::<_, Box<dyn std::error::Error>>(())
    });
    assert!(boxed.unwrap_err().to_string().contains("shut down"));
}

/// WL-126
#[test]
fn a_discarded_task_ends_as_such() {
    within_patience("a scope", || {
        let (pool, lender) = (small(DiscardPolicy), Lender::default());
        let gate = occupy(&pool);
        let ends = pool.scope(|s| {
            let tasks = [(); 2].map(|()| {
                let loan = lender.lend();
                s.spawn(move || drop(loan)).unwrap()
            });
            gate.open();
            tasks.map(|task| task.join())
        });
        assert_eq!(ends, [Ok(()), cancelled(Cancellation::Discarded)]);
        lender.settle(2);
    });
}

/// WL-126
#[test]
fn an_evicted_task_ends_as_such() {
    within_patience("a scope", || {
        let (pool, lender) = (small(DiscardOldestPolicy), Lender::default());
        let gate = occupy(&pool);
        let ends = pool.scope(|s| {
            let tasks = [(); 3].map(|()| {
                let loan = lender.lend();
                s.spawn(move || drop(loan)).unwrap()
            });
            gate.open();
            tasks.map(|task| task.join())
        });
        let evicted = || cancelled(Cancellation::Evicted);
        assert_eq!(ends, [evicted(), evicted(), Ok(())]);
        lender.settle(3);
    });
}

/// WL-127
#[test]
fn tasks_that_shutdown_now_returned_are_withdrawn_while_the_scope_waits() {
    within_patience("a scope", || {
        let (pool, lender) = (Arc::new(fixed(1)), Lender::default());
        let gate = occupy(&pool);
        let kept = Arc::new(Mutex::new(Vec::new()));
        let ends = pool.scope(|s| {
            let tasks = [(); 3].map(|()| {
                let loan = lender.lend();
                s.spawn(move || drop(loan)).unwrap()
            });
            let (pool, kept) = (Arc::clone(&pool), Arc::clone(&kept));
            std::thread::spawn(move || *kept.lock().unwrap() = pool.shutdown_now());
            tasks.map(|task| task.join())
        });
        lender.settle(3);
        assert_eq!(ends, [(); 3].map(|()| cancelled(Cancellation::Drained)));
        windlass::testing::until("tasks", || kept.lock().unwrap().len() == 3);
        gate.open();
        let kept = std::mem::take(&mut *kept.lock().unwrap());
        for task in kept {
            assert!(task.is_cancelled());
            task.run();
        }
        lender.settle(3);
    });
}

/// Spawns three tasks, has `take` take them out of the executor, and keeps them until the scope has ended.
fn spawn_three(
    executor: &(impl Executor + 'static),
    gate: &Gate,
    take: impl FnOnce(windlass::task::TaskId) -> Vec<Task>,
) -> Vec<Task> {
    let lender = Lender::default();
    let (kept, ends) = executor.scope(|s| {
        let tasks = [(); 3].map(|()| {
            let loan = lender.lend();
            s.spawn(move || loan.0.lent()).unwrap()
        });
        let kept = take(tasks[1].id());
        gate.open();
        (kept, tasks.map(|task| task.join().map(drop)))
    });
    lender.settle(3);
    assert!(!kept.is_empty());
    assert!(ends[1].clone().unwrap_err().is_cancelled());
    kept
}

/// Runs tasks that were taken out of an executor, and have no closures.
fn run_taken(kept: Vec<Task>) {
    for task in kept {
        assert!(task.is_cancelled());
        task.run();
    }
}

/// WL-127
#[test]
fn tasks_that_the_body_itself_drained_or_removed_outlive_the_scope_without_closures() {
    within_patience("scopes", || {
        let pool = Arc::new(fixed(1));
        let gate = occupy(&pool);
        run_taken(spawn_three(&pool, &gate, |id| {
            pool.remove(id).into_iter().collect()
        }));
        let gate = occupy(&pool);
        run_taken(spawn_three(&pool, &gate, |_| pool.shutdown_now()));
        let pool = Arc::new(ForkJoinPool::new(1).unwrap());
        let (gate, theirs) = (Gate::new(), Gate::new());
        let inside = (gate.clone(), theirs.clone());
        pool.execute(move || {
            inside.1.open();
            inside.0.pass_uninterruptibly();
        })
        .unwrap();
        theirs.pass_uninterruptibly();
        run_taken(spawn_three(&pool, &gate, |_| pool.shutdown_now()));
        let pool = Arc::new(ScheduledThreadPoolExecutor::new(1));
        let (gate, theirs) = (Gate::new(), Gate::new());
        let inside = (gate.clone(), theirs.clone());
        pool.execute(move || {
            inside.1.open();
            inside.0.pass_uninterruptibly();
        })
        .unwrap();
        theirs.pass_uninterruptibly();
        run_taken(spawn_three(&pool, &gate, |_| pool.shutdown_now()));
    });
}

/// WL-127
#[test]
fn a_stop_of_an_executor_around_others_or_for_tests_withdraws_what_it_returns() {
    let open = Gate::new();
    within_patience("scopes", move || {
        let manual = ManualExecutor::new();
        run_taken(spawn_three(&manual, &open, |_| manual.shutdown_now()));
        let seeded = SeededExecutor::new(1);
        run_taken(spawn_three(&seeded, &open, |_| seeded.shutdown_now()));
        let rate = Rate::every(Duration::from_secs(3600));
        let timer = ScheduledThreadPoolExecutor::new(1);
        let limited = RateLimited::delaying(fixed(1), rate, timer);
        limited.execute(|| ()).unwrap();
        run_taken(spawn_three(&limited, &open, |_| limited.shutdown_now()));
    });
}

/// The queued runner of the serial executor is what the pool returns. It has no handle.
///
/// WL-127
#[test]
fn a_stop_of_the_pool_below_a_serial_executor_withdraws_the_tasks_of_its_line() {
    within_patience("scopes", || {
        let pool = Arc::new(fixed(1));
        let serial = SerialExecutor::new(Arc::clone(&pool));
        let gate = occupy(&pool);
        let plain = serial.submit(|| 1).unwrap();
        let kept = spawn_three(&serial, &gate, |_| pool.shutdown_now());
        assert_eq!(kept.len(), 1);
        // What borrows comes too late now, and is withdrawn as well; the rest stays in the line.
        let lender = Lender::default();
        serial.scope(|s| {
            let loan = lender.lend();
            let late = s.spawn(move || drop(loan)).unwrap();
            assert_eq!(late.join(), cancelled(Cancellation::Drained));
        });
        lender.settle(1);
        assert!(!plain.is_done());
        kept.into_iter().for_each(Task::run);
        assert_eq!(plain.join().unwrap(), 1);
        assert_eq!(serial.queue_len(), 0);
    });
}

/// An executor around one that can be dropped.
struct Droppable(Mutex<Option<ThreadPoolExecutor>>);

impl Executor for Droppable {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        match &*self.0.lock().unwrap() {
            Some(pool) => pool.execute_task(task),
            None => Err(RejectedExecution::new(task, RejectionReason::Shutdown)),
        }
    }
}

/// WL-128
#[test]
fn a_pool_may_be_dropped_inside_the_scope() {
    within_patience("a scope", || {
        let (pool, lender) = (fixed(1), Lender::default());
        let gate = occupy(&pool);
        let executor = Droppable(Mutex::new(Some(pool)));
        let end = executor.scope(|s| {
            let loan = lender.lend();
            let task = s.spawn(move || drop(loan)).unwrap();
            drop(executor.0.lock().unwrap().take());
            let loan = lender.lend();
            let late = s.spawn(move || drop(loan));
            assert!(late.unwrap_err().is_shutdown());
            gate.open();
            task.join()
        });
        lender.settle(2);
        // A pool that is dropped finishes what it has accepted, or cancels it.
        assert!(end.is_ok() || end.unwrap_err().is_cancelled());
    });
}

/// What a hostile executor does with its tasks.
#[derive(Clone, Copy, PartialEq)]
enum Hostility {
    /// Leaks every task.
    Leaks,
    /// Runs every task, and says that it has rejected another.
    RunsAndRejects,
    /// Keeps every task, and says that it has rejected another.
    KeepsAndRejects,
    /// Drops every task.
    Drops,
    /// Panics.
    Panics,
}

struct Hostile {
    hostility: Hostility,
    kept: Mutex<Vec<Task>>,
}

impl Hostile {
    fn new(hostility: Hostility) -> Self {
        let kept = Mutex::default();
        Self { hostility, kept }
    }
}

impl Executor for Hostile {
    fn execute_task(&self, task: Task) -> Result<(), RejectedExecution> {
        let other = || RejectedExecution::new(Task::new(|| ()), RejectionReason::Other);
        match self.hostility {
            Hostility::Leaks => std::mem::forget(task),
            Hostility::RunsAndRejects => {
                task.run();
                return Err(other());
            }
            Hostility::KeepsAndRejects => {
                self.kept.lock().unwrap().push(task);
                return Err(other());
            }
            Hostility::Drops => drop(task),
            Hostility::Panics => panic!("no executor"),
        }
        Ok(())
    }
}

/// WL-129
#[test]
fn a_leaked_task_ends_when_it_is_cancelled() {
    let (executor, lender) = (Hostile::new(Hostility::Leaks), Lender::default());
    let end = executor.scope(|s| {
        let loan = lender.lend();
        let task = s.spawn(move || drop(loan)).unwrap();
        assert_eq!(task.state(), TaskState::Queued);
        s.cancel();
        task.join()
    });
    assert_eq!(end, cancelled(Cancellation::Requested));
    lender.settle(1);
}

/// WL-129
#[test]
fn a_scope_waits_for_a_leaked_task_until_somebody_cancels_it() {
    within_patience("a scope", || {
        let (executor, lender) = (Hostile::new(Hostility::Leaks), Lender::default());
        let returned = Arc::new(AtomicUsize::new(0));
        executor.scope(|s| {
            let loan = lender.lend();
            let task = s.spawn(move || drop(loan)).unwrap();
            let (control, returned) = (task.control(), Arc::clone(&returned));
            std::thread::spawn(move || {
                assert_eq!(returned.load(Ordering::SeqCst), 0);
                control.cancel();
            });
        });
        returned.store(1, Ordering::SeqCst);
        lender.settle(1);
    });
}

/// WL-129
#[test]
fn an_executor_that_lies_keeps_no_closure() {
    let lender = Lender::default();
    let executor = Hostile::new(Hostility::RunsAndRejects);
    // It ran, so there is nothing to return.
    let value = executor.scope(|s| s.spawn(|| 7).unwrap().join());
    assert_eq!(value, Ok(7));
    let executor = Hostile::new(Hostility::KeepsAndRejects);
    executor.scope(|s| {
        let loan = lender.lend();
        let rejected = s.spawn(move || drop(loan)).unwrap_err();
        for task in executor.kept.lock().unwrap().drain(..) {
            task.run();
        }
        rejected.into_closure()();
    });
    lender.settle(1);
    let executor = Hostile::new(Hostility::Drops);
    let end = executor.scope(|s| {
        let loan = lender.lend();
        s.spawn(move || drop(loan)).unwrap().join()
    });
    assert_eq!(end, cancelled(Cancellation::Dropped));
    let executor = Hostile::new(Hostility::Panics);
    let payload = panic_of(|| {
        executor.scope(|s| {
            let loan = lender.lend();
            drop(s.spawn(move || drop(loan)));
        });
    });
    assert_eq!(text(&*payload), "no executor");
    lender.settle(3);
}

/// A rejection handler of safe code that keeps the task and runs it later.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Vec<Task>>>);

impl RejectedExecutionHandler for Keeper {
    fn rejected(&self, task: Task, _: &dyn Saturated) -> Result<(), RejectedExecution> {
        self.0.lock().unwrap().push(task);
        Ok(())
    }
}

/// WL-129
#[test]
fn a_task_that_a_handler_keeps_is_waited_for() {
    within_patience("a scope", || {
        let (keeper, lender) = (Keeper::default(), Lender::default());
        let pool = small(keeper.clone());
        let gate = occupy(&pool);
        let values = pool.scope(|s| {
            let tasks = [(); 3].map(|()| {
                let loan = lender.lend();
                s.spawn(move || loan.0.lent()).unwrap()
            });
            gate.open();
            let runner = std::thread::spawn(move || {
                for task in keeper.0.lock().unwrap().drain(..) {
                    task.run();
                }
            });
            runner.join().unwrap();
            tasks.map(|task| task.join().unwrap())
        });
        assert_eq!(values, [3; 3]);
        lender.settle(3);
    });
}

/// WL-130
#[test]
fn a_scope_on_the_only_worker_of_a_fork_join_pool_ends() {
    within_patience("a scope", || {
        let pool = Arc::new(ForkJoinPool::new(1).unwrap());
        let inner = Arc::clone(&pool);
        let sum = pool.submit(move || {
            let numbers = [1, 2, 3];
            Submit::scope(&*inner, |s| {
                let sum = s.spawn(|| numbers.iter().sum::<i32>()).unwrap();
                drop(s.spawn(|| s.spawn(|| numbers.len()).unwrap().join()));
                sum.join().unwrap()
            })
        });
        assert_eq!(sum.unwrap().join(), Ok(6));
    });
}

/// WL-130
#[test]
fn a_scope_on_the_only_worker_of_a_thread_pool_ends() {
    within_patience("a scope", || {
        let pool = Arc::new(fixed(1));
        let inner = Arc::clone(&pool);
        let sum = pool.submit(move || {
            let numbers = [1, 2, 3];
            inner.scope(|s| {
                let sum = s.spawn(|| numbers.iter().sum::<i32>()).unwrap();
                drop(s.spawn(|| s.spawn(|| numbers.len()).unwrap().join()));
                sum.join().unwrap()
            })
        });
        assert_eq!(sum.unwrap().join(), Ok(6));
    });
}

/// WL-456
#[test]
fn a_task_that_is_spawned_late_on_the_worker_that_waits_for_the_scope_runs() {
    within_patience("a scope", || {
        let (own, other, gate) = (fixed(1), fixed(1), Gate::new());
        let (inner, held) = (own.clone(), gate.clone());
        let owner = own.submit(move || {
            inner.scope(|s| {
                let cancelled = other.task().spawn(s, || {
                    held.pass_uninterruptibly();
                    // The task of this closure is done, and only the owner of the scope can run the next.
                    drop(inner.task().spawn(s, || ()).unwrap());
                });
                held.await_waiting(1);
                assert!(cancelled.unwrap().cancel());
            });
        });
        until("the owner waits for the closure", || {
            own.stats().waiting_count == 1
        });
        gate.open();
        owner.unwrap().join().unwrap();
    });
}

/// A value whose drop panics.
struct PanicsOnDrop<'a>(Loan<'a>);

impl Drop for PanicsOnDrop<'_> {
    fn drop(&mut self) {
        assert!(self.0.0.lent() == 0, "in a drop");
    }
}

/// WL-131
#[test]
fn drops_that_panic_end_nothing_early() {
    within_patience("a scope", || {
        let (pool, lender) = (fixed(1), Lender::default());
        let gate = occupy(&pool);
        pool.scope(|s| {
            // A closure that is dropped unrun.
            let unrun = PanicsOnDrop(lender.lend());
            let unrun = s.spawn(move || std::mem::forget(unrun));
            assert!(unrun.unwrap().cancel());
            // A value that nobody takes.
            let value = PanicsOnDrop(lender.lend());
            drop(s.spawn(move || value));
            gate.open();
        });
        lender.settle(2);
    });
}

/// WL-121
#[test]
fn a_forgotten_handle_leaks_its_value_and_nothing_else() {
    let (pool, drops) = (fixed(1), DropCounter::new());
    let tokens = [drops.token(), drops.token()];
    pool.scope(|s| {
        let [closure, value] = tokens;
        let task = s.spawn(move || {
            drop(closure);
            value
        });
        let task = task.unwrap();
        task.wait().unwrap();
        std::mem::forget(task);
    });
    assert_eq!(drops.count(), 1);
}

/// WL-132
#[test]
fn a_scoped_handle_has_the_methods_of_a_handle() {
    let pool = fixed(1);
    let text = String::from("borrowed");
    pool.scope(|s| {
        let mut task = pool.task().name("length").spawn(s, || text.len()).unwrap();
        assert_eq!(task.name(), Some("length"));
        assert_eq!(task.get_timeout(PATIENCE), Ok(8));
        assert_eq!(task.get(), Err(ExecutionError::Taken));
        assert_eq!(task.state(), TaskState::Completed);
        let failed = s.spawn_fallible(|| text.parse::<u32>()).unwrap();
        let control = failed.control();
        let error = failed.join().unwrap_err();
        assert!(error.failure().unwrap().error().is_some());
        assert_eq!(control.state(), TaskState::Failed);
        let awaited = pollster::block_on(s.spawn(|| &*text).unwrap());
        assert_eq!(awaited, Ok("borrowed"));
        let gate = occupy(&pool);
        let unwanted = s.spawn(|| text.len()).unwrap().cancel_on_drop();
        let control = unwanted.control();
        drop(unwanted);
        assert_eq!(control.cancellation(), Some(Cancellation::HandleDropped));
        gate.open();
        let counts = s.counts();
        assert_eq!((counts.submitted, counts.completed), (4, 2));
        assert_eq!((counts.failed, counts.cancelled), (1, 1));
    });
}

/// WL-121
#[test]
fn a_scope_of_many_tasks_keeps_only_those_that_are_not_done() {
    let (pool, total) = (fixed(2), AtomicUsize::new(0));
    let counts = pool.scope(|s| {
        for number in 0..10_000 {
            let total = &total;
            let task = s.spawn(move || total.fetch_add(number, Ordering::Relaxed));
            if number % 16 == 0 {
                task.unwrap().join().unwrap();
            }
        }
        s.join().unwrap();
        s.counts()
    });
    assert_eq!((counts.submitted, counts.completed), (10_000, 10_000));
    assert_eq!(total.into_inner(), (0..10_000).sum());
}

/// WL-133
#[test]
fn tasks_of_one_scope_run_on_several_executors() {
    let (one, other) = (fixed(1), fixed(1));
    let name = || std::thread::current().name().map(String::from);
    let [here, there] = one.scope(|s| {
        let tasks = [s.spawn(name), other.task().spawn(s, name)];
        tasks.map(|task| task.unwrap().join().unwrap())
    });
    assert_ne!(here, there);
}
