//! Where the server is, and how a connection to it begins.

use super::super::EngineError;
use super::errors::classify;
use super::signals::Signals;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
#[cfg(not(feature = "postgres-tls"))]
use tokio_postgres::NoTls;
use tokio_postgres::{AsyncMessage, Client, Config, Connection};

/// What every connection of an engine is made of.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    /// How long a connection may take until its session is ready.
    pub(super) connect_timeout: Duration,
    pub(super) call_timeout: Duration,
    #[cfg(feature = "postgres-tls")]
    pub(super) tls: tokio_postgres_rustls::MakeRustlsConnect,
}

/// A connection, and the task that drives it; that ends with the connection.
pub(super) type Open = (Client, JoinHandle<()>);

impl Address {
    /// Connects and prepares the session. Called on the engine's runtime.
    ///
    /// The limit is for all of it: that of the client library is for the connection alone, and a server that takes one and says nothing
    /// would be waited for without end.
    pub(super) async fn open(self, signals: Option<Arc<Signals>>) -> Result<Open, EngineError> {
        let limit = self.connect_timeout;
        let opened = tokio::time::timeout(limit, self.establish(signals)).await;
        opened.unwrap_or_else(|_| Err(EngineError::Unavailable("no connection in time".into())))
    }

    async fn establish(self, signals: Option<Arc<Signals>>) -> Result<Open, EngineError> {
        #[cfg(feature = "postgres-tls")]
        let connected = self.config.connect(self.tls.clone()).await;
        #[cfg(not(feature = "postgres-tls"))]
        let connected = self.config.connect(NoTls).await;
        let (client, connection) = connected.map_err(|error| classify(&error))?;
        let driven = tokio::spawn(drive(connection, signals));
        // The server gives up when we do. A role or a server whose commits may be lost is overruled.
        let setup = format!(
            "SET statement_timeout = {}; SET default_transaction_isolation = 'read committed';
             SELECT set_config('synchronous_commit', 'on', false)
             WHERE current_setting('synchronous_commit') = 'off'",
            self.call_timeout.as_millis().clamp(1, 86_400_000)
        );
        client
            .batch_execute(&setup)
            .await
            .map_err(|error| classify(&error))?;
        Ok((client, driven))
    }

    /// Returns where the server is, without secrets.
    pub(super) fn place(&self) -> String {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            tokio_postgres::config::Host::Tcp(host) => host.clone(),
            #[cfg(unix)]
            tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
        });
        let ports: Vec<String> = self
            .config
            .get_ports()
            .iter()
            .map(ToString::to_string)
            .collect();
        format!(
            "{}:{}",
            hosts.collect::<Vec<_>>().join(","),
            ports.join(",")
        )
    }
}

/// Moves bytes until the connection ends, and passes notices on.
async fn drive<S, T>(mut connection: Connection<S, T>, signals: Option<Arc<Signals>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if let (AsyncMessage::Notification(notice), Some(signals)) = (message, &signals) {
            signals.deliver(notice.payload());
        }
    }
}
