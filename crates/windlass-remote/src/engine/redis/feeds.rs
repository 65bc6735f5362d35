//! The three ways on which callers of the Redis engine wait, each with a connection of its own.

use super::super::{
    Control, ControlFeed, Delivery, EngineError, FetchRequest, Fetched, Reply, ReplyFeed, TaskFeed,
};
use super::answers::{DELIVERY, delivery, id, number, outcome, text, unexpected};
use super::connection::{Pool, classify};
use super::packed;
use super::push::PushLine;
use super::scripts;
use crate::id::TaskId;
use crate::options::Priority;
use redis::streams::StreamReadReply;
use redis::{Connection, FromRedisValue, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After how long without a message the server is asked whether it is there.
const SILENCE: Duration = Duration::from_millis(100);

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

/// A worker with room that finds no task says for how many it has room, and waits for a message: whoever submits a task starts it for such
/// a worker and sends it along. So a task is with an idle worker after one trip.
pub(super) struct Tasks {
    pub(super) line: PushLine,
    pub(super) prefix: String,
    pub(super) worker: String,
    /// The name of this way, a new one with each connection: what the server has promised to another one does not count for it.
    pub(super) feed: String,
    /// Its names on connections that are lost: the server may not know that they are, and still send tasks there.
    pub(super) lost: Vec<String>,
    /// For how many tasks the server may still send messages.
    pub(super) granted: usize,
    /// Entries that the server has read for this worker and that it has to start.
    pub(super) entries: Vec<Entry>,
    /// Nothing came for a while: look whether there is something.
    pub(super) look: bool,
}

/// What one run of the script that starts tasks has brought.
struct Taken {
    fetched: Fetched,
    /// There may be more tasks, behind others that could not start.
    more: bool,
}

/// What was read from a stream: its level, its id there, the id of the task.
type Entry = [Vec<u8>; 3];

impl Tasks {
    pub(super) fn new(pool: Arc<Pool>, prefix: String, worker: &str) -> Self {
        Self {
            line: PushLine::new(pool),
            prefix,
            worker: worker.into(),
            feed: String::new(),
            lost: Vec::new(),
            granted: 0,
            entries: Vec::new(),
            look: false,
        }
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        if !self.line.is_open() {
            let feed = format!("{}:{}", TaskId::random(), self.worker);
            let lost = std::mem::replace(&mut self.feed, feed);
            if !lost.is_empty() {
                self.lost.push(lost);
            }
            (self.granted, self.look) = (0, false);
            // What is left of the last connection is not started, or its lease ends.
            self.entries.clear();
            self.line.open(&format!("{}w:{}", self.prefix, self.feed))?;
        }
        Ok(())
    }

    /// Starts tasks, `count` in all, and returns them after those that were on their way already. An error after a first answer is
    /// met again by the next call: the connection is closed.
    fn take(&mut self, mut count: usize, first: Priority) -> Result<Taken, EngineError> {
        let Taken { mut fetched, more } = self.call(count, first)?;
        loop {
            let mut earlier = Vec::new();
            while let Some(message) = self.line.read_message() {
                // Sent before the answer, so the server no longer counts them.
                let given = Given::read(&message);
                earlier.extend(given.deliveries);
                self.entries.extend(given.entries);
            }
            fetched.add_before(earlier);
            if self.entries.is_empty() {
                return Ok(Taken { fetched, more });
            }
            count = self.entries.len();
            match self.call(count, first) {
                Ok(started) => fetched.add_before(started.fetched.deliveries),
                Err(_) => return Ok(Taken { fetched, more }),
            }
        }
    }

    /// Runs the script that starts tasks: those of the entries, or others if there are none.
    fn call(&mut self, count: usize, first: Priority) -> Result<Taken, EngineError> {
        let mut script = scripts::TAKE.key(format!("{}cnt", self.prefix));
        script.arg(&self.worker).arg(&self.feed);
        script.arg(self.granted).arg(count);
        for priority in first.first_of_all() {
            script.arg(priority.level());
        }
        script.arg(self.lost.join("\n"));
        for entry in std::mem::take(&mut self.entries) {
            script.arg(&entry);
        }
        let values: Vec<Vec<u8>> = self.line.call(|c| script.invoke(c))?;
        self.lost.clear();
        let [waits_for, count, values @ ..] = values.as_slice() else {
            return Err(unexpected("tasks"));
        };
        let count = number(count).ok_or_else(|| unexpected("tasks"))? as usize;
        let parts = values.split_at_checked(count.saturating_mul(DELIVERY));
        let (started, rest) = parts.ok_or_else(|| unexpected("tasks"))?;
        self.granted = number(waits_for).unwrap_or(0) as usize;
        self.entries = entries(rest);
        Ok(Taken {
            fetched: Fetched {
                deliveries: started.chunks(DELIVERY).filter_map(delivery).collect(),
                paused: waits_for == b"p",
            },
            more: waits_for == b"m",
        })
    }

    /// Returns what the next message has; waits for it no longer than `wait`.
    fn next_message(&mut self, wait: Duration) -> Result<Option<Given>, EngineError> {
        let message = self.line.next_message(wait)?;
        let given = message.map(|message| Given::read(&message));
        if let Some(given) = &given {
            let count = given.deliveries.len() + given.entries.len();
            self.granted = self.granted.saturating_sub(count);
            if given.is_last {
                self.granted = 0;
            }
        }
        Ok(given)
    }
}

impl Fetched {
    fn add_before(&mut self, mut deliveries: Vec<Delivery>) {
        if !deliveries.is_empty() {
            deliveries.append(&mut self.deliveries);
            *self = Self {
                deliveries,
                paused: false,
            };
        }
    }
}

/// What a message has for a worker.
#[derive(Default)]
struct Given {
    deliveries: Vec<Delivery>,
    entries: Vec<Entry>,
    /// The server sends no further message before it is asked.
    is_last: bool,
}

/// Reads entries, each of them three values.
fn entries<V: AsRef<[u8]>>(values: &[V]) -> Vec<Entry> {
    let entries = values.chunks_exact(3);
    entries
        .map(|entry| [0, 1, 2].map(|at| entry[at].as_ref().to_vec()))
        .collect()
}

impl Given {
    fn read(message: &[u8]) -> Self {
        Self::try_read(message).unwrap_or_default()
    }

    fn try_read(message: &[u8]) -> Option<Self> {
        let strings = packed::strings(message)?;
        let (count, values) = strings.split_first()?;
        let last = count.strip_suffix(b".");
        let count = usize::try_from(number(last.unwrap_or(count))?).ok()?;
        let (started, rest) = values.split_at_checked(count.checked_mul(DELIVERY)?)?;
        let values: Vec<Vec<u8>> = started.iter().map(|value| value.to_vec()).collect();
        Some(Self {
            deliveries: values.chunks(DELIVERY).filter_map(delivery).collect(),
            entries: entries(rest),
            is_last: last.is_some(),
        })
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
        self.connect()?;
        let FetchRequest { count, first, .. } = *request;
        let until = Instant::now() + request.wait;
        // What the server may send is renewed when half of it is used up, so that a single task needs no call for the next one.
        if self.look || 2 * self.granted < count {
            self.look = false;
            loop {
                let Taken { fetched, more } = self.take(count, first)?;
                if fetched.paused || !fetched.deliveries.is_empty() {
                    return Ok(fetched);
                }
                if !more {
                    break;
                }
                if Instant::now() >= until {
                    self.look = true;
                    return Ok(Fetched::default());
                }
            }
        }
        let Some(given) = self.next_message(request.wait)? else {
            self.look = true;
            return Ok(Fetched::default());
        };
        let started = Fetched {
            deliveries: given.deliveries,
            paused: false,
        };
        self.entries = given.entries;
        if self.entries.is_empty() && !started.deliveries.is_empty() {
            return Ok(started);
        }
        // There are tasks that somebody has to start: those of the entries, which are older than what came with them, or any.
        let room = count - started.deliveries.len().min(count);
        match self.take(room, first) {
            Ok(Taken {
                fetched: mut older,
                more,
            }) => {
                self.look |= more;
                older.deliveries.extend(started.deliveries);
                older.paused &= older.deliveries.is_empty();
                Ok(older)
            }
            Err(_) if !started.deliveries.is_empty() => Ok(started),
            Err(error) => Err(error),
        }
    }

    fn close(&mut self) -> Result<Vec<Delivery>, EngineError> {
        let mut deliveries = Vec::new();
        if self.line.is_open() && self.granted > 0 {
            deliveries = self.take(0, Priority::Normal)?.fetched.deliveries;
        }
        self.line.close();
        Ok(deliveries)
    }
}

pub(super) struct Replies {
    pub(super) line: PushLine,
    pub(super) key: String,
    /// The last entry that was read of what came while nobody listened.
    pub(super) last: String,
    /// There may be more of them.
    pub(super) kept: bool,
}

impl Replies {
    /// Reads what came while nobody listened.
    fn read_kept(&mut self) -> Result<Vec<Reply>, EngineError> {
        let mut command = redis::cmd("XREAD");
        command.arg("COUNT").arg(100);
        command.arg("STREAMS").arg(&self.key).arg(&self.last);
        let answer: Option<StreamReadReply> = self.line.call(|c| command.query(c))?;
        let streams = answer.map(|answer| answer.keys).unwrap_or_default();
        let mut replies = Vec::new();
        self.kept = !streams.is_empty();
        for entry in streams.into_iter().flat_map(|stream| stream.ids) {
            for (field, data) in entry.map {
                replies.extend(bytes(data).and_then(|data| reply(field.as_bytes(), &data)));
            }
            self.last = entry.id;
        }
        Ok(replies)
    }
}

/// Reads an outcome: its kind and the id of its task, and its data.
fn reply(head: &[u8], data: &[u8]) -> Option<Reply> {
    let (kind, task) = head.split_first()?;
    Some(Reply {
        id: id(task)?,
        outcome: outcome(char::from(*kind), data),
    })
}

impl ReplyFeed for Replies {
    fn next(&mut self, wait: Duration) -> Result<Vec<Reply>, EngineError> {
        if !self.line.is_open() {
            self.line.open(&self.key)?;
            self.kept = true;
        }
        if self.kept {
            // Without waiting: after a new connection the client has to look its tasks up.
            return self.read_kept();
        }
        let Some(message) = self.line.next_message(wait)? else {
            // A connection that was cut in silence would stay silent. Who waits briefly has no time for an answer.
            if wait >= SILENCE {
                self.line.call(|c| redis::cmd("PING").query::<String>(c))?;
            }
            return Ok(Vec::new());
        };
        let strings = packed::strings(&message).ok_or_else(|| unexpected("outcomes"))?;
        let pairs = strings.chunks_exact(2);
        Ok(pairs.filter_map(|pair| reply(pair[0], pair[1])).collect())
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
