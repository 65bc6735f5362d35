//! What the page shows of each kind of pool, and its other layout.

use std::io;
use std::thread;
use std::time::Duration;

use windlass::forkjoin::join;
use windlass::prelude::*;
use windlass::thread_factory::{ThreadBody, ThreadFactory};
use windlass_console::remote::{DeadPage, Engine, Overview, RemoteError, RemoteSource, RemoteTask};

use crate::driver::browse;
use crate::fixture::{Fixture, Load, TOKEN};

/// Gives all its threads the same name.
#[derive(Debug)]
struct Twins;

impl ThreadFactory for Twins {
    fn new_thread(&self, body: ThreadBody) -> io::Result<()> {
        let thread = thread::Builder::new().name("worker".to_owned());
        thread.spawn(|| body.run()).map(drop)
    }
}

#[test]
fn workers_that_share_a_name_have_a_row_each() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = ThreadPoolExecutor::builder()
            .name("twins")
            .core_pool_size(40)
            .maximum_pool_size(40)
            .thread_factory(Twins)
            .build()
            .unwrap();
        pool.prestart_all_core_threads();
        fixture.registry.register(&pool);
        page.open(&fixture.url("")).await;
        page.until_shown("[data-pool=twins]").await;
        page.run(
            "window.draws = 0; window.reads = 0;
             import('./assets/workers.js').then(({ WorkerStrip: { prototype } }) => {
                 const { draw, refresh } = prototype;
                 prototype.draw = function () { window.draws += 1; return draw.call(this); };
                 prototype.refresh = function () { window.reads += 1; return refresh.call(this); };
                 location.hash = '#/pool/twins';
             });",
        )
        .await;
        page.until(
            "each has a row",
            "document.querySelectorAll('.worker').length === 40",
        )
        .await;
        page.run("window.draws = 0; window.reads = 0;").await;
        page.until("a few readings", "window.reads >= 3").await;
        // One drawing for each reading, and that of a reading before the count began.
        let drawn = page.value("window.draws <= window.reads + 1").await;
        assert_eq!(drawn, true, "{}", page.value("window.draws").await);
        page.assert_clean().await;
        pool.close();
    });
}

#[test]
fn a_scheduled_pool_shows_its_next_runs() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = ScheduledThreadPoolExecutor::builder()
            .name("timer")
            .core_pool_size(1)
            .build();
        fixture.registry.register(&pool);
        let second = Duration::from_secs(1);
        let often = pool.task().name("tick");
        let often = often
            .schedule_at_fixed_rate(second / 10, second / 10, || ())
            .unwrap();
        let once = pool.task().name("report");
        let once = once.schedule(3_600 * second, || ()).unwrap();
        page.open(&fixture.url("pool/timer")).await;
        let runs = "document.querySelector('[aria-labelledby=runs-title]').textContent";
        page.until(
            "both are shown",
            &format!("{runs}.includes('report') && {runs}.includes('tick')"),
        )
        .await;
        page.until_shown("[data-chart=lateness]").await;
        // The wait of a scheduled task is its lateness: it is not shown twice.
        assert_eq!(
            page.value("document.querySelector('[data-chart=wait]')")
                .await,
            serde_json::Value::Null
        );
        let tiles = page.text(".tiles--pool").await;
        assert!(tiles.contains("Lateness p99"), "{tiles}");
        page.until(
            "how late they are is measured",
            "document.querySelector('[data-chart=lateness] .legend__value').textContent !== '–'",
        )
        .await;
        page.assert_clean().await;
        drop((often, once));
        pool.shutdown_now();
    });
}

#[test]
fn a_fork_join_pool_shows_its_steals() {
    fn split(depth: u32) {
        if depth > 0 {
            join(|| split(depth - 1), || split(depth - 1));
        }
    }
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = ForkJoinPool::builder()
            .name("forks")
            .parallelism(2)
            .build()
            .unwrap();
        fixture.registry.register(&pool);
        pool.submit(|| split(10)).unwrap().join().unwrap();
        page.open(&fixture.url("pool/forks")).await;
        page.until(
            "its parallelism",
            "document.querySelector('[aria-labelledby=steal-title] dd').textContent === '2'",
        )
        .await;
        page.until_shown("[data-chart=steals]").await;
        page.until_shown("#tune-parallelism").await;
        // It has no commands, so none are offered.
        let commands =
            "document.querySelector('[aria-labelledby=actions-title]').checkVisibility()";
        page.until("no commands", &format!("!{commands}")).await;
        page.assert_clean().await;
        pool.close();
    });
}

#[test]
fn the_table_is_remembered_for_the_next_visit() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        let _load = Load::on(std::slice::from_ref(&pool), 2);
        page.open(&fixture.url("")).await;
        page.click("[data-layout=table]").await;
        page.until(
            "figures",
            "document.querySelector('tr[data-pool=web]').textContent.includes('2–4')",
        )
        .await;
        page.open("about:blank").await;
        page.open(&fixture.url("")).await;
        page.until_shown("tr[data-pool=web]").await;
        page.assert_clean().await;
    });
}

#[test]
fn a_pool_is_paused_and_resumed_on_the_page() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        page.click_named("Pause").await;
        page.click("dialog .button--danger").await;
        page.until_shown(".chip[data-state=paused]").await;
        let is_paused = || fixture.monitor.pool("web").unwrap().paused_until.is_some();
        assert!(is_paused());
        page.until(
            "when it resumes is shown",
            "document.querySelector('.actions__until').textContent.startsWith('resumes by itself in')",
        )
        .await;
        page.click_named("Resume now").await;
        page.until_shown(".detail__title .chip[data-state=running]")
            .await;
        assert!(!is_paused());
        // A pool takes one command a second: the page waits and asks again.
        page.assert_no_error_but(|message| message.contains("429"))
            .await;
        pool.close();
    });
}

#[test]
fn a_pool_is_shut_down_on_the_page_only_if_the_program_allows_it() {
    browse(async |page| {
        let fixture = Fixture::new();
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.until_shown("#tune-core").await;
        let offered = "[...document.querySelectorAll('button')]
            .some((button) => button.textContent === 'Shut down' && button.checkVisibility())";
        assert_eq!(page.value(offered).await, false);
        drop((fixture, pool));

        let fixture = Fixture::with(|console| console.allow_shutdown(true));
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("pool/web")).await;
        page.unlock(TOKEN).await;
        page.click_named("Shut down").await;
        page.click("dialog .button--danger").await;
        page.until_shown(".chip[data-state=terminated], .gone")
            .await;
        assert!(pool.is_shutdown());
    });
}

/// An engine without queues, which answers.
struct Quick;

impl RemoteSource for Quick {
    fn overview(&self) -> Result<Overview, RemoteError> {
        let engine = Engine {
            kind: "memory".to_owned(),
            up: true,
            latency_seconds: Some(0.0003),
        };
        Ok(Overview {
            engine,
            queues: Vec::new(),
            workers: Vec::new(),
        })
    }

    fn task(&self, _queue: Option<&str>, _id: &str) -> Result<RemoteTask, RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn dead(&self, _queue: Option<&str>, _cursor: Option<&str>) -> Result<DeadPage, RemoteError> {
        Ok(DeadPage {
            tasks: Vec::new(),
            next: None,
        })
    }

    fn cancel(&self, _id: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn retry_dead(&self, _id: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn delete_dead(&self, _id: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn pause(&self, _queue: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }

    fn resume(&self, _queue: &str) -> Result<(), RemoteError> {
        Err(RemoteError::NotFound)
    }
}

#[test]
fn the_header_tells_of_the_engine_in_every_view() {
    browse(async |page| {
        let fixture = Fixture::with(|console| console.remote(Quick));
        let pool = fixture.pool("web", 2);
        page.open(&fixture.url("")).await;
        page.until(
            "the engine is up",
            "document.querySelector('#fact-engine').textContent === 'memory up 300 µs'
                && document.querySelector('#fact-engine').checkVisibility()",
        )
        .await;
        page.assert_clean().await;
        pool.close();
    });
}
