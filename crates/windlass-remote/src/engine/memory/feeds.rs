//! The three ways on which callers of the memory engine wait.

use super::super::{
    Control, ControlFeed, EngineError, FetchRequest, Fetched, Reply, ReplyFeed, TaskFeed,
};
use super::engine::Shared;
use super::queue::Queue;
use crate::id::QueueName;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Tasks {
    pub(super) shared: Arc<Shared>,
    pub(super) queue: QueueName,
    pub(super) worker: Arc<str>,
}

impl TaskFeed for Tasks {
    fn fetch(&mut self, request: &FetchRequest) -> Result<Fetched, EngineError> {
        self.shared
            .wait(&self.queue, Instant::now() + request.wait, |queue, now| {
                queue.promote(now);
                if queue.status.paused {
                    return Some(Fetched {
                        deliveries: Vec::new(),
                        paused: true,
                    });
                }
                let deliveries = queue.take(&self.worker, request, now);
                (!deliveries.is_empty()).then_some(Fetched {
                    deliveries,
                    paused: false,
                })
            })
    }
}

pub(super) struct Replies {
    pub(super) shared: Arc<Shared>,
    pub(super) queue: QueueName,
    pub(super) client: Arc<str>,
}

impl ReplyFeed for Replies {
    fn next(&mut self, wait: Duration) -> Result<Vec<Reply>, EngineError> {
        self.shared.wait(
            &self.queue,
            Instant::now() + wait,
            |queue: &mut Queue, _| {
                let replies = queue.replies.get_mut(&self.client)?;
                (!replies.unread.is_empty()).then(|| replies.unread.drain(..).collect())
            },
        )
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.shared
            .with(&self.queue, |queue, _| queue.replies.remove(&self.client));
    }
}

pub(super) struct Messages {
    pub(super) shared: Arc<Shared>,
    pub(super) queue: QueueName,
    /// How many messages of the queue are behind us.
    pub(super) seen: u64,
}

impl ControlFeed for Messages {
    fn next(&mut self, wait: Duration) -> Result<Vec<Control>, EngineError> {
        let seen = &mut self.seen;
        self.shared.wait(
            &self.queue,
            Instant::now() + wait,
            |queue: &mut Queue, _| {
                let skip = seen.saturating_sub(queue.messages_gone) as usize;
                let fresh: Vec<Control> = queue.messages.iter().skip(skip).cloned().collect();
                *seen = queue.messages_gone + queue.messages.len() as u64;
                (!fresh.is_empty()).then_some(fresh)
            },
        )
    }
}
