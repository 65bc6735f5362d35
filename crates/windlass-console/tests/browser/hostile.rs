//! Names that would run a script if the page took them for markup.

use windlass::prelude::*;
use windlass::testing::{Gate, until};

use crate::driver::browse;
use crate::fixture::Fixture;

const NAME: &str = r#"<img src=x onerror="window.ran=1">"#;

#[test]
fn names_of_pools_and_tasks_are_text() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool(NAME, 1);
        // From here on failures are kept.
        fixture.monitor.sample();
        let failed = pool.task().name(NAME).submit(|| panic!("{NAME}"));
        failed.unwrap().join().unwrap_err();
        let gate = Gate::new();
        let wait = gate.clone();
        let running = pool.task().name(NAME);
        let running = running.submit(move || wait.pass_uninterruptibly()).unwrap();
        gate.await_waiting(1);
        until("the failure is known", || {
            let recent = fixture.monitor.recent(NAME);
            recent.is_some_and(|recent| !recent.failed.is_empty())
        });
        let shows = |times: usize| {
            let name = serde_json::Value::from(NAME);
            format!("document.querySelector('main').textContent.split({name}).length > {times}")
        };
        let view = format!("pool/{}", NAME.replace('%', "%25").replace('"', "%22"));
        page.open(&fixture.url("")).await;
        page.until("the pool is on its card", &shows(1)).await;
        page.click("[data-layout=table]").await;
        page.until("the pool is in the table", &shows(1)).await;
        page.open(&fixture.url(&view)).await;
        // The title, the task that runs, the slowest and the failed one.
        page.until("the tasks are shown", &shows(4)).await;
        let markup =
            "[...document.querySelectorAll('img')].some((image) => image.src.endsWith('/x'))";
        assert_eq!(page.value(markup).await, false);
        assert!(page.value("window.ran ?? null").await.is_null());
        gate.open();
        running.join().unwrap();
    });
}
