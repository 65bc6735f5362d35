//! A console leaves no thread behind. In a process of its own, because it counts the threads of the process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use windlass_console::Console;

/// Returns the names of the threads of this process that are a console's or a monitor's.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("windlass-")).collect()
}

/// Waits until the threads are so: one that has just started has no name yet, and one that was joined may
/// still be listed.
#[track_caller]
fn await_that(is_so: impl Fn(&[String]) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so(&threads()) {
        assert!(Instant::now() < deadline, "{:?}", threads());
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[track_caller]
fn await_no_threads() {
    await_that(<[String]>::is_empty);
}

#[test]
fn a_console_leaves_no_thread_behind() {
    for is_dropped in [false, true] {
        let console = Console::builder()
            .bind("127.0.0.1:0")
            .announce(false)
            .start()
            .unwrap();
        await_that(|names| names.iter().any(|name| name.starts_with("windlass-consol")));
        // With connections of all kinds: idle, half a request, a stream.
        let address = console.local_addr();
        let _idle = TcpStream::connect(address).unwrap();
        let mut half = TcpStream::connect(address).unwrap();
        half.write_all(b"GET / HT").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
        if is_dropped {
            drop(console);
        } else {
            console.shutdown();
        }
        await_no_threads();
        assert!(TcpStream::connect(address).is_err());
    }
    // One that does not start leaves none either.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    Console::builder()
        .bind(address)
        .announce(false)
        .start()
        .unwrap_err();
    await_no_threads();
}
