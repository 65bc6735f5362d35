//! Executors whose figures and refusals are scripted.
#![expect(clippy::disallowed_types, reason = "tests")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use windlass::clock::TestClock;
use windlass::monitor::{
    Change, ChangeError, ChangeOptions, Exposition, Field, Kind, Monitor, Monitored, Registry,
    Snapshot, Source,
};
use windlass::pool::RejectedExecutionHandler;
use windlass::testing::{Gate, PATIENCE};

use crate::SECOND;

/// An executor with a core size, which can refuse to change it or keep the caller waiting.
#[derive(Default)]
struct Scripted {
    core: AtomicUsize,
    refuses: AtomicBool,
    /// Passed by each change but the first.
    gate: Mutex<Option<Gate>>,
    /// Completed, failed, panicked and cancelled tasks.
    tasks: Mutex<[u64; 4]>,
}

impl Monitored for Scripted {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new(Kind::Custom);
        snapshot.settings.core = Some(self.core.load(Ordering::SeqCst));
        snapshot.settings.tunable = vec![Field::Core];
        let [completed, failed, panicked, cancelled] = *self.tasks.lock().unwrap();
        snapshot.tasks.completed = completed;
        snapshot.tasks.failed = failed;
        snapshot.tasks.panicked = panicked;
        snapshot.tasks.cancelled = cancelled;
        snapshot
    }

    fn apply(
        &self,
        change: &Change,
        _policy: Option<Arc<dyn RejectedExecutionHandler>>,
    ) -> Result<(), ChangeError> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(ChangeError::Unsupported("change today"));
        }
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.pass_uninterruptibly();
        }
        self.core
            .store(change.core.unwrap_or_default(), Ordering::SeqCst);
        Ok(())
    }
}

struct Stage {
    clock: TestClock,
    executor: Arc<Scripted>,
    monitor: Monitor,
}

impl Stage {
    fn new() -> Self {
        let (clock, registry) = (TestClock::new(), Registry::new());
        let executor = Arc::new(Scripted::default());
        registry.register_as("jobs", &Source::of(&executor));
        let monitor = Monitor::builder().registry(&registry).manual(true);
        let monitor = clock.enter(|| monitor.start().unwrap());
        monitor.sample();
        Self {
            clock,
            executor,
            monitor,
        }
    }

    /// Changes the core size to one, to be undone in two seconds.
    fn change(&self) {
        let options = ChangeOptions::new().revert_after(2 * SECOND);
        let change = Change::new().core(1);
        self.monitor.change("jobs", &change, &options).unwrap();
    }

    fn seconds(&self, count: u64) {
        for _ in 0..count {
            self.clock.advance(SECOND);
            self.monitor.sample();
        }
    }
}

/// WL-482
#[test]
fn a_change_that_cannot_be_undone_is_recorded_once_and_no_longer_pending() {
    let stage = Stage::new();
    stage.change();
    stage.executor.refuses.store(true, Ordering::SeqCst);
    stage.seconds(4);
    assert_eq!(stage.executor.core.load(Ordering::SeqCst), 1);
    let audit = stage.monitor.audit();
    let actions: Vec<_> = audit.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["revert_failed", "reconfigure"]);
    assert!(
        audit[0].warnings[0].contains("this executor has no change today"),
        "{audit:?}"
    );
    assert_eq!((audit[1].revert_at, audit[1].reverted), (None, None));
    assert_eq!(stage.monitor.pool("jobs").unwrap().pending_revert, None);
}

/// WL-482
#[test]
fn a_change_that_is_being_undone_cannot_be_confirmed() {
    let stage = Stage::new();
    stage.change();
    let gate = Gate::new();
    *stage.executor.gate.lock().unwrap() = Some(gate.clone());
    let (done, is_done) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            stage.seconds(2);
            done.send(()).unwrap();
        });
        gate.await_waiting(1);
        let confirmed = stage.monitor.confirm("jobs", None);
        gate.open();
        assert_eq!(confirmed, Err(ChangeError::Busy));
        is_done.recv_timeout(PATIENCE).unwrap();
    });
    assert_eq!(stage.executor.core.load(Ordering::SeqCst), 0);
    assert_eq!(
        stage.monitor.confirm("jobs", None),
        Err(ChangeError::NothingPending)
    );
}

/// The figures of an executor are not read at once: a task can be counted as completed before it is counted
/// as failed.
///
/// WL-485
#[test]
fn no_count_of_tasks_that_have_ended_falls() {
    let stage = Stage::new();
    let exposed = |tasks| {
        *stage.executor.tasks.lock().unwrap() = tasks;
        let text = stage.monitor.prometheus(Exposition::Windlass);
        ["ok", "failed", "panicked", "cancelled"].map(|outcome| {
            let name = "windlass_pool_tasks_completed_total";
            let line = format!("{name}{{pool=\"jobs\",outcome=\"{outcome}\"}} ");
            let value = text.lines().find_map(|text| text.strip_prefix(&*line));
            value.expect("the counter").parse::<u64>().unwrap()
        })
    };
    assert_eq!(exposed([10, 0, 0, 0]), [10, 0, 0, 0]);
    // One of them had failed, another was cancelled.
    assert_eq!(exposed([10, 1, 0, 1]), [10, 1, 0, 1]);
    // The failure was a panic.
    assert_eq!(exposed([10, 1, 1, 1]), [10, 1, 1, 1]);
    assert_eq!(exposed([20, 3, 1, 1]), [16, 2, 1, 1]);
}
