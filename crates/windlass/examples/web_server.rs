//! How does a server end on ctrl-c without breaking a single answer?
//!
//! A small web server on a bounded pool, under load from clients in the same program. The acceptor hands each
//! connection to the pool with `execute_with`. What the pool rejects comes back as the connection, which is told
//! "503". At ctrl-c the plan stops the intake and drains the pool: every request that was accepted gets its answer,
//! and who comes meanwhile is told "503" too. A client that never asks, or hangs up, occupies a worker no longer than
//! a time limit.
//!
//! ```sh
//! cargo run --release -p windlass --features signals --example web_server
//! cargo run --release -p windlass --features signals --example web_server -- --stay   # until you press ctrl-c
//! ```

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::shutdown::ShutdownPlan;
use windlass::{clock, interrupt};

const CLIENTS: usize = 12;
const LOAD: Duration = Duration::from_millis(700);
/// How long a request may take to arrive.
const READ_LIMIT: Duration = Duration::from_millis(250);
/// How long a client that was sent away may take to hang up. The acceptor waits for it.
const GOODBYE_LIMIT: Duration = Duration::from_millis(50);

/// Reads until the end of a request, but no longer than a limit. Returns its path; nothing if the client hung up.
fn read_request(connection: &mut TcpStream, limit: Duration) -> io::Result<Option<String>> {
    let until = clock::now() + limit;
    let (mut request, mut chunk) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() || request.len() > 16 * 1024 {
            return Err(ErrorKind::TimedOut.into());
        }
        // A limit for each read alone would let a client send a byte now and then forever.
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut chunk)? {
            0 => return Ok(None),
            length => request.extend(&chunk[..length]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    Ok(Some(
        request.split(' ').nth(1).unwrap_or("/").trim().to_owned(),
    ))
}

fn respond(connection: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    connection.write_all(answer.as_bytes())
}

/// Answers a request, after a short time at some database. Returns whether there was one.
fn serve(mut connection: TcpStream) -> io::Result<bool> {
    let path = match read_request(&mut connection, READ_LIMIT) {
        Ok(Some(path)) => path,
        Ok(None) => return Ok(false),
        Err(error) => {
            respond(&mut connection, "408 Request Timeout", "too slow\n")?;
            return Err(error);
        }
    };
    // A query; an interrupt of the pool ends it early.
    let found = interrupt::sleep(Duration::from_millis(4)).is_ok();
    let body = if found {
        format!("hello from {path}\n")
    } else {
        String::from("partly\n")
    };
    respond(&mut connection, "200 OK", &body)?;
    Ok(true)
}

/// Tells a client to come back later. Closing a connection with unread bytes would reset it, and the answer could be
/// lost: so the request is read after the answer, until the client hangs up.
fn send_away(mut connection: TcpStream) -> io::Result<()> {
    respond(&mut connection, "503 Service Unavailable", "busy\n")?;
    connection.shutdown(Shutdown::Write)?;
    while read_request(&mut connection, GOODBYE_LIMIT)?.is_some() {}
    Ok(())
}

/// What became of the connections.
#[derive(Default)]
struct Served {
    taken: AtomicUsize,
    rejected: AtomicUsize,
    answered: AtomicUsize,
    /// Hung up, or did not ask in time.
    gone: AtomicUsize,
}

struct Server {
    listener: TcpListener,
    pool: ThreadPoolExecutor,
    served: Arc<Served>,
    closed: Arc<AtomicBool>,
}

impl Server {
    fn admit(&self, connection: TcpStream) {
        let served = Arc::clone(&self.served);
        let serve = move |connection| {
            let count = match serve(connection) {
                Ok(true) => &served.answered,
                Ok(false) | Err(_) => &served.gone,
            };
            count.fetch_add(1, Ordering::SeqCst);
        };
        match self.pool.execute_with(connection, serve) {
            Ok(_) => {
                self.served.taken.fetch_add(1, Ordering::SeqCst);
            }
            // Too many, or the pool is shut down.
            Err(refused) => {
                self.served.rejected.fetch_add(1, Ordering::SeqCst);
                if let Ok(connection) = refused.into_input::<TcpStream>() {
                    let _ = send_away(connection);
                }
            }
        }
    }

    /// Accepts connections until the server is closed, and then those that have come already.
    fn accept(&self) -> io::Result<()> {
        while !self.closed.load(Ordering::SeqCst) {
            match self.listener.accept() {
                Ok((connection, _)) => self.admit(connection),
                // This client is gone, or there are too many open files: the next may do better.
                Err(_) => drop(interrupt::sleep(Duration::from_millis(1))),
            }
        }
        self.listener.set_nonblocking(true)?;
        while let Ok((connection, _)) = self.listener.accept() {
            connection.set_nonblocking(false)?;
            self.admit(connection);
        }
        Ok(())
    }
}

/// What the clients saw.
#[derive(Default)]
struct Seen {
    answers: AtomicUsize,
    busy: AtomicUsize,
    too_slow: AtomicUsize,
    /// An empty answer, or a part of one, or none.
    broken: AtomicUsize,
}

/// Sends one request. Returns all that came back.
fn request(server: SocketAddr) -> io::Result<String> {
    let mut connection = TcpStream::connect(server)?;
    // It may have been sent away already: then the answer is there all the same.
    let _ = connection.write_all(b"GET /news HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Sends one request after the other until the server is about to close.
fn request_until(server: SocketAddr, over: &AtomicBool, seen: &Seen) {
    while !over.load(Ordering::SeqCst) {
        let count = match request(server).unwrap_or_default() {
            answer if answer.ends_with("\r\n\r\nhello from /news\n") => &seen.answers,
            answer if answer.ends_with("\r\n\r\nbusy\n") => &seen.busy,
            answer if answer.ends_with("\r\n\r\ntoo slow\n") => &seen.too_slow,
            _ => &seen.broken,
        };
        count.fetch_add(1, Ordering::SeqCst);
        if !std::ptr::eq(count, &seen.answers) {
            let _ = interrupt::sleep(Duration::from_millis(2));
        }
    }
}

/// Clients that go on until they are told that it is over.
struct Load {
    seen: Arc<Seen>,
    over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
    /// Connections that never ask.
    silent: Vec<TcpStream>,
}

/// Clients that are of no use to anybody, before the load begins.
const USELESS: usize = 3;

impl Load {
    fn start(server: SocketAddr) -> io::Result<Self> {
        // One hangs up at once, two never say a word.
        drop(TcpStream::connect(server)?);
        let silent = vec![TcpStream::connect(server)?, TcpStream::connect(server)?];
        let (seen, over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let clients = (0..CLIENTS)
            .map(|_| {
                let (seen, over) = (Arc::clone(&seen), Arc::clone(&over));
                thread::spawn(move || request_until(server, &over, &seen))
            })
            .collect();
        Ok(Self {
            seen,
            over,
            clients,
            silent,
        })
    }

    fn stop(self) -> Result<Arc<Seen>, &'static str> {
        self.over.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.join().map_err(|_| "a client panicked")?;
        }
        drop(self.silent);
        Ok(self.seen)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .name("http")
        .core_pool_size(4)
        .work_queue(ArrayBlockingQueue::new(4)?)
        .build()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let end = ShutdownPlan::new()
        .pool("http", pool.clone())
        .drain_for(Duration::from_secs(10))
        .on_signals()?;
    println!("listening on http://{address}, 4 workers, room for 4");

    let (served, closed) = (
        Arc::new(Served::default()),
        Arc::new(AtomicBool::new(false)),
    );
    let server = Server {
        listener,
        pool,
        served: Arc::clone(&served),
        closed: Arc::clone(&closed),
    };
    let acceptor = thread::spawn(move || server.accept());
    let stays = std::env::args().any(|argument| argument == "--stay");
    let mut load = None;
    if !stays {
        let mut clients = Load::start(address)?;
        interrupt::sleep(LOAD)?;
        clients.silent.push(TcpStream::connect(address)?);
        println!("… ctrl-c, while {CLIENTS} clients go on, and some say nothing");
        signal_hook::low_level::raise(signal_hook::consts::SIGINT)?;
        load = Some(clients);
    }
    let report = end.wait();
    // The clients have gone on while the pool was drained, and each of them was answered.
    let seen = load.map(Load::stop).transpose()?;
    closed.store(true, Ordering::SeqCst);
    // The acceptor waits for a connection; this one makes it look around.
    drop(TcpStream::connect(address));
    acceptor.join().map_err(|_| "the acceptor panicked")??;

    println!("{report}");
    check(&served, seen.as_deref());
    assert!(stays || report.is_drained(), "the pool had time enough");
    Ok(())
}

/// Prints what both sides saw. Both saw the same.
fn check(served: &Served, seen: Option<&Seen>) {
    let count = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    let (taken, answered, gone) = (
        count(&served.taken),
        count(&served.answered),
        count(&served.gone),
    );
    println!(
        "accepted {taken}: answered {answered}, hung up or silent {gone}; told to come back later {}",
        count(&served.rejected)
    );
    assert_eq!(answered + gone, taken, "what was accepted is answered");
    let Some(seen) = seen else { return };
    let (answers, busy, broken) = (count(&seen.answers), count(&seen.busy), count(&seen.broken));
    println!(
        "the clients got {answers} answers, {busy} times \"come back later\", {broken} broken answers"
    );
    assert_eq!(broken, 0, "no answer is empty or broken");
    assert_eq!(answers, answered, "no answer is lost");
    assert!(answers > 0 && gone >= USELESS, "all kinds of clients came");
}
