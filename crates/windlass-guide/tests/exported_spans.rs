//! What a collector of OpenTelemetry gets of a pool, set up as the guide says.

use std::sync::{Arc, Mutex};

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing_subscriber::prelude::*;
use windlass::context::TracingSpan;
use windlass::monitor::TracedTasks;
use windlass::prelude::*;

/// Keeps what is exported, in place of a collector.
#[derive(Clone, Debug, Default)]
struct Collector(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().expect("no test has failed").extend(batch);
        Ok(())
    }
}

#[test]
fn a_task_is_exported_as_a_span_of_its_submitter() {
    let collector = Collector::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(collector.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop"));
    // For all threads: tasks run on others than this one.
    tracing_subscriber::registry().with(layer).init();
    let pool = ThreadPoolExecutor::builder()
        .name("web")
        .core_pool_size(2)
        .hooks(TracedTasks::new("web"))
        .propagate(TracingSpan)
        .build()
        .expect("a pool");

    let request = tracing::info_span!("request").entered();
    let rendered = pool
        .task()
        .name("render")
        .submit(|| tracing::info!("half done"));
    rendered.expect("accepted").join().expect("it runs");
    drop(request);
    pool.close();
    provider.shutdown().expect("the collector takes all");

    let spans = collector.0.lock().expect("no test has failed");
    let named = |name: &str| {
        let found = spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("a span {name} in {spans:?}"))
    };
    let (request, task) = (named("request"), named("task"));
    assert_eq!(task.parent_span_id, request.span_context.span_id());
    assert_eq!(
        task.span_context.trace_id(),
        request.span_context.trace_id()
    );
    let attribute = |key: &str| {
        let mut attributes = task.attributes.iter();
        let found = attributes.find(|attribute| attribute.key.as_str() == key);
        found.map(|attribute| attribute.value.to_string())
    };
    assert_eq!(attribute("pool").as_deref(), Some("web"));
    assert_eq!(attribute("name").as_deref(), Some("render"), "{task:?}");
    let said: Vec<_> = task.events.iter().map(|event| &*event.name).collect();
    assert!(said.contains(&"half done"), "{said:?}");
}
