//! The three ways on which callers of the Redis engine wait, each with a connection of its own.

use super::super::{
    Control, ControlFeed, EngineError, FetchRequest, Fetched, Reply, ReplyFeed, TaskFeed,
};
use super::answers::{DELIVERY, delivery, id, outcome, text};
use super::connection::{Pool, classify};
use super::scripts;
use redis::streams::StreamReadReply;
use redis::{Connection, FromRedisValue, Value};
use std::sync::Arc;
use std::time::Duration;

/// A connection that is made when it is needed, and given up after an error.
pub(super) struct Line {
    pool: Arc<Pool>,
    /// With the time that its reads may take now.
    connection: Option<(Connection, Duration)>,
}

impl Line {
    pub(super) const fn new(pool: Arc<Pool>) -> Self {
        Self {
            pool,
            connection: None,
        }
    }

    /// Makes a call that the server may take `wait` to answer, on top of the usual time.
    fn call<R: FromRedisValue>(
        &mut self,
        wait: Duration,
        call: impl FnOnce(&mut Connection) -> redis::RedisResult<R>,
    ) -> Result<R, EngineError> {
        let limit = wait + self.pool.call_timeout;
        let (connection, set) = match &mut self.connection {
            Some(connection) => connection,
            None => self.connection.insert((self.pool.connect(limit)?, limit)),
        };
        // A longer limit than needed is kept when it is not much longer: setting it takes a system call.
        let ready = if limit > *set || limit * 2 < *set {
            *set = limit;
            connection.set_read_timeout(Some(limit))
        } else {
            Ok(())
        };
        let answer = ready.and_then(|()| call(connection));
        answer.map_err(|error| {
            self.connection = None;
            classify(&error)
        })
    }

    /// Reads from streams after the given ids; empty after `wait`.
    fn read(
        &mut self,
        key: &str,
        after: &str,
        wait: Duration,
    ) -> Result<StreamReadReply, EngineError> {
        let mut command = redis::cmd("XREAD");
        command
            .arg("COUNT")
            .arg(100)
            .arg("BLOCK")
            .arg(wait.as_millis().max(1) as u64);
        command.arg("STREAMS").arg(key).arg(after);
        let answer: Option<StreamReadReply> = self.call(wait, |c| command.query(c))?;
        Ok(answer.unwrap_or(StreamReadReply { keys: Vec::new() }))
    }
}

pub(super) struct Tasks {
    pub(super) line: Line,
    pub(super) prefix: String,
    pub(super) worker: String,
    /// The last call has left nothing to take.
    pub(super) emptied: bool,
}

/// An entry that was read from a stream: its level, its id there, the id of the task.
type Entry = (String, String, Vec<u8>);

impl Tasks {
    /// Starts tasks: those of the entries, or others if there are none, `count` in all.
    fn take(&mut self, request: &FetchRequest, entries: &[Entry]) -> Result<Fetched, EngineError> {
        let mut script = scripts::TAKE.key(format!("{}cnt", self.prefix));
        script.arg(&self.worker).arg(request.count);
        for priority in request.first.first_of_all() {
            script.arg(priority.level());
        }
        for (level, stream_id, task) in entries {
            script.arg(level).arg(stream_id).arg(task);
        }
        match self
            .line
            .call(Duration::ZERO, |c| script.invoke::<Value>(c))?
        {
            Value::Array(values) => {
                let values: Vec<Vec<u8>> = values.into_iter().filter_map(bytes).collect();
                let deliveries = values.chunks(DELIVERY).filter_map(delivery).collect();
                Ok(Fetched {
                    deliveries,
                    paused: false,
                })
            }
            _ => Ok(Fetched {
                deliveries: Vec::new(),
                paused: true,
            }),
        }
    }

    /// Waits for entries of any priority. The server counts for each stream, so a third of what is wanted is asked of each; whether
    /// that was all that was there is the second answer.
    fn wait(&mut self, request: &FetchRequest) -> Result<(Vec<Entry>, bool), EngineError> {
        let each = (request.count / 3).max(1);
        let mut command = redis::cmd("XREADGROUP");
        command
            .arg("GROUP")
            .arg("w")
            .arg(&self.worker)
            .arg("COUNT")
            .arg(each);
        command
            .arg("BLOCK")
            .arg(request.wait.as_millis().max(1) as u64)
            .arg("STREAMS");
        for priority in request.first.first_of_all() {
            command.arg(format!("{}r{}", self.prefix, priority.level()));
        }
        command.arg(">").arg(">").arg(">");
        let answer: Option<StreamReadReply> = self.line.call(request.wait, |c| command.query(c))?;
        let (mut entries, mut all) = (Vec::new(), true);
        for stream in answer.map(|answer| answer.keys).unwrap_or_default() {
            let level = stream
                .key
                .chars()
                .last()
                .map(String::from)
                .unwrap_or_default();
            all &= stream.ids.len() < each;
            for entry in stream.ids {
                if let Some(task) = entry.map.into_values().next().and_then(bytes) {
                    entries.push((level.clone(), entry.id, task));
                }
            }
        }
        Ok((entries, all))
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Int(number) => Some(number.to_string().into_bytes()),
        _ => None,
    }
}

impl TaskFeed for Tasks {
    fn fetch(&mut self, request: &FetchRequest) -> Result<Fetched, EngineError> {
        if !std::mem::take(&mut self.emptied) {
            let fetched = self.take(request, &[])?;
            self.emptied = !fetched.paused && fetched.deliveries.len() < request.count;
            if fetched.paused || !fetched.deliveries.is_empty() {
                return Ok(fetched);
            }
        }
        // The groups are there: the script makes them. One trip more than a busy worker needs, and only when it is idle.
        let (entries, all) = self.wait(request)?;
        if entries.is_empty() {
            return Ok(Fetched::default());
        }
        let fetched = self.take(request, &entries)?;
        self.emptied = all && !fetched.paused;
        Ok(fetched)
    }
}

pub(super) struct Replies {
    pub(super) line: Line,
    pub(super) key: String,
    /// The last entry that was read.
    pub(super) last: String,
}

impl ReplyFeed for Replies {
    fn next(&mut self, wait: Duration) -> Result<Vec<Reply>, EngineError> {
        let answer = self.line.read(&self.key, &self.last, wait)?;
        let mut replies = Vec::new();
        for entry in answer.keys.into_iter().flat_map(|stream| stream.ids) {
            for (field, data) in entry.map {
                let mut chars = field.chars();
                let (Some(kind), Some(data)) = (chars.next(), bytes(data)) else {
                    continue;
                };
                let Some(id) = id(chars.as_str().as_bytes()) else {
                    continue;
                };
                replies.push(Reply {
                    id,
                    outcome: outcome(kind, &data),
                });
            }
            self.last = entry.id;
        }
        Ok(replies)
    }
}

pub(super) struct Messages {
    pub(super) line: Line,
    pub(super) key: String,
    pub(super) last: String,
}

impl ControlFeed for Messages {
    fn next(&mut self, wait: Duration) -> Result<Vec<Control>, EngineError> {
        let answer = self.line.read(&self.key, &self.last, wait)?;
        let mut messages = Vec::new();
        for entry in answer.keys.into_iter().flat_map(|stream| stream.ids) {
            for message in entry.map.into_values().filter_map(bytes) {
                match text(&message).strip_prefix('c').map(str::parse) {
                    Some(Ok(id)) => messages.push(Control::Cancel(id)),
                    Some(Err(_)) => {}
                    None => messages.push(Control::Changed),
                }
            }
            self.last = entry.id;
        }
        Ok(messages)
    }
}
