//! The threads of a pool: all with one name or none.

use std::{io, thread};

use windlass::thread_factory::{ThreadBody, ThreadFactory};

/// A factory of threads that have the same name, or none.
#[derive(Debug)]
pub(crate) struct Threads {
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
}

impl ThreadFactory for Threads {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        builder.spawn(|| body.run()).map(drop)
    }

    fn name_prefix(&self) -> Option<&str> {
        self.name.as_deref()
    }
}
