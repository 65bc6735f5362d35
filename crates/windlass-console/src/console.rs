//! A running console.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::watch;

use crate::builder::Builder;
use crate::events::Feed;
use crate::remote_watch::RemoteWatch;
use crate::shared::Shared;
use crate::start_error::StartError;
#[cfg(feature = "webhook")]
use crate::webhook::Webhook;
use crate::{routes, server};

/// The name of the console's threads.
const THREAD_NAME: &str = "windlass-console";

/// How many threads wait for a remote source, a webhook or a pool that is changed at most; they end when they
/// are idle.
const HELPERS: usize = 8;

/// How long an idle helper stays.
const HELPER_KEEP_ALIVE: Duration = Duration::from_secs(5);

/// How long helpers may take when the console stops. One that takes longer is left to itself.
const LAST_HELPERS: Duration = Duration::from_secs(3);

/// A console that shows the pools of a process, and lets them be tuned, until it is dropped or
/// [shut down](Self::shutdown).
///
/// It runs on one thread of its own, which sleeps while nobody looks.
///
/// ```
/// use windlass::prelude::*;
/// use windlass_console::Console;
///
/// let pool = ThreadPoolExecutor::builder().name("web").core_pool_size(2).build().unwrap();
/// windlass::monitor::register(&pool);
/// let console = Console::builder().bind("127.0.0.1:0").announce(false).start().unwrap();
/// println!("look at {}, change with {}", console.url(), console.token());
/// console.shutdown();
/// pool.close();
/// ```
#[must_use = "a console stops when it is dropped"]
pub struct Console {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Console {
    /// Returns what sets up a console.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Returns the address that the console listens on, with the port that was chosen if it was asked for
    /// port 0.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the page.
    #[must_use]
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}/")
    }

    /// Returns the token that writes need. It is a secret.
    #[must_use]
    pub fn token(&self) -> &str {
        self.shared.guard.token.reveal()
    }

    /// Stops the console and waits for its thread: requests under way have a second to end, streams of
    /// events end at once. The pools are left as they are. Dropping the console does the same.
    pub fn shutdown(self) {
        drop(self);
    }
}

/// What a console starts with.
pub(crate) struct Start {
    pub(crate) listener: TcpListener,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stop: watch::Sender<bool>,
    #[cfg(feature = "webhook")]
    pub(crate) webhook: Option<Webhook>,
}

impl Start {
    /// Starts the thread of a console that listens already.
    pub(crate) fn console(self, address: SocketAddr) -> Result<Console, StartError> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_name(THREAD_NAME)
            .max_blocking_threads(HELPERS)
            .thread_keep_alive(HELPER_KEEP_ALIVE)
            .build()
            .map_err(StartError::Thread)?;
        let listener = {
            // The listener is registered with the runtime that is entered.
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(self.listener).map_err(StartError::Thread)?
        };
        let feed = Feed::new(Arc::clone(&self.shared));
        #[cfg(feature = "webhook")]
        if let Some(webhook) = self.webhook {
            let followed = webhook.follow(&self.shared.monitor, runtime.handle());
            followed.map_err(StartError::Thread)?;
        }
        let shared = Arc::clone(&self.shared);
        let served = Arc::clone(&self.shared);
        let thread = thread::Builder::new()
            .name(THREAD_NAME.to_owned())
            .spawn(move || {
                runtime.block_on(serve(listener, served, feed));
                runtime.shutdown_timeout(LAST_HELPERS);
            })
            .map_err(StartError::Thread)?;
        Ok(Console {
            address,
            shared,
            stop: self.stop,
            thread: Some(thread),
        })
    }
}

async fn serve(listener: tokio::net::TcpListener, shared: Arc<Shared>, feed: Feed) {
    tokio::spawn(feed.run());
    if shared.options.remote.is_some() {
        tokio::spawn(RemoteWatch::new(Arc::clone(&shared)).run());
    }
    let stopping = shared.stopping.clone();
    server::serve(listener, routes::router(shared), stopping).await;
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // It has panicked already if it fails; there is nothing more to end.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
