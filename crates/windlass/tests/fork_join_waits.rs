//! Waits of fork-join workers: no worker waits for what only it could run.
#![expect(clippy::unwrap_used, reason = "tests")]

use windlass::forkjoin::{self, Cx, ForkHandle, ForkJoinPool, RecursiveTask};
use windlass::interrupt;
use windlass::testing::{Gate, within_patience};
use windlass::{ExecutorService, Submit};

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
            std::thread::spawn(move || me.interrupt()).join().unwrap();
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
            let canceller = std::thread::spawn(move || {
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
        let (seen, sees) = std::sync::mpsc::channel();
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
