//! The threads of a pool, numbered in their names.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, thread};

use windlass::thread_factory::{ThreadBody, ThreadFactory};

/// A factory of threads whose names have their number at the place of `{}`.
#[derive(Debug)]
pub(crate) struct Threads {
    pattern: Option<String>,
    created: AtomicUsize,
}

impl Threads {
    pub(crate) fn new(pattern: Option<&str>) -> Self {
        Self {
            pattern: pattern.map(str::to_owned),
            created: AtomicUsize::new(0),
        }
    }
}

impl ThreadFactory for Threads {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        let mut builder = thread::Builder::new();
        if let Some(pattern) = &self.pattern {
            builder = builder.name(pattern.replace("{}", &number.to_string()));
        }
        builder.spawn(|| body.run()).map(drop)
    }
}
