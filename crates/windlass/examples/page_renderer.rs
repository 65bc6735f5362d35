//! How is a page drawn that has text, which is quick, and images, which have to be fetched?
//!
//! Three ways: one thing after the other; the images as one task beside the text; each image as a task of its own, drawn in
//! the order in which they arrive. The last one shows something new to the reader as soon as there is something.
//!
//! `cargo run --release -p windlass --example page_renderer`

use std::error::Error;
use std::time::{Duration, Instant};

use windlass::clock;
use windlass::prelude::*;
use windlass::{CompletionService, interrupt};

/// What a page is made of.
#[derive(Clone, Copy)]
enum Part {
    Text(&'static str),
    Image { name: &'static str, millis: u64 },
}

const PAGE: [Part; 7] = [
    Part::Text("Winches and windlasses"),
    Part::Image {
        name: "photo.jpg",
        millis: 200,
    },
    Part::Text("A windlass lifts an anchor."),
    Part::Image {
        name: "logo.svg",
        millis: 10,
    },
    Part::Text("A capstan has a vertical axle."),
    Part::Image {
        name: "drawing.png",
        millis: 40,
    },
    Part::Image {
        name: "map.png",
        millis: 60,
    },
];

/// When what was drawn.
struct Screen {
    since: Instant,
    drawn: Vec<(u128, String)>,
}

impl Screen {
    fn new() -> Self {
        Self {
            since: clock::now(),
            drawn: Vec::new(),
        }
    }

    fn draw(&mut self, what: impl Into<String>) {
        let millis = (clock::now() - self.since).as_millis();
        self.drawn.push((millis, what.into()));
    }

    /// Draws the text, which takes a while too.
    fn draw_texts(&mut self) -> Result<(), Box<dyn Error>> {
        for part in PAGE {
            if let Part::Text(text) = part {
                interrupt::sleep(Duration::from_millis(8))?;
                self.draw(text);
            }
        }
        Ok(())
    }

    fn show(&self, title: &str) -> u128 {
        println!("\n{title}");
        for (millis, what) in &self.drawn {
            println!("  {millis:>4} ms  {what}");
        }
        self.drawn.last().map_or(0, |(millis, _)| *millis)
    }
}

fn images() -> impl Iterator<Item = (&'static str, u64)> {
    PAGE.into_iter().filter_map(|part| match part {
        Part::Image { name, millis } => Some((name, millis)),
        Part::Text(_) => None,
    })
}

/// Fetches an image from a server that takes its time.
fn fetch(name: &'static str, millis: u64) -> Result<&'static str, interrupt::Interrupted> {
    interrupt::sleep(Duration::from_millis(millis))?;
    Ok(name)
}

fn one_after_the_other() -> Result<Screen, Box<dyn Error>> {
    let mut screen = Screen::new();
    screen.draw_texts()?;
    for (name, millis) in images() {
        screen.draw(fetch(name, millis)?);
    }
    Ok(screen)
}

/// The images are one task, so nothing of them is seen before the last has arrived.
fn images_beside_text(pool: &ThreadPoolExecutor) -> Result<Screen, Box<dyn Error>> {
    let mut screen = Screen::new();
    let fetched = pool.submit_fallible(|| {
        let fetched = images().map(|(name, millis)| fetch(name, millis));
        fetched.collect::<Result<Vec<_>, _>>()
    })?;
    screen.draw_texts()?;
    for name in fetched.join()? {
        screen.draw(name);
    }
    Ok(screen)
}

fn as_they_arrive(pool: &ThreadPoolExecutor) -> Result<Screen, Box<dyn Error>> {
    let mut screen = Screen::new();
    let service = CompletionService::new(pool.clone());
    for (name, millis) in images() {
        service.submit_fallible(move || fetch(name, millis))?;
    }
    screen.draw_texts()?;
    for image in service.completions() {
        screen.draw(image.join()?);
    }
    Ok(screen)
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = executors::fixed_thread_pool(4)?;
    let slow = one_after_the_other()?.show("One thing after the other:");
    let beside = images_beside_text(&pool)?.show("The images beside the text, as one future:");
    let last = as_they_arrive(&pool)?;
    let order: Vec<_> = last.drawn.iter().map(|(_, what)| what.as_str()).collect();
    let quick = last.show("Each image as it arrives, by a completion service:");
    println!("\nthe page is complete after {slow}, {beside} and {quick} ms");
    assert_eq!(
        order.last(),
        Some(&"photo.jpg"),
        "the slowest image is last"
    );
    pool.close();
    Ok(())
}
