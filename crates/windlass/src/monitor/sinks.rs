//! Telling others what happens: each receiver has a thread and a bounded queue of its own.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::alert::Alert;
use super::audit::AuditEntry;
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, thread};
use crate::unwind::{catch, discard_payload};

/// How many events wait for a receiver that is slow; further ones are dropped and counted.
const CAPACITY: usize = 256;

/// Something that a monitor tells others.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A sample was taken: the figures are new.
    Sampled,
    /// An alert was raised or cleared.
    Alert(Alert),
    /// Settings were changed, or a command was carried out.
    Audit(AuditEntry),
}

/// What is in the queue of a receiver.
enum Message {
    Event(Arc<Event>),
    Stop,
}

/// The receivers.
#[derive(Default)]
pub(super) struct Sinks {
    queues: Mutex<Vec<Arc<LinkedBlockingQueue<Message>>>>,
    counts: Arc<Counts>,
}

/// Events that were dropped, and receivers and executors that have panicked. They order nothing.
#[derive(Debug, Default)]
pub(super) struct Counts {
    dropped: AtomicU64,
    panics: AtomicU64,
}

impl Counts {
    pub(super) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }
}

impl Sinks {
    /// Calls `receive` with each event from now on, on a thread of its own.
    pub(super) fn add(&self, receive: impl Fn(&Event) + Send + 'static) -> io::Result<()> {
        let capacity = LinkedBlockingQueue::with_capacity(CAPACITY);
        let queue = Arc::new(capacity.map_err(io::Error::other)?);
        let (theirs, counts) = (Arc::clone(&queue), Arc::clone(&self.counts));
        let thread = thread::Builder::new().name(String::from("windlass-monitor-sink"));
        thread.spawn(move || {
            loop {
                match theirs.take() {
                    Ok(Message::Event(event)) => {
                        if let Err(payload) = catch(|| receive(&event)) {
                            discard_payload(payload);
                            counts.count_panic();
                        }
                    }
                    Ok(Message::Stop) => break,
                    // What the receiver does with its own thread is its business.
                    Err(_interrupted) => {}
                }
            }
        })?;
        self.queues.lock().push(queue);
        Ok(())
    }

    pub(super) fn send(&self, event: Event) {
        let queues = self.queues.lock().clone();
        let event = Arc::new(event);
        for queue in queues {
            if queue.offer(Message::Event(Arc::clone(&event))).is_err() {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Lets the threads end, after what is queued unless the queue is full.
    pub(super) fn stop(&self) {
        for queue in std::mem::take(&mut *self.queues.lock()) {
            while queue.offer(Message::Stop).is_err() {
                drop(queue.poll());
            }
        }
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns how many events were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// Returns how often a receiver or an executor has panicked.
    pub(super) fn panics(&self) -> u64 {
        self.counts.panics.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sinks")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
