//! The duty of a worker that watches tasks which a hand-off has accepted though no worker waited.

use std::sync::Arc;
use std::time::Duration;

use super::shared::Shared;
use crate::interrupt::ThreadContext;
use crate::queue::{Inspected, SynchronousQueue};
use crate::sync::nap;
use crate::task::{Failure, Task};
use crate::unwind::discard;

/// How long a worker that watches sleeps between two looks: about as long as it takes to start a thread,
/// and the machine adds as much again.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// How many workers could be started, and why no more.
pub(crate) struct Started {
    pub(crate) workers: u32,
    pub(crate) refusal: Option<Failure>,
}

/// Watches until no more tasks are queued than workers wait.
///
/// `start` starts so many workers without a task. If it could not start them all, this worker takes tasks itself,
/// and what is left is taken by workers that return.
pub(super) fn watch(
    pool: &Arc<Shared>,
    me: &Arc<ThreadContext>,
    queue: &SynchronousQueue<Task>,
    start: fn(&Arc<Shared>, u32) -> Started,
) {
    let Some(mut watch) = queue.watch() else {
        return;
    };
    loop {
        nap(BETWEEN_LOOKS);
        if pool.ctl.load().is_stopped() {
            // Who has submitted a task since the queue was drained removes it again.
            return queue.resign(&watch);
        }
        // During a pause nobody takes tasks, and no thread that is started would.
        if pool.settings.paused_until().is_some() {
            queue.suspend_lending();
            pool.sleep_while_paused(me);
            continue;
        }
        match queue.inspect(&mut watch) {
            Inspected::Watch => {}
            Inspected::Done => return,
            Inspected::Start(wanted) => {
                let started = start(pool, wanted);
                watch.record_started(started.workers);
                if started.workers < wanted {
                    queue.resign(&watch);
                    // Not before: the handler may wait for a task that this worker takes.
                    if let Some(refusal) = started.refusal {
                        pool.report(&refusal);
                        discard(refusal);
                    }
                    return;
                }
            }
        }
    }
}
