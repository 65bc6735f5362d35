//! The queues of an engine on the page.

use std::time::Duration;

use windlass_console::remote::EngineSource;
use windlass_remote::engine::{
    Engine, FetchRequest, MemoryEngine, NewTask, Report, Reported, Verdict,
};
use windlass_remote::{Failure, FailureKind, Priority, QueueName, TaskOptions};

use crate::driver::browse;
use crate::fixture::{Fixture, TOKEN};

fn submit(engine: &MemoryEngine, queue: &QueueName, id: &str) {
    let task = NewTask {
        id: id.parse().unwrap(),
        name: "image.resize".into(),
        version: 1,
        payload: Vec::new(),
        options: TaskOptions::default(),
        delay: Duration::ZERO,
        reply_to: None,
    };
    engine.submit(queue, &[task]).unwrap();
}

/// Makes a dead letter of the only task of a queue.
fn bury(engine: &MemoryEngine, queue: &QueueName) {
    let request = FetchRequest {
        count: 1,
        wait: Duration::ZERO,
        lease: Duration::from_secs(60),
        first: Priority::High,
    };
    let mut feed = engine.tasks(queue, "press").unwrap();
    let delivery = feed.fetch(&request).unwrap().deliveries.remove(0);
    let failure = Failure::new(
        FailureKind::Task,
        "no such image, and a text of some length",
    );
    let report = Report {
        lease: delivery.lease,
        verdict: Verdict::Dead(failure),
    };
    assert_eq!(
        engine.report(queue, &[report]).unwrap(),
        [Reported::Accepted]
    );
}

#[test]
fn queues_fit_on_a_phone_and_one_without_a_worker_says_so() {
    browse(async |page| {
        let engine = MemoryEngine::new();
        let [mail, media] = ["mail", "media"].map(|name| name.parse::<QueueName>().unwrap());
        submit(&engine, &mail, "m1");
        submit(&engine, &media, "broken");
        bury(&engine, &media);
        let source = EngineSource::new("memory", engine.clone());
        let fixture = Fixture::with(|console| console.remote(source).show_errors(true));
        let drawn = "document.querySelectorAll('.data--stack tbody tr').length === 3
            && document.querySelector('.chip[data-state=alert]').checkVisibility()
            && document.querySelector('[aria-label=\"Retry broken\"]').checkVisibility()";
        page.resize((360, 900), 1.0).await;
        page.open(&fixture.url("remote")).await;
        page.until("it is drawn", drawn).await;
        // What can be done with a queue is not behind an edge, on a phone either.
        page.until(
            "all buttons are in sight",
            "[...document.querySelectorAll('.data--stack .button')].filter((node) => node.checkVisibility())
                .every((node) => node.getBoundingClientRect().right <= innerWidth)",
        )
        .await;
        page.unlock(TOKEN).await;
        page.click("[aria-label='Pause mail']").await;
        page.click("dialog .button--danger").await;
        page.until_shown(".chip[data-state=paused]").await;
        page.until(
            "a queue that is paused needs no worker",
            "!document.querySelector('.chip[data-state=alert]').checkVisibility()",
        )
        .await;
        page.until(
            "who has paused which queue is said",
            "document.querySelector('.audit__entry').textContent.includes('remote pause: queue mail')",
        )
        .await;
        page.assert_clean().await;
    });
}
