//! The current `tracing` span travels with tasks.

#![cfg(feature = "tracing")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use tracing::{Event, Subscriber, info, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};
use windlass::context::TracingSpan;
use windlass::forkjoin::{Cx, RecursiveTask};
use windlass::prelude::*;
use windlass::queue::LinkedBlockingQueue;
use windlass::testing::Gate;

/// The names of the spans around each event, from the root, in the order of the events.
#[derive(Clone, Default)]
struct Parents(Arc<LinkedBlockingQueue<String>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Parents {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let spans = context.event_scope(event).into_iter();
        let names: Vec<_> = spans
            .flat_map(|scope| scope.from_root())
            .map(|span| span.name())
            .collect();
        self.0.offer(names.join("/")).unwrap();
    }
}

impl Parents {
    fn take(&self) -> Vec<String> {
        self.0.drain_all()
    }
}

struct Forks;

impl RecursiveTask for Forks {
    type Output = ();

    fn compute(self, cx: &Cx<'_>) {
        let fork = info_span!("compute").in_scope(|| cx.fork(Leaf));
        fork.join().unwrap();
    }
}

struct Leaf;

impl RecursiveTask for Leaf {
    type Output = ();

    fn compute(self, _: &Cx<'_>) {
        info!("leaf");
    }
}

/// WL-165
///
/// In one test, since the subscriber is that of the process.
#[test]
fn the_events_of_a_task_have_the_span_of_its_submitter_as_parent() {
    let parents = Parents::default();
    tracing::subscriber::set_global_default(Registry::default().with(parents.clone())).unwrap();
    thread_pools(&parents);
    fork_join(&parents);
}

fn thread_pools(parents: &Parents) {
    let pool = ThreadPoolExecutor::builder()
        .core_pool_size(1)
        .propagate(TracingSpan)
        .build()
        .unwrap();
    let request = info_span!("request");
    let handle = request
        .in_scope(|| pool.submit(|| info!("in a task")))
        .unwrap();
    handle.join().unwrap();
    let nested = request.in_scope(|| {
        info_span!("inner").in_scope(|| pool.submit(|| info_span!("task").in_scope(|| info!("x"))))
    });
    nested.unwrap().join().unwrap();
    pool.submit(|| info!("without a span"))
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(parents.take(), ["request", "request/inner/task", ""]);

    let timers = ScheduledThreadPoolExecutor::builder()
        .propagate(TracingSpan)
        .build();
    let later = request.in_scope(|| timers.schedule(Duration::from_millis(1), || info!("later")));
    later.unwrap().join().unwrap();
    let mut runs = 0;
    let repeated = request.in_scope(|| {
        let period = Duration::from_millis(1);
        timers.schedule_at_fixed_rate_fallible(period, period, move || {
            runs += 1;
            info!("again");
            if runs < 3 { Ok(()) } else { Err("enough") }
        })
    });
    assert!(repeated.unwrap().join().unwrap_err().is_failed());
    assert_eq!(parents.take(), ["request"; 4]);
}

fn fork_join(parents: &Parents) {
    let pool = ForkJoinPool::builder()
        .parallelism(2)
        .propagate(TracingSpan)
        .build()
        .unwrap();
    let request = info_span!("request");
    let stolen = Gate::new();
    let _entered = request.enter();
    pool.join(
        || {
            info!("stolen");
            stolen.open();
        },
        || stolen.pass().unwrap(),
    );
    pool.install(|| {
        let _split = info_span!("split").entered();
        pool.join(|| info!("a"), || info!("b"));
    });
    pool.scope(|scope| scope.spawn(|| info!("spawned")));
    pool.invoke(Forks);
    pool.submit(|| info!("submitted")).unwrap().join().unwrap();
    let expected = [
        "request",
        "request/split",
        "request/split",
        "request",
        "request/compute",
        "request",
    ];
    assert_eq!(parents.take(), expected);
}
