//! Telling others what happens: each receiver has a thread and a bounded queue of its own.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::alert::Alert;
use super::audit::AuditEntry;
use crate::queue::{BlockingQueue, LinkedBlockingQueue};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// An alert was raised or cleared. That it was raised is told once in two minutes, and nothing while it is
    /// silenced; what is still so after that is told then. Those of an executor that has ended are told as
    /// cleared, silenced or not.
    Alert(Alert),
    /// Settings were changed, or a command was carried out; or such an entry was amended: its change was
    /// undone or confirmed. It has the same number then.
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
    queues: Mutex<Vec<Arc<Sink>>>,
    counts: Arc<Counts>,
}

/// What a receiver reads.
struct Sink {
    queue: LinkedBlockingQueue<Message>,
    /// Whether the receiver wants no more.
    has_ended: AtomicBool,
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
    /// Calls `receive` with each event from now on, on a thread of its own, until it breaks.
    pub(super) fn add(
        &self,
        receive: impl Fn(&Event) -> ControlFlow<()> + Send + 'static,
    ) -> io::Result<()> {
        let queue = LinkedBlockingQueue::with_capacity(CAPACITY);
        let sink = Arc::new(Sink {
            queue: queue.map_err(io::Error::other)?,
            has_ended: AtomicBool::new(false),
        });
        let (theirs, counts) = (Arc::clone(&sink), Arc::clone(&self.counts));
        let thread = thread::Builder::new().name(String::from("windlass-monitor-sink"));
        thread.spawn(move || {
            loop {
                match theirs.queue.take() {
                    Ok(Message::Event(event)) => match catch(|| receive(&event)) {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(ControlFlow::Break(())) => break,
                        Err(payload) => {
                            discard_payload(payload);
                            counts.count_panic();
                        }
                    },
                    Ok(Message::Stop) => break,
                    // What the receiver does with its own thread is its business.
                    Err(_interrupted) => {}
                }
            }
            theirs.has_ended.store(true, Ordering::Relaxed);
        })?;
        self.queues.lock().push(sink);
        Ok(())
    }

    pub(super) fn send(&self, event: Event) {
        let sinks = {
            let mut sinks = self.queues.lock();
            sinks.retain(|sink| !sink.has_ended.load(Ordering::Relaxed));
            sinks.clone()
        };
        let event = Arc::new(event);
        for sink in sinks {
            if sink
                .queue
                .offer(Message::Event(Arc::clone(&event)))
                .is_err()
            {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Lets the threads end, after what is queued unless the queue is full.
    pub(super) fn stop(&self) {
        for sink in std::mem::take(&mut *self.queues.lock()) {
            while sink.queue.offer(Message::Stop).is_err() {
                drop(sink.queue.poll());
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
