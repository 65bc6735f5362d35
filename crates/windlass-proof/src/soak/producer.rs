//! One of the threads that keep the pools busy.

use std::panic::resume_unwind;
use std::time::Duration;

use fastrand::Rng;
use windlass::forkjoin;
use windlass::interrupt;
use windlass::pool::ThreadPoolExecutor;
use windlass::scheduled::Schedule;
use windlass::{Executor, ForkJoinPool, ScheduledThreadPoolExecutor, Task, TaskHandle};

use super::account::{Entry, Fate, drop_as};
use super::stage::{Pool, Stage, VALUE};

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

    fn perform(self, mut entry: Entry) -> u64 {
        entry.runs(match self {
            Self::Panic => Fate::Failed,
            _ => Fate::Finished,
        });
        match self {
            Self::Nothing => {}
            Self::Spin(times) => (0..times).for_each(|_| std::hint::spin_loop()),
            Self::Sleep(time) => {
                let _ = interrupt::sleep(time);
            }
            // Without a word on the screen.
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

/// Does one thing to one pool.
pub(crate) fn act(stage: &Stage, random: &mut Rng) {
    match &stage.pool {
        Pool::Threads(pool) => match random.u8(..40) {
            0 => tune(pool, random),
            1 => {
                pool.purge();
            }
            _ => submit(stage, pool, random),
        },
        Pool::Scheduled(pool) => match random.u8(..10) {
            0 => repeat(stage, pool, random),
            1..5 => delay(stage, pool, random),
            5 => {
                pool.purge();
            }
            _ => submit(stage, pool, random),
        },
        Pool::Forks(pool) => match random.u8(..40) {
            0 => {
                let _ = pool.set_parallelism(random.usize(1..4));
            }
            1 => fork_here(stage, pool, random),
            _ => submit(stage, pool, random),
        },
    }
}

/// Submits a task, with a handle or without.
fn submit(stage: &Stage, pool: &dyn Executor, random: &mut Rng) {
    let (entry, work) = (stage.account.open(), Work::any(random));
    let builder = Task::builder().priority(random.i32(..10));
    let (task, handle) = if random.u8(..4) == 0 {
        let body = move || {
            work.perform(entry);
        };
        (builder.build(body), None)
    } else {
        let (task, handle) = builder.build_with_handle(move || work.perform(entry));
        (task, Some(handle))
    };
    // A task without a handle that its caller runs panics here.
    let executed =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.execute_task(task)));
    match (executed, handle) {
        (Ok(Err(rejected)), handle) => drop_as(Fate::Rejected, (rejected, handle)),
        (_, Some(handle)) => treat(stage, handle, random),
        (_, None) => {}
    }
}

/// Does with the handle of a task what people do with handles.
fn treat(stage: &Stage, mut handle: TaskHandle<u64>, random: &mut Rng) {
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
            if let Pool::Threads(pool) = &stage.pool {
                drop_as(Fate::HandedBack, pool.remove(&handle));
            }
        }
        6..10 => stage.keep(handle),
        _ => {}
    }
}

/// Changes what can be changed while a pool runs.
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
fn delay(stage: &Stage, pool: &ScheduledThreadPoolExecutor, random: &mut Rng) {
    let (entry, work) = (stage.account.open(), Work::any(random));
    let time = Duration::from_micros(random.u64(..3_000));
    match pool.schedule(time, move || work.perform(entry)) {
        Ok(handle) => treat(stage, handle.into_handle(), random),
        Err(rejected) => drop_as(Fate::Rejected, rejected),
    }
}

/// Schedules a task that repeats itself until it fails, is cancelled, or the pool ends.
fn repeat(stage: &Stage, pool: &ScheduledThreadPoolExecutor, random: &mut Rng) {
    let (mut entry, mut left) = (stage.account.open(), random.u32(..5));
    let body = move || {
        entry.runs(Fate::Finished);
        if left == 0 {
            entry.runs(Fate::Failed);
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
        Err(rejected) => drop_as(Fate::Rejected, rejected),
    }
}

/// Has the pool do something while the producer waits, or helps.
fn fork_here(stage: &Stage, pool: &ForkJoinPool, random: &mut Rng) {
    let (entry, n) = (stage.account.open(), random.u32(4..10));
    let value = pool.install(move || Work::Fork(n).perform(entry));
    assert_eq!(value, VALUE);
}
