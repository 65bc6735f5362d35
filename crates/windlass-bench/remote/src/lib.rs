//! What the programs of this crate share: their arguments, and what they print.
//!
//! ```text
//! PROGRAM worker ADDRESS            runs tasks until it is killed, 64 at a time
//! PROGRAM trips ADDRESS COUNT       one task at a time: prints `p50` and `p99` in microseconds
//! PROGRAM all ADDRESS COUNT         COUNT tasks, at most WINDOW without a result: prints `seconds`
//! ```

use std::time::Duration;

/// How many tasks a worker runs at a time.
pub const SLOTS: usize = 64;
/// How many tasks a client has without a result at a time.
pub const WINDOW: usize = 1_000;
/// How many tasks are submitted at once, by those who can.
pub const BATCH: usize = 100;

/// What to do.
#[derive(Debug)]
pub enum Role {
    /// Run tasks.
    Worker,
    /// Submit so many, one at a time.
    Trips(usize),
    /// Submit so many.
    All(usize),
}

/// Returns the role and the address of the server.
///
/// # Panics
///
/// If the arguments are others than those above.
pub fn arguments() -> (Role, String) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count = || arguments[2].parse().expect("a number");
    let role = match arguments[0].as_str() {
        "worker" => Role::Worker,
        "trips" => Role::Trips(count()),
        "all" => Role::All(count()),
        other => panic!("{other} is neither worker, nor trips, nor all"),
    };
    (role, arguments[1].clone())
}

/// Prints the median and the 99th percentile.
pub fn print_trips(mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e6;
    println!("p50 {:.1}\np99 {:.1}", at(50), at(99));
}

/// Prints the time that all tasks took.
pub fn print_all(took: Duration) {
    println!("seconds {:.6}", took.as_secs_f64());
}
