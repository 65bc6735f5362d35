//! The three ways on which callers of the engine wait.
//!
//! A feed looks when there was a notice since it last looked, and once at the end of each wait, in case one got lost. Tasks and
//! replies have a connection of their own: if it breaks, the caller hears of it, also when the server is back by then.

use super::super::{
    Control, ControlFeed, EngineError, FetchRequest, Fetched, Reply, ReplyFeed, TaskFeed,
};
use super::pool::Pool;
use super::records::{self, read};
use super::session::{Parameter, Session};
use super::signals::Subscription;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_postgres::Row;

/// A connection that is made when it is needed and given up after an error, and the notices that say when to use it.
pub(super) struct Line {
    pool: Arc<Pool>,
    session: Option<Session>,
    notices: Arc<Subscription>,
    /// How many notices there were before the last look; `None` if there may be something without a notice.
    seen: Option<u64>,
}

impl Line {
    /// Subscribes to a topic: its kind and the name of a queue or client.
    pub(super) fn new(pool: &Arc<Pool>, kind: char, name: &str) -> Self {
        let notices = pool.signals.subscribe(kind, name);
        // Has notices listened to.
        pool.wire();
        Self {
            pool: Arc::clone(pool),
            session: None,
            notices,
            seen: None,
        }
    }

    fn look(
        &mut self,
        function: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, EngineError> {
        let session = match &mut self.session {
            Some(session) => session,
            None => self.session.insert(self.pool.connect()?),
        };
        self.pool
            .call_on(session, function, parameters)
            .inspect_err(|_| {
                self.session = None;
                self.seen = None;
            })
    }

    /// Looks at once if there may be something, and else after a notice or at `until`; returns rows, or none at `until`.
    fn next(
        &mut self,
        until: Instant,
        function: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, EngineError> {
        loop {
            let over = match self.seen {
                None => false,
                Some(seen) => {
                    let step = self.pool.poll.map(|poll| Instant::now() + poll);
                    let step = step.map_or(until, |step| step.min(until));
                    !self.notices.wait(seen, step) && Instant::now() >= until
                }
            };
            // Counted before the look: a notice during it means another one.
            let seen = self.notices.version();
            let rows = self.look(function, parameters)?;
            self.seen = Some(seen);
            // Notices of what others take first must not keep the caller beyond its time.
            if over || !rows.is_empty() || Instant::now() >= until {
                return Ok(rows);
            }
        }
    }
}

pub(super) struct Tasks {
    pub(super) line: Line,
    queue: String,
    worker: String,
    /// The place of the last task that was started, for each level.
    places: [i64; 3],
    /// When to look at the whole queue again.
    next_full: Instant,
}

/// How often a feed looks at the whole queue, and so how long a task may wait that became ready behind the place where it looks.
const FULL_LOOK: Duration = Duration::from_secs(1);

/// So many places before the last one are looked at: submissions at the same time are not committed in the order of their places.
const MARGIN: i64 = 1_000;

impl Tasks {
    pub(super) fn new(line: Line, queue: &str, worker: &str) -> Self {
        Self {
            line,
            queue: queue.into(),
            worker: worker.into(),
            places: [0; 3],
            next_full: Instant::now(),
        }
    }

    /// Returns where to look from, for each of the levels.
    fn from(&mut self, levels: &[i16]) -> Vec<i64> {
        let now = Instant::now();
        if now >= self.next_full {
            self.next_full = now + FULL_LOOK;
            return vec![0; levels.len()];
        }
        let place = |level: &i16| self.places.get(*level as usize);
        levels
            .iter()
            .map(|level| place(level).map_or(0, |place| (place - MARGIN).max(0)))
            .collect()
    }
}

impl TaskFeed for Tasks {
    fn fetch(&mut self, request: &FetchRequest) -> Result<Fetched, EngineError> {
        let until = Instant::now() + request.wait;
        loop {
            let (fetched, more) = self.take(request, until)?;
            let found = fetched.paused || !fetched.deliveries.is_empty();
            if found || !more || Instant::now() >= until {
                return Ok(fetched);
            }
        }
    }
}

impl Tasks {
    /// Starts tasks, or waits for some. Returns also whether there may be more behind tasks that could not start.
    fn take(
        &mut self,
        request: &FetchRequest,
        until: Instant,
    ) -> Result<(Fetched, bool), EngineError> {
        let count = i32::try_from(request.count).unwrap_or(i32::MAX);
        let order = request.first.first_of_all();
        let levels: Vec<i16> = order.iter().map(|p| p.level() as i16).collect();
        let from = self.from(&levels);
        let rows = self.line.next(
            until,
            "take",
            &[&self.queue, &self.worker, &count, &levels, &from],
        )?;
        let Some(first) = rows.first() else {
            return Ok((Fetched::default(), false));
        };
        // There may be more, or the queue may go on, without a notice.
        self.line.seen = None;
        if read(first, "paused")? {
            let paused = Fetched {
                deliveries: Vec::new(),
                paused: true,
            };
            return Ok((paused, false));
        }
        let (mut started, mut more) = (Vec::with_capacity(rows.len()), false);
        for row in &rows {
            if read::<&str>(row, "o_id")?.is_empty() {
                more = true;
                continue;
            }
            let level: i16 = read(row, "o_level")?;
            let place = levels.iter().position(|other| *other == level);
            let at: i64 = read(row, "o_pos")?;
            if let Some(last) = self.places.get_mut(level as usize) {
                *last = (*last).max(at);
            }
            started.push(((place, at), records::delivery(row)?));
        }
        started.sort_by_key(|(place, _)| *place);
        let fetched = Fetched {
            deliveries: started.into_iter().map(|(_, delivery)| delivery).collect(),
            paused: false,
        };
        Ok((fetched, more))
    }
}

pub(super) struct Replies {
    pub(super) line: Line,
    pub(super) client: String,
}

impl ReplyFeed for Replies {
    fn next(&mut self, wait: Duration) -> Result<Vec<Reply>, EngineError> {
        let until = Instant::now() + wait;
        let rows = self.line.next(until, "replies", &[&self.client])?;
        let mut replies = Vec::new();
        for row in &rows {
            replies.extend(records::replies(row)?);
        }
        Ok(replies)
    }
}

/// Messages are notices and nothing else. A lost cancellation is noticed at the next renewal, a lost change at the next tick.
pub(super) struct Messages(pub(super) Line);

impl ControlFeed for Messages {
    fn next(&mut self, wait: Duration) -> Result<Vec<Control>, EngineError> {
        let messages = self.0.notices.messages(Instant::now() + wait);
        let message = |message: String| match message.strip_prefix('c').map(str::parse) {
            Some(Ok(id)) => Some(Control::Cancel(id)),
            Some(Err(_)) => None,
            None => Some(Control::Changed),
        };
        Ok(messages.into_iter().filter_map(message).collect())
    }
}
