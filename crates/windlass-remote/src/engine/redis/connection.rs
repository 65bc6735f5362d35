//! Connections to a server: how they are made, kept and given up.

use super::super::EngineError;
use super::engine::RedisEngine;
use crate::id::QueueName;
use redis::io::tcp::TcpSettings;
use redis::{
    Client, Connection, ConnectionInfo, ErrorKind, IntoConnectionInfo, ProtocolVersion, PushInfo,
    RedisError, ServerErrorKind,
};
use std::collections::HashSet;
use std::fmt;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So many connections wait for the next call; more are closed after theirs.
const MAX_IDLE: usize = 16;

/// Settings of a [`RedisEngine`].
///
/// Passwords in the address are not shown by `Debug` and are in no error message.
///
/// ```no_run
/// use std::time::Duration;
/// use windlass_remote::engine::RedisEngine;
///
/// let engine = RedisEngine::builder("redis://127.0.0.1/").call_timeout(Duration::from_secs(2)).connect()?;
/// # Ok::<(), windlass_remote::engine::EngineError>(())
/// ```
#[must_use]
pub struct RedisEngineBuilder {
    address: String,
    connect_timeout: Duration,
    call_timeout: Duration,
    policy: EnginePolicy,
    replicas: Option<(u32, Duration)>,
    #[cfg(feature = "tls")]
    root_certificate: Option<Vec<u8>>,
}

/// What [`RedisEngineBuilder::connect`] makes of a server that works, but may lose tasks: one that evicts keys, or has no
/// append-only file. A server that is too old is refused in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnginePolicy {
    /// Writes a line for each warning to the standard error output.
    #[default]
    Warn,
    /// Refuses the server.
    Require,
    /// Says nothing; the program asks [`RedisEngine::check`] itself, or does not.
    Ignore,
}

impl fmt::Debug for RedisEngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisEngineBuilder")
            .field("call_timeout", &self.call_timeout)
            .finish_non_exhaustive()
    }
}

impl RedisEngineBuilder {
    pub(super) fn new(address: &str) -> Self {
        Self {
            address: address.into(),
            connect_timeout: Duration::from_secs(2),
            call_timeout: Duration::from_secs(5),
            policy: EnginePolicy::default(),
            replicas: None,
            #[cfg(feature = "tls")]
            root_certificate: None,
        }
    }

    /// Sets how long a connection may take to be made; 2 seconds if not set.
    pub const fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Sets how long a call may take until the server counts as unreachable; 5 seconds if not set.
    pub const fn call_timeout(mut self, limit: Duration) -> Self {
        self.call_timeout = limit;
        self
    }

    /// Sets what to make of a server that may lose tasks; [`EnginePolicy::Warn`] if not set.
    pub const fn policy(mut self, policy: EnginePolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes a submission wait until `count` replicas have it, no longer than `limit` and half of the call timeout: then it survives the loss of the server. A
    /// submission that fewer replicas have confirmed is tried again, and [rejected](crate::RejectedReason::Engine) when the time to
    /// submit is over; it may run all the same.
    pub const fn replicas(mut self, count: u32, limit: Duration) -> Self {
        self.replicas = Some((count, limit));
        self
    }

    /// Sets the certificate (PEM) that the server's must be signed with, instead of those of the system.
    #[cfg(feature = "tls")]
    pub fn root_certificate(mut self, pem: &[u8]) -> Self {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Creates the engine without connecting: the server need not be there yet.
    ///
    /// # Errors
    ///
    /// If the address is not one.
    pub fn build(self) -> Result<RedisEngine, EngineError> {
        let client = |protocol| {
            let client = self.info(protocol).and_then(|info| self.client(info));
            client.map_err(|error| classify(&error))
        };
        Ok(RedisEngine::new(Pool {
            client: client(ProtocolVersion::RESP2)?,
            push_client: client(ProtocolVersion::RESP3)?,
            connect_timeout: self.connect_timeout,
            call_timeout: self.call_timeout,
            replicas: self.replicas,
            idle: Mutex::default(),
            known: Mutex::default(),
        }))
    }

    /// Returns where and how to connect. A command is one packet, so nothing is gained by holding a packet back.
    fn info(&self, protocol: ProtocolVersion) -> redis::RedisResult<ConnectionInfo> {
        let info = self.address.as_str().into_connection_info()?;
        let settings = info.redis_settings().clone().set_protocol(protocol);
        let tcp = TcpSettings::default().set_nodelay(true);
        Ok(info.set_redis_settings(settings).set_tcp_settings(tcp))
    }

    #[cfg(feature = "tls")]
    fn client(&self, info: ConnectionInfo) -> redis::RedisResult<Client> {
        // rustls wants one provider for the process; if the program has chosen one, that is the one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        if let (true, Some(root)) = (self.address.starts_with("rediss"), &self.root_certificate) {
            let certificates = redis::TlsCertificates {
                client_tls: None,
                root_cert: Some(root.clone()),
            };
            return Client::build_with_tls(info, certificates);
        }
        Client::open(info)
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_self, reason = "with TLS there are certificates")]
    fn client(&self, info: ConnectionInfo) -> redis::RedisResult<Client> {
        Client::open(info)
    }

    /// Creates the engine and checks that the server is there and fit for tasks.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, lets us not in, is older than Redis 6.2, or is not what the [policy](Self::policy) requires.
    pub fn connect(self) -> Result<RedisEngine, EngineError> {
        let policy = self.policy;
        let engine = self.build()?;
        let report = engine.check()?;
        match policy {
            EnginePolicy::Require if !report.warnings.is_empty() => {
                return Err(EngineError::Protocol(report.warnings.join("; ")));
            }
            EnginePolicy::Warn => {
                for warning in &report.warnings {
                    eprintln!("windlass: {engine:?}: {warning}");
                }
            }
            EnginePolicy::Require | EnginePolicy::Ignore => {}
        }
        Ok(engine)
    }
}

/// What a server says about itself that matters for tasks; see [`RedisEngine::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisReport {
    /// The version of Redis that the server is compatible with.
    pub version: String,
    /// What should be set otherwise: an eviction policy that drops tasks, no append-only file, or one that nobody flushes.
    pub warnings: Vec<String>,
    /// How often the append-only file reaches the disk: `always`, `everysec` or `no`; `None` if the user may not read the setting.
    pub fsync: Option<String>,
}

/// Connections for calls that are short, and the queues that were seen.
pub(super) struct Pool {
    client: Client,
    /// Makes connections on which the server may send messages between answers.
    push_client: Client,
    connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    /// How many replicas must have a submission, and how long that may take.
    pub(super) replicas: Option<(u32, Duration)>,
    idle: Mutex<Vec<Connection>>,
    pub(super) known: Mutex<HashSet<QueueName>>,
}

impl Pool {
    /// Returns where the server is, without secrets.
    pub(super) fn place(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    /// Makes a connection whose reads end after `read_timeout`.
    pub(super) fn connect(&self, read_timeout: Duration) -> Result<Connection, EngineError> {
        self.connect_by(&self.client, read_timeout)
            .map_err(|error| classify(&error))
    }

    /// Makes a connection that gets the messages of a channel.
    pub(super) fn subscribe(
        &self,
        channel: &str,
        read_timeout: Duration,
    ) -> Result<(Connection, Receiver<PushInfo>), EngineError> {
        let connect = || {
            let mut connection = self.connect_by(&self.push_client, read_timeout)?;
            let (messages, receiver) = std::sync::mpsc::channel();
            connection.set_push_sender(messages);
            connection.subscribe_resp3(channel)?;
            Ok((connection, receiver))
        };
        connect().map_err(|error: RedisError| classify(&error))
    }

    fn connect_by(
        &self,
        client: &Client,
        read_timeout: Duration,
    ) -> redis::RedisResult<Connection> {
        let connection = client.get_connection_with_timeout(self.connect_timeout)?;
        connection.set_read_timeout(Some(read_timeout))?;
        connection.set_write_timeout(Some(self.call_timeout))?;
        Ok(connection)
    }

    /// Makes one call on a connection of its own.
    pub(super) fn call<R>(
        &self,
        call: impl FnOnce(&mut Connection) -> redis::RedisResult<R>,
    ) -> Result<R, EngineError> {
        let connection = match self.idle_connection() {
            Some(connection) => connection,
            None => self.connect(self.call_timeout)?,
        };
        self.call_on(connection, call)
            .map_err(|error| classify(&error))
    }

    /// Makes a call that may be made twice. A connection that has waited may be dead since the server was restarted, which only its next call
    /// notices; then the call is made on a fresh one.
    pub(super) fn call_again<R>(
        &self,
        mut call: impl FnMut(&mut Connection) -> redis::RedisResult<R>,
    ) -> Result<R, EngineError> {
        if let Some(connection) = self.idle_connection() {
            match self.call_on(connection, &mut call) {
                // One that did not answer in time is not asked for as long once more.
                Err(error) if error.is_io_error() && !error.is_timeout() => {}
                answer => return answer.map_err(|error| classify(&error)),
            }
        }
        self.call_on(self.connect(self.call_timeout)?, call)
            .map_err(|error| classify(&error))
    }

    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    fn call_on<R>(
        &self,
        mut connection: Connection,
        call: impl FnOnce(&mut Connection) -> redis::RedisResult<R>,
    ) -> redis::RedisResult<R> {
        let answer = call(&mut connection);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            // An answer may still come on this connection, and the others are probably dead too.
            Err(error) if is_broken(error) => idle.clear(),
            _ if idle.len() < MAX_IDLE => idle.push(connection),
            _ => {}
        }
        drop(idle);
        answer
    }
}

/// Returns whether a connection must not be used again.
fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.kind() == ErrorKind::Parse
}

/// Translates an error of the client. What the server says is part of the message; the address is not.
pub(super) fn classify(error: &RedisError) -> EngineError {
    let message = error.to_string();
    let says = |code: &str| error.code() == Some(code) || message.contains(code);
    if error.is_io_error() || error.is_timeout() || error.is_connection_dropped() {
        return EngineError::Unavailable(message);
    }
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoPerm) | ErrorKind::AuthenticationFailed => {
            EngineError::Denied(message)
        }
        _ if says("NOPERM") || says("NOAUTH") || says("WRONGPASS") => EngineError::Denied(message),
        _ if says("OOM") => EngineError::Full(message),
        ErrorKind::Server(ServerErrorKind::ReadOnly) => EngineError::ReadOnly(message),
        _ if says("READONLY") || says("MISCONF") || says("NOREPLICAS") => {
            EngineError::ReadOnly(message)
        }
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown,
        ) => EngineError::Unavailable(message),
        _ if says("BUSY") || says("UNBLOCKED") || says("LOADING") => {
            EngineError::Unavailable(message)
        }
        _ => EngineError::Protocol(message),
    }
}
