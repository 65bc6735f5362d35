//! How can a pool be paused and resumed?
//!
//! With a hook of a few lines: before each task the worker waits until the pool is not paused. The
//! JDK's documentation has the same example for `beforeExecute`.
//!
//! `cargo run --release -p windlass --example pausable_pool`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::interrupt;
use windlass::pool::{Hooks, TaskInfo};
use windlass::prelude::*;
use windlass::task::CancelToken;
use windlass::testing::until;

#[expect(clippy::disallowed_types, reason = "a program has locks of its own")]
type Locked<T> = std::sync::Mutex<T>;

/// Holds workers back before their next task.
#[derive(Default)]
struct Pause {
    /// What ends the pause; nothing while the pool runs.
    resumed: Locked<Option<CancelToken>>,
    held: AtomicUsize,
}

impl Pause {
    fn set(&self, to: Option<CancelToken>) -> Option<CancelToken> {
        let mut resumed = self.resumed.lock().ok()?;
        std::mem::replace(&mut resumed, to)
    }

    fn pause(&self) {
        if let Some(former) = self.set(Some(CancelToken::new())) {
            former.cancel();
        }
    }

    fn resume(&self) {
        if let Some(pause) = self.set(None) {
            pause.cancel();
        }
    }

    fn current(&self) -> Option<CancelToken> {
        self.resumed.lock().ok()?.clone()
    }
}

impl Hooks for Pause {
    fn before_execute(&self, _task: &TaskInfo) {
        self.held.fetch_add(1, Ordering::AcqRel);
        // An interrupt, from `shutdown_now` for example, ends the pause for this task; the task
        // sees the interrupt too.
        while let Some(pause) = self.current() {
            if pause.wait().is_err() {
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
    until("both workers are held", || {
        pause.held.load(Ordering::Acquire) == 2
    });
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
