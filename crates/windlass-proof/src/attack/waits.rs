//! Tasks that wait for tasks of the same pool, or of pools that wait for theirs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use windlass::executors;
use windlass::forkjoin::{Cx, ForkJoinPool, RecursiveTask, blocking};
use windlass::prelude::*;
use windlass::testing::Gate;

use super::{Attack, Verdict, attack};

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        attack(
            "guest",
            "a worker that is a guest of an ended pool joins, forks, scopes and blocks in its own",
            guest,
        ),
        attack(
            "nested",
            "submit().get(), invoke_all and invoke_any inside a pool of one worker return",
            nested,
        ),
        attack(
            "mutual",
            "two pools of one worker that wait for each other return, with and without spares",
            mutual,
        ),
        attack(
            "foreign-spawn",
            "a scope on the only worker runs what another thread has spawned into it",
            foreign_spawn,
        ),
        attack(
            "quiesce",
            "a worker that waits for quiescence waits for busy workers, and no longer than its limit",
            quiesce,
        ),
        attack(
            "after-shutdown",
            "what a running task submits after a shutdown still runs",
            after_shutdown,
        ),
    ]
}

fn one() -> ForkJoinPool {
    ForkJoinPool::new(1).expect("one worker is allowed")
}

struct Fib(u32);

impl RecursiveTask for Fib {
    type Output = u64;
    fn compute(self, cx: &Cx<'_>) -> u64 {
        if self.0 < 2 {
            return self.0.into();
        }
        let left = cx.fork(Fib(self.0 - 1));
        let right = Fib(self.0 - 2).compute(cx);
        right + left.join().expect("it does not fail")
    }
}

fn guest() -> Verdict {
    let (home, ended) = (one(), one());
    ended.close();
    let inside = || {
        let (one, two) = home.join(|| 1, || 2);
        let forked = home.fork(Fib(10)).expect("it runs").join();
        let mut spawned = 0;
        home.scope(|scope| scope.spawn(|| spawned = 1));
        let submitted = blocking(|| home.submit(|| 4).expect("it runs").join());
        one + two + spawned + forked.expect("it ends") + submitted.expect("it ends")
    };
    let sum = home.install(|| ended.install(inside));
    Verdict::new(sum == 63, format!("the sum is {sum} of 63"))
}

fn nested() -> Verdict {
    let pool = one();
    let inner = pool.clone();
    let ran = pool.submit(move || {
        let got = inner.submit(|| 1).expect("it runs").get();
        let all = inner.invoke_all([|| 1, || 1]).expect("it runs").len();
        let any = inner.invoke_any([|| 1, || 1]).expect("it runs");
        got.expect("it ends") + all + any
    });
    let sum = ran.expect("it runs").join().expect("it ends");
    Verdict::new(sum == 4, format!("{sum} of 4 tasks"))
}

/// Returns whether a task in `first` that waits for one in `second`, which waits for one that is queued in
/// `first`, returns.
fn returns(first: &(impl Submit + Clone + 'static), second: impl Submit + 'static) -> bool {
    let home = first.clone();
    let there_and_back = move || {
        let there = move || home.submit(|| 7).expect("it runs").join().expect("it ends");
        second.submit(there).expect("it runs").join()
    };
    let answer = first.submit(there_and_back).expect("it runs").join();
    matches!(answer, Ok(Ok(7)))
}

fn mutual() -> Verdict {
    let lone = || {
        let builder = ForkJoinPool::builder().parallelism(1).maximum_spares(0);
        builder.build().expect("one worker is allowed")
    };
    let threads = || executors::fixed_thread_pool(1).expect("one worker is allowed");
    let returned = [
        returns(&one(), one()),
        returns(&lone(), lone()),
        returns(&lone(), threads()),
        returns(&threads(), lone()),
    ];
    let returned = returned.into_iter().filter(|returned| *returned).count();
    Verdict::new(returned == 4, format!("{returned} of 4 pairs return"))
}

fn foreign_spawn() -> Verdict {
    let (pool, ran) = (one(), AtomicUsize::new(0));
    let count = || {
        ran.fetch_add(1, Ordering::SeqCst);
    };
    pool.install(|| {
        pool.scope(|scope| {
            let spawn = || scope.spawn(count);
            thread::scope(|threads| drop(threads.spawn(spawn).join()));
        });
    });
    let ran = ran.into_inner();
    Verdict::new(ran == 1, format!("{ran} of 1 ran"))
}

fn quiesce() -> Verdict {
    let pool = ForkJoinPool::new(2).expect("two workers are allowed");
    let gate = Gate::new();
    let busy = gate.clone();
    pool.execute(move || busy.pass_uninterruptibly())
        .expect("it runs");
    gate.await_waiting(1);
    let ask = |limit| {
        let waits = pool.clone();
        pool.submit(move || waits.await_quiescence(limit))
            .expect("it runs")
    };
    let early = ask(Duration::from_millis(50)).join().unwrap_or(true);
    let late = ask(Duration::from_secs(5));
    gate.open();
    let late = late.join().unwrap_or(false);
    let seen = format!("with a busy worker {early}, then {late}");
    Verdict::new(!early && late, seen)
}

fn after_shutdown() -> Verdict {
    let pool = one();
    let (inner, gate, (told, ran)) = (pool.clone(), Gate::new(), mpsc::channel());
    let waits = gate.clone();
    let submits = move || {
        waits.pass_uninterruptibly();
        inner
            .execute(move || told.send(()).unwrap_or_default())
            .is_ok()
    };
    let accepted = pool.submit(submits).expect("it runs");
    gate.await_waiting(1);
    pool.shutdown();
    gate.open();
    let accepted = accepted.join().unwrap_or(false);
    let ran = ran.recv_timeout(Duration::from_secs(5)).is_ok();
    Verdict::new(
        accepted && ran,
        format!("accepted {accepted}, has run {ran}"),
    )
}
