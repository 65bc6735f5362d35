//! What a run keeps for the next one.

use crate::engines::UnderTest;
use crate::support::LONG;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use windlass_remote::engine::{Renewed, Report, Verdict};
use windlass_remote::{
    CheckpointError, RemoteTask, TaskCx, TaskError, TaskExecutorService, TaskOptions,
};

/// Does three steps, and fails after each of the first two.
#[derive(Serialize, Deserialize)]
struct Steps;

impl RemoteTask for Steps {
    const NAME: &'static str = "test.steps";
    type Output = Vec<u8>;

    fn run(self, cx: &TaskCx) -> Result<Vec<u8>, TaskError> {
        let mut done = cx.last_checkpoint()?.unwrap_or_default();
        done.push(cx.attempt() as u8);
        cx.checkpoint(&done)?;
        if done.len() < 3 {
            return Err(TaskError::new("not yet").retry_after(Duration::ZERO));
        }
        let large = cx.checkpoint(&vec![0; windlass_remote::MAX_PAYLOAD + 1]);
        assert!(matches!(large, Err(CheckpointError::TooLarge { .. })));
        Ok(done)
    }

    fn options() -> TaskOptions {
        TaskOptions::default().max_attempts(3)
    }
}

pub(crate) fn a_checkpoint_reaches_the_next_run(engine: &UnderTest) {
    let worker = engine.bare_worker(1).register::<Steps>();
    let _worker = worker.start().unwrap();
    let future = engine.executor().submit_task(Steps).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(vec![1, 2, 3]));
    let kept = engine.last_checkpoint(&engine.queue, future.id());
    assert_eq!(kept, Ok(None), "it is gone with the outcome");
}

pub(crate) fn a_checkpoint_of_an_older_delivery_is_refused(engine: &UnderTest) {
    let task = engine.new_task("steps", &Steps, TaskOptions::default());
    engine.submit(&engine.queue, &[task]).unwrap();
    let first = engine.fetch("a", 1).deliveries.remove(0).lease;
    let save = |lease, bytes: &[u8]| engine.save_checkpoint(&engine.queue, lease, bytes);
    assert_eq!(save(&first, b"one"), Ok(Renewed::Held));
    let verdict = Verdict::PutBack {
        delay: Duration::ZERO,
        unknown: false,
    };
    let report = Report {
        lease: first.clone(),
        verdict,
    };
    engine.report(&engine.queue, &[report]).unwrap();
    assert_eq!(save(&first, b"two"), Ok(Renewed::Lost), "nobody runs it");
    let second = engine.fetch("b", 1).deliveries.remove(0).lease;
    assert_eq!(save(&first, b"two"), Ok(Renewed::Lost));
    let kept = engine.last_checkpoint(&engine.queue, &first.id);
    assert_eq!(kept, Ok(Some(b"one".to_vec())));
    assert_eq!(save(&second, b"three"), Ok(Renewed::Held));
}
