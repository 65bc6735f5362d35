//! What the page says of changes that were undone or refused.

use fantoccini::key::Key;
use windlass::monitor::{Change, ChangeOptions, Thresholds};
use windlass::prelude::*;
use windlass::queue::ResizableBlockingQueue;
use windlass::testing::until;

use crate::driver::browse;
use crate::fixture::{Fixture, TOKEN};
use crate::tune_core;

#[test]
fn a_change_that_somebody_reverts_did_not_revert_by_itself() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        tune_core(&page, 3, "900").await;
        page.click_named("Revert now").await;
        until("the pool has its old core size", || {
            pool.core_pool_size() == 2
        });
        page.until(
            "it is in the audit",
            "document.querySelector('.audit__entry').textContent.includes('Reverted: Core threads 3 → 2')",
        )
        .await;
        let by = page.text(".audit__by").await;
        assert!(by.starts_with("from the console, 127.0.0.1:"), "{by}");
        page.until(
            "the entry of the change says so too",
            "document.querySelectorAll('.audit__entry')[1].textContent.includes('(reverted ')",
        )
        .await;
        // A pool takes one change a second: the page waits and asks again.
        page.assert_no_error_but(|message| message.contains("429"))
            .await;
    });
}

#[test]
fn the_audit_says_what_was_changed_and_what_was_warned_of() {
    browse(async |page| {
        let fixture = Fixture::new();
        let _pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        // The queue has no bound, so a larger maximum has no effect.
        let change = Change::new().max(5);
        let options = ChangeOptions::new();
        let changed = fixture.monitor.change("web", &change, &options).unwrap();
        let mut thresholds = Thresholds::default();
        thresholds.activity = 0.5;
        fixture.monitor.set_thresholds("web", thresholds);
        let says = |entry: usize, text: &str| {
            let entries = "document.querySelectorAll('.audit__entry')";
            format!("{entries}[{entry}].textContent.includes({text:?})")
        };
        let warning = changed.warnings.first().expect("a warning");
        page.until("the warning is shown", &says(1, warning)).await;
        page.until("the threshold is shown", &says(0, "activity 0.8 -> 0.5"))
            .await;
        page.assert_clean().await;
    });
}

#[test]
fn an_empty_capacity_is_one_without_a_bound() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = ThreadPoolExecutor::builder()
            .name("web")
            .core_pool_size(1)
            .work_queue(ResizableBlockingQueue::with_capacity(200).unwrap())
            .build()
            .unwrap();
        fixture.registry.register(&pool);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        let delete = char::from(Key::Delete).to_string();
        page.fill("#tune-capacity", &delete).await;
        page.click(".tune button[type=submit]").await;
        // The step is as large as any.
        page.click("dialog .button--danger").await;
        page.until_shown("#apply").await;
        page.click("#apply").await;
        until("the bound is gone", || pool.queue().capacity().is_none());
        page.assert_no_error_but(|message| message.contains("422"))
            .await;
    });
}

#[test]
fn a_change_of_an_older_version_is_previewed_again() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        page.fill("#tune-core", "3").await;
        page.click(".tune button[type=submit]").await;
        page.until_shown("#apply").await;
        let version = || fixture.monitor.pool("web").unwrap().version;
        let before = version();
        pool.set_maximum_pool_size(6).unwrap();
        until("the monitor has seen the change", || version() > before);
        page.click("#apply").await;
        page.until_shown(".tune > .field__error").await;
        let said = page.text(".tune > .field__error").await;
        assert_eq!(
            said,
            format!(
                "The settings have version {} by now. Preview again.",
                version()
            )
        );
        assert_eq!(pool.core_pool_size(), 2);
        page.assert_no_error_but(|message| message.contains("409"))
            .await;
    });
}
