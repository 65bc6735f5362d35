//! How does a server end on ctrl-c without breaking a single answer?
//!
//! A small web server on a bounded pool, under load from clients in the same program. The acceptor hands each
//! connection to the pool with `execute_with`. What the pool rejects comes back as the connection, which is told
//! "503". At ctrl-c the plan stops the intake and drains the pool: every request that was accepted gets its answer.
//!
//! ```sh
//! cargo run --release -p windlass --features signals --example web_server
//! cargo run --release -p windlass --features signals --example web_server -- --stay   # until you press ctrl-c
//! ```

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use windlass::interrupt;
use windlass::prelude::*;
use windlass::queue::ArrayBlockingQueue;
use windlass::shutdown::{ShutdownPlan, SignalledShutdown};

const CLIENTS: usize = 12;
const LOAD: Duration = Duration::from_millis(700);

/// Reads a request and answers it, after a short time at some database.
fn serve(connection: TcpStream, answered: &AtomicUsize) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or("/").to_owned();
    while reader.read_line(&mut line)? > 2 {}
    // A query; an interrupt of the pool ends it early.
    let found = interrupt::sleep(Duration::from_millis(4)).is_ok();
    let body = if found {
        format!("hello from {path}\n")
    } else {
        String::from("partly\n")
    };
    respond(reader.get_mut(), "200 OK", &body)?;
    answered.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

fn respond(connection: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Tells a client to come back later. Its request is read first: closing a connection with unread bytes would
/// reset it, and the answer would be lost.
fn send_away(connection: TcpStream) -> io::Result<()> {
    connection.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    respond(reader.get_mut(), "503 Service Unavailable", "busy\n")
}

/// Accepts connections until the end is requested. Returns how many the pool took and how many it rejected.
fn accept(
    listener: &TcpListener,
    pool: &ThreadPoolExecutor,
    answered: &Arc<AtomicUsize>,
) -> io::Result<(usize, usize)> {
    let (mut taken, mut rejected) = (0, 0);
    for connection in listener.incoming() {
        if pool.is_shutdown() {
            break;
        }
        let answered = Arc::clone(answered);
        let serve = move |connection| {
            // A client that hangs up is no concern of the pool.
            let _ = serve(connection, &answered);
        };
        match pool.execute_with(connection?, serve) {
            Ok(_) => taken += 1,
            Err(refused) => {
                rejected += 1;
                if let Ok(connection) = refused.into_input::<TcpStream>() {
                    let _ = send_away(connection);
                }
            }
        }
    }
    Ok((taken, rejected))
}

/// What the clients saw.
#[derive(Default)]
struct Seen {
    answers: AtomicUsize,
    busy: AtomicUsize,
}

/// Sends one request after the other until the server is gone.
fn request_until(server: SocketAddr, gone: &AtomicBool, seen: &Seen) {
    while !gone.load(Ordering::SeqCst) {
        let answer = TcpStream::connect(server).and_then(|mut connection| {
            connection.write_all(b"GET /news HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
            let mut answer = String::new();
            connection.read_to_string(&mut answer).map(|_| answer)
        });
        match answer {
            Ok(answer) if answer.ends_with("hello from /news\n") => {
                seen.answers.fetch_add(1, Ordering::SeqCst);
            }
            Ok(answer) if answer.starts_with("HTTP/1.1 503") => {
                seen.busy.fetch_add(1, Ordering::SeqCst);
                let _ = interrupt::sleep(Duration::from_millis(1));
            }
            // Nobody has accepted this one: the listener is closed, or about to be.
            _ => {}
        }
    }
}

/// Puts load on the server for a while, then does what ctrl-c does.
fn run_load(server: SocketAddr, end: &SignalledShutdown) -> Arc<Seen> {
    let (seen, gone) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (seen, gone) = (Arc::clone(&seen), Arc::clone(&gone));
            std::thread::spawn(move || request_until(server, &gone, &seen))
        })
        .collect();
    let _ = interrupt::sleep(LOAD);
    println!("… ctrl-c, while {CLIENTS} clients go on");
    end.request();
    gone.store(true, Ordering::SeqCst);
    for client in clients {
        let _ = client.join();
    }
    seen
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = ThreadPoolExecutor::builder()
        .name("http")
        .core_pool_size(4)
        .work_queue(ArrayBlockingQueue::new(4)?)
        .build()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = listener.local_addr()?;
    let answered = Arc::new(AtomicUsize::new(0));
    let end = ShutdownPlan::new()
        .pool("http", pool.clone())
        .drain_for(Duration::from_secs(5))
        .on_signals()?;
    println!("listening on http://{server}, 4 workers, room for 4");

    let acceptor = {
        let (pool, answered) = (pool.clone(), Arc::clone(&answered));
        std::thread::spawn(move || accept(&listener, &pool, &answered))
    };
    let stays = std::env::args().any(|argument| argument == "--stay");
    let seen = (!stays).then(|| run_load(server, &end));
    let report = end.wait();
    // The acceptor waits for a connection; this one makes it look around.
    drop(TcpStream::connect(server));
    let (taken, rejected) = acceptor.join().map_err(|_| "the acceptor panicked")??;

    println!("{report}");
    let answered = answered.load(Ordering::SeqCst);
    println!("accepted {taken}, answered {answered}, told to come back later {rejected}");
    if let Some(seen) = seen {
        let (answers, busy) = (
            seen.answers.load(Ordering::SeqCst),
            seen.busy.load(Ordering::SeqCst),
        );
        println!("the clients got {answers} answers and were told {busy} times to come back later");
        assert_eq!(answers, taken, "no answer is lost or broken");
    }
    assert_eq!(answered, taken, "what was accepted is answered");
    Ok(())
}
