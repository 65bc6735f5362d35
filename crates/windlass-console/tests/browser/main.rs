//! The page in a real browser: chromium, driven by chromedriver, against a console in this process.
//!
//! Where either is missing, the tests are left out and say so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod driver;
mod fixture;
mod fluency;
mod hostile;
mod kinds;
mod looks;
mod page;
mod pictures;
mod recovery;
#[cfg(feature = "remote")]
mod remote;
mod tuning;

use std::time::Duration;

use driver::browse;
use fantoccini::key::Key;
use fixture::{Fixture, Load, TOKEN};
use page::Page;
use windlass::monitor::Thresholds;
use windlass::prelude::*;
use windlass::testing::{Gate, until};

/// Edits the core size of the pool that is shown, and applies it.
async fn tune_core(page: &Page, core: usize, revert_after: &str) {
    page.fill("#tune-core", &core.to_string()).await;
    page.click(".tune button[type=submit]").await;
    page.until_shown("#apply").await;
    page.choose("#revert-after", revert_after).await;
    page.click("#apply").await;
}

#[test]
fn figures_move_under_load() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        let load = Load::on(std::slice::from_ref(&pool), 3);
        page.open(&fixture.url("")).await;
        let done = "document.querySelector('[data-pool=web] dd').textContent";
        page.until("tasks are done", &format!("parseFloat({done}) > 10"))
            .await;
        drop(load);
        page.until("none are done any more", &format!("{done} === '0/s'"))
            .await;
        page.open(&fixture.url("pool/web")).await;
        page.until_shown("[data-chart=threads] canvas").await;
        page.until(
            "the workers are shown",
            "document.querySelectorAll('.worker').length === 2",
        )
        .await;
        page.assert_clean().await;
        pool.close();
    });
}

#[test]
fn a_pool_that_is_tuned_on_the_page_has_the_new_core_size() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        tune_core(&page, 4, "0").await;
        until("the pool has its new core size", || {
            pool.core_pool_size() == 4
        });
        page.until(
            "the page shows it",
            "document.querySelector('.tile__note').textContent.includes('core 4')",
        )
        .await;
        page.until(
            "it is in the audit",
            "document.querySelector('.audit').textContent.includes('Core threads 2 → 4')",
        )
        .await;
        page.assert_clean().await;
    });
}

#[test]
fn a_change_that_nobody_confirms_is_reverted() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        tune_core(&page, 3, "10").await;
        page.until(
            "a countdown",
            "document.querySelector('.pending').checkVisibility()",
        )
        .await;
        assert_eq!(pool.core_pool_size(), 3);
        page.until(
            "its end",
            "!document.querySelector('.pending').checkVisibility()",
        )
        .await;
        until("the pool has its old core size", || {
            pool.core_pool_size() == 2
        });
        page.until(
            "the form follows",
            "document.querySelector('#tune-core').value === '2'",
        )
        .await;
        page.until(
            "it is in the audit",
            "document.querySelector('.audit').textContent.includes('Reverted')",
        )
        .await;
        page.assert_clean().await;
    });
}

#[test]
fn a_change_that_is_confirmed_stays() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        tune_core(&page, 3, "900").await;
        page.click(".pending .button--primary").await;
        page.until(
            "no countdown",
            "!document.querySelector('.pending').checkVisibility()",
        )
        .await;
        assert_eq!(pool.core_pool_size(), 3);
        assert!(
            fixture
                .monitor
                .pool("web")
                .unwrap()
                .pending_revert
                .is_none()
        );
        page.assert_clean().await;
    });
}

#[test]
fn an_alert_comes_and_goes() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("mail", 1);
        let mut thresholds = Thresholds::default();
        thresholds.queue_age = Duration::from_millis(100);
        page.open(&fixture.url("")).await;
        page.until_shown("[data-pool=mail]").await;
        assert!(fixture.monitor.set_thresholds("mail", thresholds));
        let gate = Gate::new();
        for _ in 0..2 {
            let gate = gate.clone();
            pool.execute(move || gate.pass_uninterruptibly()).unwrap();
        }
        page.until_shown("[data-pool=mail] .chip[data-state=alert]")
            .await;
        page.until_shown(".panel--alerts").await;
        page.until(
            "it is read out",
            "document.querySelector('#announcer').textContent.startsWith('Alert in pool mail')",
        )
        .await;
        gate.open();
        page.until(
            "it goes",
            "document.querySelector('[data-pool=mail] .chip[data-state=alert]') === null",
        )
        .await;
        page.until(
            "that is read out",
            "document.querySelector('#announcer').textContent.startsWith('Cleared in pool mail')",
        )
        .await;
        page.assert_clean().await;
    });
}

#[test]
fn a_pool_that_ends_vanishes() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("short-lived", 1);
        let other = fixture.pool("long-lived", 1);
        page.open(&fixture.url("pool/short-lived")).await;
        page.until_shown("#tune-core").await;
        pool.close();
        drop(pool);
        page.until(
            "its view says so",
            "document.querySelector('.gone').textContent.includes('This pool has ended')",
        )
        .await;
        page.open(&fixture.url("")).await;
        page.until_shown("[data-pool=long-lived]").await;
        assert_eq!(
            page.value("document.querySelector('[data-pool=short-lived]')")
                .await,
            serde_json::Value::Null
        );
        // What is asked about a pool may cross its end.
        page.assert_no_error_but(|message| message.contains("/short-lived/"))
            .await;
        page.assert_no_other_host().await;
        other.close();
    });
}

#[test]
fn the_page_recovers_when_the_server_comes_back() {
    browse(async |page| {
        let mut fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        let _load = Load::on(std::slice::from_ref(&pool), 2);
        page.open(&fixture.url("pool/web")).await;
        page.until_shown("[data-chart=threads] canvas").await;
        let address = fixture.stop();
        page.until_shown("#banner").await;
        assert!(page.text("#banner").await.starts_with("Reconnecting"));
        fixture.start_again(address);
        page.until(
            "the banner goes",
            "!document.querySelector('#banner').checkVisibility()",
        )
        .await;
        page.until(
            "it is live",
            "document.querySelector('#connection').dataset.state === 'live'",
        )
        .await;
        pool.set_core_pool_size(4).unwrap();
        page.until(
            "figures come again",
            "document.querySelector('.tile__note').textContent.includes('core 4')",
        )
        .await;
        page.assert_no_error_but(|message| message.contains("net::ERR_"))
            .await;
        page.assert_no_other_host().await;
    });
}

#[test]
fn the_keyboard_alone_reaches_tuning() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        let enter = char::from(Key::Enter).to_string();
        page.open(&fixture.url("")).await;
        page.until_shown("[data-pool=web]").await;
        page.tab_until("document.activeElement.textContent === 'web'")
            .await;
        page.press(&enter).await;
        page.until_shown("#tune-core").await;
        page.tab_until("document.activeElement.textContent === 'Tune'")
            .await;
        page.press(&enter).await;
        page.until(
            "the first field has the focus",
            "document.activeElement.id === 'tune-core'",
        )
        .await;
        page.press(&format!(
            "{}a{}4{enter}",
            char::from(Key::Control),
            char::from(Key::Null)
        ))
        .await;
        page.until(
            "the token is asked for",
            "document.activeElement.id === 'token'",
        )
        .await;
        page.press(&format!("{TOKEN}{enter}")).await;
        page.until_shown("#apply").await;
        page.tab_until("document.activeElement.id === 'apply'")
            .await;
        page.press(&enter).await;
        until("the pool has its new core size", || {
            pool.core_pool_size() == 4
        });
        page.assert_clean().await;
    });
}
