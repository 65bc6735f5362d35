//! What happens in a pool, as spans and events of `tracing`.

#![cfg(feature = "tracing")]
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber, info, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use windlass::context::TracingSpan;
use windlass::monitor::{
    Change, ChangeOptions, Monitor, Registry, TracedPolicy, TracedTasks, TracedThreads,
    trace_submissions,
};
use windlass::pool::AbortPolicy;
use windlass::prelude::*;
use windlass::testing::{Gate, until};
use windlass::thread_factory::DefaultThreadFactory;

/// The message of each event, after the names of the spans around it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let spans = context.event_scope(event).into_iter();
        let names = spans
            .flat_map(|scope| scope.from_root())
            .map(|span| span.name());
        let path: String = names.map(|name| format!("{name}/")).collect();
        self.0.lock().unwrap().push(format!("{path}{}", message.0));
    }
}

impl Log {
    /// Returns the log of this process, which has one subscriber.
    fn global() -> Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        let log = LOG.get_or_init(|| {
            let log = Self::default();
            let subscriber = tracing_subscriber::registry().with(log.clone());
            tracing::subscriber::set_global_default(subscriber).unwrap();
            log
        });
        log.clone()
    }

    fn has(&self, line: &str) -> bool {
        self.0.lock().unwrap().iter().any(|seen| seen == line)
    }
}

/// WL-423
#[test]
fn runs_have_spans_and_what_happens_around_them_has_events() {
    let log = Log::global();
    let pool = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(1)
        .work_queue(windlass::queue::LinkedBlockingQueue::with_capacity(1).unwrap())
        .prepare_tasks(trace_submissions("web"))
        .hooks(TracedTasks::new("web"))
        .rejection_handler(TracedPolicy::new("web", AbortPolicy))
        .thread_factory(TracedThreads::new(
            "web",
            DefaultThreadFactory::named("web"),
        ))
        .build()
        .unwrap();
    let gate = Gate::new();
    let inside = gate.clone();
    let first = pool.submit(move || {
        inside.pass_uninterruptibly();
        info!("inside");
    });
    gate.await_waiting(1);
    let second = pool.submit(|| panic!("on purpose")).unwrap();
    assert!(pool.execute(|| ()).is_err());
    gate.open();
    first.unwrap().join().unwrap();
    assert!(second.join().is_err());

    change_size(&pool, &log);
    pool.close();
    let lines = [
        "submit",
        "thread starts",
        "task/start",
        "task/inside",
        "task/end",
        "task/failed",
        "rejected",
    ];
    for line in lines {
        assert!(
            log.has(line),
            "{line} is missing in {:?}",
            log.0.lock().unwrap()
        );
    }
    // The pool has ended before its threads have.
    until("the end of the threads", || log.has("thread ends"));
    // The span of a task ends with it.
    info!("after");
    assert!(log.has("after"));
}

/// WL-423
#[test]
fn the_span_of_a_run_is_a_child_of_the_one_that_its_submitter_was_in() {
    let log = Log::global();
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .hooks(TracedTasks::new("child"))
        .propagate(TracingSpan)
        .build()
        .unwrap();
    let request = info_span!("request").entered();
    pool.execute(|| info!("executed")).unwrap();
    pool.submit(|| info!("submitted")).unwrap().join().unwrap();
    let broken = pool.submit(|| panic!("on purpose")).unwrap();
    broken.join().unwrap_err();
    // It is cancelled before it starts, and its hooks may be called all the same.
    let gate = Gate::new();
    let inside = gate.clone();
    pool.execute(move || inside.pass_uninterruptibly()).unwrap();
    gate.await_waiting(1);
    let cancelled = pool.submit(|| info!("cancelled")).unwrap();
    assert!(cancelled.cancel());
    gate.open();
    drop(request);
    pool.execute(|| info!("without a parent")).unwrap();
    pool.close();
    let lines = [
        "request/task/start",
        "request/task/executed",
        "request/task/submitted",
        "request/task/end",
        "request/task/failed",
        "task/without a parent",
    ];
    for line in lines {
        assert!(
            log.has(line),
            "{line} is missing in {:?}",
            log.0.lock().unwrap()
        );
    }
}

/// Changes the size of the pool through a monitor, and waits for the event of that.
fn change_size(pool: &ThreadPoolExecutor, log: &Log) {
    let registry = Registry::new();
    registry.register(pool);
    let monitor = Monitor::builder()
        .registry(&registry)
        .manual(true)
        .start()
        .unwrap();
    monitor.trace_events().unwrap();
    let change = Change::new().core(2).max(2);
    monitor
        .change("web", &change, &ChangeOptions::new())
        .unwrap();
    until("the event of the change", || log.has("reconfigure"));
}
