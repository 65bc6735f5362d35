//! What happens to tasks that are still queued when `main` returns?
//!
//! They are lost, without a message: a Rust process ends with `main`, whatever its other threads do.
//! (The JVM waits for threads that are not daemons.) Dropping a pool shuts it down, but does not wait.
//! So close a pool before `main` returns: `close` rejects new tasks and waits for accepted ones. The
//! guard `CloseOnDrop` does so on every exit path, `?` and panics included.
//!
//! This program runs itself as a child process, with three kinds of `main`.
//!
//! `cargo run --release -p windlass --example end_of_main`

use std::env;
use std::error::Error;
use std::process::Command;
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;

const LETTERS: usize = 20;

/// Queues letters, each of which takes a while to be sent.
fn send_letters(pool: &dyn ExecutorService) -> Result<(), Box<dyn Error>> {
    for _ in 0..LETTERS {
        pool.execute(|| {
            if interrupt::sleep(Duration::from_millis(2)).is_ok() {
                println!("sent");
            }
        })?;
    }
    Ok(())
}

/// Returns while nearly all letters are queued.
fn forgetful() -> Result<(), Box<dyn Error>> {
    let pool = executors::single_thread_executor();
    send_letters(&pool)
}

/// Would close the pool, but returns by an error before.
fn failing() -> Result<(), Box<dyn Error>> {
    let pool = executors::single_thread_executor();
    send_letters(&pool)?;
    "not a number".parse::<u32>()?;
    pool.close();
    Ok(())
}

/// Returns by an error too; the guard closes the pool.
fn guarded() -> Result<(), Box<dyn Error>> {
    let pool = CloseOnDrop::new(executors::single_thread_executor());
    send_letters(&*pool)?;
    "not a number".parse::<u32>()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match env::args().nth(1).as_deref() {
        Some("forgetful") => forgetful(),
        Some("failing") => failing(),
        Some("guarded") => guarded(),
        _ => compare(),
    }
}

/// Runs each `main` in a process of its own and counts the letters that it sent.
fn compare() -> Result<(), Box<dyn Error>> {
    for (role, what) in [
        ("forgetful", "main returns, and forgets the pool"),
        ("failing", "main fails before it closes the pool"),
        ("guarded", "main fails, and a guard closes the pool"),
    ] {
        let child = Command::new(env::current_exe()?).arg(role).output()?;
        let sent = String::from_utf8(child.stdout)?.lines().count();
        println!("{what:<39} {sent:>2} of {LETTERS} letters were sent");
        assert!(role != "guarded" || sent == LETTERS);
    }
    Ok(())
}
