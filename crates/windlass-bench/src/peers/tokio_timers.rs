//! Tokio's timers: a task that sleeps for each, or a `DelayQueue` that one task drives.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use super::family::{Peer, Timers};
use super::tokio::runtime;
use crate::instruments::tally::{Expected, SET};

pub(crate) struct TokioSleep(Runtime);

impl Peer for TokioSleep {
    const NAME: &'static str = "tokio-sleep";
}

impl Timers for TokioSleep {
    type Token = JoinHandle<()>;
    const FREES: bool = true;

    fn start() -> Self {
        Self(runtime(2, None))
    }

    #[inline]
    fn schedule(&self, delay: Duration, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        let due = Instant::now() + delay;
        self.0.spawn(async move {
            let mut sleep = std::pin::pin!(sleep_until(due));
            let mut is_set = false;
            poll_fn(|context| {
                let polled = sleep.as_mut().poll(context);
                if !std::mem::replace(&mut is_set, true) {
                    SET.count();
                }
                polled
            })
            .await;
            body();
        })
    }

    #[inline]
    fn cancel(&self, token: JoinHandle<()>) {
        token.abort();
    }

    fn await_set(&self, all: &Expected) {
        all.wait();
    }
}

type Body = Box<dyn FnOnce() + Send>;
type Queue = Arc<Mutex<DelayQueue<Body>>>;

/// The queue belongs to one task; a lock lets others put timers in.
pub(crate) struct TokioDelayQueue {
    runtime: Runtime,
    queue: Queue,
}

/// The next timer that is due. The queue keeps the waker when it is empty too, and an insertion
/// wakes it, so an empty queue is one to wait for.
fn poll_due(queue: &Queue, context: &mut Context<'_>) -> Poll<Body> {
    let mut queue = queue.lock().expect("nobody panics with it");
    match queue.poll_expired(context) {
        Poll::Ready(Some(expired)) => Poll::Ready(expired.into_inner()),
        Poll::Ready(None) | Poll::Pending => Poll::Pending,
    }
}

impl Peer for TokioDelayQueue {
    const NAME: &'static str = "tokio-delay-queue";
}

impl Timers for TokioDelayQueue {
    type Token = Key;
    const FREES: bool = true;

    fn start() -> Self {
        let runtime = runtime(2, None);
        let queue = {
            let _entered = runtime.enter();
            Queue::new(Mutex::new(DelayQueue::new()))
        };
        let driven = Arc::clone(&queue);
        drop(runtime.spawn(async move {
            loop {
                let body = poll_fn(|context| poll_due(&driven, context)).await;
                body();
            }
        }));
        Self { runtime, queue }
    }

    #[inline]
    fn schedule(&self, delay: Duration, body: impl FnOnce() + Send + 'static) -> Key {
        let _entered = self.runtime.enter();
        let mut queue = self.queue.lock().expect("nobody panics with it");
        queue.insert(Box::new(body), delay)
    }

    #[inline]
    fn cancel(&self, token: Key) {
        let mut queue = self.queue.lock().expect("nobody panics with it");
        let removed = queue.try_remove(&token);
        drop(queue);
        drop(removed);
    }
}
