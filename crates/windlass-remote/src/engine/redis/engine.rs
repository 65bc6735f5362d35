//! The face of the Redis engine: one script, and one round trip, for each method.

use super::super::{
    Backlog, Beat, CancelMode, Cancelled, ControlFeed, DeadAction, Due, Engine, EngineError, Fire,
    Lease, MAX_PAGE, NewTask, Overlap, QueuePatch, QueueStats, QueueStatus, Refusal, Renewed,
    ReplyFeed, Report, Reported, ScheduleRecord, Submitted, TaskFeed, TaskPage, TaskRecord,
    TaskState, Tick, TypeLimit, Verdict, WorkerRecord,
};
use super::answers::{self, number, text, unexpected};
use super::connection::{Pool, RedisEngineBuilder, RedisReport};
use super::feeds::{Line, Messages, Replies, Tasks};
use super::push::PushLine;
use super::scripts;
use crate::id::{QueueName, TaskId};
use crate::options::TaskOptions;
use redis::{Connection, FromRedisValue, RedisResult, Script, ScriptInvocation};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The set of all queue names.
const QUEUES: &str = "wl:queues";

/// Queues on Redis 6.2 or later, or on Valkey. A clone is the same engine and shares its connections.
///
/// Set `maxmemory-policy noeviction` and `appendonly yes` on the server; [`check`](Self::check) says whether they are. The rights that
/// an ACL user needs are in the guide.
///
/// ```no_run
/// use windlass_remote::{RemoteExecutor, engine::RedisEngine};
///
/// let executor = RemoteExecutor::new(RedisEngine::connect("redis://127.0.0.1/")?);
/// # Ok::<(), windlass_remote::engine::EngineError>(())
/// ```
#[derive(Clone)]
pub struct RedisEngine(Arc<Pool>);

impl fmt::Debug for RedisEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisEngine").field(&self.0.place()).finish()
    }
}

fn prefix(queue: &QueueName) -> String {
    format!("wl:{{{queue}}}:")
}

impl RedisEngine {
    pub(super) fn new(pool: Pool) -> Self {
        Self(Arc::new(pool))
    }

    /// Connects to a server and checks it: `redis://` or, with the feature `tls`, `rediss://`.
    ///
    /// # Errors
    ///
    /// See [`RedisEngineBuilder::connect`].
    pub fn connect(address: &str) -> Result<Self, EngineError> {
        Self::builder(address).connect()
    }

    /// Creates the settings of an engine.
    pub fn builder(address: &str) -> RedisEngineBuilder {
        RedisEngineBuilder::new(address)
    }

    /// Asks the server for its version and its settings. A setting that a user may not read is not warned about.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, or is older than Redis 6.2.
    pub fn check(&self) -> Result<RedisReport, EngineError> {
        let info: String = self.0.call(|c| redis::cmd("INFO").query(c))?;
        let line = |field: &str| info.lines().find_map(|line| line.strip_prefix(field));
        let version = line("redis_version:").unwrap_or("0").trim().to_owned();
        let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
        let found: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if found < (6, 2) {
            return Err(EngineError::Protocol(format!(
                "Redis {version} is older than 6.2"
            )));
        }
        let mut warnings = Vec::new();
        let policy = line("maxmemory_policy:").map_or("noeviction", str::trim);
        if policy != "noeviction" {
            warnings.push(format!(
                "maxmemory-policy is {policy}: a full server drops tasks"
            ));
        }
        if line("aof_enabled:").is_some_and(|enabled| enabled.trim() == "0") {
            warnings.push("appendonly is no: tasks are lost when the server ends".into());
        }
        let fsync: Option<(String, String)> = self
            .ask(|c| redis::cmd("CONFIG").arg(&["GET", "appendfsync"]).query(c))
            .ok();
        if fsync.as_ref().is_some_and(|(_, mode)| mode == "no") {
            warnings.push(
                "appendfsync is no: a power cut may cost half a minute of tasks and results".into(),
            );
        }
        Ok(RedisReport {
            version,
            warnings,
            fsync: fsync.map(|(_, mode)| mode),
        })
    }

    fn run<R: FromRedisValue>(
        &self,
        script: &Script,
        queue: &QueueName,
        arguments: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> Result<R, EngineError> {
        let mut invocation = script.key(format!("{}cnt", prefix(queue)));
        arguments(&mut invocation);
        self.0.call(|c| invocation.invoke(c))
    }

    /// Runs a script and waits until the replicas that were asked for have what it wrote.
    fn run_replicated<R: FromRedisValue>(
        &self,
        script: &Script,
        queue: &QueueName,
        arguments: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> Result<R, EngineError> {
        let Some((count, limit)) = self.0.replicas else {
            return self.run(script, queue, arguments);
        };
        let mut invocation = script.key(format!("{}cnt", prefix(queue)));
        arguments(&mut invocation);
        let (answer, have): (R, u32) = self.0.call(|c| {
            let answer = invocation.invoke(c)?;
            // A script that finds all tasks there already writes nothing, and there would be nothing to wait for.
            let mut both = redis::pipe();
            both.cmd("HINCRBY").arg(format!("{}cnt", prefix(queue)));
            both.arg("waits").arg(1).ignore();
            let limit = limit.min(self.0.call_timeout / 2);
            both.cmd("WAIT").arg(count).arg(limit.as_millis() as u64);
            let (have,): (u32,) = both.query(c)?;
            Ok((answer, have))
        })?;
        if have < count {
            let message = format!("{have} of {count} replicas have the tasks");
            return Err(EngineError::Unavailable(message));
        }
        Ok(answer)
    }

    /// Runs a script that does no more if it runs twice.
    fn run_again<R: FromRedisValue>(
        &self,
        script: &Script,
        queue: &QueueName,
        arguments: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> Result<R, EngineError> {
        let mut invocation = script.key(format!("{}cnt", prefix(queue)));
        arguments(&mut invocation);
        self.0.call_again(|c| invocation.invoke(c))
    }

    /// Sends commands that do no more if they are sent twice.
    fn ask<R: FromRedisValue>(
        &self,
        call: impl FnMut(&mut Connection) -> RedisResult<R>,
    ) -> Result<R, EngineError> {
        self.0.call_again(call)
    }

    /// Notes a queue in the set of all queues, once in the life of this engine.
    fn note(&self, queue: &QueueName) -> Result<(), EngineError> {
        let known = |pool: &Pool| {
            let known = pool.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.contains(queue)
        };
        if !known(&self.0) {
            self.ask(|c| {
                redis::cmd("SADD")
                    .arg(QUEUES)
                    .arg(queue.as_str())
                    .query::<()>(c)
            })?;
            self.0
                .known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(queue.clone());
        }
        Ok(())
    }

    /// Reads one letter for each of `count` elements.
    fn letters<T>(
        answers: Vec<Vec<u8>>,
        count: usize,
        read: impl Fn(u8, &[u8]) -> Option<T>,
    ) -> Result<Vec<T>, EngineError> {
        let letter = |answer: &Vec<u8>| {
            answer
                .split_first()
                .and_then(|(first, rest)| read(*first, rest))
        };
        let read: Option<Vec<T>> = answers.iter().map(letter).collect();
        read.filter(|read| read.len() == count)
            .ok_or_else(|| unexpected("letters"))
    }
}

fn add_ids(script: &mut ScriptInvocation<'_>, ids: &[TaskId]) {
    for id in ids {
        script.arg(id.as_str());
    }
}

/// Returns the letter, the data and the delay of a verdict.
fn verdict_wire(verdict: &Verdict) -> (&'static str, Vec<u8>, u64) {
    let millis = |delay: &Duration| delay.as_millis() as u64;
    match verdict {
        Verdict::Done(result) => ("d", result.clone(), 0),
        Verdict::Failed(failure) => ("f", failure.to_wire().into_bytes(), 0),
        Verdict::Dead(failure) => ("b", failure.to_wire().into_bytes(), 0),
        Verdict::Retry(failure, delay) => ("r", failure.to_wire().into_bytes(), millis(delay)),
        Verdict::PutBack {
            delay,
            unknown: false,
        } => ("p", Vec::new(), millis(delay)),
        Verdict::PutBack {
            delay,
            unknown: true,
        } => ("u", Vec::new(), millis(delay)),
    }
}

fn worker_wire(worker: &WorkerRecord) -> String {
    let tasks = worker.tasks.join(",");
    format!(
        "{}|{}|{}|{}|{tasks}",
        worker.pid,
        worker.slots,
        worker.busy,
        worker.host.replace('|', " ")
    )
}

fn worker_from_wire(id: String, wire: &str, silent_for: Duration) -> WorkerRecord {
    let mut parts = wire.splitn(5, '|');
    let mut number = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    let (pid, slots, busy) = (number(), number(), number());
    let host = parts.next().unwrap_or_default().into();
    let tasks = parts.next().unwrap_or_default();
    let tasks = tasks
        .split(',')
        .filter(|task| !task.is_empty())
        .map(Into::into)
        .collect();
    WorkerRecord {
        id,
        host,
        pid,
        slots,
        busy,
        tasks,
        silent_for,
    }
}

impl Engine for RedisEngine {
    fn submit(&self, queue: &QueueName, tasks: &[NewTask]) -> Result<Vec<Submitted>, EngineError> {
        self.note(queue)?;
        let answers = self.run_replicated(&scripts::SUBMIT, queue, |script| {
            for task in tasks {
                script
                    .arg(task.id.as_str())
                    .arg(answers::description(task))
                    .arg(&task.payload)
                    .arg(task.delay.as_millis() as u64);
                script.arg(task.reply_to.as_deref().unwrap_or_default());
            }
        })?;
        Self::letters(answers, tasks.len(), |letter, rest| match letter {
            b'a' => Some(Submitted::Accepted),
            b'd' => Some(Submitted::Duplicate),
            b'c' => Some(Submitted::Refused(Refusal::Closed)),
            b'f' => Some(Submitted::Refused(Refusal::Full {
                capacity: number(rest)?,
            })),
            _ => None,
        })
    }

    fn report(&self, queue: &QueueName, reports: &[Report]) -> Result<Vec<Reported>, EngineError> {
        let answers = self.run(&scripts::REPORT, queue, |script| {
            for report in reports {
                let (letter, data, delay) = verdict_wire(&report.verdict);
                let lease = &report.lease;
                script
                    .arg(lease.id.as_str())
                    .arg(lease.fence)
                    .arg(&lease.entry);
                script.arg(letter).arg(data).arg(delay);
            }
        })?;
        Self::letters(answers, reports.len(), |letter, _| match letter {
            b'a' => Some(Reported::Accepted),
            b's' => Some(Reported::Stale),
            _ => None,
        })
    }

    fn cancel(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        mode: CancelMode,
    ) -> Result<Vec<Cancelled>, EngineError> {
        let answers = self.run_again(&scripts::CANCEL, queue, |script| {
            script.arg(u8::from(mode == CancelMode::Now));
            add_ids(script, ids);
        })?;
        Self::letters(answers, ids.len(), |letter, _| match letter {
            b'b' => Some(Cancelled::BeforeStart),
            b'w' => Some(Cancelled::WhileRunning),
            b'r' => Some(Cancelled::Running),
            b'f' => Some(Cancelled::Finished),
            _ => None,
        })
    }

    fn look_up(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        watcher: Option<&str>,
    ) -> Result<Vec<Option<TaskRecord>>, EngineError> {
        let records: Vec<HashMap<String, Vec<u8>>> =
            self.run_again(&scripts::LOOK_UP, queue, |script| {
                script.arg(watcher.unwrap_or_default());
                add_ids(script, ids);
            })?;
        if records.len() != ids.len() {
            return Err(unexpected("records"));
        }
        Ok(ids
            .iter()
            .zip(&records)
            .map(|(id, fields)| answers::record(id, fields))
            .collect())
    }

    fn beat(&self, queue: &QueueName, beat: Beat<'_>) -> Result<Vec<Renewed>, EngineError> {
        self.note(queue)?;
        let answers = self.run(&scripts::BEAT, queue, |script| {
            script.arg(&beat.worker.id).arg(worker_wire(beat.worker));
            for lease in beat.leases {
                script
                    .arg(lease.id.as_str())
                    .arg(lease.fence)
                    .arg(&lease.entry);
            }
        })?;
        Self::letters(answers, beat.leases.len(), |letter, _| match letter {
            b'h' => Some(Renewed::Held),
            b'l' => Some(Renewed::Lost),
            _ => None,
        })
    }

    fn save_checkpoint(
        &self,
        queue: &QueueName,
        lease: &Lease,
        bytes: &[u8],
    ) -> Result<Renewed, EngineError> {
        let answer: Vec<Vec<u8>> = self.run(&scripts::CHECKPOINT, queue, |script| {
            script.arg(lease.id.as_str()).arg(lease.fence).arg(bytes);
        })?;
        match answer.first().map(Vec::as_slice) {
            Some(b"h") => Ok(Renewed::Held),
            Some(b"l") => Ok(Renewed::Lost),
            _ => Err(unexpected("checkpoint")),
        }
    }

    fn last_checkpoint(
        &self,
        queue: &QueueName,
        id: &TaskId,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        self.run_again(&scripts::LAST_CHECKPOINT, queue, |script| {
            script.arg(id.as_str());
        })
    }

    fn leave(&self, queue: &QueueName, worker: &str) -> Result<(), EngineError> {
        let step = || {
            self.run(&scripts::LEAVE, queue, |script| {
                script.arg(worker);
            })
        };
        while step()? {}
        Ok(())
    }

    fn tick(
        &self,
        queue: &QueueName,
        lease: Duration,
        silence: Duration,
    ) -> Result<Tick, EngineError> {
        let answer: Vec<Vec<u8>> = self.run(&scripts::TICK, queue, |script| {
            script
                .arg(lease.as_millis() as u64)
                .arg(silence.as_millis() as u64);
        })?;
        let [now, next, due @ ..] = answer.as_slice() else {
            return Err(unexpected("tick"));
        };
        let now = number(now).ok_or_else(|| unexpected("time"))?;
        let next_due = number(next).map(|at| Duration::from_millis(at.saturating_sub(now)));
        let due = due.chunks_exact(3).filter_map(|part| {
            Some(Due {
                name: text(&part[0]),
                rule: text(&part[1]),
                at: number(&part[2])?,
            })
        });
        Ok(Tick {
            now,
            next_due,
            due: due.collect(),
        })
    }

    fn tasks(&self, queue: &QueueName, worker: &str) -> Result<Box<dyn TaskFeed>, EngineError> {
        Ok(Box::new(Tasks::new(
            Arc::clone(&self.0),
            prefix(queue),
            worker,
        )))
    }

    fn replies(&self, queue: &QueueName, client: &str) -> Result<Box<dyn ReplyFeed>, EngineError> {
        let key = format!("{}re:{client}", prefix(queue));
        Ok(Box::new(Replies {
            line: PushLine::new(Arc::clone(&self.0)),
            key,
            last: "0".into(),
            kept: false,
        }))
    }

    fn control(&self, queue: &QueueName) -> Result<Box<dyn ControlFeed>, EngineError> {
        let key = format!("{}ctl", prefix(queue));
        let newest: redis::streams::StreamRangeReply = self.ask(|c| {
            redis::cmd("XREVRANGE")
                .arg(&key)
                .arg("+")
                .arg("-")
                .arg("COUNT")
                .arg(1)
                .query(c)
        })?;
        let last = newest
            .ids
            .into_iter()
            .next()
            .map_or_else(|| "0".into(), |entry| entry.id);
        Ok(Box::new(Messages {
            line: Line::new(Arc::clone(&self.0)),
            key,
            last,
        }))
    }

    fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: &ScheduleRecord,
    ) -> Result<(), EngineError> {
        self.note(queue)?;
        let time = |time: Option<u64>| time.map_or_else(String::new, |time| time.to_string());
        let task = &schedule.task;
        self.run(&scripts::SCHEDULE, queue, |script| {
            script
                .arg(&schedule.name)
                .arg(&schedule.rule)
                .arg(&*task.name)
                .arg(task.version);
            script.arg(&task.payload).arg(task.options.to_wire());
            script.arg(match schedule.overlap {
                Overlap::Skip => 0,
                Overlap::Allow => 1,
                Overlap::Queue => 2,
            });
            script.arg(time(
                schedule.after_finish.map(|delay| delay.as_millis() as u64),
            ));
            script.arg(time(schedule.next));
        })
    }

    fn remove_schedule(&self, queue: &QueueName, name: &str) -> Result<bool, EngineError> {
        self.run(&scripts::UNSCHEDULE, queue, |script| {
            script.arg(name);
        })
    }

    fn schedules(&self, queue: &QueueName) -> Result<Vec<ScheduleRecord>, EngineError> {
        let prefix = prefix(queue);
        let names: Vec<String> =
            self.ask(|c| redis::cmd("SMEMBERS").arg(format!("{prefix}cron")).query(c))?;
        let mut schedules = Vec::new();
        for name in names {
            let key = format!("{prefix}s:{name}");
            let fields: HashMap<String, Vec<u8>> =
                self.ask(|c| redis::cmd("HGETALL").arg(&key).query(c))?;
            schedules.extend(schedule_record(name, &fields));
        }
        Ok(schedules)
    }

    fn fire(&self, queue: &QueueName, fire: &Fire) -> Result<bool, EngineError> {
        self.run(&scripts::FIRE, queue, |script| {
            script.arg(&fire.name).arg(fire.at);
            script.arg(fire.next.map_or_else(String::new, |next| next.to_string()));
            add_ids(script, &fire.ids);
        })
    }

    fn now(&self) -> Result<u64, EngineError> {
        let (seconds, micros): (u64, u64) = self.ask(|c| redis::cmd("TIME").query(c))?;
        Ok(seconds * 1000 + micros / 1000)
    }

    fn queues(&self) -> Result<Vec<QueueName>, EngineError> {
        let names: Vec<String> = self.ask(|c| redis::cmd("SMEMBERS").arg(QUEUES).query(c))?;
        let mut queues: Vec<QueueName> =
            names.iter().filter_map(|name| name.parse().ok()).collect();
        queues.sort();
        Ok(queues)
    }

    fn stats(&self, queue: &QueueName) -> Result<QueueStats, EngineError> {
        let prefix = prefix(queue);
        type Answer = (HashMap<String, i64>, Vec<i64>, u64);
        let (counts, running, dead_letters): Answer = self.ask(|c| {
            let mut all = redis::pipe();
            all.atomic().cmd("HGETALL").arg(format!("{prefix}cnt"));
            all.cmd("HVALS").arg(format!("{prefix}run"));
            all.cmd("ZCARD").arg(format!("{prefix}dead")).query(c)
        })?;
        let running = u64::try_from(running.iter().sum::<i64>()).unwrap_or(0);
        let count = |field: &str| {
            counts
                .get(field)
                .map_or(0, |n| u64::try_from(*n).unwrap_or(0))
        };
        let ended = ["done", "failed", "cancelled", "dead"].map(count);
        let taken = count("submitted") + count("revived");
        let elsewhere = count("scheduled") + running + ended.iter().sum::<u64>();
        Ok(QueueStats {
            scheduled: count("scheduled"),
            // See `moved` in `common.lua`.
            ready: taken.saturating_sub(elsewhere),
            running,
            submitted: count("submitted"),
            refused: count("refused"),
            done: count("done"),
            failed: count("failed"),
            cancelled: count("cancelled"),
            dead: count("dead"),
            retried: count("retried"),
            redelivered: count("redelivered"),
            stale: count("stale"),
            dead_letters,
        })
    }

    fn backlog(&self, queue: &QueueName) -> Result<Vec<Backlog>, EngineError> {
        let levels: Vec<String> = self.run_again(&scripts::BACKLOG, queue, |_| {})?;
        let level = |pair: &[String]| Backlog {
            ready: pair[0].parse().unwrap_or(0),
            oldest: pair[1].parse().ok().map(Duration::from_millis),
        };
        Ok(levels.chunks_exact(2).map(level).collect())
    }

    fn workers(&self, queue: &QueueName) -> Result<Vec<WorkerRecord>, EngineError> {
        let prefix = prefix(queue);
        type Answer = (Vec<(String, f64)>, HashMap<String, String>, (u64, u64));
        let (beats, known, (seconds, micros)): Answer = self.ask(|c| {
            let mut all = redis::pipe();
            all.cmd("ZRANGE")
                .arg(format!("{prefix}wk"))
                .arg(0)
                .arg(-1)
                .arg("WITHSCORES");
            all.cmd("HGETALL")
                .arg(format!("{prefix}wki"))
                .cmd("TIME")
                .query(c)
        })?;
        let now = seconds * 1000 + micros / 1000;
        let record = |(id, beat): (String, f64)| {
            let silent_for = Duration::from_millis(now.saturating_sub(beat as u64));
            let wire = known.get(&id).map(String::as_str).unwrap_or_default();
            worker_from_wire(id, wire, silent_for)
        };
        Ok(beats.into_iter().map(record).collect())
    }

    fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueStatus, EngineError> {
        self.note(queue)?;
        let flag = |flag: Option<bool>| flag.map_or("", |on| if on { "1" } else { "0" });
        let answer: Vec<String> = self.run_again(&scripts::CONFIGURE, queue, |script| {
            script.arg(flag(patch.paused)).arg(flag(patch.closed));
            script.arg(match patch.capacity {
                None => String::new(),
                Some(None) => "-".into(),
                Some(Some(capacity)) => capacity.to_string(),
            });
        })?;
        let [paused, closed, capacity] = answer.as_slice() else {
            return Err(unexpected("settings"));
        };
        Ok(QueueStatus {
            paused: paused == "1",
            closed: closed == "1",
            capacity: capacity.parse().ok(),
        })
    }

    fn limit(&self, queue: &QueueName, name: &str, limit: TypeLimit) -> Result<(), EngineError> {
        self.run_again(&scripts::LIMIT, queue, |script| {
            script.arg(name).arg(
                limit
                    .concurrency
                    .map_or_else(String::new, |most| most.to_string()),
            );
            script.arg(
                limit
                    .interval
                    .map_or_else(String::new, |time| time.as_micros().to_string()),
            );
            script.arg(limit.burst.max(1));
        })
    }

    fn list(
        &self,
        queue: &QueueName,
        states: &[TaskState],
        after: Option<&str>,
        count: usize,
    ) -> Result<TaskPage, EngineError> {
        let place: u64 = after.map_or(Ok(0), str::parse).map_err(|_| {
            EngineError::Protocol(format!("{after:?} is not where a page of Redis begins"))
        })?;
        let letters: String = states.iter().map(|state| state.code()).collect();
        let found: Vec<String> = self.run_again(&scripts::LIST, queue, |script| {
            script.arg(place).arg(count.clamp(1, MAX_PAGE)).arg(letters);
        })?;
        let (next, ids) = found.split_first().ok_or_else(|| unexpected("page"))?;
        Ok(TaskPage {
            // What a foreign hand has written under another name is no task.
            ids: ids.iter().filter_map(|id| id.parse().ok()).collect(),
            next: (next != "0").then(|| next.clone()),
        })
    }

    fn dead_letters(
        &self,
        queue: &QueueName,
        skip: usize,
        count: usize,
    ) -> Result<Vec<TaskRecord>, EngineError> {
        let key = format!("{}dead", prefix(queue));
        let last = (skip + count).saturating_sub(1);
        if count == 0 {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = self.ask(|c| {
            redis::cmd("ZREVRANGE")
                .arg(&key)
                .arg(skip)
                .arg(last)
                .query(c)
        })?;
        let ids: Vec<TaskId> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        Ok(self
            .look_up(queue, &ids, None)?
            .into_iter()
            .flatten()
            .collect())
    }

    fn settle_dead(
        &self,
        queue: &QueueName,
        ids: &[TaskId],
        action: DeadAction,
    ) -> Result<usize, EngineError> {
        self.run(&scripts::SETTLE_DEAD, queue, |script| {
            script.arg(if action == DeadAction::Drop { "d" } else { "r" });
            add_ids(script, ids);
        })
    }
}

fn schedule_record(name: String, fields: &HashMap<String, Vec<u8>>) -> Option<ScheduleRecord> {
    let task = NewTask {
        id: format!("cron:{name}:0").parse().ok()?,
        name: text(fields.get("n")?).into(),
        version: u16::try_from(number(fields.get("v")?)?).ok()?,
        payload: fields.get("p")?.clone(),
        options: TaskOptions::from_wire(&text(fields.get("o")?)),
        delay: Duration::ZERO,
        reply_to: None,
    };
    Some(ScheduleRecord {
        rule: text(fields.get("rule")?),
        task,
        overlap: match fields.get("ov").map(Vec::as_slice) {
            Some(b"1") => Overlap::Allow,
            Some(b"2") => Overlap::Queue,
            _ => Overlap::Skip,
        },
        after_finish: fields
            .get("af")
            .and_then(|delay| number(delay))
            .map(Duration::from_millis),
        next: fields.get("next").and_then(|next| number(next)),
        name,
    })
}
