//! The pools of the service, and what their tasks do.
//!
//! A web request waits for a database that is not there. Every third one asks for a search, which forks
//! and joins; every fourth one has a thumbnail made, which computes. The pool of thumbnails lets its
//! caller run what it cannot take, so a flood of pictures slows the requests down instead of piling up.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass::forkjoin;
use windlass::interrupt;
use windlass::pool::{AbortPolicy, CallerRunsPolicy};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;

/// The service. A clone is the same service.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) web: ThreadPoolExecutor,
    pub(super) thumbnails: ThreadPoolExecutor,
    pub(super) housekeeping: ScheduledThreadPoolExecutor,
    pub(super) search: ForkJoinPool,
    documents: Arc<[u64]>,
    requests: Arc<AtomicU64>,
}

impl Service {
    /// Builds the pools; their threads are started by the first tasks.
    pub(super) fn new() -> Result<Self, Box<dyn Error>> {
        let web = ThreadPoolExecutor::builder()
            .name("web")
            .core_pool_size(4)
            .maximum_pool_size(8)
            .work_queue(ResizableBlockingQueue::with_capacity(200)?)
            .rejection_handler(AbortPolicy)
            .build()?;
        let thumbnails = ThreadPoolExecutor::builder()
            .name("thumbnails")
            .core_pool_size(2)
            .maximum_pool_size(2)
            .work_queue(ResizableBlockingQueue::with_capacity(64)?)
            .rejection_handler(CallerRunsPolicy)
            .build()?;
        let housekeeping = ScheduledThreadPoolExecutor::builder()
            .name("housekeeping")
            .core_pool_size(1)
            .build();
        let search = ForkJoinPool::builder()
            .name("search")
            .parallelism(2)
            .build()?;
        Ok(Self {
            web,
            thumbnails,
            housekeeping,
            search,
            documents: (0..200_000_u64)
                .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .collect(),
            requests: Arc::default(),
        })
    }

    /// Starts the periodic tasks.
    pub(super) fn start_housekeeping(&self) -> Result<(), Box<dyn Error>> {
        let plan: [(&str, u64, u64); 3] = [
            ("expire sessions", 2000, 30),
            ("flush counters", 500, 5),
            ("rotate logs", 7000, 120),
        ];
        for (name, every, takes) in plan {
            let every = Duration::from_millis(every);
            let task = move || {
                // Its interrupt ends it early, which is as good an end as any.
                let _ = interrupt::sleep(Duration::from_millis(takes));
            };
            // The schedule goes on though nobody holds its handle.
            drop(
                self.housekeeping
                    .task()
                    .name(name)
                    .schedule_with_fixed_delay(every, every, task)?,
            );
        }
        Ok(())
    }

    /// A request arrives. Returns whether the service has taken it.
    pub(super) fn request(&self) -> bool {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let path = match number % 12 {
            0 | 3 | 6 | 9 => "GET /search",
            1 | 5 | 10 => "POST /photos",
            _ => "GET /",
        };
        let service = self.clone();
        let body = move || service.answer(number, path);
        self.web.task().name(path).execute(body).is_ok()
    }

    fn answer(&self, number: u64, path: &str) {
        // The database takes its time; now and then a long time.
        let takes = if number.is_multiple_of(97) {
            250
        } else {
            4 + number % 17
        };
        if interrupt::sleep(Duration::from_millis(takes)).is_err() {
            return;
        }
        match path {
            "GET /search" => {
                let documents = Arc::clone(&self.documents);
                let found = self
                    .search
                    .task()
                    .name("search")
                    .submit(move || count(&documents, number));
                // A service that ends rejects the search, and the request has no answer.
                if let Ok(found) = found {
                    let _ = found.join();
                }
            }
            "POST /photos" => {
                let thumbnail = move || {
                    std::hint::black_box(shrink(number));
                };
                let _ = self.thumbnails.task().name("thumbnail").execute(thumbnail);
            }
            _ => {}
        }
    }
}

/// Counts the documents that match, by halves.
fn count(documents: &[u64], number: u64) -> usize {
    if documents.len() <= 20_000 {
        return documents
            .iter()
            .filter(|document| (**document ^ number).is_multiple_of(1000))
            .count();
    }
    let (left, right) = documents.split_at(documents.len() / 2);
    let (left, right) = forkjoin::join(|| count(left, number), || count(right, number));
    left + right
}

/// Computes for some milliseconds, as one who shrinks a picture.
fn shrink(number: u64) -> u64 {
    (0..1_500_000_u64).fold(number, |pixels, n| {
        pixels.rotate_left(7) ^ n.wrapping_mul(number | 1)
    })
}
