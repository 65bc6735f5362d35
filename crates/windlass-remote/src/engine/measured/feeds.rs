//! The feeds of an engine, with what comes over them measured.

use super::super::{
    Control, ControlFeed, Delivery, EngineError, FetchRequest, Fetched, Outcome, Reply, ReplyFeed,
    TaskFeed,
};
use super::meter::Meter;
use crate::id::QueueName;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A feed, and where it is measured.
pub(super) struct Measured<F: ?Sized> {
    pub(super) meter: Arc<Meter>,
    pub(super) queue: QueueName,
    pub(super) feed: Box<F>,
}

impl TaskFeed for Measured<dyn TaskFeed> {
    fn fetch(&mut self, request: &FetchRequest) -> Result<Fetched, EngineError> {
        let answer = self.feed.fetch(request);
        self.meter.counted("fetch", &answer);
        let fetched = answer?;
        if !fetched.deliveries.is_empty() {
            self.meter.note(&self.queue, |traffic| {
                for delivery in &fetched.deliveries {
                    traffic.received(delivery.payload.len());
                }
            });
        }
        Ok(fetched)
    }

    fn close(&mut self) -> Result<Vec<Delivery>, EngineError> {
        let answer = self.feed.close();
        self.meter.counted("close", &answer);
        answer
    }
}

impl ReplyFeed for Measured<dyn ReplyFeed> {
    fn next(&mut self, wait: Duration) -> Result<Vec<Reply>, EngineError> {
        let answer = self.feed.next(wait);
        self.meter.counted("reply", &answer);
        let replies = answer?;
        if !replies.is_empty() {
            let now = Instant::now();
            self.meter.note(&self.queue, |traffic| {
                for reply in &replies {
                    traffic.ended(&reply.id, now);
                    if let Some(Outcome::Done(result)) = &reply.outcome {
                        traffic.received(result.len());
                    }
                }
            });
        }
        Ok(replies)
    }
}

impl ControlFeed for Measured<dyn ControlFeed> {
    fn next(&mut self, wait: Duration) -> Result<Vec<Control>, EngineError> {
        let answer = self.feed.next(wait);
        self.meter.counted("message", &answer);
        answer
    }
}
