//! How does a crawler that is stopped in the middle go on later, without losing or repeating a page?
//!
//! `shutdown_now` returns the tasks that have not started; each carries its page as an attachment. Tasks that were
//! interrupted note their own. Both are saved to a file, and the next crawl begins with them.
//!
//! `cargo run --release -p windlass --example crawler`

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process};

use windlass::interrupt;
use windlass::prelude::*;

const PAGES: u32 = 400;

/// The address of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Page(u32);

/// Fetches a page. Returns the pages that it links to.
fn fetch(page: Page) -> Result<Vec<Page>, interrupt::Interrupted> {
    interrupt::sleep(Duration::from_millis(2))?;
    let links = [page.0 * 2 + 1, page.0 * 2 + 2, page.0 * 7 % PAGES, 0];
    Ok(links
        .into_iter()
        .filter(|&link| link < PAGES)
        .map(Page)
        .collect())
}

/// What a crawl has done and has yet to do.
#[derive(Debug, Default, PartialEq)]
struct Progress {
    seen: BTreeSet<Page>,
    /// Seen, but not fetched.
    left: BTreeSet<Page>,
}

impl Progress {
    fn save(&self, file: &Path) -> std::io::Result<()> {
        let lines = self.seen.iter().map(|page| {
            let state = if self.left.contains(page) {
                "left"
            } else {
                "done"
            };
            format!("{state} {}\n", page.0)
        });
        fs::write(file, lines.collect::<String>())
    }

    fn load(file: &Path) -> Result<Self, Box<dyn Error>> {
        let mut progress = Self::default();
        for line in fs::read_to_string(file)?.lines() {
            let (state, page) = line.split_once(' ').ok_or("no state")?;
            let page = Page(page.parse()?);
            progress.seen.insert(page);
            if state == "left" {
                progress.left.insert(page);
            }
        }
        Ok(progress)
    }
}

#[expect(clippy::disallowed_types, reason = "a program has locks of its own")]
type Locked<T> = std::sync::Mutex<T>;

/// A crawl that runs.
struct Crawl {
    pool: ThreadPoolExecutor,
    progress: Locked<Progress>,
}

impl Crawl {
    fn start(progress: Progress) -> Result<Arc<Self>, Box<dyn Error>> {
        let pool = ThreadPoolExecutor::builder()
            .name("crawler")
            .core_pool_size(4)
            .build()?;
        let left = progress.left.clone();
        let crawl = Arc::new(Self {
            pool,
            progress: Locked::new(progress),
        });
        for page in left {
            crawl.submit(page);
        }
        Ok(crawl)
    }

    fn update<R>(&self, change: impl FnOnce(&mut Progress) -> R) -> Option<R> {
        self.progress
            .lock()
            .ok()
            .map(|mut progress| change(&mut progress))
    }

    /// Submits a page. A rejection means that the crawl ends; the page is noted as left already.
    fn submit(self: &Arc<Self>, page: Page) {
        let crawl = Arc::clone(self);
        let _ = self
            .pool
            .task()
            .attach(page)
            .execute(move || crawl.visit(page));
    }

    fn visit(self: &Arc<Self>, page: Page) {
        // Interrupted: the page stays among those that are left.
        let Ok(links) = fetch(page) else { return };
        let fresh = self.update(|progress| {
            progress.left.remove(&page);
            let fresh: Vec<_> = links
                .into_iter()
                .filter(|&link| progress.seen.insert(link))
                .collect();
            progress.left.extend(&fresh);
            fresh
        });
        for link in fresh.into_iter().flatten() {
            self.submit(link);
        }
    }

    /// Interrupts the crawl. Returns its progress and how many pages had not been started.
    fn stop(&self) -> Result<(Progress, usize), Box<dyn Error>> {
        let queued = self.pool.shutdown_now();
        let pages: Vec<_> = queued
            .iter()
            .filter_map(|task| task.attachment::<Page>())
            .collect();
        self.pool.close();
        let progress = self.update(std::mem::take).ok_or("a page panicked")?;
        assert!(
            pages.iter().all(|page| progress.left.contains(page)),
            "all of them are noted"
        );
        Ok((progress, pages.len()))
    }

    fn is_done(&self) -> bool {
        self.update(|progress| progress.left.is_empty())
            .unwrap_or(true)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::temp_dir().join(format!("windlass-crawler-{}.txt", process::id()));
    let first = BTreeSet::from([Page(0)]);
    Progress {
        seen: first.clone(),
        left: first,
    }
    .save(&file)?;
    let mut fetched = 0;
    for day in 1.. {
        let crawl = Crawl::start(Progress::load(&file)?)?;
        let mut waited = 0;
        while !crawl.is_done() && waited < 60 {
            interrupt::sleep(Duration::from_millis(1))?;
            waited += 1;
        }
        let (progress, queued) = crawl.stop()?;
        progress.save(&file)?;
        let done = progress.seen.len() - progress.left.len();
        println!(
            "day {day}: {:>3} pages fetched, {:>3} left ({queued} queued, {} interrupted)",
            done - fetched,
            progress.left.len(),
            progress.left.len() - queued
        );
        fetched = done;
        assert_eq!(progress, Progress::load(&file)?, "the file is complete");
        if progress.left.is_empty() {
            break;
        }
    }
    fs::remove_file(&file)?;
    println!("{fetched} of {PAGES} pages fetched, each once");
    assert_eq!(fetched, PAGES as usize);
    Ok(())
}
