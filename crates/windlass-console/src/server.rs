//! The thread of a console: it accepts connections and serves them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::Service;

use crate::stall::StallLimit;

/// How long a request may take to send its headers.
const HEADER_PATIENCE: Duration = Duration::from_secs(5);

/// How long a peer may take to read what waits for it.
const STALL_PATIENCE: Duration = Duration::from_secs(20);

/// How long the requests under way may take when the console stops.
const LAST_REQUESTS: Duration = Duration::from_secs(1);

/// How many connections there are at most. Beyond, a connection is closed at once.
const CONNECTIONS: usize = 128;

/// How long the console pauses when no connection can be accepted, as when the process has no file
/// descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The other end of the connection that a request came by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Whether the console stops.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Returns the end that stops the console, by sending true, and the one that is told.
    pub(crate) fn channel() -> (watch::Sender<bool>, Self) {
        let (stop, stopping) = watch::channel(false);
        (stop, Self(stopping))
    }

    /// Waits until the console stops.
    pub(crate) async fn wait(&mut self) {
        // The other end is gone only after it has stopped the console.
        let _ = self.0.wait_for(|&stop| stop).await;
    }
}

/// Serves connections until the console stops, and then until their requests are answered.
pub(crate) async fn serve(listener: TcpListener, router: Router, mut stopping: Stopping) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                        let connection = Connection { stream, peer: Peer(address), place };
                        connections.spawn(connection.run(router.clone(), stopping.clone()));
                    }
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            () = stopping.wait() => break,
        }
    }
    drop(listener);
    // Connections that take longer end with the runtime.
    let _ = timeout(LAST_REQUESTS, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

struct Connection {
    stream: TcpStream,
    peer: Peer,
    place: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, router: Router, mut stopping: Stopping) {
        let Self {
            stream,
            peer,
            place,
        } = self;
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            let mut router = router.clone();
            async move {
                Ok::<_, Infallible>(match router.call(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                })
            }
        });
        let stream = TokioIo::new(StallLimit::new(stream, STALL_PATIENCE));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .serve_connection(stream, service);
        let mut connection = std::pin::pin!(connection);
        // An error here is one of the peer: it went away, or sent what is no HTTP.
        tokio::select! {
            _ = connection.as_mut() => {}
            () = stopping.wait() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
        drop(place);
    }
}
