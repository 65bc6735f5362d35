//! A network between client and server that can be cut or slowed down.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Passes bytes on between its own port and a server's. Its threads end with it and their connections.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    port: u16,
}

#[derive(Default)]
struct Shared {
    connections: Mutex<Vec<TcpStream>>,
    delay_millis: AtomicU64,
    cuts: AtomicU64,
    ended: AtomicBool,
    /// Whatever passes now is swallowed, and its connection is silent from then on.
    frozen: AtomicBool,
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::<Shared>::default();
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if own.ended.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server)))
                else {
                    continue;
                };
                own.pass(&client, &server);
                own.pass(&server, &client);
                own.connections.lock().unwrap().extend([client, server]);
            }
        });
        Self { shared, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Ends every connection, in the middle of whatever it carries.
    pub(crate) fn cut(&self) {
        for connection in self.shared.connections.lock().unwrap().drain(..) {
            self.shared.cuts.fetch_add(1, Ordering::SeqCst);
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    /// Makes the network silent: what is sent is swallowed, connections stay open as far as both ends know, and new ones are accepted and
    /// carry nothing. So is a link whose middle has gone.
    pub(crate) fn freeze(&self) {
        self.shared.frozen.store(true, Ordering::SeqCst);
    }

    /// Makes the network carry new connections again. Those from before stay silent for ever: they have lost bytes.
    pub(crate) fn thaw(&self) {
        self.shared.frozen.store(false, Ordering::SeqCst);
    }

    /// Delays every piece in both directions.
    pub(crate) fn delay(&self, time: Duration) {
        self.shared
            .delay_millis
            .store(time.as_millis() as u64, Ordering::SeqCst);
    }
}

impl Shared {
    fn pass(self: &Arc<Self>, from: &TcpStream, to: &TcpStream) {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let shared = Arc::clone(self);
        std::thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            let mut silent = false;
            while let Ok(length @ 1..) = from.read(&mut piece) {
                silent |= shared.frozen.load(Ordering::SeqCst);
                if silent {
                    continue;
                }
                let delay = Duration::from_millis(shared.delay_millis.load(Ordering::SeqCst));
                if !delay.is_zero() {
                    windlass::interrupt::sleep(delay).unwrap();
                }
                if to.write_all(&piece[..length]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
