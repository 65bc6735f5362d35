//! A connection that is given up when its peer stops reading.
//!
//! A peer that opens an event stream and reads nothing would hold one of the few places for streams
//! until it goes away. Every write that makes no progress for a while ends the connection instead.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A TCP stream whose writes fail if they do not progress.
#[derive(Debug)]
pub(crate) struct StallLimit {
    stream: TcpStream,
    patience: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl StallLimit {
    pub(crate) const fn new(stream: TcpStream, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            waiting: None,
        }
    }

    /// Passes on what a write has done, or fails if it has waited for too long.
    fn limit<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for StallLimit {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for StallLimit {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.limit(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.limit(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::StallLimit;
    use std::future::poll_fn;
    use std::io;
    use std::pin::Pin;
    use std::time::Duration;
    use tokio::io::AsyncWrite;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    const PATIENCE: Duration = Duration::from_secs(30);
    static CHUNK: [u8; 1 << 16] = [0; 1 << 16];

    /// Runs a test with both ends of a connection.
    fn connected<F: Future<Output = ()>>(test: impl FnOnce(TcpStream, TcpStream) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let peer = TcpStream::connect(listener.local_addr().unwrap()).await;
            let (stream, _) = listener.accept().await.unwrap();
            timeout(PATIENCE, test(stream, peer.unwrap()))
                .await
                .unwrap();
        });
    }

    async fn write(limited: &mut StallLimit) -> io::Result<usize> {
        poll_fn(|cx| Pin::new(&mut *limited).poll_write(cx, &CHUNK)).await
    }

    #[test]
    fn a_write_to_a_peer_that_reads_nothing_fails() {
        connected(|stream, peer| async move {
            let mut limited = StallLimit::new(stream, Duration::from_millis(50));
            let failed = loop {
                if let Err(error) = write(&mut limited).await {
                    break error;
                }
            };
            assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
            drop(peer);
        });
    }

    #[test]
    fn a_peer_that_reads_is_written_to_and_nothing_waits_after_that() {
        connected(|stream, peer| async move {
            let mut limited = StallLimit::new(stream, Duration::from_secs(5));
            let reading = async {
                let (mut buffer, mut left) = (vec![0; 1 << 16], 1 << 24);
                while left > 0 {
                    peer.readable().await.unwrap();
                    match peer.try_read(&mut buffer) {
                        Ok(count) => left -= count.min(left),
                        Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                    }
                }
            };
            let writing = async {
                let mut left = 1 << 24;
                while left > 0 {
                    left -= write(&mut limited).await.unwrap().min(left);
                }
            };
            tokio::join!(reading, writing);
            assert!(limited.waiting.is_none());
        });
    }
}
