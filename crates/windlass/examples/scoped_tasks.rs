//! Closures that borrow, on the threads of a pool: a log is analysed without cloning a line of it.
//!
//! `cargo run --release -p windlass --example scoped_tasks`

use std::error::Error;

use windlass::InvokeError;
use windlass::prelude::*;

const LOG: &str = "\
GET /index.html 200 12
GET /missing 404 3
POST /orders 201 48
GET /orders/17 200 9
POST /orders five-hundred 51
GET /index.html 200 11";

fn main() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(2)?;
    let lines: Vec<&str> = LOG.lines().collect();
    let mut slow: Vec<&str> = Vec::new();

    // Handles with results; and a closure that changes a local variable, which the scope gives back.
    let (gets, posts) = pool.scope(|s| {
        let count = |method: &'static str| {
            let lines = &lines;
            s.spawn(move || lines.iter().filter(|line| line.starts_with(method)).count())
        };
        let (gets, posts) = (count("GET")?, count("POST")?);
        s.spawn(|| slow.extend(lines.iter().filter(|line| millis(line) > 40)))?;
        Ok::<_, Box<dyn Error>>((gets.join()?, posts.join()?))
    })?;
    println!("{gets} GET, {posts} POST; slow: {slow:?}");
    assert_eq!((gets, posts, slow.len()), (4, 2, 2));

    // In order, with two lines in flight.
    let times = pool.group().in_flight(2).map(&lines, |line| millis(line))?;
    println!("milliseconds: {times:?}");
    assert_eq!(times, [12, 3, 48, 9, 51, 11], "in the order of the lines");

    // The first failure cancels the rest.
    let codes = pool.map_fallible(&lines, |line| {
        let code = line.split(' ').nth(2).unwrap_or_default();
        code.parse::<u16>()
    });
    match codes {
        Err(InvokeError::Item(at, error)) => {
            println!("line {}: {error}", at + 1);
            assert_eq!(at, 4, "the line with words for a code");
        }
        other => panic!("line 5 has no code: {other:?}"),
    }

    // A pool that is shut down returns the closure, and the caller decides.
    pool.close();
    let longest = pool.scope(
        |s| match s.spawn(|| lines.iter().max_by_key(|line| line.len())) {
            Ok(task) => task.join(),
            Err(rejected) => {
                println!("{rejected}; it runs here");
                Ok(rejected.into_closure()())
            }
        },
    );
    let longest = longest?;
    println!("longest: {longest:?}");
    assert_eq!(longest, Some(&lines[4]));
    Ok(())
}

fn millis(line: &str) -> u64 {
    let last = line.rsplit(' ').next();
    last.and_then(|text| text.parse().ok()).unwrap_or(0)
}
