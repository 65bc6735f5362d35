//! How are results handled in order of completion instead of submission?
//!
//! With a `CompletionService`: it returns handles in the order in which their tasks complete, so one
//! slow task does not delay the results of others. The mirrors are asked twice: once for all answers,
//! once for the first success only.
//!
//! `cargo run --release -p windlass --example completion_order`

use std::error::Error;
use std::time::Duration;

use windlass::prelude::*;
use windlass::{CompletionService, interrupt};

/// Mirrors that answer after different times; one of them is broken.
const MIRRORS: [(&str, u64); 4] = [("oslo", 60), ("lima", 20), ("pune", 40), ("kyiv", 5)];

/// Asks a mirror, which answers after `millis`.
fn ask(mirror: &'static str, millis: u64) -> Result<&'static str, String> {
    let waited = interrupt::sleep(Duration::from_millis(millis));
    waited.map_err(|error| format!("{mirror}: {error}"))?;
    if mirror == "kyiv" {
        return Err("kyiv is out of order".to_owned());
    }
    Ok(mirror)
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(MIRRORS.len())?;

    println!("All answers, as they come (asked in the order oslo, lima, pune, kyiv):");
    let service = CompletionService::new(pool.clone());
    for (mirror, millis) in MIRRORS {
        service.submit(move || ask(mirror, millis))?;
    }
    let mut order = Vec::new();
    for done in service.completions() {
        match done.join()? {
            Ok(mirror) => order.push(mirror),
            Err(error) => println!("  {error}"),
        }
    }
    println!("  {order:?}");
    assert_eq!(order.len(), MIRRORS.len() - 1);

    println!("The first answer only; the others are cancelled:");
    let controls: Vec<_> = MIRRORS
        .into_iter()
        .map(|(mirror, millis)| service.submit(move || ask(mirror, millis)))
        .collect::<Result<_, _>>()?;
    let first = loop {
        if let Ok(mirror) = service.take()?.join()? {
            break mirror;
        }
    };
    let cancelled = controls
        .iter()
        .filter(|control| control.cancel_now())
        .count();
    println!("  {first} answered first; {cancelled} were cancelled");
    pool.close();
    Ok(())
}
