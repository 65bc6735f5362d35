//! How can a pool be paused and resumed?
//!
//! With a hook of a few lines: before each task the worker waits until the pool is not paused. The
//! JDK's documentation has the same example for `beforeExecute`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use windlass::interrupt;
use windlass::pool::{Hooks, TaskInfo};
use windlass::prelude::*;

/// Holds workers back before their next task.
#[derive(Default)]
struct Pause {
    paused: AtomicBool,
    held: AtomicUsize,
}

impl Pause {
    fn pause(&self) {
        self.paused.store(true, Ordering::Release);
    }

    fn resume(&self) {
        self.paused.store(false, Ordering::Release);
    }
}

impl Hooks for Pause {
    fn before_execute(&self, _task: &TaskInfo) {
        self.held.fetch_add(1, Ordering::AcqRel);
        // An interrupt, from `shutdown_now` for example, ends the pause for this task; the task
        // sees the interrupt too.
        while self.paused.load(Ordering::Acquire) {
            if interrupt::sleep(Duration::from_millis(1)).is_err() {
                interrupt::current().interrupt();
                break;
            }
        }
        self.held.fetch_sub(1, Ordering::AcqRel);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pause = Arc::new(Pause::default());
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(2)
        .hooks(Arc::clone(&pause))
        .build()?;

    println!("paused; ten tasks are submitted");
    pause.pause();
    let mut handles = Vec::new();
    for n in 0..10 {
        handles.push(pool.submit(move || n * n)?);
    }
    while pause.held.load(Ordering::Acquire) < 2 {
        interrupt::sleep(Duration::from_millis(1))?;
    }
    let done = handles.iter().filter(|handle| handle.is_done()).count();
    println!("both workers are held; done so far: {done}; {pool:?}");
    assert_eq!(done, 0);

    println!("resumed");
    pause.resume();
    let mut squares = Vec::new();
    for handle in handles {
        squares.push(handle.join()?);
    }
    println!("{squares:?}");
    assert_eq!(squares, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
    pool.close();
    Ok(())
}
