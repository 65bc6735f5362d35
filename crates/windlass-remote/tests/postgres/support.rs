//! What these tests share with the others, without the servers that they do not use.
#![expect(unreachable_pub, reason = "shared by test binaries as a module")]

#[path = "../support/postgres.rs"]
pub(crate) mod postgres;
#[path = "../support/skipped.rs"]
mod skipped;
#[path = "../support/tasks.rs"]
pub(crate) mod tasks;
#[path = "../support/wait.rs"]
mod wait;

pub(crate) use skipped::say_skipped;
pub(crate) use wait::{LONG, eventually};
