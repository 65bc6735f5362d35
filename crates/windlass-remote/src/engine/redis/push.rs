//! A connection on which the server sends the messages of one channel between its answers.
//!
//! Answers and messages come in the order in which the server wrote them. So after a call all messages are here that were sent before the
//! call was made.

use super::super::EngineError;
use super::connection::{Pool, classify};
use redis::{Connection, FromRedisValue, PushInfo, PushKind, RedisError, Value};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Made when it is needed, and given up after an error; what was on its way then is lost.
pub(super) struct PushLine {
    pool: Arc<Pool>,
    open: Option<Open>,
}

struct Open {
    connection: Connection,
    /// What the client library has read of messages, while it waited for an answer too.
    messages: Receiver<PushInfo>,
    /// How long reads may take now.
    limit: Duration,
}

impl Open {
    fn set_limit(&mut self, limit: Duration) -> redis::RedisResult<()> {
        if limit != self.limit {
            self.connection.set_read_timeout(Some(limit))?;
            self.limit = limit;
        }
        Ok(())
    }

    /// Returns a message that was read already.
    fn read_message(&self) -> Option<Vec<u8>> {
        self.messages.try_iter().find_map(|push| match push.kind {
            PushKind::Message => match push.data.into_iter().nth(1) {
                Some(Value::BulkString(message)) => Some(message),
                _ => None,
            },
            _ => None,
        })
    }
}

impl PushLine {
    pub(super) const fn new(pool: Arc<Pool>) -> Self {
        Self { pool, open: None }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Connects and subscribes to a channel. The server does so before it answers the next call.
    pub(super) fn open(&mut self, channel: &str) -> Result<(), EngineError> {
        let limit = self.pool.call_timeout;
        let (connection, messages) = self.pool.subscribe(channel, limit)?;
        self.open = Some(Open {
            connection,
            messages,
            limit,
        });
        Ok(())
    }

    /// Gives the connection up.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    fn with<R>(
        &mut self,
        act: impl FnOnce(&mut Open, Duration) -> Result<R, RedisError>,
    ) -> Result<R, EngineError> {
        let Some(open) = &mut self.open else {
            return Err(EngineError::Unavailable("not connected".into()));
        };
        act(open, self.pool.call_timeout).map_err(|error| {
            self.open = None;
            classify(&error)
        })
    }

    pub(super) fn call<R: FromRedisValue>(
        &mut self,
        call: impl FnOnce(&mut Connection) -> redis::RedisResult<R>,
    ) -> Result<R, EngineError> {
        self.with(|open, limit| {
            open.set_limit(limit)?;
            call(&mut open.connection)
        })
    }

    /// Returns a message that is here already.
    pub(super) fn read_message(&self) -> Option<Vec<u8>> {
        self.open.as_ref().and_then(Open::read_message)
    }

    /// Returns the next message; waits for it no longer than `wait`.
    pub(super) fn next_message(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, EngineError> {
        self.with(|open, _| {
            if let Some(message) = open.read_message() {
                return Ok(Some(message));
            }
            open.set_limit(wait.max(Duration::from_millis(1)))?;
            // Not dropped: that would end the subscription. It owns nothing.
            let mut subscription = ManuallyDrop::new(open.connection.as_pubsub());
            match subscription.get_message() {
                // It is among the messages too.
                Ok(_) => Ok(open.read_message()),
                Err(error) if error.is_timeout() => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}
