//! Windlass with a monitor, and with a console that somebody looks at, to measure their cost.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;

use windlass::monitor::{Monitor, Registry};
use windlass::{Submit, ThreadPoolExecutor};
use windlass_console::Console;

use super::family::{Peer, Pool};
use super::windlass::{fixed, start};

/// With a monitor, which takes a sample once a second.
pub(crate) struct Monitored {
    pool: ThreadPoolExecutor,
    monitor: Monitor,
}

impl Peer for Monitored {
    const NAME: &'static str = "windlass+monitor";
}

impl Pool for Monitored {
    fn with_workers(workers: usize) -> Self {
        let pool = start(fixed(workers));
        let registry = Registry::new();
        registry.register(&pool);
        let monitor = Monitor::start(&registry).expect("a thread for the monitor");
        Self { pool, monitor }
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.pool.execute(body).expect("the pool takes tasks");
    }
}

/// With a console whose events a client reads, as a page does.
pub(crate) struct Consoled {
    monitored: Monitored,
    console: Option<Console>,
    client: Option<JoinHandle<()>>,
}

impl Peer for Consoled {
    const NAME: &'static str = "windlass+console";
}

impl Pool for Consoled {
    fn with_workers(workers: usize) -> Self {
        let monitored = Monitored::with_workers(workers);
        let console = Console::builder().bind("127.0.0.1:0").announce(false);
        let console = console.monitor(&monitored.monitor).start();
        let console = console.expect("a free port for the console");
        let client = Some(read_events(&console));
        Self {
            monitored,
            console: Some(console),
            client,
        }
    }

    #[inline]
    fn execute(&self, body: impl FnOnce() + Send + 'static) {
        self.monitored.execute(body);
    }
}

impl Drop for Consoled {
    fn drop(&mut self) {
        if let Some(console) = self.console.take() {
            console.shutdown();
        }
        if let Some(client) = self.client.take() {
            // Its panic would have been printed; the sample stands.
            let _ = client.join();
        }
    }
}

/// Reads events on another thread until they end.
fn read_events(console: &Console) -> JoinHandle<()> {
    let address = console.local_addr();
    let mut stream = TcpStream::connect(address).expect("the console listens");
    let request = format!("GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is read");
    let mut lines = BufReader::new(stream).lines();
    // The first line of the answer: the client is there before the measurement begins.
    let answer = lines.next().and_then(Result::ok).unwrap_or_default();
    assert!(answer.contains("200"), "the console answers {answer:?}");
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop))
}
