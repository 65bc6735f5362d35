//! Limits, tokens, groups, rates, retries and futures, used to excess or all at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use windlass::executors::{self, DirectExecutor, Rate, RateLimited};
use windlass::pool::CallerRunsPolicy;
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::scheduled::Retry;
use windlass::task::{CancelToken, ExecutionError};
use windlass::testing::Gate;

use super::{Attack, Verdict, attack};

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        attack(
            "yielding-futures",
            "a future that yields 300,000 times takes no stack on executors that run tasks at once",
            yielding_futures,
        ),
        attack(
            "token-chain",
            "a chain of 200,000 tokens is cancelled to its end, and dropped",
            token_chain,
        ),
        attack(
            "rate-ends",
            "who waits a century for a token, and what is delayed as long, ends with its executor",
            rate_ends,
        ),
        attack(
            "retry-ends",
            "retries that wait forever, or not at all, end with their pool",
            retry_ends,
        ),
        attack(
            "group-races",
            "in 2,000 groups a failure, a time limit, a token and a success race: each ends, its counts add up",
            group_races,
        )
        .within(60),
        attack(
            "expiring-storm",
            "100,000 tasks that expire while workers start them: each has one end, and the counts add up",
            expiring_storm,
        )
        .within(60),
        attack(
            "room-given-up",
            "of 20,000 submissions that await room every third is given up: all others run",
            room_given_up,
        )
        .within(60),
    ]
}

/// A future that is pending so many times, and wakes itself each time.
struct Yields(u32);

impl Future for Yields {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(left) = self.0.checked_sub(1) else {
            return Poll::Ready(());
        };
        self.0 = left;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

fn small_pool(queued: usize) -> ThreadPoolExecutor {
    let queue = ArrayBlockingQueue::new(queued).expect("the capacity is allowed");
    let builder = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .maximum_pool_size(1);
    let builder = builder
        .work_queue(queue)
        .rejection_handler(CallerRunsPolicy);
    builder.build().expect("the sizes fit")
}

fn yielding_futures() -> Verdict {
    const YIELDS: u32 = 300_000;
    let direct = Arc::new(DirectExecutor::new());
    let at_once = direct.spawn_async(Yields(YIELDS)).expect("it runs").join();
    let (pool, gate) = (small_pool(1), Gate::new());
    let waits = gate.clone();
    pool.execute(move || waits.pass_uninterruptibly())
        .expect("it runs");
    gate.await_waiting(1);
    let queued = pool.spawn_async(Yields(YIELDS)).expect("it is queued");
    let by_caller = pool.spawn_async(Yields(YIELDS)).expect("it runs").join();
    gate.open();
    // The worker finds the queue full each time it yields, since this thread keeps it so.
    while !queued.is_done() {
        pool.execute(|| ()).expect("it runs");
    }
    let by_worker = queued.join();
    pool.close();
    let ended = [&at_once, &by_caller, &by_worker];
    let ended = ended.into_iter().filter(|end| end.is_ok()).count();
    Verdict::new(ended == 3, format!("{ended} of 3 end"))
}

fn token_chain() -> Verdict {
    const LENGTH: usize = 200_000;
    let root = CancelToken::new();
    let chain: Vec<_> = std::iter::successors(Some(root.child()), |last| Some(last.child()))
        .take(LENGTH)
        .collect();
    root.cancel();
    let cancelled = chain.iter().filter(|token| token.is_cancelled()).count();
    drop(chain);
    // Nobody but its child has each of these.
    let last = (0..LENGTH).fold(CancelToken::new(), |last, _| last.child());
    let is_alive = !last.is_cancelled();
    drop(last);
    let seen = format!("{cancelled} of {LENGTH} are cancelled");
    Verdict::new(cancelled == LENGTH && is_alive, seen)
}

fn rate_ends() -> Verdict {
    const WAITERS: usize = 8;
    let pool = || executors::fixed_thread_pool(1).expect("one worker is allowed");
    let rate = Rate::every(Duration::MAX);
    let waiting = RateLimited::waiting(pool(), rate);
    waiting.execute(|| ()).expect("the first token is there");
    let refused = thread::scope(|threads| {
        let waits = || waiting.execute(|| ()).is_err();
        let waiters = [(); WAITERS].map(|()| threads.spawn(waits));
        while waiting.waiting_count() < WAITERS {
            thread::yield_now();
        }
        waiting.shutdown();
        let refused = waiters.map(|waiter| waiter.join().unwrap_or(false));
        refused.into_iter().filter(|refused| *refused).count()
    });
    let timer = ScheduledThreadPoolExecutor::new(1);
    let delaying = RateLimited::delaying(pool(), rate, timer.clone());
    delaying.execute(|| ()).expect("the first token is there");
    let delayed = [(); WAITERS].map(|()| delaying.submit(|| ()).expect("it is delayed"));
    timer.shutdown_now();
    let ended = delayed.map(|mut handle| handle.get_timeout(Duration::from_secs(5)));
    let cancelled = ended.iter().filter(|end| is_cancelled(end)).count();
    delaying.shutdown();
    let terminated = delaying.await_termination(Duration::from_secs(5)) == Ok(true);
    let seen = format!("{refused} of {WAITERS} refused, {cancelled} of {WAITERS} cancelled");
    Verdict::new(
        refused == WAITERS && cancelled == WAITERS && terminated,
        seen,
    )
}

fn is_cancelled<T>(end: &Result<T, ExecutionError>) -> bool {
    matches!(end, Err(ExecutionError::Cancelled(_)))
}

fn retry_ends() -> Verdict {
    let mut ended = 0;
    let policies =
        [Duration::MAX, Duration::ZERO].map(|wait| Retry::constant(wait).attempts(u64::MAX));
    for policy in policies {
        let pool = ScheduledThreadPoolExecutor::new(1);
        let attempts = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&attempts);
        let fails = move || -> Result<(), &'static str> {
            counter.fetch_add(1, Ordering::SeqCst);
            Err("planned")
        };
        let mut handle = pool.submit_retry(&policy, fails).expect("it runs");
        while attempts.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        drop(pool.shutdown_now());
        let end = handle.get_timeout(Duration::from_secs(5));
        let terminated = pool.await_termination(Duration::from_secs(5)) == Ok(true);
        ended += usize::from(is_cancelled(&end) && terminated);
    }
    Verdict::new(ended == 2, format!("{ended} of 2 end"))
}

fn group_races() -> Verdict {
    const GROUPS: u64 = 2_000;
    let pool = executors::fixed_thread_pool(3).expect("three workers are allowed");
    let mut wrong = 0;
    for round in 0..GROUPS {
        let token = CancelToken::new();
        let group = pool.group().cancelled_by(&token);
        let group = group.timeout(Duration::from_micros(round % 40 * 5));
        let group = if round % 2 == 0 {
            group.fail_fast()
        } else {
            group.first_success()
        };
        let counts = group.scope(|scope| {
            for number in 0..6 {
                let spawned = scope.spawn_fallible(move || match number {
                    2 => Err("planned"),
                    _ => Ok(number),
                });
                drop(spawned);
                if number == 4 && round % 3 == 0 {
                    token.cancel_now();
                }
            }
            drop(scope.join());
            scope.counts()
        });
        wrong += u64::from(counts.pending() != 0);
    }
    pool.close();
    Verdict::new(
        wrong == 0,
        format!("{wrong} of {GROUPS} have tasks that are pending"),
    )
}

fn expiring_storm() -> Verdict {
    const TASKS: u64 = 100_000;
    let pool = executors::fixed_thread_pool(2).expect("two workers are allowed");
    let ran = Arc::new(AtomicU64::new(0));
    let mut handles = Vec::new();
    for number in 0..TASKS {
        let counter = Arc::clone(&ran);
        let task = pool
            .task()
            .queue_limit(Duration::from_micros(number % 200 * 10));
        let task = task.run_limit(Duration::from_micros(number % 7));
        let submitted = task.submit(move || counter.fetch_add(1, Ordering::SeqCst));
        handles.push(submitted.expect("it is queued"));
    }
    pool.shutdown();
    let terminated = pool.await_termination(Duration::from_secs(30)) == Ok(true);
    let done = handles.iter().filter(|handle| handle.is_done()).count() as u64;
    let mut ends = (0, 0);
    for handle in handles {
        match handle.join() {
            Ok(_) => ends.0 += 1,
            Err(_) => ends.1 += 1,
        }
    }
    let (completed, cancelled) = ends;
    let ran = ran.load(Ordering::SeqCst);
    // A run that its limit has cancelled has still run.
    let agrees = completed <= ran && completed + cancelled == TASKS;
    let seen = format!("{done} of {TASKS} are done: {completed} completed, {cancelled} cancelled");
    Verdict::new(terminated && agrees && done == TASKS, seen)
}

fn room_given_up() -> Verdict {
    const SUBMISSIONS: u64 = 20_000;
    let queue = ArrayBlockingQueue::new(2).expect("the capacity is allowed");
    let builder = ThreadPoolExecutor::builder()
        .core_pool_size(2)
        .maximum_pool_size(2);
    let pool = builder.work_queue(queue).build().expect("the sizes fit");
    let ran = Arc::new(AtomicU64::new(0));
    let mut context = Context::from_waker(Waker::noop());
    let (mut given_up, mut handles, mut waiting) = (0, Vec::new(), Vec::new());
    for number in 0..SUBMISSIONS {
        let counter = Arc::clone(&ran);
        let mut submission = Box::pin(pool.submit_async(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        }));
        match submission.as_mut().poll(&mut context) {
            Poll::Ready(admitted) => handles.extend(admitted),
            Poll::Pending if number % 3 == 0 => given_up += 1,
            Poll::Pending => waiting.push(submission),
        }
    }
    while let Some(mut submission) = waiting.pop() {
        let admitted = loop {
            match submission.as_mut().poll(&mut context) {
                Poll::Ready(admitted) => break admitted,
                Poll::Pending => thread::yield_now(),
            }
        };
        handles.extend(admitted);
    }
    let expected = handles.len() as u64;
    let completed = handles.into_iter().filter_map(|handle| handle.join().ok());
    let completed = completed.count() as u64;
    pool.close();
    let (ran, admitted) = (ran.load(Ordering::SeqCst), SUBMISSIONS - given_up);
    let holds = completed == expected && expected == admitted && ran >= expected;
    Verdict::new(
        holds,
        format!("{completed} of {admitted} ran, {given_up} given up"),
    )
}
