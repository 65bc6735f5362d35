//! How does a crawler that is stopped in the middle go on later, without losing or repeating a page?
//!
//! Each task carries its page as an attachment. `shutdown_now` returns the tasks that have not started, a rejection
//! returns the task that came too late, and a task that is interrupted notes its page. All of them are saved to a file,
//! and the next crawl begins with them.
//!
//! `cargo run --release -p windlass --example crawler`

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// What a crawl has done and has yet to do, as it is saved.
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

/// What a crawl that runs knows.
#[derive(Default)]
struct Running {
    seen: BTreeSet<Page>,
    /// How many of them are not fetched.
    pending: usize,
    interrupted: Vec<Page>,
    rejected: Vec<Page>,
}

/// How often each page was fetched, by all crawls.
type Fetched = Arc<Vec<AtomicUsize>>;

/// A crawl that runs.
struct Crawl {
    pool: ThreadPoolExecutor,
    running: Locked<Running>,
    fetched: Fetched,
}

impl Crawl {
    fn start(progress: Progress, fetched: &Fetched) -> Result<Arc<Self>, Box<dyn Error>> {
        let Progress { seen, left } = progress;
        let pool = ThreadPoolExecutor::builder()
            .name("crawler")
            .core_pool_size(4)
            .build()?;
        let running = Running {
            seen,
            pending: left.len(),
            ..Running::default()
        };
        let crawl = Arc::new(Self {
            pool,
            running: Locked::new(running),
            fetched: Arc::clone(fetched),
        });
        for page in left {
            crawl.submit(page);
        }
        Ok(crawl)
    }

    fn update<R>(&self, change: impl FnOnce(&mut Running) -> R) -> Option<R> {
        self.running
            .lock()
            .ok()
            .map(|mut running| change(&mut running))
    }

    /// Submits a page. A rejection means that the crawl ends; it returns the task, and with it the page.
    fn submit(self: &Arc<Self>, page: Page) {
        let crawl = Arc::clone(self);
        let task = self.pool.task().attach(page);
        if let Err(rejected) = task.execute(move || crawl.visit(page)) {
            let late = rejected.into_task().attachment::<Page>().copied();
            self.update(|running| running.rejected.extend(late));
        }
    }

    fn visit(self: &Arc<Self>, page: Page) {
        let Ok(mut links) = fetch(page) else {
            self.update(|running| running.interrupted.push(page));
            return;
        };
        self.fetched[page.0 as usize].fetch_add(1, Ordering::SeqCst);
        let fresh = self.update(|running| {
            links.retain(|&link| running.seen.insert(link));
            running.pending = running.pending + links.len() - 1;
            links
        });
        for link in fresh.into_iter().flatten() {
            self.submit(link);
        }
    }

    fn is_done(&self) -> bool {
        self.update(|running| running.pending == 0).unwrap_or(true)
    }

    /// Interrupts the crawl. Returns its progress, put together from the tasks that came back.
    fn stop(&self) -> Result<(Progress, String), Box<dyn Error>> {
        let queued = self.pool.shutdown_now();
        // What was running ends, and notes what it leaves.
        self.pool.close();
        let running = self.update(std::mem::take).ok_or("a page panicked")?;
        let ways = format!(
            "{} queued, {} interrupted, {} rejected",
            queued.len(),
            running.interrupted.len(),
            running.rejected.len()
        );
        let queued = queued.iter().filter_map(|task| task.attachment::<Page>());
        let mut left: BTreeSet<Page> = queued.copied().collect();
        left.extend(running.interrupted);
        left.extend(running.rejected);
        assert_eq!(left.len(), running.pending, "each page came back, and once");
        let seen = running.seen;
        Ok((Progress { seen, left }, ways))
    }
}

/// How many fetches there were.
fn total(fetched: &Fetched) -> usize {
    let counts = fetched.iter().map(|count| count.load(Ordering::SeqCst));
    counts.sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::temp_dir().join(format!("windlass-crawler-{}.txt", process::id()));
    let first = BTreeSet::from([Page(0)]);
    Progress {
        seen: first.clone(),
        left: first,
    }
    .save(&file)?;
    let fetched: Fetched = Arc::new((0..PAGES).map(|_| AtomicUsize::new(0)).collect());
    for day in 1.. {
        let before = total(&fetched);
        let crawl = Crawl::start(Progress::load(&file)?, &fetched)?;
        let mut waited = 0;
        while !crawl.is_done() && waited < 60 {
            interrupt::sleep(Duration::from_millis(1))?;
            waited += 1;
        }
        let (progress, ways) = crawl.stop()?;
        progress.save(&file)?;
        println!(
            "day {day}: {:>3} pages fetched, {:>3} left ({ways})",
            total(&fetched) - before,
            progress.left.len(),
        );
        assert_eq!(progress, Progress::load(&file)?, "the file is complete");
        if progress.left.is_empty() {
            break;
        }
    }
    fs::remove_file(&file)?;
    for (page, count) in fetched.iter().enumerate() {
        assert_eq!(count.load(Ordering::SeqCst), 1, "page {page}");
    }
    println!("{PAGES} pages fetched, each once");
    Ok(())
}
