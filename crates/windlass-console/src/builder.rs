//! How a console is set up.

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use windlass::monitor::{Monitor, Registry};

use crate::console::{Console, Start};
use crate::guard::{Access, Guard, Hosts, Peers};
use crate::remote::RemoteSource;
use crate::server::Stopping;
use crate::shared::Shared;
use crate::start_error::StartError;
use crate::token::Token;
#[cfg(feature = "webhook")]
use crate::webhook::Webhook;

/// Where the console listens unless it is told otherwise.
const ADDRESS: &str = "127.0.0.1:7171";

/// How many requests a peer may make in a second unless it is told otherwise.
const REQUESTS_PER_SECOND: u32 = 20;

/// Sets up a [`Console`].
///
/// ```
/// use windlass_console::Console;
///
/// let console = Console::builder()
///     .bind("127.0.0.1:0")
///     .read_only(true)
///     .announce(false)
///     .start()
///     .unwrap();
/// assert!(console.url().starts_with("http://127.0.0.1:"));
/// ```
#[must_use = "a console does not run until it is started"]
pub struct Builder {
    address: String,
    token: TokenSource,
    hosts: Vec<String>,
    reads: Option<Access>,
    metrics: Option<Access>,
    requests_per_second: u32,
    announce: bool,
    monitor: Option<Monitor>,
    #[cfg(feature = "webhook")]
    webhook: Option<String>,
    options: Options,
}

/// What the routes need to know.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) read_only: bool,
    pub(crate) show_errors: bool,
    pub(crate) allow_shutdown: bool,
    pub(crate) remote: Option<Arc<dyn RemoteSource>>,
}

enum TokenSource {
    Random,
    Text(String),
    Variable(String),
    File(PathBuf),
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            address: ADDRESS.to_owned(),
            token: TokenSource::Random,
            hosts: Vec::new(),
            reads: None,
            metrics: None,
            requests_per_second: REQUESTS_PER_SECOND,
            announce: true,
            monitor: None,
            #[cfg(feature = "webhook")]
            webhook: None,
            options: Options::default(),
        }
    }

    /// Sets the monitor whose pools are shown. Without one, the console starts a monitor of its own for
    /// the [global registry](windlass::monitor::Registry::global), and stops it when it stops.
    ///
    /// Consoles that show the same pools should share a monitor: the history of the pools, the versions of
    /// their settings and the audit are the monitor's.
    pub fn monitor(mut self, monitor: &Monitor) -> Self {
        self.monitor = Some(monitor.clone());
        self
    }

    /// Sets the address to listen on, `127.0.0.1:7171` by default. Port 0 is any free port, see
    /// [`Console::local_addr`].
    ///
    /// An address that is not loopback needs a token that was [chosen](Self::token), and should have a
    /// proxy with TLS in front of it: the console itself speaks plain HTTP, and the token goes over it.
    pub fn bind(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    /// Sets the token that writes need. Without one, the console makes a random one of 256 bits.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = TokenSource::Text(token.into());
        self
    }

    /// Takes the token from an environment variable when the console starts.
    pub fn token_from_env(mut self, variable: impl Into<String>) -> Self {
        self.token = TokenSource::Variable(variable.into());
        self
    }

    /// Takes the token from a file when the console starts.
    pub fn token_from_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.token = TokenSource::File(path.into());
        self
    }

    /// Adds a name, with or without a port, by which the console may be called: that of a proxy in front,
    /// for instance. Requests whose `Host` is neither such a name nor a loopback name nor the bound
    /// address, with the port of the console, are refused.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Sets who may read: by default everybody if the address is loopback, else who has the token.
    /// The files of the page, which say nothing about the pools, can always be read.
    pub const fn reads(mut self, access: Access) -> Self {
        self.reads = Some(access);
        self
    }

    /// Sets who may read `/metrics`: by default as of [`reads`](Self::reads).
    pub const fn metrics(mut self, access: Access) -> Self {
        self.metrics = Some(access);
        self
    }

    /// Sets whether nothing can be changed through the console, with whatever token.
    pub const fn read_only(mut self, read_only: bool) -> Self {
        self.options.read_only = read_only;
        self
    }

    /// Sets whether messages of failed tasks are shown. They are not by default: they may tell what the
    /// tasks work on.
    pub const fn show_errors(mut self, show: bool) -> Self {
        self.options.show_errors = show;
        self
    }

    /// Sets whether a pool can be shut down through the console. It cannot by default.
    pub const fn allow_shutdown(mut self, allow: bool) -> Self {
        self.options.allow_shutdown = allow;
        self
    }

    /// Sets whether the address, and the token if it is random, are written to the standard error stream
    /// once the console has started. They are by default. That others could read along, on an address that is
    /// not loopback, is written in any case.
    pub const fn announce(mut self, announce: bool) -> Self {
        self.announce = announce;
        self
    }

    /// Sets how many requests a peer may make in a second, 20 by default, in bursts of five seconds'
    /// worth. Behind a proxy, everybody is one peer. Zero is taken as one.
    pub fn requests_per_second(mut self, requests: u32) -> Self {
        self.requests_per_second = requests.max(1);
        self
    }

    /// Attaches a distributed engine, to be shown under `/api/v1/remote` and on the page.
    pub fn remote(mut self, source: impl RemoteSource) -> Self {
        self.options.remote = Some(Arc::new(source));
        self
    }

    /// Sets an address that every alert is posted to as JSON, when it starts and when it clears:
    /// `http` on a loopback address, or, with the feature `webhook-https`, `https` anywhere. It has two
    /// seconds to answer, and is asked once more if it does not.
    #[cfg(feature = "webhook")]
    #[cfg_attr(docsrs, doc(cfg(feature = "webhook")))]
    pub fn webhook(mut self, address: impl Into<String>) -> Self {
        self.webhook = Some(address.into());
        self
    }

    /// Starts the console on a thread of its own.
    ///
    /// # Errors
    ///
    /// [`StartError`] if the address cannot be bound or needs a token, or something else is missing.
    pub fn start(self) -> Result<Console, StartError> {
        let token = self.token.token()?;
        #[cfg(feature = "webhook")]
        let webhook = self.webhook.as_deref().map(Webhook::new).transpose()?;
        let listener = self.listener()?;
        let bound = listener
            .local_addr()
            .map_err(|source| self.bind_error(source))?;
        let (token, is_random) = match token {
            Some(token) => (token, false),
            None => (
                Token::random().map_err(|error| StartError::Random(error.into()))?,
                true,
            ),
        };
        let reads = self.reads.unwrap_or_else(|| default_access(bound));
        let guard = Guard {
            hosts: Hosts::new(bound, &self.hosts),
            peers: Peers::new(self.requests_per_second),
            token,
            reads,
            metrics: self.metrics.unwrap_or(reads),
            read_only: self.options.read_only,
        };
        let monitor = match self.monitor {
            Some(monitor) => monitor,
            None => Monitor::start(Registry::global()).map_err(StartError::Thread)?,
        };
        let (stop, stopping) = Stopping::channel();
        let shared = Shared::new(monitor, Arc::new(guard), self.options, stopping);
        let start = Start {
            listener,
            shared: Arc::new(shared),
            stop,
            #[cfg(feature = "webhook")]
            webhook,
        };
        let console = start.console(bound)?;
        if self.announce {
            announce(bound, is_random.then(|| console.token()));
        }
        if !is_loopback(bound) {
            // Said in any case: the token of each change is on the wire.
            eprintln!("windlass console: plain HTTP on {bound}: put a proxy with TLS in front");
        }
        Ok(console)
    }

    /// Binds the address. What others could reach is refused before it is bound, not after.
    fn listener(&self) -> Result<TcpListener, StartError> {
        let addresses: Vec<SocketAddr> = self
            .address
            .to_socket_addrs()
            .map_err(|source| self.bind_error(source))?
            .collect();
        let open = addresses.iter().find(|address| !is_loopback(**address));
        if let (TokenSource::Random, Some(&address)) = (&self.token, open) {
            return Err(StartError::TokenRequired { address });
        }
        let listener = TcpListener::bind(&*addresses).map_err(|source| self.bind_error(source))?;
        listener
            .set_nonblocking(true)
            .map_err(|source| self.bind_error(source))?;
        Ok(listener)
    }

    fn bind_error(&self, source: io::Error) -> StartError {
        StartError::Bind {
            address: self.address.clone(),
            source,
        }
    }
}

impl TokenSource {
    /// Returns the token that the user chose, if one was chosen.
    fn token(&self) -> Result<Option<Token>, StartError> {
        let text = match self {
            Self::Random => return Ok(None),
            Self::Text(text) => text.clone(),
            Self::Variable(name) => {
                env::var(name).map_err(|_| StartError::TokenVariable { name: name.clone() })?
            }
            Self::File(path) => {
                fs::read_to_string(path).map_err(|source| StartError::TokenFile {
                    path: path.clone(),
                    source,
                })?
            }
        };
        Ok(Some(Token::chosen(&text)?))
    }
}

fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn default_access(bound: SocketAddr) -> Access {
    if is_loopback(bound) {
        Access::Open
    } else {
        Access::Token
    }
}

/// Writes where the console is, and a random token, which nobody knows otherwise.
fn announce(bound: SocketAddr, random: Option<&str>) {
    eprintln!("windlass console: http://{bound}/");
    if let Some(token) = random {
        eprintln!("windlass console: token for changes: {token}");
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("address", &self.address)
            .field("token", &self.token)
            .field("hosts", &self.hosts)
            .field("reads", &self.reads)
            .field("metrics", &self.metrics)
            .field("read_only", &self.options.read_only)
            .field("show_errors", &self.options.show_errors)
            .field("allow_shutdown", &self.options.allow_shutdown)
            .field("remote", &self.options.remote.is_some())
            .finish_non_exhaustive()
    }
}

/// The text of a token is not shown, where it comes from is.
impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("Random"),
            Self::Text(_) => f.write_str("Text(..)"),
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}
