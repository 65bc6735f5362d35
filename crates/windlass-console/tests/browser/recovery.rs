//! What the page does when a connection breaks, and when the browser keeps nothing for it.

use windlass::monitor::{Monitor, Registry};
use windlass::prelude::*;
use windlass_console::Console;

use crate::driver::browse;
use crate::fixture::Fixture;

#[test]
fn a_new_connection_goes_on_after_the_last_event() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("")).await;
        page.until_shown("[data-pool=web]").await;
        page.run(
            "window.hellos = 0; window.figures = 0; window.asked = [];
             const { fetch } = window;
             window.fetch = (path, options) => {
                 if (path === 'events') window.asked.push(options.headers['Last-Event-ID'] ?? null);
                 return fetch(path, options);
             };
             Promise.all([import('./assets/state.js'), import('./assets/live.js')]).then(([state, live]) => {
                 state.on('hello', () => { window.hellos += 1; });
                 state.on('pools', () => { window.figures += 1; });
                 live.connect();
             });",
        )
        .await;
        page.until("figures come again", "window.figures >= 2")
            .await;
        let asked = page.value("window.asked").await;
        let last = asked[0].as_str().and_then(|id| id.parse::<u64>().ok());
        assert!(last.is_some(), "asked for: {asked}");
        // The server still has what follows: there is no need for a whole snapshot.
        assert_eq!(page.value("window.hellos").await, 0);
        page.assert_clean().await;
        pool.close();
    });
}

#[test]
fn several_figures_at_once_are_one() {
    browse(async |page| {
        let fixture = Fixture::new();
        page.open(&fixture.url("")).await;
        page.run(
            "import('./assets/live.js').then(({ EventParser }) => {
                 const parser = new EventParser();
                 const events = [':\\n', 'id: 7\\nevent: po', 'ols\\ndata: {\\n', 'data: }\\n\\nid:8\\n', '\\n'];
                 window.parsed = events.flatMap((chunk) => parser.take(chunk));
             });",
        )
        .await;
        page.until("parsed", "window.parsed !== undefined").await;
        let events = serde_json::json!([{ "name": "pools", "id": "7", "data": "{\n}" }]);
        assert_eq!(page.value("window.parsed").await, events);
    });
}

#[test]
fn the_page_needs_no_storage() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.run_first(
            "for (const name of ['localStorage', 'sessionStorage'])
                 Object.defineProperty(window, name, {
                     get() { throw new DOMException('not allowed', 'SecurityError'); },
                 });",
        )
        .await;
        page.open(&fixture.url("")).await;
        page.until_shown("[data-pool=web]").await;
        page.click("[data-layout=table]").await;
        page.until_shown("tr[data-pool=web]").await;
        page.click("#theme").await;
        page.until(
            "another theme",
            "document.documentElement.dataset.theme === 'light'",
        )
        .await;
        page.unlock(crate::fixture::TOKEN).await;
        page.assert_clean().await;
        pool.close();
    });
}

/// A page that was left keeps no connection, of which a browser has six for a host; and the limit of requests allows for
/// the some forty files of a page.
#[test]
fn a_page_that_is_loaded_again_and_again_is_shown_each_time() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        for _ in 0..16 {
            // Another document: the same address would only move within the page.
            page.open("about:blank").await;
            page.open(&fixture.url("")).await;
            page.until_shown("[data-pool=web]").await;
        }
        // Not loaded, but taken out of the browser's memory.
        page.run("history.go(-2)").await;
        page.until(
            "the page is live again",
            "document.querySelector('#connection[data-state=live]') !== null",
        )
        .await;
        page.assert_clean().await;
        pool.close();
    });
}

#[test]
fn a_monitor_that_takes_no_samples_by_itself_is_no_dead_connection() {
    browse(async |page| {
        let monitor = Monitor::builder().registry(&Registry::new()).manual(true);
        let monitor = monitor.start().unwrap();
        let builder = Console::builder().monitor(&monitor).bind("127.0.0.1:0");
        let console = builder.announce(false).start().unwrap();
        page.open(&console.url()).await;
        let live = "document.querySelector('#connection').dataset.state === 'live'";
        page.until("the page is connected", live).await;
        // The clock leaps, and the page looks at it once a second.
        page.run(
            "window.asked = 0; window.ticks = 0;
             const { fetch } = window;
             window.fetch = (path, options) => {
                 if (path === 'events') window.asked += 1;
                 return fetch(path, options);
             };
             const { now } = Date;
             window.leap = (ms) => {
                 window.ticks = 0;
                 Date.now = () => now() + ms;
             };
             setInterval(() => { window.ticks += 1; }, 1000);
             window.leap(10_000);",
        )
        .await;
        page.until("the page has looked", "window.ticks >= 3").await;
        assert_eq!(page.value("window.asked").await, 0);
        // Not even a keep-alive came.
        page.run("window.leap(60_000);").await;
        page.until("the page connects again", "window.asked === 1")
            .await;
        page.until("the page is connected", live).await;
    });
}

#[test]
fn what_is_no_text_in_the_address_leaves_the_page_as_it_is() {
    browse(async |page| {
        let fixture = Fixture::new();
        let _pool = fixture.pool("web", 2);
        let page_address = fixture.url("").replace("#/", "#token=%");
        page.open(&page_address).await;
        page.until_shown("[data-pool=web]").await;
    });
}
