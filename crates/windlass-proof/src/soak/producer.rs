//! A producer thread.

use std::panic::resume_unwind;
use std::time::Duration;

use fastrand::Rng;
use windlass::forkjoin;
use windlass::interrupt;
use windlass::pool::ThreadPoolExecutor;
use windlass::scheduled::Schedule;
use windlass::{Executor, ForkJoinPool, ScheduledThreadPoolExecutor, Task, TaskHandle};

use super::outcomes::{OutcomeGuard, TaskOutcome, drop_as};
use super::subject::{Pool, Subject, VALUE};

/// What a task does.
#[derive(Debug, Clone, Copy)]
enum Work {
    Nothing,
    Spin(u32),
    /// Sleeps, unless it is interrupted.
    Sleep(Duration),
    Panic,
    /// Splits itself, on the fork-join pool it runs on or on the common one.
    Fork(u32),
}

impl Work {
    fn any(random: &mut Rng) -> Self {
        match random.u8(..20) {
            0..8 => Self::Nothing,
            8..14 => Self::Spin(random.u32(..2_000)),
            14..16 => Self::Sleep(Duration::from_micros(random.u64(..500))),
            16..18 => Self::Panic,
            _ => Self::Fork(random.u32(4..10)),
        }
    }

    fn run(self, mut guard: OutcomeGuard) -> u64 {
        guard.runs(match self {
            Self::Panic => TaskOutcome::Failed,
            _ => TaskOutcome::Finished,
        });
        match self {
            Self::Nothing => {}
            Self::Spin(times) => (0..times).for_each(|_| std::hint::spin_loop()),
            Self::Sleep(time) => {
                let _ = interrupt::sleep(time);
            }
            // Prints no message.
            Self::Panic => resume_unwind(Box::new("as planned")),
            Self::Fork(n) => assert_eq!(fibonacci(n), [3, 5, 8, 13, 21, 34][n as usize - 4]),
        }
        VALUE
    }
}

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = forkjoin::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

/// Runs one random operation on one pool.
pub(crate) fn act(subject: &Subject, random: &mut Rng) {
    match &subject.pool {
        Pool::Threads(pool) => match random.u8(..40) {
            0 => tune(pool, random),
            1 => {
                pool.purge();
            }
            _ => submit(subject, pool, random),
        },
        Pool::Scheduled(pool) => match random.u8(..10) {
            0 => repeat(subject, pool, random),
            1..5 => schedule(subject, pool, random),
            5 => {
                pool.purge();
            }
            _ => submit(subject, pool, random),
        },
        Pool::Forks(pool) => match random.u8(..40) {
            0 => {
                let _ = pool.set_parallelism(random.usize(1..4));
            }
            1 => install(subject, pool, random),
            _ => submit(subject, pool, random),
        },
    }
}

/// Submits a task, with a handle or without.
fn submit(subject: &Subject, pool: &dyn Executor, random: &mut Rng) {
    let (guard, work) = (subject.outcomes.track(), Work::any(random));
    let builder = Task::builder().priority(random.i32(..10));
    let (task, handle) = if random.u8(..4) == 0 {
        let body = move || {
            work.run(guard);
        };
        (builder.build(body), None)
    } else {
        let (task, handle) = builder.build_with_handle(move || work.run(guard));
        (task, Some(handle))
    };
    // A task without a handle that its caller runs panics here.
    let executed =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.execute_task(task)));
    match (executed, handle) {
        (Ok(Err(rejected)), handle) => drop_as(TaskOutcome::Rejected, (rejected, handle)),
        (_, Some(handle)) => use_handle(subject, handle, random),
        (_, None) => {}
    }
}

/// Runs a random operation on the handle of a task.
fn use_handle(subject: &Subject, mut handle: TaskHandle<u64>, random: &mut Rng) {
    match random.u8(..12) {
        0 => {
            handle.cancel();
        }
        1 => {
            handle.cancel_now();
        }
        2 => drop(handle.cancel_on_drop()),
        3 => drop(handle.get_timeout(Duration::from_micros(200))),
        4 => handle.on_done(|_| ()),
        5 => {
            if let Pool::Threads(pool) = &subject.pool {
                drop_as(TaskOutcome::HandedBack, pool.remove(&handle));
            }
        }
        6..10 => subject.keep_handle(handle),
        _ => {}
    }
}

/// Changes a random setting.
fn tune(pool: &ThreadPoolExecutor, random: &mut Rng) {
    let _ = match random.u8(..6) {
        0 => pool.set_core_pool_size(random.usize(..4)),
        1 => pool.set_maximum_pool_size(random.usize(1..6)),
        2 => pool.set_keep_alive(Duration::from_micros(random.u64(1..5_000))),
        3 => pool.set_allow_core_thread_timeout(random.bool()),
        4 => {
            let _ = pool.set_queue_capacity(random.usize(1..64));
            Ok(())
        }
        _ => {
            pool.retire_idle();
            let _ = pool.prestart_core_thread();
            Ok(())
        }
    };
}

/// Schedules a task for later.
fn schedule(subject: &Subject, pool: &ScheduledThreadPoolExecutor, random: &mut Rng) {
    let (guard, work) = (subject.outcomes.track(), Work::any(random));
    let time = Duration::from_micros(random.u64(..3_000));
    match pool.schedule(time, move || work.run(guard)) {
        Ok(handle) => use_handle(subject, handle.into_handle(), random),
        Err(rejected) => drop_as(TaskOutcome::Rejected, rejected),
    }
}

/// Schedules a task that repeats itself until it fails, is cancelled, or the pool ends.
fn repeat(subject: &Subject, pool: &ScheduledThreadPoolExecutor, random: &mut Rng) {
    let (mut guard, mut left) = (subject.outcomes.track(), random.u32(..5));
    let body = move || {
        guard.runs(TaskOutcome::Finished);
        if left == 0 {
            guard.runs(TaskOutcome::Failed);
            resume_unwind(Box::new("the last one"));
        }
        left -= 1;
    };
    let period = Duration::from_micros(random.u64(50..500));
    let scheduled = if random.bool() {
        pool.schedule_at_fixed_rate(period, period, body)
    } else {
        pool.schedule_with_fixed_delay(period, period, body)
    };
    match scheduled {
        Ok(handle) if random.u8(..4) == 0 => {
            handle.cancel();
        }
        Ok(handle) => drop(handle),
        Err(rejected) => drop_as(TaskOutcome::Rejected, rejected),
    }
}

/// Runs a task in the pool while the producer waits for it.
fn install(subject: &Subject, pool: &ForkJoinPool, random: &mut Rng) {
    let (guard, n) = (subject.outcomes.track(), random.u32(4..10));
    let value = pool.install(move || Work::Fork(n).run(guard));
    assert_eq!(value, VALUE);
}
