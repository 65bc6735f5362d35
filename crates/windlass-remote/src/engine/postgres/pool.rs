//! The connections of one engine, and the runtime that drives them.

use super::super::EngineError;
use super::address::Address;
use super::blocking::wait_for;
use super::errors::too_late;
use super::session::{Parameter, Session};
use super::signals::Signals;
use super::wire::Wire;
use crate::id::QueueName;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_postgres::Row;

/// So many connections wait for the next call; more are closed after theirs.
const MAX_IDLE: usize = 16;

pub(super) struct Pool {
    pub(super) address: Address,
    /// Quoted, so that it stands in statements as it is.
    pub(super) schema: String,
    /// How often to look without a notice; `None` if notices are used.
    pub(super) poll: Option<Duration>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    idle: Mutex<Vec<Session>>,
    pub(super) signals: Arc<Signals>,
    wire: OnceLock<Wire>,
    /// Queues that are known to be there.
    known: Mutex<HashSet<QueueName>>,
}

impl Pool {
    pub(super) fn new(
        address: Address,
        schema: String,
        poll: Option<Duration>,
    ) -> Result<Self, EngineError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("windlass-postgres")
            .enable_all()
            .build()
            .map_err(|error| EngineError::Unavailable(format!("no thread: {error}")))?;
        Ok(Self {
            address,
            schema,
            poll,
            runtime: Some(runtime),
            idle: Mutex::default(),
            signals: Arc::default(),
            wire: OnceLock::new(),
            known: Mutex::default(),
        })
    }

    /// Returns the channel of notices: the name of the schema.
    pub(super) fn channel(&self) -> &str {
        self.schema.trim_matches('"')
    }

    /// Has notices listened to and sent, from the first call on.
    pub(super) fn wire(&self) -> Option<&Wire> {
        let runtime = self.runtime.as_ref().filter(|_| self.poll.is_none())?;
        Some(self.wire.get_or_init(|| {
            let (address, signals) = (self.address.clone(), Arc::clone(&self.signals));
            Wire::start(runtime, address, signals, self.channel())
        }))
    }

    pub(super) fn tell(&self, topics: Option<Vec<String>>) {
        if let (Some(topics), Some(wire)) = (topics, self.wire()) {
            wire.tell(topics);
        }
    }

    /// Makes a connection.
    pub(super) fn connect(&self) -> Result<Session, EngineError> {
        // The attempt ends by itself; this limit is for a runtime that has no time for it.
        let until = Instant::now() + 2 * self.address.connect_timeout;
        let runtime = self.runtime.as_ref().ok_or_else(too_late)?;
        let opening = runtime.spawn(self.address.clone().open(None));
        match wait_for(opening, until) {
            Some(Ok(opened)) => Ok(Session::new(opened?.0)),
            Some(Err(_)) => Err(EngineError::Unavailable("the engine ended".into())),
            None => Err(EngineError::Unavailable("no connection in time".into())),
        }
    }

    /// Lends a connection out for one call. It is kept only if the call succeeded: after an error an answer may still
    /// come on it.
    pub(super) fn with<R>(
        &self,
        act: impl FnOnce(&mut Session) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        let mut session = match self.idle_session() {
            Some(session) => session,
            None => self.connect()?,
        };
        let answer = act(&mut session)?;
        self.give_back(session);
        Ok(answer)
    }

    fn give_back(&self, session: Session) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(session);
        }
    }

    /// Has a queue made if there is none, once in the life of this engine. Runs on any runtime and blocks nobody.
    pub(super) async fn ensure_queue(&self, queue: &QueueName) -> Result<(), EngineError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(queue) {
            return Ok(());
        }
        // On the engine's runtime: that of the caller may have no timers.
        let runtime = self.runtime.as_ref().ok_or_else(too_late)?;
        let (address, idle) = (self.address.clone(), self.idle_session());
        let (schema, name) = (self.schema.clone(), queue.clone());
        let ensuring = runtime.spawn(async move {
            let limit = address.call_timeout;
            let mut session = match idle {
                Some(session) => session,
                None => Session::new(address.open(None).await?.0),
            };
            let parameters: [Parameter<'_>; 1] = [&name.as_str()];
            let call = session.call(&schema, "ensure_queue", &parameters);
            let called = tokio::time::timeout(limit, call).await;
            called.map_err(|_| too_late())??;
            Ok::<_, EngineError>(session)
        });
        self.give_back(ensuring.await.map_err(|_| too_late())??);
        known().insert(queue.clone());
        Ok(())
    }

    fn idle_session(&self) -> Option<Session> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(session) = idle.pop() {
            if !session.is_closed() {
                return Some(session);
            }
        }
        None
    }

    /// Calls a function on a connection that is not needed for anything else.
    pub(super) fn call_on(
        &self,
        session: &mut Session,
        function: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, EngineError> {
        let until = Instant::now() + self.address.call_timeout;
        wait_for(session.call(&self.schema, function, parameters), until).ok_or_else(too_late)?
    }

    pub(super) fn call(
        &self,
        function: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, EngineError> {
        self.with(|session| self.call_on(session, function, parameters))
    }

    /// Calls a function that returns one row.
    pub(super) fn call_one(
        &self,
        function: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, EngineError> {
        let rows = self.call(function, parameters)?;
        let row = rows.into_iter().next();
        row.ok_or_else(|| EngineError::Protocol(format!("{function} returned nothing")))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // A runtime must not be waited for on a thread of another one, and the last clone may be dropped there.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
