//! What the page says of changes that were undone or refused.

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
