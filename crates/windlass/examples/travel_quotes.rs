//! How does a travel portal show the offers of many companies, though some of them never answer?
//!
//! With a timed `invoke_all`: it asks all of them at once and returns when the time is up, with a handle for each. What has
//! not answered is cancelled, and is shown as such.
//!
//! `cargo run --release -p windlass --example travel_quotes`

use std::error::Error;
use std::time::Duration;

use windlass::error::ExecutionError;
use windlass::prelude::*;
use windlass::{clock, interrupt};

const TIME: Duration = Duration::from_millis(400);

/// A company that sells journeys.
#[derive(Clone, Copy)]
struct Company {
    name: &'static str,
    answers_after: u64,
    price: Option<u32>,
}

const fn company(name: &'static str, answers_after: u64, price: Option<u32>) -> Company {
    Company {
        name,
        answers_after,
        price,
    }
}

const COMPANIES: [Company; 8] = [
    company("Albatross Air", 12, Some(189)),
    company("Bramble Bus", 30, Some(49)),
    company("Cumulus", 60_000, Some(99)),
    company("Dromedary Tours", 25, None),
    company("Express Rail", 45, Some(120)),
    company("Ferry & Sons", 8, Some(75)),
    company("Gondola", 3_600_000, Some(20)),
    company("Heron Lines", 18, Some(140)),
];

/// An offer of a company.
#[derive(Debug)]
struct Quote {
    company: &'static str,
    price: u32,
}

/// Asks a company for its price.
fn ask(company: Company) -> Result<Quote, Box<dyn Error + Send + Sync>> {
    interrupt::sleep(Duration::from_millis(company.answers_after))?;
    let price = company.price.ok_or("sold out")?;
    Ok(Quote {
        company: company.name,
        price,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = executors::cached_thread_pool();
    let start = clock::now();
    let questions = COMPANIES.map(|company| move || ask(company));
    let answers = pool.invoke_all_fallible_timeout(questions, TIME)?;
    let took = clock::now() - start;

    let (mut quotes, mut others) = (Vec::new(), Vec::new());
    for (company, answer) in COMPANIES.iter().zip(answers) {
        match answer.join() {
            Ok(quote) => quotes.push(quote),
            Err(error @ ExecutionError::Cancelled(_)) => {
                others.push(format!("{}: no answer in time ({error})", company.name));
            }
            Err(error) => others.push(format!("{}: {error}", company.name)),
        }
    }
    quotes.sort_by_key(|quote| quote.price);
    println!("asked {} companies, {took:.0?} later:", COMPANIES.len());
    for Quote { company, price } in &quotes {
        println!("  {price:>4} €  {company}");
    }
    for other in &others {
        println!("     –    {other}");
    }
    assert_eq!((quotes.len(), others.len()), (5, 3));
    assert_eq!(quotes[0].company, "Bramble Bus");
    // Returns at once: the companies that did not answer were interrupted.
    pool.close();
    Ok(())
}
