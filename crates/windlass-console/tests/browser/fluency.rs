//! How long the page keeps its thread.

use windlass::testing::until;

use crate::driver::browse;
use crate::fixture::{Fixture, Load};
use crate::page::Page;

/// The longest that the page may keep its thread, in milliseconds.
const LONGEST_TASK: f64 = 100.0;

/// How many spans of figures are looked at.
const SPANS: usize = 7;

/// Notes every long task from the start of the page on, and counts the figures that arrive.
const OBSERVE: &str = "
    window.longest = 0;
    window.seconds = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
        window.longest = Math.max(window.longest, entry.duration);
    })).observe({ type: 'longtask', buffered: true });
    import('./assets/state.js').then(({ on }) => on('pools', () => { window.seconds += 1; }));";

/// Asserts that the page takes figures without a long task, in most spans of five seconds.
///
/// A long task is measured on the clock, so it also contains what other processes took of the processor: on
/// a loaded machine any page has some. They come now and then, while a page that is too slow for its figures
/// is so at each of them. So a majority of the spans must be clean; one clean span of many, as by chance,
/// is not enough.
async fn assert_fluent(page: &Page, what: &str) {
    let mut spans = Vec::new();
    let is_clean = |longest: &&f64| **longest <= LONGEST_TASK;
    while spans.len() < SPANS {
        page.run("window.longest = 0; window.seconds = 0;").await;
        page.until("five seconds of figures", "window.seconds >= 5")
            .await;
        spans.push(page.value("window.longest").await.as_f64().unwrap());
        let clean = spans.iter().filter(is_clean).count();
        // The rest of the spans would not change the outcome.
        if clean > SPANS / 2 {
            return;
        }
        if spans.len() - clean > SPANS / 2 {
            break;
        }
    }
    panic!("{what}: the longest task of each span took, in milliseconds: {spans:?}");
}

/// Asserts that a view is drawn for the first time without a long task, in most of a few attempts.
///
/// What the browser itself does before the first figures, such as compiling the scripts, is counted too.
async fn assert_draws_fluently(page: &Page, address: &str, drawn: &str) {
    let mut attempts = Vec::new();
    for _ in 0..5 {
        // Another document: a change behind `#` would keep the one that is drawn already.
        page.open("about:blank").await;
        page.open(address).await;
        page.run(OBSERVE).await;
        page.until("all of it is drawn", drawn).await;
        page.until("one more second of figures", "window.seconds >= 1")
            .await;
        attempts.push(page.value("window.longest").await.as_f64().unwrap());
    }
    let clean = attempts.iter().filter(|longest| **longest <= LONGEST_TASK);
    assert!(
        clean.count() > attempts.len() / 2,
        "{address}: the longest task of each first drawing took, in milliseconds: {attempts:?}"
    );
}

#[test]
fn fifty_pools_and_two_hundred_workers_stay_fluent() {
    browse(async |page| {
        let fixture = Fixture::new();
        let mut pools: Vec<_> = (1..50)
            .map(|index| fixture.pool(&format!("pool-{index}"), 1))
            .collect();
        pools.push(fixture.pool("large", 200));
        for pool in &pools {
            pool.prestart_all_core_threads();
        }
        until("all threads are there", || {
            pools
                .iter()
                .all(|pool| pool.pool_size() >= pool.core_pool_size())
        });
        let _load = Load::on(&pools[..49], 1);
        let large = pools[49].clone();
        let _large_load = Load::that_keeps_busy(&large, 200);
        until("most of its workers are busy", || {
            large.active_count() > 150
        });
        let cards = "document.querySelectorAll('.card').length === 50";
        assert_draws_fluently(&page, &fixture.url(""), cards).await;
        assert_fluent(&page, "cards").await;
        page.click("[data-layout=table]").await;
        page.until(
            "all pools are in the table",
            "document.querySelectorAll('tr[data-pool]').length === 50",
        )
        .await;
        assert_fluent(&page, "table").await;
        let workers = "document.querySelectorAll('.worker').length === 200";
        assert_draws_fluently(&page, &fixture.url("pool/large"), workers).await;
        assert_fluent(&page, "workers").await;
        page.assert_clean().await;
    });
}
