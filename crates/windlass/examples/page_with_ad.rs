//! How long does a page wait for its advertisement? No longer than its time budget.
//!
//! The advertisement is fetched while the page is drawn. What is left of the budget then is how long the page waits for it;
//! after that it shows a default, and the fetch is interrupted, so that it does not occupy a worker.
//!
//! `cargo run --release -p windlass --example page_with_ad`

use std::error::Error;
use std::time::{Duration, Instant};

use windlass::error::ExecutionError;
use windlass::prelude::*;
use windlass::{clock, interrupt};

const BUDGET: Duration = Duration::from_millis(300);
const DEFAULT_AD: &str = "(your advertisement here)";

/// Asks an ad server, which takes `time` and may fail.
fn fetch_ad(time: Duration, fails: bool) -> Result<String, Box<dyn Error + Send + Sync>> {
    interrupt::sleep(time)?;
    if fails {
        return Err("the ad server has no ads".into());
    }
    Ok(String::from("Buy two anchors, pay for one!"))
}

/// Draws the page without its advertisement, which takes a third of the budget.
fn draw_body() -> Result<&'static str, interrupt::Interrupted> {
    interrupt::sleep(BUDGET / 3)?;
    Ok("the news of today")
}

/// Draws a page within the budget. Returns it, and why it has no advertisement of its own.
fn draw_page(
    pool: &ThreadPoolExecutor,
    ad_time: Duration,
    fails: bool,
) -> Result<(String, Option<ExecutionError>), Box<dyn Error>> {
    let end: Instant = clock::now() + BUDGET;
    let mut ad = pool.submit_fallible(move || fetch_ad(ad_time, fails))?;
    let body = draw_body()?;
    let left = end.saturating_duration_since(clock::now());
    let (ad, reason) = match ad.get_timeout(left) {
        Ok(ad) => (ad, None),
        Err(error) => {
            // Has an effect if it still runs: it is interrupted in its wait.
            ad.cancel_now();
            (String::from(DEFAULT_AD), Some(error))
        }
    };
    Ok((format!("{body} | {ad}"), reason))
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(2)?;
    println!("a budget of {BUDGET:?} for each page");
    let mut shown = Vec::new();
    for (millis, fails) in [(5, false), (150, false), (10, true), (60_000, false)] {
        let start = clock::now();
        let (page, reason) = draw_page(&pool, Duration::from_millis(millis), fails)?;
        let took = clock::now() - start;
        let reason = reason.map_or_else(|| String::from("in time"), |error| error.to_string());
        println!("  ad after {millis:>5} ms: page after {took:>5.0?}  {page:<48} {reason}");
        shown.push(!page.ends_with(DEFAULT_AD));
    }
    assert!(shown[0] && !shown[2] && !shown[3]);
    // Would wait for a minute if the last fetch had not been interrupted.
    pool.close();
    println!(
        "no fetch is left behind; the pool: {:?}",
        pool.stats().state
    );
    Ok(())
}
