//! The settings of a Postgres engine.

use super::super::EngineError;
use super::address::Address;
use super::engine::PostgresEngine;
use super::pool::Pool;
use super::schema::check_schema_name;
use std::fmt;
use std::time::Duration;
use tokio_postgres::Config;

/// After so long without traffic a connection is probed, so often, and given up after so many probes without an answer; unless the address
/// says otherwise.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// Settings of a [`PostgresEngine`].
///
/// Passwords in the address are not shown by `Debug` and are in no error message.
///
/// ```no_run
/// use std::time::Duration;
/// use windlass_remote::engine::PostgresEngine;
///
/// let engine = PostgresEngine::builder("postgres://app@127.0.0.1/app")
///     .schema("app_tasks")
///     .call_timeout(Duration::from_secs(2))
///     .build()?;
/// engine.migrate()?;
/// # Ok::<(), windlass_remote::engine::EngineError>(())
/// ```
#[must_use]
pub struct PostgresEngineBuilder {
    address: String,
    schema: String,
    connect_timeout: Duration,
    call_timeout: Duration,
    poll: Option<Duration>,
    #[cfg(feature = "postgres-tls")]
    root_certificate: Option<Vec<u8>>,
}

impl fmt::Debug for PostgresEngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresEngineBuilder")
            .field("schema", &self.schema)
            .field("call_timeout", &self.call_timeout)
            .finish_non_exhaustive()
    }
}

impl PostgresEngineBuilder {
    pub(super) fn new(address: &str) -> Self {
        Self {
            address: address.into(),
            schema: "windlass".into(),
            connect_timeout: Duration::from_secs(2),
            call_timeout: Duration::from_secs(5),
            poll: None,
            #[cfg(feature = "postgres-tls")]
            root_certificate: None,
        }
    }

    /// Sets the schema that the tables are in; `windlass` if not set. Engines with different schemas have different queues.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
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

    /// Looks for tasks and outcomes in this interval instead of being told of them.
    ///
    /// `LISTEN` needs a connection that stays, which a pooler between may not have, and each notice is a short lock of the whole
    /// database. Without notices a running task hears of its cancellation when its lease is renewed, and a worker hears of
    /// a new delay or schedule at its next sign of life. All engines on a schema should have the same setting: one
    /// that listens finds what another one does not tell after half a second.
    pub const fn poll_only(mut self, interval: Duration) -> Self {
        self.poll = Some(interval);
        self
    }

    /// Sets the certificate (PEM) that the server's must be signed with, instead of those of the system.
    #[cfg(feature = "postgres-tls")]
    pub fn root_certificate(mut self, pem: &[u8]) -> Self {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Creates the engine without connecting: the server need not be there yet.
    ///
    /// # Errors
    ///
    /// If the address or the schema's name is not one.
    pub fn build(self) -> Result<PostgresEngine, EngineError> {
        check_schema_name(&self.schema)?;
        // What is wrong with an address may quote it, and so the password.
        let wrong = |_| EngineError::Protocol("the address is not one of a Postgres server".into());
        let mut config: Config = self.address.parse().map_err(wrong)?;
        if config.get_application_name().is_none() {
            config.application_name("windlass");
        }
        config.connect_timeout(self.connect_timeout);
        // A connection that was cut in silence is noticed soon, also one on which nothing is sent: notices are waited for on it.
        if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
            config.keepalives_idle(KEEPALIVE_IDLE);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_interval(KEEPALIVE_INTERVAL);
        }
        if config.get_keepalives_retries().is_none() {
            config.keepalives_retries(KEEPALIVE_RETRIES);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(self.call_timeout);
        }
        let address = Address {
            #[cfg(feature = "postgres-tls")]
            tls: super::tls::connector(self.root_certificate.as_deref())?,
            config,
            connect_timeout: self.connect_timeout,
            call_timeout: self.call_timeout,
        };
        let schema = format!("\"{}\"", self.schema);
        let pool = Pool::new(address, schema, self.poll)?;
        Ok(PostgresEngine::new(pool))
    }

    /// Creates the engine and checks that the server is there and fit for tasks, and has the schema.
    ///
    /// # Errors
    ///
    /// If it cannot be reached, lets us not in, is older than PostgreSQL 13, or has no schema of this release.
    pub fn connect(self) -> Result<PostgresEngine, EngineError> {
        let engine = self.build()?;
        engine.check()?;
        Ok(engine)
    }
}
