//! The thread that takes a sample once a second.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Deadline, Mutex, Parker, park, thread};

/// The time between two samples.
const INTERVAL: Duration = Duration::from_secs(1);

/// The thread that takes samples, if there is one.
pub(super) struct Sampler {
    wait: Arc<Wait>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

/// What the thread waits on.
struct Wait {
    parker: Arc<Parker>,
    is_stopped: AtomicBool,
}

impl Wait {
    /// Takes a sample each second, until it is stopped.
    fn run(&self, shared: &Shared) {
        shared.clock.adopt();
        let mut next = shared.clock.now() + INTERVAL;
        while !self.is_stopped.load(Ordering::Acquire) {
            if shared.clock.now() < next {
                let _ = park(&self.parker, Deadline::At(next));
                continue;
            }
            shared.sample();
            let now = shared.clock.now();
            next += INTERVAL;
            if next <= now {
                // The machine was asleep, or a test has advanced its clock: what was missed is missed.
                next = now + INTERVAL;
            }
        }
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.parker.unpark();
    }
}

impl Sampler {
    /// Creates one without a thread.
    pub(super) fn new() -> Self {
        Self {
            wait: Arc::new(Wait {
                parker: Arc::new(Parker::new()),
                is_stopped: AtomicBool::new(false),
            }),
            thread: Mutex::new(None),
        }
    }

    /// Starts the thread.
    pub(super) fn start(&self, shared: &Arc<Shared>) -> io::Result<()> {
        let (wait, shared) = (Arc::clone(&self.wait), Arc::clone(shared));
        let builder = thread::Builder::new().name(String::from("windlass-monitor"));
        let thread = builder.spawn(move || wait.run(&shared))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Lets the thread end, after the sample that it takes.
    pub(super) fn stop(&self) {
        self.wait.stop();
    }

    /// Waits for the thread to end, unless this is that thread.
    pub(super) fn join(&self) {
        let Some(thread) = self.thread.lock().take() else {
            return;
        };
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}
