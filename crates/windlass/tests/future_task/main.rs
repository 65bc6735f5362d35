//! What `FutureTask` promises, entry by entry of `docs/catalogue/FT.md`.
//!
//! Every completion is followed by the same battery, [`Probe::assert_completed_as`]: whatever is tried on
//! a finished task changes nothing.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test by panicking"
)]

mod callbacks;
mod cancel;
mod get;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::task::{ExecutionError, Failure, FutureTask, TaskState};

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(3600);

/// A number that many threads count up.
#[derive(Debug, Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn up(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// How a task is expected to have ended.
#[derive(Debug, Clone)]
enum End {
    Value(u32),
    Failed(Failure),
    Cancelled,
}

/// A task that counts its runs and its done-callbacks.
#[derive(Debug, Clone)]
struct Probe {
    task: FutureTask<u32>,
    runs: Count,
    dones: Count,
}

impl Probe {
    /// A task with this body; its runs are counted.
    fn of(mut body: impl FnMut() -> u32 + Send + 'static) -> Self {
        let (runs, dones) = (Count::default(), Count::default());
        let task = FutureTask::repeating({
            let runs = runs.clone();
            move || {
                runs.up();
                body()
            }
        });
        let counted = dones.clone();
        task.on_done(move |end| {
            assert!(end.is_done());
            counted.up();
        });
        Self { task, runs, dones }
    }

    /// A task whose value is 7.
    fn seven() -> Self {
        Self::of(|| 7)
    }

    /// The battery: the task has ended in this way, and nothing that is tried on it changes that.
    #[track_caller]
    fn assert_completed_as(&self, end: &End) {
        let runs = self.runs.get();
        self.reports(end);
        assert!(!self.task.cancel());
        assert!(!self.task.cancel_now());
        assert!(!self.task.complete(99));
        assert!(!self.task.fail(Failure::from_error("too late")));
        self.task.run();
        assert!(!self.task.run_and_reset());
        self.task.task().run();
        drop(self.task.task());
        self.reports(end);
        assert_eq!(self.runs.get(), runs, "a finished task ran again");
        assert_eq!(self.dones.get(), 1, "its callback is called once");
    }

    #[track_caller]
    fn reports(&self, end: &End) {
        assert!(self.task.is_done());
        assert_eq!(
            self.task.is_cancelled(),
            self.task.state() == TaskState::Cancelled
        );
        let gets = [
            self.task.get(),
            self.task.get_timeout(Duration::ZERO),
            self.task.get_timeout(LONG),
            self.task.handle().get(),
        ];
        for got in gets {
            match (end, got) {
                (End::Value(value), Ok(got)) => assert_eq!(got, *value),
                (End::Failed(cause), Err(ExecutionError::Failed(failure))) => {
                    assert_eq!(&failure, cause);
                }
                (End::Cancelled, Err(ExecutionError::Cancelled(_))) => {}
                (end, got) => panic!("expected {end:?}, got {got:?}"),
            }
        }
    }

    /// The failure that the task has ended with.
    fn failure(&self) -> Failure {
        self.task.failure_now().unwrap()
    }

    #[track_caller]
    fn is_pending(&self) {
        assert!(!self.task.is_done());
        assert!(!self.task.is_cancelled());
        assert_eq!(self.dones.get(), 0);
        let got = self.task.get_timeout(Duration::ZERO);
        assert!(got.unwrap_err().is_timed_out());
    }
}
