//! The figures of a monitor, as the recorder of the `metrics` crate receives them.

#![cfg(feature = "metrics")]
#![expect(clippy::unwrap_used, clippy::disallowed_types, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};
use windlass::monitor::{Monitor, Registry};
use windlass::prelude::*;
use windlass::testing::until;

/// The last value of each metric, by its name and labels.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<BTreeMap<String, f64>>>);

struct One {
    recorded: Recorded,
    key: String,
}

impl Recorded {
    fn one(&self, key: &Key) -> Arc<One> {
        let labels = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()));
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        Arc::new(One {
            recorded: self.clone(),
            key: format!("{}{{{}}}", key.name(), labels.join(",")),
        })
    }

    fn get(&self, key: &str) -> Option<f64> {
        self.0.lock().unwrap().get(key).copied()
    }
}

impl One {
    fn record(&self, value: f64) {
        self.recorded
            .0
            .lock()
            .unwrap()
            .insert(self.key.clone(), value);
    }
}

impl CounterFn for One {
    fn increment(&self, _value: u64) {
        panic!("counters are absolute")
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn absolute(&self, value: u64) {
        self.record(value as f64);
    }
}

impl GaugeFn for One {
    fn increment(&self, _value: f64) {
        panic!("gauges are absolute")
    }

    fn decrement(&self, _value: f64) {
        panic!("gauges are absolute")
    }

    fn set(&self, value: f64) {
        self.record(value);
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.one(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.one(key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// WL-422
#[test]
fn the_recorder_of_the_metrics_crate_receives_absolute_figures_after_each_sample() {
    let recorded = Recorded::default();
    assert!(metrics::set_global_recorder(recorded.clone()).is_ok());
    let registry = Registry::new();
    let builder = ThreadPoolExecutor::builder().name("web").core_pool_size(2);
    let pool = builder.build().unwrap();
    registry.register(&pool);
    let monitor = Monitor::builder()
        .registry(&registry)
        .manual(true)
        .start()
        .unwrap();
    monitor.publish_metrics().unwrap();
    for count in [1.0, 2.0] {
        pool.submit(|| ()).unwrap().join().unwrap();
        until("the figures of the next sample", || {
            monitor.sample();
            let completed = "windlass_pool_tasks_completed_total{outcome=ok,pool=web}";
            recorded.get(completed) == Some(count)
        });
    }
    assert_eq!(
        recorded.get("windlass_pool_threads_core{pool=web}"),
        Some(2.0)
    );
    // A run is counted a moment before its time is recorded.
    until("the quantiles of the next sample", || {
        monitor.sample();
        let p99 = "windlass_pool_task_run_seconds{pool=web,quantile=0.99}";
        recorded.get(p99).is_some()
    });
}
